import { z } from 'zod';
import { PAGE_FIELDS } from './paging.ts';

/** One line of the audit trail. */
export const AuditRow = z
  .object({
    id: z.int(),
    at: z.string(),
    action: z.string(),
    actor: z
      .string()
      .nullable()
      .describe('Who did it: an extension, `key:<name>` for an API key; null where nobody is known.'),
    object: z.string().nullable(),
    outcome: z.enum(['ok', 'refused', 'failed']),
    ip: z.string().nullable(),
    detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  })
  .meta({ id: 'AuditRow' });
export type AuditRow = z.infer<typeof AuditRow>;
/** Query of `GET /api/v1/audit`. */
export const AuditQuery = z.strictObject({
  ...PAGE_FIELDS,
  action: z.string().max(64).optional(),
  actor: z.string().max(128).optional().describe('An extension or a user name; either finds the same.'),
  q: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe(
      'Part of the action, who did it, the object, the address or the detail; upper and lower case alike.',
    ),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;
export const AuditPage = z.object({
  success: z.literal(true),
  entries: z.array(AuditRow),
  next_cursor: z.string().nullable(),
});
