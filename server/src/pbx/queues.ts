import type { EventData } from '@offhook/contract/events.ts';
import type { CallId, ChannelId, OfferId } from '@offhook/contract/ids.ts';
import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import { rfc3339 } from '../core/clock.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { QueueCaller } from '../ports/engine-state.ts';
import { touchAgent } from './agent-state.ts';
import { beginTalk, memberIn } from './agents.ts';
import { legOf } from './leg-beside.ts';
import type { PublishedVisit } from './facts.ts';
import { setChannel } from './leg-state.ts';
import { knownCustomer, legParty } from './legs.ts';
import { callOf, offersOf, queueOf, touchQueue } from './queue-state.ts';
import { addTo, emit, secondsBetween, takeFrom, waitedBetween } from './state.ts';
import type { Channel, Offer, Queue, State, Turn, Visit } from './state.ts';

/**
 * A caller's visit has exactly one outcome:
 *
 *   joined --leaves, an agent had answered-> caller_left (answered)
 *          --leaves on its own-------------> caller_left (key)
 *          --no agent: it hung up----------> caller_abandoned
 *                      taken out-----------> caller_left (moved | withdrawn)
 *                      waited too long-----> caller_left (timeout)
 *                      anything else-------> caller_left (other)
 *          --its channel dies--------------> caller_abandoned
 *          --passes its place on-----------> the same visit of the transferee, if it waited to consult an agent
 *          --gets another position---------> the same visit once it joined again, else caller_left (other)
 *          --missing in a snapshot---------> caller_left (answered | moved | withdrawn | engine_lost | other)
 *
 * The engine reports that a caller left before it names the agent. It reports every unanswered caller as abandoned,
 * before it reports that the caller left; only a hang-up shows that the caller gave up.
 */
export function callerJoined(s: State, t: Turn, caller: QueueCaller): void {
  const ch = s.channels.get(caller.channel);
  if (ch === undefined || ch.call === null) return;
  const open = s.visits.get(caller.channel);
  if (open !== undefined) {
    if (open.queue === caller.queue) return open.away ? placedAnew(s, t, open, caller) : undefined;
    closeVisit(s, t, open, takenFor(open) ?? 'other');
  }
  const queue = queueOf(s, caller.queue);
  const leg = legOf(s, ch) ?? ch;
  const published = s.publishedVisits.get(leg.id) ?? passedOn(s, caller.queue, ch);
  const same = published?.queue === caller.queue ? published : undefined;
  if (same !== undefined) s.publishedVisits.delete(same.leg);
  else if (published !== undefined) closePublished(s, t, published, 'other');
  const visit: Visit = {
    queue: caller.queue,
    channel: caller.channel,
    leg: same?.leg ?? leg.id,
    caller: legParty(s, leg),
    joined_at: same?.joined_at ?? caller.joined_at,
    entered_at: caller.joined_at,
    priority: caller.priority,
    answered: false,
    taken: null,
    away: false,
    moves: 0,
  };
  const place = placeIn(queue, caller);
  queue.callers.splice(place, 0, visit);
  touchQueue(s, queue);
  s.visits.set(caller.channel, visit);
  setChannel(s, t, ch, { queued: caller.queue });
  if (same !== undefined) return;
  emit(t, 'queue.caller_joined', `queues/${visit.queue}`, {
    ...visitRef(visit, ch),
    position: place + 1,
    joined_at: rfc3339(visit.joined_at),
    ...customerIn(s, ch),
  });
}
/** Visit in the journal of a gone leg whose place in this queue was passed on to the channel. */
function passedOn(s: State, queue: string, { call }: Channel): PublishedVisit | undefined {
  for (const visit of s.publishedVisits.values()) {
    const own = s.aliases.get(visit.call as CallId) ?? visit.call;
    if (visit.queue === queue && own === call && !s.channels.has(visit.leg as ChannelId)) return visit;
  }
  return undefined;
}
const placeIn = (queue: Queue, caller: QueueCaller): number =>
  Math.min(Math.max(caller.position - 1, 0), queue.callers.length);
/** The caller joined its queue again at the new position: the visit goes on. */
function placedAnew(s: State, t: Turn, open: Visit, caller: QueueCaller): void {
  const visit = changeVisit(s, open, {
    entered_at: caller.joined_at,
    priority: caller.priority ?? open.priority,
    answered: false,
    taken: null,
    away: false,
    moves: open.moves + 1,
  });
  const queue = queueOf(s, visit.queue);
  queue.callers.splice(queue.callers.indexOf(visit), 1);
  queue.callers.splice(placeIn(queue, caller), 0, visit);
  tellPlace(s, t, queue, visit);
}
export function tellPlace(s: State, t: Turn, queue: Queue, visit: Visit): void {
  const ch = s.channels.get(visit.channel);
  if (ch === undefined) return;
  emit(t, 'queue.caller_changed', `queues/${queue.name}`, {
    ...visitRef(visit, ch),
    position: queue.callers.indexOf(visit) + 1,
    priority: visit.priority,
    ...customerIn(s, ch),
  });
}
/** Waiting callers of this call, with their queues; marks the queues changed, since the call's customer changed. */
export function* callersOf(s: State, call: CallId): Generator<readonly [queue: Queue, visit: Visit]> {
  for (const id of s.calls.get(call)?.channels ?? []) {
    const visit = s.visits.get(id);
    const queue = visit === undefined ? undefined : s.queues.get(visit.queue);
    if (visit === undefined || queue === undefined) continue;
    touchQueue(s, queue);
    yield [queue, visit];
  }
}
/** Customer field of the channel's call, if the phonebook knows it. */
export const customerIn = (s: State, ch: Channel | undefined): { readonly customer?: CallCustomer } => {
  const call = ch?.call == null ? undefined : s.calls.get(ch.call);
  return call === undefined ? {} : knownCustomer(call);
};
/** Why a supervisor ended the visit; a change of position does not end it. */
export const takenFor = ({ taken }: Visit): 'moved' | 'withdrawn' | null =>
  taken === 'placed' ? null : taken;
/** True if the caller left only for another position: the visit then waits for it to join again. */
export function leftForPlace(s: State, visit: Visit): boolean {
  if (visit.taken !== 'placed') return false;
  if (!visit.away) changeVisit(s, visit, { away: true });
  return true;
}
const visitRef = (visit: Visit, ch: Channel) => ({
  call_id: ch.call ?? '',
  queue: visit.queue,
  leg_id: visit.leg,
  caller: visit.caller,
});

/** Closes a visit that the journal has open and the engine no longer reports. */
export function closePublished(s: State, t: Turn, visit: PublishedVisit, reason: Left): void {
  s.publishedVisits.delete(visit.leg);
  emit(t, 'queue.caller_left', `queues/${visit.queue}`, {
    call_id: s.aliases.get(visit.call as CallId) ?? visit.call,
    queue: visit.queue,
    leg_id: visit.leg,
    caller: visit.caller,
    ...waitedBetween(visit.joined_at, t.at),
    reason,
  });
}

type Left = EventData<'queue.caller_left'>['reason'];

function changeVisit(s: State, visit: Visit, patch: Partial<Visit>): Visit {
  const changed = { ...visit, ...patch };
  const queue = queueOf(s, visit.queue);
  const place = queue.callers.indexOf(visit);
  if (place >= 0) queue.callers[place] = changed;
  s.visits.set(visit.channel, changed);
  touchQueue(s, queue);
  return changed;
}
export function callerTaken(s: State, t: Turn, channel: ChannelId, why: Visit['taken']): void {
  const visit = s.visits.get(channel);
  if (visit === undefined) return;
  if (visit.away && why === null) closeVisit(s, t, visit, 'other');
  else changeVisit(s, visit, { taken: why });
}

/** A transfer was completed while the second channel waited in a queue: the transferee goes on with its visit. */
export function callerReplaced(s: State, t: Turn, second: ChannelId, transferee: ChannelId): void {
  const [visit, before] = [s.visits.get(second), s.channels.get(second)];
  const ch = s.channels.get(transferee);
  if (visit === undefined || before === undefined || ch === undefined || s.visits.has(transferee)) return;
  const queue = queueOf(s, visit.queue);
  const replaced: Visit = { ...visit, channel: transferee, caller: legParty(s, legOf(s, ch) ?? ch) };
  queue.callers[queue.callers.indexOf(visit)] = replaced;
  s.visits.delete(second);
  s.visits.set(transferee, replaced);
  touchQueue(s, queue);
  setChannel(s, t, before, { queued: null });
  setChannel(s, t, ch, { queued: visit.queue });
  for (const offer of offersOf(s, second)) if (offer.caller === second) moveOffer(s, offer, transferee);
  tellPlace(s, t, queue, replaced);
}
/** The ring goes on for the channel that replaced its caller. */
function moveOffer(s: State, offer: Offer, caller: ChannelId): void {
  s.offers.set(offer.id, { ...offer, caller });
  takeFrom(s.offersOf, offer.caller, offer.id);
  addTo(s.offersOf, caller, offer.id);
}
/**
 * Gives an offer whose caller does not wait any more to another caller of the same call in its queue: the place was passed
 * on, and the id of an offer restored from the journal names the former caller. False if none waits.
 */
export function offerPassedOn(s: State, offer: Offer): boolean {
  for (const [queue, visit] of callersOf(s, callOf(s, offer) as CallId)) {
    if (queue.name !== offer.queue) continue;
    moveOffer(s, offer, visit.channel);
    return true;
  }
  return false;
}

/** Applies the engine's priorities and positions; emits an event for each caller out of its usual order. */
export function orderCallers(s: State, t: Turn, queue: Queue, listed: readonly QueueCaller[]): void {
  const moved: Visit[] = [];
  const wanted: Visit[] = [];
  for (const caller of listed.toSorted((a, b) => a.position - b.position)) {
    const visit = s.visits.get(caller.channel);
    if (visit?.queue !== queue.name) continue;
    if (visit.priority === caller.priority) {
      wanted.push(visit);
      continue;
    }
    const changed = changeVisit(s, visit, { priority: caller.priority });
    wanted.push(changed);
    // An unknown priority counts as none.
    if ((visit.priority ?? 0) !== (caller.priority ?? 0)) moved.push(changed);
  }
  const { callers } = queue;
  const put = (visit: Visit): void => {
    callers.splice(callers.indexOf(visit), 1);
    callers.splice(wanted.indexOf(visit), 0, visit);
    touchQueue(s, queue);
    tellPlace(s, t, queue, visit);
  };
  for (const visit of moved) put(visit);
  wanted.forEach((visit, place) => {
    if (callers[place] !== visit) put(visit);
  });
}

function endVisit(s: State, t: Turn, visit: Visit): { ch: Channel | undefined; position: number } {
  s.visits.delete(visit.channel);
  const queue = queueOf(s, visit.queue);
  const place = queue.callers.indexOf(visit);
  if (place >= 0) queue.callers.splice(place, 1);
  touchQueue(s, queue);
  const ch = s.channels.get(visit.channel);
  if (ch !== undefined) setChannel(s, t, ch, { queued: null });
  return { ch, position: place + 1 };
}
function noteWaited(s: State, t: Turn, id: ChannelId, waited: number | null): void {
  const ch = s.channels.get(id);
  if (ch !== undefined && ch.waited !== waited) setChannel(s, t, ch, { waited });
}
export function closeVisit(s: State, t: Turn, visit: Visit, reason: Left): void {
  const { ch } = endVisit(s, t, visit);
  if (ch === undefined) return;
  const waited = waitedBetween(visit.joined_at, t.at);
  if (reason === 'answered') noteWaited(s, t, ch.id, waited.waited_seconds);
  emit(t, 'queue.caller_left', `queues/${visit.queue}`, { ...visitRef(visit, ch), ...waited, reason });
}

export function callerLeft(s: State, t: Turn, queue: string, channel: ChannelId): void {
  const visit = s.visits.get(channel);
  if (visit === undefined || visit.queue !== queue) return;
  if (hasAnswer(s, visit)) closeVisit(s, t, visit, 'answered');
  else if (s.channels.get(channel)?.ending === true) abandon(s, t, visit, null);
  else if (!leftForPlace(s, visit)) closeVisit(s, t, visit, unanswered(s, t, visit) ?? 'key');
}
/**
 * The engine counts whole seconds from the second of the join and reports the join later, so its timeout
 * seems early.
 */
const EARLY_MS = 1_500;
/** Why no agent answered a caller that has not hung up; null if unknown. */
function unanswered(s: State, t: Turn, visit: Visit): Left | null {
  const taken = takenFor(visit);
  if (taken !== null) return taken;
  const most = s.site.queues.get(visit.queue)?.max_wait_seconds ?? 0;
  return most > 0 && t.at - visit.entered_at > most * 1000 - EARLY_MS ? 'timeout' : null;
}
function hasAnswer(s: State, visit: Visit): boolean {
  if (visit.answered) return true;
  for (const offer of offersOf(s, visit.channel)) {
    if (offer.queue !== visit.queue || offer.caller !== visit.channel) continue;
    if (offer.answered || s.channels.get(offer.agent)?.state === 'up') return true;
  }
  return false;
}

export function callerAbandoned(s: State, t: Turn, e: EngineEventOf<'queue.caller_abandoned'>): void {
  const visit = s.visits.get(e.channel);
  if (visit === undefined || visit.queue !== e.queue) return;
  if (s.channels.get(e.channel)?.ending === true) abandon(s, t, visit, e.position);
  else if (!leftForPlace(s, visit)) closeVisit(s, t, visit, unanswered(s, t, visit) ?? 'other');
}
function abandon(s: State, t: Turn, visit: Visit, said: number | null): void {
  const { ch, position } = endVisit(s, t, visit);
  if (ch === undefined) return;
  emit(t, 'queue.caller_abandoned', `queues/${visit.queue}`, {
    ...visitRef(visit, ch),
    ...waitedBetween(visit.joined_at, t.at),
    position: said ?? position,
  });
}
/** The caller's channel is gone: closes its visit. */
export function closeVisitOf(s: State, t: Turn, ch: Channel): void {
  const visit = s.visits.get(ch.id);
  if (visit === undefined) return;
  if (t.observed === 'resync') closeVisit(s, t, visit, 'engine_lost');
  else if (hasAnswer(s, visit)) closeVisit(s, t, visit, 'answered');
  else abandon(s, t, visit, null);
}

/**
 * An offer is closed once: accepted | timeout | rejected (busy, or the agent's side ended the ringing early)
 * | canceled (the caller gave up, another agent answered, or the ringing stopped for an unknown reason)
 * | picked_up (another person picked up this ring; published as canceled).
 */
type Outcome = 'accepted' | 'timeout' | 'rejected' | 'canceled' | 'picked_up';
interface OfferPlace {
  readonly queue: string;
  readonly interface: string;
  readonly caller: ChannelId;
  readonly agent: ChannelId;
}
const offerKey = (o: OfferPlace): OfferId => `${o.queue}:${o.caller}:${o.agent}` as OfferId;
/** The open offer of this ring. Its id names another caller if the place of that caller was passed on meanwhile. */
function offerAt(s: State, o: OfferPlace): Offer | undefined {
  const known = s.offers.get(offerKey(o));
  if (known !== undefined) return known;
  for (const offer of offersOf(s, o.agent))
    if (offer.queue === o.queue && offer.caller === o.caller && offer.agent === o.agent) return offer;
  return undefined;
}

export function addOffer(s: State, offer: Offer): void {
  s.offers.set(offer.id, offer);
  const queue = queueOf(s, offer.queue);
  queue.offers.add(offer.id);
  touchQueue(s, queue);
  for (const key of [offer.caller, offer.agent, offer.extension]) {
    if (key !== null) addTo(s.offersOf, key, offer.id);
  }
}
const offerRef = (s: State, offer: Offer) => ({
  offer_id: offer.id,
  queue: offer.queue,
  extension: offer.extension,
  member: offer.member,
  call_id: callOf(s, offer),
});

export function offerCreated(s: State, t: Turn, e: OfferPlace): Offer | undefined {
  const id = offerKey(e);
  const known = offerAt(s, e);
  const caller = s.channels.get(e.caller);
  if (known !== undefined || s.closedOffers.has(id) || caller === undefined || caller.call === null)
    return known;
  const member = s.queues.get(e.queue)?.members.get(e.interface);
  const offer: Offer = {
    id,
    queue: e.queue,
    interface: e.interface,
    extension: member?.extension ?? null,
    member: member?.name ?? '',
    caller: e.caller,
    agent: e.agent,
    call: caller.call,
    created_at: t.at,
    answered: false,
    picked_up_by: null,
  };
  addOffer(s, offer);
  noteRing(s, offer, 'created');
  emit(t, 'offer.created', `queues/${offer.queue}`, offerRef(s, offer));
  if (offer.extension !== null) touchAgent(t, offer.extension);
  return offer;
}

export function closeOffer(s: State, t: Turn, offer: Offer, how: Outcome, seconds?: [number, number]): void {
  if (!s.offers.delete(offer.id)) return;
  const queue = s.queues.get(offer.queue);
  if (queue?.offers.delete(offer.id) === true) touchQueue(s, queue);
  s.closedOffers.add(offer.id, t.at);
  for (const key of [offer.caller, offer.agent, offer.extension]) {
    if (key !== null) takeFrom(s.offersOf, key, offer.id);
  }
  // The agent hung up during its announcement: the caller goes on waiting.
  const visit = offer.answered && how === 'canceled' ? s.visits.get(offer.caller) : undefined;
  if (visit?.queue === offer.queue) changeVisit(s, visit, { answered: false });
  noteRing(s, offer, how);
  const ref = offerRef(s, offer);
  const subject = `queues/${offer.queue}`;
  const [waited, rang] = seconds ?? [0, secondsBetween(offer.created_at, t.at)];
  // The queue also reports no answer where a device refused: it sees only the member, not the devices behind it.
  const early = rang + 1 < (s.site.queues.get(offer.queue)?.ring_seconds ?? 0);
  const outcome = how === 'timeout' && early ? 'rejected' : how;
  if (outcome === 'accepted') {
    emit(t, 'offer.accepted', subject, { ...ref, waited_seconds: waited, ring_seconds: rang });
  } else if (outcome === 'timeout') {
    emit(t, 'offer.timeout', subject, { ...ref, ring_seconds: rang });
  } else {
    emit(t, outcome === 'rejected' ? 'offer.rejected' : 'offer.canceled', subject, ref);
  }
  if (offer.extension !== null) touchAgent(t, offer.extension);
}

/** Stores how the ring ended for the `call.left` of the legs that rang (legs.ts). */
function noteRing(s: State, offer: Offer, how: Outcome | 'created'): void {
  const call = s.calls.get(callOf(s, offer) as CallId);
  if (call === undefined) return;
  const visit = s.visits.get(offer.caller);
  const answered =
    how === 'accepted' ||
    how === 'picked_up' ||
    (how !== 'created' && (call.ring === 'answered' || (visit !== undefined && hasAnswer(s, visit))));
  const moved = visit !== undefined && takenFor(visit) === 'moved';
  const ended = how === 'canceled' && !moved ? 'gave_up' : 'timeout';
  s.calls.set(call.id, { ...call, ring: answered ? 'answered' : how === 'created' ? 'rings' : ended });
}

export function offerAccepted(s: State, t: Turn, e: EngineEventOf<'offer.accepted'>): void {
  const offer = offerAt(s, e) ?? offerCreated(s, t, e);
  if (offer === undefined) return;
  const visit = s.visits.get(e.caller);
  if (visit?.queue === e.queue) closeVisit(s, t, visit, 'answered');
  const pickedUp = offer.picked_up_by !== null;
  // The same wait as in `queue.caller_left`. The engine's own count begins before its report of the join.
  const waited = s.channels.get(e.caller)?.waited ?? e.hold_seconds;
  noteWaited(s, t, e.caller, null);
  closeOffer(s, t, offer, pickedUp ? 'picked_up' : 'accepted', [waited, e.ring_seconds]);
  for (const other of offersOf(s, e.caller)) {
    if (other.queue === e.queue && other.caller === e.caller) closeOffer(s, t, other, 'canceled');
  }
  if (offer.picked_up_by === null) return beginTalk(s, t, offer);
  const picker = s.agents.get(s.channels.get(offer.picked_up_by)?.extension ?? '');
  const member = picker && memberIn(picker, offer.queue);
  if (member !== undefined)
    beginTalk(s, t, { ...offer, extension: member.extension, interface: member.interface });
}
/**
 * Another person picks up a ring of a waiting caller. The engine connects the two and then reports, as for every answer,
 * that the offered member accepted: a pickup is reported before that.
 */
export function offerPickedUp(s: State, target: Channel, by: Channel): void {
  const offer = offerBehind(s, target);
  if (offer === undefined || by.extension === offer.extension) return;
  s.offers.set(offer.id, { ...offer, picked_up_by: by.id });
}
/** The open offer for which this leg rings. A forward can ring a leg of another extension than the offered one. */
function offerBehind(s: State, leg: Channel): Offer | undefined {
  const open: Offer[] = [];
  for (const id of s.calls.get(leg.call as CallId)?.channels ?? [])
    for (const offer of offersOf(s, id)) if (offer.caller === id) open.push(offer);
  const own = open.find(
    ({ agent, extension }) => agent === leg.id || (extension !== null && extension === leg.extension),
  );
  return own ?? (open.length === 1 ? open[0] : undefined);
}
export function offerTimeout(s: State, t: Turn, e: EngineEventOf<'offer.timeout'>): void {
  const offer = offerAt(s, e);
  if (offer !== undefined) closeOffer(s, t, offer, 'timeout', [0, e.ring_seconds]);
}

/** How the ringing of one agent ended; the dial's event comes before that of app_queue, if any. */
export function offerDialEnded(s: State, t: Turn, e: EngineEventOf<'dial.ended'>): void {
  const { from, to: agent, status } = e;
  const visit = from === null ? undefined : s.visits.get(from);
  if (visit !== undefined && status === 'ANSWER') changeVisit(s, visit, { answered: true });
  for (const offer of offersOf(s, agent)) {
    if (offer.agent !== agent) continue;
    if (status === 'ANSWER') s.offers.set(offer.id, { ...offer, answered: true });
    else closeOffer(s, t, offer, DIAL_OUTCOME[status] ?? 'canceled');
  }
}
const DIAL_OUTCOME: Readonly<Record<string, Outcome>> = {
  BUSY: 'rejected',
  NOANSWER: 'timeout',
  CONGESTION: 'timeout',
  CHANUNAVAIL: 'timeout',
};

/** The caller's or the agent's channel is gone: cancels the offers between them. */
export function cancelOffersOf(s: State, t: Turn, channel: ChannelId): void {
  if (!s.offersOf.has(channel)) return;
  for (const offer of offersOf(s, channel)) closeOffer(s, t, offer, 'canceled');
}
