/** Turns a typed, pasted or clicked number into one that can be dialled. */
const KEYS = ['', '', 'abc', 'def', 'ghi', 'jkl', 'mno', 'pqrs', 'tuv', 'wxyz'];
const digitOf = (letter: string): string => {
  const key = KEYS.findIndex((letters) => letters.includes(letter));
  return key > 0 ? String(key) : letter;
};
export const LETTERS: Readonly<Record<string, string>> = Object.fromEntries(
  KEYS.map((letters, digit) => [String(digit), letters.toUpperCase()]),
);

/**
 * Digits, `*`, `#` and a leading plus; null for anything else. Letters are those of a phone's keys (`0800 FLOWERS`); spaces, the
 * usual punctuation and the `(0)` of `+49 (0)30` are removed.
 */
export function dialled(text: string): string | null {
  const bare = text
    .normalize('NFKC')
    .trim()
    .replace(/^(tel|sip|callto):/i, '')
    .replace(/[;@].*$/, '');
  const local = bare.startsWith('+') ? bare.replace('(0)', '') : bare;
  const number = local
    .toLowerCase()
    .replaceAll(/[\s().\-/\u2010-\u2015\u00b7]/g, '')
    .replaceAll(/[a-z]/g, digitOf);
  return /^\+?[0-9*#]{1,32}$/.test(number) ? number : null;
}
export const hasLetters = (text: string): boolean => /\p{L}/u.test(text);
/** A text with a digit may be a number with letters; without one it is a name. */
export const isName = (text: string): boolean => hasLetters(text) && !/\p{N}/u.test(text);
/** Keys with a DTMF tone. */
export const isTone = (key: string): boolean => /^[0-9*#]$/.test(key);
