import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { systemClock } from './clock.ts';

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
