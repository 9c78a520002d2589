/**
 * Refusals in the languages of the service. The English text is written where it is thrown and is the key here, with `{0}`, `{1}`
 * … for what is filled in (core/said.ts); English titles are in the registry of errors.
 */
import { ERRORS, LANGUAGES } from '@offhook/contract/errors.ts';
import type { ErrorCode, Language } from '@offhook/contract/errors.ts';
import { spoken } from './said.ts';
import type { Said } from './said.ts';
import { de } from './words/de.ts';
import { tr } from './words/tr.ts';

export interface Words {
  /** Of every error code. */
  readonly titles: Readonly<Record<ErrorCode, string>>;
  readonly details: Readonly<Record<string, string>>;
}
/** Words of every language but English, in which the texts are written. */
export const WORDS: Readonly<Record<Exclude<Language, 'en'>, Words>> = { tr, de };
/** Texts of placeholders and separators only, which need no translation. */
const ONLY_PLACES = /^[{}\d:;. ]*$/;

/** Title and detail of an error. A detail without a translation follows the translated title in brackets. */
export function errorTexts(
  code: ErrorCode,
  detail: Said | string,
  language: Language,
): { readonly title: string; readonly detail: string } {
  if (language === 'en') return { title: ERRORS[code].title, detail: spoken(detail) };
  const title = WORDS[language].titles[code];
  return { title, detail: translated(detail, language) ?? `${title} (${spoken(detail)})` };
}
/** The text in a language; English where a part of it has no translation. */
export const textIn = (text: Said | string, language: Language): string =>
  (language === 'en' ? null : translated(text, language)) ?? spoken(text);
/** Null where a part of the text has no translation. */
function translated(text: Said | string, language: Exclude<Language, 'en'>): string | null {
  const { details } = WORDS[language];
  let known = true;
  const words = spoken(text, (key) => {
    const own = Object.hasOwn(details, key) ? details[key] : undefined;
    known &&= own !== undefined || ONLY_PLACES.test(key);
    return own ?? key;
  });
  return known ? words : null;
}

/** The language a client asks for: that of its app, then those of its browser in their order; English where none fits. */
export function languageOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Language {
  const app = known(String(headers['x-app-language'] ?? ''));
  if (app !== undefined) return app;
  const wanted = String(headers['accept-language'] ?? '')
    .split(',', MOST_WANTED)
    .map((part) => {
      const [tag = '', quality = ''] = part.trim().split(';', 2);
      const q = Number(quality.trim().slice(2) || 1);
      return { language: known(tag), q: Number.isNaN(q) ? 0 : q };
    })
    .filter(({ q }) => q > 0)
    .toSorted((a, b) => b.q - a.q);
  return wanted.find(({ language }) => language !== undefined)?.language ?? LANGUAGES[0];
}
const MOST_WANTED = 20;
const known = (tag: string): Language | undefined =>
  LANGUAGES.find((language) => tag.trim().toLowerCase().split(/[-_]/)[0] === language);
