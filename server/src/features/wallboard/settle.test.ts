import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../core/clock.ts';
import { emptyBoard, readBoard, writeBoard } from './board.ts';
import { reduce } from './reduce.ts';
import { SumTable } from './sum-table.ts';
import { take, writeSums } from './sums.ts';
import { at, emitted } from '../../../test/support/queue-story.ts';

type Settled = EventData<'queue.caller_settled'>;
const settled = (
  ms: number,
  call: string,
  joined_at: number,
  outcome: Settled['outcome'],
  more: Partial<Settled> = {},
): DomainEvent => ({
  type: 'queue.caller_settled',
  subject: `queues/${more.queue ?? 'support'}`,
  at: ms,
  observed: 'live',
  data: {
    finding_id: 1,
    call_id: call,
    queue: 'support',
    leg_id: `leg-${call}`,
    joined_at: rfc3339(joined_at),
    waited_seconds: 0,
    outcome,
    told: true,
    ...more,
  },
});
/** Sums of these events; before each index in `again` the board is written and read back. */
function fold(events: readonly DomainEvent[], again: readonly number[] = []): string[] {
  let board = emptyBoard();
  const table = new SumTable();
  for (const [i, event] of events.entries()) {
    if (again.includes(i)) board = readBoard(writeBoard(board)) ?? assert.fail('cannot be read');
    for (const one of reduce(board, event)) take(table.at(one.of, one.name, one.slot), one);
  }
  return [...table.rows()].map(({ name, slot, sums }) => `${name} ${slot} ${writeSums(sums)}`).sort();
}

const OUTCOMES = ['answered', 'abandoned', 'flowed_out'] as const;
const visit = fc.record({
  queue: fc.constantFrom('support', 'sales'),
  join: fc.nat(3 * 3600),
  wait: fc.nat(900),
  rest: fc.nat(999),
  outcome: fc.constantFrom(...OUTCOMES),
  seen: fc.constantFrom('whole', 'join', 'nothing'),
});
test('wallboard - whichever visits were missed, once all are settled the figures equal those of a day without a gap', () => {
  fc.assert(
    fc.property(
      fc.array(visit, { maxLength: 25 }),
      fc.array(fc.nat(200)),
      fc.infiniteStream(fc.nat()),
      (visits, again, chance) => {
        const end = at(4);
        const lived: DomainEvent[] = [];
        const gappy: DomainEvent[] = [];
        const later: { order: number; event: DomainEvent }[] = [];
        for (const [i, v] of visits.entries()) {
          const [call, from, to] = [`c${i}`, at(0, 0, v.join), at(0, 0, v.join + v.wait)];
          const left =
            v.outcome === 'abandoned'
              ? emitted.abandoned(to, call, v.wait, v.queue)
              : emitted.left(
                  to,
                  call,
                  v.wait,
                  v.outcome === 'answered' ? 'answered' : 'timeout',
                  'live',
                  v.queue,
                );
          const joined = emitted.joined(from, call, v.queue);
          const whole = [joined, emitted.exact(left, v.rest), emitted.callEnded(to, call)];
          lived.push(...whole);
          if (v.seen === 'whole') gappy.push(...whole);
          if (v.seen === 'join')
            gappy.push(
              joined,
              emitted.left(end, call, 1, 'engine_lost', 'resync', v.queue),
              emitted.callEnded(end, call),
            );
          const waited = { waited_seconds: v.wait, waited_ms: v.wait * 1000 + v.rest };
          const event = settled(end + 1000, call, from + (i % 7) * 100, v.outcome, {
            queue: v.queue,
            told: v.seen !== 'nothing',
            ...waited,
          });
          // Of a visit whose end was received too, and twice after a repetition.
          for (let n = 0; n < 2; n += 1) later.push({ order: chance.next().value, event });
        }
        const byTime = (events: readonly DomainEvent[]) => events.toSorted((a, b) => a.at - b.at);
        const news = later.sort((a, b) => a.order - b.order).map(({ event }) => event);
        const events = [...byTime(gappy), ...news];
        assert.deepEqual(fold(events, again), fold(byTime(lived)));
        assert.deepEqual(fold([...events, ...news]), fold(byTime(lived)), 'told again, counted once');
      },
    ),
    { numRuns: 300 },
  );
});

test('wallboard - a visit that was given up after a day is lost until it is settled, and remembered for a week', () => {
  const joined = emitted.joined(at(0), 'a');
  const lost = [joined, emitted.offer('offer.timeout', at(30), null)];
  const sums = (events: readonly DomainEvent[]): string =>
    fold(events).find((row) => row.includes('"joined"')) ?? '';
  assert.match(sums(lost), /"lost":1/);
  const late = settled(at(31), 'a', at(0), 'abandoned', { waited_seconds: 7 });
  assert.match(sums([...lost, late]), /"abandoned":1.*"abandoned_waits":\[\[7,1\]\]/);
  assert.doesNotMatch(sums([...lost, late]), /lost/);
  const week = [...lost, emitted.offer('offer.timeout', at(24 * 8), null), { ...late, at: at(24 * 8, 1) }];
  assert.match(sums(week), /"lost":1/);
  const board = emptyBoard();
  for (const event of week) reduce(board, event);
  assert.deepEqual([board.lost, board.settled], [[], []]);
});
