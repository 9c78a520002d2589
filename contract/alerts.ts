import { z } from 'zod';
import { EVENT_DATA } from './events.ts';

/** An event of the topic `alerts`. */
export const Alert = z.discriminatedUnion('type', [
  z.object({ type: z.literal('call.emergency'), data: EVENT_DATA['call.emergency'] }),
  z.object({ type: z.literal('call.refused'), data: EVENT_DATA['call.refused'] }),
]);
export type Alert = z.infer<typeof Alert>;
export const AlertsSnapshot = z.object({
  as_of: z.string(),
  alerts: z
    .array(Alert)
    .describe(
      'Of the last 30 minutes, at most 50, the newest last; refusals of one reason for an extension once.',
    ),
});
export type AlertsSnapshot = z.infer<typeof AlertsSnapshot>;
