import { z } from 'zod';

export const HistoryFilter = z.enum(['all', 'in', 'out', 'missed']);
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
