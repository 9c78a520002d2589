import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { nodeId } from '@offhook/contract/ids.ts';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { CallRecordBatch, CallRecordCheckpoint, CallRecords } from '../../../ports/call-records.ts';
import { PATIENCE_MS, until } from '../../../../test/support/until.ts';
import { CelReader } from './reader.ts';
import type { CelReaderOptions } from './reader.ts';
import { recordsOf } from '../../../../test/support/call-records.ts';

const node = nodeId('ast1');
const recording = readFileSync(
  new URL('../../../features/history/fixtures/blind-transfer.cel', import.meta.url),
);
/** The records of the recording with the lines they stand in. */
const lines = recording
  .toString()
  .split('\n')
  .filter(Boolean)
  .map((l) => `${l}\n`);
const keys = recordsOf(node, recording).map((r) => r.key);

interface Scene extends AsyncDisposable {
  readonly file: string;
  readonly folder: string;
  /** Reads on from where the last one stopped, beside what the test does. */
  start(options?: Partial<CelReaderOptions>): void;
  stop(): Promise<void>;
  forget(signal: AbortSignal): Promise<void>;
  /** Keys of the records in the order they came. */
  readonly keys: string[];
  readonly malformed: string[];
  readonly batches: CallRecordBatch[];
  saw(count: number): Promise<void>;
}
async function scene(): Promise<Scene> {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'offhook-cel-'));
  const file = path.join(folder, 'cel-custom', 'offhook.csv');
  await fs.mkdir(path.dirname(file));
  const batches: CallRecordBatch[] = [];
  let at: CallRecordCheckpoint | null = null;
  let stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let forget: CallRecords['forget'];
  const s: Scene = {
    forget: (signal) => forget!(signal),
    file,
    folder: path.dirname(file),
    batches,
    get keys() {
      return batches.flatMap((b) => b.records.map((r) => r.key));
    },
    get malformed() {
      return batches.flatMap((b) => [...b.malformed]);
    },
    start(options = {}) {
      stop = new AbortController();
      const reader = new CelReader({
        file,
        node,
        log: silent,
        clock: systemClock,
        poll_ms: 60,
        linger_ms: 20,
        ...options,
      });
      forget = (signal) => reader.forget(signal);
      running = (async () => {
        for await (const batch of reader.read(at, stop.signal)) {
          batches.push(batch);
          at = batch.checkpoint;
        }
      })();
    },
    async stop() {
      stop.abort();
      await running;
    },
    async saw(count) {
      await until(`${count} records`, () => s.keys.length >= count, {
        every: 5,
        seen: () => ({ records: s.keys.length }),
      });
    },
    async [Symbol.asyncDispose]() {
      await s.stop();
      await fs.rm(folder, { recursive: true, force: true });
    },
  };
  return s;
}
/** A log whose warnings can be waited for. */
function listen(): { readonly log: Log; readonly warnings: string[] } {
  const warnings: string[] = [];
  const log: Log = { ...silent, warn: (_fields, message) => void warnings.push(message), child: () => log };
  return { log, warnings };
}

test('reading call records - from the start, in small chunks, and nothing again after the checkpoint', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, recording);
  s.start({ chunk_bytes: 100 });
  await s.saw(keys.length);
  await s.stop();
  assert.deepEqual(s.keys, keys);
  s.start();
  await fs.appendFile(s.file, lines[0]!);
  await s.saw(keys.length + 1);
  assert.deepEqual(s.keys, [...keys, keys[0]]);
});

test('reading call records - a file and a folder that come later', async () => {
  await using s = await scene();
  await fs.rm(s.folder, { recursive: true });
  s.start();
  await setImmediate();
  await fs.mkdir(s.folder);
  await fs.writeFile(s.file, recording);
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
});

test('reading call records - a new record is there at once, long before the slow look', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines[0]!);
  s.start({ poll_ms: 60 * PATIENCE_MS });
  await s.saw(1);
  for (const [i, text] of lines.slice(1, 6).entries()) {
    await fs.appendFile(s.file, text);
    await s.saw(i + 2);
  }
});

test('reading call records - stopped and started again at every place of the file', async () => {
  const some = Buffer.from(lines.slice(0, 3).join(''));
  for (let cut = 0; cut <= some.length; cut += 13) {
    await using t = await scene();
    await fs.writeFile(t.file, some.subarray(0, cut));
    t.start();
    const whole = some.subarray(0, cut).toString().split('\n').length - 1;
    await t.saw(whole);
    await t.stop();
    await fs.appendFile(t.file, some.subarray(cut));
    t.start();
    await t.saw(3);
    assert.deepEqual(t.keys, keys.slice(0, 3), `cut at ${cut}`);
    assert.deepEqual(t.malformed, []);
  }
});

test('reading call records - a file that is renamed is finished before the new one', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines.slice(0, 5).join(''));
  s.start();
  await s.saw(5);
  const old = await fs.open(s.file, 'a');
  await fs.rename(s.file, `${s.file}.1`);
  await old.write(lines[5]!);
  await old.close();
  await fs.writeFile(s.file, lines.slice(6).join(''));
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
});

test('reading call records - a last write into a file that was renamed already', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines.slice(0, 5).join(''));
  // The wait for late writes begins before this one and ends after it, however busy the machine is.
  const [waits, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const linger_ms = 123_456;
  const sleep: Clock['sleep'] = (ms, signal) =>
    ms === linger_ms ? (waits.resolve(), written.promise) : systemClock.sleep(ms, signal);
  s.start({ linger_ms, clock: { ...systemClock, sleep } });
  await s.saw(5);
  const slow = await fs.open(s.file, 'a');
  await fs.rename(s.file, `${s.file}.1`);
  await fs.writeFile(s.file, lines.slice(6).join(''));
  // The writer had opened the file before it was renamed and writes a moment after.
  await waits.promise;
  await slow.write(lines[5]!);
  await slow.close();
  written.resolve();
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
});

test('reading call records - renamed twice while nobody read: all files in between, in order', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines.slice(0, 5).join(''));
  s.start();
  await s.saw(3);
  await s.stop();
  await fs.appendFile(s.file, lines.slice(5, 8).join(''));
  await fs.rename(s.file, `${s.file}.2`);
  await fs.writeFile(`${s.file}.1`, lines.slice(8, 12).join(''));
  await fs.writeFile(`${s.file}.0.gz`, 'packed\n');
  await fs.writeFile(s.file, lines.slice(12).join(''));
  const old = new Date(Date.now() - 60_000);
  await fs.utimes(`${s.file}.2`, old, old);
  s.start();
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
  assert.deepEqual(s.malformed, []);
});

test('reading call records - copied and emptied: the end that was only in the copy is read too', async () => {
  await using s = await scene();
  const older = new Date(Date.now() - 60_000);
  await fs.writeFile(s.file, lines.slice(0, 5).join(''));
  s.start();
  await s.saw(5);
  await s.stop();
  await fs.appendFile(s.file, lines.slice(5, 9).join(''));
  await fs.copyFile(s.file, `${s.file}-20261121`);
  await fs.writeFile(`${s.file}-20261120`, lines.slice(0, 2).join(''));
  await fs.utimes(`${s.file}-20261120`, older, older);
  await fs.truncate(s.file);
  await fs.appendFile(s.file, lines.slice(9).join(''));
  s.start();
  await s.saw(keys.length);
  await fs.appendFile(s.file, lines[0]!);
  await s.saw(keys.length + 1);
  assert.deepEqual(s.keys, [...keys, keys[0]]);
});

test('reading call records - emptied while it is read', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines.slice(0, 5).join(''));
  s.start();
  await s.saw(5);
  await fs.truncate(s.file);
  await fs.appendFile(s.file, lines.slice(5).join(''));
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
});

test('reading call records - another content at once, longer than what was read', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines.slice(0, 2).join(''));
  s.start();
  await s.saw(2);
  writeFileSync(s.file, lines.slice(2).join(''));
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
});

test('reading call records - emptied and filled beyond the old place between two looks', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines.slice(0, 2).join(''));
  s.start();
  await s.saw(2);
  await s.stop();
  await fs.writeFile(s.file, lines.slice(2).join(''));
  s.start();
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
});

test('reading call records - another file in its place is read from its start, under whatever inode', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines.slice(0, 9).join(''));
  s.start();
  await s.saw(9);
  await fs.rm(s.file);
  await fs.writeFile(s.file, lines.slice(9).join(''));
  await s.saw(keys.length);
  await s.stop();
  assert.deepEqual(s.keys, keys);
  // A backup put back: what was known comes again, under the same keys.
  await fs.rm(s.file);
  await fs.writeFile(s.file, recording);
  s.start();
  await s.saw(2 * keys.length);
  assert.deepEqual(s.keys, [...keys, ...keys]);
});

test('reading call records - malformed lines are handed over raw and reading goes on', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, `${lines[0]}no record\n"ANSWER","cut${lines[1]}\n\n${lines[2]}`);
  s.start();
  await s.saw(3);
  assert.deepEqual(s.keys, keys.slice(0, 3));
  assert.equal(s.malformed.length, 2);
  assert.equal(s.malformed[0], 'no record');
  assert.match(s.malformed[1]!, /^"ANSWER","cut"APP_START"/);
});

test('reading call records - what cannot be read now is read when it can', async () => {
  await using s = await scene();
  await fs.rmdir(s.folder);
  await fs.writeFile(s.folder, 'no folder');
  const { log, warnings } = listen();
  s.start({ log });
  await until('a warning', () => warnings.length > 0);
  await fs.rm(s.folder);
  await fs.mkdir(s.folder);
  await fs.writeFile(s.file, recording);
  await s.saw(keys.length);
  assert.deepEqual(s.keys, keys);
});

test('reading call records - many records in bounded batches', async () => {
  await using s = await scene();
  const many = Array.from({ length: 8000 }, (_, i) => lines[0]!.replaceAll('.68"', `.${i}"`));
  await fs.writeFile(s.file, many.join(''));
  s.start();
  await s.saw(8000);
  assert.ok(s.batches.length >= 2, 'more than one batch for more than a chunk');
  assert.equal(new Set(s.keys).size, 8000);
});

test('reading call records - ends when told to, also while it waits', async () => {
  await using s = await scene();
  await fs.writeFile(s.file, lines[0]!);
  s.start({ poll_ms: 60 * PATIENCE_MS });
  await s.saw(1);
  await s.stop();
});

test('reading call records - a file that has grown long is put aside once it is read, and only three such are kept', async () => {
  await using s = await scene();
  s.start({ rotate_bytes: 1 });
  for (const [i, line] of lines.entries()) {
    await fs.appendFile(s.file, line);
    await s.saw(i + 1);
  }
  await until('three files put aside and nothing else', async () => {
    const names = await fs.readdir(s.folder);
    return names.length === 3 && !names.includes('offhook.csv');
  });
  assert.deepEqual(s.keys, keys);
});

test('reading call records - what was read can be forgotten, copies included; what comes meanwhile is read and nothing twice', async () => {
  await using s = await scene();
  await fs.writeFile(`${s.file}.1`, lines.slice(0, 5).join(''));
  await fs.writeFile(s.file, lines.slice(5, 10).join(''));
  s.start();
  await s.saw(10);
  const forgotten = s.forget(AbortSignal.timeout(PATIENCE_MS));
  for (const line of lines.slice(10, 20)) {
    await fs.appendFile(s.file, line);
    await setImmediate();
  }
  await forgotten;
  await s.saw(20);
  assert.deepEqual(s.keys, keys.slice(0, 20));
  const left = await fs.readdir(s.folder);
  const texts = await Promise.all(left.map((name) => fs.readFile(path.join(s.folder, name), 'utf8')));
  assert.ok(!texts.join('').includes(lines[0]!), 'the first record is nowhere');
  await fs.appendFile(s.file, lines.slice(20, 22).join(''));
  await s.saw(22);
  await s.stop();
  s.start();
  await fs.appendFile(s.file, lines[22]!);
  await until('the newest record', () => s.keys.includes(keys[22]!));
});

test('reading call records - forgetting that nobody answers ends with its signal', async () => {
  await using s = await scene();
  s.start();
  await s.stop();
  await assert.rejects(s.forget(AbortSignal.timeout(50)), { name: 'TimeoutError' });
});
