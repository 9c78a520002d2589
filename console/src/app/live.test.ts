import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client, Store, StoreListener } from '@offhook/client';
import { createLive } from './live.ts';

Object.assign(globalThis, { dispatchEvent: () => true });
const nothing = (): void => undefined;

/** Stores of one topic, in the order in which the page opens them; the test shows their records. */
function storesOf() {
  const stores: { show(...keys: string[]): void; changed(): void; closed: boolean; down: boolean }[] = [];
  function open(): Partial<Store<unknown>> {
    const listeners = new Set<StoreListener>();
    let records = new Map<string, string>();
    const first = Promise.withResolvers<void>();
    const own = {
      ready: first.promise,
      stale: true,
      closed: false,
      get size() {
        return records.size;
      },
      [Symbol.iterator]: () => records[Symbol.iterator](),
      subscribe(listener: StoreListener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      changed: () => listeners.forEach((listener) => listener(null, null)),
      show(...keys: string[]) {
        records = new Map(keys.map((key) => [key, key]));
        own.stale = own.down;
        first.resolve();
        own.changed();
      },
      /** True while an engine is down. */
      down: false,
      close() {
        own.closed = true;
        own.stale = true;
        own.changed();
      },
    };
    stores.push(own);
    return own;
  }
  return { stores, live: createLive({ store: open } as unknown as Client) };
}

test('live state - a topic that nobody uses any more forgets its records, so that no later page shows them', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stores, live } = storesOf();
  const topic = live.topic('agents');
  const leave = topic.subscribe(nothing);
  stores[0]!.show('1001');
  assert.deepEqual(topic.state, { ready: true, stale: false });
  leave();
  t.mock.timers.tick(9_999);
  topic.subscribe(nothing)();
  assert.deepEqual([...topic.records.keys()], ['1001'], 'a page that returns finds it as it was');
  t.mock.timers.tick(10_000);
  assert.equal(stores[0]!.closed, true);
  assert.deepEqual(topic.state, { ready: false, stale: true });
  assert.equal(topic.records.size, 0);
  topic.subscribe(nothing);
  assert.equal(live.stale, false, 'the page waits for its first snapshot as any other');
  stores[1]!.show('1002');
  assert.deepEqual([...topic.records.keys()], ['1002']);
});

test('live state - a topic that is opened again shows its records until the new snapshot', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stores, live } = storesOf();
  const topic = live.topic('agents');
  topic.subscribe(nothing);
  stores[0]!.show('1001');
  live.restart();
  stores[1]!.changed();
  t.mock.timers.tick(1_000);
  assert.deepEqual([...topic.records.keys()], ['1001']);
  assert.deepEqual(topic.state, { ready: true, stale: true });
  assert.equal(live.stale, true);
  stores[1]!.show('1002');
  assert.deepEqual([...topic.records.keys()], ['1002']);
  assert.equal(live.stale, false);
});

test('live state - while an engine is down, a topic shows its snapshot, and its last record can end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stores, live } = storesOf();
  const topic = live.topic('calls');
  topic.subscribe(nothing);
  stores[0]!.down = true;
  stores[0]!.show('c1');
  // The store resolves `ready` before the page shows the changes together.
  await Promise.resolve();
  t.mock.timers.tick(100);
  assert.deepEqual(topic.state, { ready: true, stale: true });
  assert.deepEqual([...topic.records.keys()], ['c1']);
  stores[0]!.show();
  t.mock.timers.tick(100);
  assert.equal(topic.records.size, 0);
});

test('live state - of many topics that were shown before, only the newest are kept', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { live } = storesOf();
  const first = live.topic('queues', ['first']);
  const used = live.topic('queues', ['used']);
  const heard = live.topic('queues', ['heard']);
  used.subscribe(nothing);
  heard.onEvent(nothing);
  first.subscribe(nothing)();
  assert.equal(live.topic('queues', ['first']), first, 'kept for a return to the page');
  for (let n = 0; n < 30; n += 1) live.topic('queues', [`q${n}`]).subscribe(nothing)();
  assert.equal(live.topic('queues', ['first']), first, 'its store is still open');
  t.mock.timers.tick(10_000);
  live.topic('queues', ['another']);
  assert.notEqual(live.topic('queues', ['first']), first);
  assert.equal(live.topic('queues', ['used']), used);
  assert.equal(live.topic('queues', ['heard']), heard);
});
