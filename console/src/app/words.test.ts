import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

const LOCALES = path.join(import.meta.dirname, '../../locales');
const wordsOf = async (language: string, file: string) => {
  const text = await readFile(path.join(LOCALES, language, file), 'utf8');
  const words = JSON.parse(text) as Readonly<Record<string, string>>;
  // Of a key that is there twice only the last text would be seen.
  const lines = text.match(/^ {2}"[^"]+":/gm) ?? [];
  assert.equal(lines.length, Object.keys(words).length, `${language}/${file} has a key twice`);
  return words;
};
/** Names of the values in a text. */
const valuesIn = (text: string): string[] => [...new Set(text.match(/\{\{\w+\}\}/g))].toSorted();
const base = (key: string): string => key.replace(/_(zero|one|two|few|many|other)$/, '');

test('words - every language has each area, each key in the forms that it counts by, and no unknown value', async () => {
  const languages = await readdir(LOCALES);
  assert.ok(languages.includes('en') && languages.length >= 3, languages.join());
  const files = (await readdir(path.join(LOCALES, 'en'))).toSorted();
  const typed = await readFile(path.join(import.meta.dirname, 'locales.ts'), 'utf8');
  for (const file of files) assert.ok(typed.includes(`locales/en/${file}`), `${file} is not in locales.ts`);
  const wrong: string[] = [];
  for (const language of languages) {
    assert.deepEqual(
      (await readdir(path.join(LOCALES, language))).toSorted(),
      files,
      `console/locales/${language} has the files of console/locales/en`,
    );
    const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
    for (const file of files) {
      const en = await wordsOf('en', file);
      const own = await wordsOf(language, file);
      const known = new Set(Object.values(en).flatMap(valuesIn));
      const counted = new Set(
        Object.keys(en).flatMap((key) => (en[`${base(key)}_other`] === undefined ? [] : [base(key)])),
      );
      const plain = Object.keys(en).filter((key) => !counted.has(base(key)));
      const expected = [...plain, ...[...counted].flatMap((key) => forms.map((form) => `${key}_${form}`))];
      const where = `${language}/${file}`;
      for (const key of expected) if (own[key] === undefined) wrong.push(`${where} lacks ${key}`);
      for (const key of Object.keys(own)) {
        if (!expected.includes(key)) wrong.push(`${where} has ${key}, which is not in English`);
        // Turkish has the singular after a number, and so another value than English.
        const unknown = valuesIn(own[key]!).filter((value) => !known.has(value));
        if (unknown.length > 0) wrong.push(`${where} ${key} has ${unknown.join()}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});
