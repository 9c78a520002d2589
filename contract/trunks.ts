import { z } from 'zod';

const state = z
  .enum(['registered', 'reachable', 'unreachable', 'rejected'])
  .describe(
    '`registered`: the far side accepted the registration and answers; `reachable`: it answers, and no registration is configured; `unreachable`: it does not answer; `rejected`: it answers, but the registration failed. Calls can leave in the first two.',
  );
const reason = z
  .enum(['no_answer', 'registration_failed'])
  .nullable()
  .describe(
    'Why the trunk is down; null while it is up. `no_answer`: no answer to OPTIONS, also where the name is not resolved or the connection is refused; `registration_failed`: user name, password or account are wrong, or the registrar is out of order.',
  );
const roundTrip = z
  .number()
  .nullable()
  .describe(
    'Milliseconds from an OPTIONS to its answer, as last read from the engine; null without an answer. Of several servers the shortest.',
  );

const servers = z
  .array(
    z.object({
      server: z.string().describe('Host and port, as the engine sends to it.'),
      reachable: z.boolean().nullable().describe('Whether it answered the last OPTIONS; null where unknown.'),
      round_trip_ms: roundTrip,
    }),
  )
  .describe('Its servers, in order of address; more than one only with `srv`.');

/** Data of `trunk.up` and `trunk.down`. */
export const TrunkChange = z.object({
  trunk: z.string(),
  title: z.string(),
  state,
  reason,
  since: z.string().describe('Start of this state, as observed by this service.'),
  round_trip_ms: roundTrip,
  servers,
});
export type TrunkChange = z.infer<typeof TrunkChange>;

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
        'Whether the other side, or one of its servers, answers the regular check; null where unknown, because the trunk is disabled or the engine is away.',
      ),
    state: state
      .nullable()
      .describe('Last known state, with its registration; null before the first, and while disabled.'),
    reason,
    since: z.string().nullable().describe('Start of this state, as observed by this service.'),
    round_trip_ms: roundTrip,
    servers,
    calls: z.int().describe('Number of its live calls.'),
    max_calls: z.int().nullable(),
  })
  .meta({ id: 'TrunkState' });
export type TrunkState = z.infer<typeof TrunkState>;

export const TrunksSnapshot = z.object({
  as_of: z.string(),
  stale: z.boolean().describe('True while the engine is away: the states are the last known ones.'),
  trunks: z.array(TrunkState).describe('In order of name.'),
});
export const TrunksReply = TrunksSnapshot.extend({ success: z.literal(true) });
