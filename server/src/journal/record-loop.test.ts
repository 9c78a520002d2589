import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { openMemoryJournal } from '../adapters/memory/journal-store.ts';
import { sharedLog, openMemorySiteLog } from '../../test/support/memory-site-log.ts';
import { ServiceError } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import { createModel } from '../pbx/model.ts';
import { T0, node, site } from '../../test/support/model-scene.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import { until } from '../../test/support/until.ts';
import { EngineLoop } from './engine-loop.ts';
import { eventOf, openJournal } from './journal.ts';
import type { RowRecord } from './journal.ts';
import { createSiteRecord } from './site-record.ts';

const eventNo = (n: number): DomainEvent => ({
  type: 'presence.changed',
  subject: `presence/${n}`,
  at: T0 + n,
  observed: 'live',
  data: {
    extension: '1001',
    reachability: 'online',
    activity: 'idle',
    personal: 'available',
    note: null,
    expires_at: null,
    summary: `s${n}`,
    since: '2026-11-21T12:00:00.000Z',
  },
});
const away = (): ServiceError => new ServiceError('store_unavailable', 'no answer');

function loopOver(
  record: RowRecord | null,
  options: { store?: ReturnType<typeof openMemoryJournal>; maxHeld?: number } = {},
) {
  const store = options.store ?? openMemoryJournal();
  const journal = openJournal({ store, node, record });
  const stop = new AbortController();
  const model = createModel();
  let resyncs = 0;
  const committed: number[] = [];
  const positions: number[] = [];
  const loop = new EngineLoop({
    engine: {
      resync: () => void (resyncs += 1),
      async *events(signal) {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        );
        yield* [];
      },
    },
    model,
    journal,
    log: silent,
    ...(options.maxHeld === undefined ? {} : { maxHeld: options.maxHeld }),
  });
  loop.begin({
    signal: stop.signal,
    site: site(),
    onCommitted: (rows) => {
      committed.push(...rows.map((row) => row.seq));
      positions.push(journal.head);
    },
  });
  return {
    journal,
    loop,
    committed,
    positions,
    resyncs: () => resyncs,
    end: async (): Promise<void> => {
      stop.abort();
      await loop.closed;
    },
  };
}
/** A record with answers that the test gives. */
function asked() {
  const calls: { rows: readonly JournalRow[]; answer: (error?: Error) => void }[] = [];
  const record: RowRecord = {
    append(rows) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      calls.push({ rows, answer: (error) => (error === undefined ? resolve() : reject(error)) });
      return promise;
    },
    trim() {},
  };
  return { record, calls };
}
const seqs = (rows: readonly JournalRow[]): number[] => rows.map((row) => row.seq);

test('record loop - one group is under way; what happens meanwhile is the next one, and nothing is visible before', async () => {
  const { record, calls } = asked();
  const { journal, loop, committed, end } = loopOver(record);
  loop.publish([eventNo(1)]);
  loop.publish([eventNo(2), eventNo(3)]);
  assert.deepEqual(
    calls.map(({ rows }) => seqs(rows)),
    [[1]],
  );
  assert.deepEqual([journal.head, loop.settled(), loop.position()?.seq], [0, false, 3]);
  calls[0]!.answer();
  await until('the second group', () => calls.length === 2, { every: 1 });
  assert.deepEqual(seqs(calls[1]!.rows), [2, 3]);
  assert.deepEqual([committed, journal.head, loop.position()?.seq], [[1], 1, 3]);
  calls[1]!.answer();
  await until('both', () => loop.settled(), { every: 1 });
  assert.deepEqual(committed, [1, 2, 3]);
  await end();
});

test('record loop - a wait for the record ends with the commit of all that was held, or with a rejection', async () => {
  const { record, calls } = asked();
  const { loop, committed, end } = loopOver(record);
  assert.equal(loop.recorded(), null);
  loop.publish([eventNo(1)]);
  loop.publish([eventNo(2)]);
  const seen: number[] = [];
  const waited = loop.recorded()!.then(() => void seen.push(committed.length));
  calls[0]!.answer();
  await until('the second group', () => calls.length === 2, { every: 1 });
  assert.equal(seen.length, 0, 'the second event is not recorded yet');
  calls[1]!.answer();
  await waited;
  assert.deepEqual([seen, loop.recorded()], [[2], null]);

  loop.publish([eventNo(3)]);
  const refused = loop.recorded();
  calls[2]!.answer(away());
  await refused;
  // Another wait tries at once, long before the retry timer.
  const again = loop.recorded()!.then(() => void seen.push(committed.length));
  assert.equal(calls.length, 4);
  calls[3]!.answer();
  await again;
  assert.deepEqual(seen, [2, 3]);
  await end();
});

test('record loop - a group ends at the position that a snapshot waits for', async () => {
  const { record, calls } = asked();
  const { loop, positions, end } = loopOver(record);
  loop.publish([eventNo(1)]);
  loop.publish([eventNo(2), eventNo(3)]);
  loop.meet();
  loop.publish([eventNo(4)]);
  for (let n = 0; !loop.settled(); n += 1) {
    await until('a group', () => calls.length > n, { every: 1 });
    calls[n]!.answer();
    await until('its commit', () => positions.length > n, { every: 1 });
  }
  assert.deepEqual(positions, [1, 3, 4]);
  await end();
});

test('record loop - an open outcome: the retry begins with the same rows, and a later overflow keeps them', async () => {
  const { record, calls } = asked();
  const { journal, loop, resyncs, end } = loopOver(record, { maxHeld: 10 });
  loop.publish([eventNo(1), eventNo(2)]);
  calls[0]!.answer(away());
  await until('the refusal', () => loop.lag().error !== null, { every: 1 });
  for (let n = 3; n < 30; n += 1) loop.publish([eventNo(n)]);
  assert.equal(loop.position(), null, 'dropped events have no place');
  await until('a retry', () => calls.length === 2);
  assert.deepEqual(calls[1]!.rows.slice(0, 2), calls[0]!.rows);
  calls[1]!.answer();
  await until('a snapshot of the engine', () => resyncs() === 1);
  assert.equal(journal.head, 10);
  assert.deepEqual([loop.lag().dropped, loop.lag().lost], [0, 19]);
  loop.publish([eventNo(50)]);
  assert.deepEqual(
    calls[2]!.rows.map(({ type }) => type),
    ['store.events_lost'],
  );
  calls[2]!.answer();
  await until('the next group', () => calls.length === 4, { every: 1 });
  assert.deepEqual(
    calls[3]!.rows.map(({ subject }) => subject),
    ['presence/50'],
  );
  calls[3]!.answer();
  await until('all', () => loop.settled());
  await end();
});

test('record loop - the stop waits for the group under way and writes the rest', async () => {
  const { record, calls } = asked();
  const { journal, loop, end } = loopOver(record);
  loop.publish([eventNo(1)]);
  loop.publish([eventNo(2)]);
  const ending = end();
  calls[0]!.answer();
  await until('the rest', () => calls.length === 2);
  calls[1]!.answer();
  await ending;
  assert.equal(journal.head, 2);
});

test('record loop - whatever the record refuses or does not answer, it has the rows of a journal on the disk', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('tell' as const), count: fc.integer({ min: 1, max: 30 }) }),
    fc.record({ kind: fc.constant('wait' as const), count: fc.integer({ min: 0, max: 3 }) }),
    fc.record({
      kind: fc.constantFrom('refuse' as const, 'lose' as const),
      count: fc.integer({ min: 1, max: 2 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const store = openMemoryJournal();
      const place = sharedLog();
      const inner = openMemorySiteLog(place);
      await inner.begin({ epoch: store.epoch, began: 1, head: 0, check: store.check() });
      await inner.take({ id: 'a', location: '' }, 60);
      let [refusals, losses] = [0, 0];
      const siteLog = {
        ...inner,
        async append(...args: Parameters<typeof inner.append>) {
          await new Promise((resolve) => setImmediate(resolve));
          if (refusals > 0 && refusals-- > 0) throw away();
          const outcome = await inner.append(...args);
          if (losses > 0 && losses-- > 0) throw away();
          return outcome;
        },
      };
      const record = createSiteRecord({ siteLog, term: 1, copy: store, log: silent, lost: assert.fail });
      const [server, disk] = [loopOver(record, { store }), loopOver(null)];
      let n = 0;
      for (const { kind, count } of steps) {
        if (kind === 'tell') {
          const events = Array.from({ length: count }, () => eventNo((n += 1)));
          server.loop.publish(events);
          disk.loop.publish(events);
        } else if (kind === 'wait') {
          for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
        } else if (kind === 'refuse') refusals = count;
        else losses = count;
      }
      [refusals, losses] = [0, 0];
      await until('all committed', () => server.loop.settled(), { every: 1 });
      const events = (rows: readonly JournalRow[]) => rows.map(eventOf);
      assert.deepEqual(events(server.journal.read(0, 10_000)), events(disk.journal.read(0, 10_000)));
      assert.deepEqual(place.rows, server.journal.read(0, 10_000));
      assert.deepEqual(
        server.committed,
        Array.from({ length: n }, (_, i) => i + 1),
      );
      await server.end();
      await disk.end();
    }),
    { numRuns: 60 },
  );
});
