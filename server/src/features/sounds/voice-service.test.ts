import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { SpokenText } from '@offhook/contract/sounds.ts';
import { systemClock } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { createGuard } from '../../outbound/address-guard.ts';
import { wav } from '../../../test/support/sound-samples.ts';
import { createVoiceService, filled } from './voice-service.ts';

const signal = new AbortController().signal;
const KEY = 'key-that-nobody-sees';
const german = (text: string): SpokenText => ({ text, language: 'de', voice: 'female' });

/** A voice service on loopback; `answer` is what it sends next. */
async function rig(t: TestContext, allow: readonly string[] = ['127.0.0.1']) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-voice-'));
  const requests: { readonly body: unknown; readonly key: string | undefined }[] = [];
  const next = { status: 200, body: wav(), headers: {} as Record<string, string> };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      requests.push({
        body: JSON.parse(Buffer.concat(parts).toString()) as unknown,
        key: request.headers['x-api-key'] as string | undefined,
      });
      response.writeHead(next.status, next.headers).end(next.body);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/speak`;
  t.after(async () => {
    service.close();
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });
  const file = path.join(folder, 'speech.json');
  const configure = (more: object = {}): Promise<void> =>
    writeFile(
      file,
      JSON.stringify({
        url,
        headers: { 'X-Api-Key': KEY },
        body: { input: { text: '{{text}}' }, voice: ['{{language}}', '{{voice}}'], speed: 1 },
        voices: { de: { language: 'de-DE', female: 'Anna', male: 'Ben' } },
        ...more,
      }),
    );
  await configure();
  const others: string[] = [];
  const service = createVoiceService({
    file,
    guard: createGuard(allow),
    clock: systemClock,
    other: ({ language }) => Promise.resolve(void others.push(language)),
  });
  const to = path.join(folder, 'out');
  const { speak } = service;
  return { speak, to, requests, next, configure, others, file };
}
const refused = (work: Promise<unknown>, about: RegExp): Promise<void> =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, 'speech_unavailable');
    assert.match(error.message, about);
    assert.ok(!error.message.includes(KEY), 'the key is not in the error');
    return true;
  });

test('voice service - the text is a value of the request, whatever is in it, and the answer is the sound', async (t) => {
  const { speak, to, requests, next, configure } = await rig(t);
  const text = '"}, {{voice}} \\ Grüße\n';
  await speak(german(text), to, signal);
  assert.deepEqual(requests, [{ body: { input: { text }, voice: ['de-DE', 'Anna'], speed: 1 }, key: KEY }]);
  assert.deepEqual(await readFile(to), next.body);

  await configure({ base64: 'audio' });
  next.body = Buffer.from(JSON.stringify({ audio: wav().toString('base64') }));
  await speak({ ...german('Hallo'), voice: 'male' }, to, signal);
  assert.deepEqual(await readFile(to), wav());
  assert.deepEqual((requests[1]!.body as { voice: unknown }).voice, ['de-DE', 'Ben']);
});
test('voice service - a language that it does not have is spoken by the other voice', async (t) => {
  const { speak, to, requests, others } = await rig(t);
  await speak({ ...german('Merhaba'), language: 'tr' }, to, signal);
  assert.deepEqual([others, requests.length], [['tr'], 0]);
});
test('voice service - a refusal, a redirect, an answer without a sound and a private address are no sound', async (t) => {
  const { speak, to, next, configure, others } = await rig(t);
  for (const [answer, about] of [
    [{ status: 401, body: Buffer.from(KEY) }, /status 401/],
    [{ status: 302, headers: { location: 'http://127.0.0.1:1/' } }, /status 302/],
    [{ status: 200, headers: {}, body: Buffer.alloc(0) }, /no usable audio/],
    [{ status: 200, headers: {}, body: Buffer.alloc(9 * 1024 * 1024) }, /no usable audio/],
  ] as const) {
    Object.assign(next, answer);
    await refused(speak(german('Hallo'), to, signal), about);
  }
  await configure({ base64: 'audio' });
  for (const body of ['<html>', '{}', '{"audio":7}', '[]', 'null']) {
    next.body = Buffer.from(body);
    await refused(speak(german('Hallo'), to, signal), /no usable audio/);
  }
  assert.deepEqual(others, [], 'no other voice speaks instead');
  const strict = await rig(t, []);
  await refused(strict.speak(german('Hallo'), strict.to, signal), /did not answer/);
  assert.equal(strict.requests.length, 0);
});
test('voice service - a file that cannot be used is named by its field, never by its key', async (t) => {
  const { speak, to, configure, file } = await rig(t);
  for (const [more, about] of [
    [{ url: 'ftp://example.com' }, /url/],
    [{ headers: { 'X-Api-Key': `${KEY}\n` } }, /headers\.X-Api-Key/],
    [{ voices: { deutsch: {} } }, /voices/],
    [{ more: 1 }, /more/],
  ] as const) {
    await configure(more);
    await refused(speak(german('Hallo'), to, signal), about);
  }
  await writeFile(file, `{"headers": ${KEY}`);
  await refused(speak(german('Hallo'), to, signal), /it is not JSON/);
  await rm(file);
  await refused(speak(german('Hallo'), to, signal), /ENOENT/);
});
test('voice service - only texts of the template are filled', () => {
  const values = { text: '{{language}}', language: 'de', voice: 'Anna' };
  assert.deepEqual(filled({ a: ['{{text}}', 1, null, true], '{{text}}': '{{other}}' }, values), {
    a: ['{{language}}', 1, null, true],
    '{{text}}': '{{other}}',
  });
});
