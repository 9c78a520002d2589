import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LANGUAGE } from '@offhook/contract/config-fields.ts';
import { languageOf } from './language-tag.ts';

test('core/language-tag - tags, locales and preferences of other systems are languages of prompts; nothing else is', () => {
  const spelled: Readonly<Record<string, string>> = {
    de: 'de',
    DE: 'de',
    'de-AT': 'de_AT',
    'en-gb': 'en_GB',
    pt_BR: 'pt_BR',
    'pt_BR.UTF-8': 'pt_BR',
    'ca_ES@valencia': 'ca_ES',
    'fr, en;q=0.8': 'fr',
    ' tr ': 'tr',
  };
  for (const [text, language] of Object.entries(spelled)) {
    assert.equal(languageOf(text), language, text);
    assert.match(language, LANGUAGE);
  }
  for (const text of [
    '',
    '*',
    'd',
    'deu',
    'German',
    'zh-Hans-CN',
    'de\nx',
    'de_',
    '../de',
    `de${' '.repeat(100_000)}x`,
  ])
    assert.equal(languageOf(text), undefined, text.slice(0, 20));
});
