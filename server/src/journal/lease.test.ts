import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silent } from '../core/log.ts';
import { until } from '../../test/support/until.ts';
import { Lease } from './lease.ts';
import type { Moment } from './lease.ts';

/** A lease of ten seconds with clocks and answers of the test. */
function leaseAt(start: Moment) {
  const at = { now: start };
  const answers: (() => Promise<boolean>)[] = [];
  const lost: string[] = [];
  const lease = new Lease({
    siteLog: { renew: () => answers.shift()!() },
    term: 7,
    taken: start,
    log: silent,
    lost: (why) => void lost.push(why),
    now: () => at.now,
  });
  return { at, answers, lost, lease, [Symbol.dispose]: () => lease.close() };
}
const code = (error: unknown): boolean => (error as { code?: string }).code === 'node_not_active';

test('lease - is held until a second before its end, counted from before the renewal was asked for', async () => {
  using rig = leaseAt({ steady: 0, wall: 1_000_000 });
  const { at, answers, lease } = rig;
  at.now = { steady: 3_000, wall: 1_003_000 };
  answers.push(async () => {
    at.now = { steady: 5_000, wall: 1_005_000 };
    return true;
  });
  await lease.renew();
  at.now = { steady: 11_999, wall: 1_011_999 };
  lease.fence();
  at.now = { steady: 12_000, wall: 1_012_000 };
  assert.throws(() => lease.fence(), code);
  assert.equal(lease.age(), 9);
});
test('lease - the clock that went further counts: a suspended machine, a clock that was set', () => {
  using rig = leaseAt({ steady: 0, wall: 1_000_000 });
  rig.at.now = { steady: 100, wall: 1_060_000 };
  assert.throws(() => rig.lease.fence(), code);
  rig.at.now = { steady: 9_000, wall: 900_000 };
  assert.throws(() => rig.lease.fence(), code);
  rig.at.now = { steady: 8_999, wall: 900_000 };
  rig.lease.fence();
});
test('lease - a failed renewal changes nothing; one after the end holds it again; a lost one never', async () => {
  using rig = leaseAt({ steady: 0, wall: 0 });
  const { at, answers, lost, lease } = rig;
  answers.push(
    () => Promise.reject(new Error('away')),
    () => Promise.resolve(true),
    () => Promise.resolve(false),
  );
  at.now = { steady: 20_000, wall: 20_000 };
  await lease.renew();
  assert.equal(lease.held(), false);
  await lease.renew();
  assert.equal(lease.held(), true);
  assert.deepEqual(lost, []);
  await lease.renew();
  assert.equal(lease.held(), false);
  assert.equal(lost.length, 1);
});
test('lease - reports each end of its time, and at once that another process took the log', async () => {
  using rig = leaseAt({ steady: 0, wall: 0 });
  const { at, answers, lease } = rig;
  let ends = 0;
  lease.onEnd(() => (ends += 1));
  at.now = { steady: 9_000, wall: 9_000 };
  await until('the first end', () => ends === 1);
  answers.push(
    () => Promise.resolve(true),
    () => Promise.resolve(false),
  );
  await lease.renew();
  assert.equal(lease.held(), true);
  at.now = { steady: 18_000, wall: 18_000 };
  await until('the second end', () => ends === 2);
  at.now = { steady: 18_001, wall: 18_001 };
  await lease.renew();
  assert.equal(ends, 2, 'it had ended');
});
test('lease - of a process that was frozen ends when it finds the other term', async () => {
  using rig = leaseAt({ steady: 0, wall: 0 });
  let ends = 0;
  rig.lease.onEnd(() => {
    assert.deepEqual(rig.lost, [], 'streams are ended before the process ends');
    ends += 1;
  });
  rig.answers.push(() => Promise.resolve(false));
  await rig.lease.renew();
  assert.equal(ends, 1);
  assert.equal(rig.lost.length, 1);
});
