import { z } from 'zod';

/** Current state of a connection to a carrier or another exchange. */
export const TrunkState = z
  .object({
    name: z.string(),
    title: z.string(),
    enabled: z.boolean(),
    reachable: z
      .boolean()
      .nullable()
      .describe(
        'Whether the other side answers the check every 20 s; null where unknown, because the trunk is disabled or the engine is away.',
      ),
    since: z.string().nullable().describe('Start of this state, as observed by this service.'),
    calls: z.int().describe('Number of its live calls.'),
    max_calls: z.int().nullable(),
  })
  .meta({ id: 'TrunkState' });
export type TrunkState = z.infer<typeof TrunkState>;
export const TrunksReply = z.object({ success: z.literal(true), trunks: z.array(TrunkState) });
