import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import { BYTE_ORDER_MARK, quoted } from '../../core/spreadsheet.ts';
import type { Cell } from '../../ports/conversations.ts';
import { RISKY_JSON, cellsOf, placesOf } from './cells.ts';
import type { Rows } from './cells.ts';

const SHARED_BYTES = 1_048_576;

const cellText = (cell: Cell): string => (typeof cell === 'string' ? quoted(cell) : String(cell));

/** All columns of a group. Without a backslash, the JSON of a row differs from a line of CSV only by its brackets. */
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
 * RFC 4180 in UTF-8, one chunk for each group of rows. A chunk is valid until the next one is requested: they
 * share a buffer, because a million rows would create garbage faster than it is collected.
 */
export async function* csvOf(columns: readonly ExportColumn[], rows: Rows): AsyncGenerator<Uint8Array> {
  const places = placesOf(columns);
  const isWhole = columns.length === EXPORT_COLUMNS.length && places.every((place, i) => place === i);
  let bytes = Buffer.allocUnsafe(SHARED_BYTES);
  yield Buffer.from(`${BYTE_ORDER_MARK}${columns.join(',')}\r\n`);
  for await (const group of rows) {
    const text = isWhole ? wholeLines(group) : someCells(group, places);
    // A UTF-16 unit takes at most three bytes.
    if (bytes.length < text.length * 3) bytes = Buffer.allocUnsafe(text.length * 3);
    yield bytes.subarray(0, bytes.write(text));
  }
}
