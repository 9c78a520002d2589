import assert from 'node:assert/strict';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { AgentSummary } from '@offhook/contract/agents.ts';
import { PollReply } from '@offhook/contract/stream.ts';
import { FOLDS } from '@offhook/client/folds.ts';
import type { StreamEvent } from '@offhook/client/client.ts';
import { EVERYONE } from '../../src/rights/topics.ts';
import { openSse } from '../support/sse-client.ts';
import type { Person } from '../support/api.ts';
import { readDatabase, readJournal } from '../support/journal.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { UpgradeRefused, openWs } from '../support/ws-client.ts';
import type { WsClient } from '../support/ws-client.ts';

const portOf = (site: Site): number => Number(new URL(site.base).port);
const headersOf = (person: Person) => ({
  authorization: `Bearer ${person.token}`,
  'content-type': 'application/json',
});
interface Flood {
  /** Changes that were confirmed. */
  readonly changes: number;
  stop(): Promise<void>;
}
/** Pauses and readies agents as fast as replies come, through all failures of the service, until stopped. */
function flood(site: Site, supervisor: Person, extensions: readonly string[]): Flood {
  let stopped = false;
  let changes = 0;
  const run = async (extension: string): Promise<void> => {
    for (let n = 0; !stopped; n += 1) {
      const action = n % 2 === 0 ? 'pause' : 'unpause';
      try {
        const body = action === 'pause' ? '{"reason":"training"}' : '{}';
        const url = `${site.base}/api/v1/agents/${extension}/${action}`;
        const response = await fetch(url, { method: 'POST', headers: headersOf(supervisor), body });
        await response.arrayBuffer();
        if (response.ok) changes += 1;
      } catch {
        await wait(20);
      }
    }
  };
  const all = Promise.all(extensions.map(run));
  return {
    get changes() {
      return changes;
    },
    async stop() {
      stopped = true;
      await all;
    },
  };
}
/** Seq of every row after `after` for these names. */
function rowsHeard(site: Site, after: number, names: readonly string[]): number[] {
  const db = readDatabase(path.join(site.dataDir, 'journal.db'));
  try {
    const rows = db.prepare('select seq, topics from journal where seq > ? order by seq').all(after);
    const heard = new Set([...names, EVERYONE]);
    return rows
      .filter((row) =>
        String(row['topics'])
          .split(' ')
          .some((name) => heard.has(name)),
      )
      .map((row) => Number(row['seq']));
  } finally {
    db.close();
  }
}
const headOf = (site: Site): number => readJournal(site).at(-1)?.seq ?? 0;
/** Each of these clients has more than five events to hear: on a slow machine changes take long. */
const hearsEnough = (site: Site, followers: readonly Follower[]): Promise<unknown> =>
  until('more than five events for each client', () =>
    followers.every((one) => rowsHeard(site, one.from, one.names).length > 5),
  );
/** Each event once, in order, and at least all up to this one. */
function assertHeard(site: Site, followers: readonly Follower[], head: number): void {
  for (const one of followers) {
    one.collect();
    const wanted = rowsHeard(site, one.from, one.names);
    const newest = Math.max(one.seqs.at(-1) ?? 0, head);
    assert.deepEqual(
      one.seqs,
      wanted.filter((seq) => seq <= newest),
      one.names.join(' '),
    );
  }
}
/** A client that reconnects after every restart of the service. */
interface Follower {
  readonly names: readonly string[];
  readonly from: number;
  readonly seqs: number[];
  connect(): Promise<void>;
  /** Stores the events of the connection. */
  collect(): void;
}
async function follower(
  site: Site,
  person: Person,
  topics: readonly string[],
  names: readonly string[],
): Promise<Follower> {
  const port = portOf(site);
  const seqs: number[] = [];
  let client = await openWs({ port, token: person.token });
  const { epoch } = await client.next('hello');
  client.send({ op: 'subscribe', id: 1, topics });
  const from = (await client.next('subscribed')).cursor;
  let taken = false;
  const collect = (): void => {
    if (taken) return;
    taken = true;
    const got = client.seqs();
    const first = client.frames.find((frame) => frame.op === 'event');
    if (first?.op === 'event') assert.equal(first.prev, seqs.at(-1) ?? from, 'it leads on from the cursor');
    seqs.push(...got);
    assert.ok(!client.frames.some((frame) => frame.op === 'gap'), 'nothing was lost');
  };
  return {
    names,
    from,
    seqs,
    collect,
    async connect() {
      collect();
      client.socket.destroy();
      client = await openWs({ port, token: person.token });
      taken = false;
      client.send({ op: 'subscribe', id: 1, topics, cursor: seqs.at(-1) ?? from, epoch });
      await client.next('resumed');
    },
  };
}

describe('stream faults', () => {
  const site = useSite();
  const agents = ['1003', '1004', '1005'];

  test('stream faults - killed repeatedly while events are sent: each client has each event once, in order', async (t) => {
    const [boss, zoe] = [await site().person('1002'), await site().person('1003')];
    const cases: readonly (readonly [Person, readonly string[], readonly string[]])[] = [
      [boss, ['agents'], ['agents']],
      [boss, ['presence', 'queues', 'agents', 'calls'], ['presence', 'queues', 'agents', 'calls']],
      [boss, ['agents/1004', 'presence/1005'], ['agents/1004', 'presence/1005']],
      [zoe, ['agents', 'calls/mine'], ['agents/1003', 'calls/mine/1003']],
      [zoe, ['presence/1003'], ['presence/1003']],
    ];
    const followers = await Promise.all(
      [...cases, ...cases].map(([who, topics, names]) => follower(site(), who, topics, names)),
    );
    const flooding = flood(site(), boss, agents);
    const polled: number[] = [];
    let cursor = (await poll(zoe, 'topics=presence')).cursor;
    const pollFrom = cursor;
    try {
      for (let round = 0; round < 4; round += 1) {
        const ms = Math.floor(Math.random() * 350);
        t.diagnostic(`killed after ${ms} ms`);
        await wait(ms);
        await site().kill('SIGKILL');
        await site().start();
        await Promise.all(followers.map((one) => one.connect()));
        const reply = await poll(zoe, `topics=presence&cursor=${cursor}`);
        polled.push(...reply.events.map((event) => event.seq));
        cursor = reply.cursor;
      }
      await hearsEnough(site(), followers);
    } finally {
      await flooding.stop();
    }
    const head = headOf(site());
    await Promise.all(followers.map((one) => one.connect()));
    assertHeard(site(), followers, head);
    const wanted = rowsHeard(site(), pollFrom, ['presence']);
    assert.deepEqual(polled, wanted.slice(0, polled.length));
  });
  async function poll(person: Person, query: string) {
    const url = `${site().base}/api/v1/events/poll?${query}&wait=0`;
    const response = await fetch(url, { headers: headersOf(person) });
    return PollReply.parse(await response.json());
  }

  test('stream faults - a snapshot and the events after it are the state of every later snapshot', async () => {
    const boss = await site().person('1002');
    const port = portOf(site());
    const flooding = flood(site(), boss, agents);
    const clients: WsClient[] = [];
    try {
      for (let i = 0; i < 25; i += 1) {
        // On a slow machine a change takes longer than the next client.
        const { changes } = flooding;
        await until('another change', () => flooding.changes > changes, { every: 1 });
        await wait(Math.random() * 40);
        const client = await openWs({ port, token: boss.token });
        client.send({ op: 'subscribe', id: 1, topics: ['presence', 'agents'], snapshot: true });
        clients.push(client);
      }
      await Promise.all(
        clients.map((client) => until('both snapshots', () => snapshotsOf(client).length === 2)),
      );
    } finally {
      await flooding.stop();
    }
    // A delayed snapshot may be later than one requested after it.
    clients.sort((a, b) => snapshotsOf(a)[0]!.cursor - snapshotsOf(b)[0]!.cursor);
    let compared = 0;
    for (const topic of ['presence', 'agents'] as const) {
      const shape = (value: object): object => (topic === 'agents' ? AgentSummary.parse(value) : value);
      const plain = (state: ReadonlyMap<string, object>) =>
        Object.fromEntries([...state].map(([key, value]) => [key, shape(value)]));
      const fold = FOLDS[topic];
      for (const [i, client] of clients.entries()) {
        client.seqs();
        const snapshot = snapshotsOf(client).find((frame) => frame.topic === topic)!;
        const later = clients
          .slice(i + 1, i + 6)
          .map((other) => snapshotsOf(other).find((f) => f.topic === topic)!);
        for (const goal of later) {
          await until(`events to ${goal.cursor}`, () => latest(client) >= lastOf(client, goal.cursor));
          const state = fold.read(snapshot.data) as Map<string, never>;
          for (const frame of client.frames) {
            if (frame.op !== 'event' || frame.event.seq > goal.cursor) continue;
            assert.ok(frame.event.seq > snapshot.cursor);
            for (const { key, value } of fold.after(state, frame.event as unknown as StreamEvent)) {
              state.set(key, value as never);
            }
          }
          assert.deepEqual(
            plain(state),
            plain(fold.read(goal.data)),
            `${topic} ${snapshot.cursor} → ${goal.cursor}`,
          );
          if (goal.cursor > snapshot.cursor) compared += 1;
        }
      }
    }
    assert.ok(compared > 50, `only ${compared} pairs differ in time`);
    for (const client of clients) client.socket.destroy();
  });
  const snapshotsOf = (client: WsClient) => client.frames.flatMap((f) => (f.op === 'snapshot' ? [f] : []));
  const latest = (client: WsClient): number =>
    client.frames.reduce((seq, f) => (f.op === 'event' ? f.event.seq : seq), 0);
  /** The newest of its events up to the cursor. */
  const lastOf = (client: WsClient, cursor: number): number => {
    const { cursor: from } = snapshotsOf(client)[0]!;
    return (
      rowsHeard(site(), from, ['presence', 'agents'])
        .filter((seq) => seq <= cursor)
        .at(-1) ?? 0
    );
  };

  test('stream faults - a signed-out session is closed on every transport within a second', async () => {
    const { password } = (await site().credentials()).find((one) => one.extension === '1009')!;
    const { signIn } = await import('../support/api.ts');
    const person = await signIn(site().base, '1009', password);
    const port = portOf(site());
    const issue = async () => {
      const response = await fetch(`${site().base}/api/v1/stream/ticket`, {
        method: 'POST',
        headers: headersOf(person),
        body: '{}',
      });
      return ((await response.json()) as { ticket: string }).ticket;
    };
    const path = `/api/v1/stream?ticket=${await issue()}`;
    await using ws = await openWs({ port, path });
    await ws.next('hello');
    const sse = await openSse(`${site().base}/api/v1/events?topics=presence`, person.token);
    await sse.next('subscribed');
    const waiting = fetch(`${site().base}/api/v1/events/poll?topics=presence&cursor=999999999&wait=30`, {
      headers: headersOf(person),
    });
    assert.equal(((await (await waiting).json()) as { gap: { reason: string } }).gap.reason, 'cursor_ahead');
    const { cursor } = await poll(person, 'topics=calls/mine');
    const long = fetch(`${site().base}/api/v1/events/poll?topics=calls/mine&cursor=${cursor}&wait=30`, {
      headers: headersOf(person),
    });
    await wait(100);
    const left = await issue();
    const out = fetch(`${site().base}/api/v1/session/logout`, {
      method: 'POST',
      headers: headersOf(person),
      body: '{}',
    });
    assert.equal((await ws.closed()).code, 4409);
    assert.equal((await sse.next('close')).json['code'], 4409);
    assert.equal((await long).status, 401);
    assert.equal((await out).status, 200);
    for (const options of [{ token: person.token }, { path: `/api/v1/stream?ticket=${left}` }, { path }]) {
      await assert.rejects(
        openWs({ port, ...options }),
        (e) => e instanceof UpgradeRefused && e.status === 401,
      );
    }
  });

  test('stream faults - an API key gets events of its own objects only, and is closed when it is revoked', async () => {
    const admin = await site().person('1001');
    const made = await fetch(`${site().base}/api/v1/api-keys`, {
      method: 'POST',
      headers: headersOf(admin),
      body: JSON.stringify({
        name: 'wallboard',
        scopes: ['queues:read', 'agents:read'],
        queues: ['support'],
        extensions: ['1004'],
      }),
    });
    assert.equal(made.status, 201);
    const { key, api_key } = (await made.json()) as { key: string; api_key: { id: number } };
    const port = portOf(site());
    await using ws = await openWs({ port, token: key });
    await ws.next('hello');
    for (const topic of [
      'presence',
      'calls',
      'calls/mine',
      'queues/sales',
      'agents/1003',
      'system',
      'history',
    ]) {
      ws.send({ op: 'subscribe', id: topic, topics: [topic] });
      const { id, code } = await ws.next('error');
      assert.deepEqual([id, code], [topic, 'forbidden']);
    }
    ws.send({ op: 'subscribe', id: 1, topics: ['queues', 'agents'], snapshot: true });
    await ws.next('subscribed');
    const [queues, agentsShown] = [await ws.next('snapshot'), await ws.next('snapshot')];
    assert.deepEqual(
      (queues.data as { queues: { name: string }[] }).queues.map((q) => q.name),
      ['support'],
    );
    assert.deepEqual(
      (agentsShown.data as { agents: { extension: string }[] }).agents.map((a) => a.extension),
      ['1004'],
    );
    ws.send({
      op: 'command',
      id: 9,
      action: 'agents.pause',
      data: { extension: '1004', reason: 'training' },
    });
    assert.equal((await ws.next('result')).error?.code, 'forbidden');
    const boss = await site().person('1002');
    for (const extension of ['1003', '1004']) {
      await fetch(`${site().base}/api/v1/agents/${extension}/pause`, {
        method: 'POST',
        headers: headersOf(boss),
        body: '{"reason":"lunch"}',
      });
    }
    const heard = await ws.next('event');
    assert.ok(heard.event.subject === 'agents/1004' || heard.event.type === 'queue.stats', heard.event.type);
    const sse = await openSse(`${site().base}/api/v1/events?topics=queues`, key);
    await sse.next('subscribed');
    const byKey = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const polled = await fetch(`${site().base}/api/v1/events/poll?topics=queues`, { headers: byKey });
    assert.equal(polled.status, 200);
    const pass = await fetch(`${site().base}/api/v1/stream/ticket`, {
      method: 'POST',
      headers: byKey,
      body: '{}',
    });
    const { ticket } = (await pass.json()) as { ticket: string };
    await using display = await openWs({ port, path: `/api/v1/stream?ticket=${ticket}` });
    await display.next('hello');
    const gone = await fetch(`${site().base}/api/v1/api-keys/${api_key.id}`, {
      method: 'DELETE',
      headers: headersOf(admin),
    });
    assert.equal(gone.status, 200);
    assert.equal((await ws.closed()).code, 4409);
    await sse.next('close');
    await assert.rejects(
      openWs({ port, token: key }),
      (e) => e instanceof UpgradeRefused && e.status === 401,
    );
  });

  test('stream faults - a command equals REST: its fact is an event, a repeat changes nothing', async () => {
    const zoe = await site().person('1003');
    await zoe.agent('unpause');
    await using ws = await openWs({ port: portOf(site()), token: zoe.token });
    ws.send({ op: 'subscribe', id: 1, topics: ['agents'] });
    await ws.next('subscribed');
    const command = {
      op: 'command',
      action: 'agents.pause',
      data: { extension: '1003', reason: 'lunch' },
      idempotency_key: 'once-1',
    };
    ws.send({ ...command, id: 2 });
    const first = await ws.next('result');
    assert.equal(first.ok, true, JSON.stringify(first.error));
    // The end of the pause before may be published after its reply.
    await until('the pause on the stream', () =>
      ws.frames.some((frame) => frame.op === 'event' && frame.event.type === 'agent.not_ready'),
    );
    await zoe.agent('unpause');
    ws.send({ ...command, id: 3 });
    assert.deepEqual((await ws.next('result')).data, first.data, 'the kept result');
    assert.equal((await zoe.agent('status')).is_paused, false, 'and no second pause');
    const repeat = await fetch(`${site().base}/api/v1/agents/1003/pause`, {
      method: 'POST',
      headers: { ...headersOf(zoe), 'idempotency-key': 'once-1' },
      body: '{"reason":"lunch"}',
    });
    assert.equal(repeat.headers.get('idempotency-replayed'), 'true', 'by REST too');
    assert.deepEqual(await repeat.json(), first.data);
    ws.send({ ...command, id: 4, data: { extension: '1003', reason: 'training' } });
    assert.equal((await ws.next('result')).error?.code, 'idempotency_conflict');
    ws.send({ op: 'command', id: 5, action: 'agents.pause', data: { extension: '1004', reason: 'lunch' } });
    assert.equal((await ws.next('result')).error?.code, 'forbidden');
    ws.send({
      op: 'command',
      id: 6,
      action: 'agents.pause',
      data: { extension: '1003', reason: 'lunch', x: 1 },
    });
    assert.equal((await ws.next('result')).error?.code, 'invalid_request');
    ws.send({ op: 'command', id: 7, action: 'agents.explode' });
    assert.equal((await ws.next('result')).error?.code, 'unknown_action');
  });

  test('stream faults - SIGTERM under load: closed with 1012 and a time of return, nothing is lost on resume', async () => {
    const boss = await site().person('1002');
    const followers = await Promise.all(
      Array.from({ length: 60 }, () =>
        follower(site(), boss, ['agents', 'presence'], ['agents', 'presence']),
      ),
    );
    await using watched = await openWs({ port: portOf(site()), token: boss.token });
    watched.send({ op: 'subscribe', id: 1, topics: ['agents'] });
    await using stack = new AsyncDisposableStack();
    const flooding = flood(site(), boss, agents);
    stack.defer(() => flooding.stop());
    await wait(150);
    await site().kill('SIGTERM');
    assert.ok((await watched.next('reconnect')).after_ms > 0);
    assert.equal((await watched.closed()).code, 1012);
    await site().start();
    await Promise.all(followers.map((one) => one.connect()));
    await hearsEnough(site(), followers);
    await flooding.stop();
    const head = headOf(site());
    await Promise.all(followers.map((one) => one.connect()));
    assertHeard(site(), followers, head);
  });
});
