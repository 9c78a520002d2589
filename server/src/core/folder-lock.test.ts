import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { zombie } from '../../test/support/zombie.ts';
import { lockFolder, processStart } from './folder-lock.ts';

function folder(t: TestContext): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-lock-'));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}
const owned = (at: string, owner: string): void =>
  fs.writeFileSync(path.join(at, 'service.lock'), `${owner}\n`);

test('folder lock - one that lives has it until it gives it back', (t) => {
  const at = folder(t);
  const lock = lockFolder(at);
  assert.throws(() => lockFolder(at), new RegExp(`another Offhook \\(process ${process.pid}\\)`));
  lock.release();
  lockFolder(at).release();
});

test('folder lock - a killed owner that its parent has not asked for is dead', async (t) => {
  const at = folder(t);
  using dead = await zombie();
  assert.equal(processStart(dead.pid), null);
  owned(at, `${dead.pid} ${dead.start}`);
  lockFolder(at).release();
});

test('folder lock - another process with the number of the owner is not the owner', (t) => {
  const at = folder(t);
  owned(at, `${process.pid} 1`);
  lockFolder(at).release();
});

test('folder lock - a lock or takeover that its process never wrote is removed', (t) => {
  const at = folder(t);
  owned(at, '');
  fs.writeFileSync(path.join(at, 'service.lock.takeover'), '');
  lockFolder(at).release();
  assert.deepEqual(fs.readdirSync(at), []);
});

test('folder lock - of two starts over a dead owner the slower one leaves the new lock alone', (t) => {
  const at = folder(t);
  owned(at, `${process.pid} 1`);
  const init = `1 ${processStart(1)}`;
  const write = fs.writeFileSync;
  t.mock.method(fs, 'writeFileSync', (...args: Parameters<typeof write>) => {
    // The other start takes the folder after this one has read the dead owner.
    if (String(args[0]).endsWith('.takeover')) write(path.join(at, 'service.lock'), `${init}\n`);
    write(...args);
  });
  assert.throws(() => lockFolder(at), /another Offhook \(process 1\)/);
  assert.equal(fs.readFileSync(path.join(at, 'service.lock'), 'utf8').trim(), init);
});
