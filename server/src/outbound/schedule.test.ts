import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RETRY_SECONDS } from '@offhook/contract/webhooks.ts';
import { readRetryAfter, retryDelay } from './schedule.ts';

test('outbound - a Retry-After lengthens a wait, to a day at most, and never shortens it', () => {
  assert.equal(retryDelay(RETRY_SECONDS, 1, null, 0.5), 5_000);
  assert.equal(retryDelay(RETRY_SECONDS, 1, null, 0), 4_500);
  assert.equal(retryDelay(RETRY_SECONDS, 12, null, 1), 95_040_000);
  assert.equal(retryDelay(RETRY_SECONDS, 13, null, 0.5), null);
  assert.equal(retryDelay(RETRY_SECONDS, 1, 60, 0.5), 60_000);
  assert.equal(retryDelay(RETRY_SECONDS, 5, 1, 0.5), 300_000);
  assert.equal(retryDelay(RETRY_SECONDS, 1, 9_999_999, 0.5), 86_400_000);
  const now = Date.UTC(2026, 10, 21, 9);
  assert.equal(readRetryAfter('Sat, 21 Nov 2026 09:02:00 GMT', now), 120);
  assert.equal(readRetryAfter('Sat, 21 Nov 2026 08:00:00 GMT', now), 0);
  for (const years of ['999999999', 'Sat, 21 Nov 2048 08:00:00 GMT'])
    assert.equal(readRetryAfter(years, now), 86_400, years);
  for (const nonsense of [undefined, '', '-1', '1e3', 'soon', '99999999999']) {
    assert.equal(readRetryAfter(nonsense, now), null, nonsense);
  }
});
