import { digitsOf } from '@offhook/contract/search.ts';
import { nationalOf, toE164 } from './e164.ts';

/** Person whose data is exported or erased: a number in any of its spellings, or an extension of the site. */
export interface Subject {
  readonly kind: 'number' | 'extension';
  /** E.164 where the number has one, else its digits; or the extension. */
  readonly value: string;
  /** Every spelling without separators. */
  readonly spellings: readonly string[];
  /** True if the text contains one of the spellings. */
  isIn(text: string): boolean;
  /** The text with each spelling replaced by `placeholder`. */
  without(text: string, placeholder: string): string;
}

/** Separators between digits. */
const GAP = '[\\s()/.-]{0,3}';
const spaced = (digits: string): string => digits.split('').join(GAP);

/** Exclude placeholders of erasures (`erased-…`) and network addresses (`127.0.0.1:5060`), which are no numbers. */
const NOT_AFTER = '(?<!erased-|\\d[.:])';
const NOT_BEFORE = '(?!\\d|[.:]\\d)';
/** Excludes arguments of the engine, in which short digits are mostly seconds or a position: `500,t,,,300`. */
const NO_ARGUMENT = '(?<![,;^])';

function patternOf(spellings: readonly string[], before = ''): RegExp {
  const all = spellings.map((s) => (s.startsWith('+') ? `\\+${GAP}${spaced(s.slice(1))}` : spaced(s)));
  // No match begins after a plus or a digit: `+49 30…` is one number, not a plus before a shorter one.
  return new RegExp(`(?<![\\d+])${NOT_AFTER}${before}(?:${all.join('|')})${NOT_BEFORE}`, 'g');
}
function subjectOf(
  kind: Subject['kind'],
  value: string,
  spellings: readonly string[],
  pattern: RegExp,
): Subject {
  return {
    kind,
    value,
    spellings,
    isIn: (text) => text.search(pattern) !== -1,
    without: (text, placeholder) => text.replace(pattern, placeholder),
  };
}
/** Null for a text that is no number. `country`: the country of national numbers (numbers/e164.ts). */
export function numberSubject(number: string, country: string): Subject | null {
  const digits = digitsOf(number);
  if (digits === null || digits.length < 3 || digits.length > 32) return null;
  const e164 = toE164(number, country);
  const parts = e164 === null ? null : nationalOf(e164);
  if (e164 === null || parts === null)
    return subjectOf('number', digits, [digits], patternOf([digits], NO_ARGUMENT));
  const { code, national } = parts;
  const spellings = [
    `+${code}0${national}`,
    e164,
    `00${code}${national}`,
    `${code}${national}`,
    `0${national}`,
    national,
  ];
  return subjectOf('number', e164, spellings, patternOf(spellings));
}
/** Finds an extension as a whole number only, not inside a longer one, an id of a call or a name of a file. */
export const extensionSubject = (extension: string): Subject =>
  subjectOf(
    'extension',
    extension,
    [extension],
    new RegExp(`(?<![\\d.:+])${NOT_AFTER}${NO_ARGUMENT}${extension}(?!\\d|\\.\\w)`, 'g'),
  );
