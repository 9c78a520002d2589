import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from './errors.ts';
import { Lanes, Queue, writeQueue } from './queue.ts';
import { say } from './said.ts';

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
test('lanes - a full lane refuses all but urgent tasks and holds no other lane up', async () => {
  const lanes = new Lanes(1, (size, name) => say`${size} changes of ${name} are waiting`);
  const held = gate();
  const order: string[] = [];
  const add = (name: string, what: string, urgent = false) =>
    lanes.run(name, async () => void order.push(what), { urgent });
  const first = lanes.run('1001', () => held.promise);
  const second = add('1001', 'second');
  await assert.rejects(add('1001', 'refused'), codeOf('too_many_requests'));
  const urgent = add('1001', 'urgent', true);
  await add('1002', 'other');
  assert.deepEqual(order, ['other']);
  held.resolve();
  await Promise.all([first, second, urgent, lanes.idle()]);
  assert.deepEqual(order, ['other', 'second', 'urgent']);
  await lanes.idle();
});
