import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import { EventBuffer } from './event-buffer.ts';

const fact = (n: number): EngineEvent => ({
  at: n,
  type: 'device.state',
  endpoint: String(n),
  state: 'BUSY',
});
const link: EngineEvent = {
  at: 0,
  type: 'engine.link',
  node: nodeId('n'),
  up: false,
  reason: 'x',
  boot_id: '',
};
const never = new AbortController().signal;

test('event buffer - what comes in one turn of the loop is one batch, in order', async () => {
  const buffer = new EventBuffer(10, () => assert.fail('overflowed'));
  const batch = buffer.take(never);
  buffer.push(fact(1));
  buffer.push(fact(2));
  queueMicrotask(() => buffer.push(fact(3)));
  assert.deepEqual(await batch, [fact(1), fact(2), fact(3)]);
  buffer.push(fact(4));
  assert.deepEqual(await buffer.take(never), [fact(4)]);
  assert.equal(buffer.size, 0);
});

test('event buffer - a cancelled wait ends with nothing, and loses nothing', async () => {
  const buffer = new EventBuffer(10, () => {});
  const stop = new AbortController();
  const batch = buffer.take(stop.signal);
  stop.abort();
  assert.deepEqual(await batch, []);
  buffer.push(fact(1));
  assert.deepEqual(await buffer.take(stop.signal), []);
  assert.deepEqual(await buffer.take(never), [fact(1)]);
});

test('event buffer - beyond its bound it keeps only the changes of the link, and says so', async () => {
  let overflows = 0;
  const buffer = new EventBuffer(3, () => overflows++);
  for (const event of [fact(1), link, fact(2), fact(3)]) buffer.push(event);
  assert.equal(overflows, 1);
  assert.equal(buffer.dropped, 3);
  assert.deepEqual(await buffer.take(never), [link]);
});
