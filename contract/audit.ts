import { z } from 'zod';

/** One line of the audit trail. */
export const AuditRow = z
  .object({
    id: z.int(),
    at: z.string(),
    action: z.string(),
    actor: z.string().nullable(),
    object: z.string().nullable(),
    outcome: z.enum(['ok', 'refused', 'failed']),
    ip: z.string().nullable(),
    detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  })
  .meta({ id: 'AuditRow' });
export type AuditRow = z.infer<typeof AuditRow>;
/** Query of `GET /api/v1/audit`: newest first; `cursor` is the `next_cursor` of the page before. */
export const AuditQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,4}$/, 'a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(200))
    .optional(),
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'not a cursor of this list')
    .optional(),
  action: z.string().max(64).optional(),
  actor: z.string().max(128).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;
export const AuditPage = z.object({
  success: z.literal(true),
  entries: z.array(AuditRow),
  next_cursor: z.string().nullable(),
});
