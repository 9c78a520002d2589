import type { LiveOffer, LiveQueue } from '../ports/live.ts';
import { asTalking } from './agent-state.ts';
import { callOf } from './queue-state.ts';
import { customerIn } from './queues.ts';
import type { Offer, Queue, State } from './state.ts';

const offerView = (s: State, offer: Offer): LiveOffer => {
  const { id, queue, extension, member, caller, created_at } = offer;
  return Object.freeze({ id, queue, extension, member, caller, call: callOf(s, offer), created_at });
};
export function queueView(s: State, queue: Queue): LiveQueue {
  queue.view ??= Object.freeze({
    name: queue.name,
    strategy: queue.strategy,
    members: Object.freeze([...queue.members.values()].map((member) => asTalking(s, member))),
    callers: Object.freeze(
      queue.callers.map((visit, i) =>
        Object.freeze({
          queue: visit.queue,
          channel: visit.channel,
          position: i + 1,
          joined_at: visit.joined_at,
          priority: visit.priority,
          leg: visit.leg,
          call: s.channels.get(visit.channel)?.call ?? '',
          party: visit.caller,
          moves: visit.moves,
          ...customerIn(s, s.channels.get(visit.channel)),
        }),
      ),
    ),
    offers: Object.freeze(
      [...queue.offers].flatMap((id) => {
        const offer = s.offers.get(id);
        return offer === undefined ? [] : [offerView(s, offer)];
      }),
    ),
  });
  return queue.view;
}
export function queueList(s: State): readonly LiveQueue[] {
  s.queueList ??= Object.freeze([...s.queues.values()].map((q) => queueView(s, q)));
  return s.queueList;
}
