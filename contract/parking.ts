import { z } from 'zod';

/** A call on a parking slot: whoever dials the slot takes it. */
export const ParkedCall = z
  .object({
    slot: z.string().describe('The number to dial to take the call.'),
    lot: z.string().describe('The parking lot the slot belongs to.'),
    call_id: z.string(),
    leg_id: z.string(),
    party: z.object({ number: z.string(), name: z.string() }).describe('Who waits on the slot.'),
    since: z.string(),
    parked_by: z
      .string()
      .nullable()
      .describe(
        'Extension of who parked the call; null where that is not known, or is no extension of ours.',
      ),
  })
  .meta({ id: 'ParkedCall' });
export type ParkedCall = z.infer<typeof ParkedCall>;

export const ParkingSnapshot = z.object({
  as_of: z.string(),
  stale: z.boolean(),
  parked: z.array(ParkedCall).describe('In order of slot.'),
});
export const ParkingReply = ParkingSnapshot.extend({ success: z.literal(true) });

export const SlotFreed = ParkedCall.pick({ slot: true, lot: true, call_id: true, leg_id: true }).extend({
  reason: z
    .enum(['picked_up', 'timed_out', 'hung_up', 'engine_lost'])
    .describe(
      '`picked_up`: somebody took the call; `timed_out`: nobody took it in time, and it went back; `hung_up`: who was parked ended the call; `engine_lost`: the engine lost the call, or it ended while nobody listened.',
    ),
});
export type SlotFreed = z.infer<typeof SlotFreed>;
