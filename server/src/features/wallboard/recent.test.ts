import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/support/sessions-fixture.ts';
import { zoneCalendar } from './days.ts';
import { RecentSums } from './recent.ts';
import { SLOT_MS, slotOf } from './sums.ts';

const calendar = zoneCalendar('UTC');
const NOON = Date.UTC(2026, 2, 2, 12);
const counted = (at: number) => ({
  of: 'agent' as const,
  name: '1001',
  slot: slotOf(at),
  add: { handled: 1 },
});
const slotsOf = (recent: RecentSums): readonly number[] => [
  ...(recent.table.slots('agent', '1001')?.keys() ?? []),
];

test('wallboard recent - a working day leaves three slots of an agent in memory, and all of the day in the totals', () => {
  const clock = manualClock(NOON);
  const recent = new RecentSums(clock, calendar);
  for (let slot = 0; slot < 40; slot += 1) {
    recent.count(counted(clock.now()));
    clock.advance(SLOT_MS);
  }
  clock.advance(-SLOT_MS);
  const now = slotOf(clock.now());
  assert.deepEqual(slotsOf(recent), [now - 2, now - 1, now]);
  assert.equal(recent.from('agent'), now - 2);
  assert.equal(recent.from('queue'), slotOf(NOON - 12 * 3_600_000));
  assert.equal(recent.sumsOfToday('agent', '1001', []).handled, 40);
  recent.count(counted(NOON));
  assert.deepEqual(slotsOf(recent), [now - 2, now - 1, now], 'a late count of an older slot');
  assert.equal(recent.sumsOfToday('agent', '1001', []).handled, 41);
  assert.deepEqual([...recent.namesOfToday('agent')], ['1001']);
});

test('wallboard recent - a new day begins with what an engine with a faster clock has already counted in it', () => {
  const midnight = Date.UTC(2026, 2, 3);
  const clock = manualClock(midnight - 60_000);
  const recent = new RecentSums(clock, calendar);
  recent.count(counted(clock.now()));
  recent.count(counted(midnight + 1_000));
  assert.equal(recent.sumsOfToday('agent', '1001', []).handled, 1);
  clock.advance(120_000);
  assert.equal(recent.today.date, '2026-03-03');
  assert.equal(recent.sumsOfToday('agent', '1001', []).handled, 1);
});

test('wallboard recent - after midnight a start loads slots of the day before, too, without counting them today', () => {
  const midnight = Date.UTC(2026, 2, 3);
  const recent = new RecentSums(manualClock(midnight + 60_000), calendar);
  assert.equal(recent.loaded, slotOf(midnight) - 2);
  recent.load([midnight - 60_000, midnight + 1_000].map((at) => ({ ...counted(at), sums: { handled: 2 } })));
  assert.deepEqual(slotsOf(recent), [slotOf(midnight) - 1, slotOf(midnight)]);
  assert.equal(recent.sumsOfToday('agent', '1001', []).handled, 2);
});
