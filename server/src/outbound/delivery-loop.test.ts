import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { until } from '../../test/support/until.ts';
import { DeliveryLoop } from './delivery-loop.ts';

test('delivery loop - a wake during a step ends the next wait, a step that throws is repeated after a second', async () => {
  const clock = createVirtualClock();
  const steps: string[] = [];
  const troubles: unknown[] = [];
  let read = Promise.withResolvers<void>();
  const loop = new DeliveryLoop({
    async step() {
      steps.push('read');
      if (steps.length === 3) throw new Error('the store refuses');
      await read.promise;
      await loop.rest();
    },
    trouble: (error) => troubles.push(error),
    clock,
  });
  await until('the first step', () => steps.length === 1);
  loop.wake();
  read.resolve();
  await until('the second step, whose wait nothing ends', () => steps.length === 2);
  await clock.advance(60_000);
  assert.equal(steps.length, 2);
  loop.wake();
  await until('the trouble', () => troubles.length === 1);
  await clock.advance(999);
  assert.equal(steps.length, 3);
  await clock.advance(1);
  assert.equal(steps.length, 4);
  read = Promise.withResolvers<void>();
  loop.wake();
  await until('a step in progress', () => steps.length === 5);
  const grace = new AbortController();
  loop.broken.addEventListener('abort', () => read.resolve(), { once: true });
  const closing = loop.close(grace.signal);
  grace.abort();
  await closing;
  assert.equal(steps.length, 5);
});
