import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PhoneConfig } from '@offhook/contract/config-phones.ts';
import { ServiceError } from '../../core/errors.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { EMPTY_MODEL, storedObject, withObjects } from './model.ts';
import { openObjects } from './objects.ts';
import { migrations } from './tables.ts';
import { usedLanguages, usedSounds } from './uses.ts';

test('pbx-config/used-sounds - sounds of the draft, of the applied version, and of every earlier one', async () => {
  const { store, ...temp } = await temporaryStore();
  await store.migrate('pbx-config', migrations);
  const objects = await openObjects(store);
  const by = { author: '1001', comment: null, at: 0 };
  const sounds = ['a', 'b', 'c'].map((letter) => letter.repeat(64));
  const prompt = async (sound: string) => {
    const body = { name: 'welcome', title: 'Welcome', sound };
    const [object = null] = await objects.identify([storedObject(0, 'prompt', body)]);
    return { kind: 'prompt' as const, key: 'welcome', object };
  };
  assert.deepEqual(await usedSounds(store), new Set());
  for (const sound of sounds) {
    const next = withObjects(objects.draft(), [await prompt(sound)]);
    await objects.setDraft(next, by);
    if (sound !== sounds[2]) await objects.commit(next, by);
  }
  assert.deepEqual(await usedSounds(store), new Set(sounds));
  await objects.setDraft(objects.applied(), by);
  assert.deepEqual(await usedSounds(store), new Set(sounds.slice(0, 2)));
  const gone = withObjects(objects.applied(), [{ kind: 'prompt', key: 'welcome', object: null }]);
  await objects.setDraft(gone, by);
  await objects.commit(gone, by);
  assert.deepEqual(await usedSounds(store), new Set(sounds.slice(0, 2)), 'one can still go back to them');
  await store.close();
  await assert.rejects(usedSounds(store), (e) => e instanceof ServiceError && e.code === 'store_unavailable');
  await temp[Symbol.asyncDispose]();
});

test('pbx-config/used-languages - of prompts and of customers, not that of a display', () => {
  const settings = {
    name: 'site' as const,
    language: 'en',
    customer_languages: ['fr', 'tr'],
    recording_announcement: null,
    sign_out_hours: 12,
  };
  const phone = PhoneConfig.parse({ name: 'lobby', vendor: 'yealink', language: 'it' });
  const model = withObjects(EMPTY_MODEL, [
    { kind: 'settings', key: 'site', object: storedObject(1, 'settings', settings) },
    { kind: 'phone', key: 'lobby', object: storedObject(2, 'phone', phone) },
  ]);
  assert.deepEqual(usedLanguages([model]), new Set(['en', 'fr', 'tr']));
});
