import { z } from 'zod';

/**
 * Columns of an export, in the order in which they stand where none are named. Times of day in RFC 3339 UTC, lengths in
 * seconds, lists separated by spaces.
 */
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
