import { z } from 'zod';
import { ConversationRecording } from './conversations.ts';
import { PAGE_FIELDS, pageCursor } from './paging.ts';

const ID = /^[0-9a-hjkmnp-tv-z]{26}$/;
/** Id of a recording: 26 letters and digits that sort by the time it began. */
export const RecordingId = z.string().regex(ID, 'must be the id of a recording');
export const RecordingPath = z.strictObject({ id: RecordingId });

/** A recording of one leg, in both directions. */
export const Recording = ConversationRecording.extend({
  call_id: z.string().describe('Call in which it started; finds its conversation.'),
  extension: z.string().nullable().describe('Extension of the recorded leg; null for an outside party.'),
  queue: z.string().nullable().describe('Queue whose rule recorded it.'),
  sha256: z.string().nullable().describe('Of the stored file, in hexadecimal; kept when the file is gone.'),
}).meta({ id: 'Recording' });
export type Recording = z.infer<typeof Recording>;
export const RecordingReply = z.object({ success: z.literal(true), recording: Recording });

/** Query of `GET /api/v1/recordings`: newest first; `to` is not included. */
export const RecordingsQuery = z.strictObject({
  limit: PAGE_FIELDS.limit,
  cursor: pageCursor(ID),
  extension: z
    .string()
    .regex(/^\d{1,20}$/, 'must be an extension')
    .optional(),
  queue: z
    .string()
    .regex(/^[a-z0-9_-]{1,64}$/, 'must be a queue')
    .optional(),
  conversation: z.string().max(200).optional().describe('Id of any call of it.'),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
});
export type RecordingsQuery = z.output<typeof RecordingsQuery>;
export const RecordingsReply = z.object({
  success: z.literal(true),
  recordings: z.array(Recording),
  next_cursor: z.string().nullable(),
});
