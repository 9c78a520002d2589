import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../core/errors.ts';
import { createConverter } from './converter.ts';
import { encoded, wav } from '../../../test/support/sound-samples.ts';
import { countTurns } from '../../../test/support/turns.ts';

let folder: string;
let files = 0;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-sounds-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function task(bytes: Uint8Array, most_seconds = 600) {
  const name = path.join(folder, String((files += 1)));
  await writeFile(`${name}.upload`, bytes);
  return { from: `${name}.upload`, to: `${name}.wav16`, most_seconds };
}
const withCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === code;

test('sounds/converter - ten minutes of sound are converted without blocking the event loop', async () => {
  const converter = createConverter();
  const long = await task(
    wav({ rate: 8_000, seconds: 599, kind: 'ulaw', sample: (i) => (i % 50) / 50 - 0.5 }),
  );
  using loop = countTurns();
  const { seconds, bytes } = await converter.convert(long);
  assert.ok(loop.turns > 100, `${loop.turns} turns of the event loop during the conversion`);
  assert.equal(seconds, 599);
  assert.equal((await readFile(long.to)).length, bytes);
  await converter.close();
});

test('sounds/converter - one at a time, in order; a refusal ends only its own conversion', async () => {
  const converter = createConverter();
  const done: string[] = [];
  const tasks = [
    await task(wav({ rate: 44_100, seconds: 30 })),
    await task(Buffer.from('no sound')),
    await task(wav()),
  ];
  await Promise.all(
    tasks.map((one, i) =>
      converter.convert(one).then(
        ({ seconds }) => done.push(`${i} ${seconds}`),
        (error: unknown) => done.push(`${i} ${(error as ServiceError).code}`),
      ),
    ),
  );
  assert.deepEqual(done, ['0 30', '1 not_audio', '2 0.5']);
  await converter.close();
});

test('sounds/converter - a conversion that takes too long is ended, and the next one runs', async () => {
  const converter = createConverter(300);
  const long = wav({ rate: 44_100, seconds: 100, channels: 2 });
  await assert.rejects(converter.convert(await task(long)), withCode('not_audio'));
  await converter.close();
  const next = createConverter(60_000);
  assert.equal((await next.convert(await task(wav()))).seconds, 0.5);
  await next.close();
});

test('sounds/converter - closing ends the running conversion and refuses waiting ones', async () => {
  const converter = createConverter();
  const long = await task(wav({ rate: 44_100, seconds: 100 }));
  const [running, waiting] = [converter.convert(long), converter.convert(await task(wav()))];
  const refused = Promise.all([
    assert.rejects(running, withCode('overloaded')),
    assert.rejects(waiting, withCode('overloaded')),
  ]);
  await converter.close();
  await refused;
});

test('sounds/converter - an unwritable file is an error of the file system, not of the sound', async () => {
  const converter = createConverter();
  const lost = { from: path.join(folder, 'nothing'), to: path.join(folder, 'x.wav16'), most_seconds: 1 };
  await assert.rejects(converter.convert(lost), /ENOENT/);
  await converter.close();
});

test('sounds/converter - encoded sounds with any bytes changed or cut are a sound or a refusal', async () => {
  const converter = createConverter(20_000);
  const names = ['tone.mp3', 'tone.flac', 'tone-opus.ogg', 'tone-vorbis.ogg'] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { maxLength: 8 }),
      fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
      async (name, changes, length) => {
        const whole = encoded(name);
        const bytes = Buffer.from(whole.subarray(0, Math.ceil(length * whole.length)));
        for (const [at, value] of changes) bytes[Math.floor(at * (bytes.length - 1))] = value;
        await converter.convert(await task(bytes, 5)).then(
          ({ seconds }) => assert.ok(seconds <= 5.01),
          (error: unknown) =>
            assert.ok(withCode('not_audio')(error) || withCode('sound_too_long')(error), String(error)),
        );
      },
    ),
    { numRuns: 30 },
  );
  await converter.close();
});
