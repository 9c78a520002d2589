import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import type { Problem } from '@offhook/contract/errors.ts';
import type { ServerFrame } from '@offhook/contract/stream.ts';
import { manualEnvironment } from '../server/test/support/manual-environment.ts';
import { scriptedStream } from '../server/test/support/scripted-stream.ts';
import type { ScriptedLink } from '../server/test/support/scripted-stream.ts';
import { until } from '../server/test/support/until.ts';
import { OffhookError, createClient } from './client.ts';
import type { StreamCursor, StreamItem, StreamOptions } from './client.ts';
import { createStream } from './stream.ts';

const EPOCH = 'e1';
const hello = (epoch = EPOCH, head = 0): ServerFrame => ({
  op: 'hello',
  protocol: 'offhook.v1',
  epoch,
  head,
  heartbeat_seconds: 15,
  level: 'agent',
});
const event = (seq: number, prev: number): ServerFrame => ({
  op: 'event',
  prev,
  event: {
    specversion: '1.0',
    id: `${EPOCH}:${seq}`,
    source: '/offhook/ast1',
    type: 'config.applied',
    subject: 'config',
    time: '2026-03-02T09:15:04.250Z',
    seq,
    observed: 'live',
    data: { files: [] },
  },
});
const heartbeat = (scanned: number): ServerFrame => ({
  op: 'heartbeat',
  scanned,
  time: '2026-03-02T09:15:04.250Z',
});

async function rig(t: TestContext, options: Partial<StreamOptions> = {}) {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const tokens: (string | null)[] = [];
  const client = createClient({
    base: server.base,
    token: 'a-token',
    onToken: (token) => tokens.push(token),
    environment: env,
  });
  const states: string[] = [];
  const cursors: StreamCursor[] = [];
  const stream = client.stream({
    topics: ['config'],
    ...options,
    onState: (state) => states.push(state),
    onCursor: (cursor) => cursors.push(cursor),
  });
  t.after(() => stream.close());
  const items: StreamItem[] = [];
  let failure: Error | null = null;
  const read = (async () => {
    for await (const item of stream) items.push(item);
  })().catch((error: Error) => {
    failure = error;
  });
  /** The n-th connection, greeted, with its subscription answered. */
  async function subscribed(
    n: number,
    cursor: number,
    epoch = EPOCH,
    rights: { readonly access?: string } = {},
  ): Promise<ScriptedLink> {
    const link = await server.link(n);
    link.send(hello(epoch));
    const { id, topics } = await link.heard('subscribe');
    link.send({ op: 'subscribed', id, topics, cursor, ...rights });
    return link;
  }
  const seqs = (): number[] => items.flatMap((item) => ('seq' in item ? [item.seq] : []));
  return {
    server,
    env,
    tokens,
    client,
    states,
    cursors,
    stream,
    items,
    seqs,
    read,
    subscribed,
    /** Lets the wait for the next attempt pass, once it has begun. */
    async retried(ms = 1_000) {
      await until(
        'the stream to be without a connection',
        () => states.at(-1) === 'stale' && env.waits.length > 0,
      );
      env.pass(ms);
    },
    heard: (n: number) => until(`${n} items`, () => items.length >= n, { seen: () => items }),
    get failure() {
      return failure;
    },
  };
}

test('stream - begins with a ticket and the sub-protocol, subscribes, gives snapshot and events in order', async (t) => {
  const r = await rig(t, { topics: ['queues', 'agents'], snapshot: true });
  const link = await r.subscribed(0, 7);
  assert.equal(link.url, '/api/v1/stream?ticket=t1');
  assert.equal(link.protocol, 'offhook.v1');
  assert.deepEqual(r.server.asked, ['POST /api/v1/stream/ticket Bearer a-token']);
  assert.deepEqual(link.frames[0], {
    op: 'subscribe',
    id: 's1',
    topics: ['queues', 'agents'],
    snapshot: true,
  });
  link.send(
    { op: 'snapshot', topic: 'queues', cursor: 7, data: [] },
    { op: 'snapshot', topic: 'agents', cursor: 7, data: [1] },
    event(8, 7),
    event(11, 8),
  );
  await r.heard(4);
  assert.deepEqual(
    r.items.map((item) => item.type),
    ['snapshot', 'snapshot', 'config.applied', 'config.applied'],
  );
  assert.deepEqual(r.states, ['live']);
  assert.deepEqual(r.stream.cursor, { epoch: EPOCH, seq: 11 });
});

test('stream - the cursor is the reader’s position, and a heartbeat advances it while nothing waits', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const kept: number[] = [];
  const stream = createClient({ base: server.base, token: 'x', environment: env }).stream({
    topics: ['config'],
    onCursor: ({ seq }) => kept.push(seq),
  });
  t.after(() => stream.close());
  const iterator = stream[Symbol.asyncIterator]();
  const first = iterator.next();
  const link = await server.link(0);
  link.send(hello());
  const { id, topics } = await link.heard('subscribe');
  link.send({ op: 'subscribed', id, topics, cursor: 3 }, event(4, 3), event(5, 4));
  await first;
  await until('the second event to wait', () => env.now() >= 0 && stream.heard_at !== null);
  assert.deepEqual(kept, [3], 'the first event was given out and is not done with');
  await iterator.next();
  assert.deepEqual(kept, [3, 4]);
  const third = iterator.next();
  assert.deepEqual(kept, [3, 4, 5], 'coming back for more says that the one before is done with');
  link.send(heartbeat(40));
  await until('the heartbeat to count', () => kept.at(-1) === 40);
  stream.close();
  assert.equal((await third).done, true);
});

test('stream - a stored cursor resumes at its position, with its epoch', async (t) => {
  const r = await rig(t, { cursor: { epoch: EPOCH, seq: 20 }, snapshot: true });
  const link = await r.subscribed(0, 20);
  assert.deepEqual(link.frames[0], {
    op: 'subscribe',
    id: 's1',
    topics: ['config'],
    snapshot: true,
    cursor: 20,
    epoch: EPOCH,
  });
  link.send(event(21, 20), event(22, 21));
  await r.heard(2);
  assert.deepEqual(r.states, ['resuming']);
  link.send({ op: 'resumed', cursor: 22 });
  await until('the stream to be live', () => r.stream.state === 'live');
});

test('stream - a cut connection resumes after the last event, and repeated events are delivered once', async (t) => {
  const r = await rig(t);
  const first = await r.subscribed(0, 1);
  first.send(event(2, 1), event(3, 2));
  await r.heard(2);
  first.cut();
  await r.retried();
  const second = await r.subscribed(1, 3);
  assert.deepEqual(second.frames[0], {
    op: 'subscribe',
    id: 's2',
    topics: ['config'],
    snapshot: false,
    cursor: 3,
    epoch: EPOCH,
  });
  assert.equal(second.url, '/api/v1/stream?ticket=t2');
  second.send(event(3, 2), event(5, 3), { op: 'resumed', cursor: 5 }, event(5, 3), event(6, 5));
  await r.heard(4);
  assert.deepEqual(r.seqs(), [2, 3, 5, 6]);
  assert.deepEqual(r.states, ['live', 'stale', 'resuming', 'live']);
});

test('stream - a hole is never passed over: the connection is given up and resumed before it', async (t) => {
  const r = await rig(t);
  const first = await r.subscribed(0, 1);
  first.send(event(2, 1), event(9, 7));
  await until('the connection to be given up', () => first.closedBy === 1000);
  assert.deepEqual(r.seqs(), [2]);
  assert.equal(r.stream.holes, 1);
  await r.retried();
  const second = await r.subscribed(1, 2);
  assert.equal((second.frames[0] as { cursor?: number }).cursor, 2);
  second.send(event(7, 2), event(9, 7));
  await r.heard(3);
  assert.deepEqual(r.seqs(), [2, 7, 9]);
});

test('stream - after a gap the state comes anew, and only then the cursor moves on', async (t) => {
  const r = await rig(t, { snapshot: true, cursor: { epoch: 'e0', seq: 500 } });
  const link = await r.subscribed(0, 12);
  link.send({ op: 'gap', from: 500, to: 12, reason: 'epoch' });
  await r.heard(1);
  assert.deepEqual(r.stream.cursor, { epoch: 'e0', seq: 500 }, 'who dies now takes the state again');
  link.send({ op: 'snapshot', topic: 'config', cursor: 12, data: {} });
  await r.heard(2);
  assert.deepEqual(
    r.stream.cursor,
    { epoch: EPOCH, seq: 12 },
    'the last snapshot is taken, nothing happened',
  );
  link.send(event(12, 11), event(13, 12));
  await r.heard(3);
  assert.deepEqual(
    r.items.map((item) => ('seq' in item ? item.seq : item.type)),
    ['gap', 'snapshot', 13],
  );
  assert.deepEqual(r.stream.cursor, { epoch: EPOCH, seq: 13 });
  assert.deepEqual(r.states, ['resuming', 'live']);
});

test('stream - cut before its snapshots, it starts again from its old position', async (t) => {
  const r = await rig(t, { topics: ['queues', 'agents'], snapshot: true });
  const shown = (topic: string, cursor: number): ServerFrame => ({ op: 'snapshot', topic, cursor, data: [] });
  const first = await r.subscribed(0, 7);
  first.send(shown('queues', 7));
  await r.heard(1);
  first.cut();
  await r.retried();
  const second = await r.subscribed(1, 9);
  const fresh = { op: 'subscribe', id: 's2', topics: ['queues', 'agents'], snapshot: true };
  assert.deepEqual(second.frames[0], fresh);
  second.send(shown('queues', 9), shown('agents', 9));
  await r.heard(3);
  second.cut();
  await r.retried();
  const third = await r.subscribed(2, 9);
  const resumed = { ...fresh, id: 's3', cursor: 9, epoch: EPOCH };
  assert.deepEqual(third.frames[0], resumed);
  third.send({ op: 'gap', from: 9, to: 20, reason: 'cursor_outdated' }, shown('agents', 20));
  await r.heard(5);
  third.cut();
  await r.retried();
  const fourth = await r.subscribed(3, 30);
  assert.deepEqual(fourth.frames[0], { ...resumed, id: 's4' });
});

test('stream - resumed with other rights, it takes the state again beside the events', async (t) => {
  const r = await rig(t, { topics: ['queues'], snapshot: true });
  const shown = (cursor: number): ServerFrame => ({ op: 'snapshot', topic: 'queues', cursor, data: [] });
  const first = await r.subscribed(0, 7, EPOCH, { access: 'support' });
  first.send(shown(7), event(8, 7));
  await r.heard(2);
  first.cut();
  await r.retried();
  const second = await r.subscribed(1, 8, EPOCH, { access: 'sales' });
  second.send(event(9, 8), { op: 'resumed', cursor: 9 });
  const again = { op: 'subscribe', topics: ['queues'], snapshot: true };
  assert.deepEqual(await second.heard('subscribe', 1), { ...again, id: 's3' });
  second.send(event(10, 9));
  await r.heard(4);
  second.cut();
  await r.retried();
  const third = await r.subscribed(2, 10, EPOCH, { access: 'sales' });
  third.send({ op: 'resumed', cursor: 10 });
  assert.deepEqual(await third.heard('subscribe', 1), { ...again, id: 's5' }, 'it was cut before the state');
  third.send({ op: 'subscribed', id: 's5', topics: ['queues'], cursor: 10, access: 'sales' }, shown(10));
  await r.heard(5);
  third.cut();
  await r.retried();
  const fourth = await r.subscribed(3, 10, EPOCH, { access: 'sales' });
  fourth.send({ op: 'resumed', cursor: 10 }, event(11, 10));
  await r.heard(6);
  assert.equal(fourth.frames.length, 1, 'it has the state');
  assert.deepEqual(r.seqs(), [8, 9, 10, 11]);
});

test('stream - cut between the events and the snapshots after a gap, and between these, it takes the state again', async (t) => {
  const topics = ['queues', 'agents'];
  const rights = { access: 'support' };
  const r = await rig(t, { topics, snapshot: true });
  const shown = (cursor: number, topic: string): ServerFrame => ({ op: 'snapshot', topic, cursor, data: [] });
  const first = await r.subscribed(0, 7, EPOCH, rights);
  first.send(...topics.map((topic) => shown(7, topic)));
  first.send({ op: 'gap', from: 7, to: 20, reason: 'cursor_outdated' }, event(21, 20), heartbeat(25));
  await r.heard(4);
  await until('the heartbeat', () => r.stream.state === 'live');
  assert.deepEqual(
    r.stream.cursor,
    { epoch: EPOCH, seq: 7, ...rights },
    'a program that stored a later one never got the state',
  );
  first.cut();
  /** The n-th connection, which gets these snapshots after it resumed. */
  const taken = async (n: number, id: string, given: readonly string[]): Promise<void> => {
    await r.retried();
    const link = await r.subscribed(n, 21, EPOCH, rights);
    link.send({ op: 'resumed', cursor: 21 });
    assert.deepEqual(await link.heard('subscribe', 1), { op: 'subscribe', id, topics, snapshot: true });
    const heard = r.items.length + given.length;
    link.send({ op: 'subscribed', id, topics, cursor: 21, ...rights });
    link.send(...given.map((topic) => shown(21, topic)));
    await r.heard(heard);
    link.cut();
  };
  await taken(1, 's3', ['queues']);
  await taken(2, 's5', topics);
  await r.retried();
  const last = await r.subscribed(3, 21, EPOCH, rights);
  last.send({ op: 'resumed', cursor: 21 }, event(22, 21));
  await until('the next event', () => r.seqs().at(-1) === 22);
  assert.equal(last.frames.length, 1, 'it has the state');
});

test('stream - without snapshots a gap is reported and the stream goes on after it', async (t) => {
  const r = await rig(t, { cursor: { epoch: EPOCH, seq: 5 } });
  const link = await r.subscribed(0, 5);
  link.send({ op: 'gap', from: 5, to: 90, reason: 'cursor_outdated' }, event(91, 90));
  await r.heard(2);
  assert.deepEqual(r.items[0], { type: 'gap', from: 5, to: 90, reason: 'cursor_outdated' });
  assert.deepEqual(r.seqs(), [91]);
  assert.equal(r.stream.state, 'live');
});

test('stream - the check of the newest event goes with the cursor, and is dropped with its log', async (t) => {
  const r = await rig(t, { cursor: { epoch: EPOCH, seq: 5, check: '5:00000005' } });
  const link = await r.subscribed(0, 5);
  assert.equal((link.frames[0] as { check?: string }).check, '5:00000005');
  const with6 = event(6, 5);
  assert.ok(with6.op === 'event');
  link.send({ ...with6, event: { ...with6.event, check: '00000006' } });
  await r.heard(1);
  assert.deepEqual(r.stream.cursor, { epoch: EPOCH, seq: 6, check: '6:00000006' });
  link.cut();
  await r.retried();
  const next = await r.subscribed(1, 6, 'e2');
  assert.equal((next.frames[0] as { check?: string }).check, '6:00000006');
  next.send({ op: 'gap', from: 6, to: 90, reason: 'epoch' });
  await r.heard(2);
  next.cut();
  await r.retried();
  const last = await r.subscribed(2, 90, 'e2');
  assert.deepEqual(last.frames[0], {
    op: 'subscribe',
    id: 's3',
    topics: ['config'],
    snapshot: false,
    cursor: 90,
    epoch: 'e2',
  });
});

test('stream - a socket that went dead while the machine slept is noticed by the clock', async (t) => {
  const r = await rig(t);
  const link = await r.subscribed(0, 1);
  link.send(event(2, 1));
  await r.heard(1);
  for (let beat = 0; beat < 5; beat++) {
    r.env.pass(5_000);
    link.send({ ...heartbeat(2) }, { op: 'ping', id: beat });
    await link.heard('pong', beat);
  }
  assert.deepEqual(r.states, ['live'], 'heartbeats keep it');
  r.env.sleep(3_600_000);
  assert.equal(r.stream.state, 'stale');
  // The next attempt begins at once, by the chance of the test.
  await until('the dead socket to be closed', () => link.closedBy === 1000);
  const second = await r.subscribed(1, 2);
  assert.equal((second.frames[0] as { cursor?: number }).cursor, 2);
});

test('stream - a server that is silent for a third of a heartbeat is pinged, and dropped without an answer', async (t) => {
  const r = await rig(t);
  const link = await r.subscribed(0, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  const pings = (): Promise<unknown> => link.heard('ping');
  r.env.pass(5_000);
  await pings();
  link.send({ op: 'pong' });
  await until('the answer to be heard', () => r.stream.heard_at === r.env.now());
  r.env.pass(5_000);
  assert.equal(r.stream.state, 'live');
  r.env.pass(4_999);
  assert.equal(r.stream.state, 'live');
  r.env.pass(1);
  assert.equal(r.stream.state, 'stale');
});

test('stream - while a snapshot is on its way, answers of the server may come late', async (t) => {
  const r = await rig(t, { snapshot: true });
  const link = await r.subscribed(0, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  r.env.pass(60_000);
  assert.equal(r.stream.state, 'live', 'pings wait behind the snapshot');
  link.send({ op: 'snapshot', topic: 'config', cursor: 1, data: {} });
  await r.heard(1);
  r.env.pass(9_999);
  assert.equal(r.stream.state, 'live');
  r.env.pass(1);
  assert.equal(r.stream.state, 'stale', 'no longer once it is there');
  const second = await r.subscribed(1, 1);
  second.send({ op: 'gap', from: 1, to: 9, reason: 'cursor_outdated' });
  await r.heard(2);
  r.env.pass(60_000);
  assert.equal(r.stream.state, 'live');
  r.env.pass(10_000);
  assert.equal(r.stream.state, 'stale', 'a dead connection is noticed in the end');
});

test('stream - a late answer, because this tab slept, still counts', async (t) => {
  const r = await rig(t);
  const link = await r.subscribed(0, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  r.env.pass(5_000);
  link.send({ op: 'pong' });
  await until('the answer to be heard', () => r.stream.heard_at === r.env.now());
  r.env.sleep(20_000);
  assert.equal(r.stream.state, 'live');
});

test('stream - a silent server is found also if the clock was set back', async (t) => {
  const r = await rig(t);
  await r.subscribed(0, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  r.env.setClock(-3_600_000);
  r.env.pass(10_000);
  assert.equal(r.stream.state, 'stale');
});

test('stream - a missing ticket is requested again, at once after a network change', async (t) => {
  const asked: AbortSignal[] = [];
  const env = manualEnvironment();
  const session = {
    base: 'http://127.0.0.1:1',
    renew: () => Promise.reject(new Error('not asked for')),
    ticket: (signal: AbortSignal) =>
      new Promise<string>((_resolve, reject) => {
        asked.push(signal);
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  };
  const stream = createStream(session, { topics: ['config'] }, env);
  t.after(() => stream.close());
  env.pass(4_999);
  assert.equal(asked[0]?.aborted, false);
  env.pass(1);
  assert.equal(asked[0]?.aborted, true);
  await until('the next attempt to be planned', () => stream.state === 'stale');
  env.pass(500);
  assert.equal(asked.length, 2);
  env.networkChanged();
  assert.equal(asked[1]?.aborted, true);
});

test('stream - on a network change it pings at once', async (t) => {
  const r = await rig(t);
  const link = await r.subscribed(0, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  r.env.networkChanged();
  await link.heard('ping');
  r.env.pass(5_000);
  assert.equal(r.stream.state, 'stale');
});

test('stream - a server that never greets is left', async (t) => {
  const r = await rig(t);
  await r.server.link(0);
  await until('the greeting to be waited for', () => r.env.waits.includes(10_000));
  r.env.pass(10_000);
  assert.deepEqual(r.states, ['stale']);
});

test('stream - attempts are spread by chance over a time that doubles up to eight seconds', async (t) => {
  const r = await rig(t);
  r.env.chance = 0.999;
  const waits: number[] = [];
  for (let n = 0; n < 9; n++) {
    (await r.server.link(n)).cut();
    const wait = await until('the next attempt to be planned', () => {
      const [only] = r.env.waits;
      return r.env.waits.length === 1 && only !== 10_000 ? only : null;
    });
    waits.push(Math.round(wait / 0.999));
    r.env.pass(wait);
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000]);
  const link = await r.subscribed(9, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  r.env.chance = 0.5;
  r.env.pass(6_000);
  link.cut();
  await until('the connection to be gone', () => r.stream.state === 'stale');
  assert.deepEqual(r.env.waits, [250], 'after a good connection the first wait is short again');
});

test('stream - a planned restart gives the time to reconnect', async (t) => {
  const r = await rig(t);
  const link = await r.subscribed(0, 1);
  link.send({ op: 'reconnect', after_ms: 4_321 });
  link.close(1012);
  await until('the connection to be gone', () => r.stream.state === 'stale');
  assert.deepEqual(r.env.waits, [4_321]);
});

test('stream - a session that ended is renewed once; when that does not help the stream is closed', async (t) => {
  const r = await rig(t);
  (await r.subscribed(0, 1)).close(4409, 'signed out elsewhere');
  const second = await r.server.link(1);
  assert.deepEqual(r.server.asked.slice(1), [
    'GET /api/mobile/refresh.php Bearer a-token',
    'POST /api/v1/stream/ticket Bearer renewed-2',
  ]);
  assert.deepEqual(r.tokens, ['renewed-2']);
  second.close(4401, 'no');
  await r.read;
  assert.equal(r.stream.state, 'closed');
  assert.equal((r.failure as { code?: string } | null)?.code, 'not_authenticated');
  assert.equal(r.server.links.length, 2);
});

test('stream - a session that cannot be renewed closes it', async (t) => {
  const r = await rig(t);
  const problem = { status: 401, code: 'not_authenticated', detail: 'sign in first' };
  r.server.answer('/api/mobile/refresh.php', 401, problem);
  (await r.subscribed(0, 1)).close(4409);
  await r.read;
  assert.equal((r.failure as { code?: string } | null)?.code, 'not_authenticated');
  assert.deepEqual(r.tokens, [null]);
});

test('stream - a renewal that meets a busy service or no network is tried again, and a refusal ends the stream', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  env.chance = 0.5;
  const problem = { status: 403, code: 'forbidden', detail: 'no' } as Problem;
  const failures = [
    new TypeError('fetch failed'),
    new OffhookError(503, null, 7),
    new OffhookError(403, problem, null),
  ];
  const session = {
    base: server.base,
    ticket: () => Promise.resolve('t'),
    renew: () => Promise.reject(failures.shift()!),
  };
  const stream = createStream(session, { topics: ['config'] }, env);
  t.after(() => stream.close());
  for (const [n, wait] of [250, 7_000].entries()) {
    (await server.link(n)).close(4401, 'ended');
    await until('the next attempt, or the end', () => env.waits[0] === wait || stream.state === 'closed');
    assert.equal(stream.state, 'stale');
    env.pass(wait);
  }
  (await server.link(2)).close(4401, 'ended');
  await assert.rejects(stream[Symbol.asyncIterator]().next(), { status: 403 });
  assert.equal(stream.state, 'closed');
});

test('stream - an API key that is no longer valid ends it without another attempt', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const stream = createClient({ base: server.base, token: 'ohk_x', environment: env }).stream({
    topics: ['config'],
  });
  t.after(() => stream.close());
  (await server.link(0)).close(4409, 'revoked');
  await until('the end, or another attempt', () => stream.state === 'closed' || env.waits[0] === 0);
  assert.equal(stream.state, 'closed');
  await assert.rejects(stream[Symbol.asyncIterator]().next(), { code: 'not_authenticated' });
  assert.equal(server.asked.length, 1, 'only the first ticket');
});

for (const code of [4400, 4403, 4412]) {
  test(`stream - the close code ${code} is for good`, async (t) => {
    const r = await rig(t);
    (await r.subscribed(0, 1)).close(code, 'why');
    await r.read;
    assert.equal(r.stream.state, 'closed');
    assert.match(r.failure?.message ?? '', /why/);
  });
}

test('stream - a subscription that is refused ends the loop with its code; one that meets a busy server is tried again', async (t) => {
  const r = await rig(t);
  const busy = await r.server.link(0);
  busy.send(hello());
  const first = await busy.heard('subscribe');
  busy.send({ op: 'error', id: first.id, code: 'overloaded', detail: 'later' });
  await r.retried();
  const link = await r.server.link(1);
  link.send(hello());
  const second = await link.heard('subscribe');
  link.send({ op: 'error', id: second.id, code: 'forbidden', detail: 'config needs admin' });
  await r.read;
  assert.equal((r.failure as { code?: string } | null)?.code, 'forbidden');
});

test('stream - without the right to a ticket it closes; without a server it asks again', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const problem = (status: number, code: string) => ({ status, code, detail: code });
  server.answer('/api/v1/stream/ticket', 503, problem(503, 'overloaded'), { 'retry-after': '7' });
  server.answer(
    '/api/v1/stream/ticket',
    404,
    { message: 'no route, says the proxy' },
    { 'retry-after': '3' },
  );
  server.answer('/api/v1/stream/ticket', 403, problem(403, 'forbidden'));
  const stream = createClient({ base: server.base, token: 'x', environment: env }).stream({
    topics: ['calls'],
  });
  await until('the next attempt to be planned', () => env.waits[0] === 7_000);
  env.pass(7_000);
  await until('another attempt to be planned', () => env.waits[0] === 3_000);
  env.pass(3_000);
  await assert.rejects(stream[Symbol.asyncIterator]().next(), { code: 'forbidden' });
});

test('stream - a reader that is too slow costs a bounded buffer and no event', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const states: string[] = [];
  const stream = createClient({ base: server.base, token: 'x', environment: env }).stream({
    topics: ['config'],
    buffer: 10,
    onState: (state) => states.push(state),
  });
  t.after(() => stream.close());
  const first = await server.link(0);
  first.send(hello());
  const { id, topics } = await first.heard('subscribe');
  first.send({ op: 'subscribed', id, topics, cursor: 0 });
  for (let seq = 1; seq <= 50; seq++) first.send(event(seq, seq - 1));
  await until('the connection to be given up', () => first.closedBy === 1000);
  assert.deepEqual(states, ['live', 'stale']);
  assert.deepEqual(env.waits, [], 'nothing is asked for while the reader is behind');
  const seqs: number[] = [];
  const reading = (async () => {
    for await (const item of stream) {
      if ('seq' in item) seqs.push(item.seq);
      if (seqs.length === 50) break;
    }
  })();
  for (let n = 1; seqs.length < 50; n++) {
    const link = await server.link(n);
    link.send(hello());
    const asked = await link.heard('subscribe');
    const { cursor = 0 } = asked;
    link.send({ op: 'subscribed', id: asked.id, topics, cursor });
    for (let seq = cursor + 1; seq <= 50; seq++) link.send(event(seq, seq - 1));
    await until('it to be given up again', () => link.closedBy === 1000 || seqs.length === 50);
  }
  await reading;
  assert.deepEqual(
    seqs,
    Array.from({ length: 50 }, (_, i) => i + 1),
  );
});

test('stream - leaving the loop closes the connection', async (t) => {
  const server = await scriptedStream(t);
  const stream = createClient({ base: server.base, token: 'x' }).stream({ topics: ['config'] });
  const reading = (async () => {
    for await (const item of stream) if ('seq' in item) break;
  })();
  const link = await server.link(0);
  link.send(hello());
  const { id, topics } = await link.heard('subscribe');
  link.send({ op: 'subscribed', id, topics, cursor: 0 }, event(1, 0));
  await reading;
  assert.equal(stream.state, 'closed');
  await until('the socket to be closed', () => link.closedBy === 1000);
});

test('stream - invalid and unknown frames do no harm', async (t) => {
  const r = await rig(t);
  const first = await r.subscribed(0, 1);
  first.text('{"op":"new_in_2030","x":1}');
  first.send(event(2, 1));
  await r.heard(1);
  first.text('{"op":');
  await r.retried();
  const second = await r.subscribed(1, 2);
  second.send(event(3, 2));
  await r.heard(2);
});

test('stream - commands run on it, and their results reach the caller', async (t) => {
  const r = await rig(t);
  const link = await r.subscribed(0, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  const good = r.client.command('agents.pause', { extension: '1003', reason: 'lunch' });
  const bad = r.client.command('agents.pause', {}, { idempotency_key: 'k1' });
  void bad.catch(() => undefined);
  const first = await link.heard('command', 0);
  const second = await link.heard('command', 1);
  assert.deepEqual(first, {
    op: 'command',
    id: first.id,
    action: 'agents.pause',
    data: { extension: '1003', reason: 'lunch' },
  });
  assert.equal(second.idempotency_key, 'k1');
  const error = {
    type: '/docs/errors#forbidden',
    title: 'no',
    status: 403,
    detail: 'why not',
    code: 'forbidden',
    success: false as const,
    error: 'why not',
  };
  link.send(
    { op: 'result', id: second.id, ok: false, error },
    { op: 'result', id: first.id, ok: true, data: { success: true } },
  );
  assert.deepEqual(await good, { success: true });
  await assert.rejects(bad, { name: 'OffhookError', status: 403, code: 'forbidden', message: 'why not' });
});

test('stream - a command without a result has an unknown outcome and is never repeated', async (t) => {
  const r = await rig(t);
  const link = await r.subscribed(0, 1);
  await until('the stream to be live', () => r.stream.state === 'live');
  const lost = r.client.command('calls.originate', { to: '0301234567' });
  void lost.catch(() => undefined);
  await link.heard('command');
  link.cut();
  await assert.rejects(lost, { code: 'outcome_unknown' });
  await r.retried();
  const second = await r.subscribed(1, 1);
  const slow = r.stream.command('calls.originate', {}, { timeout_ms: 3_000 });
  void slow.catch(() => undefined);
  await second.heard('command');
  r.env.pass(3_000);
  await assert.rejects(slow, { code: 'outcome_unknown' });
  assert.equal(second.frames.filter((f) => f.op === 'command').length, 1, 'only the new one');
});

test('stream - a command without a stream has its own connection, and is not sent without one', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const client = createClient({ base: server.base, token: 'x', environment: env });
  const done = client.command('agents.unpause', { extension: '1003' });
  const link = await server.link(0);
  link.send(hello());
  const { id } = await link.heard('command');
  link.send({ op: 'result', id, ok: true, data: 1 });
  assert.equal(await done, 1);
  assert.deepEqual(
    link.frames.map((f) => f.op),
    ['command'],
  );
  await until('the connection to be closed', () => link.closedBy === 1000);

  const never = client.command('agents.unpause', {}, { timeout_ms: 2_000 });
  void never.catch(() => undefined);
  await server.link(1);
  env.pass(2_000);
  await assert.rejects(never, { code: 'not_sent' });
});

test('stream - whatever is cut, doubled or skipped on the way, each event is delivered once and in order', async (t) => {
  // Actions of the scripted server before each event.
  const step = fc.constantFrom('send', 'send', 'send', 'double', 'cut', 'skip', 'restart', 'slow');
  const script = fc.array(step, { minLength: 5, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const r = await rig(t, { cursor: { epoch: EPOCH, seq: 0 } });
      const total = steps.length;
      let at = 0;
      for (let n = 0; r.seqs().length < total; n++) {
        const link = await r.server.link(n);
        link.send(hello());
        const { id, topics, cursor = 0 } = await link.heard('subscribe');
        link.send({ op: 'subscribed', id, topics, cursor });
        let over = false;
        for (let seq = cursor + 1; seq <= total && !over; seq++) {
          // Each fault happens once, so that the script ends.
          const what = seq > at ? steps[seq - 1] : 'send';
          at = Math.max(at, seq);
          if (what === 'skip' && seq < total) continue;
          link.send(event(seq, seq - 1));
          if (what === 'double') link.send(event(seq, seq - 1));
          if (what === 'cut') link.cut();
          if (what === 'restart') link.close(1012);
          if (what === 'slow') link.close(4408);
          over = what === 'cut' || what === 'restart' || what === 'slow';
        }
        if (!over) link.send({ op: 'resumed', cursor: total });
        await until(
          'all events, or the end of this connection',
          () => {
            if (r.seqs().length === total) return true;
            if (r.stream.state !== 'stale' || r.env.waits.length === 0) return false;
            r.env.pass(1_000);
            return true;
          },
          { every: 1 },
        );
      }
      assert.deepEqual(
        r.seqs(),
        steps.map((_, i) => i + 1),
      );
      r.stream.close();
    }),
    { numRuns: 25 },
  );
});
