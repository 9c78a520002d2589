import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { LANGUAGES } from '@offhook/contract/errors.ts';
import { readSources, REPOSITORY } from './support/sources.ts';
import type { Source } from './support/sources.ts';

interface Entry {
  readonly word: string;
  readonly not: readonly string[];
}
/** The rows of docs/glossary.md. */
async function readGlossary(): Promise<Entry[]> {
  const text = await readFile(path.join(REPOSITORY, 'docs/glossary.md'), 'utf8');
  return [...text.matchAll(/^\| \*\*(.+?)\*\* \| .+ \| (.+) \|$/gm)].map((m) => ({
    word: m[1]!,
    not: m[2]!.split(',').map((s) => s.trim().toLowerCase()),
  }));
}

/** A line as plain words: camelCase, snake_case, kebab-case and capitals all read the same. */
const plainWords = (line: string): string =>
  line
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ')
    .toLowerCase();
function glossaryViolations(entries: readonly Entry[], files: readonly Source[]): string[] {
  const banned = entries.flatMap(({ word, not }) =>
    not.map((words) => ({ word, words, pattern: new RegExp(`\\b${words}s?\\b`) })),
  );
  return files.flatMap(({ path: file, text }) =>
    text.split('\n').flatMap((line, i) => {
      const words = plainWords(line);
      return banned
        .filter((b) => b.pattern.test(words))
        .map((b) => `${file}:${i + 1} says "${b.words}"; the word here is "${b.word}"`);
    }),
  );
}

test('glossary - every word has a row with the words it replaces', async () => {
  const entries = await readGlossary();
  const rows = (await readFile(path.join(REPOSITORY, 'docs/glossary.md'), 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('| **'));
  assert.equal(entries.length, rows.length, 'a row of docs/glossary.md does not have its three columns');
  const words = entries.map((e) => e.word);
  assert.deepEqual(words, [...new Set(words)], 'a word stands there twice');
  for (const needed of [
    'extension',
    'endpoint',
    'channel',
    'leg',
    'call',
    'queue',
    'agent',
    'offer',
    'presence',
  ]) {
    assert.ok(words.includes(needed), `${needed} is missing from docs/glossary.md`);
  }
  const replaced = entries.flatMap((e) => e.not);
  assert.deepEqual(
    replaced.filter((word) => words.includes(word)),
    [],
    'a word is both used and replaced',
  );
});

test('glossary - code, contract and client use its words and no others', async () => {
  const files = (await readSources(['contract', 'client', 'console/src', 'server/src'], /\.tsx?$/)).filter(
    (f) => !f.path.startsWith('server/src/adapters/asterisk/'),
  );
  assert.ok(files.length > 20, `only ${files.length} files were found: the test looks in the wrong place`);
  assert.deepEqual(glossaryViolations(await readGlossary(), files), []);
});

/** The rows of "States of an agent": code of the API, its words by language, then what is not said. */
async function readStates() {
  const text = await readFile(path.join(REPOSITORY, 'docs/glossary.md'), 'utf8');
  const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const titles = rows.find((cells) => cells[1] === 'API')!;
  const english = new Intl.DisplayNames('en', { type: 'language' });
  return rows.flatMap((cells) => {
    const state = /^`(\w+)`$/.exec(cells[1] ?? '')?.[1];
    if (state === undefined || cells.length !== titles.length) return [];
    const words = LANGUAGES.map((code) => {
      const title = english.of(code)!;
      const column = titles.indexOf(title);
      assert.ok(column > 0, `"States of an agent" in docs/glossary.md lacks the column ${title}`);
      return [code, cells[column]] as const;
    });
    const not = cells
      .at(-2)!
      .split(',')
      .map((word) => word.trim());
    return [{ state, words: new Map<string, string | undefined>(words), not: not.filter(Boolean) }];
  });
}
/** The texts of a file of words, by language and key. */
function textsOf({
  path: file,
  text,
}: Source): { readonly lang: string; readonly key: string; readonly text: string }[] {
  const [, lang = ''] = /locales\/(\w+)\//.exec(file) ?? [];
  return Object.entries(JSON.parse(text) as Record<string, string>).map(([key, said]) => ({
    lang,
    key,
    text: said,
  }));
}

test('glossary - the console has one word for each state of an agent, in every language, and nobody logs in', async () => {
  const states = await readStates();
  assert.equal(states.length, 8);
  const files = await readSources(['console/locales'], /\.json$/);
  const texts = files.flatMap((file) => textsOf(file).map((one) => ({ ...one, file: file.path })));
  assert.ok(texts.length > 3_000, `only ${texts.length} texts were found`);
  const wrong: string[] = [];
  let seen = 0;
  for (const { state, words, not } of states) {
    for (const one of texts) {
      const page = /(wallboard|presence|desk|supervisor)\.json$/.test(one.file);
      if (page && (one.key === state || one.key === `${state}_state`)) {
        seen += 1;
        const expected = words.get(one.lang);
        if (one.text !== expected)
          wrong.push(`${one.file} ${one.lang} ${one.key}: "${one.text}" is "${expected}"`);
      }
      if (page && one.lang === 'en' && not.includes(one.text.toLowerCase())) {
        wrong.push(`${one.file} ${one.key}: "${one.text}" is "${words.get('en')}"`);
      }
    }
  }
  for (const { file, key, lang, text } of texts) {
    if ((lang === 'en' || lang === '') && /\blog(s|ged|ging)?[ -](in|out)\b/i.test(text)) {
      wrong.push(`${file} ${key}: "${text}" says "log"; people sign in and out`);
    }
  }
  assert.ok(seen > 40, `only ${seen} words of states were found: the test looks in the wrong place`);
  assert.deepEqual(wrong, []);
});

test('glossary - a banned word is seen however it is written', () => {
  const entry = { word: 'agent', not: ['operator', 'call taker'] };
  const says = (text: string): number => glossaryViolations([entry], [{ path: 'a.ts', text }]).length;
  for (const text of [
    'an operator',
    'const nextOperator = 1',
    'OPERATORS',
    'operator_id',
    'operatorId',
    'call_taker',
  ]) {
    assert.equal(says(text), 1, text);
  }
  for (const text of ['callTaker', 'CallTakers', 'a call-taker.']) assert.equal(says(text), 1, text);
  for (const text of ['cooperator', 'operatorship', 'a call, taker']) assert.equal(says(text), 0, text);
});

interface Homonym {
  readonly word: string;
  /** Folders of `server/src` in which the word has its one meaning. */
  readonly folders: readonly string[];
  /** Limit of its uses elsewhere. */
  readonly elsewhere: number;
}
/** Forms of a word that are not its plural. */
const FORMS: Readonly<Record<string, readonly string[]>> = { tell: ['tells', 'told', 'telling'] };
async function readHomonyms(): Promise<Homonym[]> {
  const text = await readFile(path.join(REPOSITORY, 'docs/glossary.md'), 'utf8');
  return [...text.matchAll(/^\| `(\w+)` \| .+? \| (.+?) \| (\d+) \|$/gm)].map(
    ([, word, folders, elsewhere]) => ({
      word: word!,
      folders: [...folders!.matchAll(/`([^`]+)`/g)].map((m) => m[1]!),
      elsewhere: Number(elsewhere),
    }),
  );
}
/** Uses of the word outside the folders of its meaning, by file. */
function usesElsewhere({ word, folders }: Homonym, files: readonly Source[]): Map<string, number> {
  const pattern = new RegExp(`\\b(?:${[word, `${word}s`, ...(FORMS[word] ?? [])].join('|')})\\b`, 'g');
  const outside = files.filter((f) => !folders.some((folder) => f.path.startsWith(`server/src/${folder}/`)));
  const counts = outside.map(
    (f) => [f.path, f.text.split('\n').flatMap((l) => plainWords(l).match(pattern) ?? []).length] as const,
  );
  return new Map(counts.filter(([, n]) => n > 0));
}

test('glossary - words with one meaning gain no use outside the folders it belongs to', async () => {
  const homonyms = await readHomonyms();
  const words = ['board', 'turn', 'lane', 'fact', 'place', 'draft', 'pace', 'feed', 'outcome', 'tell'];
  assert.deepEqual(
    homonyms.map((h) => h.word),
    words,
  );
  // Translations repeat the texts of the code, once for each language.
  const files = (await readSources(['server/src'], /(?<!\.test)\.ts$/))
    .filter((file) => !file.path.startsWith('server/src/core/words/'))
    .toSorted((a, b) => a.path.localeCompare(b.path));
  for (const homonym of homonyms) {
    const uses = usesElsewhere(homonym, files);
    const total = [...uses.values()].reduce((sum, n) => sum + n, 0);
    const most = [...uses].toSorted((a, b) => b[1] - a[1]).slice(0, 10);
    const { word, elsewhere } = homonym;
    assert.ok(
      total <= elsewhere,
      `"${word}" has ${total} uses outside ${homonym.folders.join(', ')}, at most ${elsewhere} are allowed: ` +
        `rename the new ones by their own meaning (docs/glossary.md); most are in ${JSON.stringify(most)}`,
    );
    assert.ok(
      elsewhere <= 2 * total + 20,
      `"${word}" has only ${total} uses left elsewhere: lower its ${elsewhere} in docs/glossary.md`,
    );
  }
});
test('glossary - a use elsewhere is counted however it is written, and none in the folders of the meaning', () => {
  const homonym = { word: 'tell', folders: ['journal'], elsewhere: 0 };
  const uses = (file: string, text: string): number =>
    usesElsewhere(homonym, [{ path: file, text }]).get(file) ?? 0;
  for (const text of ['tell(x)', 'const toldTwice = 1', 'is_told', 'TELLING', '// tells\n']) {
    assert.equal(uses('server/src/core/a.ts', text), 1, text);
    assert.equal(uses('server/src/journal/a.ts', text), 0, text);
  }
  assert.equal(uses('server/src/core/a.ts', 'teller intellect'), 0);
  assert.equal(uses('server/src/journals/a.ts', 'tell told'), 2);
});
