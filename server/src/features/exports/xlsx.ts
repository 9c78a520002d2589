import { writeXlsxStream } from 'hucre/xlsx';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import type { Cell } from '../../ports/conversations.ts';
import { harmless, placesOf } from './cells.ts';
import type { Rows } from './cells.ts';

/** Characters that one cell of a workbook holds. */
const CELL_LIMIT = 32_767;
/** Above it a sheet's XML may pass four gigabytes, which the plain form of the archive cannot say. */
const LARGE_ROWS = 500_000;

const cellValue = (cell: Cell): Cell =>
  typeof cell === 'string' ? harmless(cell).slice(0, CELL_LIMIT) : cell;

/**
 * A workbook whose texts are inline strings, so that none is ever a formula. What does not fit into the 1,048,576 rows of a
 * sheet goes on in the next, with the headings again.
 */
export async function* xlsxOf(
  columns: readonly ExportColumn[],
  rows: Rows,
  estimated: number,
): AsyncGenerator<Uint8Array> {
  const places = placesOf(columns);
  async function* values(): AsyncGenerator<Cell[]> {
    for await (const group of rows) {
      for (const row of group) yield places.map((place) => cellValue(row[place] ?? null));
    }
  }
  yield* writeXlsxStream(values(), {
    name: 'Conversations',
    columns: columns.map((header) => ({ header })),
    freezePane: { rows: 1 },
    zip64: estimated > LARGE_ROWS,
  });
}
