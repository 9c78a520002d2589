import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Envelope } from '@offhook/contract/events.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { memoryPlace, openMemoryJournal } from '../adapters/memory/journal-store.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import { JournalGapError, eventOf, openJournal } from './journal.ts';

const node = nodeId('ast1');
const ready = (n: number): DomainEvent => ({
  type: 'config.drift',
  subject: 'config',
  at: 1_795_222_133_000 + n,
  observed: 'live',
  data: { files: [{ name: `"lunch" ${n}`, hand_written: false, missing: false, since: '' }] },
});
const many = (count: number): DomainEvent[] => Array.from({ length: count }, (_, i) => ready(i));
const open = () => {
  const store = openMemoryJournal();
  return { store, journal: openJournal({ store, node }) };
};

test('journal - a row is the CloudEvents envelope of its event, and gives the event back', () => {
  const { journal } = open();
  const events = [ready(0), { ...ready(1), caused_by: 'act-1' }];
  const rows = journal.append(events);
  const envelopes = rows.map((row) => Envelope.parse(JSON.parse(row.json)));
  assert.deepEqual(envelopes[1], {
    specversion: '1.0',
    id: `${journal.epoch}:2`,
    source: '/offhook/ast1',
    type: 'config.drift',
    subject: 'config',
    time: '2026-11-21T00:48:53.001Z',
    seq: 2,
    observed: 'live',
    caused_by: 'act-1',
    data: events[1]?.data,
    check: envelopes[1]?.check,
  });
  assert.notEqual(envelopes[1]?.check, envelopes[0]?.check);
  assert.deepEqual(rows.map(eventOf), events);
  assert.equal(journal.head, 2);
});

test('journal - reading gives the same rows from memory and from the store', () => {
  const { store, journal } = open();
  for (let i = 0; i < 30; i++) journal.append(many(500));
  for (const [after, limit] of [
    [0, 10],
    [5000, 3],
    [14_998, 10],
    [15_000, 10],
    [11_000, 4000],
  ] as const) {
    assert.deepEqual(journal.read(after, limit), store.read(after, limit), `after ${after}`);
  }
});

test('journal - waitFor resolves at the commit and rejects on abort', async () => {
  const { journal } = open();
  let seen = 0;
  const waited = journal.waitFor(2).then(() => (seen = journal.head));
  journal.append([ready(0)]);
  await Promise.resolve();
  assert.equal(seen, 0);
  journal.append([ready(1)]);
  assert.equal(await waited, 2);
  await journal.waitFor(1);
  const stop = new AbortController();
  const never = journal.waitFor(99, stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(never, /stopped/);
});

test('journal - waitFor passes over the seqs that a new epoch left out', async () => {
  const place = memoryPlace();
  openJournal({ store: openMemoryJournal(place), node }).append(many(3));
  // After a restore it is not known how many rows the lost end had.
  place.seal = { ...place.seal!, exact: false };
  const journal = openJournal({ store: openMemoryJournal(place), node });
  assert.ok(journal.head > 1_000, 'the head is a seq without a row');
  let woken = 0;
  const waits = [4, journal.head].map((seq) => journal.waitFor(seq).then(() => (woken += 1)));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(woken, 0);
  await journal.waitFor(3);
  journal.append([ready(0)]);
  await Promise.all(waits);
});

test('journal - followers at any cursor see every row once, in order, across backfill and live', async () => {
  const { journal } = open();
  journal.append(many(1700));
  const stop = new AbortController();
  const total = 4000;
  const follow = async (cursor: number, dawdle: boolean): Promise<number[]> => {
    const seen: number[] = [];
    for await (const rows of journal.follow(cursor, stop.signal)) {
      assert.ok(rows.length <= 500);
      seen.push(...rows.map((row: JournalRow) => row.seq));
      if (dawdle) await new Promise((resolve) => setImmediate(resolve));
      if (seen.at(-1) === total) break;
    }
    return seen;
  };
  const followers = [
    [0, true],
    [1234, false],
    [1700, true],
  ] as const;
  const all = followers.map(([cursor, dawdle]) => follow(cursor, dawdle));
  while (journal.head < total) {
    journal.append(many(Math.min(7, total - journal.head)));
    if (journal.head % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  for (const [i, seen] of (await Promise.all(all)).entries()) {
    const from = followers[i]?.[0] ?? 0;
    assert.deepEqual(
      seen,
      Array.from({ length: total - from }, (_, n) => from + 1 + n),
    );
  }
});

test('journal - a follower ends with its signal, also while it waits', async () => {
  const { journal } = open();
  const stop = new AbortController();
  const ended = (async () => {
    for await (const rows of journal.follow(0, stop.signal)) assert.fail(`${rows.length} rows of nothing`);
  })();
  await Promise.resolve();
  stop.abort();
  await ended;
});

test('journal - a cursor that is too old, or not of this log, is a gap', async () => {
  const { store, journal } = open();
  journal.append(many(10));
  store.trim(6);
  const never = new AbortController().signal;
  await assert.rejects(journal.follow(2, never).next(), JournalGapError);
  await assert.rejects(journal.follow(11, never).next(), JournalGapError);
  const page = await journal.follow(5, never).next();
  assert.equal(page.value?.[0]?.seq, 6);
});
