import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './backoff.ts';
import { systemClock } from './clock.ts';

const OPTIONS = { first_ms: 500, most_ms: 30_000 } as const;
const delays = (backoff: Backoff, count: number): number[] =>
  Array.from({ length: count }, () => backoff.next());

test('backoff - delays double up to the longest and begin anew after a success', () => {
  const backoff = new Backoff(OPTIONS);
  assert.deepEqual(delays(backoff, 8), [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  delays(backoff, 2_000);
  assert.equal(backoff.next(), 30_000);
  backoff.reset();
  assert.equal(backoff.failures, 0);
  assert.equal(backoff.next(), 500);
});
test('backoff - chance spreads a delay over its range, and never below the least', () => {
  const quarter = { ...OPTIONS, spread: [0.75, 1.25] } as const;
  assert.equal(new Backoff({ ...quarter, random: () => 0 }).next(), 375);
  assert.equal(new Backoff({ ...quarter, random: () => 0.5 }).next(), 500);
  assert.ok(delays(new Backoff({ ...quarter, random: () => 0.999 }), 9).at(-1)! <= 37_500);
  const full = { ...OPTIONS, spread: [0, 1], least_ms: 50, random: () => 0 } as const;
  assert.equal(new Backoff(full).next(), 50);
});
test('backoff - a wait ends when it is aborted', async () => {
  const stopped = new AbortController();
  const waiting = new Backoff({ first_ms: 60_000, most_ms: 60_000 }).wait(systemClock, stopped.signal);
  stopped.abort();
  await waiting;
});
