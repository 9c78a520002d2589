import type { CallId, ChannelId, OfferId } from '@offhook/contract/ids.ts';
import { rfc3339 } from '../core/clock.ts';
import type { EngineEventOf, EngineQueue, QueueCaller } from '../ports/engine.ts';
import { beginTalk, refreshAgent } from './agents.ts';
import { legOf, legParty } from './calls.ts';
import { setChannel } from './channels.ts';
import { addTo, emit, secondsBetween, takeFrom } from './state.ts';
import type { Channel, Offer, Queue, State, Turn, Visit } from './state.ts';

/**
 * A caller's visit has exactly one outcome:
 *
 *   joined --leaves, an agent had answered--> caller_left (answered)
 *          --leaves otherwise--------------> caller_left (other)
 *          --gives up, or its channel dies-> caller_abandoned
 *          --missing in a snapshot---------> caller_left (answered | engine_lost | other)
 *
 * The engine says that a caller left before it says which agent got it, and that it gave up before it says it left.
 */
export function queueOf(s: State, name: string): Queue {
  const known = s.queues.get(name);
  if (known !== undefined) return known;
  const queue: Queue = { name, strategy: '', members: new Map(), callers: [], view: null };
  s.queues.set(name, queue);
  touchQueue(s, queue);
  return queue;
}
export function touchQueue(s: State, queue: Queue): void {
  queue.view = null;
  s.queueList = null;
}

export function callerJoined(s: State, t: Turn, caller: QueueCaller): void {
  const ch = s.channels.get(caller.channel);
  if (ch === undefined || ch.call === null) return;
  const open = s.visits.get(caller.channel);
  if (open !== undefined) {
    if (open.queue === caller.queue) return;
    closeVisit(s, t, open, 'other');
  }
  const queue = queueOf(s, caller.queue);
  const leg = legOf(s, ch) ?? ch;
  const told = s.toldVisits.get(leg.id);
  s.toldVisits.delete(leg.id);
  const same = told?.queue === caller.queue ? told : undefined;
  const visit: Visit = Object.freeze({
    queue: caller.queue,
    channel: caller.channel,
    leg: leg.id,
    caller: legParty(s, leg),
    joined_at: same?.joined_at ?? caller.joined_at,
  });
  const place = Math.min(Math.max(caller.position - 1, 0), queue.callers.length);
  queue.callers.splice(place, 0, visit);
  touchQueue(s, queue);
  s.visits.set(caller.channel, visit);
  setChannel(s, t, ch, { queued: caller.queue });
  if (same !== undefined) return;
  emit(t, 'queue.caller_joined', `queues/${visit.queue}`, {
    ...visitRef(visit, ch),
    position: place + 1,
    joined_at: rfc3339(visit.joined_at),
  });
}
const visitRef = (visit: Visit, ch: Channel) => ({
  call_id: ch.call ?? '',
  queue: visit.queue,
  leg_id: visit.leg,
  caller: visit.caller,
});

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
export function closeVisit(
  s: State,
  t: Turn,
  visit: Visit,
  reason: 'answered' | 'other' | 'engine_lost',
): void {
  const { ch } = endVisit(s, t, visit);
  if (ch === undefined) return;
  emit(t, 'queue.caller_left', `queues/${visit.queue}`, {
    ...visitRef(visit, ch),
    waited_seconds: secondsBetween(visit.joined_at, t.at),
    reason,
  });
}

export function callerLeft(s: State, t: Turn, queue: string, channel: ChannelId): void {
  const visit = s.visits.get(channel);
  if (visit === undefined || visit.queue !== queue) return;
  closeVisit(s, t, visit, hasAnswer(s, queue, channel) ? 'answered' : 'other');
}
function hasAnswer(s: State, queue: string, caller: ChannelId): boolean {
  for (const offer of offersOf(s, caller)) {
    if (offer.queue !== queue || offer.caller !== caller) continue;
    if (offer.answered || s.channels.get(offer.agent)?.state === 'up') return true;
  }
  return false;
}

export function callerAbandoned(s: State, t: Turn, e: EngineEventOf<'queue.caller_abandoned'>): void {
  const visit = s.visits.get(e.channel);
  if (visit !== undefined && visit.queue === e.queue) abandon(s, t, visit, e.position);
}
function abandon(s: State, t: Turn, visit: Visit, said: number | null): void {
  const { ch, position } = endVisit(s, t, visit);
  if (ch === undefined) return;
  emit(t, 'queue.caller_abandoned', `queues/${visit.queue}`, {
    ...visitRef(visit, ch),
    waited_seconds: secondsBetween(visit.joined_at, t.at),
    position: said ?? position,
  });
}
/** The caller's channel is gone: what its visit still wants to hear is said now. */
export function closeVisitOf(s: State, t: Turn, ch: Channel): void {
  const visit = s.visits.get(ch.id);
  if (visit === undefined) return;
  if (t.observed === 'resync') closeVisit(s, t, visit, 'engine_lost');
  else if (hasAnswer(s, visit.queue, ch.id)) closeVisit(s, t, visit, 'answered');
  else abandon(s, t, visit, null);
}

/**
 * An offer is closed once: accepted | timeout | rejected (busy) | canceled (the caller gave up, another agent took it, or the
 * ringing stopped for a reason we were not told).
 */
type Outcome = 'accepted' | 'timeout' | 'rejected' | 'canceled';
interface OfferPlace {
  readonly queue: string;
  readonly interface: string;
  readonly caller: ChannelId;
  readonly agent: ChannelId;
}
export const offerKey = (o: OfferPlace): OfferId => `${o.queue}:${o.caller}:${o.agent}` as OfferId;

export function* offersOf(s: State, key: string): Generator<Offer> {
  for (const id of s.offersOf.get(key) ?? []) {
    const offer = s.offers.get(id as OfferId);
    if (offer !== undefined) yield offer;
  }
}
export function addOffer(s: State, offer: Offer): void {
  s.offers.set(offer.id, offer);
  for (const key of [offer.caller, offer.agent, offer.extension]) {
    if (key !== null) addTo(s.offersOf, key, offer.id);
  }
}
const offerRef = (s: State, offer: Offer) => ({
  offer_id: offer.id,
  queue: offer.queue,
  extension: offer.extension,
  member: offer.member,
  call_id: s.channels.get(offer.caller)?.call ?? s.aliases.get(offer.call as CallId) ?? offer.call,
});

export function offerCreated(s: State, t: Turn, e: OfferPlace): Offer | undefined {
  const id = offerKey(e);
  const known = s.offers.get(id);
  const caller = s.channels.get(e.caller);
  if (known !== undefined || s.closedOffers.has(id) || caller === undefined || caller.call === null)
    return known;
  const member = s.queues.get(e.queue)?.members.get(e.interface);
  const offer: Offer = Object.freeze({
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
  });
  addOffer(s, offer);
  emit(t, 'offer.created', `queues/${offer.queue}`, offerRef(s, offer));
  if (offer.extension !== null) refreshAgent(s, t, offer.extension);
  return offer;
}

export function closeOffer(
  s: State,
  t: Turn,
  offer: Offer,
  outcome: Outcome,
  seconds?: [number, number],
): void {
  if (!s.offers.delete(offer.id)) return;
  s.closedOffers.add(offer.id, t.at);
  for (const key of [offer.caller, offer.agent, offer.extension]) {
    if (key !== null) takeFrom(s.offersOf, key, offer.id);
  }
  const ref = offerRef(s, offer);
  const subject = `queues/${offer.queue}`;
  const [waited, rang] = seconds ?? [0, secondsBetween(offer.created_at, t.at)];
  if (outcome === 'accepted') {
    emit(t, 'offer.accepted', subject, { ...ref, waited_seconds: waited, ring_seconds: rang });
  } else if (outcome === 'timeout') {
    emit(t, 'offer.timeout', subject, { ...ref, ring_seconds: rang });
  } else {
    emit(t, `offer.${outcome}`, subject, ref);
  }
  if (offer.extension !== null) refreshAgent(s, t, offer.extension);
}

export function offerAccepted(s: State, t: Turn, e: EngineEventOf<'offer.accepted'>): void {
  const offer = s.offers.get(offerKey(e)) ?? offerCreated(s, t, e);
  if (offer === undefined) return;
  const visit = s.visits.get(e.caller);
  if (visit?.queue === e.queue) closeVisit(s, t, visit, 'answered');
  closeOffer(s, t, offer, 'accepted', [e.hold_seconds, e.ring_seconds]);
  for (const other of offersOf(s, e.caller)) {
    if (other.queue === e.queue && other.caller === e.caller) closeOffer(s, t, other, 'canceled');
  }
  beginTalk(s, t, offer);
}
export function offerTimeout(s: State, t: Turn, e: EngineEventOf<'offer.timeout'>): void {
  const offer = s.offers.get(offerKey(e));
  if (offer !== undefined) closeOffer(s, t, offer, 'timeout', [0, e.ring_seconds]);
}

/** How the ringing of one agent ended, told by the dial before app_queue's own event where there is one. */
export function offerDialEnded(s: State, t: Turn, agent: ChannelId, status: string): void {
  for (const offer of offersOf(s, agent)) {
    if (offer.agent !== agent) continue;
    if (status === 'ANSWER') s.offers.set(offer.id, Object.freeze({ ...offer, answered: true }));
    else closeOffer(s, t, offer, DIAL_OUTCOME[status] ?? 'canceled');
  }
}
const DIAL_OUTCOME: Readonly<Record<string, Outcome>> = {
  BUSY: 'rejected',
  NOANSWER: 'timeout',
  CONGESTION: 'timeout',
  CHANUNAVAIL: 'timeout',
};

/** The caller or the agent's channel is gone: the offers between them are over. */
export function cancelOffersOf(s: State, t: Turn, channel: ChannelId): void {
  if (!s.offersOf.has(channel)) return;
  for (const offer of offersOf(s, channel)) closeOffer(s, t, offer, 'canceled');
}

export function queueView(s: State, queue: Queue): EngineQueue {
  queue.view ??= Object.freeze({
    name: queue.name,
    strategy: queue.strategy,
    members: Object.freeze([...queue.members.values()]),
    callers: Object.freeze(
      queue.callers.map((visit, i) =>
        Object.freeze({
          queue: visit.queue,
          channel: visit.channel,
          position: i + 1,
          joined_at: visit.joined_at,
        }),
      ),
    ),
  });
  return queue.view;
}
export function queueList(s: State): readonly EngineQueue[] {
  s.queueList ??= Object.freeze([...s.queues.values()].map((q) => queueView(s, q)));
  return s.queueList;
}
