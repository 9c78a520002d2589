import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { mock, test } from 'node:test';
import { ServiceError } from '../../core/errors.ts';

const argon2 = mock.method(crypto, 'argon2');
syncBuiltinESMExports();
const { createKdfQueue, hashPassword, isOutdated, verifyPassword } = await import('./password.ts');

test('password - a hash is a PHC string with its own salt, and only its password fits', async () => {
  const [first, second] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
  assert.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(first, second);
  assert.equal(await verifyPassword(first, 'correct horse'), true);
  assert.equal(await verifyPassword(first, 'correct horse '), false);
  assert.equal(await verifyPassword(first, ''), false);
});
test('password - a hash another program made is understood', async () => {
  // The reference vector of `argon2 somesalt -id -t 2 -m 16 -p 1` (phc-winner-argon2 test suite).
  const phc = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  assert.equal(await verifyPassword(phc, 'password'), true);
  assert.equal(await verifyPassword(phc, 'Password'), false);
});
test('password - no hash, or a broken one, fits nothing', async () => {
  for (const phc of [null, '', 'plain', '$argon2id$v=19$m=1,t=1,p=1$x$y', '$2b$10$abcdefghijklmnopqrstuv']) {
    assert.equal(await verifyPassword(phc, 'x'), false, String(phc));
    assert.equal(isOutdated(phc ?? ''), true);
  }
  assert.equal(isOutdated(await hashPassword('correct horse')), false);
});
test('password - the same letters typed on another keyboard are the same password', async () => {
  const phc = await hashPassword('p\u00e4ssw\u00f6rd');
  assert.equal(await verifyPassword(phc, 'pa\u0308sswo\u0308rd'), true);
});
test('password - 8 to 1024 bytes of UTF-8', async () => {
  const invalid = (e: unknown): boolean => e instanceof ServiceError && e.code === 'invalid_request';
  await assert.rejects(hashPassword('seven..'), invalid);
  await assert.rejects(hashPassword('x'.repeat(1025)), invalid);
  await assert.rejects(hashPassword('😀'.repeat(257)), invalid);
  const emoji = '😀'.repeat(64);
  assert.equal(await verifyPassword(await hashPassword(emoji), emoji), true);
});
test('password - an unknown person costs as much work as a wrong password', async () => {
  const phc = await hashPassword('correct horse');
  /** All that the time of a derivation depends on. */
  const work = async (hash: string | null) => {
    argon2.mock.resetCalls();
    await verifyPassword(hash, 'wrong');
    return argon2.mock.calls.map(({ arguments: [algorithm, { message, nonce, ...cost }] }) => ({
      algorithm,
      ...cost,
      lengths: [Buffer.byteLength(message as Buffer), Buffer.byteLength(nonce as Buffer)],
    }));
  };
  const known = await work(phc);
  assert.equal(known.length, 1);
  assert.deepEqual(await work(null), known);
});
test('password line - never more at once than its places, first come first served', async () => {
  const line = createKdfQueue(2, 10);
  const gates = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
  const started: number[] = [];
  const done = gates.map((gate, i) =>
    line.run(() => {
      started.push(i);
      return gate.promise;
    }),
  );
  assert.deepEqual(started, [0, 1]);
  assert.equal(line.waiting, 4);
  gates[1]!.resolve();
  await done[1];
  assert.deepEqual(started, [0, 1, 2]);
  gates[0]!.reject(new Error('one fails'));
  await assert.rejects(done[0]!);
  assert.deepEqual(started, [0, 1, 2, 3]);
  for (const gate of gates) gate.resolve();
  await Promise.allSettled(done);
  assert.deepEqual(started, [0, 1, 2, 3, 4, 5]);
});
test('password line - beyond its length it refuses at once, and takes again when it emptied', async () => {
  const line = createKdfQueue(1, 2);
  const gate = Promise.withResolvers<void>();
  const taken = [1, 2, 3].map(() => line.run(() => gate.promise));
  await assert.rejects(
    line.run(() => Promise.resolve()),
    (e) => e instanceof ServiceError && e.code === 'overloaded' && Number(e.extras.retry_after_seconds) > 0,
  );
  gate.resolve();
  await Promise.all(taken);
  assert.equal(await line.run(() => Promise.resolve(5)), 5);
});
