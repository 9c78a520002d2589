import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { PATIENCE_MS } from '../../../../test/support/until.ts';
import { withLock } from './lock.ts';

function lockFile(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'deep', 'a.lock');
}

test('lock - only one holds it, those who wait are told once, and it is gone afterwards', async (t) => {
  const file = lockFile(t);
  let inside = 0;
  let most = 0;
  let reported = 0;
  const work = (): Promise<void> =>
    withLock(
      file,
      async () => {
        most = Math.max(most, ++inside);
        await wait(30);
        inside -= 1;
      },
      { onWait: () => (reported += 1) },
    );
  await Promise.all([work(), work(), work()]);
  assert.equal(most, 1);
  assert.equal(reported, 2);
  assert.ok(!fs.existsSync(file));
});

test('lock - it is given back when the work fails', async (t) => {
  const file = lockFile(t);
  await assert.rejects(
    withLock(file, () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await withLock(file, () => Promise.resolve(1)), 1);
});

test('lock - one of a dead process, or of a process with the same pid later, is taken over by exactly one, also after a killed takeover', async (t) => {
  const file = lockFile(t);
  fs.mkdirSync(path.dirname(file));
  const host = os.hostname();
  for (const owner of [
    { pid: 999_999_999, start: '1', host },
    { pid: process.pid, start: '1', host },
  ]) {
    for (const left of [file, `${file}.takeover`]) fs.writeFileSync(left, JSON.stringify(owner));
    const signal = AbortSignal.timeout(PATIENCE_MS);
    let inside = 0;
    let most = 0;
    const work = (): Promise<void> =>
      withLock(
        file,
        async () => {
          most = Math.max(most, ++inside);
          await wait(30);
          inside -= 1;
        },
        { signal },
      );
    await Promise.all([work(), work(), work(), work()]);
    assert.equal(most, 1);
  }
});

test('lock - one of another machine is respected until it has not been touched for a minute', async (t) => {
  const file = lockFile(t);
  fs.mkdirSync(path.dirname(file));
  fs.writeFileSync(file, JSON.stringify({ pid: 1, start: '1', host: 'elsewhere' }));
  const signal = AbortSignal.timeout(500);
  await assert.rejects(withLock(file, () => Promise.resolve(), { signal }));
  const old = new Date(Date.now() - 120_000);
  fs.utimesSync(file, old, old);
  assert.equal(await withLock(file, () => Promise.resolve('mine')), 'mine');
});

test('lock - a lock that another process took over meanwhile stays', async (t) => {
  const file = lockFile(t);
  const other = JSON.stringify({ pid: 1, start: '1', host: 'another' });
  await withLock(file, () => Promise.resolve(fs.writeFileSync(file, other)));
  assert.equal(fs.readFileSync(file, 'utf8'), other);
});
