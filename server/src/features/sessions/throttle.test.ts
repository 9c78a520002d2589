import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/support/sessions-fixture.ts';
import { ServiceError } from '../../core/errors.ts';
import { createThrottle } from './throttle.ts';
import type { Throttle } from './throttle.ts';

const refused = (seconds?: number) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.code, 'too_many_attempts');
  if (seconds !== undefined) assert.equal(error.extras.retry_after_seconds, seconds);
  return true;
};
async function fail(throttle: Throttle, account: string, ip: string, times = 1): Promise<void> {
  for (let i = 0; i < times; i += 1) (await throttle.enter(account, ip)).failed();
}

test('throttle - the sixth failure of one account from one network is refused, others are not', async () => {
  const clock = manualClock();
  const throttle = createThrottle(clock);
  await fail(throttle, 'ada', '192.0.2.7', 5);
  await assert.rejects(throttle.enter('ada', '192.0.2.7'), refused(900));
  await assert.rejects(throttle.enter('ada', '192.0.2.200'), refused(900), 'the same /24');
  (await throttle.enter('ada', '192.0.3.7')).succeeded();
  (await throttle.enter('bea', '192.0.2.7')).succeeded();
  await assert.rejects(
    throttle.enter('ada', '192.0.2.7'),
    refused(),
    'others’ success clears only their own',
  );
});
test('throttle - the window slides: the wait is until the oldest of the counted failures is 15 minutes old', async () => {
  const clock = manualClock();
  const throttle = createThrottle(clock);
  for (let i = 0; i < 5; i += 1) {
    await fail(throttle, 'ada', '192.0.2.7');
    clock.advance(60_000);
  }
  await assert.rejects(throttle.enter('ada', '192.0.2.7'), refused(600));
  clock.advance(599_000);
  await assert.rejects(throttle.enter('ada', '192.0.2.7'), refused(1));
  clock.advance(1_000);
  await fail(throttle, 'ada', '192.0.2.7');
  await assert.rejects(throttle.enter('ada', '192.0.2.7'), refused(60));
});
test('throttle - refused attempts do not count', async () => {
  const clock = manualClock();
  const throttle = createThrottle(clock);
  await fail(throttle, 'ada', '192.0.2.7', 5);
  for (let i = 0; i < 100; i += 1) await assert.rejects(throttle.enter('ada', '192.0.2.7'), refused());
  clock.advance(15 * 60_000);
  await fail(throttle, 'ada', '192.0.2.7', 5);
});
test('throttle - a success clears its own pair', async () => {
  const throttle = createThrottle(manualClock());
  await fail(throttle, 'ada', '192.0.2.7', 4);
  (await throttle.enter('ada', '192.0.2.7')).succeeded();
  await fail(throttle, 'ada', '192.0.2.7', 5);
  await assert.rejects(throttle.enter('ada', '192.0.2.7'), refused());
});
test('throttle - 20 failures of a network, 50 of an account', async () => {
  const throttle = createThrottle(manualClock());
  for (let i = 0; i < 5; i += 1) await fail(throttle, `person${i}`, '192.0.2.7', 4);
  await assert.rejects(throttle.enter('somebody', '192.0.2.9'), refused());
  (await throttle.enter('somebody', '198.51.100.1')).abandoned();
  for (let i = 0; i < 10; i += 1) await fail(throttle, 'ada', `203.0.${i}.1`, 5);
  await assert.rejects(throttle.enter('ada', '203.0.113.1'), refused(18), 'from a network of its own');
});
test('throttle - beyond its 50 an account takes one guess in 18 s, one at a time, however many networks guess', async () => {
  const clock = manualClock();
  const throttle = createThrottle(clock);
  for (let i = 0; i < 10; i += 1) await fail(throttle, 'ada', `203.0.${i}.1`, 5);
  let passed = 0;
  for (let second = 0; second < 180; second += 1) {
    clock.advance(1_000);
    const tries = Array.from({ length: 3 }, async (_, i) => {
      const attempt = await throttle.enter('ada', `10.${second}.${i}.1`);
      passed += 1;
      attempt.failed();
    });
    await Promise.allSettled(tries);
  }
  assert.equal(passed, 10);
  (await throttle.enter('ada', '203.0.0.1', { device: 'one' })).succeeded();
  (await throttle.enter('ada', '198.51.100.1', { network: true })).succeeded();
});
test('throttle - beyond ten wrong digits an account takes one guess in 15 minutes from unknown networks, for a day', async () => {
  const clock = manualClock();
  const throttle = createThrottle(clock);
  let passed = 0;
  for (let minute = 0; minute < 1_440; minute += 1) {
    clock.advance(60_000);
    const ip = `10.${minute >> 8}.${minute & 255}.1`;
    const attempt = await throttle.enter('ada', ip).catch(refused());
    if (typeof attempt === 'boolean') continue;
    passed += 1;
    attempt.failed('digits');
  }
  assert.equal(passed, 10 + 95);
  await assert.rejects(throttle.enter('ada', '198.51.100.1'), refused());
  (await throttle.enter('bea', '198.51.100.1')).succeeded();
  (await throttle.enter('ada', '198.51.100.1', { network: true })).succeeded();
  (await throttle.enter('ada', '198.51.100.2', { device: 'one' })).failed('digits');
  clock.advance(15 * 60_000);
  (await throttle.enter('ada', '198.51.100.1')).succeeded();
});
test('throttle - a known network and a known device have ten wrong digits a day of their own, then one in 15 minutes', async () => {
  for (const known of [{ network: true }, { device: 'one' }]) {
    const clock = manualClock();
    const throttle = createThrottle(clock);
    let passed = 0;
    for (let minute = 0; minute < 1_440; minute += 1) {
      clock.advance(60_000);
      const attempt = await throttle.enter('ada', '198.51.100.1', known).catch(refused());
      if (typeof attempt === 'boolean') continue;
      passed += 1;
      attempt.failed('digits');
    }
    assert.ok(passed > 90 && passed <= 10 + 95, `${passed}`);
    await assert.rejects(throttle.enter('ada', '198.51.100.1', known), refused());
    (await throttle.enter('ada', '203.0.113.1', { network: true })).succeeded();
    (await throttle.enter('ada', '198.51.100.1', { device: 'two' })).succeeded();
  }
});
test('throttle - an IPv6 provider of a /48 cannot be guessed from by its 256 networks', async () => {
  const throttle = createThrottle(manualClock());
  for (let i = 0; i < 60; i += 1) await fail(throttle, `p${i}`, `2001:db8:1:${(i * 256).toString(16)}::1`);
  await assert.rejects(throttle.enter('somebody', '2001:db8:1:ff00::1'), refused());
  (await throttle.enter('somebody', '2001:db8:2::1')).abandoned();
});
test('throttle - guesses sent at once are counted like guesses sent one after another', async () => {
  const throttle = createThrottle(manualClock());
  let guesses = 0;
  let refusals = 0;
  await Promise.all(
    Array.from({ length: 120 }, async () => {
      try {
        const attempt = await throttle.enter('ada', '192.0.2.7');
        guesses += 1;
        await new Promise((resolve) => setImmediate(resolve));
        attempt.failed();
      } catch (error) {
        refused()(error);
        refusals += 1;
      }
    }),
  );
  assert.deepEqual({ guesses, refusals }, { guesses: 5, refusals: 115 });
});
test('throttle - right passwords sent at once all get through, and the line is bounded', async () => {
  const throttle = createThrottle(manualClock());
  let open = 0;
  let most = 0;
  const results = await Promise.allSettled(
    Array.from({ length: 600 }, async () => {
      const attempt = await throttle.enter('ada', '192.0.2.7');
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      attempt.succeeded();
    }),
  );
  assert.equal(most, 5);
  assert.equal(results.filter((r) => r.status === 'fulfilled').length, 133);
  for (const result of results) {
    if (result.status === 'rejected') assert.equal((result.reason as ServiceError).code, 'overloaded');
  }
});
test('throttle - its memory is bounded', async () => {
  const throttle = createThrottle(manualClock(), 100);
  for (let i = 0; i < 500; i += 1) (await throttle.enter(`name:${i}`, `10.${i >> 8}.${i & 255}.1`)).failed();
  assert.equal(throttle.size, 300);
  await fail(throttle, 'name:499', '10.1.243.1', 4);
  await assert.rejects(throttle.enter('name:499', '10.1.243.1'), refused(), 'the newest are not forgotten');
  const fresh = createThrottle(manualClock());
  for (let i = 0; i < 100; i += 1) (await fresh.enter(`a${i}`, `10.0.${i}.1`)).succeeded();
  assert.equal(fresh.size, 0, 'successes leave nothing behind');
});
