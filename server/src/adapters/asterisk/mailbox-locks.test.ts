import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { MailboxLocks } from './mailbox-locks.ts';

const signal = new AbortController().signal;

test('mailbox locks - a listing leaves a lock that is held, and other work waits for its end', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-locks-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  let waiting = async (): Promise<void> => {};
  const locks = new MailboxLocks({ sleep: () => waiting() });
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = locks.during(folder, signal, async () => {
    begun.resolve();
    await end.promise;
    return 'first';
  });
  await begun.promise;
  await locks.endLeft(folder);
  assert.deepEqual((await readdir(folder)).toSorted(), ['.lock', '.lock-offhook']);
  assert.equal(await locks.during(folder, signal, () => Promise.resolve('too early')), null);
  await locks.endLeft(folder);
  waiting = async () => {
    end.resolve();
    await first;
  };
  assert.equal(await locks.during(folder, signal, () => Promise.resolve('second')), 'second');
  assert.equal(await first, 'first');
  assert.deepEqual(await readdir(folder), []);
});
