import { z } from 'zod';
import { LegDisposition } from './conversations.ts';
import { CallDirection, Placed } from './directions.ts';
import { CallCustomer } from './phonebook.ts';

export const Leg = z
  .object({
    leg_id: z.string(),
    extension: z.string().nullable().describe('Null for a leg that is not one of our extensions.'),
    endpoint: z.string().nullable(),
    number: z.string(),
    name: z.string(),
    state: z.enum(['initiated', 'alerting', 'queued', 'connected', 'held', 'parked']),
    since: z.string(),
    answered_at: z.string().nullable().describe('First connection of this leg.'),
    held: z.boolean().describe('True while this leg has put the other side on hold.'),
    queue: z.string().nullable().describe('The queue it waits in.'),
    slot: z.string().nullable().describe('The slot it is parked on.'),
    recording: z.boolean().describe('True while both directions of this leg are recorded.'),
    recording_paused: z.boolean().describe('True while the recording is paused and contains silence.'),
  })
  .meta({ id: 'Leg' });
export type Leg = z.infer<typeof Leg>;
/** A live call. */
export const Call = z
  .object({
    call_id: z.string(),
    state: z
      .enum(['initiated', 'alerting', 'queued', 'connected', 'held', 'parked'])
      .describe('State of the whole call: talking outranks waiting, waiting outranks ringing.'),
    direction: CallDirection,
    dialled: z.string(),
    placed: Placed.optional(),
    started_at: z.string(),
    answered_at: z.string().nullable(),
    extensions: z.array(z.string()).describe('Every extension that has or had a leg in it.'),
    customer_disposition: LegDisposition.optional().describe(
      'How the customer’s leg of an outgoing call was answered so far, as in `call.ended`; `answered` from the answer on. Absent without an outside number, and while undecided.',
    ),
    customer: CallCustomer.optional().describe(
      'Customer of the outside party, the first one of several. Absent without an outside number, and while no shared customer has it.',
    ),
    parties: z
      .array(z.object({ extension: z.string().nullable(), number: z.string(), name: z.string() }))
      .describe('Current parties, each once however many of its devices ring; the calling one first.'),
    legs: z.array(Leg),
  })
  .meta({ id: 'Call' });
export type Call = z.infer<typeof Call>;

const Known = { success: z.literal(true), as_of: z.string(), stale: z.boolean() };
export const CallsReply = z.object({ ...Known, calls: z.array(Call) });
export const CallReply = z.object({ ...Known, call: Call });
