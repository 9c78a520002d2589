import { z } from 'zod';
import { ConversationFilter } from './conversations.ts';
import { PAGE_FIELDS, wholeNumber } from './paging.ts';

/** Columns of an export, in their default order. Times in RFC 3339 UTC, lengths in seconds, lists separated by spaces. */
export const EXPORT_COLUMNS = [
  'id',
  'state',
  'revision',
  'erased',
  'direction',
  'disposition',
  'started_at',
  'answered_at',
  'ended_at',
  'duration',
  'ring_time',
  'wait_time',
  'talk_time',
  'hold_time',
  'park_time',
  'billable',
  'caller_number',
  'caller_number_e164',
  'caller_name',
  'dialled',
  'dialled_e164',
  'called_number',
  'called_number_e164',
  'called_name',
  'trunks',
  'extensions',
  'queues',
  'agents',
  'transfers',
  'cause',
  'ended_by',
] as const;
export const ExportColumn = z.enum(EXPORT_COLUMNS);
export type ExportColumn = z.infer<typeof ExportColumn>;

export const ExportFormat = z.enum(['csv', 'xlsx']);
export type ExportFormat = z.infer<typeof ExportFormat>;
/** Body of `POST /api/v1/exports`: a file of the conversations in the list with the same filters. */
export const NewExport = z.strictObject({
  format: ExportFormat,
  filter: ConversationFilter.default({}),
  columns: z
    .array(ExportColumn)
    .min(1)
    .max(EXPORT_COLUMNS.length)
    .refine((list) => new Set(list).size === list.length, 'must name each column once')
    .default([...EXPORT_COLUMNS])
    .describe('Columns in this order; all by default.'),
});
export type NewExport = z.output<typeof NewExport>;
export const ExportId = z.strictObject({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of an export'),
});
/** A file created in the background. */
export const Export = z
  .object({
    id: z.int(),
    state: z
      .enum(['queued', 'running', 'done', 'failed', 'cancelled', 'expired'])
      .describe(
        '`expired`: the file was deleted, because it expired, personal data in it was erased, or on request.',
      ),
    format: ExportFormat,
    filter: ConversationFilter,
    columns: z.array(ExportColumn),
    by: z.string().describe('Extension, or the name of an API key.'),
    rows: z.object({
      done: z.int(),
      estimated: z.int().nullable().describe('Estimated number of rows; null until it runs.'),
    }),
    bytes: z.int().nullable(),
    sha256: z.string().nullable().describe('Of the file, in hexadecimal; once it is done.'),
    error: z.string().nullable().describe('Reason of the failure, for people.'),
    created_at: z.string(),
    started_at: z.string().nullable(),
    finished_at: z.string().nullable(),
    expires_at: z.string().nullable().describe('When the file is deleted.'),
  })
  .meta({ id: 'Export' });
export type Export = z.infer<typeof Export>;
export const ExportReply = z.object({ success: z.literal(true), export: Export });
export const ExportsQuery = z.strictObject({
  ...PAGE_FIELDS,
  seen: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'must be a cursor of this list')
    .optional()
    .describe('`version` of an earlier reply: the reply waits until the version changes.'),
  wait: wholeNumber(0, 25, /^\d{1,2}$/)
    .optional()
    .describe('Longest wait in seconds with `seen`, from 0 to 25; 25 by default.'),
});
export type ExportsQuery = z.infer<typeof ExportsQuery>;
/** Newest first. */
export const ExportsReply = z.object({
  success: z.literal(true),
  exports: z.array(Export),
  version: z.string().describe('Version of the visible list; changes with each change and step.'),
  next_cursor: z.string().nullable(),
});
export type ExportsReply = z.infer<typeof ExportsReply>;
