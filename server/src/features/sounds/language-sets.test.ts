import assert from 'node:assert/strict';
import { lstat, readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { temporary } from '../../../test/support/engine-instance.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import { tarGzOf, tarOf, zipOf } from '../../../test/support/archives.ts';
import type { Packed } from '../../../test/support/archives.ts';
import { wav } from '../../../test/support/sound-samples.ts';
import { ServiceError } from '../../core/errors.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import { LanguageSets } from './language-sets.ts';

const GSM = Buffer.alloc(330, Buffer.concat([Buffer.from([0xd1]), Buffer.alloc(32)]));
const sound = (rate = 16_000, channels = 1): Buffer => wav({ rate, channels });

async function rig(t: TestContext, budget = 100_000_000) {
  const folder = path.join(temporary(t), 'languages');
  const used = new Set<string>();
  const lines: AuditEntry[] = [];
  const sets = await LanguageSets.open({
    audit: { record: async (entry) => void lines.push(entry) },
    folder,
    budget,
    otherBytes: async () => 1_000,
    diskFloor: 0,
    used: () => used,
    lacking: async (language) => [`${language} lacks`],
  });
  t.after(() => sets.close());
  const actor = { caller: (await fixtureAuthenticator.authenticate('token-admin'))!, ip: '127.0.0.1' };
  const upload = (bytes: Buffer, language = 'tr', prompt?: string) =>
    sets.upload(actor, language, prompt, Readable.from([bytes]));
  const files = async (): Promise<string[]> => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
      .toSorted();
  };
  return { sets, folder, used, lines, actor, upload, files };
}
const refused = (work: Promise<unknown>, code: string, about: RegExp): Promise<void> =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, about);
    return true;
  });

test('languages - zip, tar and tar.gz add prompts, in a folder of the language or not; other files are ignored', async (t) => {
  const { sets, upload, files, folder, lines, used } = await rig(t);
  const packed: Packed[] = [
    { name: 'tr/' },
    { name: 'tr/beep.wav', bytes: sound() },
    { name: './tr_TR_f_Voice/digits/1.gsm', bytes: GSM },
    { name: 'vm-INBOX.wav', bytes: sound(8_000) },
    { name: 'LICENSE.txt', bytes: Buffer.from('free') },
  ];
  const done = { success: true, prompts: 3, ignored: 1 };
  const flat = packed.slice(1).map((one) => ({ ...one, name: one.name.replace(/^.*tr[^/]*\//, '') }));
  assert.deepEqual(await upload(zipOf(packed)), done);
  assert.deepEqual(await upload(await tarOf(flat), 'de'), done);
  assert.deepEqual(await upload(await tarGzOf(flat), 'pt_BR'), done);
  const of = (language: string) => [`${language}/vm-INBOX.wav`];
  assert.deepEqual(
    (await files()).filter((name) => name.startsWith('tr/')),
    ['tr/beep.wav16', 'tr/digits/1.gsm', ...of('tr')],
  );
  assert.deepEqual(await readFile(path.join(folder, 'tr/digits/1.gsm')), GSM);
  used.add('fr');
  const { languages } = await sets.list();
  assert.deepEqual(
    languages.map(({ language, uploaded, prompts, missing }) => [language, uploaded, prompts, missing[0]]),
    [
      ['de', true, 3, 'de lacks'],
      ['fr', false, 0, 'fr lacks'],
      ['pt_BR', true, 3, 'pt_BR lacks'],
      ['tr', true, 3, 'tr lacks'],
    ],
  );
  assert.deepEqual(
    [lines[0]?.action, lines[0]?.object, lines[0]?.detail],
    ['languages.upload', 'tr', { prompts: 3 }],
  );
});

test('languages - one prompt is converted, and replaces the one of another format', async (t) => {
  const { upload, files } = await rig(t);
  await upload(zipOf([{ name: 'digits/1.gsm', bytes: GSM }]));
  assert.deepEqual(await files(), ['tr/digits/1.gsm']);
  await upload(sound(44_100, 2), 'tr', 'digits/1');
  assert.deepEqual(await files(), ['tr/digits/1.wav16']);
});

test('languages - hostile and broken archives are refused, and nothing is written', async (t) => {
  const { upload, files, folder } = await rig(t);
  const ok = { name: 'beep.wav', bytes: sound() };
  const one = (name: string): Packed[] => [ok, { name, bytes: sound() }];
  const link: Packed[] = [ok, { name: 'x.wav', link: '/etc/passwd' }];
  const cut = zipOf([ok]);
  const lie = zipOf([ok]);
  lie.writeUInt32LE(5, lie.lastIndexOf('PK\u0001\u0002') + 24);
  for (const [bytes, about] of [
    [await tarOf(one('../x.wav')), /path that is not safe/],
    [await tarOf(one('a/../../x.wav')), /path that is not safe/],
    [await tarOf(one('/x.wav')), /path that is not safe/],
    [await tarOf(one('a\\..\\x.wav')), /path that is not safe/],
    [zipOf(one('../x.wav')), /damaged/],
    [zipOf(one('/x.wav')), /damaged/],
    [await tarGzOf(link), /has a link/],
    [zipOf(link), /has a link/],
    [await tarOf(Array.from({ length: 3_001 }, (_, i) => ({ name: `f${i}` }))), /at most 3000 entries/],
    [cut.subarray(0, -40), /damaged/],
    [lie, /damaged/],
    [(await tarGzOf([ok])).subarray(0, -20), /damaged/],
    [Buffer.from('not an archive'), /must be a zip/],
    [Buffer.alloc(0), /must be a zip/],
    [zipOf([{ name: 'README', bytes: GSM }]), /no prompts/],
    [zipOf([ok, { name: 'a.wav', bytes: sound(44_100) }]), /a\.wav: must be WAV of 8 or 16 kHz/],
    [zipOf([ok, { name: 'a.wav', bytes: sound(16_000, 2) }]), /a\.wav: must be WAV of 8 or 16 kHz/],
    [zipOf([ok, { name: 'a.wav', bytes: GSM }]), /a\.wav: must be WAV/],
    [zipOf([ok, { name: 'a.gsm', bytes: sound() }]), /a\.gsm: must be GSM/],
  ] as const)
    await refused(upload(bytes), 'not_audio', about);
  const zeros = { name: 'a.wav', bytes: Buffer.alloc(5_000_000) };
  await refused(upload(await tarGzOf([ok, zeros])), 'sound_too_large', /a\.wav must have at most/);
  const many = Array.from({ length: 40 }, (_, i) => ({ name: `${i}.txt`, bytes: Buffer.alloc(4_000_000) }));
  await refused(upload(gzipSync(await tarOf(many))), 'sound_too_large', /must unpack to at most/);
  await refused(upload(zipOf([ok]), 'fr'), 'invalid_request', /the engine has its own prompts/);
  assert.deepEqual(await files(), []);
  assert.deepEqual(await readdir(path.join(folder, 'incoming')), []);
  assert.equal(await lstat(path.join(folder, '../x.wav')).catch(() => null), null);
});

test('languages - a cut archive is refused however late this process sees its end', async (t) => {
  const { upload } = await rig(t);
  const cut = (await tarGzOf([{ name: 'beep.wav', bytes: sound() }])).subarray(0, -20);
  // A busy process: the end of the file and the error of its contents come at one turn of the event loop.
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const busy = setInterval(() => void Atomics.wait(cell, 0, 0, 20), 1);
  try {
    for (let i = 0; i < 12; i += 1) await refused(upload(cut), 'not_audio', /damaged/);
  } finally {
    clearInterval(busy);
  }
});

test('languages - all sounds share one limit, and a language in use is not deleted', async (t) => {
  const { sets, actor, upload, files, used, lines } = await rig(t, 2_000 + GSM.length);
  await upload(zipOf([{ name: 'beep.gsm', bytes: GSM }]));
  await refused(
    upload(zipOf([{ name: 'x.wav', bytes: sound() }])),
    'storage_full',
    /OFFHOOK_SOUND_MEGABYTES/,
  );
  used.add('tr');
  await refused(sets.remove(actor, 'tr'), 'in_use', /uses this language/);
  used.clear();
  await sets.remove(actor, 'tr');
  await refused(sets.remove(actor, 'tr'), 'not_found', /are uploaded/);
  assert.deepEqual(await files(), []);
  assert.deepEqual(
    lines.map((line) => `${line.action} ${line.outcome}`),
    ['languages.upload ok', 'languages.remove refused', 'languages.remove ok'],
  );
});
