/** What somebody types, pastes or clicks as a number, made into what can be dialled. */
const KEYS = ['', '', 'abc', 'def', 'ghi', 'jkl', 'mno', 'pqrs', 'tuv', 'wxyz'];
const digitOf = (letter: string): string => {
  const key = KEYS.findIndex((letters) => letters.includes(letter));
  return key > 0 ? String(key) : letter;
};
export const LETTERS: Readonly<Record<string, string>> = Object.fromEntries(
  KEYS.map((letters, digit) => [String(digit), letters.toUpperCase()]),
);

/**
 * Digits with `*`, `#` and a plus in front; null for what is no number. Letters are those of the keys of a phone
 * (`0800 FLOWERS`), spaces and the usual punctuation go, and so does the `(0)` of `+49 (0)30`.
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
/** Letters beside digits may be those of the keys; without one they are a name. */
export const isName = (text: string): boolean => hasLetters(text) && !/\p{N}/u.test(text);
/** Keys that make a tone in a call. */
export const isTone = (key: string): boolean => /^[0-9*#]$/.test(key);
