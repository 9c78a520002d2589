import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { test } from 'node:test';
import v8 from 'node:v8';
import vm from 'node:vm';
import { openMemoryJournal } from '../../src/adapters/memory/journal-store.ts';
import { openSqliteJournal } from '../../src/adapters/sqlite/journal.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { offer, presence, streamRig } from '../support/stream-rig.ts';
import type { StreamRig } from '../support/stream-rig.ts';
import { until } from '../support/until.ts';
import { clientFrame } from '../support/ws-client.ts';
import type { WsClient } from '../support/ws-client.ts';

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc') as () => void;
/** Bytes of buffers that are still referenced. */
async function held(): Promise<number> {
  gc();
  await wait(20);
  gc();
  return process.memoryUsage().arrayBuffers;
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const BIG = 'x'.repeat(20_000);
/** However long a busy machine takes, no heartbeat is among the frames, and no frozen client is closed for its silence. */
const PATIENT = { heartbeatSeconds: 600 };
async function subscribed(
  rig: StreamRig,
  level: string,
  topics: readonly string[],
  more = {},
): Promise<WsClient> {
  const client = await rig.open(level);
  client.send({ op: 'subscribe', id: 1, topics, ...more });
  await client.next('subscribed');
  return client;
}

test('stream pressure - a client that never reads is closed with 4408, holds no memory, and others are not affected', async (t) => {
  const rig = await streamRig(t, PATIENT);
  const good = await subscribed(rig, 'supervisor', ['queues']);
  const commit = async (): Promise<void> => {
    rig.commit(...Array.from({ length: 10 }, () => offer('support', '1003', BIG)));
    const { head } = rig.journal;
    await until(`event ${head} at the good one`, () => good.frames.length === head + 2, { every: 1 });
  };
  const client = await subscribed(rig, 'supervisor', ['queues']);
  client.freeze();
  for (let i = 0; rig.figure('offhook_stream_too_slow') === 0; i += 1) {
    assert.ok(i < 200, 'it was not given up');
    await commit();
  }
  // At once: ten seconds after it was given up its connection is cut off, with what it was sent.
  client.socket.resume();
  assert.equal((await client.closed()).code, 4408);

  const frozen = await Promise.all(
    Array.from({ length: 8 }, () => subscribed(rig, 'supervisor', ['queues'])),
  );
  for (const one of frozen) one.freeze();
  let most = 0;
  const before = await held();
  for (let i = 1; i <= 100; i += 1) {
    await commit();
    if (i % 25 === 0) most = Math.max(most, (await held()) - before);
  }
  assert.equal(good.seqs().length, rig.journal.head);
  t.diagnostic(`${Math.round(most / 1024)} KiB held for 8 who do not read and for their own ends`);
  assert.ok(most < 8 * 1024 * 1024, `${most} bytes`);
  await until('all of them given up', () => rig.figure('offhook_stream_too_slow') === 1 + frozen.length);
  assert.equal(rig.figure('offhook_stream_clients'), 1);
  const seqs = client.seqs();
  assert.deepEqual(
    seqs,
    Array.from({ length: seqs.length }, (_, i) => i + 1),
    'what it was sent has no hole',
  );
  const again = await rig.open('supervisor');
  again.send({ op: 'subscribe', id: 1, topics: ['queues'], cursor: seqs.at(-1) });
  await again.next('resumed');
  assert.deepEqual(again.seqs().at(0), seqs.length + 1);
  assert.equal(again.seqs().length, rig.journal.head - seqs.length, 'and it resumes with the last seq');
});

test('stream pressure - from a client that never reads replies, no more requests are read', async (t) => {
  let runs = 0;
  const large = 'z'.repeat(1_000_000);
  const rig = await streamRig(t, { ...PATIENT, commands: { run: async () => ((runs += 1), large) } });
  const client = await rig.open('supervisor');
  client.freeze();
  const ask = (from: number): void => {
    for (let i = 0; i < 15; i += 1) client.send({ op: 'command', id: from + i, action: 'a.large' });
  };
  ask(0);
  await until('the first commands', () => runs > 10);
  // As many as are read: a turn of the event loop takes in what has arrived, however late it is.
  let before = 0;
  for (let same = 0; same < 200; same += 1) {
    if (runs !== before) [before, same] = [runs, 0];
    await turn();
  }
  ask(15);
  await wait(300);
  assert.equal(runs, before, 'the next ones are not even read');
  client.socket.resume();
  const results = (): number => client.frames.filter((frame) => frame.op === 'result').length;
  await until('all answers', () => results() === 30, { seen: () => ({ results: results() }) });
});

test('stream pressure - an event source that never reads is closed, too, and resumes with its last id', async (t) => {
  const rig = await streamRig(t, PATIENT);
  const socket = net.connect({ port: rig.port, host: '127.0.0.1' });
  t.after(() => socket.destroy());
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.write(
    'GET /api/v1/events?topics=queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-supervisor\r\n\r\n',
  );
  const text = (): string => Buffer.concat(chunks).toString('latin1');
  await until('its begin', () => text().includes('event: subscribed'));
  socket.pause();
  for (let i = 0; i < 2_000 && rig.figure('offhook_stream_too_slow') === 0; i += 1) {
    rig.commit(...Array.from({ length: 10 }, () => offer('support', '1003', BIG)));
    await turn();
  }
  assert.equal(rig.figure('offhook_stream_too_slow'), 1);
  assert.equal(rig.figure('offhook_stream_clients'), 0);
  socket.resume();
  await until('the reason', () => text().includes('event: close\ndata: {"code":4408'));
  const ids = [...text().matchAll(/^id: (\d+)\ndata: \{"spec/gm)].map((m) => Number(m[1]));
  assert.deepEqual(
    ids,
    Array.from({ length: ids.length }, (_, i) => i + 1),
  );
});

test('stream pressure - a slow reader is sent only the newest of replaceable states, and every fact', async (t) => {
  const rig = await streamRig(t, { ...PATIENT, maxBehind: 10_000_000 });
  const slow = await subscribed(rig, 'supervisor', ['presence', 'queues/support']);
  slow.freeze();
  const facts: number[] = [];
  for (let i = 0; i < 1500; i += 1) {
    rig.commit(presence(`10${i % 5}`, `${i}${BIG}`));
    if (i % 10 === 0) {
      rig.commit(offer('support', '1003'));
      facts.push(rig.journal.head);
    }
    await turn();
  }
  slow.socket.resume();
  await until('the newest', () =>
    slow.frames.some((f) => f.op === 'event' && f.event.seq === rig.journal.head),
  );
  const events = slow.frames.flatMap((f) => (f.op === 'event' ? [f.event] : []));
  slow.seqs();
  assert.deepEqual(
    events.filter((e) => e.type === 'offer.created').map((e) => e.seq),
    facts,
  );
  const states = events.filter((e) => e.type === 'presence.changed');
  assert.ok(states.length < 1000, `${states.length} of 1500 states were sent`);
  for (const extension of ['100', '101', '102', '103', '104']) {
    const last = states.filter((e) => e.subject === `presence/${extension}`).at(-1);
    assert.deepEqual(last?.data, rig.states.get(`presence/${extension}`));
  }
  assert.equal(slow.close, null);
  rig.commit(presence('100', 'small'));
  await until('live again', () =>
    slow.frames.some((f) => f.op === 'event' && f.event.seq === rig.journal.head),
  );
});

test('stream pressure - a connection that makes no progress for two heartbeats is closed', async (t) => {
  const rig = await streamRig(t, { heartbeatSeconds: 0.3, maxBehind: 1e9 });
  const client = await subscribed(rig, 'supervisor', ['queues']);
  client.freeze();
  const alive = setInterval(() => client.raw(clientFrame(0xa, Buffer.alloc(0))), 150);
  t.after(() => clearInterval(alive));
  for (let i = 0; i < 600; i += 1) {
    rig.commit(offer('support', '1003', BIG));
    if (i % 20 === 0) await turn();
  }
  await until('the close', () => rig.figure('offhook_stream_clients') === 0);
  client.socket.resume();
  assert.equal((await client.closed()).code, 4408);
});

test('stream pressure - heartbeats move the cursor, and a silent client is closed after two of them', async (t) => {
  const rig = await streamRig(t, { heartbeatSeconds: 1 });
  const client = await subscribed(rig, 'user', ['presence']);
  const dead = await subscribed(rig, 'user', ['presence']);
  rig.commit(offer('support', '1003'), offer('support', '1003'));
  await until('a heartbeat that looked at both', () =>
    client.frames.some((f) => f.op === 'heartbeat' && f.scanned === 2),
  );
  assert.equal((await client.next('heartbeat')).time, new Date(rig.clock.now()).toISOString());
  const heartbeats = (one: WsClient): number => one.frames.filter(({ op }) => op === 'heartbeat').length;
  const before = heartbeats(dead);
  dead.freeze();
  dead.socket.resume();
  await dead.closed();
  const sent = heartbeats(dead) - before;
  assert.ok(sent >= 1 && sent <= 3, `closed after ${sent} heartbeats`);
  const heard = heartbeats(client);
  await until('more heartbeats than a silent client gets', () => heartbeats(client) > heard + 3);
  assert.equal(client.close, null, 'who answers pings stays');
  assert.equal(rig.figure('offhook_stream_clients'), 1);
});

test('stream pressure - a planned stop sends the time of return, and no client misses an event', async (t) => {
  const store = openMemoryJournal();
  const rig = await streamRig(t, { store });
  const clients = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      subscribed(rig, 'supervisor', i % 2 === 0 ? ['presence'] : ['queues']),
    ),
  );
  const happen = (on: StreamRig): void =>
    on.commit(presence('1005'), offer('sales', '1003'), presence('1006'));
  for (let i = 0; i < 50; i += 1) happen(rig);
  await turn();
  happen(rig);
  await rig.stop();
  const waits = new Set<number>();
  for (const client of clients) {
    assert.equal((await client.closed()).code, 1012);
    waits.add((await client.next('reconnect')).after_ms);
  }
  assert.ok(waits.size > 100, 'spread by chance');
  rig.journal.append([presence('1005'), offer('sales', '1003')]);
  const next = await streamRig(t, { store });
  happen(next);
  await Promise.all(
    clients.map(async (before, i) => {
      const seqs = before.seqs();
      const client = await next.open('supervisor');
      client.send({
        op: 'subscribe',
        id: 1,
        topics: i % 2 === 0 ? ['presence'] : ['queues'],
        cursor: seqs.at(-1) ?? 0,
      });
      await client.next('resumed');
      const wanted = store
        .read(0, 10_000)
        .filter((row) => row.topics.startsWith(i % 2 === 0 ? 'presence' : 'queues'));
      assert.deepEqual(
        [...seqs, ...client.seqs()],
        wanted.map((row) => row.seq),
      );
    }),
  );
});

const PING = Buffer.from([0x89, 0x00]);
/** A client that collects frames and answers pings: five thousand real ones would dominate the measurement. */
async function listen(port: number, frame: object): Promise<{ text(): string; socket: net.Socket }> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    // A client that is silent for 30 s is closed; a busy machine may need this long to connect all.
    if (chunk.includes(PING)) socket.write(clientFrame(0xa, Buffer.alloc(0)));
  });
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write(
    `GET /api/v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nAuthorization: Bearer token-user\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: offhook.v1\r\n\r\n',
  );
  socket.write(clientFrame(0x1, Buffer.from(JSON.stringify(frame))));
  return { socket, text: () => Buffer.concat(chunks).toString('latin1') };
}
test('stream pressure - 5,000 clients that return at once all get their snapshot, the missed events, and the next one', async (t) => {
  const rig = await streamRig(t);
  for (let i = 0; i < 300; i += 1) rig.commit(presence(`10${i % 20}`), offer('support', '1003'));
  const subscribe = { op: 'subscribe', id: 1, topics: ['presence'] };
  const busy = setInterval(() => rig.commit(presence('1000')), 400);
  t.after(() => clearInterval(busy));
  const began = performance.now();
  const clients = await Promise.all(
    Array.from({ length: 5_000 }, (_, i) =>
      listen(rig.port, i % 2 === 0 ? { ...subscribe, cursor: 500 } : { ...subscribe, snapshot: true }),
    ),
  );
  t.after(() => clients.forEach(({ socket }) => socket.destroy()));
  await until('everybody', () => rig.figure('offhook_stream_clients') === 5_000, {
    ms: 300_000,
    seen: () => ({ clients: rig.figure('offhook_stream_clients') }),
  });
  clearInterval(busy);
  rig.commit(presence('1000', 'the last'));
  const late = new Set(clients);
  await until(
    'the last event at everybody',
    () => {
      for (const client of late) if (client.text().includes('the last')) late.delete(client);
      return late.size === 0;
    },
    { ms: 300_000, every: 100, seen: () => ({ late: late.size }) },
  );
  const took = Math.round(performance.now() - began);
  t.diagnostic(`5,000 live again after ${took} ms; states made ${rig.taken} times`);
  for (const [i, client] of clients.entries()) {
    const text = client.text();
    const seqs = [...text.matchAll(/"seq":(\d+)/g)].map((m) => Number(m[1]));
    const start =
      i % 2 === 0 ? 500 : Number(/"op":"snapshot","topic":"presence","cursor":(\d+)/.exec(text)?.[1]);
    const wanted = rig.journal.read(start, 5_000).filter((row) => row.topics.startsWith('presence'));
    assert.deepEqual(
      seqs,
      wanted.map((row) => row.seq),
      `client ${i} from ${start}`,
    );
  }
  // 2,500 clients request it: those within one interval of 50 ms share the state.
  assert.ok(rig.taken <= took / 50 + 2, `the state was made ${rig.taken} times in ${took} ms`);
});

test('stream pressure - 100,000 missed events reach one client, and others do not wait for it', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-resume-'));
  t.after(() => rm(folder, { recursive: true }));
  const store = openSqliteJournal(path.join(folder, 'journal.db'));
  const rig = await streamRig(t, { store });
  const note = 'y'.repeat(150);
  for (let i = 0; i < 100; i += 1)
    rig.journal.append(Array.from({ length: 1_000 }, () => offer('support', '1003', note)));
  const other = await subscribed(rig, 'user', ['presence']);
  const client = await rig.open('supervisor');
  const reads = t.mock.method(store, 'read');
  client.send({ op: 'subscribe', id: 1, topics: ['queues'], cursor: 0 });
  await client.next('event');
  const before = client.frames.length;
  rig.commit(presence('1005'));
  await once(other.socket, 'data');
  const meanwhile = client.frames.length - before;
  await other.next('event');
  await client.next('resumed');
  const rows = reads.mock.calls.reduce((sum, { result }) => sum + (result?.length ?? 0), 0);
  const seqs = client.seqs();
  assert.equal(seqs.length, 100_000);
  assert.deepEqual([seqs[0], seqs.at(-1)], [1, 100_000]);
  t.diagnostic(`${rows} rows read, ${meanwhile} events before that of another client`);
  // The bench (resume) measures the time.
  assert.ok(rows < 120_000, `${rows} rows were read`);
  assert.ok(meanwhile < 20_000, `another client waited for ${meanwhile} events`);
});

test('stream pressure - a journal that cannot be read for a while loses nothing', async (t) => {
  const inner = openMemoryJournal();
  let broken = false;
  const store = {
    ...inner,
    read: (after: number, limit: number) => {
      if (broken) throw new ServiceError('store_unavailable', 'locked');
      return inner.read(after, limit);
    },
  };
  const rig = await streamRig(t, { store });
  for (let i = 0; i < 12; i += 1) rig.journal.append(Array.from({ length: 1_000 }, () => presence('1005')));
  broken = true;
  const client = await rig.open('user');
  client.send({ op: 'subscribe', id: 1, topics: ['presence'], cursor: 0 });
  await client.next('subscribed');
  await wait(100);
  broken = false;
  await client.next('resumed');
  assert.equal(client.seqs().length, 12_000);
});
