import { z } from 'zod';
import { pageLimit, wholeNumber } from './paging.ts';

const DIGITS = /^(0|[1-9]\d{0,6})$/;

/** Reachability of an extension's devices (domain.md section 4). */
export const Reachability = z.enum(['online', 'push_only', 'offline', 'unknown']);
/** Activity of the line. */
export const Activity = z
  .enum(['idle', 'ringing', 'in_call', 'on_hold', 'in_call_and_ringing', 'busy'])
  .describe(
    '`on_hold`: the person has put each of its calls on hold, by the phone or by a command; a person whom the other side put on hold is `in_call`.',
  );
/** Status set by the person. */
export const Personal = z.enum(['available', 'away', 'xa', 'dnd', 'chat', 'unavailable', 'not_set']);
export type Reachability = z.infer<typeof Reachability>;
export type Activity = z.infer<typeof Activity>;
export type Personal = z.infer<typeof Personal>;

export const Presence = z.object({
  reachability: Reachability,
  activity: Activity,
  personal: Personal,
  note: z.string().nullable(),
  expires_at: z.string().nullable().describe('End of the personal status; null: open.'),
  /** One word for lists: dnd, in_call, ringing, away, xa, unavailable, the agent's pause reason, available, offline. */
  summary: z.string(),
  since: z
    .string()
    .describe(
      'Start of what `summary` names. A call keeps its start while another one rings and after a hold or do not disturb; `on_hold` has the start of the hold.',
    ),
});
export type Presence = z.infer<typeof Presence>;

export const Contact = z.object({
  extension: z.string(),
  name: z.string(),
  role: z.string(),
  role_name: z.string(),
  status: z.enum(['online', 'busy', 'offline']),
  presence: Presence,
  sip_status: z.string(),
  webrtc_status: z.string(),
  mob_webrtc_status: z.string(),
  email: z.string().nullable(),
  mobile: z.string().nullable(),
  department: z.string().nullable(),
});
export type Contact = z.infer<typeof Contact>;
/** `offset` of a list that also has a `cursor`. */
export const OLD_OFFSET = {
  deprecated: true,
  description: 'Use `cursor`: with an offset the pages shift while the list changes. Not with a `cursor`.',
};
/**
 * Query of contacts.php: each word of `q`, in any order, must be part of the name, the department or a number, ignoring case
 * and accents.
 */
export const ContactsQuery = z.object({
  q: z.string().max(64).optional(),
  limit: pageLimit(10_000, 'the whole list', DIGITS),
  cursor: z
    .string()
    .regex(/^\d{1,20}(?:\.[\w-]{16})?$/, 'must be a cursor of this list')
    .describe('`next_cursor` of the page before.')
    .optional(),
  offset: wholeNumber(0, 1_000_000, DIGITS).optional().meta(OLD_OFFSET),
});
export type ContactsQuery = z.infer<typeof ContactsQuery>;
/** 200 of contacts.php (wire.md section 3). `total` counts every match, independent of `limit`. */
export const Contacts = z.object({
  success: z.literal(true),
  total: z.int(),
  as_of: z.string(),
  stale: z.boolean(),
  next_cursor: z.string().nullable().describe('Null at the end, and for the whole list.'),
  contacts: z.array(Contact),
});
export type Contacts = z.infer<typeof Contacts>;
