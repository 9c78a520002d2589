import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import type { Cell } from '../../ports/conversations.ts';
import { RISKY_JSON, cellsOf, harmless, placesOf } from './cells.ts';
import type { Rows } from './cells.ts';

/** By it Excel knows that the file is UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';
const SHARED_BYTES = 1_048_576;

/** Every text in quotes: whatever is in it, also a semicolon where Excel is set to another country, it is one cell. */
const cellText = (cell: Cell): string =>
  typeof cell === 'string' ? `"${harmless(cell).replaceAll('"', '""')}"` : String(cell);

/** All columns of a group. Without a backslash, the JSON of a row is a line of CSV but for its brackets. */
function wholeLines(group: readonly string[]): string {
  let text = '';
  for (const line of group) {
    text += line.includes('\\')
      ? cellsOf(line).map(cellText).join(',')
      : line.slice(1, -1).replace(RISKY_JSON, `"'`);
    text += '\r\n';
  }
  return text;
}
function someCells(group: readonly string[], places: readonly number[]): string {
  let text = '';
  for (const line of group) {
    const cells = cellsOf(line);
    text += `${places.map((place) => cellText(cells[place] ?? '')).join(',')}\r\n`;
  }
  return text;
}

/**
 * RFC 4180 in UTF-8, one piece for each group of rows. A piece holds until the next one is asked for: they share their bytes,
 * because a million rows would else leave more of them behind than are collected in time.
 */
export async function* csvOf(columns: readonly ExportColumn[], rows: Rows): AsyncGenerator<Uint8Array> {
  const places = placesOf(columns);
  const isWhole = columns.length === EXPORT_COLUMNS.length && places.every((place, i) => place === i);
  let bytes = Buffer.allocUnsafe(SHARED_BYTES);
  yield Buffer.from(`${BYTE_ORDER_MARK}${columns.join(',')}\r\n`);
  for await (const group of rows) {
    const text = isWhole ? wholeLines(group) : someCells(group, places);
    // A UTF-16 unit takes three bytes at most.
    if (bytes.length < text.length * 3) bytes = Buffer.allocUnsafe(text.length * 3);
    yield bytes.subarray(0, bytes.write(text));
  }
}
