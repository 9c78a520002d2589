import { nationalForm, nationalOf } from '../../../numbers/e164.ts';

/** A number in E.164, written in a format of a file; null if the number has no such form. */
export function writeNumber(e164: string, format: string): string | null {
  const digits = e164.replaceAll(/[^0-9]/g, '');
  if (format === 'e164') return `+${digits}`;
  if (format === 'digits') return digits;
  if (format === '00') return `00${digits}`;
  if (format === 'national') return nationalForm(e164);
  if (format.startsWith('last:')) {
    const most = Number(format.slice(5));
    return digits.length < most ? null : digits.slice(-most);
  }
  const national = nationalOf(e164)?.national ?? '';
  if (format.replaceAll(/[^#]/g, '').length !== national.length) return null;
  let next = 0;
  return format.replaceAll('#', () => national[next++]!);
}
/** Spellings of a number to look up, in the order of `formats`, each once. */
export function writeNumbers(
  e164: string,
  formats: readonly string[],
): readonly { format: string; number: string }[] {
  const seen = new Set<string>();
  return formats.flatMap((format) => {
    const number = writeNumber(e164, format);
    if (number === null || seen.has(number)) return [];
    seen.add(number);
    return [{ format, number }];
  });
}

/**
 * First number of a text, up to what is written behind it: an extension (`ext. 4`, `x4`, `#4`, `,,4`, `;ext=4`, `DW 4`), a word or
 * another number. A comma before the fifth digit is part of the number (`030,5555001`).
 */
const NUMBER = /^\D*(?:\d[^\d\p{L}#;]*){1,4}(?:\d[^\p{L}#,;]*)?/u;
/** The number without its extension, because the number of a caller has none. */
export const withoutExtension = (text: string): string => NUMBER.exec(text)?.[0] ?? text;
const digitsOfStored = (text: string): string => withoutExtension(text).replaceAll(/[^0-9]/g, '');
/** True if both numbers end in the same digits. `digits`: number of digits to compare. */
export function endsAlike(stored: string, e164: string, digits: number): boolean {
  const theirs = digitsOfStored(stored);
  const ours = digitsOfStored(e164);
  // A stored number with fewer digits, such as a national one, is compared completely.
  const most = Math.min(digits, theirs.length);
  return most >= 5 && theirs.slice(-most) === ours.slice(-most);
}
