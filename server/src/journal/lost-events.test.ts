/** Events of features while the journal rejects writes for long, and at a stop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { openMemoryJournal } from '../adapters/memory/journal-store.ts';
import { ServiceError } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import { gapOf } from '../delivery/cursor.ts';
import { createModel } from '../pbx/model.ts';
import { T0, channel, chan, node, site, snapshot } from '../../test/support/model-scene.ts';
import type { EngineEvent } from '../ports/engine-events.ts';
import { streamRig } from '../../test/support/stream-rig.ts';
import { PATIENCE_MS, until } from '../../test/support/until.ts';
import { EngineLoop } from './engine-loop.ts';
import { eventOf, openJournal } from './journal.ts';

const drift = (n: number): DomainEvent => ({
  type: 'config.drift',
  subject: 'config',
  at: T0 + n,
  observed: 'live',
  data: { files: [{ name: `file ${n}`, hand_written: false, missing: false, since: '' }] },
});
const drifts = (from: number, to: number): DomainEvent[] =>
  Array.from({ length: to - from + 1 }, (_, i) => drift(from + i));
/** A loop over a store that rejects writes while `refuse` is true, and an engine with the events that the test pushes. */
function refusingLoop(options: { maxHeld?: number; stopMs?: number } = {}) {
  const inner = openMemoryJournal();
  const place = { refuse: false, refused: 0, resyncs: 0 };
  const check = (): void => {
    if (!place.refuse) return;
    place.refused += 1;
    throw new ServiceError('store_unavailable', 'the disk is full');
  };
  const store = {
    ...inner,
    append(rows: Parameters<typeof inner.append>[0]) {
      check();
      inner.append(rows);
    },
    *saveCheckpoint(seq: number, pieces: Iterable<string>) {
      check();
      yield* inner.saveCheckpoint(seq, pieces);
    },
  };
  const batches: EngineEvent[][] = [];
  let wake = (): void => {};
  const push = (...bodies: object[]): void => {
    batches.push(bodies.map((body) => ({ ...body, at: T0 }) as EngineEvent));
    wake();
  };
  const journal = openJournal({ store, node });
  const model = createModel();
  const loop = new EngineLoop({
    engine: {
      resync() {
        place.resyncs += 1;
        push({ type: 'engine.snapshot', why: 'resync', snapshot: snapshot() });
      },
      async *events(signal) {
        signal.addEventListener('abort', () => wake(), { once: true });
        while (!signal.aborted) {
          const batch = batches.shift();
          if (batch !== undefined) yield batch;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    },
    model,
    journal,
    log: silent,
    ...options,
  });
  const stop = new AbortController();
  loop.begin({ signal: stop.signal, site: site() });
  return {
    place,
    journal,
    loop,
    push,
    connect: () =>
      push(
        { type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-1' },
        { type: 'engine.snapshot', why: 'connect', snapshot: snapshot() },
      ),
    isLive: () => model.view.live,
    files: () =>
      journal
        .read(0, 10_000)
        .map(eventOf)
        .flatMap((event) => (event.type === 'config.drift' ? (event.data.files[0]?.name ?? '') : [])),
    losses: () =>
      journal
        .read(0, 10_000)
        .map(eventOf)
        .filter(({ type }) => type === 'store.events_lost')
        .map(({ data }) => data),
    end() {
      stop.abort();
      return loop.closed;
    },
  };
}
const names = (from: number, to: number): string[] => drifts(from, to).map((_, i) => `file ${from + i}`);

test('engine loop - when too many events are held, those of features stay, and only those of the engine are dropped', async () => {
  const s = refusingLoop({ maxHeld: 100 });
  s.connect();
  await until('the first snapshot', s.isLive, { every: 2 });
  s.place.refuse = true;
  s.loop.publish(drifts(1, 5));
  for (let n = 0; n < 100; n += 1)
    s.push(
      { type: 'channel.created', channel: channel(`${n}`, { endpoint: '1001' }) },
      { type: 'channel.hungup', id: chan(`${n}`), cause: 16, cause_text: '' },
    );
  await until('the calls are dropped', () => s.loop.lag().dropped >= 200, { every: 2 });
  s.loop.publish(drifts(6, 8));
  assert.deepEqual([s.loop.lag().held, s.loop.lag().lost], [8, 0]);
  s.place.refuse = false;
  await until('all written', () => s.loop.settled() && s.place.resyncs === 1, { every: 2 });
  assert.deepEqual(s.files(), names(1, 8));
  assert.deepEqual(s.losses(), []);
  assert.notEqual(s.loop.lag().since, null);
  assert.equal(await s.end(), null);
});

test('engine loop - events of features beyond the limit are counted, and the journal names them at their place', async () => {
  const s = refusingLoop({ maxHeld: 10 });
  s.place.refuse = true;
  s.loop.publish(drifts(1, 8));
  s.loop.publish(drifts(9, 25));
  s.loop.publish(drifts(26, 30));
  const { held, lost, since } = s.loop.lag();
  assert.deepEqual([held, lost, since], [10, 20, new Date(T0 + 11).toISOString()]);
  s.place.refuse = false;
  await until('all written', () => s.loop.settled(), { every: 2 });
  s.loop.publish(drifts(31, 31));
  assert.deepEqual(s.files(), [...names(1, 10), 'file 31']);
  assert.deepEqual(s.losses(), [
    { from: new Date(T0 + 11).toISOString(), to: new Date(T0 + 30).toISOString(), events: 20 },
  ]);
  assert.equal(s.journal.read(10, 1)[0]?.type, 'store.events_lost');
  assert.equal(s.journal.whole, 12);
  assert.equal(await s.end(), null);
});

test('engine loop - a stop waits for a journal that rejects writes, but not longer than its limit', async () => {
  const late = refusingLoop({ stopMs: PATIENCE_MS });
  late.place.refuse = true;
  late.loop.publish(drifts(1, 3));
  const ending = late.end();
  const { refused } = late.place;
  await until('more attempts', () => late.place.refused > refused + 1, { every: 5 });
  late.place.refuse = false;
  assert.equal(await ending, null);
  assert.deepEqual(late.files(), names(1, 3));

  const never = refusingLoop({ stopMs: 300, maxHeld: 10 });
  never.place.refuse = true;
  never.loop.publish(drifts(1, 12));
  assert.deepEqual(await never.end(), { events: 12, from: T0 + 1, to: T0 + 12 });
});

test('engine loop - a stop does not wait without end for a record that does not answer', async () => {
  const journal = openJournal({
    store: openMemoryJournal(),
    node,
    record: { append: () => new Promise<void>(() => undefined), trim: () => undefined },
  });
  const stop = new AbortController();
  const loop = new EngineLoop({
    engine: { resync: () => undefined, events: async function* () {} },
    model: createModel(),
    journal,
    log: silent,
    stopMs: 200,
  });
  loop.begin({ signal: stop.signal, site: site() });
  loop.publish(drifts(1, 2));
  stop.abort();
  assert.deepEqual(await loop.closed, { events: 2, from: T0 + 1, to: T0 + 2 });
});

for (const answer of ['error', 'commit'] as const)
  test(`engine loop - after a stop that did not wait, a late ${answer} of the record begins nothing`, async () => {
    const group = Promise.withResolvers<void>();
    let appended = 0;
    const journal = openJournal({
      store: openMemoryJournal(),
      node,
      record: {
        append: () => ((appended += 1), group.promise),
        trim: () => undefined,
      },
    });
    const stop = new AbortController();
    const loop = new EngineLoop({
      engine: { resync: () => undefined, events: async function* () {} },
      model: createModel(),
      journal,
      log: silent,
      stopMs: 50,
    });
    let notified = 0;
    loop.begin({ signal: stop.signal, site: site(), onCommitted: () => void (notified += 1) });
    loop.publish(drifts(1, 1));
    loop.publish(drifts(2, 2));
    stop.abort();
    assert.equal((await loop.closed)?.events, 2);
    if (answer === 'commit') group.resolve();
    else group.reject(new ServiceError('store_unavailable', 'no answer'));
    // Longer than the first retry waits.
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.deepEqual([appended, notified], [1, 0]);
  });

/** The event that names lost events. */
const loss: DomainEvent = {
  type: 'store.events_lost',
  subject: 'store',
  at: T0,
  observed: 'live',
  data: { from: '2026-11-21T12:00:00.000Z', to: '2026-11-21T12:00:01.000Z', events: 3 },
};
test('stream - readers of a time with lost events get a gap and their snapshots, also by an older cursor', async (t: TestContext) => {
  const rig = await streamRig(t);
  const client = await rig.open('admin');
  client.send({ op: 'subscribe', id: 1, topics: ['config'], snapshot: true });
  await client.next('subscribed');
  await client.next('snapshot');
  rig.commit(drift(1));
  assert.equal((await client.next('event')).op, 'event');
  rig.commit(loss);
  const gap = await client.next('gap');
  assert.deepEqual([gap.from, gap.to, gap.reason], [1, 2, 'cursor_outdated']);
  await client.next('snapshot');
  rig.commit(drift(2));
  assert.equal((await client.next('event')).op, 'event');
  const parts = { journal: rig.journal, log: silent };
  assert.deepEqual(
    [0, 1, 2, 3].map((cursor) => gapOf(parts, { cursor })),
    ['cursor_outdated', 'cursor_outdated', null, null],
  );
});
