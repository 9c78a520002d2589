/** Search in names and numbers, the same in the service and in the console. */
/** Letters without a Unicode decomposition, as people type them on a plain keyboard. */
const PLAIN: Readonly<Record<string, string>> = {
  ı: 'i',
  ß: 'ss',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ħ: 'h',
};

/** A text in the form used for comparison: lower case, without accents, single spaces. A text of accents alone keeps them. */
export const fold = (text: string): string => {
  const lower = text.toLowerCase();
  const plain = lower
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[ıßøđðłæœþħ]/g, (letter) => PLAIN[letter]!)
    .replace(/\s+/g, ' ')
    .trim();
  // An empty search text would match everything.
  return plain === '' ? lower.trim() : plain;
};

/** Digits of a number in any spelling, with its leading plus; null if the text is no number. */
export const digitsOf = (text: string): string | null =>
  /^\+?[\s()./-]*\d[\d\s()./-]*$/.test(text.trim()) ? text.replace(/[\s()./-]/g, '') : null;

/** Search data: folded texts, one per line so that no word matches across two, and numbers as digits. */
export interface Searched {
  readonly text: string;
  readonly numbers: readonly string[];
}
/** Ignores null. */
export const searched = (
  texts: readonly (string | null)[],
  numbers: readonly (string | null)[],
): Searched => ({
  text: texts.map((text) => fold(text ?? '')).join('\n'),
  numbers: numbers.flatMap((number) => (number === null ? [] : (digitsOf(number) ?? []))),
});
/** Whether each word of `q`, in any order, is part of a text or a number, or the whole `q` is one number. */
export function matcherOf(q: string): (one: Searched) => boolean {
  const words = fold(q)
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => ({ word, digits: digitsOf(word) }));
  const number = digitsOf(q);
  const has = ({ numbers }: Searched, digits: string | null): boolean =>
    digits !== null && numbers.some((n) => n.includes(digits));
  return (one) =>
    has(one, number) || words.every(({ word, digits }) => one.text.includes(word) || has(one, digits));
}
