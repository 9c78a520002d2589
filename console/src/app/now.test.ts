import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeOf } from '../history/filters.ts';
import { onSecond, startOfDay } from './now.ts';

test('now - a page that stays open learns within a second that a day has begun, and with it the days of its filters', (t) => {
  const [evening, midnight] = [new Date(2026, 10, 29, 23, 59, 58), new Date(2026, 10, 30)];
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: evening.getTime() });
  const days = [startOfDay()];
  const end = onSecond(() => {
    if (days.at(-1) !== startOfDay()) days.push(startOfDay());
  });
  for (let i = 0; i < 4; i += 1) t.mock.timers.tick(1_000);
  end();
  assert.deepEqual(days, [new Date(2026, 10, 29).getTime(), midnight.getTime()]);
  // The start of a day stands for all of it.
  for (const when of ['today', 'yesterday', '7d', '30d'])
    assert.deepEqual(rangeOf({ when }, days[0]!), rangeOf({ when }, evening.getTime()), when);
});
