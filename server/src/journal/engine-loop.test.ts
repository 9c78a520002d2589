import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { ServiceError } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import { openMemoryJournal } from '../adapters/memory/journal-store.ts';
import { createModel } from '../pbx/model.ts';
import { T0, channel, chan, member, node, site, snapshot } from '../../test/support/model-scene.ts';
import type { EngineEvent } from '../ports/engine-events.ts';
import type { EngineSnapshot } from '../ports/engine-state.ts';
import type { JournalStore } from '../ports/journal-store.ts';
import { until } from '../../test/support/until.ts';
import { EngineLoop } from './engine-loop.ts';
import type { EngineLoopOptions, LoopStart } from './engine-loop.ts';
import { eventOf, openJournal } from './journal.ts';

/** An engine with the events that the test pushes. */
function scripted() {
  const batches: EngineEvent[][] = [];
  let wake = (): void => {};
  let at = T0;
  const engine = {
    resyncs: 0,
    truth: (): EngineSnapshot => snapshot(),
    resync(): void {
      engine.resyncs += 1;
      engine.push({ type: 'engine.snapshot', why: 'resync', snapshot: engine.truth() });
    },
    push(...bodies: object[]): void {
      batches.push(bodies.map((body) => ({ ...body, at: (at += 100) }) as EngineEvent));
      wake();
    },
    connect(): void {
      engine.push(
        { type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-1' },
        { type: 'engine.snapshot', why: 'connect', snapshot: engine.truth() },
      );
    },
    async *events(signal: AbortSignal): AsyncGenerator<readonly EngineEvent[]> {
      signal.addEventListener('abort', () => wake(), { once: true });
      while (!signal.aborted) {
        const batch = batches.shift();
        if (batch !== undefined) yield batch;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
  return engine;
}
/** A store that can be made to refuse. */
function refusing(inner: JournalStore): JournalStore & { refuse: boolean } {
  const store = {
    ...inner,
    refuse: false,
    append: (rows: Parameters<JournalStore['append']>[0]) => {
      if (store.refuse) throw new ServiceError('store_unavailable', 'the disk is full');
      inner.append(rows);
    },
    *saveCheckpoint(seq: number, pieces: Iterable<string>) {
      if (store.refuse) throw new ServiceError('store_unavailable', 'the disk is full');
      yield* inner.saveCheckpoint(seq, pieces);
    },
  };
  return store;
}
const eventually = (what: string, holds: () => boolean): Promise<true> => until(what, holds, { every: 2 });
function start(options: Partial<EngineLoopOptions & LoopStart> & { store?: JournalStore } = {}) {
  const engine = scripted();
  const store = refusing(options.store ?? openMemoryJournal());
  const journal = openJournal({ store, node });
  const stop = new AbortController();
  const model = createModel();
  const committed: number[] = [];
  const loop = new EngineLoop({ engine, model, journal, log: silent, ...options });
  loop.begin({
    signal: stop.signal,
    site: site(),
    onCommitted: (rows) => committed.push(...rows.map((row) => row.seq)),
    ...options,
  });
  const types = (): string[] => journal.read(0, 1_000_000).map((row) => row.type);
  const end = async (): Promise<void> => {
    stop.abort();
    await loop.closed;
  };
  return { engine, store, journal, model, loop, committed, types, end };
}
const created = (id: string, endpoint: string) => ({
  type: 'channel.created',
  // As the engine reports the channel of a phone that calls.
  channel: channel(id, { endpoint, state: 'dialing' }),
});
const hungup = (id: string) => ({ type: 'channel.hungup', id: chan(id), cause: 16, cause_text: '' });

test('engine loop - facts become committed rows in order, and readers are notified of each', async () => {
  const s = start();
  s.engine.connect();
  s.engine.push(created('1', '1001'));
  s.engine.push(hungup('1'));
  await eventually('the call’s end', () => s.types().includes('call.ended'));
  assert.deepEqual(
    s.types().filter((t) => !t.startsWith('presence')),
    ['engine.link_up', 'engine.resynced', 'call.started', 'call.ended'],
  );
  assert.deepEqual(
    s.committed,
    Array.from(s.committed, (_, i) => i + 1),
  );
  assert.equal(s.committed.length, s.journal.head);
  const none = { held: 0, oldest_ms: 0, error: null, dropped: 0, lost: 0, since: null, failed: 0 };
  assert.deepEqual(s.loop.lag(), none);
  await s.end();
});

test('engine loop - while the journal rejects writes, the model continues and events are held; none is lost or doubled', async () => {
  const s = start();
  s.engine.connect();
  await eventually('the first snapshot', () => s.model.view.live);
  s.store.refuse = true;
  for (let i = 0; i < 700; i++) s.engine.push(created(`${i}`, '1001'), hungup(`${i}`));
  await eventually('700 calls held', () => s.loop.lag().held === 1400);
  assert.equal(s.loop.lag().error, 'the disk is full');
  await eventually('an age', () => s.loop.lag().oldest_ms > 0);
  s.engine.push(created('9999', '1002'));
  await eventually('the live view', () => s.model.view.calls().length === 1);
  s.store.refuse = false;
  await eventually('all written', () => s.loop.lag().held === 0);
  const ids = s.journal
    .read(0, 10_000)
    .filter((row) => row.type === 'call.started')
    .map((row) => row.subject);
  assert.equal(ids.length, 701);
  assert.equal(new Set(ids).size, 701);
  assert.equal(s.types().filter((t) => t === 'call.ended').length, 700);
  assert.deepEqual(
    s.committed,
    Array.from(s.committed, (_, i) => i + 1),
  );
  assert.equal(s.loop.lag().error, null);
  assert.equal(s.engine.resyncs, 0);
  await s.end();
});

test('engine loop - too many held: a new snapshot replaces them, and the journal still closes what it opened', async () => {
  const s = start({ maxHeld: 100 });
  s.engine.connect();
  s.engine.push(created('a', '1001'), created('b', '1002'));
  await eventually('two calls', () => s.types().filter((t) => t === 'call.started').length === 2);
  s.store.refuse = true;
  s.engine.push(hungup('a'));
  for (let i = 0; i < 100; i++) s.engine.push(created(`${i}`, '1003'), hungup(`${i}`));
  await eventually('events given up', () => s.loop.lag().dropped > 100);
  s.engine.push(created('c', '1004'));
  await eventually('the view goes on', () => s.model.view.calls().length === 2);
  s.engine.truth = () =>
    snapshot({ channels: [channel('b', { endpoint: '1002' }), channel('c', { endpoint: '1004' })] });
  s.store.refuse = false;
  await eventually('the state taken anew', () => s.engine.resyncs === 1);
  await eventually('the difference told', () => s.types().at(-1) === 'engine.resynced');
  s.engine.push(hungup('b'), hungup('c'));
  await eventually('no call left', () => s.types().filter((t) => t === 'call.ended').length === 3);
  const calls = s.journal
    .read(0, 1000)
    .map(eventOf)
    .flatMap((e) =>
      e.type === 'call.started' || e.type === 'call.ended' ? [`${e.type} ${e.subject} ${e.observed}`] : [],
    );
  assert.deepEqual(calls.toSorted(), [
    'call.ended calls/ast1:a resync',
    'call.ended calls/ast1:b live',
    'call.ended calls/ast1:c live',
    'call.started calls/ast1:a live',
    'call.started calls/ast1:b live',
    'call.started calls/ast1:c resync',
  ]);
  await s.end();
});

test('engine loop - a start after a kill publishes only the changes since', async () => {
  const store = openMemoryJournal();
  const before = start({ store });
  const paused = member('support', '1002', { paused: true, paused_reason: 'lunch', paused_at: T0 });
  before.engine.truth = () =>
    snapshot({
      queues: [{ name: 'support', strategy: 'ringall', members: [paused], callers: [] }],
      devices: [
        { endpoint: '1001', state: 'INUSE' },
        { endpoint: '1002', state: 'INUSE' },
      ],
    });
  before.engine.connect();
  before.engine.push(created('goes-on', '1001'), created('vanishes', '1002'));
  await eventually('two calls', () => before.types().filter((t) => t === 'call.started').length === 2);
  const head = store.head();
  const pausedAt = before.model.view.agent('1002')?.members[0]?.paused_at;

  const after = start({ store });
  after.engine.truth = () =>
    snapshot({
      channels: [channel('goes-on', { endpoint: '1001' })],
      queues: [
        {
          name: 'support',
          strategy: 'ringall',
          members: [{ ...paused, paused_at: T0 + 999_999 }],
          callers: [],
        },
      ],
      devices: [
        { endpoint: '1001', state: 'INUSE' },
        { endpoint: '1002', state: 'NOT_INUSE' },
      ],
    });
  after.engine.connect();
  await eventually('the snapshot', () => after.types().at(-1) === 'engine.resynced');
  const published = after.journal.read(head, 1000).map(eventOf);
  assert.deepEqual(
    published.map((e) => `${e.type} ${e.subject}`),
    [
      'engine.link_up engine/ast1',
      'call.ended calls/ast1:vanishes',
      'presence.changed presence/1002',
      'agent.not_ready agents/1002',
      'engine.resynced engine/ast1',
    ],
  );
  assert.equal(after.model.view.agent('1002')?.members[0]?.paused_at, pausedAt, 'paused since as before');
  assert.equal(after.model.view.calls().length, 1);
  await before.end();
  await after.end();
});

test('engine loop - a clean stop saves a checkpoint, and the next start reads nothing twice', async () => {
  const store = openMemoryJournal();
  const first = start({ store });
  first.engine.connect();
  first.engine.push(created('1', '1001'));
  await eventually('a call', () => first.types().includes('call.started'));
  await first.end();
  assert.equal(store.checkpoint()?.seq, store.head());
  const second = start({ store });
  second.engine.truth = () => snapshot({ channels: [channel('1', { endpoint: '1001' })] });
  second.engine.connect();
  await eventually('live', () => second.model.view.live);
  assert.equal(second.types().filter((t) => t === 'call.started').length, 1);
  await second.end();
});

test('engine loop - a large checkpoint is saved less often', async () => {
  const model = createModel();
  const store = openMemoryJournal();
  let begun = 0;
  const saved: number[] = [];
  /** Saves that come to no end, so that no number of turns completes them too early. */
  const endless = new Set([1, 2]);
  const s = start({
    store: {
      ...store,
      *saveCheckpoint(seq, pieces) {
        const save = (begun += 1);
        yield* store.saveCheckpoint(seq, pieces);
        while (endless.has(save)) yield 0;
        saved.push(save);
      },
    },
    model: {
      ...model,
      view: model.view,
      checkpoint: () => Array.from({ length: 30 }, () => 'x'.repeat(100_000)),
    },
  });
  s.engine.connect();
  await eventually('live', () => model.view.live);
  const publish = async (events: number): Promise<void> => {
    const event = { type: 'config.changed', subject: 'config', at: T0, observed: 'live', data: {} };
    s.loop.publish(Array<DomainEvent>(events).fill(event as unknown as DomainEvent));
    await eventually('all committed', () => s.loop.settled());
  };
  await publish(5_000);
  assert.deepEqual([begun, saved], [1, []], 'the pieces after the first have turns of their own');
  endless.delete(1);
  await eventually('all pieces', () => saved.length === 1);
  await publish(7_000);
  assert.equal(begun, 1);
  await publish(1_000);
  assert.equal(begun, 2);
  await s.end();
  assert.deepEqual([begun, saved], [3, [1, 3]], 'a stop ends the save that it begins');
});

test('engine loop - a fact the model stumbles over costs that fact only', async () => {
  const model = createModel();
  const s = start({
    model: {
      view: model.view,
      step(event) {
        if (event.type === 'channel.held') throw new Error('a defect');
        return model.step(event);
      },
      committed: (events) => model.committed(events),
      checkpoint: () => model.checkpoint(),
      restore: (text, after) => model.restore(text, after),
    },
  });
  s.engine.truth = () => snapshot({ channels: [channel('1', { endpoint: '1001' })] });
  s.engine.connect();
  s.engine.push({ type: 'channel.held', id: chan('1'), held: true });
  await eventually('the state asked for', () => s.engine.resyncs === 1);
  s.engine.push(hungup('1'));
  await eventually('the end', () => s.types().includes('call.ended'));
  assert.equal(s.loop.lag().failed, 1);
  await s.end();
});

test('engine loop - a changed site reaches the model in order', async () => {
  const s = start();
  s.engine.connect();
  await eventually('live', () => s.model.view.live);
  assert.equal(s.model.view.extension('2001'), undefined);
  s.loop.tell(site(['2001']));
  assert.equal(s.model.view.extension('2001')?.extension, '2001');
  assert.equal(s.model.view.extension('1001'), undefined);
  await s.end();
});
