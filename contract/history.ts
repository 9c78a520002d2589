import { z } from 'zod';
import { pageLimit, wholeNumber } from './paging.ts';
import { OLD_OFFSET } from './extensions.ts';

export const HistoryFilter = z.enum(['all', 'in', 'out', 'missed']);
export type HistoryFilter = z.infer<typeof HistoryFilter>;
export const Disposition = z.enum(['ANSWERED', 'NO ANSWER', 'BUSY', 'FAILED', 'CONGESTION']);
export const HistoryCall = z.object({
  id: z.int(),
  call_key: z.string(),
  calldate: z.string(),
  started_at: z.string(),
  answered_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  direction: z.enum(['in', 'out', 'missed']),
  party: z.string(),
  party_name: z.string(),
  customer_id: z
    .int()
    .optional()
    .describe('Customer with this number in the phonebook, whose name `party_name` is. Absent without one.'),
  duration: z.int(),
  billsec: z.int(),
  ring_sec: z.int(),
  wait_seconds: z.int(),
  talk_seconds: z.int(),
  hold_seconds: z.int(),
  disposition: Disposition,
  channel: z.string(),
  dstchannel: z.string(),
  device_type: z.enum(['mobil', 'webrtc', 'sip', '']),
  queue: z.string().nullable(),
  queue_title: z
    .string()
    .nullable()
    .describe('Title that the queue has now. Null without a queue, and where the queue is gone.'),
  has_recording: z.boolean(),
});
export type HistoryCall = z.infer<typeof HistoryCall>;
export const HistoryStats = z.object({
  total_calls: z.int(),
  incoming_calls: z.int(),
  outgoing_calls: z.int(),
  missed_calls: z.int(),
  total_billsec: z.int(),
});
export type HistoryStats = z.infer<typeof HistoryStats>;
/** 200 of history.php (wire.md section 4). `stats` follow the same filter and range as the list. */
export const History = z.object({
  success: z.literal(true),
  extension: z.string(),
  filter: HistoryFilter,
  total_returned: z.int(),
  next_cursor: z.string().nullable(),
  stats: HistoryStats,
  calls: z.array(HistoryCall),
});
export type History = z.infer<typeof History>;

const DIGITS = /^(0|[1-9]\d{0,9})$/;
/** `from` is included, `to` is not; `cursor` is the `next_cursor` of a page with the same other parameters. */
export const HistoryQuery = z.object({
  filter: HistoryFilter.default('all'),
  /** Part of the other side's name or number; no wildcards. */
  q: z
    .string()
    .max(64)
    .regex(/^\P{Cc}*$/u, 'must not contain control characters')
    .optional(),
  limit: pageLimit(100, '50', DIGITS).default(50),
  offset: wholeNumber(0, 1_000_000, DIGITS).default(0).meta(OLD_OFFSET),
  cursor: z.string().max(256).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  extension: z
    .string()
    .regex(/^\d{1,20}$/, 'must be an extension')
    .optional(),
});
export type HistoryQuery = z.output<typeof HistoryQuery>;

const CallKey = z.string().min(1).max(128);
/** `call_keys` are those of the list; a form sends them in one field, separated by commas. */
export const HistoryAction = z.object({
  action: z.string().max(64),
  call_keys: z.union([z.array(CallKey).min(1).max(500), z.string().min(1).max(32_768)]).optional(),
});
export type HistoryAction = z.output<typeof HistoryAction>;
/** `hidden` counts the rows that were visible until now. */
export const HistoryActionReply = z.union([
  z.object({ success: z.literal(true), hidden: z.int() }),
  z.object({ success: z.literal(true), cleared: z.literal(true) }),
]);
export type HistoryActionReply = z.output<typeof HistoryActionReply>;
