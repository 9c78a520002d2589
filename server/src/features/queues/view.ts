import type { Queue, QueueCaller, QueueMember, QueueOffer } from '@offhook/contract/queues.ts';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import type { QueueMember as EngineMember } from '../../ports/engine-state.ts';
import type { LiveCaller, LiveOffer, LiveQueue } from '../../ports/live.ts';
import type { SiteQueue } from '../../ports/site.ts';
import { isPaused } from '../../pbx/agent-state.ts';

/** Fields of a queue that do not come from the engine. */
export type QueueSettings = Pick<
  SiteQueue,
  'name' | 'number' | 'title' | 'strategy' | 'ring_seconds' | 'wrap_up_seconds' | 'max_wait_seconds'
>;

const memberOf = (m: EngineMember): QueueMember => ({
  extension: m.extension,
  name: m.name,
  membership: m.membership,
  // A wrap-up pause by the system is not shown as a pause.
  paused: isPaused(m),
  pause_reason: isPaused(m) ? m.paused_reason : null,
  paused_since: isPaused(m) ? rfc3339OrNull(m.paused_at) : null,
  in_call: m.in_call,
  device_state: m.state,
  penalty: m.penalty,
  last_call_at: rfc3339OrNull(m.last_call_at),
});
export const callerOf = (c: LiveCaller): QueueCaller => ({
  id: c.leg,
  call_id: c.call,
  position: c.position,
  priority: c.priority,
  joined_at: rfc3339(c.joined_at),
  caller: { number: c.party.number, name: c.party.name },
  ...(c.customer === undefined ? {} : { customer: c.customer }),
});
const offerOf = (o: LiveOffer, legs: ReadonlyMap<string, string>, ring_seconds: number): QueueOffer => ({
  offer_id: o.id,
  extension: o.extension,
  member: o.member,
  call_id: o.call,
  caller_id: legs.get(o.caller) ?? o.caller,
  created_at: rfc3339(o.created_at),
  deadline: rfc3339(o.created_at + ring_seconds * 1000),
});
const byExtension = (a: QueueMember, b: QueueMember): number => {
  const [x, y] = [a.extension ?? a.name, b.extension ?? b.name];
  return x.length - y.length || (x < y ? -1 : 1);
};
export const membersOf = (live: LiveQueue | undefined): QueueMember[] =>
  (live?.members ?? []).map(memberOf).toSorted(byExtension);

/** A queue as the wire shows it; empty if the engine does not hold it. */
export function queueView(settings: QueueSettings, live: LiveQueue | undefined): Queue {
  const callers = live?.callers ?? [];
  const legs = new Map(callers.map((c) => [c.channel as string, c.leg]));
  const { name, number, title, strategy, ring_seconds, wrap_up_seconds, max_wait_seconds } = settings;
  return {
    name,
    number,
    title,
    strategy,
    ring_seconds,
    wrap_up_seconds,
    max_wait_seconds,
    members: membersOf(live),
    callers: callers.map(callerOf),
    offers: (live?.offers ?? []).map((o) => offerOf(o, legs, ring_seconds)),
  };
}
