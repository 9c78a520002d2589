import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { BoardThreshold } from '@offhook/contract/boards.ts';
import { CALM, HOLD_MS, nextAlarm } from './thresholds.ts';
import type { AlarmState } from './thresholds.ts';

const WAITING: BoardThreshold = { metric: 'waiting', direction: 'above', warn: 3, alert: 6 };
const LEVEL: BoardThreshold = { metric: 'service_level', direction: 'below', warn: 0.8, alert: 0.6 };
/** Alarms of consecutive readings `[seconds, value]`. */
function alarms(threshold: BoardThreshold, readings: readonly (readonly [number, number | null])[]): string {
  let state: AlarmState = CALM;
  return readings
    .map(([seconds, value]) => (state = nextAlarm(state, value, threshold, seconds * 1000)).alarm)
    .join(' ');
}

test('thresholds - a level is entered at the level itself, immediately', () => {
  assert.equal(
    alarms(WAITING, [
      [0, 2],
      [1, 3],
      [2, 5],
      [3, 6],
      [4, 60],
    ]),
    'calm warn warn alert alert',
  );
  assert.equal(
    alarms(LEVEL, [
      [0, 0.81],
      [1, 0.8],
      [2, 0.6],
      [3, 0],
    ]),
    'calm warn alert alert',
  );
});
test('thresholds - a level is left only after the whole time beyond the margin', () => {
  assert.equal(
    alarms(WAITING, [
      [0, 3],
      [1, 2],
      [10, 2],
      [11, 2],
    ]),
    'warn warn warn calm',
  );
  assert.equal(
    alarms(WAITING, [
      [0, 3],
      [1, 2],
      [9, 3],
      [10, 2],
      [19, 2],
      [20, 2],
    ]),
    'warn warn warn warn warn calm',
  );
  // 0.82 is within five hundredths of the level 0.8.
  assert.equal(
    alarms(LEVEL, [
      [0, 0.8],
      [1, 0.82],
      [100, 0.82],
      [101, 0.88],
      [111, 0.88],
    ]),
    'warn warn warn warn calm',
  );
});
test('thresholds - an alert falls to a warning while the figure is past that level', () => {
  assert.equal(
    alarms(WAITING, [
      [0, 7],
      [1, 4],
      [11, 4],
      [12, 2],
      [22, 2],
    ]),
    'alert alert warn warn calm',
  );
});
test('thresholds - a clearly good figure, or none, ends the alarm immediately', () => {
  assert.equal(
    alarms(LEVEL, [
      [0, 0],
      [1, 1],
      [2, 0.5],
      [3, 0.85],
      [4, 0.85],
      [13, 0.85],
      [14, 0.5],
      [15, null],
    ]),
    'alert calm alert warn warn calm alert calm',
  );
  assert.equal(
    alarms(WAITING, [
      [0, 7],
      [1, 2],
      [2, 1],
      [3, 6],
      [4, 0],
    ]),
    'alert warn calm alert calm',
  );
  assert.equal(
    alarms({ metric: 'agents_available', direction: 'below', warn: 2, alert: null }, [
      [0, 2],
      [1, 3],
      [2, 4],
    ]),
    'warn warn calm',
  );
  assert.equal(
    alarms({ ...LEVEL, warn: 0.97 }, [
      [0, 0.9],
      [1, 1],
    ]),
    'warn calm',
  );
});
test('thresholds - an unset level, or none, is never reached', () => {
  assert.equal(
    alarms({ ...WAITING, warn: null }, [
      [0, 5],
      [1, 6],
    ]),
    'calm alert',
  );
  assert.equal(nextAlarm({ alarm: 'alert', eased_at: null }, 9, undefined, 0).alarm, 'calm');
});
test('thresholds - only a clearly good reading ends an alarm before the hold, and no reading past the level is calm', () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 0, max: 10 })));
  fc.assert(
    fc.property(steps, (list) => {
      let state: AlarmState = CALM;
      let now = 0;
      let fellAt = -Infinity;
      for (const [step, value] of list) {
        now += step;
        const next = nextAlarm(state, value, WAITING, now);
        if (value >= 6) assert.equal(next.alarm, 'alert');
        else if (value >= 3) assert.notEqual(next.alarm, 'calm');
        if (value >= 1.5 && state.alarm !== 'calm' && next.alarm === 'calm') {
          assert.ok(now - fellAt >= HOLD_MS);
          fellAt = now;
        }
        state = next;
      }
    }),
  );
});
