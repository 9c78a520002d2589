import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/errors.ts';
import { say } from '../core/said.ts';
import { AtOnce, Lanes } from './lanes.ts';

const codeOf = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

test('lanes - a full lane refuses all but urgent tasks and holds no other lane up', async () => {
  const lanes = new Lanes(1, (size, name) => say`${size} changes of ${name} are waiting`);
  const held = Promise.withResolvers<void>();
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

test('lanes - one name has 8 under way at most, and each that ends makes room for one', () => {
  const atOnce = new AtOnce((count, name) => say`${count} operations of ${name} are under way`);
  const ends = Array.from({ length: 8 }, () => atOnce.enter('1001'));
  assert.throws(() => atOnce.enter('1001'), codeOf('too_many_requests'));
  atOnce.enter('1002');
  ends[0]!();
  ends[0]!();
  atOnce.enter('1001');
  assert.throws(() => atOnce.enter('1001'), codeOf('too_many_requests'));
});
