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

/** The text of an entry for `matcherOf`, one line for each text and number, so that no word matches across two. Ignores null. */
export const searched = (texts: readonly (string | null)[], numbers: readonly (string | null)[]): string =>
  [
    ...texts.map((text) => fold(text ?? '')),
    ...numbers.flatMap((number) => (number === null ? [] : (digitsOf(number) ?? []))),
  ].join('\n');
/** Whether each word of `q`, in any order, is part of a text or a number of an entry, or the whole `q` is one number. */
export function matcherOf(q: string): (entry: string) => boolean {
  const words = fold(q)
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => ({ word, digits: digitsOf(word) }))
    // Numbers and long words first, because fewer entries have them.
    .toSorted(
      (a, b) => Number(a.digits === null) - Number(b.digits === null) || b.word.length - a.word.length,
    );
  const number = words.length > 1 ? digitsOf(q) : null;
  return (entry) => {
    if (number !== null && entry.includes(number)) return true;
    for (const { word, digits } of words)
      if (!entry.includes(word) && (digits === null || digits === word || !entry.includes(digits)))
        return false;
    return true;
  };
}
