import type { ExportColumn } from '@offhook/contract/exports.ts';
import type { Cell } from '../../ports/conversations.ts';
import { harmless, placesOf } from './cells.ts';
import type { Rows } from './cells.ts';

/** By it Excel knows that the file is UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';
/** A semicolon and a tabulator separate cells where Excel is set to another country. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

const SHARED_BYTES = 1_048_576;

function cellText(cell: Cell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const text = harmless(cell);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * RFC 4180 in UTF-8, one piece for each group of rows. A piece holds until the next one is asked for: they share their bytes,
 * because a million rows would else leave more of them behind than are collected in time.
 */
export async function* csvOf(columns: readonly ExportColumn[], rows: Rows): AsyncGenerator<Uint8Array> {
  const places = placesOf(columns);
  let bytes = Buffer.allocUnsafe(SHARED_BYTES);
  yield Buffer.from(`${BYTE_ORDER_MARK}${columns.join(',')}\r\n`);
  for await (const group of rows) {
    let text = '';
    for (const row of group) {
      for (let i = 0; i < places.length; i += 1) {
        text += (i === 0 ? '' : ',') + cellText(row[places[i]!] ?? null);
      }
      text += '\r\n';
    }
    // A UTF-16 unit takes three bytes at most.
    if (bytes.length < text.length * 3) bytes = Buffer.allocUnsafe(text.length * 3);
    yield bytes.subarray(0, bytes.write(text));
  }
}
