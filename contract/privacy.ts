import { z } from 'zod';
import { PAGE_FIELDS } from './paging.ts';

const Who = {
  number: z
    .string()
    .min(3)
    .max(32)
    .regex(/^\+?[\d\s()./-]*$/, 'must be a number')
    .describe('In any spelling; matches every spelling of the number.')
    .optional(),
  extension: z
    .string()
    .regex(/^\d{1,20}$/, 'must be an extension')
    .optional(),
};
const oneOf = (body: { number?: string | undefined; extension?: string | undefined }): boolean =>
  (body.number === undefined) !== (body.extension === undefined);
const ONE_OF = { path: ['number'], message: 'name a number or an extension, and not both' };
/** Body of `POST /api/v1/privacy/exports`. */
export const NewPrivacyExport = z.strictObject(Who).refine(oneOf, ONE_OF);
export type NewPrivacyExport = z.output<typeof NewPrivacyExport>;
/** Body of `POST /api/v1/privacy/erasures`. */
export const NewErasure = z
  .strictObject({
    ...Who,
    reason: z
      .string()
      .min(3)
      .max(500)
      .regex(/^\P{Cc}*$/u, 'must not contain control characters')
      .describe('Why, e.g. the number of the request; not the number or the name itself.'),
  })
  .refine(oneOf, ONE_OF);
export type NewErasure = z.output<typeof NewErasure>;
export const PrivacyId = z.strictObject({ id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be an id') });
export const PrivacyQuery = z.strictObject(PAGE_FIELDS);
export type PrivacyQuery = z.infer<typeof PrivacyQuery>;

const Places = z.record(z.string(), z.int());
const shared = {
  id: z.int(),
  state: z.enum(['queued', 'running', 'done', 'failed']),
  subject: z
    .object({
      kind: z.enum(['number', 'extension']),
      salt: z.string(),
      hash: z
        .string()
        .describe('scrypt (N 16384, r 8, p 1, 32 bytes) of the number in E.164, or of the extension.'),
    })
    .describe('Hash of the subject, to verify a known number: the number itself is not stored.'),
  by: z.string(),
  error: z.string().nullable(),
  created_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
};
/** An erasure and its proof. */
export const Erasure = z
  .object({
    ...shared,
    reason: z.string(),
    placeholder: z.string().describe('Replacement for the number or the extension.'),
    before: Places.nullable().describe('Where it was found, rows by table; null before the search.'),
    erased: Places.describe('Changed or deleted rows by table, since the last start.'),
    after: Places.nullable().describe('Rows still found at the end, by table; normally none.'),
    verified: z
      .boolean()
      .describe(
        'True when a second search found nothing where it searched; `remains` names nodes that it did not reach.',
      ),
    remains: z
      .array(z.object({ where: z.string(), until: z.string().nullable(), why: z.string() }))
      .describe('Data that was not erased, the reason, and when it expires; null for never.'),
    place: z.int().nullable().describe('Its position in the ledger of erasures; null until it is done.'),
    previous_hash: z.string().nullable(),
    hash: z
      .string()
      .nullable()
      .describe('SHA-256 over this entry and the previous hash: a changed or removed entry is detected.'),
  })
  .meta({ id: 'Erasure' });
export type Erasure = z.infer<typeof Erasure>;
export const ErasureReply = z.object({ success: z.literal(true), erasure: Erasure });
export const ErasureProof = ErasureReply.extend({
  ledger_intact: z.boolean().describe('True when every hash of the ledger is correct.'),
});
export const ErasuresReply = z.object({
  success: z.literal(true),
  erasures: z.array(Erasure),
  next_cursor: z.string().nullable(),
});
/** A file with all personal data of a subject. */
export const PrivacyExport = z
  .object({
    ...shared,
    items: z.int(),
    bytes: z.int().nullable(),
    sha256: z.string().nullable(),
    missing: z
      .array(z.object({ where: z.string(), why: z.string() }))
      .describe('Data that the file lacks, and the reason; empty until the export is done.'),
    expires_at: z.string().nullable(),
  })
  .meta({ id: 'PrivacyExport' });
export type PrivacyExport = z.infer<typeof PrivacyExport>;
export const PrivacyExportReply = z.object({ success: z.literal(true), export: PrivacyExport });
