import { z } from 'zod';
import { LegDisposition } from './conversations.ts';
import { CallDirection, Placed } from './directions.ts';

export const Leg = z
  .object({
    leg_id: z.string(),
    extension: z.string().nullable().describe('Null for a leg that is not one of our extensions.'),
    endpoint: z.string().nullable(),
    number: z.string(),
    name: z.string(),
    state: z.enum(['initiated', 'alerting', 'queued', 'connected', 'held', 'parked']),
    since: z.string(),
    answered_at: z
      .string()
      .nullable()
      .describe('When this leg was connected for the first time: how long its person has been in the call.'),
    held: z.boolean().describe('This leg has put the other side on hold.'),
    queue: z.string().nullable().describe('The queue it waits in.'),
    slot: z.string().nullable().describe('The slot it is parked on.'),
    recording: z.boolean().describe('What this leg says and hears is recorded.'),
    recording_paused: z.boolean().describe('The recording goes on as silence.'),
  })
  .meta({ id: 'Leg' });
export type Leg = z.infer<typeof Leg>;
/** One call that goes on. */
export const Call = z
  .object({
    call_id: z.string(),
    state: z
      .enum(['initiated', 'alerting', 'queued', 'connected', 'held', 'parked'])
      .describe('What the call as a whole does: talk counts before waiting, and waiting before ringing.'),
    direction: CallDirection,
    dialled: z.string(),
    placed: Placed.optional(),
    started_at: z.string(),
    answered_at: z.string().nullable(),
    extensions: z.array(z.string()).describe('Every extension that has or had a leg in it.'),
    customer_disposition: LegDisposition.optional().describe(
      'How the customer of an outgoing call took it so far, with the meaning it has in `call.ended`: `answered` from the answer on. Left out where nobody outside was called, and while nothing is decided.',
    ),
    parties: z
      .array(z.object({ extension: z.string().nullable(), number: z.string(), name: z.string() }))
      .describe('Who is in it now, each once however many devices ring; who called comes first.'),
    legs: z.array(Leg),
  })
  .meta({ id: 'Call' });
export type Call = z.infer<typeof Call>;

const Known = { success: z.literal(true), as_of: z.string(), stale: z.boolean() };
export const CallsReply = z.object({ ...Known, calls: z.array(Call) });
export const CallReply = z.object({ ...Known, call: Call });
