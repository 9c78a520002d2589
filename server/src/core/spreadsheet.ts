/**
 * First characters that make a spreadsheet calculate a cell or run a command (OWASP ASVS 1.2.10), and their full-width forms.
 * `harmless` puts an apostrophe before them, and before an apostrophe too, so that `asReceived` restores every text.
 */
export const RISKY = "'=+\\-@\\t\\r\\n\\0＝＋－＠";
const RISKY_TEXT = new RegExp(`^[${RISKY}]`);
const MADE_HARMLESS = new RegExp(`^'(?=[${RISKY}])`);

/** Makes Excel read a file as UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';
/** Text that no spreadsheet calculates. */
export const harmless = (text: string): string => (RISKY_TEXT.test(text) ? `'${text}` : text);
/** The text that `harmless` was given. */
export const asReceived = (text: string): string => text.replace(MADE_HARMLESS, '');
/** A text as one quoted cell, whichever separator the country of the reader's Excel has. */
export const quoted = (text: string): string => `"${harmless(text).replaceAll('"', '""')}"`;
