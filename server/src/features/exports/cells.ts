import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import type { Cell } from '../../ports/conversations.ts';

/**
 * What a spreadsheet may take for a formula or a command (OWASP ASVS 1.2.10), their full-width forms too. The apostrophe is
 * among them so that nothing is lost: a reader that takes one leading apostrophe away has what was received.
 */
const RISKY = "'=+\\-@\\t\\r\\n\\0＝＋－＠";
const RISKY_TEXT = new RegExp(`^[${RISKY}]`);
/** The same at the beginning of a text in JSON without a backslash: there a quote before anything but `,` or `]` opens one. */
export const RISKY_JSON = new RegExp(`"(?=[${RISKY}])`, 'g');
/** Text that no spreadsheet calculates. */
export const harmless = (text: string): string => (RISKY_TEXT.test(text) ? `'${text}` : text);

/** Groups of rows, each row as JSON of an array of its cells. */
export type Rows = AsyncIterable<readonly string[]>;
export const cellsOf = (line: string): readonly Cell[] => JSON.parse(line) as Cell[];
/** Where each named column stands in a row as it is read. */
export const placesOf = (columns: readonly ExportColumn[]): readonly number[] =>
  columns.map((column) => EXPORT_COLUMNS.indexOf(column));
