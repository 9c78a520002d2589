import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import { RISKY } from '../../core/spreadsheet.ts';
import type { Cell } from '../../ports/conversations.ts';

/**
 * Opening quotes of texts that `harmless` changes, in JSON without a backslash, which has no control characters; a closing
 * quote is followed by `,`, `]` or the end of the line.
 */
export const RISKY_JSON = new RegExp(`"(?=[${RISKY.replaceAll(/\\[trn0]/g, '')}])`, 'g');
/** Groups of rows, each row as JSON of an array of its cells. */
export type Rows = AsyncIterable<readonly string[]>;
export const cellsOf = (line: string): readonly Cell[] => JSON.parse(line) as Cell[];
/** Index of each named column in a row as it is read. */
export const placesOf = (columns: readonly ExportColumn[]): readonly number[] =>
  columns.map((column) => EXPORT_COLUMNS.indexOf(column));
