import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallState, QueueState } from '@offhook/client';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { QueueFigures } from '@offhook/contract/wallboard.ts';
import { addSeries, worthShowing } from './series.ts';
import {
  callersOf,
  countStates,
  partnerOf,
  queuesOn,
  serviceLevelOf,
  stillReachable,
  summaryOf,
} from './model.ts';
import { DEFAULT_LAYOUT } from './model.ts';

const FORMULA = {
  service_level_formula: 'ignore_short',
  threshold_seconds: 20,
  short_abandon_seconds: 5,
  flow_outs: 'counted',
} as const;
const sums = (offered: number, answered: number, inTime: number, abandoned: number, short = 0) => ({
  offered,
  answered,
  answered_in_threshold: inTime,
  abandoned,
  abandoned_short: short,
  abandoned_in_threshold: abandoned,
  flowed_out: 1,
});
const queue = (
  name: string,
  of: ReturnType<typeof sums>,
  joined: readonly string[] = [],
  level: object = FORMULA,
) =>
  ({
    name,
    title: name,
    callers: joined.map((joined_at) => ({ joined_at })),
    stats: { ...level, sums: of },
  }) as unknown as QueueState;
const seen = ['b', 'a10', 'a2'].map((name) => ({ name, title: name.toUpperCase() }));

test('board - queues with a tile come first in order, the others by title, and only permitted ones', () => {
  const on = (queues: string[] | null, tiles: string[]) =>
    queuesOn(
      {
        name: '',
        queues,
        layout: { ...DEFAULT_LAYOUT, tiles: tiles.map((one) => ({ queue: one, figures: null })) },
      },
      seen,
      'en',
    ).map(({ name }) => name);
  assert.deepEqual(on(null, []), ['a2', 'a10', 'b']);
  assert.deepEqual(on(null, ['b', 'gone', 'b']), ['b', 'a2', 'a10']);
  assert.deepEqual(on(['a10', 'gone'], ['b']), ['a10']);
});
test('board - queues are summed, and share a service level only with equal formulas', () => {
  const one = queue('one', sums(10, 8, 6, 2, 1), ['2026-11-22T09:00:10Z']);
  const two = queue('two', sums(10, 10, 3, 0), ['2026-11-22T09:00:05Z', '2026-11-22T09:00:20Z']);
  const all = new Map([
    ['one', one],
    ['two', two],
  ]);
  const together = summaryOf(all, ['one', 'two']);
  assert.equal(together.waiting, 3);
  assert.equal(together.since, Date.parse('2026-11-22T09:00:05Z'));
  assert.equal(together.answered, 18);
  assert.equal(together.service_level, 9 / 19);
  assert.equal(together.abandon_rate, 1 / 19);
  all.set('two', queue('two', sums(10, 10, 3, 0), [], { ...FORMULA, threshold_seconds: 30 }));
  assert.equal(summaryOf(all, ['one', 'two']).service_level, null);
  assert.equal(summaryOf(new Map(), []).abandon_rate, null);
});
test('board - each formula is that of the service (domain.md 6.1), and null without calls', () => {
  const counts = sums(20, 12, 9, 6, 2);
  const level = (formula: string, flow_outs = 'counted'): number | null =>
    serviceLevelOf(
      { ...counts, abandoned_in_threshold: 4 },
      { ...FORMULA, service_level_formula: formula as 'offered', flow_outs: flow_outs as 'counted' },
    );
  assert.deepEqual(
    [
      'answered_only',
      'offered',
      'ignore_short',
      'abandon_after_T',
      'credit_in_T',
      'exclude_all_abandons',
    ].map((name) => level(name)),
    [9 / 12, 9 / 20, 9 / 18, 9 / 14, 13 / 18, 9 / 14],
  );
  assert.equal(level('offered', 'left_out'), 9 / 19);
  assert.equal(serviceLevelOf({ ...sums(0, 0, 0, 0), flowed_out: 0 }, FORMULA), null);
});
test('board - the peer of an agent is the other leg, else the caller or the dialled number', () => {
  const leg = (extension: string | null, name = '', number = extension ?? '') => ({
    leg_id: number,
    extension,
    name,
    number,
  });
  const call = (legs: readonly object[]) =>
    ({ dialled: '510', caller: { number: '+4930', name: 'Ann' }, legs }) as unknown as CallState;
  assert.equal(partnerOf(call([leg(null, 'Ann', '+4930'), leg('1003')]), '1003'), 'Ann');
  assert.equal(partnerOf(call([leg('1003'), leg(null, '', '+4930')]), '1003'), '+4930');
  assert.equal(partnerOf(call([leg('1003')]), '1003'), '510');
  assert.equal(partnerOf(call([]), '1003'), 'Ann');
  assert.equal(partnerOf(undefined, '1003'), null);
});
test('board - intervals of several queues are summed, from the hour of the first call on, for six hours at least', () => {
  const figures = (hour: number, offered: number) =>
    ({
      from: new Date(Date.UTC(2026, 10, 22, hour)).toISOString(),
      to: new Date(Date.UTC(2026, 10, 22, hour + 1)).toISOString(),
      sums: { offered, answered: offered, abandoned: 0 },
    }) as unknown as QueueFigures;
  const day = (first: number) =>
    Array.from({ length: 12 }, (_, hour) => figures(hour, hour === first ? 4 : 0));
  const rows = addSeries([day(3), day(3)]);
  assert.equal(rows.length, 12);
  assert.equal(rows[3]?.answered, 8);
  const hours = (list: typeof rows) => list.map(({ from }) => new Date(from * 1000).getUTCHours());
  assert.deepEqual(hours(worthShowing(rows)), [3, 4, 5, 6, 7, 8, 9, 10, 11]);
  assert.deepEqual(hours(worthShowing(addSeries([day(11)]))), [6, 7, 8, 9, 10, 11]);
  assert.deepEqual(worthShowing([]), []);
});
test('board - a rate is judged by its best possible value: a caller within the threshold may still be answered in time', () => {
  const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
  /** Calls answered in time and late, waiting times of the counted callers, and of all callers. */
  const level = (inTime: number, late: number, counted: readonly number[], waits: readonly number[]) => {
    const open = counted.length;
    const of = { ...sums(inTime + late + open, inTime + late, inTime, 0), open };
    const { stats, callers } = queue('one', of, waits.map(at));
    const longest_waiting_since = open === 0 ? null : at(Math.min(...counted));
    const now = { callers, stats: { ...stats!, longest_waiting_since } };
    const value = serviceLevelOf(of, FORMULA);
    return [value, stillReachable(now, 'service_level', value, 1_020)];
  };
  assert.deepEqual(level(0, 0, [1_016], [1_016]), [0, 1], 'the first of the day');
  assert.deepEqual(level(0, 0, [1_000], [1_000]), [0, 1], 'exactly the threshold is within it');
  assert.deepEqual(level(0, 0, [999], [999]), [0, 0], 'past it');
  assert.deepEqual(level(0, 1, [1_016], [1_016]), [0, 1 / 2], 'what is decided stays');
  assert.deepEqual(level(1, 0, [990, 1_010], [990, 1_010]), [1 / 3, 2 / 3]);
  assert.deepEqual(level(0, 0, [990], [990, 1_019]), [0, 0], 'a caller whom the sums do not count yet');
  assert.deepEqual(level(0, 0, [1_016], []), [0, 1], 'answered, and not counted yet');
  assert.deepEqual(level(0, 0, [990], []), [0, 0], 'answered too late, and not counted yet');
  assert.deepEqual(level(0, 0, [], []), [null, null]);

  const open = { ...sums(4, 1, 1, 1), open: 2 };
  assert.equal(stillReachable(queue('one', open), 'answer_rate', 1 / 4, 0), 3 / 4);
  assert.equal(stillReachable(queue('one', open), 'abandon_rate', 1 / 4, 0), 1 / 4);
});

test('board - a waiting caller has the name of its customer, else the one that was sent', () => {
  const waits = { position: 1, priority: null, joined_at: '', caller: { number: '030', name: 'MUELLER A' } };
  const callers = [
    { ...waits, id: 'a', customer: { name: 'Anna Müller' } },
    { ...waits, id: 'b' },
  ];
  const records = new Map([['support', { callers } as unknown as QueueState]]);
  assert.deepEqual(
    callersOf(records, ['support']).map(({ name, number }) => [name, number]),
    [
      ['Anna Müller', '030'],
      ['MUELLER A', '030'],
    ],
  );
});

test('board - an agent has the same state in the totals and in the tile of its queue', () => {
  const agents = ['held', 'talking', 'not_responding', 'available', 'logged_out'].map((state) => ({ state }));
  assert.deepEqual(countStates(agents as unknown as AgentSummary[]), {
    talking: 2,
    not_ready: 1,
    available: 1,
  });
});
