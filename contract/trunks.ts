import { z } from 'zod';

/** A connection to a carrier or another exchange, as it is now. */
export const TrunkState = z
  .object({
    name: z.string(),
    title: z.string(),
    enabled: z.boolean(),
    reachable: z
      .boolean()
      .nullable()
      .describe(
        'Whether the other side answers when it is asked, every 20 s; null where that is not known: the trunk is switched off, or the engine is away.',
      ),
    since: z.string().nullable().describe('Since when, as far as this service has seen it.'),
    calls: z.int().describe('Calls over it that go on.'),
    max_calls: z.int().nullable(),
  })
  .meta({ id: 'TrunkState' });
export type TrunkState = z.infer<typeof TrunkState>;
export const TrunksReply = z.object({ success: z.literal(true), trunks: z.array(TrunkState) });
