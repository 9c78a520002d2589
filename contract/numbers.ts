/** Conversion of numbers from common spellings to the dialled form. */
import { z } from 'zod';

/** Spaces, hyphens and dashes, brackets, dots and slashes; no line breaks and no control characters. */
const WRITTEN_BETWEEN = /[ \u00a0\u2007\u2009\u202f().\-/\u2010-\u2015\u00b7]/g;

/**
 * A number without its separators: `+90 (532) 111-22-33` becomes `+905321112233`. The `(0)` of `+49 (0)30` is dialled only
 * inside the country and is removed too. Other characters stay, so that a check for digits rejects them.
 */
export function bareNumber(text: string): string {
  const international = text.trimStart().startsWith('+') ? text.replace('(0)', '') : text;
  return international.replace(WRITTEN_BETWEEN, '');
}

/** A number in any common spelling; `pattern` checks its bare form. */
export const numberOf = (pattern: RegExp, message: string) =>
  z.string().overwrite(bareNumber).regex(pattern, message);
