import type { ExportColumn } from '@offhook/contract/exports.ts';
import type { Cell } from '../../ports/conversations.ts';
import { cellsOf, harmless, placesOf } from './cells.ts';
import type { Rows } from './cells.ts';

/** Characters that one cell of a workbook holds. */
const CELL_LIMIT = 32_767;
const SHEET_ROWS = 1_048_576;
/** Above it a sheet's XML may pass four gigabytes, which the plain form of the archive cannot say. */
const LARGE_ROWS = 500_000;

/** How a workbook writes characters that XML has no room for; a text that looks like one is not to be read as one. */
const LOOKS_ESCAPED = /_(?=x[0-9A-Fa-f]{4}_)/g;

/** XML has no room for these two, and they are nobody's letters; one of them makes the whole sheet unreadable. */
const NO_CHARACTERS = /[\uFFFE\uFFFF]/g;

const cellText = (text: string): string =>
  harmless(text)
    .slice(0, CELL_LIMIT)
    .toWellFormed()
    .replaceAll(NO_CHARACTERS, '\uFFFD')
    .replaceAll(LOOKS_ESCAPED, '_x005F_');
const cellValue = (cell: Cell): Cell => (typeof cell === 'string' ? cellText(cell) : cell);

/**
 * A workbook whose texts are inline strings, so that none is ever a formula. What does not fit into the 1,048,576 rows of a
 * sheet goes on in the next, with the headings again.
 */
export async function* xlsxOf(
  columns: readonly ExportColumn[],
  rows: Rows,
  estimated: number,
  sheet_rows = SHEET_ROWS,
): AsyncGenerator<Uint8Array> {
  // Loaded when it is asked for: most sites start many times for each workbook they make.
  const { writeXlsxStream } = await import('hucre/xlsx');
  const places = placesOf(columns);
  async function* values(): AsyncGenerator<(Cell | null)[]> {
    for await (const group of rows) {
      for (const line of group) {
        const cells = cellsOf(line);
        yield places.map((place) => cellValue(cells[place] ?? ''));
      }
    }
  }
  yield* writeXlsxStream(values(), {
    name: 'Conversations',
    columns: columns.map((header) => ({ header })),
    freezePane: { rows: 1 },
    maxRowsPerSheet: sheet_rows,
    zip64: estimated > LARGE_ROWS,
  });
}
