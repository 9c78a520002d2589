import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkOf, firstCheck, follows } from '../../src/core/row-check.ts';
import type { JournalRow } from '../../src/ports/journal-store.ts';
import type { LogState, SiteLog, Taken } from '../../src/ports/site-log.ts';
import { appendGroups, rowsAfter } from '../support/appender.ts';
import type { Appending } from '../support/appender.ts';
import { until } from '../support/until.ts';

/** A log that several writers can open, as processes open the same database. */
export interface SiteLogPlace extends AsyncDisposable {
  open(): SiteLog;
  /** Removes the newest `count` rows, as a standby without its tail does. */
  cut(count: number): Promise<void>;
  /** The next append is committed, and its writer does not learn that. */
  loseAnswer(): void;
  /** Appends in a process of its own, where the log has processes. */
  appendApart(what: Appending): Promise<void>;
}
const EPOCH = 'epoch-one';
const START = { epoch: EPOCH, began: 1, head: 0, check: firstCheck(EPOCH) };
const A = { id: 'a', location: 'host a' };
const B = { id: 'b', location: 'host b' };

/** The next rows of a log in this state; `word` distinguishes two histories. */
export const logRows = (state: Pick<LogState, 'head' | 'check'>, count: number, word = 'one'): JournalRow[] =>
  rowsAfter(state, Array<string>(count).fill(word));
const stateOf = async (log: SiteLog): Promise<LogState> => {
  const state = await log.state();
  assert.ok(state !== null, 'the log was never begun');
  return state;
};
const won = (taken: Taken): LogState => {
  assert.ok(taken.taken, `the log is held: ${JSON.stringify(taken)}`);
  return taken.state;
};

/** Conformance of every SiteLog. */
export function siteLogConformance(adapter: string, open: () => Promise<SiteLogPlace>): void {
  const withPlace = (work: (place: SiteLogPlace) => Promise<void>) => async () => {
    await using place = await open();
    await work(place);
  };
  /** Writers of the same log, closed after the test. */
  const withLogs = (work: (logs: { a: SiteLog; b: SiteLog }, place: SiteLogPlace) => Promise<void>) =>
    withPlace(async (place) => {
      const logs = { a: place.open(), b: place.open() };
      try {
        await work(logs, place);
      } finally {
        for (const log of Object.values(logs)) await log.close();
      }
    });
  describe(`site log (${adapter})`, () => {
    it(
      'site log - is begun once and keeps its epoch and place',
      withLogs(async ({ a, b }) => {
        assert.equal(await a.state(), null);
        const moved = { epoch: 'moved', began: 7, head: 41, check: 'cafe0001' };
        assert.equal(await a.begin(moved), true);
        assert.equal(await b.begin(START), false);
        assert.deepEqual(await b.state(), { ...moved, tail: 42, term: 0 });
      }),
    );
    it(
      'site log - rows are dense and come back as they were, after a seq and up to a limit',
      withLogs(async ({ a }) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 10));
        const rows = logRows(at, 12);
        assert.equal(await a.append(term, 0, rows.slice(0, 5)), 'appended');
        assert.equal(await a.append(term, 5, rows.slice(5)), 'appended');
        assert.deepEqual(await a.read(0, 100), rows);
        assert.deepEqual(await a.read(4, 3), rows.slice(4, 7));
        assert.deepEqual(await a.read(12, 3), []);
        const check = checkOf(rows.at(-1)!.json);
        assert.deepEqual(await a.state(), { ...START, head: 12, tail: 1, check, term });
      }),
    );
    it(
      'site log - the same append again adds nothing; one that begins with it adds the rest; another one is refused',
      withLogs(async ({ a }) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 10));
        const rows = logRows(at, 9);
        assert.equal(await a.append(term, 0, rows.slice(0, 4)), 'appended');
        assert.equal(await a.append(term, 0, rows.slice(0, 4)), 'appended');
        assert.equal(await a.append(term, 0, rows), 'appended');
        assert.deepEqual(await a.read(0, 100), rows);
        assert.equal(await a.append(term, 0, logRows(START, 4, 'two')), 'other');
        assert.equal(await a.append(term, 8, logRows({ head: 8, check: 'cafe0001' }, 3, 'two')), 'other');
        assert.deepEqual(await a.read(0, 100), rows);
      }),
    );
    it(
      'site log - an append with a lost answer is settled by calling again',
      withLogs(async ({ a }, place) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 10));
        const rows = logRows(at, 6);
        place.loseAnswer();
        await assert.rejects(a.append(term, 0, rows.slice(0, 2)));
        await until('the log to answer', () =>
          a.append(term, 0, rows).then(
            (outcome) => outcome === 'appended',
            () => false,
          ),
        );
        assert.deepEqual(await a.read(0, 100), rows);
      }),
    );
    it(
      'site log - another writer waits while the time runs; a former one is fenced at its next append',
      withLogs(async ({ a, b }) => {
        await a.begin(START);
        const first = won(await a.take(A, 0.3));
        const held = await b.take(B, 10);
        assert.ok(!held.taken);
        assert.deepEqual(held.by, A);
        assert.equal(await a.append(first.term, 0, logRows(first, 2)), 'appended');
        const second = await until('the time to run out', async () => {
          const taken = await b.take(B, 10);
          return taken.taken ? taken.state : null;
        });
        assert.equal(second.term, first.term + 1);
        assert.equal(await a.append(first.term, 2, logRows(await stateOf(a), 1, 'late')), 'deposed');
        assert.equal(await a.renew(first.term, 10), false);
        assert.equal(await a.restart(first.term, { epoch: 'x', began: 100 }), false);
        await a.trim(first.term, 3);
        assert.equal(await b.append(second.term, 2, logRows(second, 1)), 'appended');
        assert.equal(await b.renew(second.term, 10), true);
        assert.deepEqual(
          (await b.read(0, 10)).map((row) => row.seq),
          [1, 2, 3],
        );
      }),
    );
    it(
      'site log - the next process of the same holder takes it at once, and fences the one before',
      withLogs(async ({ a, b }) => {
        await a.begin(START);
        const before = won(await a.take(A, 60));
        const after = won(await b.take(A, 60));
        assert.equal(after.term, before.term + 1);
        assert.equal(await a.append(before.term, 0, logRows(before, 1)), 'deposed');
        assert.equal(await b.append(after.term, 0, logRows(after, 1)), 'appended');
      }),
    );
    it(
      'site log - its time runs out and nobody took it: the writer goes on',
      withLogs(async ({ a, b }) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 0.01));
        assert.equal(await a.append(term, 0, logRows(at, 1)), 'appended');
        assert.equal(await a.renew(term, 60), true);
        assert.equal((await b.take(B, 1)).taken, false);
      }),
    );
    it(
      'site log - a writer passes it on: at once to anybody, or first to the named one',
      withLogs(async ({ a, b }) => {
        await a.begin(START);
        const first = won(await a.take(A, 60));
        assert.equal(await a.pass(first.term, null, 60), true);
        const second = won(await b.take(B, 60));
        assert.equal(await a.pass(first.term, null, 60), false);
        assert.equal(await b.pass(second.term, A, 60), true);
        const refused = await b.take({ id: 'c', location: 'host c' }, 60);
        assert.ok(!refused.taken);
        assert.deepEqual(refused.by, A);
        assert.equal(won(await a.take(A, 60)).term, second.term + 1);
      }),
    );
    it(
      'site log - two writers at once: one order, each row once',
      withLogs(async ({ a, b }) => {
        await a.begin(START);
        const taken = await Promise.all([a.take(A, 60), b.take(B, 60)]);
        assert.equal(taken.filter((one) => one.taken).length, 1);
        const { term } = await stateOf(a);
        const outcomes = await Promise.all([
          a.append(term, 0, logRows(START, 3, 'a')),
          b.append(term, 0, logRows(START, 3, 'b')),
        ]);
        assert.deepEqual(outcomes.toSorted(), ['appended', 'other']);
        const rows = await a.read(0, 100);
        assert.deepEqual(rows, logRows(START, 3, outcomes[0] === 'appended' ? 'a' : 'b'));
      }),
    );
    it(
      'site log - several processes append at once, and answers get lost: dense, each row once, each in its order',
      withLogs(async ({ a, b }, place) => {
        await a.begin(START);
        const { term } = won(await a.take(A, 60));
        const groups = 25;
        place.loseAnswer();
        await Promise.all([
          appendGroups(b, { term, word: 'b', groups }),
          ...['c', 'd', 'e'].map((word) => place.appendApart({ term, word, groups })),
        ]);
        const rows = await until('an answer', () => a.read(0, 1_000).catch(() => null));
        assert.deepEqual(
          rows.map((row) => row.seq),
          rows.map((_, i) => i + 1),
        );
        let before = firstCheck(EPOCH);
        for (const row of rows) {
          assert.ok(follows(row, before), `${row.seq} follows`);
          before = checkOf(row.json);
        }
        const words = rows.map((row) => (JSON.parse(row.json) as { word: string }).word);
        for (const word of ['b', 'c', 'd', 'e'])
          assert.deepEqual(
            words.filter((one) => one.startsWith(word)),
            Array.from({ length: groups * 3 }, (_, i) => `${word}${i}`),
          );
      }),
    );
    it(
      'site log - an append with a lost answer is settled, also where others appended after it',
      withLogs(async ({ a, b }, place) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 60));
        const rows = logRows(at, 2);
        await b.state();
        place.loseAnswer();
        await assert.rejects(a.append(term, 0, rows));
        const others = logRows(await until('an answer', () => b.state().catch(() => null)), 3, 'two');
        assert.equal(await b.append(term, 2, others), 'appended');
        const again = await until('an answer', () => a.append(term, 0, rows).catch(() => null));
        assert.equal(again, 'appended');
        assert.equal(await a.append(term, 0, [...rows, ...logRows(at, 1, 'three')]), 'other');
        assert.deepEqual(await a.read(0, 100), [...rows, ...others]);
      }),
    );
    it(
      'site log - a lost tail is seen at the next append, and the rows can be put back',
      withLogs(async ({ a }, place) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 60));
        const rows = logRows(at, 8);
        await a.append(term, 0, rows.slice(0, 7));
        await place.cut(3);
        const retried = async (after: number, some: readonly JournalRow[]) =>
          until('an answer', () => a.append(term, after, some).catch(() => null));
        assert.equal(await retried(7, rows.slice(7)), 'behind');
        const { head, check } = await stateOf(a);
        assert.deepEqual({ head, check }, { head: 4, check: checkOf(rows[3]!.json) });
        assert.equal(await a.append(term, 4, rows.slice(4, 7)), 'appended');
        assert.equal(await a.append(term, 7, rows.slice(7)), 'appended');
        assert.deepEqual(await a.read(0, 100), rows);
      }),
    );
    it(
      'site log - trimmed rows are gone; head, check and numbering stay',
      withLogs(async ({ a }) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 60));
        const rows = logRows(at, 10);
        await a.append(term, 0, rows);
        await a.trim(term, 6);
        assert.deepEqual(await a.read(0, 100), rows.slice(5));
        await a.trim(term, 3);
        assert.equal((await stateOf(a)).tail, 6);
        await a.trim(term, 1000);
        const check = checkOf(rows.at(-1)!.json);
        assert.deepEqual(await a.state(), { ...START, head: 10, tail: 11, check, term });
        assert.equal(await a.append(term, 10, logRows({ head: 10, check }, 1)), 'appended');
      }),
    );
    it(
      'site log - another epoch begins after what is kept',
      withLogs(async ({ a }) => {
        await a.begin(START);
        const { term, ...at } = won(await a.take(A, 60));
        await a.append(term, 0, logRows(at, 3));
        assert.equal(await a.restart(term, { epoch: 'two', began: 3 }), false);
        assert.equal(await a.restart(term, { epoch: 'two', began: 5 }), true);
        const state = await stateOf(a);
        assert.deepEqual(state, { epoch: 'two', began: 5, head: 4, tail: 1, check: firstCheck('two'), term });
        assert.equal(await a.append(term, 4, logRows(state, 2)), 'appended');
        assert.deepEqual(
          (await a.read(0, 10)).map((row) => row.seq),
          [1, 2, 3, 5, 6],
        );
      }),
    );
  });
}
