import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { Budget } from './budget.ts';
import type { Rank } from './budget.ts';

const LIMITS = { requests: 2, per_seconds: 10, at_once: 2, day: null };
function rig(limits: Partial<ConstructorParameters<typeof Budget>[0]> = {}) {
  const clock = createVirtualClock();
  const budget = new Budget({ ...LIMITS, ...limits }, clock);
  const begun: string[] = [];
  const { signal } = new AbortController();
  const ask = (rank: Rank, name: string, until: AbortSignal = signal, work = Promise.resolve()) =>
    budget.run(rank, until, () => {
      begun.push(name);
      return work;
    });
  return { clock, budget, begun, ask };
}

test('budget - what waits begins by rank, no more within a period than allowed, and not before the target asked', async () => {
  const { clock, budget, begun, ask } = rig();
  const all = [
    ask('entry', 'e1'),
    ask('sync', 's1'),
    ask('sync', 's2'),
    ask('entry', 'e2'),
    ask('lookup', 'l1'),
  ];
  await clock.advance(9_999);
  assert.deepEqual(begun, ['e1', 's1']);
  await clock.advance(1);
  assert.deepEqual(begun, ['e1', 's1', 'l1', 'e2']);
  budget.hold(60);
  await clock.advance(59_999);
  assert.equal(begun.length, 4);
  await clock.advance(1);
  await Promise.all(all);
  assert.equal(begun[4], 's2');
});

test('budget - its end rejects what waits and what comes later, and lets go on what has begun', async () => {
  const slow = Promise.withResolvers<void>();
  const { budget, begun, ask } = rig({ at_once: 1 });
  const first = ask('entry', 'slow', undefined, slow.promise);
  const waits = assert.rejects(ask('lookup', 'waits'), /service ends/);
  budget.close();
  await waits;
  await assert.rejects(ask('lookup', 'later'), /service ends/);
  slow.resolve();
  await first;
  assert.deepEqual(begun, ['slow']);
});

test('budget - at once, of a day and a request that is given up', async () => {
  const slow = Promise.withResolvers<void>();
  const { clock, begun, ask } = rig({ requests: 100, day: 3, at_once: 1 });
  const first = ask('entry', 'slow', undefined, slow.promise);
  const gone = new AbortController();
  const late = assert.rejects(ask('lookup', 'gone', gone.signal), /too late/);
  const next = ask('entry', 'next');
  await clock.advance(1_000);
  assert.deepEqual(begun, ['slow']);
  gone.abort(new Error('too late'));
  await late;
  slow.resolve();
  await Promise.all([first, next]);
  const last = [ask('entry', 'third'), ask('entry', 'tomorrow')];
  await clock.advance(14 * 3_600_000);
  assert.deepEqual(begun, ['slow', 'next', 'third']);
  await clock.advance(3_600_000);
  await Promise.all(last);
  assert.deepEqual(begun.at(-1), 'tomorrow', 'the day in UTC is over');
});
