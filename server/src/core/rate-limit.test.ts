import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRateLimit } from './rate-limit.ts';

test('rate limit - a burst passes, then as many as the rate, each name by itself', () => {
  let now = 0;
  const limit = createRateLimit({ now: () => now }, { burst: 3, per_second: 2 });
  const taken = (who: string): number => [1, 2, 3, 4].filter(() => limit.allows(who)).length;
  assert.equal(taken('1001'), 3);
  assert.equal(taken('1002'), 3);
  now = 1_000;
  assert.equal(taken('1001'), 2);
  assert.deepEqual(limit.left('1002'), { remaining: 2, reset_seconds: 1 });
  assert.throws(() => limit.take('1001'), /1001/);
});
test('rate limit - at most ten thousand names are kept, and the one that took longest ago is forgotten', () => {
  const limit = createRateLimit({ now: () => 0 }, { burst: 1, per_second: 1 });
  for (let i = 0; i < 10_001; i += 1) assert.ok(limit.allows(`network ${i}`));
  assert.equal(limit.allows('network 1'), false);
  assert.equal(limit.allows('network 0'), true);
});
