/** The words of the page in its languages. Each area has its own table, which is loaded with it. */
import i18next from 'i18next';

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
const words = i18next.createInstance();
const listeners = new Set<() => void>();
void words.init({
  lng: firstLanguage(),
  fallbackLng: 'en',
  resources: {},
  // React escapes what it shows.
  interpolation: { escapeValue: false },
  initAsync: false,
});

export const language = (): Language => words.language as Language;
/** The page as it is shown is drawn anew; what is typed in fields of the page is kept by its drafts. */
export function setLanguage(next: Language): void {
  localStorage.setItem(STORED, next);
  void words.changeLanguage(next);
  for (const listener of listeners) listener();
}
export function onLanguage(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * The words of one area; every language has every key, and `{{name}}` stands for a value. Call the result while rendering,
 * never once for all: the language can change.
 */
export function defineWords<const En extends Table>(
  area: string,
  tables: {
    readonly en: En;
    readonly tr: Readonly<Record<keyof En, string>>;
    readonly de: Readonly<Record<keyof En, string>>;
  },
): Translate<KeyOf<keyof En & string>> {
  for (const [name, table] of Object.entries(tables)) words.addResourceBundle(name, area, table);
  // The library's own types of keys are for tables known all at once.
  const translate = words.t as unknown as (key: string, values: object) => string;
  return (key, values) => translate(key, { ns: area, ...values });
}
