import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { EventData } from '@offhook/contract/events.ts';
import { LEFT_REASON, ringEndOf, weightiest } from '@offhook/contract/ring-ends.ts';
import type { RingEnd } from '@offhook/contract/ring-ends.ts';
import type { CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { Party } from '../ports/engine-state.ts';
import type { PublishedLeg } from './facts.ts';
import { emit } from './state.ts';
import type { Call, Channel, State, Turn } from './state.ts';

/** Party on a leg: an extension by the directory's name, any other as the engine reports it. */
export function legParty(s: State, ch: Channel): Party {
  if (ch.extension === null) return ch.caller;
  return { number: ch.extension, name: s.site.names.get(ch.extension) ?? ch.caller.name };
}
export function legRef(s: State, ch: Channel): EventData<'call.ringing'>['leg'] {
  return { leg_id: ch.id, extension: ch.extension, endpoint: ch.endpoint, ...legParty(s, ch) };
}

export const callRef = (call: Call) => ({
  call_id: call.id,
  direction: call.direction ?? 'internal',
  extensions: [...call.extensions],
});
/** Customer field of a call that the phonebook knows. */
export const knownCustomer = ({ known }: Call): { readonly customer?: CallCustomer } =>
  known === null ? {} : { customer: known };
/** Party on the first leg, or on `leg` if the first is gone. */
const callerOf = (s: State, call: Call, leg: Channel): Party =>
  legParty(s, (call.first_leg === null ? undefined : s.channels.get(call.first_leg)) ?? leg);

type LegEvent =
  | 'call.ringing'
  | 'call.answered'
  | 'call.joined'
  | 'call.held'
  | 'call.retrieved'
  | 'call.recording_started'
  | 'call.recording_stopped'
  | 'call.recording_paused'
  | 'call.recording_resumed';
/** Emits an event about one leg of its call. */
export function tellLeg(s: State, t: Turn, type: LegEvent, leg: Channel): void {
  const call = leg.call === null ? undefined : s.calls.get(leg.call);
  if (call === undefined) return;
  const data = notePublished(s, { ...callRef(call), leg: legRef(s, leg) });
  const subject = `calls/${call.id}`;
  if (type === 'call.ringing' || type === 'call.answered') {
    const placed = call.placed === undefined ? {} : { placed: call.placed };
    emit(t, type, subject, { ...data, caller: callerOf(s, call, leg), ...placed, ...knownCustomer(call) });
  } else emit(t, type, subject, data);
}

/** Two legs are alone with each other: emits `call.party_changed` for each that talked to another leg before. */
export function legsMet(s: State, t: Turn, a: Channel, b: Channel): void {
  for (const [leg, party] of [
    [a, b],
    [b, a],
  ] as const) {
    const before = s.peers.get(leg.id)?.id;
    if (before === party.id) continue;
    s.peers.set(leg.id, { id: party.id, extension: party.extension });
    const call = leg.call === null ? undefined : s.calls.get(leg.call);
    if (before === undefined || call === undefined) continue;
    const data = notePublished(s, { ...callRef(call), leg: legRef(s, leg) });
    emit(t, 'call.party_changed', `calls/${call.id}`, { ...data, party: legRef(s, party) });
  }
}

/** Remembers that an event names this leg, until its `call.left` or the end of its call. */
export function notePublished<T extends PublishedLeg>(s: State, data: T): T {
  s.publishedLegs.set(data.leg.leg_id as ChannelId, data);
  return data;
}
const ANSWERED_ELSEWHERE = 26;
const SENT_ON = 23;
/** Why a leg leaves an ongoing call: the end of its ring by the rule of the history, or a transfer. */
function leftReason(
  s: State,
  call: Call,
  ch: Channel,
  cause: number | null,
): EventData<'call.left'>['reason'] {
  const how = s.leaving.get(ch.id)?.how;
  if (!ch.rang || ch.state === 'up' || how !== undefined) return how ?? 'hangup';
  return LEFT_REASON[ringEnd(s, call, ch, cause)];
}
/** How the ring of an unanswered leg ended, by the rule of the history. */
function ringEnd(s: State, call: Call, ch: Channel, cause: number | null): RingEnd {
  const dial = s.leaving.get(ch.id)?.dial;
  // The queue sets this cause on every ring that it cancels, not only after an answer elsewhere.
  const queued = call.ring !== null;
  const elsewhere = cause === ANSWERED_ELSEWHERE;
  return ringEndOf({
    picked_up: false,
    diverted: ch.ending && cause === SENT_ON,
    itself: ch.ending,
    cause,
    answered: queued ? call.ring === 'answered' : elsewhere,
    gave_up: queued ? call.ring === 'gave_up' : dial === 'CANCEL',
  });
}
/** True for the outside leg of an outgoing call. */
const isCustomer = (call: Call, ch: Channel): boolean =>
  call.direction === 'out' && ch.kind === 'endpoint' && ch.extension === null;
/** Customer disposition of an outgoing call so far; absent for other calls and while undecided. */
export function customerSoFar(s: State, call: Call): { readonly customer_disposition?: LegDisposition } {
  const answered = call.channels.some((id) => {
    const ch = s.channels.get(id);
    return ch?.state === 'up' && isCustomer(call, ch);
  });
  const customer = answered ? 'answered' : call.customer;
  return customer === null || call.direction !== 'out' ? {} : { customer_disposition: customer };
}
/** Customer disposition of an outgoing call once this leg is gone; an outside leg counts whether it rang or not. */
export function customerAfter(
  s: State,
  t: Turn,
  call: Call,
  ch: Channel,
  cause: number | null,
): LegDisposition | null {
  if (!isCustomer(call, ch)) return call.customer;
  if (ch.state === 'up') return 'answered';
  // A snapshot does not show how a missing leg ended.
  return t.observed === 'resync' ? call.customer : weightiest([call.customer, ringEnd(s, call, ch, cause)]);
}
/** Emits `call.left` for a leg gone from an ongoing call, once, and only if an event has named the leg. */
export function legLeft(s: State, t: Turn, call: Call, ch: Channel, cause: number | null): void {
  // After a snapshot, `closePublishedLegs` emits these events, once it is clear which calls go on.
  if (t.observed === 'resync' || !s.publishedLegs.delete(ch.id)) return;
  const reason = leftReason(s, call, ch, cause);
  emit(t, 'call.left', `calls/${call.id}`, { ...callRef(call), leg: legRef(s, ch), cause, reason });
}
/** After a snapshot: emits `call.left` for legs that events have named and that are no longer in their call. */
export function closePublishedLegs(s: State, t: Turn): void {
  for (const [id, { call_id, leg }] of s.publishedLegs) {
    const call = s.calls.get(s.aliases.get(call_id as CallId) ?? (call_id as CallId));
    const ch = s.channels.get(id);
    if (ch?.kind === 'endpoint' && ch.call === call?.id) continue;
    s.publishedLegs.delete(id);
    if (call === undefined) continue;
    const reason = 'engine_lost';
    emit(t, 'call.left', `calls/${call.id}`, { ...callRef(call), leg, cause: null, reason });
  }
}
/** Stores how the dialling of a device ended; the first report counts. */
export function legDialEnded(s: State, { to, status }: EngineEventOf<'dial.ended'>): void {
  const ch = s.channels.get(to);
  if (ch?.kind === 'endpoint' && ch.state !== 'up' && !s.leaving.has(to)) s.leaving.set(to, { dial: status });
}
