import type { CallReply, CallsReply } from '@offhook/contract/calls.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { callsOf } from '../../rights/rights.ts';
import type { Objects, Principal } from '../../rights/rights.ts';
import { ServiceError } from '../../core/errors.ts';
import { wireCall } from '../../pbx/wire-call.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveCall, LiveView } from '../../ports/live.ts';
import type { TopicSource } from '../../ports/stream.ts';

/** A call is visible to every extension that has or had a leg in it, as its events are. */
const isSeen = (objects: Objects, call: LiveCall): boolean =>
  objects === null || call.extensions.some((extension) => objects.includes(extension));

/** Live calls, limited to the caller's rights. */
export interface LiveCalls extends TopicSource {
  list(who: Principal): z.infer<typeof CallsReply>;
  /** Also found by the id of a merged call. Throws `not_found` also for a call that the caller may not see. */
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
      .map(wireCall),
  });
  return {
    snapshot,
    list: (who) => ({ success: true, ...snapshot(callsOf(who)) }),
    one(who, id) {
      const call = live.call(id);
      if (call === undefined || !isSeen(callsOf(who), call)) {
        throw new ServiceError('not_found', 'there is no such call');
      }
      return { success: true, ...known(), call: wireCall(call) };
    },
  };
}
