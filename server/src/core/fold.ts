/** Letters that no Unicode decomposition takes apart, as people type them without a special keyboard. */
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

/** A text as it is compared in a search: no case, no accents, single spaces. */
export const fold = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[ıßøđðłæœþħ]/g, (letter) => PLAIN[letter]!)
    .replace(/\s+/g, ' ')
    .trim();

/** The digits of a number written for people, with its leading plus; null where the text is no number. */
export const digitsOf = (text: string): string | null =>
  /^\+?[\d\s()./-]*\d[\d\s()./-]*$/.test(text.trim()) ? text.replace(/[\s()./-]/g, '') : null;
