import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { emptyBoard, readBoard, writeBoard } from './board.ts';
import type { Board } from './board.ts';
import { countedBy } from './handling.ts';
import { counts, reduce, skipGap } from './reduce.ts';
import { SumTable } from './sum-table.ts';
import { SLOT_MS, noSums, take } from './sums.ts';
import type { Sums } from './sums.ts';
import { rfc3339 } from '../../core/clock.ts';
import { T0, at, emitted } from '../../../test/support/queue-story.ts';

/** Plays events and returns the counts of a queue or agent; slots count from T0. */
function play(...events: readonly DomainEvent[]) {
  let board: Board = emptyBoard();
  const table = new SumTable();
  for (const event of events) {
    // The board is stored and read before each event, as at a restart.
    board = readBoard(writeBoard(board))!;
    assert.ok(counts(event.type));
    for (const one of reduce(board, event)) take(table.at(one.of, one.name, one.slot), one);
  }
  const shown = (of: 'queue' | 'agent', name: string): Record<number, Record<string, unknown>> => {
    const slots: Record<number, Record<string, unknown>> = {};
    for (const [slot, sums] of table.slots(of, name) ?? []) slots[slot - T0 / 900_000] = brief(sums);
    return slots;
  };
  return {
    board,
    queue: (name = 'support') => shown('queue', name),
    agent: (name = '1003') => shown('agent', name),
  };
}
/** Counts that are not zero, without the time of agents. */
function brief(sums: Sums): Record<string, unknown> {
  const zero = noSums();
  return Object.fromEntries(
    Object.entries(sums)
      .filter(([name, value]) => value !== zero[name as keyof Sums] && !name.endsWith('_ms'))
      .filter(([, value]) => !(value instanceof Map)),
  );
}

test('wallboard reducer - a visit counts in the interval of its join, with one outcome', () => {
  const { queue, board } = play(
    emitted.joined(at(0, 14, 50), 'a'),
    emitted.joined(at(0, 14, 55), 'b'),
    emitted.joined(at(0, 15, 0), 'c'),
    emitted.left(at(0, 15, 5), 'a', 15),
    emitted.abandoned(at(0, 15, 6), 'b', 11),
    // Repeated events, or those of an unknown visit, count once or not at all.
    emitted.left(at(0, 15, 5), 'a', 15),
    emitted.abandoned(at(0, 16, 0), 'x', 9),
  );
  assert.deepEqual(queue(), {
    0: {
      joined: 2,
      calls: 2,
      answered: 1,
      abandoned: 1,
      wait_answered_seconds: 15,
      wait_abandoned_seconds: 11,
      longest_wait_seconds: 15,
    },
    1: { joined: 1, calls: 1 },
  });
  assert.equal(board.visits.size, 1);
});
test('wallboard reducer - the milliseconds of a wait are counted beside its whole seconds', () => {
  const ends = [
    emitted.left(at(0, 0, 2), 'a', 1),
    emitted.left(at(0, 0, 3), 'b', 1),
    emitted.abandoned(at(0, 1), 'c', 59),
  ];
  const begins = ['a', 'b', 'c'].map((call) => emitted.joined(at(0), call));
  const sumsOf = (...events: readonly DomainEvent[]) => {
    const [board, sums] = [emptyBoard(), noSums()];
    for (const event of events) for (const one of reduce(board, event)) take(sums, one);
    return sums;
  };
  const rests = ({ wait_answered_rest_ms, wait_abandoned_rest_ms }: Sums) => [
    wait_answered_rest_ms,
    wait_abandoned_rest_ms,
  ];
  const now = sumsOf(...begins, ...ends.map((event) => emitted.exact(event, 999)));
  const before = sumsOf(...begins, ...ends);
  assert.deepEqual(
    [rests(now), rests(before)],
    [
      [1_998, 999],
      [0, 0],
    ],
  );
  assert.deepEqual(
    { ...now, wait_answered_rest_ms: 0, wait_abandoned_rest_ms: 0 },
    before,
    'thresholds and the longest wait go by whole seconds',
  );
});
test('wallboard reducer - left for elsewhere is flowed out, whatever the reason; lost by the engine is neither', () => {
  const { queue } = play(
    emitted.joined(at(0), 'a'),
    emitted.left(at(0, 1), 'a', 60, 'other'),
    emitted.joined(at(0, 2), 'b'),
    emitted.left(at(0, 3), 'b', 60, 'engine_lost', 'resync'),
    emitted.joined(at(0, 4), 'c'),
    emitted.left(at(0, 5), 'c', 61, 'answered', 'resync'),
  );
  assert.deepEqual(queue(), {
    0: {
      joined: 3,
      calls: 3,
      answered: 1,
      flowed_out: 1,
      lost: 1,
      ended_unobserved: 1,
      wait_answered_seconds: 61,
      longest_wait_seconds: 61,
    },
  });
});
test('wallboard reducer - a join repeated after a restart is the same visit; a new join is a new one of the same call', () => {
  const { queue } = play(
    emitted.joined(at(0), 'a'),
    { ...emitted.joined(at(0), 'a'), at: at(0, 9), observed: 'resync' },
    emitted.left(at(0, 10), 'a', 600, 'other'),
    emitted.joined(at(0, 11), 'a'),
    emitted.joined(at(0, 11), 'a', 'sales'),
  );
  assert.deepEqual(queue(), { 0: { joined: 2, calls: 1, flowed_out: 1, longest_wait_seconds: 600 } });
  assert.deepEqual(play(emitted.joined(at(0), 'a', 'sales')).queue('sales'), { 0: { joined: 1, calls: 1 } });
});
test('wallboard reducer - a visit without an end is lost after a day', () => {
  const { queue, board } = play(
    emitted.joined(at(0), 'a'),
    emitted.joined(at(20), 'b'),
    emitted.joined(at(24, 0, 1), 'c'),
    emitted.left(at(24, 5), 'a', 86_700),
  );
  assert.deepEqual(queue()[0], { joined: 1, calls: 1, lost: 1 });
  assert.equal(board.visits.size, 2);
});
test('wallboard reducer - talk, hold and wrap-up count once, in the interval in which the handling is over', () => {
  const { queue, agent, board } = play(
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    emitted.joined(at(0, 13), 'a'),
    emitted.left(at(0, 13, 4), 'a', 4),
    emitted.talking(at(0, 13, 4), '1003', 'a'),
    emitted.held(at(0, 13, 30), '1003'),
    emitted.retrieved(at(0, 13, 40), '1003'),
    emitted.wrapUp(at(0, 14, 50), '1003', 'a', 106, at(0, 15, 20)),
    emitted.extended(at(0, 15, 0), '1003', at(0, 16)),
    emitted.ready(at(0, 15, 30), '1003', null),
    // The same events again, as after a restart.
    emitted.wrapUp(at(0, 15, 31), '1003', 'a', 106, at(0, 16)),
    emitted.ready(at(0, 15, 32), '1003', null),
  );
  const handled = { handled: 1, talk_seconds: 96, hold_seconds: 10, wrap_up_seconds: 40 };
  assert.deepEqual(queue()[1], handled);
  assert.deepEqual(agent()[1], handled);
  assert.deepEqual(board.handlings.get('support'), [146]);
});
test('wallboard reducer - a ring that another agent picked up: one answered call, handled by the one who talked', () => {
  const story = (by: string | null) =>
    play(
      emitted.loggedIn(at(0), '1003'),
      emitted.loggedIn(at(0), '1004'),
      emitted.joined(at(0, 1), 'a'),
      emitted.left(at(0, 1, 5), 'a', 5),
      ...(by === null
        ? []
        : [
            emitted.talking(at(0, 1, 5), by, 'a'),
            emitted.wrapUp(at(0, 2, 5), by, 'a', 60, at(0, 2, 35)),
            emitted.ready(at(0, 2, 35), by, null),
          ]),
      emitted.callEnded(at(0, 3), 'a'),
    );
  const waited = { joined: 1, calls: 1, answered: 1, wait_answered_seconds: 5, longest_wait_seconds: 5 };
  const handled = { handled: 1, talk_seconds: 60, wrap_up_seconds: 30 };
  const picked = story('1004');
  assert.deepEqual(picked.queue()[0], { ...waited, ...handled });
  assert.deepEqual([picked.agent('1003')[0] ?? {}, picked.agent('1004')[0]], [{}, handled]);
  assert.deepEqual(story(null).queue()[0], waited, 'picked up by a person outside the queue');
});
test('wallboard reducer - a wrap-up ends at its deadline, also if its end is reported later', () => {
  const story = [
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.wrapUp(at(0, 2), '1003', 'a', 60, at(0, 2, 30)),
  ];
  const handled = { handled: 1, talk_seconds: 60, wrap_up_seconds: 30 };
  assert.deepEqual(play(...story, emitted.ready(at(3), '1003', null)).queue()[0], handled);
  const { board } = play(...story);
  const before = writeBoard(board);
  const asked = countedBy(board, at(0, 10)).filter((one) => one.of === 'queue' && one.add.handled === 1);
  assert.deepEqual(
    asked.map((one) => one.add.wrap_up_seconds),
    [30],
  );
  assert.equal(writeBoard(board), before, 'asking changes nothing');
});
test('wallboard reducer - a wrap-up that began during an absence of the engine counts from its start', () => {
  const heard = emitted.wrapUp(at(0, 4), '1003', 'a', 60, at(0, 5));
  const agent = { engagement: 'wrap_up', since: rfc3339(at(0, 2)) };
  const { queue } = play(
    emitted.loggedIn(at(0), '1003'),
    emitted.talking(at(0, 1), '1003', 'a'),
    { ...heard, data: { ...heard.data, agent } } as typeof heard,
    emitted.ready(at(0, 6), '1003', null),
  );
  assert.deepEqual(queue()[0], { handled: 1, talk_seconds: 60, wrap_up_seconds: 180 });
});
test('wallboard reducer - a talk without wrap-up ends with its call; one that another interrupted waits for its own end', () => {
  const { queue } = play(
    emitted.loggedIn(at(0), '1003'),
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.talking(at(0, 1, 5), '1003', 'a'),
    emitted.callEnded(at(0, 2), 'a'),
    emitted.ready(at(0, 2, 9), '1003', null),
    emitted.talking(at(0, 3), '1003', 'b'),
    emitted.talking(at(0, 4), '1003', 'c'),
    emitted.busyOther(at(0, 4, 10), '1003'),
  );
  assert.deepEqual(queue(), { 0: { handled: 3, talk_seconds: 60 + 60 + 10, hold_seconds: 10 } });
});
test('wallboard reducer - of two talks at once each is handled once, and the one that waits is held', () => {
  const story = [
    emitted.loggedIn(at(0), '1003'),
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.talking(at(0, 2), '1003', 'b', 'sales'),
  ];
  const back = play(
    ...story,
    emitted.talking(at(0, 3), '1003', 'a'),
    emitted.callEnded(at(0, 3, 1), 'b'),
    emitted.wrapUp(at(0, 5), '1003', 'a', 240, at(0, 5, 10)),
    emitted.callEnded(at(0, 5, 1), 'a'),
    emitted.ready(at(0, 5, 10), '1003', null),
  );
  const first = { handled: 1, talk_seconds: 180, hold_seconds: 60, wrap_up_seconds: 10 };
  assert.deepEqual([back.queue()[0], back.queue('sales')[0]], [first, { handled: 1, talk_seconds: 60 }]);
  const gaveUp = play(
    ...story,
    emitted.callEnded(at(0, 3), 'a'),
    emitted.wrapUp(at(0, 4), '1003', 'b', 120, at(0, 4, 10)),
    emitted.callEnded(at(0, 4, 1), 'b'),
    emitted.ready(at(0, 4, 5), '1003', null),
  );
  assert.deepEqual(gaveUp.queue()[0], { handled: 1, talk_seconds: 60, hold_seconds: 60 });
  assert.deepEqual(gaveUp.queue('sales')[0], { handled: 1, talk_seconds: 120, wrap_up_seconds: 5 });
  const joined = play(
    ...story,
    emitted.callEnded(at(0, 3), 'a', 'b'),
    emitted.callEnded(at(0, 4), 'b'),
    emitted.ready(at(0, 4), '1003', null),
  );
  assert.deepEqual(joined.queue()[0], { handled: 1, talk_seconds: 60, hold_seconds: 120 });
  for (const { board } of [back, gaveUp, joined]) assert.equal(board.agents.get('1003')?.beside, undefined);
});
test('wallboard reducer - an agent that leaves its queues during a talk works until the call or its part in it is over', () => {
  const story = [
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.showing(emitted.loggedOut(at(0, 2), '1003'), 'idle'),
  ];
  const over = play(...story, emitted.callEnded(at(0, 10), 'a'));
  const handled = { 0: { handled: 1, talk_seconds: 540 } };
  assert.deepEqual([over.queue(), over.agent()], [handled, handled]);
  assert.deepEqual([over.board.agents.size, over.board.agentsOf.size], [0, 0]);
  const passedOn = play(
    ...story,
    emitted.transferred(at(0, 5), 'a', '1003'),
    emitted.callEnded(at(0, 9), 'a'),
  );
  assert.deepEqual(passedOn.queue(), { 0: { handled: 1, talk_seconds: 240, transferred: 1 } });
  const back = play(
    ...story,
    emitted.showing(emitted.loggedIn(at(0, 3), '1003'), 'talking'),
    emitted.callEnded(at(0, 10), 'a'),
    emitted.showing(emitted.ready(at(0, 10), '1003', null), 'idle'),
  );
  assert.deepEqual(back.queue(), handled);
});
test('wallboard reducer - the agent’s state in an event repairs a missed event', () => {
  const { queue } = play(
    emitted.loggedIn(at(0), '1003'),
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.showing(emitted.unreachable(at(0, 2), '1003'), 'unreachable'),
    emitted.showing(emitted.ready(at(0, 2, 30), '1003', null), 'talking'),
    emitted.showing(emitted.ready(at(0, 3), '1003', 'support'), 'idle'),
  );
  assert.deepEqual(queue(), { 0: { handled: 1, talk_seconds: 120 } });
});
test('wallboard reducer - the time of agents is cut at the intervals', () => {
  const { board, agent } = play(
    emitted.loggedIn(at(0, 10), '1003'),
    emitted.ready(at(0, 10), '1003', 'support'),
    emitted.loggedIn(at(0, 10), '1003', 'sales'),
    emitted.talking(at(0, 40), '1003', 'a'),
    emitted.wrapUp(at(0, 50), '1003', 'a', 600, at(0, 52)),
    emitted.ready(at(0, 51), '1003', null),
    emitted.busyOther(at(0, 56), '1003'),
  );
  assert.deepEqual(Object.keys(agent()).map(Number), [0, 1, 2, 3]);
  const minutes = (of: 'queue' | 'agent', name: string) => {
    const table = new SumTable();
    const all = [...replay(), ...countedBy(board, at(1, 5))];
    for (const one of all) if (one.of === of && one.name === name) take(table.at(of, name, one.slot), one);
    return [...(table.slots(of, name)?.values() ?? [])].map((s) =>
      [s.staffed_ms, s.available_ms, s.busy_ms].map((ms) => ms / 60_000),
    );
  };
  const replay = () => {
    const again = emptyBoard();
    return [
      emitted.loggedIn(at(0, 10), '1003'),
      emitted.ready(at(0, 10), '1003', 'support'),
      emitted.loggedIn(at(0, 10), '1003', 'sales'),
      emitted.talking(at(0, 40), '1003', 'a'),
      emitted.wrapUp(at(0, 50), '1003', 'a', 600, at(0, 52)),
      emitted.ready(at(0, 51), '1003', null),
      emitted.busyOther(at(0, 56), '1003'),
    ].flatMap((event) => reduce(again, event));
  };
  assert.deepEqual(minutes('agent', '1003'), [
    [5, 5, 0],
    [15, 15, 0],
    [15, 10, 5],
    [15, 5, 6],
    [5, 0, 0],
  ]);
  assert.deepEqual(minutes('queue', 'support'), minutes('agent', '1003'));
  // In the other queue it is paused.
  assert.deepEqual(
    minutes('queue', 'sales').map(([, available]) => available),
    [0, 0, 0, 0, 0],
  );
});
test('wallboard reducer - an agent without an event for hours has two intervals left to count', () => {
  const board = emptyBoard();
  const table = new SumTable();
  const day = [
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((hour) => emitted.joined(at(hour, 20), `call-${hour}`)),
  ];
  const counted = day.flatMap((event) => reduce(board, event));
  const running = countedBy(board, at(8, 21), 'support');
  assert.deepEqual(
    running.map(({ slot, add }) => [slot, add.available_ms]),
    [
      [at(8) / SLOT_MS, 15 * 60_000],
      [at(8, 15) / SLOT_MS, 6 * 60_000],
    ],
  );
  for (const one of [...counted, ...running]) take(table.at(one.of, one.name, one.slot), one);
  const sums = [...(table.slots('queue', 'support')?.values() ?? [])];
  assert.equal(
    sums.reduce((ms, { staffed_ms }) => ms + staffed_ms, 0),
    (8 * 60 + 21) * 60_000,
  );
});
test('wallboard reducer - an engine whose clock is minutes behind changes the time of its agents as it says', () => {
  const { board, queue } = play(
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    // Another engine, ten minutes ahead, is in the next interval already.
    emitted.joined(at(0, 16), 'a', 'sales'),
    emitted.notReady(at(0, 6), '1003', 'support'),
  );
  const minutes = countedBy(board, at(0, 14), 'support').map(({ add }) => [add.staffed_ms, add.available_ms]);
  assert.deepEqual(minutes, [[8 * 60_000, undefined]]);
  assert.ok(queue());
});
test('wallboard reducer - a wrap-up past its deadline at the end of an interval waits for the next event', () => {
  const { queue, board } = play(
    emitted.loggedIn(at(0), '1003'),
    emitted.wrapUp(at(0, 10), '1003', 'a', 60, at(0, 12)),
    emitted.joined(at(0, 35), 'b'),
  );
  assert.equal(queue()[0]?.['handled'], undefined);
  assert.equal(board.agents.get('1003')?.counted_to, at(0, 10));
  const later = countedBy(board, at(0, 36), 'support').find(({ add }) => add.handled === 1);
  assert.deepEqual([later?.slot, later?.add.wrap_up_seconds], [T0 / SLOT_MS, 120]);
});
test('wallboard reducer - offers that were missed or taken, calls that were transferred, once each', () => {
  const { queue, agent } = play(
    emitted.offer('offer.timeout', at(0), '1003'),
    emitted.offer('offer.rejected', at(0), '1003'),
    emitted.offer('offer.timeout', at(0), null),
    emitted.offer('offer.accepted', at(0, 1), '1003'),
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.transferred(at(0, 2), 'a', '1009'),
    emitted.transferred(at(0, 2), 'a', '1003'),
    emitted.transferred(at(0, 3), 'a', '1003'),
    emitted.wrapUp(at(0, 3), '1003', 'a', 120, at(0, 3, 5)),
    emitted.ready(at(0, 3, 5), '1003', null),
  );
  const handled = { handled: 1, talk_seconds: 120, wrap_up_seconds: 5, transferred: 1 };
  assert.deepEqual(queue(), { 0: { ...handled, missed_offers: 3 } });
  assert.deepEqual(agent(), { 0: { ...handled, missed_offers: 2, offers_accepted: 1 } });
  const byAnother = play(emitted.talking(at(0), '1003', 'a'), emitted.transferred(at(0, 1), 'a', '1009'));
  assert.deepEqual(byAnother.queue(), {});
});
test('wallboard reducer - a call merged into another one moves its counts to it', () => {
  const { queue, board } = play(
    emitted.joined(at(0), 'a'),
    emitted.left(at(0, 1), 'a', 60),
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.callEnded(at(0, 2), 'a', 'b'),
    emitted.callEnded(at(0, 3), 'b'),
    emitted.ready(at(0, 4), '1003', null),
  );
  assert.equal(queue()[0]?.['talk_seconds'], 120, 'the talk ended with the call it had become a part of');
  assert.equal(board.calls.size, 0);
});
test('wallboard reducer - a consulted agent that passes the call on later has transferred it too', () => {
  const { queue, agent } = play(
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.talking(at(0, 2), '1004', 'b', 'sales'),
    emitted.callEnded(at(0, 3), 'b', 'a'),
    emitted.transferred(at(0, 3), 'a', '1003'),
    emitted.transferred(at(0, 4), 'a', '1004'),
    emitted.transferred(at(0, 5), 'a', '1004'),
  );
  const transfers = [queue(), queue('sales'), agent(), agent('1004')].map((of) => of[0]?.['transferred']);
  assert.deepEqual(transfers, [1, 1, 1, 1]);
});
test('wallboard reducer - an earlier version reads the newest agent that handles a call, and its text is read again', () => {
  const { board } = play(
    emitted.talking(at(0, 1), '1003', 'a'),
    emitted.talking(at(0, 2), '1004', 'b', 'sales'),
    emitted.callEnded(at(0, 3), 'b', 'a'),
  );
  const both = board.calls.get('a')!.handled;
  assert.equal(both.length, 2);
  const stored = JSON.parse(writeBoard(board)) as { calls: [string, { handled: unknown }][] };
  const [, call] = stored.calls[0]!;
  const handledOf = () => readBoard(JSON.stringify(stored))!.calls.get('a')!.handled;
  assert.deepEqual(call.handled, both[1]);
  assert.deepEqual(handledOf(), both);
  // An earlier version counted the transfer by the newest agent, then one more agent took the call.
  for (const handled of [null, { queue: 'support', extension: '1005' }]) {
    call.handled = handled;
    assert.deepEqual(handledOf(), handled === null ? [] : [handled]);
  }
});
test('wallboard reducer - time in a gap is not counted, and visits stay open', () => {
  const { board } = play(
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    emitted.joined(at(0), 'a'),
    emitted.talking(at(0, 1), '1003', 'a'),
  );
  skipGap(board, at(5));
  const later = countedBy(board, at(5, 1));
  assert.deepEqual(
    later.map((one) => one.add),
    [
      { staffed_ms: 60_000, available_ms: 60_000 },
      { staffed_ms: 60_000, available_ms: 60_000 },
    ],
  );
  assert.equal(board.visits.size, 1);
});
test('wallboard reducer - memory between events is bounded by the open visits and calls', () => {
  const board = emptyBoard();
  for (let i = 0; i < 2000; i += 1) {
    const [call, second] = [`c${i}`, i * 3];
    for (const event of [
      emitted.joined(at(0, 0, second), call),
      emitted.left(at(0, 0, second + 1), call, 1),
      emitted.loggedIn(at(0, 0, second + 1), `2${i % 10}`),
      emitted.talking(at(0, 0, second + 1), `2${i % 10}`, call),
      emitted.callEnded(at(0, 0, second + 2), call),
      emitted.loggedOut(at(0, 0, second + 2), `2${i % 10}`),
      emitted.ready(at(0, 0, second + 2), `2${i % 10}`, null),
    ]) {
      reduce(board, event);
    }
  }
  assert.deepEqual(
    [board.visits.size, board.calls.size, board.agents.size, board.agentsOf.size],
    [0, 0, 0, 0],
  );
  assert.equal(board.handlings.get('support')?.length, 20);
});
