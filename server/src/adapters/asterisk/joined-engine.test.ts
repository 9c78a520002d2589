import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { channelId, nodeId } from '@offhook/contract/ids.ts';
import { channel, member, snapshot } from '../../../test/support/model-scene.ts';
import { turns } from '../../../test/support/fake-ami.ts';
import { until } from '../../../test/support/until.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type { EngineSnapshot, EngineTrunk } from '../../ports/engine-state.ts';
import type { StoredCallerRule, StoredCustomer } from '../../ports/engine-verbs.ts';
import type { SiteEngine } from '../../ports/engine-site.ts';
import { joinEngines } from './joined-engine.ts';

/** An engine whose facts the test gives; it notes the verbs that reach it. */
function scripted(name: string) {
  const node = nodeId(name);
  const batches: EngineEvent[][] = [];
  let wake = (): void => {};
  const asked: string[] = [];
  const link = { node, link: 'up', since: 1 };
  const customers = new Map<string, StoredCustomer | null>();
  const rules = new Map<string, StoredCallerRule | null>();
  const wakeable = new Map<string, true | null>();
  /** Verbs of a store of the engine. */
  const store = <T>(what: string, rows: Map<string, T | null>) => ({
    keep: async (changes: ReadonlyMap<string, T | null>): Promise<void> => {
      if (link.link !== 'up') throw new Error('the engine is away');
      if (changes.size > 0) asked.push(`${what} ${[...changes.keys()].join(' ')}`);
      for (const [key, value] of changes)
        if (value === null) rows.delete(key);
        else rows.set(key, value);
    },
    stored: async (each: (key: string, value: T | null) => void): Promise<void> => {
      for (const [key, value] of rows) each(key, value);
    },
  });
  const of = {
    customers: store('keepCustomers', customers),
    rules: store('keepCallerRules', rules),
    wakeable: store('keepWakeable', wakeable),
  };
  const verb =
    (what: string) =>
    (...given: unknown[]): Promise<void> => {
      asked.push(`${what} ${String(given[0])}`);
      return Promise.resolve();
    };
  const engine = {
    node,
    async *events(signal: AbortSignal) {
      signal.addEventListener('abort', () => wake(), { once: true });
      while (!signal.aborted) {
        const batch = batches.shift();
        if (batch !== undefined) yield batch;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    hangup: verb('hangup'),
    pauseMember: verb('pauseMember'),
    pauseEverywhere: verb('pauseEverywhere'),
    keepFeatures: verb('keepFeatures'),
    keepSwitch: verb('keepSwitch'),
    takeCaller: verb('takeCaller'),
    status: () => link,
    keepCustomers: of.customers.keep,
    storedCustomers: of.customers.stored,
    keepCallerRules: of.rules.keep,
    storedCallerRules: of.rules.stored,
    keepWakeable: of.wakeable.keep,
    storedWakeable: of.wakeable.stored,
  } as unknown as SiteEngine;
  const push = (...events: object[]): void => {
    batches.push(events.map((event) => ({ at: 1, ...event }) as EngineEvent));
    wake();
  };
  return {
    engine,
    asked,
    link,
    customers,
    rules,
    push,
    connect: (channels: readonly string[], queue: string, more: Partial<EngineSnapshot> = {}) =>
      push(
        { type: 'engine.link', node, up: true, reason: '', boot_id: name },
        {
          type: 'engine.snapshot',
          why: 'connect',
          snapshot: snapshot({
            node,
            channels: channels.map((id) => channel(id, { id: channelId(node, id) })),
            queues: [{ name: queue, strategy: 'linear', members: [member(queue, '1003')], callers: [] }],
            ...more,
          }),
        },
      ),
  };
}
function open(t: { after(work: () => void): void }, patience_ms?: number) {
  const [a, b] = [scripted('a'), scripted('b')];
  const joined = joinEngines({
    first: a.engine,
    others: [b.engine],
    homeOf: { extension: (e) => (e === '1001' ? null : 'b'), queue: (q) => (q === 'support' ? 'b' : null) },
    ...(patience_ms === undefined ? {} : { patience_ms }),
  });
  const stop = new AbortController();
  t.after(() => stop.abort());
  const seen: EngineEvent[] = [];
  void (async () => {
    for await (const batch of joined.events(stop.signal)) seen.push(...batch);
  })();
  const shown = () =>
    seen.flatMap((event) =>
      event.type === 'engine.snapshot'
        ? [`${event.snapshot.node}: ${event.snapshot.channels.map((c) => c.id).join(' ')}`]
        : event.type === 'engine.link'
          ? [`${event.node} ${event.up ? 'up' : 'down'}`]
          : [event.type],
    );
  const snapshots = () => seen.flatMap((event) => (event.type === 'engine.snapshot' ? [event] : []));
  return { a, b, joined, shown, snapshots };
}

test('joined engines - the first snapshot waits for the other engine and has the state of both', async (t) => {
  const { a, b, shown } = open(t);
  a.connect(['1.1'], 'sales');
  b.connect(['1.7'], 'support');
  await until('a snapshot', () => shown().some((one) => one.startsWith('a:')));
  assert.deepEqual(shown(), ['a up', 'a: a:1.1 b:1.7', 'b up', 'b: a:1.1 b:1.7']);
});

test('joined engines - the early snapshot of the other engine follows the first one, with what happened since then', async (t) => {
  const { a, b, shown, snapshots } = open(t);
  b.connect(['1.7', '1.8'], 'support');
  b.push({ type: 'channel.hungup', id: channelId(nodeId('b'), '1.8'), cause: 16, cause_text: '' });
  await turns();
  assert.deepEqual(shown(), []);
  const { node } = a.engine;
  a.push(
    { type: 'engine.link', node, up: true, reason: '', boot_id: 'a' },
    { type: 'engine.snapshot', at: 9, why: 'connect', snapshot: snapshot({ node }) },
  );
  await until('both', () => snapshots().length === 2);
  assert.deepEqual(shown(), ['a up', 'a: b:1.7', 'b up', 'b: b:1.7']);
  assert.deepEqual(
    snapshots().map(({ at, why }) => [at, why]),
    [
      [9, 'connect'],
      [9, 'connect'],
    ],
  );
  a.push({ type: 'engine.snapshot', why: 'resync', snapshot: snapshot({ node }) });
  await until('a resync', () => snapshots().length === 3);
  assert.equal(shown().at(-1), 'a: b:1.7', 'the state of each engine is its own');
});

test('joined engines - an early snapshot over a link that is lost by then is not shown', async (t) => {
  const { a, b, shown } = open(t);
  b.connect(['1.7'], 'support');
  b.push({ type: 'engine.link', node: b.engine.node, up: false, reason: 'cut', boot_id: '' });
  await turns();
  a.connect(['1.1'], 'sales');
  await until('the first snapshot', () => shown().length > 0);
  assert.deepEqual(shown(), ['a up', 'a: a:1.1 b:1.7', 'b down']);
});

test('joined engines - the state of a trunk is that at the first engine, which registers it', async (t) => {
  const { a, b, shown, snapshots } = open(t);
  const server = '192.0.2.1:5060';
  const trunk = (reachable: boolean): EngineTrunk => ({
    endpoint: 'trunk-north',
    servers: [{ server, reachable, round_trip_ms: null, registration: null }],
  });
  const contact = (reachable: boolean) => ({
    type: 'trunk.contact',
    endpoint: 'trunk-north',
    server,
    reachable,
    round_trip_ms: null,
  });
  a.connect([], 'sales', { trunks: [trunk(true)] });
  b.connect([], 'support', { trunks: [trunk(false)] });
  await until('both', () => snapshots().length === 2);
  b.push(contact(true), contact(false), {
    type: 'trunk.registration',
    server,
    uri: 'sip:us@192.0.2.1',
    state: 'rejected',
  });
  await turns();
  assert.deepEqual(shown().slice(4), []);
  a.push(contact(false), contact(true));
  await turns();
  b.push({ type: 'engine.snapshot', why: 'resync', snapshot: snapshot({ trunks: [trunk(false)] }) });
  await until('a resync', () => snapshots().length === 3);
  assert.deepEqual(shown().slice(4, 6), ['trunk.contact', 'trunk.contact']);
  for (const { snapshot: one } of snapshots()) assert.deepEqual(one.trunks, [trunk(true)]);
});

test('joined engines - an engine that is away for long is not waited for, and its snapshot completes the state later', async (t) => {
  const { a, b, shown } = open(t, 20);
  a.connect(['1.1'], 'sales');
  await until('a snapshot', () => shown().includes('a: a:1.1'));
  b.connect(['1.7'], 'support');
  await until('that of the other', () => shown().length === 4);
  assert.deepEqual(shown(), ['a up', 'a: a:1.1', 'b up', 'b: a:1.1 b:1.7']);
});

test('joined engines - while an engine is away a snapshot of the other one shows its last state', async (t) => {
  const { a, b, shown } = open(t);
  a.connect(['1.1'], 'sales');
  b.connect(['1.7'], 'support');
  await until('both', () => shown().includes('b up'));
  b.push({ type: 'engine.link', node: nodeId('b'), up: false, reason: 'cut', boot_id: '' });
  a.push({ type: 'engine.snapshot', why: 'resync', snapshot: snapshot({ node: nodeId('a') }) });
  await until('a resync', () => shown().length === 6);
  assert.deepEqual(shown().slice(4), ['b down', 'a: b:1.7']);
});

const nowhere = { extension: () => null, queue: () => null };
test('joined engines - where the facts of one engine fail, those of a silent one end too', async () => {
  const [a, b] = [scripted('a'), scripted('b')];
  const failing = {
    ...b.engine,
    async *events() {
      yield* [];
      await Promise.reject(new Error('the facts are lost'));
    },
  } as SiteEngine;
  const joined = joinEngines({
    first: a.engine,
    others: [failing],
    homeOf: nowhere,
  });
  const stop = new AbortController();
  const facts = joined.events(stop.signal)[Symbol.asyncIterator]();
  await assert.rejects(async () => await facts.next(), /the facts are lost/);
  assert.equal(stop.signal.aborted, false);
});

test('joined engines - an error of the consumer ends the facts, and reaches it', async () => {
  const [a, b] = [scripted('a'), scripted('b')];
  const joined = joinEngines({ first: a.engine, others: [b.engine], homeOf: nowhere });
  const consume = async (): Promise<void> => {
    for await (const batch of joined.events(new AbortController().signal))
      if (batch.length > 0) throw new Error('the consumer failed');
  };
  a.connect([], 'sales');
  b.connect([], 'support');
  await assert.rejects(consume, /the consumer failed/);
});

test('joined engines - a requested snapshot waits for the first engine, and for another one only for a time', async () => {
  const [a, b] = [scripted('a'), scripted('b')];
  const first = Promise.withResolvers<void>();
  const joined = joinEngines({
    first: { ...a.engine, resynced: () => first.promise } as SiteEngine,
    others: [{ ...b.engine, resynced: () => new Promise<void>(() => {}) } as SiteEngine],
    homeOf: nowhere,
    resync_ms: 20,
  });
  let shown = false;
  const both = joined.resynced().then(() => (shown = true));
  await wait(60);
  assert.equal(shown, false);
  first.resolve();
  await both;
});

test('joined engines - a verb goes to the engine of its channel, queue or extension, and what all must know to all', async (t) => {
  const { a, b, joined } = open(t);
  await joined.hangup(channelId(nodeId('b'), '1.7'));
  await joined.hangup(channelId(nodeId('a'), '1.1'));
  await joined.pauseMember('support', 'x', true, '');
  await joined.pauseEverywhere(['sales', 'support', 'other'], 'x', true, '');
  await joined.keepFeatures('1001', {}, 1);
  await joined.keepCustomers(new Map([['+491', CUSTOMER]]));
  assert.deepEqual(a.asked, [
    'hangup a:1.1',
    'pauseEverywhere sales,other',
    'keepFeatures 1001',
    'keepCustomers +491',
  ]);
  assert.deepEqual(b.asked.slice(0, 4), [
    'hangup b:1.7',
    'pauseMember support',
    'pauseEverywhere support',
    'keepCustomers +491',
  ]);
  assert.equal(joined.nodeOf!('1002'), 'b');
  assert.deepEqual([joined.status(), joined.status(nodeId('b'))], [a.link, b.link]);
  assert.throws(() => joined.hangup(channelId(nodeId('c'), '1.1')), { code: 'engine_unavailable' });
});

test('joined engines - a caller is moved to a queue of another engine only while that engine is connected', async (t) => {
  const { a, b, joined } = open(t);
  const to = { queue: 'support', number: '500', position: null, priority: 0 };
  const caller = channelId(nodeId('a'), '1.1');
  b.link.link = 'down';
  await assert.rejects(joined.takeCaller('sales', caller, to), { code: 'engine_unavailable' });
  await joined.takeCaller('sales', caller, { ...to, queue: 'other' });
  await joined.takeCaller('sales', caller, null);
  b.link.link = 'up';
  await joined.takeCaller('sales', caller, to);
  assert.deepEqual([a.asked, b.asked], [['takeCaller sales', 'takeCaller sales', 'takeCaller sales'], []]);
});

test('joined engines - nothing is copied to an engine before the state of the first one is known', async (t) => {
  const { a, b } = open(t);
  b.connect([], 'support', { switches: new Map([['night', 'closed']]) });
  // Longer than the interval in which it is looked for work.
  await wait(700);
  assert.deepEqual(b.asked, []);
  a.connect([], 'sales', {
    switches: new Map([
      ['night', 'closed'],
      ['lunch', 'open'],
    ]),
  });
  await until('a copy', () => b.asked.length > 0);
  assert.deepEqual(b.asked, ['keepSwitch lunch']);
});

const CUSTOMER: StoredCustomer = { name: 'Ada', owner: null, blocked: false };
const byCode: StoredCallerRule = { number: 'block', prefix: null, by: '1002' };

test('joined engines - an engine that was away gets what all must know once it is back, and keeps what its phones wrote', async (t) => {
  const { a, b, joined, shown } = open(t);
  a.connect(['1.1'], 'sales');
  b.connect(['1.7'], 'support');
  await until('both', () => shown().includes('b up'));
  b.link.link = 'down';
  b.customers.set('+490', CUSTOMER);
  b.rules.set('+495', byCode);
  await joined.keepCustomers(new Map([['+491', CUSTOMER]]));
  assert.equal(b.customers.has('+491'), false);
  [b.link.link, b.link.since] = ['up', 2];
  await until('its store to be that of the first', () => b.customers.has('+491') && a.rules.has('+495'));
  assert.deepEqual([...b.customers.keys()], ['+491']);
  assert.deepEqual([...b.rules], [['+495', byCode]]);
});
