import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from './errors.ts';
import { Queue, writeQueue } from './queue.ts';

const codeOf = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;
const gate = () => Promise.withResolvers<void>();

test('queue - a task that waited too long is rejected and never runs', async () => {
  const queue = writeQueue(10);
  await queue.take();
  let ran = false;
  const late = queue.run(async () => {
    ran = true;
  });
  await assert.rejects(late, codeOf('store_unavailable'));
  queue.give();
  await queue.idle();
  assert.equal(ran, false);
  assert.equal(queue.size, 0);
});
test('queue - it is idle when all tasks before have ended, also the one that failed', async () => {
  const queue = new Queue();
  const held = gate();
  const failed = queue.run(() => held.promise);
  const idle = queue.idle();
  held.reject(new Error('it failed'));
  await assert.rejects(failed, /it failed/);
  await idle;
  assert.equal(queue.size, 0);
});
