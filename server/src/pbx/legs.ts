import type { EventData } from '@offhook/contract/events.ts';
import type { CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { EngineEventOf, Party } from '../ports/engine.ts';
import type { ToldLeg } from './facts.ts';
import { emit } from './state.ts';
import type { Call, Channel, State, Turn } from './state.ts';

/** Who is on a leg: an extension of ours by the directory's name, anyone else as the engine knows them. */
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
/** Who is on the first leg, or on `leg` where that is gone. */
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
/** Tells something about one leg of a call. */
export function tellLeg(s: State, t: Turn, type: LegEvent, leg: Channel): void {
  const call = leg.call === null ? undefined : s.calls.get(leg.call);
  if (call === undefined) return;
  const data = nowTold(s, { ...callRef(call), leg: legRef(s, leg) });
  const subject = `calls/${call.id}`;
  if (type === 'call.ringing' || type === 'call.answered') {
    emit(t, type, subject, { ...data, caller: callerOf(s, call, leg) });
  } else emit(t, type, subject, data);
}

/** An event names this leg: from now on readers know it, until `call.left` or the end of its call. */
export function nowTold<T extends ToldLeg>(s: State, data: T): T {
  s.toldLegs.set(data.leg.leg_id as ChannelId, data);
  return data;
}
const LEFT_BY_CAUSE: Readonly<Record<number, EventData<'call.left'>['reason']>> = {
  17: 'busy',
  18: 'no_answer',
  19: 'no_answer',
  21: 'busy',
};
const ANSWERED_ELSEWHERE = 26;
function leftReason(s: State, ch: Channel, code: number | null): EventData<'call.left'>['reason'] {
  const rings = ch.rang && ch.state !== 'up';
  if (rings && code === ANSWERED_ELSEWHERE) return 'answered_elsewhere';
  const known = s.leaving.get(ch.id);
  if (known !== undefined) return known;
  return rings ? (LEFT_BY_CAUSE[code ?? 0] ?? 'canceled') : 'hangup';
}
/** A leg is gone from a call that goes on: told once, and only where it was told to be there. */
export function legLeft(s: State, t: Turn, call: Call, ch: Channel, cause: number | null): void {
  // A snapshot's are told at its end, when it is clear which calls go on.
  if (t.observed === 'resync' || !s.toldLegs.delete(ch.id)) return;
  const reason = leftReason(s, ch, cause);
  emit(t, 'call.left', `calls/${call.id}`, { ...callRef(call), leg: legRef(s, ch), cause, reason });
}
/** After a snapshot: legs that were told and are not in their call any more. */
export function closeToldLegs(s: State, t: Turn): void {
  for (const [id, { call_id, leg }] of s.toldLegs) {
    const call = s.calls.get(s.aliases.get(call_id as CallId) ?? (call_id as CallId));
    const ch = s.channels.get(id);
    if (ch?.kind === 'endpoint' && ch.call === call?.id) continue;
    s.toldLegs.delete(id);
    if (call === undefined) continue;
    const reason = 'engine_lost';
    emit(t, 'call.left', `calls/${call.id}`, { ...callRef(call), leg, cause: null, reason });
  }
}
/** How the dialling of a device ended says why it stopped ringing; the first word counts. */
export function legDialEnded(s: State, { to, status }: EngineEventOf<'dial.ended'>): void {
  const reason = DIAL_LEFT[status];
  if (reason === undefined || s.leaving.has(to)) return;
  const ch = s.channels.get(to);
  if (ch?.kind === 'endpoint' && ch.state !== 'up') s.leaving.set(to, reason);
}
const DIAL_LEFT: Readonly<Record<string, EventData<'call.left'>['reason']>> = {
  BUSY: 'busy',
  NOANSWER: 'no_answer',
  CONGESTION: 'no_answer',
  CHANUNAVAIL: 'no_answer',
};
