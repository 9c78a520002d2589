/** Lines of the audit trail that match a filter, as a spreadsheet file. */
import type { Client } from '@offhook/client';
import { saveFile } from '../admin/save-file.ts';
import { actionText } from './audit-details.ts';
import type { Names } from './audit-names.tsx';
import { readAudit } from './audit-rows.ts';
import type { AuditFilter } from './audit-rows.ts';

const COLUMNS = ['at', 'actor', 'actor_name', 'action', 'action_text', 'object', 'outcome', 'ip', 'detail'];

/** Every value is quoted; formulas of spreadsheets become text. */
const cell = (value: string): string =>
  `"${(/^[=+\-@\t\r]/.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;
const csvLine = (values: readonly string[]): string => `${values.map(cell).join(',')}\r\n`;

/** Resolves with the end of the older lines that the file does not have; null if it has all. */
export async function exportAudit(client: Client, filter: AuditFilter, names: Names): Promise<string | null> {
  const { rows, older } = await readAudit(client, filter);
  let text = csvLine(COLUMNS);
  for (const { at, actor, action, object, outcome, ip, detail } of rows) {
    const name = actor === null ? '' : (names.get(actor)?.name ?? '');
    text += csvLine([
      at,
      actor ?? '',
      name,
      action,
      actionText(action),
      object ?? '',
      outcome,
      ip ?? '',
      JSON.stringify(detail),
    ]);
  }
  saveFile('audit.csv', 'text/csv', `\uFEFF${text}`);
  return older;
}
