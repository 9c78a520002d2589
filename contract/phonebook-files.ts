/** Customers as CSV and vCard files. */
import { z } from 'zod';

/** Limits of one import. */
export const MAX_IMPORT_BYTES = 20_971_520;
export const MAX_IMPORT_ROWS = 50_000;
/** Limit of findings in a reply. */
export const MAX_FINDINGS = 200;

const list = z.enum(['shared', 'mine']);
/** Query of `POST /api/v1/phonebook/import`. */
export const ImportQuery = z.strictObject({
  list: list.describe('`shared`: customers that everyone sees. `mine`: personal ones of the caller.'),
  dry_run: z
    .enum(['true', 'false'])
    .default('false')
    .describe('`true`: stores nothing, and replies what an import would store.'),
  encoding: z
    .enum(['utf-8', 'utf-16', 'windows-1252'])
    .optional()
    .describe(
      'Character set of the file. By default UTF-16 where the file begins with its byte order mark, else UTF-8.',
    ),
});
export type ImportQuery = z.output<typeof ImportQuery>;
/** Query of `GET /api/v1/phonebook/export`. */
export const PhonebookExportQuery = z.strictObject({
  list: list.describe('`shared`: customers that everyone sees. `mine`: personal ones of the caller.'),
  format: z.enum(['csv', 'vcard', 'vcard_4']).default('csv').describe('`vcard` is vCard 3.0.'),
});
export type PhonebookExportQuery = z.output<typeof PhonebookExportQuery>;

/** A value or a line of a file that is not stored. */
export const ImportFinding = z.object({
  line: z.int().describe('Line of the file where the row or card begins, from 1.'),
  field: z.string().describe('Column of the CSV file, or property of the card.'),
  rule: z
    .enum([
      'unreadable',
      'missing',
      'too_long',
      'not_a_number',
      'not_an_email',
      'not_valid',
      'unknown_owner',
      'too_many',
      'duplicate',
    ])
    .describe('`duplicate`: an earlier line is the same customer.'),
  left_out: z.enum(['value', 'line']).describe('Part that is not stored.'),
  remedy: z.string(),
});
export type ImportFinding = z.infer<typeof ImportFinding>;
export const ImportReply = z.object({
  success: z.literal(true),
  dry_run: z.boolean(),
  rows: z.int().describe('Rows or cards of the file.'),
  created: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  left_out: z.int().describe('Rows or cards with a finding because of which they are not stored.'),
  without_e164: z
    .int()
    .describe(
      'Numbers of those customers that have no form in E.164, such as national ones where the country of the site is not set (OFFHOOK_SITE_COUNTRY). They are stored, but a call has such a customer only where its number arrives in the same spelling.',
    ),
  findings: z.array(ImportFinding).describe(`The first ${MAX_FINDINGS}.`),
  findings_total: z.int(),
  ignored: z.array(z.string()).describe('Columns of the CSV file that have no meaning here.'),
});
export type ImportReply = z.infer<typeof ImportReply>;
