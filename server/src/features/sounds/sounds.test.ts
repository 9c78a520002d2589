import assert from 'node:assert/strict';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { until } from '../../../test/support/until.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { Actor } from '../../ports/operations.ts';
import { Sounds } from './service.ts';
import type { SoundsDeps } from './service.ts';
import { wav } from '../../../test/support/sound-samples.ts';

const DAY_MS = 86_400_000;
async function rig(t: TestContext, more: Partial<SoundsDeps> = {}) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const folder = path.join(temp.folder, 'sounds');
  const used = new Set<string>();
  const lines: AuditEntry[] = [];
  const audit = {
    record: (entry: AuditEntry): Promise<void> => {
      lines.push(entry);
      return Promise.resolve();
    },
  };
  const deps: SoundsDeps = {
    audit,
    clock,
    log: silent,
    folder,
    budget: 100_000_000,
    diskFloor: 0,
    usedSounds: () => Promise.resolve(used),
    speak: (_wanted, to) => writeFile(to, wav()),
    builtIn: () => Promise.resolve(['vm-goodbye']),
    ...more,
  };
  const sounds = await Sounds.open(deps);
  t.after(async () => {
    await sounds.close();
    await temp[Symbol.asyncDispose]();
  });
  const caller = (await fixtureAuthenticator.authenticate('token-admin'))!;
  const admin: Actor = { caller, ip: '127.0.0.1' };
  const upload = (bytes: Buffer) => sounds.upload(admin, 'prompt', Readable.from([bytes]));
  const files = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name !== 'incoming');
  const incoming = (): Promise<string[]> => readdir(path.join(folder, 'incoming'));
  return { sounds, clock, used, lines, deps, folder, admin, upload, files, incoming };
}
const refused = (work: Promise<unknown>, code: string, about = /./): Promise<void> =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, about);
    return true;
  });

test('sounds - equal sounds, even from different files, are stored once', async (t) => {
  const { sounds, admin, upload, files, incoming } = await rig(t);
  const first = await upload(wav());
  const again = await upload(wav({ kind: 'pcm24', sample: (i) => Math.round(wavSample(i)) / 32_768 }));
  const other = await upload(wav({ hz: 500 }));
  assert.equal(again.sound, first.sound);
  assert.equal(sounds.knows(first.sound), true);
  await sounds.remove(admin, other.sound);
  assert.equal(sounds.knows(other.sound), false);
  await upload(wav({ hz: 500 }));
  assert.deepEqual(await files(), [first, other].map((s) => `${s.sound}.wav16`).toSorted());
  assert.deepEqual(await incoming(), []);
});
/** Sample `i` of the tone of `wav()`, as stored with 16 bits. */
const wavSample = (i: number): number =>
  Math.round(0.4 * Math.sin((2 * Math.PI * 1_000 * i) / 16_000) * 32_767);

test('sounds - a sound in use is not deleted: 409 by hand, and never by itself', async (t) => {
  const { sounds, clock, used, lines, admin, upload, files } = await rig(t);
  const [ours, theirs] = [await upload(wav({ hz: 300 })), await upload(wav({ hz: 400 }))];
  used.add(ours.sound);
  await refused(sounds.remove(admin, ours.sound), 'in_use');
  assert.equal(lines.at(-1)?.outcome, 'refused');
  const shown = (await sounds.list()).sounds.find((s) => s.sound === theirs.sound);
  assert.equal(shown?.used, false);
  assert.equal(Date.parse(shown.expires_at!), clock.now() + 7 * DAY_MS);
  await clock.advance(7 * DAY_MS - 1);
  await sounds.sweep();
  assert.equal((await files()).length, 2);
  await clock.advance(1);
  await sounds.sweep();
  assert.deepEqual(await files(), [`${ours.sound}.wav16`]);
  assert.deepEqual([lines.at(-1)?.action, lines.at(-1)?.object], ['sounds.expire', theirs.sound]);
  // Seven days count from the last use.
  used.clear();
  await clock.advance(6 * DAY_MS);
  await sounds.sweep();
  assert.deepEqual(await files(), [`${ours.sound}.wav16`]);
  await clock.advance(2 * DAY_MS);
  await sounds.sweep();
  assert.deepEqual(await files(), []);
});

test('sounds - a list that is read while a sound is stored does not forget it', async (t) => {
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const audit = {
    async record() {
      reached.resolve();
      await gate.promise;
    },
  };
  const { sounds, upload } = await rig(t, { audit });
  const stored = upload(wav());
  await reached.promise;
  const listed = sounds.list();
  gate.resolve();
  const { sound } = await stored;
  assert.deepEqual(
    (await listed).sounds.map((one) => one.sound),
    [sound],
  );
  assert.equal(sounds.knows(sound), true);
});

test('sounds - while the use is unknown, nothing is deleted', async (t) => {
  const away = (): Promise<never> => Promise.reject(new ServiceError('store_unavailable', 'away'));
  const { sounds, clock, admin, upload, files } = await rig(t, { usedSounds: away });
  const { sound } = await upload(wav());
  await clock.advance(100 * DAY_MS);
  await refused(sounds.remove(admin, sound), 'store_unavailable');
  await assert.rejects(sounds.sweep());
  assert.deepEqual(await files(), [`${sound}.wav16`]);
});

test('sounds - limits: of all sounds together, and of the free disk space', async (t) => {
  const { upload, files, incoming } = await rig(t, { budget: 40_000 });
  await upload(wav());
  await upload(wav({ hz: 200 }));
  await refused(upload(wav({ hz: 300 })), 'storage_full', /40000 bytes/);
  assert.equal((await files()).length, 2);
  await upload(wav());
  assert.deepEqual(await incoming(), []);
  const full = await rig(t, { diskFloor: Number.MAX_SAFE_INTEGER });
  await refused(full.upload(wav()), 'storage_full', /disk/);
});

test('sounds - without a writable audit trail nothing is stored or deleted', async (t) => {
  const audit = { record: () => Promise.reject(new ServiceError('store_unavailable', 'away')) };
  const { upload, files, incoming } = await rig(t, { audit });
  await refused(upload(wav()), 'store_unavailable');
  assert.deepEqual([await files(), await incoming()], [[], []]);
});

test('sounds - four uploads of one person are accepted, the fifth must retry, another person may upload', async (t) => {
  const { sounds, admin, upload, incoming } = await rig(t);
  const bodies = Array.from({ length: 4 }, () => new PassThrough());
  const running = bodies.map((body) => sounds.upload(admin, 'prompt', body));
  await until('four uploads', async () => (await incoming()).length === 4);
  const refusal = (code: string) => (error: unknown) => {
    assert.ok(error instanceof ServiceError && error.code === code);
    assert.equal(error.extras.retry_after_seconds, 10);
    return true;
  };
  await assert.rejects(upload(wav()), refusal('too_many_requests'));
  const by = (person_id: number) => ({ ...admin, caller: { ...admin.caller, person_id } });
  const others = [90, 90, 91].map((id) => {
    const body = new PassThrough();
    return { body, upload: sounds.upload(by(id), 'prompt', body) };
  });
  await until('seven uploads', async () => (await incoming()).length === 7);
  await assert.rejects(sounds.upload(by(92), 'prompt', new PassThrough()), refusal('overloaded'));
  for (const [i, body] of [...bodies, ...others.map(({ body }) => body)].entries())
    body.end(wav({ hz: 200 + 100 * i }));
  const done = await Promise.all([...running, ...others.map(({ upload: one }) => one)]);
  assert.equal(new Set(done.map((s) => s.sound)).size, 7);
  await upload(wav());
  assert.deepEqual(await incoming(), []);
});

test('sounds - an upload that ends early, or exceeds 20 MB, leaves no file', async (t) => {
  const { sounds, admin, incoming, files } = await rig(t);
  const body = new PassThrough();
  const cut = sounds.upload(admin, 'prompt', body);
  body.write(wav().subarray(0, 1_000));
  await until('the upload', async () => (await incoming()).length === 1);
  body.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
  await refused(cut, 'invalid_request', /ended early/);
  const endless = new Readable({
    read() {
      this.push(Buffer.alloc(1_048_576));
    },
  });
  await refused(sounds.upload(admin, 'prompt', endless), 'sound_too_large');
  assert.equal(endless.destroyed, false, 'who answers must still read the rest');
  endless.destroy();
  await refused(sounds.upload(admin, 'prompt', null), 'not_audio');
  assert.deepEqual([await files(), await incoming()], [[], []]);
});

test('sounds - incomplete files of a killed service are deleted at the next start; stored ones stay', async (t) => {
  const { upload, folder, deps, incoming, clock } = await rig(t);
  const { sound } = await upload(wav());
  await writeFile(path.join(folder, 'incoming', '9.upload'), 'half');
  await writeFile(path.join(folder, 'notes.txt'), 'of somebody');
  const at = (clock.now() - 8 * DAY_MS) / 1_000;
  await utimes(path.join(folder, 'notes.txt'), at, at);
  const next = await Sounds.open(deps);
  assert.deepEqual(await incoming(), []);
  assert.deepEqual(
    (await next.list()).sounds.map((s) => s.sound),
    [sound],
  );
  assert.equal(next.knows(sound), true);
  assert.equal(next.knows('0'.repeat(64)), false);
  await next.sweep();
  assert.ok((await readdir(folder)).includes('notes.txt'), 'what is no sound is not ours to delete');
  await next.close();
});

test('sounds - a spoken text is kept as an upload is; one that fails half-way leaves nothing', async (t) => {
  const { sounds, admin, files, incoming, lines, upload } = await rig(t, {
    async speak({ text }, to) {
      await writeFile(to, wav({ seconds: text === 'long' ? 700 : 0.5, rate: 8_000 }));
      if (text === 'broken') throw new ServiceError('speech_unavailable', 'the speech program failed');
    },
  });
  const speak = (text: string) => sounds.speak(admin, { text, language: 'de', voice: 'female' });
  await refused(speak('broken'), 'speech_unavailable');
  await refused(speak('long'), 'sound_too_long');
  assert.deepEqual([await files(), await incoming()], [[], []]);
  const made = await speak('hello');
  assert.equal(made.sound, (await upload(wav({ rate: 8_000 }))).sound);
  assert.equal(sounds.knows(made.sound), true);
  assert.equal(lines[0]?.action, 'sounds.upload');
  assert.deepEqual(await incoming(), []);
});
