import type { OfferId, CallId } from '@offhook/contract/ids.ts';
import type { Offer, Queue, State } from './state.ts';

export function queueOf(s: State, name: string): Queue {
  const known = s.queues.get(name);
  if (known !== undefined) return known;
  const queue: Queue = {
    name,
    strategy: '',
    members: new Map(),
    callers: [],
    offers: new Set(),
    view: null,
  };
  s.queues.set(name, queue);
  touchQueue(s, queue);
  return queue;
}
export function touchQueue(s: State, queue: Queue): void {
  queue.view = null;
  s.queueList = null;
}

export function* offersOf(s: State, key: string): Generator<Offer> {
  for (const id of s.offersOf.get(key) ?? []) {
    const offer = s.offers.get(id as OfferId);
    if (offer !== undefined) yield offer;
  }
}
export function firstOffer(s: State, key: string): Offer | undefined {
  const ids = s.offersOf.get(key);
  if (ids === undefined) return undefined;
  for (const id of ids) {
    const offer = s.offers.get(id);
    if (offer !== undefined) return offer;
  }
  return undefined;
}
export const callOf = (s: State, offer: Offer): string =>
  s.channels.get(offer.caller)?.call ?? s.aliases.get(offer.call as CallId) ?? offer.call;
