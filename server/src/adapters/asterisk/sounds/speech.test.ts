/** Text to speech by the real program: what it writes, and what it refuses. */
import assert from 'node:assert/strict';
import { access, readFile, readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { SpokenText } from '@offhook/contract/sounds.ts';
import { temporary } from '../../../../test/support/engine-instance.ts';
import { samplesOf } from '../../../../test/support/sound-samples.ts';
import { ProvisionError } from '../provision/error.ts';
import { obtainPackages } from '../provision/packages.ts';
import { createSpeak } from './speech.ts';

const cache = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
const speak = createSpeak((packages) => obtainPackages({ cache, packages }));
const never = new AbortController().signal;
const SAMPLES_A_SECOND = 22_050;

test('speech - texts are spoken in each language and voice, and what looks like commands is only text', async (t) => {
  const folder = temporary(t);
  const heard = async (text: string, language: string, voice: 'female' | 'male' = 'female') => {
    const file = path.join(folder, 'spoken.wav');
    await speak(SpokenText.parse({ text, language, voice }), file, never);
    const samples = samplesOf(await readFile(file));
    const loudness = Math.hypot(...samples.subarray(0, 60_000)) / Math.sqrt(Math.min(samples.length, 60_000));
    assert.ok(loudness > 300, `${language}: ${loudness}`);
    return { seconds: samples.length / SAMPLES_A_SECOND, samples: Buffer.from(samples.buffer) };
  };
  const texts = {
    en: 'Welcome. Please hold the line.',
    de: 'Willkommen. Bitte bleiben Sie in der Leitung.',
    tr: 'Hoş geldiniz. Lütfen hatta kalın.',
    pt_BR: 'Bem-vindo. Aguarde na linha.',
  };
  for (const [language, text] of Object.entries(texts)) {
    const { seconds } = await heard(text, language);
    assert.ok(seconds > 1 && seconds < 6, `${language}: ${seconds} s`);
  }
  const [english, german, man] = [
    await heard(texts.de, 'en'),
    await heard(texts.de, 'de'),
    await heard(texts.de, 'de', 'male'),
  ];
  assert.deepEqual((await heard(texts.de, 'de')).samples, german.samples);
  assert.notDeepEqual(english.samples, german.samples);
  assert.notDeepEqual(man.samples, german.samples);

  // As an option this would be silence at once; as a command it would leave a file.
  const trace = path.join(folder, 'trace');
  const hostile = `-q --version $(touch ${trace}) \`touch ${trace}\` "; touch ${trace}; <speak> %s \\ ' & welcome`;
  assert.ok((await heard(hostile, 'en')).seconds > 3);
  await assert.rejects(access(trace), { code: 'ENOENT' });
  assert.deepEqual(await readdir(folder), ['spoken.wav']);
});

test('speech - a language without a voice, and a program that cannot be had, are told apart', async (t) => {
  const to = path.join(temporary(t), 'spoken.wav');
  const wanted = { text: 'hello', language: 'xx', voice: 'female' } as const;
  await assert.rejects(speak(wanted, to, never), {
    code: 'invalid_request',
    message: 'there is no voice for the language xx',
  });
  const without = createSpeak(() => Promise.reject(new ProvisionError('failed', 'no mirror answers')));
  await assert.rejects(without({ ...wanted, language: 'en' }, to, never), {
    code: 'speech_unavailable',
    message: 'the speech program could not be downloaded: no mirror answers',
  });
  const stopped = AbortSignal.abort(new Error('the service stops'));
  await assert.rejects(speak({ ...wanted, language: 'en' }, to, stopped), { message: 'the service stops' });
});

test('speech - texts are bounded, have something to say and no control characters', () => {
  const takes = (text: string): boolean => SpokenText.safeParse({ text, language: 'en' }).success;
  assert.deepEqual(['x'.repeat(1_000), 'one\ntwo', '7'].map(takes), [true, true, true]);
  assert.deepEqual(
    ['x'.repeat(1_001), '', '  ', '…!', 'bell\u0007', 'nil\u0000'].map(takes),
    Array<boolean>(6).fill(false),
  );
  for (const language of ['', '../x', 'en+x', '-v', 'EN'])
    assert.equal(SpokenText.safeParse({ text: 'a', language }).success, false, language);
});
