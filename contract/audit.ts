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
      .describe('Actor: an extension, `key:<name>` for an API key; null where unknown.'),
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
  actor: z
    .string()
    .max(128)
    .optional()
    .describe('Extension or user name of a person; both find the same rows.'),
  q: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Part of action, actor, object, address or detail; ignores case.'),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;
export const AuditPage = z.object({
  success: z.literal(true),
  entries: z.array(AuditRow),
  next_cursor: z.string().nullable(),
});
