import type { Call, CallReply, CallsReply, Leg } from '@offhook/contract/calls.ts';
import type { z } from 'zod';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import { callsOf } from '../../core/rights.ts';
import type { Objects, Principal } from '../../core/rights.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveCall, LiveLeg, LiveView } from '../../ports/live.ts';
import type { TopicSource } from '../../ports/stream.ts';

const legOf = (leg: LiveLeg): Leg => ({
  leg_id: leg.id,
  extension: leg.extension,
  endpoint: leg.endpoint,
  number: leg.party.number,
  name: leg.party.name,
  state: leg.state,
  since: rfc3339(leg.since),
  held: leg.held,
  queue: leg.queue,
  slot: leg.slot,
});

/** In order of what a call does where its legs do several things; two that talk come before all. */
const STATES: readonly Call['state'][] = ['parked', 'queued', 'alerting', 'held', 'connected', 'initiated'];
function stateOf({ legs }: LiveCall): Call['state'] {
  const talking = legs.filter((leg) => leg.state === 'connected' || leg.state === 'held');
  if (talking.length > 1) return talking.some((leg) => leg.state === 'held') ? 'held' : 'connected';
  return STATES.find((state) => legs.some((leg) => leg.state === state)) ?? 'initiated';
}
function partiesOf({ legs }: LiveCall): Call['parties'] {
  const parties = new Map<string, Call['parties'][number]>();
  for (const { id, extension, party } of legs) {
    const key = extension ?? id;
    if (!parties.has(key)) parties.set(key, { extension, number: party.number, name: party.name });
  }
  return [...parties.values()];
}
/** A call as the wire shows it. */
export const callView = (call: LiveCall): Call => ({
  call_id: call.id,
  state: stateOf(call),
  direction: call.direction,
  dialled: call.dialled,
  started_at: rfc3339(call.started_at),
  answered_at: rfc3339OrNull(call.answered_at),
  extensions: [...call.extensions],
  parties: partiesOf(call),
  legs: call.legs.map(legOf),
});
/** A call belongs to everybody who has or had a leg in it, as its events do. */
const isSeen = (objects: Objects, call: LiveCall): boolean =>
  objects === null || call.extensions.some((extension) => objects.includes(extension));

/** The calls that go on, for those who may see them. */
export interface LiveCalls extends TopicSource {
  list(who: Principal): z.infer<typeof CallsReply>;
  /** Also by the id of a call that was merged into it. Throws `not_found` also for one that is none of theirs. */
  one(who: Principal, id: string): z.infer<typeof CallReply>;
}
export function createLiveCalls(live: LiveView, clock: Clock): LiveCalls {
  const known = () => ({
    as_of: rfc3339(live.as_of > 0 ? live.as_of : clock.now()),
    stale: !live.live,
  });
  const snapshot = (objects: Objects) => ({
    ...known(),
    calls: live
      .calls()
      .filter((call) => isSeen(objects, call))
      .map(callView),
  });
  return {
    snapshot,
    list: (who) => ({ success: true, ...snapshot(callsOf(who)) }),
    one(who, id) {
      const call = live.call(id);
      if (call === undefined || !isSeen(callsOf(who), call)) {
        throw new ServiceError('not_found', 'there is no such call');
      }
      return { success: true, ...known(), call: callView(call) };
    },
  };
}
