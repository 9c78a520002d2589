import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_SERVICE_LEVEL, ServiceLevelFormula } from '@offhook/contract/wallboard.ts';
import type { ServiceLevel } from '@offhook/contract/wallboard.ts';
import { agentFigures, expectedWait, figuresOf } from './figures.ts';
import { fold, noSums, readSums, take, waitAt, writeSums } from './sums.ts';
import type { Count, Sums } from './sums.ts';

const sumsOf = (...counted: readonly Omit<Count, 'of' | 'name' | 'slot'>[]): Sums => {
  const sums = noSums();
  for (const one of counted) take(sums, { of: 'queue', name: 'support', slot: 0, ...one });
  return sums;
};
const visits = (outcome: 'answered' | 'abandoned' | 'flowed_out', ...waits: number[]) =>
  waits.map((seconds) => ({ add: { joined: 1 }, waited: { outcome, seconds } }));
const levelOf = (formula: ServiceLevelFormula, change: Partial<ServiceLevel> = {}): ServiceLevel => ({
  ...DEFAULT_SERVICE_LEVEL,
  formula,
  ...change,
});
const serviceLevel = (sums: Sums, level: ServiceLevel): number | null =>
  figuresOf(sums, level, null, 0).service_level;

/** 6 answered (4 within 20 s), 5 abandoned (2 before 5 s, 4 within 20 s), 2 elsewhere, 1 lost, 1 waits: O is 14. */
const scene = sumsOf(
  ...visits('answered', 0, 7, 19, 20, 21, 90),
  ...visits('abandoned', 1, 4, 5, 20, 60),
  ...visits('flowed_out', 30, 300),
  { add: { joined: 1, lost: 1 } },
  { add: { joined: 1 } },
);

test('wallboard figures - the six formulas, as computed by hand', () => {
  const table: readonly [ServiceLevelFormula, counted: number, left_out: number][] = [
    ['answered_only', 4 / 6, 4 / 6],
    ['offered', 4 / 14, 4 / 12],
    ['ignore_short', 4 / (14 - 2), 4 / (12 - 2)],
    ['abandon_after_T', 4 / (6 + 5 - 4), 4 / (6 + 5 - 4)],
    ['credit_in_T', (4 + 4) / (6 + 5), (4 + 4) / (6 + 5)],
    ['exclude_all_abandons', 4 / (14 - 5), 4 / (12 - 5)],
  ];
  assert.deepEqual(
    table.map(([formula]) => formula),
    ServiceLevelFormula.options,
  );
  for (const [formula, counted, left_out] of table) {
    assert.equal(serviceLevel(scene, levelOf(formula)), counted, formula);
    assert.equal(serviceLevel(scene, levelOf(formula, { flow_outs: 'left_out' })), left_out, formula);
  }
});
test('wallboard figures - waits are summed in milliseconds; those of earlier versions in whole seconds', () => {
  const waits = (outcome: 'answered' | 'abandoned', ...some: number[]) =>
    some.map((ms) => ({
      add: { joined: 1 },
      waited: { outcome, seconds: Math.floor(ms / 1000), rest_ms: ms % 1000 },
    }));
  const exact = sumsOf(...waits('answered', 1_900, 1_900, 19_999), ...waits('abandoned', 4_999, 900));
  const figures = figuresOf(exact, DEFAULT_SERVICE_LEVEL, null, 0);
  assert.deepEqual([figures.sums.wait_answered_seconds, figures.sums.wait_abandoned_seconds], [23, 5]);
  assert.equal(figures.average_speed_of_answer_seconds, 23.799 / 3);
  assert.equal(figures.average_time_to_abandon_seconds, 5.899 / 2);
  assert.equal(figures.sums.answered_in_threshold, 3);
  // A row stored before milliseconds existed, with later additions.
  const stored = noSums();
  fold(stored, readSums('{"joined":1,"answered":1,"wait_answered_seconds":7,"answered_waits":[[7,1]]}'));
  fold(stored, readSums(writeSums(exact)));
  const grown = figuresOf(stored, DEFAULT_SERVICE_LEVEL, null, 0);
  assert.equal(grown.sums.wait_answered_seconds, 30);
  assert.equal(grown.average_speed_of_answer_seconds, 30.799 / 4);
});
test('wallboard figures - every other figure of the same visits', () => {
  const figures = figuresOf(scene, DEFAULT_SERVICE_LEVEL, { from: 0, to: 900_000 }, 41);
  assert.equal(figures.from, '1970-01-01T00:00:00.000Z');
  assert.equal(figures.to, '1970-01-01T00:15:00.000Z');
  assert.deepEqual(
    [figures.sums.offered, figures.sums.open, figures.sums.lost, figures.sums.flowed_out],
    [14, 1, 1, 2],
  );
  assert.equal(figures.service_level_formula, 'ignore_short');
  assert.deepEqual([figures.threshold_seconds, figures.short_abandon_seconds], [20, 5]);
  assert.equal(figures.abandon_rate, (5 - 2) / (14 - 2));
  assert.equal(figures.answer_rate, 6 / 14);
  assert.equal(figures.average_speed_of_answer_seconds, (0 + 7 + 19 + 20 + 21 + 90) / 6);
  assert.equal(figures.median_speed_of_answer_seconds, 19);
  assert.equal(figures.p90_speed_of_answer_seconds, 90);
  assert.equal(figures.average_time_to_abandon_seconds, 90 / 5);
  assert.equal(figures.sums.longest_wait_seconds, 300);
  assert.equal(figures.longest_wait_seconds, 300);
  assert.equal(figuresOf(scene, DEFAULT_SERVICE_LEVEL, null, 301).longest_wait_seconds, 301);
});
test('wallboard figures - the same sums answer for any threshold and any short abandon', () => {
  const level = (threshold_seconds: number, short_abandon_seconds = 0): number | null =>
    serviceLevel(scene, levelOf('offered', { threshold_seconds, short_abandon_seconds }));
  assert.deepEqual(
    [level(0), level(6), level(7), level(90), level(7200)],
    [1, 1, 2, 6, 6].map((n) => n / 14),
  );
  const short = (seconds: number): number =>
    figuresOf(scene, levelOf('offered', { short_abandon_seconds: seconds }), null, 0).sums.abandoned_short;
  assert.deepEqual([0, 1, 2, 5, 6, 61].map(short), [0, 0, 1, 2, 3, 5]);
  const long = sumsOf(...visits('answered', 7200, 7201, 50_000));
  assert.equal(serviceLevel(long, levelOf('offered', { threshold_seconds: 7200 })), 1 / 3);
  assert.equal(figuresOf(long, DEFAULT_SERVICE_LEVEL, null, 0).median_speed_of_answer_seconds, 7200);
  assert.equal(long.wait_answered_seconds, 64_401, 'the mean knows long waits in full');
});
test('wallboard figures - with a denominator of 0 there is no rate', () => {
  const figures = figuresOf(noSums(), DEFAULT_SERVICE_LEVEL, null, 0);
  const nulls = Object.entries(figures).filter(([, value]) => value === null);
  assert.deepEqual(
    nulls.map(([name]) => name),
    [
      'from',
      'to',
      'service_level',
      'abandon_rate',
      'answer_rate',
      'transfer_rate',
      'average_speed_of_answer_seconds',
      'median_speed_of_answer_seconds',
      'p90_speed_of_answer_seconds',
      'average_time_to_abandon_seconds',
      'average_handling_seconds',
      'occupancy',
    ],
  );
  for (const formula of ServiceLevelFormula.options)
    assert.equal(serviceLevel(noSums(), levelOf(formula)), null);
  const onlyAbandoned = sumsOf(...visits('abandoned', 3, 30));
  assert.equal(serviceLevel(onlyAbandoned, levelOf('answered_only')), null);
  assert.equal(serviceLevel(onlyAbandoned, levelOf('exclude_all_abandons')), null);
  assert.equal(serviceLevel(onlyAbandoned, levelOf('ignore_short')), 0);
  assert.equal(serviceLevel(sumsOf(...visits('abandoned', 3)), levelOf('ignore_short')), null);
  assert.equal(agentFigures('1003', noSums()).occupancy, null);
  assert.equal(agentFigures('1003', noSums()).utilisation, null);
});
test('wallboard figures - rates of a longer span come from its sums, never from rates', () => {
  const quiet = sumsOf(...visits('answered', 5));
  const busy = sumsOf(...visits('answered', 100, 100, 100));
  fold(quiet, busy);
  assert.equal(serviceLevel(quiet, levelOf('offered')), 1 / 4);
  assert.equal(figuresOf(quiet, DEFAULT_SERVICE_LEVEL, null, 0).average_speed_of_answer_seconds, 305 / 4);
});
test('wallboard figures - sums come back from their text, and equal sums have equal texts', () => {
  const other = sumsOf(...visits('abandoned', 60, 20, 5, 4, 1), ...visits('answered', 90, 21, 20, 19, 7, 0));
  fold(other, sumsOf(...visits('flowed_out', 300, 30), { add: { joined: 2, lost: 1 } }));
  assert.equal(writeSums(other), writeSums(scene));
  const read = noSums();
  fold(read, readSums(writeSums(scene)));
  assert.deepEqual(read, scene);
  assert.equal(writeSums(noSums()), '{}');
});
test('wallboard figures - waits by nearest rank', () => {
  const waits = new Map([
    [10, 5],
    [2, 4],
    [30, 1],
  ]);
  assert.deepEqual(
    [0.1, 0.4, 0.5, 0.9, 1].map((p) => waitAt(waits, p)),
    [2, 2, 10, 10, 30],
  );
  assert.equal(waitAt(new Map(), 0.5), null);
});
test('wallboard figures - the expected wait is given only with enough samples', () => {
  const atWork = { atWork: 2, available: 0 };
  assert.equal(expectedWait([60, 60, 60, 60], 0, atWork), null, 'four are not enough');
  assert.equal(expectedWait([60, 60, 60, 60, 60], 0, { atWork: 0, available: 0 }), null);
  assert.equal(expectedWait([60, 60, 60, 60, 60], 2, atWork), 90);
  assert.equal(expectedWait([60, 60, 60, 60, 60], 0, { atWork: 2, available: 1 }), 0);
});
