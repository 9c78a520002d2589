import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { rfc3339, systemClock } from './clock.ts';

test('clock - a wait that is broken off rejects with the reason it was given, before or meanwhile', async () => {
  const reason = new Error('enough');
  await assert.rejects(systemClock.sleep(60_000, AbortSignal.abort(reason)), reason);
  const stop = new AbortController();
  const waiting = systemClock.sleep(60_000, stop.signal);
  stop.abort(reason);
  await assert.rejects(waiting, reason);
});

test('clock - a wait that comes to its end leaves nothing on the signal', async () => {
  const stop = new AbortController();
  await systemClock.sleep(1, stop.signal);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
});

test('clock - a wait never ends before its time, nor a very long one at once', async () => {
  const stop = new AbortController();
  const long = systemClock.sleep(2 ** 32, stop.signal).then(
    () => 'over',
    () => 'waits',
  );
  for (let round = 0; round < 40; round++) {
    const early = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const ms = n / 2;
        const over = systemClock.now() + ms;
        await systemClock.sleep(ms);
        return systemClock.now() < over;
      }),
    );
    assert.ok(!early.includes(true));
    for (const until = performance.now() + Math.random(); performance.now() < until;);
  }
  stop.abort();
  assert.equal(await long, 'waits');
});

test('clock - a time is written as Date writes it, at every edge of a day, of the calendar and outside of both', () => {
  const day = 86_400_000;
  const edges = [0, 1_795_222_133_007, Date.UTC(2028, 1, 29), Date.UTC(9999, 11, 31), Date.UTC(10_000, 0, 1)];
  for (const edge of edges) {
    for (const ms of [-day, -1, -0.5, 0, 0.9, 999, 59_999, 3_599_999, day - 1, day]) {
      assert.equal(rfc3339(edge + ms), new Date(edge + ms).toISOString());
    }
  }
  for (let ms = 7; ms < 3e14; ms = ms * 1.37 + 1) assert.equal(rfc3339(ms), new Date(ms).toISOString());
  assert.throws(() => rfc3339(Number.NaN), RangeError);
});
