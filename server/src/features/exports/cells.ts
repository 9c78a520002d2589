import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import { RISKY } from '../../core/spreadsheet.ts';
import type { Cell } from '../../ports/conversations.ts';

/**
 * Opening quotes of texts that `harmless` changes, in JSON without a backslash; a closing quote is followed
 * by `,` or `]`.
 */
export const RISKY_JSON = new RegExp(`"(?=[${RISKY}])`, 'g');
/** Groups of rows, each row as JSON of an array of its cells. */
export type Rows = AsyncIterable<readonly string[]>;
export const cellsOf = (line: string): readonly Cell[] => JSON.parse(line) as Cell[];
/** Index of each column in the complete row that the store returns. */
export const placesOf = (columns: readonly ExportColumn[]): readonly number[] =>
  columns.map((column) => EXPORT_COLUMNS.indexOf(column));
