import { z } from 'zod';
import { CallCustomer } from './phonebook.ts';

const Party = z.object({ number: z.string(), name: z.string() });
/** Machine name of a queue. */
export const QueueName = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'must be the name of a queue');
const CallerId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9_.@-]{1,160}$/, 'must be the id of a caller who waits');
const Extension = z.string().regex(/^[0-9]{1,20}$/, 'must be an extension');
/** Callers of a higher priority are served first. */
const Priority = z.int().min(0).max(1_000_000);

/** A member as confirmed by the engine; the agent's other work is in `/api/v1/agents`. */
export const QueueMember = z
  .object({
    extension: z.string().nullable().describe('Null for a member that is not one of our extensions.'),
    name: z.string(),
    membership: z.enum(['static', 'dynamic', 'realtime']),
    paused: z.boolean(),
    pause_reason: z.string().nullable(),
    paused_since: z.string().nullable(),
    in_call: z.boolean().describe('In a call of this queue.'),
    device_state: z.string().describe("State of its device, in the engine's own words."),
    penalty: z.int(),
    last_call_at: z.string().nullable(),
  })
  .meta({ id: 'QueueMember' });
export type QueueMember = z.infer<typeof QueueMember>;
export const QueueCaller = z
  .object({
    id: z.string().describe('The `leg_id` of its events; identifies the caller while it waits.'),
    call_id: z.string(),
    position: z.int().describe('From 1.'),
    priority: z.int().nullable().describe('Null until the engine has reported it.'),
    joined_at: z.string(),
    caller: Party,
    customer: CallCustomer.optional().describe(
      'Customer of its call. Absent while none is known, and for a display that does not show callers in full.',
    ),
  })
  .meta({ id: 'QueueCaller' });
export type QueueCaller = z.infer<typeof QueueCaller>;
export const QueueOffer = z
  .object({
    offer_id: z.string(),
    extension: z.string().nullable(),
    member: z.string(),
    call_id: z.string(),
    caller_id: z.string(),
    created_at: z.string(),
    deadline: z.string().describe("End of the queue's ring time."),
  })
  .meta({ id: 'QueueOffer' });
export type QueueOffer = z.infer<typeof QueueOffer>;
/** One queue: settings, members, waiting callers and offers. */
export const Queue = z
  .object({
    name: z.string(),
    number: z.string(),
    title: z.string(),
    strategy: z.string(),
    ring_seconds: z.int(),
    wrap_up_seconds: z.int(),
    max_wait_seconds: z.int().describe('0 for ever.'),
    members: z.array(QueueMember),
    callers: z.array(QueueCaller).describe('In order of position.'),
    offers: z.array(QueueOffer),
  })
  .meta({ id: 'Queue' });
export type Queue = z.infer<typeof Queue>;

const Known = { success: z.literal(true), as_of: z.string(), stale: z.boolean() };
export const QueuesReply = z.object({ ...Known, queues: z.array(Queue) });
export const QueueReply = z.object({ ...Known, queue: Queue });

export const QueuePath = z.strictObject({ name: QueueName });
export const CallerPath = z.strictObject({ name: QueueName, id: CallerId });
export const MemberPath = z.strictObject({ name: QueueName, extension: Extension });

export const MoveCaller = z
  .strictObject({
    queue: QueueName.optional().describe('Target queue; the same one by default.'),
    position: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe('Position among callers of the same priority; the end by default.'),
    priority: Priority.optional().describe('New priority; unchanged by default.'),
  })
  .refine(({ queue, position }) => queue !== undefined || position !== undefined, {
    message: 'give queue or position',
  })
  .meta({ id: 'MoveCaller' });
export type MoveCaller = z.infer<typeof MoveCaller>;
export const CallerPriority = z.strictObject({ priority: Priority }).meta({ id: 'CallerPriority' });
export const NewMember = z.strictObject({ extension: Extension }).meta({ id: 'NewMember' });

export const CallerReply = z.object({
  success: z.literal(true),
  operation_id: z.string().describe('Events it caused carry it as `caused_by`.'),
  queue: z.string(),
  caller: QueueCaller,
});
export const WithdrawReply = z.object({
  success: z.literal(true),
  operation_id: z.string(),
  queue: z.string(),
  call_id: z.string(),
});
export const MembersReply = z.object({
  success: z.literal(true),
  queue: z.string(),
  members: z.array(QueueMember),
});
