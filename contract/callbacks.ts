import { z } from 'zod';
import { PAGE_FIELDS, pageCursor } from './paging.ts';
import { CallCustomer } from './phonebook.ts';

/** Days after which an unanswered call is deleted. */
export const CALLBACK_DAYS = 30;
/** Limit of callbacks of one person or queue; beyond it the oldest are deleted. */
export const MAX_CALLBACKS = 1_000;
/** Minutes until a taken callback is open again. */
export const TAKEN_MINUTES = 60;
/** Limit of ids in one event. */
export const MAX_CALLBACK_IDS = 100;

export const CloseReason = z
  .enum(['done', 'not_reached', 'not_needed', 'other'])
  .describe(
    '`done`: the matter was settled by other means; `not_reached`: tried, and no more tries; `not_needed`: e.g. a wrong number.',
  );
const Moment = z.string().describe('RFC 3339.');

/** An outside number that a person or a queue did not answer: one for each number and person, or number and queue. */
export const Callback = z
  .object({
    id: z.int(),
    extension: z.string().nullable().describe('Extension that was called in vain; null for a queue.'),
    queue: z.string().nullable().describe('Queue that the caller left without an answer; null for a person.'),
    queue_title: z.string().nullable().describe('Title that the queue has now.'),
    number: z.string().describe('In E.164 where it has that form, else its digits as received.'),
    customer: CallCustomer.nullable().describe(
      'Customer with this number as the phonebook is now: a personal one of the reader, else the newest shared one.',
    ),
    tries: z.int().describe('Calls in vain since the last contact.'),
    first_at: Moment,
    last_at: Moment,
    conversation: z.string().describe('Id of the conversation of the last try.'),
    state: z.enum(['open', 'closed']),
    taken: z
      .object({
        by: z.string().describe('Extension, or `key:<name>` of an API key.'),
        at: Moment,
        until: Moment.describe('Then the callback is free again.'),
      })
      .nullable()
      .describe('Who calls back; it holds for every callback with this number.'),
    closed: z
      .object({
        at: Moment,
        by: z.string().nullable().describe('Extension, or `key:<name>`; null where it is not known.'),
        reason: z.union([z.literal('contact'), CloseReason]),
        note: z.string().nullable(),
        conversation: z.string().nullable().describe('Id of the conversation of the contact.'),
      })
      .nullable(),
  })
  .meta({ id: 'Callback' });
export type Callback = z.infer<typeof Callback>;

export const CallbacksQuery = z.strictObject({
  state: z.enum(['open', 'closed']).default('open'),
  queue: z
    .string()
    .regex(/^[a-z0-9_-]{1,64}$/, 'must be a queue')
    .optional(),
  limit: PAGE_FIELDS.limit,
  cursor: pageCursor(/^\d{1,15}-[1-9]\d{0,14}$/),
});
export type CallbacksQuery = z.output<typeof CallbacksQuery>;
export const CallbackPath = z.strictObject({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a callback'),
});
export const CloseCallback = z.strictObject({
  reason: CloseReason,
  note: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .regex(/^[\P{Cc}\n\t]*$/u, 'must not contain control characters')
    .nullable()
    .default(null),
});
export type CloseCallback = z.output<typeof CloseCallback>;
export const CallbackReply = z.object({ success: z.literal(true), callback: Callback });
export const CallbacksReply = z.object({
  success: z.literal(true),
  callbacks: z.array(Callback).describe('The one with the newest try first.'),
  open: z.int().describe('Open callbacks that the caller sees.'),
  next_cursor: z.string().nullable(),
});
/** Data of `callback.changed`. Numbers stay out of the journal, which outlives the callback. */
export const CallbackChange = z.object({
  extension: z.string().nullable().describe('Person whose callbacks changed; null for those of a queue.'),
  queue: z.string().nullable(),
  ids: z
    .array(z.int())
    .nullable()
    .describe(`Ids of the callbacks; null for more than ${MAX_CALLBACK_IDS}: read the list again.`),
  open: z.int().describe('Open callbacks of this person or queue.'),
});
export type CallbackChange = z.infer<typeof CallbackChange>;
