import type { Call as WireCall } from '@offhook/contract/calls.ts';
import type { CallDirection } from '@offhook/contract/directions.ts';
import type { CallId, ChannelId } from '@offhook/contract/ids.ts';
import { weightiest } from '@offhook/contract/ring-ends.ts';
import type { CustomerFound } from '../ports/live.ts';
import {
  callRef,
  customerAfter,
  customerSoFar,
  legLeft,
  legRef,
  legsMet,
  notePublished,
  tellLeg,
} from './legs.ts';
import { withNumbers } from './facts.ts';
import { touchQueue } from './queue-state.ts';
import { emit } from './state.ts';
import type { Call, Channel, State, Turn } from './state.ts';
import { wireCall } from './wire-call.ts';
import { callView } from './call-view.ts';
import { legBeside, legOf } from './leg-beside.ts';

/**
 * A call is what the engine links together, from the first leg to the last:
 *
 *   (nothing) --first leg--> started --two legs meet--> answered --last channel gone--> ended (hangup | engine_lost)
 *                                \--------------- linked with another ---------------> ended (merged)
 *
 * Halves of internal pairs keep a call open and are never legs.
 */
export function touchCall(s: State, id: CallId | null): void {
  if (id === null) return;
  s.callViews.delete(id);
  s.callList = null;
}

function directionWith(call: Call, leg: Channel): CallDirection {
  const isOurs = leg.extension !== null;
  switch (call.direction) {
    case null:
      return isOurs ? 'internal' : 'in';
    case 'internal':
      return isOurs ? 'internal' : 'out';
    case 'in':
      // A call resumed from the journal has no first leg yet; this leg may be the trunk that began it.
      return isOurs || call.extensions.length > 0 || call.first_leg === null ? 'in' : 'transit';
    case 'transit':
      return isOurs ? 'in' : 'transit';
    case 'out':
      return 'out';
  }
}
const withExtension = (extensions: readonly string[], extension: string | null): readonly string[] =>
  extension === null || extensions.includes(extension)
    ? extensions
    : extensions.length === 0
      ? [extension]
      : [...extensions, extension].toSorted();
function directionOfBoth(kept: Call, lost: Call): CallDirection | null {
  if (kept.direction === 'internal') return lost.direction === 'internal' ? 'internal' : 'out';
  return kept.direction === 'transit' && lost.extensions.length > 0 ? 'in' : kept.direction;
}

/** Updates the call of a leg whose extension changed. */
export function ownerChanged(s: State, ch: Channel): void {
  const call = ch.call === null ? undefined : s.calls.get(ch.call);
  if (call === undefined || ch.extension === null) return;
  const direction = call.direction === 'transit' ? 'in' : call.direction;
  s.calls.set(call.id, { ...call, direction, extensions: withExtension(call.extensions, ch.extension) });
  touchCall(s, call.id);
}

/** Returns the call of a channel that names `raw`; opens one if there is none. */
export function callFor(s: State, t: Turn, raw: CallId, channel: ChannelId, created_at: number): Call {
  const id = s.aliases.get(raw) ?? raw;
  const known = s.calls.get(id);
  if (known !== undefined) return known;
  // An id is never reported as started twice: a channel after the call's end opens a call under the channel's own id.
  let own = id;
  if (s.ended.has(id)) own = channel as string as CallId;
  const open = s.calls.get(own);
  if (open !== undefined) return alsoKnownAs(s, open, raw);
  if (s.ended.has(own)) own = `${channel}@${t.at}` as CallId;
  const call: Call = {
    id: own,
    started: false,
    started_at: created_at,
    answered_at: null,
    channels: [],
    first_leg: null,
    numbers: [],
    direction: null,
    extensions: [],
    aliases: own === raw ? [] : [raw],
    cause: null,
    customer: null,
    known: null,
    ring: null,
    transfer: '',
  };
  if (own !== raw) s.aliases.set(raw, own);
  s.calls.set(own, call);
  return call;
}

/** Puts a channel, already in `s.channels`, into its call; starts the call with its first leg. */
export function joinCall(s: State, t: Turn, call: Call, ch: Channel): void {
  const isLeg = ch.kind === 'endpoint';
  const starts = isLeg && !call.started;
  const joined: Call = {
    ...call,
    channels: call.channels.includes(ch.id) ? call.channels : [...call.channels, ch.id],
    first_leg: call.first_leg ?? (isLeg ? ch.id : null),
    numbers: isLeg && call.numbers.length === 0 ? [ch.dialled || placedTo(s, call)] : call.numbers,
    direction: isLeg ? directionWith(call, ch) : call.direction,
    extensions: withExtension(call.extensions, ch.extension),
    started: call.started || isLeg,
    ...(ch.placed === undefined ? {} : { placed: ch.placed }),
  };
  s.calls.set(call.id, joined);
  touchCall(s, call.id);
  if (starts) {
    emit(t, 'call.started', `calls/${call.id}`, {
      ...notePublished(s, { ...callRef(joined), leg: legRef(s, ch) }),
      dialled: joined.numbers[0] ?? '',
      ...(joined.placed === undefined ? {} : { placed: joined.placed }),
    });
  }
}

/** Number dialled by a call that the service originates: its internal pair exists before any leg. */
const placedTo = (s: State, call: Call): string =>
  call.channels.map((id) => s.channels.get(id)?.dialled).find(Boolean) ?? '';

/** Removes a gone channel from its call; the last one ends the call. */
export function leaveCall(s: State, t: Turn, ch: Channel, code: number | null, text: string): void {
  const call = ch.call === null ? undefined : s.calls.get(ch.call);
  if (call === undefined) return;
  const channels = call.channels.filter((id) => id !== ch.id);
  const published = ch.kind === 'endpoint' && call.cause?.of !== call.first_leg;
  const cause = published ? { code, text, of: ch.id } : call.cause;
  const left = { ...call, channels, cause, customer: customerAfter(s, t, call, ch, code) };
  s.calls.set(call.id, left);
  touchCall(s, call.id);
  if (channels.length > 0) return legLeft(s, t, left, ch, code);
  s.publishedLegs.delete(ch.id);
  endCall(s, t, call.id, t.observed === 'resync' ? 'engine_lost' : 'hangup');
}

export function endCall(s: State, t: Turn, id: CallId, reason: 'hangup' | 'engine_lost'): void {
  const call = s.calls.get(id);
  if (call === undefined) return;
  s.calls.delete(id);
  touchCall(s, id);
  s.ended.add(id, t.at);
  for (const alias of call.aliases) {
    s.aliases.delete(alias);
    s.ended.add(alias, t.at);
  }
  if (!call.started) return;
  emit(t, 'call.ended', `calls/${id}`, {
    ...callRef(call),
    cause: call.cause?.code ?? null,
    cause_text: call.cause?.text ?? '',
    reason,
    merged_into: null,
    ...customerSoFar(s, call),
  });
}

/** Merges the call `from` into `into`; exactly one remains, a started one if either was. */
export function mergeCalls(s: State, t: Turn, from: CallId, into: CallId): void {
  let lost = s.calls.get(from);
  let kept = s.calls.get(into);
  if (lost === undefined || kept === undefined || lost === kept) return;
  if (lost.started && !kept.started) [lost, kept] = [kept, lost];
  const answeredNow = lost.answered_at !== null && kept.answered_at === null;
  const merged: Call = {
    ...kept,
    started_at: Math.min(kept.started_at, lost.started_at),
    answered_at: kept.answered_at ?? lost.answered_at,
    channels: [...kept.channels, ...lost.channels],
    first_leg: kept.first_leg ?? lost.first_leg,
    customer: weightiest([kept.customer, lost.customer]),
    known: kept.known ?? lost.known,
    ring: kept.ring ?? lost.ring,
    numbers: withNumbers(kept.numbers, lost.numbers),
    direction: directionOfBoth(kept, lost),
    extensions: lost.extensions.reduce(withExtension, kept.extensions),
    aliases: [...kept.aliases, lost.id, ...lost.aliases],
  };
  s.calls.delete(lost.id);
  s.calls.set(kept.id, merged);
  for (const alias of [lost.id, ...lost.aliases]) s.aliases.set(alias, kept.id);
  for (const id of lost.channels) {
    const ch = s.channels.get(id);
    if (ch === undefined) continue;
    s.channels.set(id, { ...ch, call: kept.id });
    const queue = ch.queued === null ? undefined : s.queues.get(ch.queued);
    if (queue !== undefined) touchQueue(s, queue);
  }
  touchCall(s, lost.id);
  touchCall(s, kept.id);
  if (lost.started) {
    emit(t, 'call.ended', `calls/${lost.id}`, {
      ...callRef(lost),
      cause: null,
      cause_text: '',
      reason: 'merged',
      merged_into: kept.id,
      into: publishedView(s, merged),
    });
  }
  // Readers of only one of the calls do not know the other call's customer.
  if (merged.started && kept.known !== lost.known) emit(t, ...customerEvent(merged));
  const leg = answeredNow ? lost.channels.map((id) => s.channels.get(id)).find(isLegChannel) : undefined;
  if (leg !== undefined) tellLeg(s, t, 'call.answered', leg);
}
/** Call with only the legs that events have named; a later `call.left` names each of these legs again. */
function publishedView(s: State, call: Call): WireCall {
  const view = callView(s, call);
  return wireCall({ ...view, legs: view.legs.filter(({ id }) => s.publishedLegs.has(id)) });
}
const isLegChannel = (ch: Channel | undefined): ch is Channel => ch?.kind === 'endpoint';

/** Merges the younger call into the older, as the engine does with channels that meet. */
export function mergeByAge(s: State, t: Turn, a: CallId, b: CallId): void {
  const [x, y] = [s.calls.get(a), s.calls.get(b)];
  if (x === undefined || y === undefined || x === y) return;
  const xFirst = x.started_at !== y.started_at ? x.started_at < y.started_at : x.id < y.id;
  if (xFirst) mergeCalls(s, t, y.id, x.id);
  else mergeCalls(s, t, x.id, y.id);
}

/** The engine now names another call for this channel: merges the channel's whole call into that one. */
export function relink(s: State, t: Turn, ch: Channel, raw: CallId): void {
  if (ch.call === null) return;
  const target = s.aliases.get(raw) ?? raw;
  if (target === ch.call) return;
  if (s.calls.has(target)) {
    mergeCalls(s, t, ch.call, target);
    return;
  }
  // The other call is over or was never seen: this one stays and gets that id as an alias.
  const call = s.calls.get(ch.call);
  if (call !== undefined) alsoKnownAs(s, call, raw);
}
function alsoKnownAs(s: State, call: Call, raw: CallId): Call {
  const named = { ...call, aliases: [...call.aliases, raw] };
  s.aliases.set(raw, call.id);
  s.ended.delete(raw);
  s.calls.set(call.id, named);
  return named;
}

/** Two legs meet, or the engine itself answered: the call is answered, once. `leg` is the one that answered. */
export function answerCall(s: State, t: Turn, leg: Channel): void {
  const call = leg.call === null ? undefined : s.calls.get(leg.call);
  if (call === undefined || call.answered_at !== null) return;
  s.calls.set(call.id, { ...call, answered_at: t.at });
  touchCall(s, call.id);
  tellLeg(s, t, 'call.answered', leg);
}

/**
 * Reports the call as answered, or its ringing leg as joined, when this channel has just met others. In a
 * conference the met leg is in a call of its own, which is then answered too.
 */
export function checkAnswered(s: State, t: Turn, ch: Channel): void {
  const leg = legOf(s, ch);
  const other = leg === null ? null : legBeside(s, leg);
  if (leg === null || other === null) return;
  if (!leg.met || !other.met) firstMet(s, t, ch, leg, other);
  checkPeers(s, t, ch);
}
/** Publishes a change of party where two legs are now alone with each other. */
export function checkPeers(s: State, t: Turn, ch: Channel): void {
  if (ch.bridge === null || ch.holding || s.bridges.get(ch.bridge)?.size !== 2) return;
  const leg = legOf(s, ch);
  const other = leg === null ? null : legBeside(s, leg);
  if (leg !== null && other !== null) legsMet(s, t, leg, other);
}
function firstMet(s: State, t: Turn, ch: Channel, leg: Channel, other: Channel): void {
  for (const side of [leg, other]) {
    const call = side.call === null ? undefined : s.calls.get(side.call);
    const joins = call?.answered_at != null && side.rang && !side.met;
    if (!side.met) s.channels.set(side.id, { ...side, met: true });
    if (joins) tellLeg(s, t, 'call.joined', side);
  }
  const call = ch.call === null ? undefined : s.calls.get(ch.call);
  if (call === undefined || call.answered_at !== null) return;
  const sameCall = other.call === leg.call;
  answerCall(s, t, sameCall && leg.id === call.first_leg ? other : leg);
  if (!sameCall) answerCall(s, t, other);
}

export function transferred(
  s: State,
  t: Turn,
  id: CallId,
  kind: 'blind' | 'attended' | 'pickup',
  by: Channel | undefined,
  to: string,
  merged: CallId | null,
): void {
  const call = s.calls.get(id);
  const key = `${kind} ${t.at} ${by?.id ?? ''} ${to}`;
  if (call === undefined || !call.started || call.transfer === key) return;
  s.calls.set(id, { ...call, transfer: key, numbers: withNumbers(call.numbers, [to]) });
  touchCall(s, id);
  emit(t, 'call.transferred', `calls/${id}`, {
    ...callRef(call),
    kind,
    by: by?.extension ?? null,
    to,
    merged_call_id: merged,
  });
}

/** Merges two calls after an attended transfer or a pickup. Returns the remaining call. */
export function joinByHand(
  s: State,
  t: Turn,
  first: CallId,
  second: CallId,
): { id: CallId; merged: CallId | null } {
  const a = s.aliases.get(first) ?? first;
  const b = s.aliases.get(second) ?? second;
  if (s.calls.has(a) && s.calls.has(b)) mergeCalls(s, t, b, a);
  const id = s.aliases.get(first) ?? first;
  const merged = first === second ? null : id === first ? second : first;
  return { id, merged };
}

/** Stores the phonebook's customer of this call; returns the call only if that changed. */
export function customerFound(s: State, { call: id, customer }: CustomerFound): Call | undefined {
  const call = s.calls.get(s.aliases.get(id as CallId) ?? (id as CallId));
  if (call === undefined || !call.started || JSON.stringify(call.known) === JSON.stringify(customer)) return;
  const known = { ...call, known: customer };
  s.calls.set(call.id, known);
  touchCall(s, call.id);
  return known;
}
export const customerEvent = (call: Call) =>
  ['call.customer', `calls/${call.id}`, { ...callRef(call), customer: call.known }] as const;
