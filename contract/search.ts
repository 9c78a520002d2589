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

/** Search data: folded texts, and numbers as digits, one per line so that no word matches across two. */
export interface Searched {
  readonly text: string;
  readonly numbers: string;
}
/** Ignores null. */
export const searched = (
  texts: readonly (string | null)[],
  numbers: readonly (string | null)[],
): Searched => ({
  text: texts.map((text) => fold(text ?? '')).join('\n'),
  numbers: numbers.flatMap((number) => (number === null ? [] : (digitsOf(number) ?? []))).join('\n'),
});
/** Whether each word of `q`, in any order, is part of a text or a number, or the whole `q` is one number. */
export function matcherOf(q: string): (one: Searched) => boolean {
  // The longest first, because few texts contain it.
  const words = fold(q)
    .split(' ')
    .filter((word) => word !== '')
    .toSorted((a, b) => b.length - a.length)
    .map((word) => ({ word, digits: digitsOf(word) }));
  const number = words.length > 1 ? digitsOf(q) : null;
  return ({ text, numbers }) => {
    if (number !== null && numbers.includes(number)) return true;
    for (const { word, digits } of words)
      if (!text.includes(word) && (digits === null || !numbers.includes(digits))) return false;
    return true;
  };
}
