import type { ExportColumn } from '@offhook/contract/exports.ts';
import { harmless } from '../../core/spreadsheet.ts';
import type { Cell } from '../../ports/conversations.ts';
import { cellsOf, placesOf } from './cells.ts';
import type { Rows } from './cells.ts';

/** Most characters of one cell of a workbook. */
const CELL_LIMIT = 32_767;
const SHEET_ROWS = 1_048_576;
/** Above this a sheet's XML may exceed four gigabytes, which needs the ZIP64 format. */
const LARGE_ROWS = 500_000;

/** Text that looks like a workbook's escape of a character that XML lacks; it is escaped, so that it is not decoded. */
const LOOKS_ESCAPED = /_(?=x[0-9A-Fa-f]{4}_)/g;

/** Noncharacters that XML forbids; one of them makes the whole sheet unreadable. */
const NO_CHARACTERS = /[\uFFFE\uFFFF]/g;

const cellText = (text: string): string =>
  harmless(text)
    .slice(0, CELL_LIMIT)
    .toWellFormed()
    .replaceAll(NO_CHARACTERS, '\uFFFD')
    .replaceAll(LOOKS_ESCAPED, '_x005F_');
const cellValue = (cell: Cell): Cell => (typeof cell === 'string' ? cellText(cell) : cell);

/**
 * A workbook with inline strings, so that no text becomes a formula. Rows beyond the 1,048,576 of a sheet
 * continue on the next one, again with headings.
 */
export async function* xlsxOf(
  columns: readonly ExportColumn[],
  rows: Rows,
  estimated: number,
  sheet_rows = SHEET_ROWS,
): AsyncGenerator<Uint8Array> {
  // Loaded on demand: most sites start more often than they export a workbook.
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
