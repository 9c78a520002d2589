import type { ParkingSnapshot } from '@offhook/contract/parking.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { wireParked } from '../../pbx/wire-call.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveView } from '../../ports/live.ts';
import type { TopicSource } from '../../ports/stream.ts';

/** Parked calls; the same for all who may see them. */
export interface LiveParking extends TopicSource {
  snapshot(): z.infer<typeof ParkingSnapshot>;
}
export const createLiveParking = (
  live: Pick<LiveView, 'live' | 'as_of' | 'parked'>,
  clock: Clock,
): LiveParking => ({
  snapshot: () => ({
    as_of: rfc3339(live.as_of > 0 ? live.as_of : clock.now()),
    stale: !live.live,
    parked: live.parked().map(wireParked),
  }),
});
