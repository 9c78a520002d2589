/**
 * The words of the page in its languages. Each area has its own table, which is loaded with it. A library for it
 * takes 16 KB of the first load's 250; what these tables need of one is below.
 */
export const LANGUAGES = { en: 'English', tr: 'Türkçe', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;
type Table = Readonly<Record<string, string>>;
/** `waiting_one` and `waiting_other` are one key, `waiting`, with `count`. */
type KeyOf<T> = T extends `${infer Base}_${'one' | 'other'}` ? Base : T;
export type Translate<Key extends string> = (
  key: Key,
  values?: Readonly<Record<string, string | number>>,
) => string;

const STORED = 'offhook.language';
const isLanguage = (word: string): word is Language => Object.hasOwn(LANGUAGES, word);
function firstLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored !== null && isLanguage(stored)) return stored;
  for (const wanted of navigator.languages) {
    const [word = ''] = wanted.toLowerCase().split('-');
    if (isLanguage(word)) return word;
  }
  return 'en';
}
let current: Language = firstLanguage();
const listeners = new Set<() => void>();

export const language = (): Language => current;
/** The page as it is shown is drawn anew; what is typed in fields of the page is kept by its drafts. */
export function setLanguage(next: Language): void {
  localStorage.setItem(STORED, next);
  current = next;
  for (const listener of listeners) listener();
}
export function onLanguage(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const plurals = new Map<Language, Intl.PluralRules>();
function pluralOf(count: number): string {
  let rules = plurals.get(current);
  if (rules === undefined) plurals.set(current, (rules = new Intl.PluralRules(current)));
  return rules.select(count);
}
/**
 * The words of one area; every language has every key, and `{{name}}` stands for a value. Call the result while rendering,
 * never once for all: the language can change.
 */
export function defineWords<const En extends Table>(tables: {
  readonly en: En;
  readonly tr: Readonly<Record<keyof En, string>>;
  readonly de: Readonly<Record<keyof En, string>>;
}): Translate<KeyOf<keyof En & string>> {
  return (key, values = {}) => {
    const table: Table = tables[current];
    const { count } = values;
    const text = table[key] ?? table[`${key}_${pluralOf(Number(count))}`] ?? table[`${key}_other`] ?? key;
    return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => String(values[name] ?? whole));
  };
}
