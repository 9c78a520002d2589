/** Lines of the audit trail that match a filter, as a spreadsheet file. */
import type { Client } from '@offhook/client';
import { saveFile } from '../admin/save-file.ts';
import { actionText } from './audit-details.ts';
import type { Names } from './audit-names.tsx';

/** Limit of rows in a file; a longer interval is exported in parts. */
const MOST_ROWS = 20_000;
const PAGE = 200;
const COLUMNS = ['at', 'actor', 'actor_name', 'action', 'action_text', 'object', 'outcome', 'ip', 'detail'];

/** Every value is quoted; formulas of spreadsheets become text. */
const cell = (value: string): string =>
  `"${(/^[=+\-@\t\r]/.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;
const csvLine = (values: readonly string[]): string => `${values.map(cell).join(',')}\r\n`;

export async function exportAudit(
  client: Client,
  filter: Parameters<Client['audit']>[0],
  names: Names,
): Promise<void> {
  let text = csvLine(COLUMNS);
  let cursor: string | undefined;
  for (let rows = 0; rows < MOST_ROWS; rows += PAGE) {
    const page = await client.audit({ ...filter, limit: PAGE, cursor });
    for (const { at, actor, action, object, outcome, ip, detail } of page.entries) {
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
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  saveFile('audit.csv', 'text/csv', `\uFEFF${text}`);
}
