import { ParkingReply } from '@offhook/contract/parking.ts';
import type { ParkingSnapshot } from '@offhook/contract/parking.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { seesParking } from '../../core/rights.ts';
import { wireParked } from '../../pbx/wire-call.ts';
import type { Clock } from '../../ports/clock.ts';
import type { App } from '../../ports/http.ts';
import type { LiveView } from '../../ports/live.ts';
import type { TopicSource } from '../../ports/stream.ts';

/** Parked calls are the same for everybody who may see them. */
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

/** Reading the parked calls of the site, from memory. */
export function parkingRoutes(app: App, parking: LiveParking): void {
  app.get(
    '/api/v1/parking',
    {
      config: { level: 'user', scope: 'calls:read' },
      schema: {
        tags: ['calls'],
        summary: 'The parked calls of the site, which anybody may take by dialling the slot',
        response: { 200: ParkingReply },
      },
    },
    (request) => {
      if (!seesParking(request.person()))
        throw new ServiceError('forbidden', 'this API key is limited to some queues or extensions');
      return { success: true as const, ...parking.snapshot() };
    },
  );
}
