import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { DEFAULT_SERVICE_LEVEL } from '@offhook/contract/wallboard.ts';
import { openMemoryJournal } from '../../adapters/memory/journal-store.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { eventOf, openJournal } from '../../journal/journal.ts';
import type { LocalJournal as Journal } from '../../journal/journal.ts';
import type { JournalStore } from '../../ports/journal-store.ts';
import type { Store } from '../../ports/store.ts';
import { manualClock } from '../../../test/support/sessions-fixture.ts';
import { emptyBoard, writeBoard } from './board.ts';
import type { Board } from './board.ts';
import { Counter } from './counter.ts';
import { zoneCalendar } from './days.ts';
import { figuresOf } from './figures.ts';
import { Gaps, isSettled } from './gaps.ts';
import { SumTable } from './sum-table.ts';
import { WallboardStore } from './store.ts';
import { SLOT_MS, fold, noSums, slotOf, writeSums } from './sums.ts';
import { T0, at, emitted } from '../../../test/support/queue-story.ts';

const calendar = zoneCalendar('Europe/Berlin');
const QUEUES = ['support', 'sales'];

/** A database of its own, and a journal that a test may replace. */
async function rig() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-wallboard-'));
  const store = await openTestStore(path.join(folder, 'offhook.db'));
  const clock = manualClock(T0);
  let broken = false;
  const breaking: Store = {
    ...store,
    transaction: async (work) => {
      if (broken) throw new ServiceError('store_unavailable', 'the disk is full');
      return await store.transaction(work);
    },
  };
  const wallboardStore = await WallboardStore.open(breaking);
  return {
    clock,
    store: wallboardStore,
    database: store,
    break(on: boolean) {
      broken = on;
    },
    open: (journal: Journal): Promise<Counter> =>
      Counter.open({ store: wallboardStore, journal, eventOf, clock, calendar, log: silent }),
    async [Symbol.asyncDispose]() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
const journalOn = (store: JournalStore): Journal => openJournal({ store, node: nodeId('ast1') });
const feed = (counter: Counter, journal: Journal, events: readonly DomainEvent[]): void => {
  counter.take(journal.append(events), events);
};
/** Gaps as a reply has them. */
const shown = ({ gaps }: Counter) =>
  gaps.map((gap) => {
    const { from, to, reason } = gap;
    return { from, to, reason, ...(isSettled(gap) ? { settled: true } : {}) };
  });
const linkUp = (node: string, ms: number): DomainEvent => ({
  type: 'engine.link_up',
  subject: `engine/${node}`,
  at: ms,
  observed: 'live',
  data: { node: nodeId(node), boot_id: `boot of ${node}` },
});
const linkDown = (node: string, ms: number): DomainEvent => ({
  type: 'engine.link_down',
  subject: `engine/${node}`,
  at: ms,
  observed: 'live',
  data: { node: nodeId(node), reason: 'cut' },
});

/** The board as an earlier version wrote it: with the start of the newest engine only. */
const earlier = (board: Board, engine: string): string =>
  JSON.stringify({
    ...(JSON.parse(writeBoard(board)) as object),
    engines: undefined,
    unheard: undefined,
    leader: undefined,
    engine,
  });

async function storedSince(store: WallboardStore, first: number): Promise<SumTable> {
  const table = new SumTable();
  for await (const rows of store.since(first))
    for (const { of, name, slot, sums } of rows) fold(table.at(of, name, slot), sums);
  return table;
}
test('wallboard counter - a gap of a deleted journal is not replaced by an absence with the same start', () => {
  const gaps = new Gaps([{ from: 1, to: 2, reason: 'retention' }], emptyBoard());
  gaps.onStart(1);
  assert.ok(gaps.onLinkUp('a', 5, false));
  assert.deepEqual(
    gaps.all.map(({ from, to, reason }) => [from, to, reason]),
    [
      [1, 2, 'retention'],
      [1, 5, 'unheard'],
    ],
  );
});

/** All counts and open visits as text: equal texts mean equal figures for every query. */
async function whole(counter: Counter, store: WallboardStore): Promise<string> {
  await counter.save();
  const rows = [...(await storedSince(store, 0)).rows()]
    .map(({ of, name, slot, sums }) => `${of}/${name}/${slot} ${writeSums(sums)}`)
    .sort();
  const first = slotOf(DAY) + 13;
  const later = await storedSince(store, first);
  for (const kind of ['queue', 'agent'] as const) {
    // By days and edges, as a long span is read.
    const byParts = new SumTable();
    for await (const page of store.parts(kind, first, first + 127)) {
      for (const { name, sums } of page) fold(byParts.at(kind, name, 0), sums);
    }
    const bySlots = new SumTable();
    for (const row of later.rows()) {
      if (row.of === kind && row.slot < first + 127) fold(bySlots.at(kind, row.name, 0), row.sums);
    }
    const text = (table: SumTable): string[] =>
      [...table.rows()].map((r) => `${r.name} ${writeSums(r.sums)}`).sort();
    assert.deepEqual(text(byParts), text(bySlots));
  }
  return [...rows, writeBoard(counter.board), counter.position.seq].join('\n');
}

interface Visit {
  readonly queue: string;
  readonly join: number;
  readonly wait: number;
  /** Milliseconds beyond the whole seconds; null for an event of an older release. */
  readonly rest_ms: number | null;
  readonly outcome: 'answered' | 'abandoned' | 'other' | 'engine_lost' | 'never';
  readonly agent: number;
  readonly talk: number;
  readonly wrap: number;
  readonly flaws: { readonly again: boolean; readonly resync: boolean; readonly twice: boolean };
}
const visit: fc.Arbitrary<Visit> = fc.record({
  queue: fc.constantFrom(...QUEUES),
  // Over the night in which the clocks of the zone go back.
  join: fc.nat(40 * 3600),
  wait: fc.oneof(fc.nat(30), fc.nat(2000)),
  rest_ms: fc.option(fc.nat(999)),
  outcome: fc.constantFrom('answered', 'answered', 'abandoned', 'other', 'engine_lost', 'never'),
  agent: fc.nat(3),
  talk: fc.nat(900),
  wrap: fc.nat(60),
  flaws: fc.record({ again: fc.boolean(), resync: fc.boolean(), twice: fc.boolean() }),
});
const DAY = Date.UTC(2026, 9, 24, 6);
/** Events have whole milliseconds. */
const ms = (seconds: number): number => DAY + Math.round(seconds * 1000);

/** Events of these visits in order, with the repetitions of a resync and duplicates. */
function eventsOf(visits: readonly Visit[]): DomainEvent[] {
  const events: DomainEvent[] = ['2001', '2002', '2003', '2004'].flatMap((agent, i) => [
    emitted.loggedIn(ms(i), agent),
    emitted.ready(ms(i), agent, 'support'),
    emitted.loggedIn(ms(i), agent, 'sales'),
    ...(i % 2 === 0 ? [emitted.ready(ms(i + 60), agent, 'sales')] : []),
  ]);
  for (const [i, v] of visits.entries()) {
    const [call, agent, end] = [`c${i}`, `200${v.agent + 1}`, v.join + v.wait];
    const joined = emitted.joined(ms(v.join), call, v.queue);
    events.push(joined);
    if (v.flaws.again) events.push({ ...joined, at: ms(v.join + v.wait / 2), observed: 'resync' });
    if (v.outcome === 'never') continue;
    const observed = v.flaws.resync ? 'resync' : 'live';
    const bare =
      v.outcome === 'abandoned'
        ? emitted.abandoned(ms(end), call, v.wait, v.queue)
        : emitted.left(ms(end), call, v.wait, v.outcome, observed, v.queue);
    const ended = v.rest_ms === null ? bare : emitted.exact(bare, v.rest_ms);
    events.push(ended);
    if (v.flaws.twice) events.push(ended);
    if (v.outcome !== 'answered') {
      events.push(emitted.offer('offer.timeout', ms(end), agent, v.queue), emitted.callEnded(ms(end), call));
      continue;
    }
    events.push(
      emitted.talking(ms(end), agent, call, v.queue),
      emitted.held(ms(end + v.talk / 3), agent),
      emitted.retrieved(ms(end + v.talk / 2), agent),
      emitted.wrapUp(ms(end + v.talk), agent, call, v.talk, ms(end + v.talk + 60), v.queue),
      emitted.callEnded(ms(end + v.talk), call),
      emitted.ready(ms(end + v.talk + v.wrap), agent, null),
    );
  }
  return events
    .map((event, i) => ({ event, i }))
    .sort((a, b) => a.event.at - b.event.at || a.i - b.i)
    .map((x) => x.event);
}
/** Independent recount of the visits of one queue that joined in the span. */
function recount(visits: readonly Visit[], queue: string, from: number, to: number, last: number) {
  const mine = visits.filter((v) => v.queue === queue && ms(v.join) >= from && ms(v.join) < to);
  const { threshold_seconds, short_abandon_seconds } = DEFAULT_SERVICE_LEVEL;
  const forgotten = (v: Visit): boolean => v.outcome === 'never' && ms(v.join) < last - 86_400_000;
  const counted = mine.filter((v) => v.outcome !== 'engine_lost' && !forgotten(v));
  const of = (outcome: Visit['outcome']): Visit[] => counted.filter((v) => v.outcome === outcome);
  const sum = (some: readonly Visit[]): number =>
    Math.floor(some.reduce((n, v) => n + v.wait * 1000 + (v.rest_ms ?? 0), 0) / 1000);
  const over = counted.filter((v) => v.outcome !== 'never');
  return {
    offered: counted.length,
    calls: mine.length,
    answered: of('answered').length,
    answered_in_threshold: of('answered').filter((v) => v.wait <= threshold_seconds).length,
    abandoned: of('abandoned').length,
    abandoned_short: of('abandoned').filter((v) => v.wait < short_abandon_seconds).length,
    abandoned_in_threshold: of('abandoned').filter((v) => v.wait <= threshold_seconds).length,
    flowed_out: of('other').length,
    open: of('never').length,
    lost: mine.length - counted.length,
    ended_unobserved: over.filter((v) => v.flaws.resync && v.outcome !== 'abandoned').length,
    wait_answered_seconds: sum(of('answered')),
    wait_abandoned_seconds: sum(of('abandoned')),
    longest_wait_seconds: Math.max(0, ...over.map((v) => v.wait)),
  };
}
const sumsIn = async (counter: Counter, queue: string, span: { from: number; to: number }) => {
  const all = noSums();
  for await (const page of counter.slots('queue', queue, span, 0)) {
    for (const [, sums] of page) fold(all, sums);
  }
  return figuresOf(all, DEFAULT_SERVICE_LEVEL, span, 0).sums;
};

test('wallboard counter - whatever comes in whatever order: figures equal a recount of the visits', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(visit, { maxLength: 60 }), fc.nat(170), fc.nat(170), async (visits, a, b) => {
      await using t = await rig();
      t.clock.advance(DAY + 30 * 3_600_000 - t.clock.now());
      const journal = journalOn(openMemoryJournal());
      const counter = await t.open(journal);
      const events = eventsOf(visits);
      feed(counter, journal, events);
      // Visits without an end are looked for at the first event of a slot.
      const last = events.find((e) => slotOf(e.at) === slotOf(events.at(-1)!.at))!.at;
      const spans = [
        { from: DAY, to: DAY + 3 * 86_400_000 },
        { from: DAY + Math.min(a, b) * SLOT_MS, to: DAY + (Math.max(a, b) + 1) * SLOT_MS },
        calendar.day('2026-10-25'),
      ];
      for (const queue of QUEUES) {
        for (const span of spans) {
          const sums = await sumsIn(counter, queue, span);
          const expected = recount(visits, queue, span.from, span.to, last);
          for (const [name, value] of Object.entries(expected)) {
            assert.equal(sums[name as keyof typeof expected], value, `${queue} ${name}`);
          }
        }
      }
    }),
    { numRuns: 20 },
  );
});

test('wallboard counter - figures after restarts, kills and a full disk equal those of one full replay, bit for bit', async () => {
  const step = fc.record({
    rows: fc.integer({ min: 1, max: 60 }),
    and: fc.constantFrom('nothing', 'save', 'stop', 'kill', 'full disk', 'meanwhile', 'later'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(visit, { minLength: 5, maxLength: 40 }),
      fc.array(step, { minLength: 3, maxLength: 12 }),
      async (visits, steps) => {
        await using live = await rig();
        await using fresh = await rig();
        live.clock.advance(DAY - live.clock.now());
        fresh.clock.advance(DAY + 2 * 86_400_000 - fresh.clock.now());
        const journal = journalOn(openMemoryJournal());
        let counter = await live.open(journal);
        const events = eventsOf(visits);
        for (const { rows, and } of steps) {
          feed(counter, journal, events.splice(0, rows));
          if (and === 'later') live.clock.advance(5 * 3_600_000);
          if (and === 'save' || and === 'stop') await counter.save();
          if (and === 'full disk' && counter.unsaved) {
            live.break(true);
            await assert.rejects(counter.save());
            live.break(false);
          }
          if (and === 'meanwhile') {
            const saved = counter.save();
            feed(counter, journal, events.splice(0, rows));
            await saved;
          }
          // A killed service keeps only the journal; counts that were not saved are lost.
          if (and === 'stop' || and === 'kill') counter = await live.open(journal);
        }
        feed(counter, journal, events);
        const replayed = await fresh.open(journal);
        assert.equal(await whole(counter, live.store), await whole(replayed, fresh.store));
      },
    ),
    { numRuns: 12 },
  );
});

test('wallboard counter - an engine that went on unheard leaves a gap, one that began anew none', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  let counter = await t.open(journal);
  const node = 'ast1';
  const engine = (event: Pick<DomainEvent, 'type' | 'data'>, ms: number): DomainEvent =>
    ({ ...event, subject: `engine/${node}`, at: ms, observed: 'live' }) as DomainEvent;
  const down = (ms: number) => engine({ type: 'engine.link_down', data: { node, reason: 'cut' } }, ms);
  const up = (ms: number, boot_id = 'boot-1'): DomainEvent[] => [
    engine({ type: 'engine.link_up', data: { node, boot_id } }, ms),
    engine({ type: 'engine.resynced', data: { node, boot_id, restarted: false, differences: 1 } }, ms),
  ];
  feed(counter, journal, [...up(at(0)), emitted.joined(at(0, 1), 'a')]);
  assert.deepEqual(shown(counter), []);
  counter = await t.open(journal);
  feed(counter, journal, up(at(0, 3)));
  const reason = 'unheard';
  assert.deepEqual(shown(counter), [{ from: at(0, 1), to: at(0, 3), reason }]);
  feed(counter, journal, [down(at(0, 5)), ...up(at(0, 6))]);
  const both = { from: at(0, 1), to: at(0, 6), reason };
  assert.deepEqual(shown(counter), [both], 'soon after is the same');
  await counter.save();
  feed(counter, journal, [down(at(2)), ...up(at(2, 1))]);
  const later = { from: at(2), to: at(2, 1), reason };
  assert.deepEqual(shown(counter), [both, later]);
  await counter.save();
  counter = await t.open(journal);
  feed(counter, journal, up(at(3), 'boot-2'));
  assert.deepEqual(shown(counter), [both, later], 'kept, and another engine had nothing to say');
  const settled = { finding_id: 1, from: '', to: new Date(at(1)).toISOString() };
  feed(counter, journal, [engine({ type: 'history.settled', data: settled }, at(4))]);
  await counter.save();
  counter = await t.open(journal);
  assert.deepEqual(shown(counter), [{ ...both, settled: true }, later]);
});
test('wallboard counter - with two engines, each has its own gaps, also over a restart of the service', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const engine = (type: string, node: string, ms: number, more: object): DomainEvent =>
    ({ type, subject: `engine/${node}`, at: ms, observed: 'live', data: { node, ...more } }) as DomainEvent;
  const up = (node: string, ms: number) => engine('engine.link_up', node, ms, { boot_id: `boot of ${node}` });
  const down = (node: string, ms: number) => engine('engine.link_down', node, ms, { reason: 'cut' });
  const resynced = (node: string, ms: number) =>
    engine('engine.resynced', node, ms, { boot_id: `boot of ${node}`, restarted: false, differences: 1 });
  // At a start, the resync of the first engine reports the state of both.
  const start = (ms: number) => [up('a', ms), resynced('a', ms), up('b', ms)];
  const reason = 'unheard';
  let counter = await t.open(journal);
  feed(counter, journal, [...start(at(0)), emitted.joined(at(0, 1), 'a')]);
  assert.deepEqual(shown(counter), []);
  feed(counter, journal, [down('b', at(1)), resynced('a', at(1, 5)), up('b', at(1, 20))]);
  feed(counter, journal, [resynced('b', at(1, 20)), resynced('b', at(1, 50))]);
  const first = { from: at(1), to: at(1, 20), reason };
  assert.deepEqual(shown(counter), [first]);
  await counter.save();
  counter = await t.open(journal);
  feed(counter, journal, start(at(3)));
  const second = { from: at(1, 50), to: at(3), reason };
  assert.deepEqual(shown(counter), [first, second]);
  feed(counter, journal, [down('b', at(5)), down('a', at(5, 10)), up('a', at(5, 12)), up('b', at(5, 30))]);
  const [inner, outer] = [
    { from: at(5, 10), to: at(5, 12), reason },
    { from: at(5), to: at(5, 30), reason },
  ];
  assert.deepEqual(shown(counter), [first, second, inner, outer]);
  feed(counter, journal, [emitted.left(at(6), 'a', 359)]);
  await counter.save();
  // Engine b is reached later than a.
  counter = await t.open(journal);
  feed(counter, journal, [up('a', at(7)), emitted.joined(at(7, 10), 'b'), up('b', at(7, 20))]);
  const third = { from: at(6), to: at(7, 20), reason };
  assert.deepEqual(shown(counter).slice(4), [third]);
  await counter.save();
  counter = await t.open(journal);
  assert.deepEqual(shown(counter), [first, second, outer, inner, third]);
});
test('wallboard counter - a settled history of one engine leaves the gaps of another, and a gap of both waits for both', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  let counter = await t.open(journal);
  const settle = (node: string, to: number): void => {
    const data = { finding_id: 1, node, from: rfc3339(T0), to: rfc3339(to) };
    feed(counter, journal, [
      { type: 'history.settled', subject: 'history/1', at: at(6), observed: 'live', data },
    ]);
  };
  const unsettled = (): readonly number[] =>
    counter.gaps
      .filter((gap) => !isSettled(gap))
      .map(({ from }) => from)
      .sort((one, other) => one - other);
  feed(counter, journal, [linkUp('a', at(0)), linkUp('b', at(0)), emitted.joined(at(0, 1), 'a')]);
  counter = await t.open(journal);
  feed(counter, journal, [linkUp('a', at(0, 2)), linkUp('b', at(0, 5)), linkDown('b', at(2))]);
  feed(counter, journal, [linkUp('b', at(2, 30))]);
  const [ofBoth, ofB] = [at(0, 1), at(2)];
  settle('a', at(0, 2));
  settle('a', at(5));
  assert.deepEqual(unsettled(), [ofBoth, ofB]);
  await counter.save();
  counter = await t.open(journal);
  settle('b', at(0, 5));
  assert.deepEqual(unsettled(), [ofB]);
  settle('b', at(2, 30));
  await counter.save();
  counter = await t.open(journal);
  assert.deepEqual(unsettled(), []);
  assert.equal(counter.gaps.length, 2);
});
test('wallboard counter - a gap that an earlier version stored is settled by the history of any engine', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const row = { reason: 'unheard', from_at: at(-2), to_at: at(-1), settled: 0 };
  await t.database
    .db<{ wallboard_gaps: typeof row }>()
    .insertInto('wallboard_gaps')
    .values([row, { ...row, from_at: at(-4), to_at: at(-3), settled: 1 }])
    .execute();
  const counter = await t.open(journal);
  assert.deepEqual(counter.gaps.map(isSettled), [true, false]);
  const data = { finding_id: 1, node: 'b', from: rfc3339(at(-2)), to: rfc3339(at(-1)) };
  feed(counter, journal, [
    { type: 'history.settled', subject: 'history/1', at: at(0), observed: 'live', data },
  ]);
  assert.deepEqual(counter.gaps.map(isSettled), [true, true]);
});
test('wallboard counter - the board of an earlier version has the start of its one engine', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const [node, boot_id] = ['ast1', 'boot-1'];
  const up = (ms: number) =>
    ({
      type: 'engine.link_up',
      subject: `engine/${node}`,
      at: ms,
      observed: 'live',
      data: { node, boot_id },
    }) as const;
  const before = await t.open(journal);
  feed(before, journal, [up(at(0)), emitted.joined(at(0, 1), 'a')]);
  await t.store.save(new SumTable(), before.position, earlier(before.board, boot_id));
  const counter = await t.open(journal);
  feed(counter, journal, [up(at(2))]);
  assert.deepEqual(shown(counter), [{ from: at(0, 1), to: at(2), reason: 'unheard' }]);
});
test('wallboard counter - an update from an earlier version leaves a gap of each engine, also if it is killed between their links', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const up = (node: string, ms: number, boot_id = `boot of ${node}`) =>
    ({
      type: 'engine.link_up',
      subject: `engine/${node}`,
      at: ms,
      observed: 'live',
      data: { node, boot_id },
    }) as const;
  const reason = 'unheard';
  const before = await t.open(journal);
  feed(before, journal, [up('a', at(0)), up('b', at(0)), emitted.joined(at(0, 1), 'a')]);
  assert.deepEqual(shown(before), []);
  await t.store.save(new SumTable(), before.position, earlier(before.board, 'boot of b'));
  let counter = await t.open(journal);
  feed(counter, journal, [up('a', at(2))]);
  assert.deepEqual(shown(counter), [{ from: at(0, 1), to: at(2), reason }]);
  await counter.save();
  counter = await t.open(journal);
  feed(counter, journal, [up('b', at(4))]);
  const gap = { from: at(0, 1), to: at(4), reason };
  assert.deepEqual(shown(counter), [gap], 'soon after is the same');
  feed(counter, journal, [up('a', at(4), 'another boot'), up('b', at(5), 'another boot')]);
  assert.deepEqual(shown(counter), [gap], 'an engine that began anew leaves none');
});
test('wallboard counter - an engine that is away over a restart of the service leaves one gap since its link was lost', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const engine = (type: string, node: string, ms: number, more: object): DomainEvent =>
    ({ type, subject: `engine/${node}`, at: ms, observed: 'live', data: { node, ...more } }) as DomainEvent;
  const up = (node: string, ms: number) => engine('engine.link_up', node, ms, { boot_id: `boot of ${node}` });
  const reason = 'unheard';
  let counter = await t.open(journal);
  feed(counter, journal, [up('a', at(0)), up('b', at(0)), emitted.joined(at(0, 1), 'a')]);
  await counter.save();
  feed(counter, journal, [engine('engine.link_down', 'b', at(1), { reason: 'cut' })]);
  assert.ok(counter.unsaved);
  feed(counter, journal, [emitted.left(at(2), 'a', 119)]);
  await counter.save();
  counter = await t.open(journal);
  feed(counter, journal, [up('a', at(3)), up('b', at(4))]);
  const [own, other] = [
    { from: at(2), to: at(3), reason },
    { from: at(1), to: at(4), reason },
  ];
  assert.deepEqual(shown(counter), [own, other]);
  feed(counter, journal, [emitted.joined(at(5), 'b')]);
  await counter.save();
  counter = await t.open(journal);
  feed(counter, journal, [up('a', at(6)), up('b', at(6))]);
  assert.deepEqual(shown(counter).at(-1), { from: at(5), to: at(6), reason }, 'both were heard since');
});
test('wallboard counter - an absence that began while the service was dead keeps its start over the next starts', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const reason = 'unheard';
  let counter = await t.open(journal);
  const restart = async (): Promise<void> => {
    await counter.save();
    counter = await t.open(journal);
    assert.ok(counter.unsaved, 'a service that is killed soon keeps the start too');
  };
  feed(counter, journal, [linkUp('a', at(0)), linkUp('b', at(0)), emitted.joined(at(0, 1), 'a')]);
  await restart();
  // Engine a is reached late, engine b is not.
  feed(counter, journal, [linkUp('a', at(1)), emitted.left(at(2), 'a', 3600)]);
  await restart();
  feed(counter, journal, [emitted.joined(at(3), 'b')]);
  await restart();
  feed(counter, journal, [linkUp('a', at(4)), linkUp('b', at(5))]);
  const [own, other] = [
    { from: at(2), to: at(4), reason },
    { from: at(0, 1), to: at(5), reason },
  ];
  assert.deepEqual(shown(counter), [own, other]);
});
test('wallboard counter - the engine of a node that does not lead is not away', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  let counter = await t.open(journal);
  for (const [i, leader] of ['a', 'b', 'b', 'a'].entries()) {
    feed(counter, journal, [linkUp(leader, at(2 * i)), emitted.joined(at(2 * i + 1), `c${i}`)]);
    await counter.save();
    counter = await t.open(journal);
  }
  const reason = 'unheard';
  assert.deepEqual(shown(counter), [
    { from: at(3), to: at(4), reason },
    { from: at(5), to: at(6), reason },
  ]);
});
test('wallboard counter - an engine that is added after an update from a version with one engine leaves no gap', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const before = await t.open(journal);
  feed(before, journal, [linkUp('a', at(0)), emitted.joined(at(0, 1), 'a')]);
  await t.store.save(new SumTable(), before.position, earlier(before.board, 'boot of a'));
  let counter = await t.open(journal);
  feed(counter, journal, [linkUp('a', at(1)), emitted.joined(at(2), 'b')]);
  await counter.save();
  counter = await t.open(journal);
  feed(counter, journal, [linkUp('a', at(3)), linkUp('b', at(3, 30))]);
  const reason = 'unheard';
  assert.deepEqual(shown(counter), [
    { from: at(0, 1), to: at(1), reason },
    { from: at(2), to: at(3), reason },
  ]);
});
test('wallboard counter - rows that come again, or after others that were never given, count once each', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const counter = await t.open(journal);
  const events = [
    emitted.joined(at(0), 'a'),
    emitted.joined(at(0, 1), 'b'),
    emitted.left(at(0, 2), 'a', 120),
  ];
  const rows = journal.append(events);
  counter.take(rows.slice(2), events.slice(2));
  counter.take(rows, events);
  const sums = counter.sumsOfToday('queue', 'support', new Map());
  assert.deepEqual([sums.joined, sums.answered], [2, 1]);
  assert.equal(counter.position.seq, 3);
});
test('wallboard counter - today is today: at midnight of the zone it begins again, and yesterday stays as it was', async () => {
  await using t = await rig();
  const midnight = calendar.day('2026-11-21').to;
  const journal = journalOn(openMemoryJournal());
  const counter = await t.open(journal);
  feed(counter, journal, [
    emitted.joined(midnight - 60_000, 'a'),
    emitted.joined(midnight - 30_000, 'b'),
    emitted.left(midnight - 1_000, 'a', 59),
  ]);
  t.clock.advance(midnight - 1 - t.clock.now());
  assert.equal(counter.today().date, '2026-11-21');
  assert.equal(counter.sumsOfToday('queue', 'support', new Map()).joined, 2);
  t.clock.advance(1);
  assert.equal(counter.today().date, '2026-11-22');
  assert.equal(counter.sumsOfToday('queue', 'support', new Map()).joined, 0);
  // A caller of yesterday is answered today: in the interval in which it joined.
  feed(counter, journal, [emitted.left(midnight + 5_000, 'b', 35), emitted.joined(midnight + 6_000, 'c')]);
  const yesterday = await sumsIn(counter, 'support', calendar.day('2026-11-21'));
  assert.deepEqual([yesterday.offered, yesterday.answered, yesterday.answered_in_threshold], [2, 2, 0]);
  const sums = counter.sumsOfToday('queue', 'support', new Map());
  assert.deepEqual([sums.joined, sums.answered], [1, 0]);
  const both = await sumsIn(counter, 'support', { from: midnight - 86_400_000, to: midnight + 86_400_000 });
  assert.deepEqual([both.offered, both.answered, both.open], [3, 2, 1]);
});
test('wallboard counter - running counts reach up to now, from memory and from the store alike', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  let counter = await t.open(journal);
  feed(counter, journal, [emitted.loggedIn(at(-20), '1003'), emitted.ready(at(-20), '1003', 'support')]);
  for (const restarted of [false, true]) {
    if (restarted) counter = await t.open(journal);
    const sums = counter.sumsOfToday('agent', '1003', counter.running(at(1)));
    // Of the 21 hours, those since midnight in Berlin.
    assert.equal(sums.available_ms, 11 * 3_600_000);
    const all = await sumsIn(counter, 'support', { from: at(-48), to: at(48) });
    assert.equal(all.available_seconds, 0, 'asked at 1970 nothing runs');
    const seconds: number[] = [];
    const span = { from: at(-20), to: at(-17) };
    for await (const page of counter.slots('queue', 'support', span, at(1))) {
      for (const [, sums] of page) seconds.push((sums.staffed_ms ?? 0) / 1000);
    }
    assert.deepEqual(
      seconds,
      Array.from({ length: 12 }, () => 900),
    );
  }
});
test('wallboard counter - sums of today are whole in every report while older slots are only in the store', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const counter = await t.open(journal);
  for (let visit = 0; visit < 4; visit += 1) {
    feed(counter, journal, [emitted.joined(t.clock.now(), `caller ${visit}`)]);
    t.clock.advance(SLOT_MS);
  }
  const { span } = counter.today();
  const now = t.clock.now();
  const bySlots = async (): Promise<number> => {
    let joined = 0;
    for await (const page of counter.slots('queue', 'support', span, now))
      for (const [, sums] of page) joined += sums.joined ?? 0;
    return joined;
  };
  assert.equal((await counter.totals('queue', span, now, 'support')).get('support')?.joined, 4);
  assert.equal(await bySlots(), 4);
  t.break(true);
  t.clock.advance(4 * SLOT_MS);
  assert.equal(await bySlots(), 4, 'the slots of a queue today need no store');
  t.break(false);
  assert.equal(counter.sumsOfToday('queue', 'support', counter.running(now)).joined, 4);
  const after = await t.open(journal);
  assert.equal(after.sumsOfToday('queue', 'support', after.running(now)).joined, 4);
});
test('wallboard counter - a journal that forgot more than was counted leaves a gap that is named', async () => {
  await using t = await rig();
  const kept = openMemoryJournal();
  const journal = journalOn(kept);
  const counter = await t.open(journal);
  feed(counter, journal, [
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    emitted.joined(at(0, 1), 'a'),
  ]);
  await counter.save();
  journal.append([emitted.left(at(0, 2), 'a', 60), emitted.joined(at(2), 'b'), emitted.joined(at(3), 'c')]);
  kept.trim(6);
  const later = await t.open(journalOn(kept));
  assert.deepEqual(shown(later), [{ from: at(0, 1), to: at(3), reason: 'retention' }]);
  assert.equal(later.position.seq, 6);
  const sums = later.sumsOfToday('queue', 'support', later.running(at(4)));
  assert.deepEqual([sums.joined, sums.answered], [2, 0]);
  // Counted up to its last event, and again from the first one after.
  assert.equal(sums.available_ms, 3_600_000);
  const again = await t.open(journalOn(kept));
  assert.deepEqual(again.gaps, later.gaps, 'a gap is found once');
});
test('wallboard counter - a new journal is not taken for the old one: nothing of it counts twice', async () => {
  await using t = await rig();
  const first = journalOn(openMemoryJournal());
  const counter = await t.open(first);
  feed(counter, first, [
    emitted.joined(at(0), 'a'),
    emitted.joined(at(0, 1), 'b'),
    emitted.left(at(0, 2), 'a', 120),
  ]);
  await counter.save();
  // As after a power cut: some of the same events under another epoch.
  t.clock.advance(3_600_000);
  const second = journalOn(openMemoryJournal());
  second.append([emitted.joined(at(0), 'a'), emitted.joined(at(0, 1), 'b')]);
  const after = await t.open(second);
  assert.deepEqual(shown(after), [{ from: at(0, 2), to: at(1), reason: 'new_journal' }]);
  feed(after, second, [
    emitted.left(at(1, 1), 'b', 3600, 'engine_lost', 'resync'),
    emitted.joined(at(1, 2), 'c'),
  ]);
  const sums = after.sumsOfToday('queue', 'support', new Map());
  assert.deepEqual([sums.joined, sums.answered, sums.lost], [3, 1, 1]);
  assert.equal((await t.open(second)).gaps.length, 1);
});
test('wallboard counter - an event that cannot be counted stops nothing', async () => {
  await using t = await rig();
  const journal = journalOn(openMemoryJournal());
  const counter = await t.open(journal);
  const bad = { ...emitted.joined(at(0), 'x'), data: null } as unknown as DomainEvent;
  counter.take([{ seq: 1, type: bad.type, subject: bad.subject, at: bad.at, topics: '', json: '{}' }], [bad]);
  assert.equal(counter.position.seq, 1);
});
test('wallboard counter - a save of many agents adds to what is stored, with other work between its parts', async () => {
  await using t = await rig();
  const added = new SumTable();
  const names = Array.from({ length: 450 }, (_, i) => String(1000 + i));
  const slot = slotOf(T0);
  for (const [i, name] of names.entries()) added.at('agent', name, slot).handled = i;
  let others = 0;
  const other = (): void => {
    others += 1;
    next = setImmediate(other);
  };
  let next = setImmediate(other);
  for (const seq of [1, 2])
    await t.store.save(added, { epoch: 'a', seq, as_of: T0 }, writeBoard(emptyBoard()));
  clearImmediate(next);
  // Three reads of slots and three of days, each time.
  assert.ok(others >= 8, `${others} others`);
  const kept = await storedSince(t.store, slot);
  assert.deepEqual(
    names.map((name) => kept.at('agent', name, slot).handled),
    names.map((_, i) => 2 * i),
  );
  const day = slot - (slot % 96);
  for await (const rows of t.store.parts('agent', day, day + 96))
    assert.equal(rows.find(({ name }) => name === '1449')?.sums.handled, 898);
});
test('wallboard counter - stored sums are read whole and once each, whether a slot has few rows or more than a page', async () => {
  await using t = await rig();
  const sizes = [300, 199, 1, 2, 700, 500, 499, 1];
  const added = new SumTable();
  for (const [i, size] of sizes.entries())
    for (let name = 0; name < size; name += 1)
      for (const kind of ['queue', 'agent'] as const) added.at(kind, `n${name}`, i).handled = 1 + name;
  await t.store.save(added, { epoch: 'a', seq: 1, as_of: T0 }, writeBoard(emptyBoard()));
  const shown = (rows: Iterable<{ of: string; name: string; slot: number }>): readonly string[] =>
    [...rows].map(({ of, name, slot }) => `${slot} ${of} ${name}`).sort();
  for (const first of [0, 1, 4, 5, 8]) {
    const read = [];
    for await (const rows of t.store.since(first)) read.push(...rows);
    assert.deepEqual(
      shown(read),
      shown([...added.rows()].filter(({ slot }) => slot >= first)),
      String(first),
    );
  }
});
