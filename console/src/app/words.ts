/**
 * Texts of the console, in `console/locales/<language>/<area>.json` (format of i18next: `{{name}}` is a value,
 * `waiting_one` and `waiting_other` are one key with `count`). Only the language in use is loaded. The library itself
 * would take 14 kB of the first load; the used part is below.
 */
import { FILES, FIRST } from 'virtual:words';
import type { Language } from '@offhook/contract/errors.ts';
import type { Areas } from './locales.ts';

/** Languages of the console, in which the service also sends its error texts. */
export const LANGUAGES: Readonly<Record<Language, string>> = { en: 'English', tr: 'Türkçe', de: 'Deutsch' };
export type { Language };
type Table = Readonly<Record<string, string>>;
export type Area = keyof Areas;
type KeyOf<T> = T extends `${infer Base}_${'one' | 'other'}` ? Base : T;
export type WordOf<A extends Area> = KeyOf<keyof Areas[A] & string>;
export interface Translate<Key extends string> {
  (key: Key, values?: Readonly<Record<string, string | number>>): string;
  has(key: string): key is Key;
  /** Keys of the area; empty until its words are loaded. */
  keys(): readonly string[];
}

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

const used = new Set<Area>();
const tables = new Map<string, Table>();
const isLoaded = (of: Language): boolean => [...used].every((area) => tables.has(`${of}/${area}`));
async function load(of: Language): Promise<void> {
  const { first, others } = FILES[of]!;
  // A page loaded meanwhile may use further areas.
  while (!isLoaded(of)) {
    const parts = [...used].every((area) => FIRST.includes(area)) ? [first] : [first, others];
    for (const { default: words } of await Promise.all(parts.map((part) => part())))
      for (const [area, table] of Object.entries(words)) tables.set(`${of}/${area}`, table);
  }
}
/** Loads the words of all areas in use; call it before rendering what uses them. */
export async function loadWords(): Promise<void> {
  while (!isLoaded(current)) await load(current);
}

export const language = (): Language => current;
let wanted = current;
/** Renders the page again once the words are loaded; drafts keep the text typed in its fields. */
export async function setLanguage(next: Language): Promise<void> {
  wanted = next;
  await load(next);
  if (wanted !== next) return;
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
/** The words of one area. Call the result in every render, because the language can change. */
export function wordsOf<A extends Area>(area: A): Translate<WordOf<A>> {
  used.add(area);
  const table = (): Table => tables.get(`${current}/${area}`) ?? {};
  const translate = (key: string, values: Readonly<Record<string, string | number>> = {}): string => {
    const words = table();
    const text = words[key] ?? words[`${key}_${pluralOf(Number(values['count']))}`] ?? words[`${key}_other`];
    return (text ?? key).replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => String(values[name] ?? whole));
  };
  const has = (key: string): key is WordOf<A> => Object.hasOwn(table(), key);
  return Object.assign(translate, { has, keys: () => Object.keys(table()) });
}
