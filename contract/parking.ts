import { z } from 'zod';

/** A parked call: dialling the slot retrieves it. */
export const ParkedCall = z
  .object({
    slot: z.string().describe('Number to dial to retrieve the call.'),
    lot: z.string().describe('The parking lot the slot belongs to.'),
    node: z
      .string()
      .optional()
      .describe('Node of the engine that has the slot; absent in events of earlier versions.'),
    call_id: z.string(),
    leg_id: z.string(),
    party: z.object({ number: z.string(), name: z.string() }).describe('Parked party.'),
    since: z.string(),
    parked_by: z
      .string()
      .nullable()
      .describe('Extension that parked the call; null where unknown or not ours.'),
  })
  .meta({ id: 'ParkedCall' });
export type ParkedCall = z.infer<typeof ParkedCall>;

export const ParkingSnapshot = z.object({
  as_of: z.string(),
  stale: z.boolean(),
  parked: z.array(ParkedCall).describe('In order of slot.'),
});
export const ParkingReply = ParkingSnapshot.extend({ success: z.literal(true) });

export const SlotFreed = ParkedCall.pick({
  slot: true,
  lot: true,
  node: true,
  call_id: true,
  leg_id: true,
}).extend({
  reason: z
    .enum(['picked_up', 'timed_out', 'hung_up', 'engine_lost'])
    .describe(
      '`picked_up`: the call was retrieved; `timed_out`: it was not retrieved in time and went back; `hung_up`: the parked party hung up; `engine_lost`: the engine lost the call, or it ended while the service was not connected.',
    ),
});
export type SlotFreed = z.infer<typeof SlotFreed>;
