/**
 * Times of legs across a restart of the service. The engine does not report since when a channel has its state, so the
 * checkpoint keeps the times of each leg, and the events after the checkpoint continue them.
 */
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { ChannelId } from '@offhook/contract/ids.ts';
import type { LiveLeg } from '../ports/live.ts';
import { touchCall } from './calls.ts';
import type { OpenFacts } from './facts.ts';
import { isConnected } from './leg-state.ts';
import type { State } from './state.ts';

export type LegTimes = Pick<LiveLeg, 'state' | 'since' | 'answered_at'>;

/** Times of all legs, by leg, with those of before a restart that no snapshot has contained yet. */
export function legTimes(s: State): Map<string, LegTimes> {
  const times = new Map(s.publishedLegTimes);
  for (const { id, kind, leg, leg_since, leg_answered_at } of s.channels.values())
    if (kind === 'endpoint') times.set(id, { state: leg, since: leg_since, answered_at: leg_answered_at });
  return times;
}

/** Applies one committed event to the times of a checkpoint, before `facts` contains it; O(legs of its call). */
export function noteLegTimes(facts: OpenFacts, event: DomainEvent): void {
  const { legTimes: times } = facts;
  const reach = (leg: string, state: LegTimes['state'], since = event.at): void => {
    const before = times.get(leg);
    if (before?.state === state) return;
    const answered_at = before?.answered_at ?? (isConnected(state) ? since : null);
    times.set(leg, { state, since, answered_at });
  };
  switch (event.type) {
    case 'call.started':
      return reach(event.data.leg.leg_id, 'initiated');
    case 'call.ringing':
      return reach(event.data.leg.leg_id, 'alerting');
    case 'call.answered': {
      // The leg that waited for this answer is connected too, and has no event of its own.
      for (const id of facts.calls.get(event.data.call_id)?.legs.keys() ?? [])
        if (times.get(id)?.state === 'initiated') reach(id, 'connected');
      return reach(event.data.leg.leg_id, 'connected');
    }
    case 'call.joined':
    case 'call.retrieved':
      return reach(event.data.leg.leg_id, 'connected');
    case 'call.held':
      return reach(event.data.leg.leg_id, 'held');
    case 'queue.caller_joined':
      return reach(event.data.leg_id, 'queued', Date.parse(event.data.joined_at));
    case 'parking.slot_occupied':
      return reach(event.data.leg_id, 'parked', Date.parse(event.data.since));
    case 'queue.caller_left':
    case 'parking.slot_freed':
      return reach(event.data.leg_id, 'connected');
    case 'call.left':
      times.delete(event.data.leg.leg_id);
      return;
    case 'call.ended':
      if (event.data.merged_into !== null) return;
      for (const id of facts.calls.get(event.data.call_id)?.legs.keys() ?? []) times.delete(id);
      return;
    default:
      return;
  }
}

/** After a snapshot: legs of before the restart that are still in the same state keep their times. */
export function resumeLegTimes(s: State): void {
  for (const [id, { state, since, answered_at }] of s.publishedLegTimes) {
    const ch = s.channels.get(id as ChannelId);
    if (ch === undefined) continue;
    s.publishedLegTimes.delete(id);
    touchCall(s, ch.call);
    s.channels.set(ch.id, {
      ...ch,
      leg_since: ch.leg === state ? since : ch.leg_since,
      leg_answered_at: answered_at ?? ch.leg_answered_at,
    });
  }
}
