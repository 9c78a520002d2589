import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Destination } from '@offhook/contract/call-settings.ts';
import { KINDS } from '@offhook/contract/config-objects.ts';
import { wordOf } from '../src/features/pbx-config/findings.ts';
import { say } from '../src/core/said.ts';
import { errorTexts, WORDS } from '../src/core/words.ts';
import { refusalTexts } from './support/refusal-texts.ts';
import type { RefusalTexts } from './support/refusal-texts.ts';
import { readSources } from './support/sources.ts';

/** Errors of REST are thrown in these folders; rules of schemas are in the contract. */
const FOLDERS = ['core', 'delivery', 'features', 'http', 'outbound'].map((name) => `server/src/${name}`);
/** Texts that only join others. */
const WORDLESS = /^[^a-z]*$/i;
const placesOf = (text: string): string[] => (text.match(/\{\d+\}/g) ?? []).toSorted();

let found: RefusalTexts;
before(async () => {
  const sources = await readSources([...FOLDERS, 'contract'], /(?<!\.test)\.ts$/);
  // It puts no text together: it translates them all.
  found = await refusalTexts(sources.filter((source) => source.path !== 'server/src/core/errors.ts'));
});

test('words - every detail of a refusal can be translated', () => {
  assert.deepEqual([...found.untold.values()], [], 'say`…` keeps the values apart');
  assert.ok(found.texts.size > 400, `${found.texts.size} texts were found`);
});
test('words - a detail of a refusal begins in lower case, unless with a name', async () => {
  const { texts, untold } = await refusalTexts(
    await readSources(['server/src', 'contract'], /(?<!\.test)\.ts$/),
  );
  // SIP, FLAC and Content-Type are names, as is what a colon follows.
  const capital = [...texts, ...untold].filter(([text]) => /^[A-Z][a-z’']*[ .,;]/.test(text));
  assert.deepEqual(capital, [], 'a detail is a part of a sentence');
});
for (const [language, { details }] of Object.entries(WORDS)) {
  test(`words - every detail of a refusal has words in ${language}, with the same values`, () => {
    const texts = new Map(found.texts);
    for (const kind of KINDS) texts.set(wordOf(kind).key, 'a kind of the configuration');
    for (const destination of Destination.exclude(['unknown']).options)
      texts.set(`${destination.replace('_', ' ')} numbers`, 'a destination');
    texts.set('a number of no known kind', 'a destination');
    const missing = [...texts].filter(([key]) => !WORDLESS.test(key) && !Object.hasOwn(details, key));
    assert.deepEqual(
      missing.map(([key, at]) => `${at} ${key}`),
      [],
      `add these texts to server/src/core/words/${language}-config.ts, -features.ts or -requests.ts`,
    );
    for (const [key, words] of Object.entries(details)) assert.deepEqual(placesOf(words), placesOf(key), key);
  });
}
test('words - a refusal is whole in each language, whatever stands in it', () => {
  const taken = say`${'500'} is taken by ${say`${wordOf('ring_group')} ${'sales'}`}`;
  const refusal = say`${'queue support number'}: ${taken} (and ${2} more)`;
  const detailIn = (language: 'de' | 'tr') => errorTexts('invalid_configuration', refusal, language).detail;
  assert.equal(
    detailIn('de'),
    'queue support number: 500 ist schon vergeben: Rufgruppe sales (und 2 weitere)',
  );
  assert.equal(detailIn('tr'), 'queue support number: 500 kullanılıyor: çalma grubu sales (ve 2 tane daha)');
});
