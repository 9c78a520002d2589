import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { until } from '../../test/support/until.ts';
import { memoryPlace, openMemoryJournal } from '../adapters/memory/journal-store.ts';
import { silent } from '../core/log.ts';
import type { StreamEnd } from '../ports/bus.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import { EventFeed } from './event-feed.ts';
import { openJournal } from './journal.ts';

const row = (seq: number, word = ''): JournalRow => ({
  seq,
  type: 'agent.ready',
  subject: 'agents/1003',
  at: seq * 1_000,
  topics: 'agents',
  json: `${seq}${word}`,
});
const rowsOf = (from: number, to: number): JournalRow[] =>
  Array.from({ length: to - from + 1 }, (_, i) => row(from + i));
/** Seqs that a stream with this end gets from a journal of these rows. */
async function feed(
  t: TestContext,
  end: StreamEnd,
  {
    rows = rowsOf(1, 200),
    began = 1,
    fails = 0,
    page = Infinity,
    onRead = () => {},
  }: { rows?: JournalRow[]; began?: number; fails?: number; page?: number; onRead?: () => void },
) {
  const got: number[] = [];
  let left = fails;
  let now = end;
  const [tail, head] = [rows[0]!.seq, rows.at(-1)!.seq];
  const journal = {
    began,
    head,
    tail,
    read(after: number, limit: number) {
      onRead();
      return rows.filter(({ seq }) => seq > after).slice(0, Math.min(limit, page));
    },
    waitFor: (_: number, signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  };
  const stream = {
    open: () => Promise.resolve(now),
    append(some: readonly JournalRow[]) {
      // Half of it arrived.
      const taken = left > 0 ? some.slice(0, some.length >> 1) : some;
      got.push(...taken.map(({ seq }) => seq));
      if (taken.length > 0) now = { at: 'event', event: taken.at(-1)! };
      return left-- > 0 ? Promise.reject(new Error('late')) : Promise.resolve();
    },
  };
  const one = new EventFeed({ journal, stream, log: silent });
  t.after(() => one.close());
  return { one, got };
}
const seqs = (from: number, to: number): number[] => rowsOf(from, to).map(({ seq }) => seq);

test('event feed - a new stream gets every event that is kept, one with events the next ones', async (t) => {
  for (const [end, from] of [
    [{ at: 'begin' }, 1],
    [{ at: 'event', event: row(150) }, 151],
    [{ at: 'event', event: row(200) }, 201],
    [{ at: 'expired', since: 120_000 }, 120],
    [{ at: 'expired', since: 900_000 }, 201],
  ] as const) {
    const { one, got } = await feed(t, end, {});
    await until('all', () => one.finding().ok && one.behind() === 0);
    assert.deepEqual(got, seqs(from, 200));
  }
});
test('event feed - other work runs between the reads that look for the time of an expired stream', async (t) => {
  let [pages, at_once, most] = [0, 0, 0];
  const onRead = (): void => {
    pages += 1;
    most = Math.max(most, ++at_once);
    setImmediate(() => (at_once = 0));
  };
  const { one } = await feed(t, { at: 'expired', since: 199_000 }, { page: 10, onRead });
  await until('all', () => one.finding().ok && one.behind() === 0);
  assert.ok(pages > 10, `${pages} reads`);
  assert.ok(most <= 4, `${most} reads in one turn of the loop`);
});
test('event feed - an append of which a part arrived goes on after it', async (t) => {
  const { one, got } = await feed(t, { at: 'begin' }, { fails: 3 });
  await until('all', () => one.behind() === 0);
  assert.deepEqual(got, seqs(1, 200));
});
test('event feed - it goes on after a gap where the journal no longer has the events, or has a new epoch', async (t) => {
  const trimmed = await feed(t, { at: 'event', event: row(50) }, { rows: rowsOf(100, 200) });
  await until('all', () => trimmed.one.behind() === 0);
  assert.deepEqual(trimmed.got, seqs(100, 200));
  const renewed = await feed(t, { at: 'event', event: row(90, 'other') }, { began: 101 });
  await until('all', () => renewed.one.behind() === 0);
  assert.deepEqual(renewed.got, seqs(101, 200));
});
test('event feed - events that retention deletes before they are appended are reported', async (t) => {
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  const append = (count: number) =>
    journal.append(
      Array.from({ length: count }, () => ({
        type: 'config.drift' as const,
        subject: 'config',
        at: 1_795_222_133_000,
        observed: 'live' as const,
        data: { files: [] },
      })),
    );
  append(200);
  const got: JournalRow[] = [];
  const stream = {
    open: async (): Promise<StreamEnd> =>
      got.length === 0 ? { at: 'begin' } : { at: 'event', event: got.at(-1)! },
    async append(rows: readonly JournalRow[]) {
      got.push(...rows);
      if (got.length === rows.length) journal.trim(150);
    },
  };
  const warned: object[] = [];
  const one = new EventFeed({
    journal,
    stream,
    log: { ...silent, warn: (fields) => void warned.push(fields) },
  });
  t.after(() => one.close());
  await until('all', () => one.finding().ok && one.behind() === 0);
  const first = got.findIndex(({ seq }) => seq === 150);
  assert.deepEqual(warned, [{ stored: first, from: 149 }]);
  assert.deepEqual(
    got.map(({ seq }) => seq),
    [...seqs(1, first), ...seqs(150, 200)],
  );
});
test('event feed - a stream that ends with another event than the journal is left alone, and named', async (t) => {
  for (const event of [row(90, 'other'), row(201)]) {
    const { one, got } = await feed(t, { at: 'event', event }, {});
    await until('the fault', () => /another event/.test(one.finding().detail));
    assert.deepEqual([got, one.finding().ok], [[], false]);
  }
});
test('event feed - after a restart with a new epoch it waits for the first event, and other work runs', async (t) => {
  const event: DomainEvent = {
    type: 'config.drift',
    subject: 'config',
    at: 1_795_222_133_000,
    observed: 'live',
    data: { files: [] },
  };
  const place = memoryPlace();
  const open = () => openJournal({ store: openMemoryJournal(place), node: nodeId('ast1') });
  const [newest] = open().append([event]);
  place.seal = { ...place.seal!, exact: false };
  const journal = open();
  let reads = 0;
  const read = (after: number, limit: number): readonly JournalRow[] => {
    // A feed that reads without a pause would let no other work run, and this test would never end.
    if ((reads += 1) > 100) throw new Error('reads without a pause');
    return journal.read(after, limit);
  };
  const got: number[] = [];
  const stream = {
    open: () => Promise.resolve<StreamEnd>({ at: 'event', event: newest! }),
    append: async (rows: readonly JournalRow[]) => void got.push(...rows.map(({ seq }) => seq)),
  };
  const one = new EventFeed({
    journal: Object.create(journal, { read: { value: read } }),
    stream,
    log: silent,
  });
  t.after(() => one.close());
  await until('the first read', () => reads > 0);
  const [{ seq } = { seq: 0 }] = journal.append([event]);
  await until('the event', () => got.length > 0);
  assert.deepEqual(got, [seq]);
  assert.ok(reads < 10, `${reads} reads`);
});
