import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { PollReply } from '@offhook/contract/stream.ts';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { nodeLines } from '../../src/boot/nodes.ts';
import type { SiteNodes } from '../../src/ports/site-nodes.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { apply, ask as configure } from '../support/config-steps.ts';
import { cuttable } from '../support/cuttable.ts';
import type { Cuttable } from '../support/cuttable.ts';
import { startNodes, startWebNode } from '../support/nodes.ts';
import type { TestNodes } from '../support/nodes.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { assertFollowed, followersOf, heard, rowsOf } from '../support/server-faults.ts';
import type { Follower } from '../support/server-faults.ts';
import type { Site } from '../support/site.ts';
import { openSse } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { openWsPhone } from '../support/ws-phone.ts';
import { openWs } from '../support/ws-client.ts';

describe('web nodes', () => {
  let server: TestPostgres;
  let url = '';
  /** Folder that both engine nodes reach. */
  let shared = '';
  let recording = '';
  let exported = 0;
  let way: Cuttable;
  let nodes: TestNodes;
  let web: Site;
  let known: SiteNodes;
  let boss: Person;
  let followers: readonly Follower[] = [];
  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
    way = await cuttable(url);
    known = openPostgresSiteNodes(url);
    shared = await mkdtemp(path.join(os.tmpdir(), 'offhook-shared-'));
    nodes = await startNodes({ a: url, b: url }, { OFFHOOK_SHARED_FILES: shared });
    web = await startWebNode('w1', url);
    const password = (await nodes.a.site.credentials()).find((one) => one.extension === '1001')!.password;
    boss = await signIn(web.base, '1001', password!);
    followers = followersOf(web, boss);
    for (const one of followers) await one.begin();
  });
  after(async () => {
    for (const one of followers) one.halt();
    await web?.[Symbol.asyncDispose]();
    await nodes?.[Symbol.asyncDispose]();
    await known?.close();
    await way?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await rm(shared, { recursive: true, force: true });
  });

  const ask = async (site: Pick<Site, 'base'>, path: string, init: RequestInit = {}, token = boss.token) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(init.headers as Record<string, string>),
    };
    const response = await fetch(`${site.base}${path}`, { ...init, headers });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  };
  const post = (path: string, body: object = {}, token = boss.token) =>
    ask(web, path, { method: 'POST', body: JSON.stringify(body) }, token);
  const poll = async (site: Pick<Site, 'base'>, query: string) => {
    const { status, body } = await ask(site, `/api/v1/events/poll?topics=agents,calls&${query}`);
    return { status, body, reply: status === 200 ? PollReply.parse(body) : null };
  };
  const rows = () => rowsOf(server, url);
  const portOf = (site: Pick<Site, 'base'>): number => Number(new URL(site.base).port);

  test('web nodes - a call and a pause through it are seen at once by socket, events and poll', async () => {
    await using one = await nodes.a.phone('1007');
    await using two = await nodes.a.phone('1008');
    const begun = await poll(web, 'wait=0');
    const call = await one.invite(two.extension);
    const incoming = await two.incoming(call);
    incoming.ring();
    await incoming.answer();
    await call.answered();
    await call.hangup();
    // The engine ends a call after its answer to the BYE.
    let before: string[] = [];
    await until(
      'the end of the call',
      async () => {
        const { reply } = await poll(web, `wait=0&cursor=${begun.reply!.cursor}`);
        before = reply!.events.map(({ type }) => type);
        return before.includes('call.ended');
      },
      { seen: () => before },
    );
    await post('/api/v1/agents/1003/login');
    const { status } = await post('/api/v1/agents/1003/pause', { reason: 'training' });
    assert.equal(status, 200);
    const { reply } = await poll(web, `wait=0&cursor=${begun.reply!.cursor}`);
    const types = reply!.events.map(({ type }) => type as string);
    assert.ok(types.includes('agent.not_ready'), types.join(' '));
  });
  test('web nodes - a snapshot and what follows it fit; a command of the socket is run by the leading node', async () => {
    await using client = await openWs({ port: portOf(web), token: boss.token });
    client.send({ op: 'subscribe', id: 1, topics: ['agents', 'queues'], snapshot: true });
    const { cursor } = await client.next('subscribed');
    const shown = await client.next('snapshot');
    assert.equal(shown.cursor, cursor);
    assert.match(JSON.stringify(shown.data), /1003/);
    client.send({ op: 'command', id: 2, action: 'agent.unpause', data: { extension: '1003' } });
    const result = await client.next('result');
    assert.equal(result.ok, true, JSON.stringify(result));
    await until('the event before the result', () =>
      client.frames.some((frame) => frame.op === 'event' && frame.event.type === 'agent.ready'),
    );
    const polled = await poll(web, 'wait=0&snapshot=true');
    assert.match(JSON.stringify(polled.body['snapshot']), /1003/);
  });
  test('web nodes - a ticket of the leading node opens one stream here', async () => {
    const { body } = await post('/api/v1/stream/ticket');
    const path = `/api/v1/stream?ticket=${String(body['ticket'])}`;
    await using client = await openWs({ port: portOf(web), path });
    assert.equal((await client.next('hello')).level, 'admin');
    await assert.rejects(openWs({ port: portOf(web), path }), { status: 401 });
  });
  test('web nodes - a browser phone registers at the engine through it', async () => {
    const { password } = (await nodes.a.site.credentials()).find((one) => one.extension === '1011')!;
    const { sip } = (await signIn(web.base, '1011', password)).login;
    await using phone = await openWsPhone({
      url: web.wsUrl,
      username: sip.webrtc_username,
      password: sip.sip_password,
    });
    assert.equal(await phone.register(), 200);
  });
  test('web nodes - the status lists it', async () => {
    const lines = nodeLines(await known.list());
    assert.match(
      lines.find((line) => line.startsWith('w1'))!,
      /^w1 {2}web {2}engine none {2}version \d+ {2}\d+ events behind/,
    );
  });
  test('web nodes - a write is seen by the next poll at the same node, each time', async () => {
    let { cursor } = (await poll(web, 'wait=0')).reply!;
    for (let n = 0; n < 10; n += 1) {
      const what = n % 2 === 0 ? 'pause' : 'unpause';
      const { status } = await post(`/api/v1/agents/1003/${what}`, n % 2 === 0 ? { reason: 'training' } : {});
      assert.equal(status, 200);
      const { reply } = await poll(web, `wait=0&cursor=${cursor}`);
      const wanted = n % 2 === 0 ? 'agent.not_ready' : 'agent.ready';
      assert.ok(
        reply!.events.some(({ type }) => type === wanted),
        `${n}: ${wanted}`,
      );
      cursor = reply!.cursor;
    }
  });
  test('web nodes - the address of a client is that of the trusted proxy, and a forged one is ignored', async () => {
    const password = (await nodes.a.site.credentials()).find((one) => one.extension === '1002')!.password;
    const addressOf = async (base: string, headers: Record<string, string>): Promise<unknown> => {
      const response = await fetch(`${base}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ username: '1002', password }),
      });
      const { token } = (await response.json()) as { token: string };
      const { body } = await ask(web, '/api/v1/sessions', {}, token);
      return (body['sessions'] as { address: string; current: boolean }[]).find((one) => one.current)!
        .address;
    };
    const forged = {
      'offhook-forwarded': `${Buffer.from('{"ip":"203.0.113.7","protocol":"http","host":"x"}').toString('base64url')}.${Date.now().toString(36)}.AAAA`,
      'x-forwarded-for': '203.0.113.8',
    };
    assert.equal(await addressOf(nodes.a.site.base, forged), '127.0.0.1');
    assert.equal(await addressOf(web.base, forged), '127.0.0.1');
    await using trusting = await startWebNode('w3', url, { OFFHOOK_TRUST_PROXY: '127.0.0.1' });
    assert.equal(await addressOf(trusting.base, { 'x-forwarded-for': '203.0.113.9' }), '203.0.113.9');
    const call = await fetch(`${nodes.a.site.base}/api/nodes/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...forged },
      body: JSON.stringify({ payload: '{"op":"authenticate","token":"x"}' }),
    });
    assert.equal(call.status, 404);
  });
  test('web nodes - a session, an API key and a right that ended at the leading node end at every node', async () => {
    const password = (await nodes.a.site.credentials()).find((one) => one.extension === '1002')!.password;
    const other = await signIn(nodes.a.site.base, '1002', password!);
    const open = async (token: string, topics: readonly string[]) => {
      const client = await openWs({ port: portOf(web), token });
      client.send({ op: 'subscribe', id: 1, topics: [...topics] });
      await client.next('subscribed');
      return client;
    };
    {
      await using socket = await open(other.token, ['agents']);
      const source = await openSse(`${web.base}/api/v1/events?topics=agents`, other.token);
      await source.next('subscribed');
      await ask(nodes.a.site, '/api/v1/session/logout', { method: 'POST', body: '{}' }, other.token);
      await until('the end of the socket', () => socket.close?.code === 4409);
      await until('the end of the events', () => source.ended);
      const again = await ask(web, '/api/v1/events/poll?topics=agents&wait=0', {}, other.token);
      assert.equal(again.status, 401);
    }
    {
      const { body } = await ask(nodes.a.site, '/api/v1/api-keys', {
        method: 'POST',
        body: JSON.stringify({
          name: 'wall',
          scopes: ['agents:read'],
          queues: null,
          extensions: null,
          expires_at: null,
        }),
      });
      const { key, api_key } = body as { key: string; api_key: { id: number } };
      await using socket = await open(key, ['agents']);
      const { status } = await ask(nodes.a.site, `/api/v1/api-keys/${api_key.id}`, {
        method: 'PATCH',
        body: '{"scopes":["queues:read"]}',
      });
      assert.equal(status, 200);
      await until('the end of the socket', () => socket.close !== null);
      const again = await ask(web, '/api/v1/events/poll?topics=agents&wait=0', {}, key);
      assert.equal(again.status, 403);
    }
    {
      const supervisor = await signIn(nodes.a.site.base, '1002', password!);
      await using socket = await open(supervisor.token, ['calls']);
      await configure(nodes.a.site, 'PATCH', '/extensions/1002', { level: 'agent' });
      assert.equal((await apply(nodes.a.site)).state, 'applied');
      await until('the end of the socket', () => socket.close?.code === 4403);
      assert.equal(
        (await ask(web, '/api/v1/events/poll?topics=calls&wait=0', {}, supervisor.token)).status,
        403,
      );
    }
  });
  test('web nodes - a cursor ahead of a copy that lags waits by each way; one ahead of the site is told so', async () => {
    await using late = await startWebNode('w2', way.url);
    await poll(late, 'wait=0');
    const { reply } = await poll(nodes.a.site, 'wait=0');
    const before = reply!.cursor;
    const ahead = await poll(late, `wait=0&cursor=${before + 1_000}`);
    assert.equal((ahead.body['gap'] as { reason: string }).reason, 'cursor_ahead');
    way.cut();
    await post('/api/v1/agents/1003/pause', { reason: 'training' });
    await post('/api/v1/agents/1003/unpause');
    const { cursor } = (await poll(nodes.a.site, `wait=0&cursor=${before}`)).reply!;
    assert.ok(cursor > before);
    const refused = await poll(late, `wait=0&cursor=${cursor}`);
    assert.deepEqual([refused.status, refused.body['code']], [503, 'store_unavailable']);
    await using socket = await openWs({ port: portOf(late), token: boss.token });
    socket.send({ op: 'subscribe', id: 1, topics: ['agents'], cursor });
    const asked = [
      poll(late, `wait=0&cursor=${cursor}`),
      openSse(`${late.base}/api/v1/events?topics=agents&cursor=${cursor}`, boss.token),
    ] as const;
    await wait(300);
    way.mend();
    const [polled, source] = [(await asked[0]).reply!, await asked[1]];
    assert.deepEqual([polled.gap, polled.cursor >= cursor], [null, true]);
    assert.equal((await source.next('subscribed')).json['cursor'], cursor);
    source.stop();
    await socket.next('resumed');
    assert.deepEqual(
      socket.frames.filter(({ op }) => op === 'gap' || op === 'error'),
      [],
    );
    assert.ok(!source.messages.some(({ event }) => event === 'gap'));

    await late.ready();
    // Its time counts from its last look at the database, which is each second.
    await until('a look at the database', async () => {
      const report = (await known.list()).find((node) => node.name === 'w2');
      return report !== undefined && report.seconds < 0.2;
    });
    // Cut off for longer: it is no target of a load balancer, and sends its clients away.
    const begun = performance.now();
    way.cut();
    await until('the end of the socket', () => socket.close?.code === 1012);
    assert.ok(performance.now() - begun > 14_000, 'not before');
    assert.equal((await fetch(`${late.base}/readyz`)).status, 503);
    const none = await poll(late, 'wait=0');
    assert.deepEqual([none.status, none.body['code']], [503, 'node_not_active']);
    way.mend();
    await late.ready();
  });
  test('web nodes - a recording and an export are made through it, in the folder that the engine nodes share', async () => {
    await using one = await nodes.a.phone('1003');
    await using two = await nodes.a.phone('1008');
    const call = await one.invite(two.extension);
    const incoming = await two.incoming(call);
    incoming.ring();
    await incoming.answer();
    await call.answered();
    const password = (await nodes.a.site.credentials()).find(
      ({ extension }) => extension === '1003',
    )!.password;
    const own = await signIn(web.base, '1003', password!);
    const talking = await until('the talk in the list', async () => {
      const { body } = await ask(web, '/api/v1/calls', {}, own.token);
      return (body['calls'] as { readonly call_id: string; readonly state: string }[]).find(
        ({ state }) => state === 'connected',
      );
    });
    const begun = await post(`/api/v1/calls/${talking.call_id}/record`, { on: true }, own.token);
    assert.equal(begun.status, 200);
    const sent = call.media.sent;
    await until('a second of talk', () => call.media.sent >= sent + 50);
    await call.hangup();
    const list = `/api/v1/recordings?conversation=${encodeURIComponent(talking.call_id)}`;
    await until('the recording to be stored', async () => {
      const found = (await ask(web, list)).body['recordings'] as {
        readonly id: string;
        readonly state: string;
      }[];
      recording = found[0]?.id ?? '';
      return found[0]?.state === 'stored';
    });
    const made = (await post('/api/v1/exports', { format: 'csv' })).body['export'] as { readonly id: number };
    exported = made.id;
    await until('the export to be done', async () => {
      const { body } = await ask(web, `/api/v1/exports/${exported}`);
      return (body['export'] as { readonly state: string }).state === 'done';
    });
  });
  test('web nodes - the leading node is killed: streams go on, no write is confirmed that was not made', async (t) => {
    const { a, b } = nodes;
    await post('/api/v1/agents/1003/unpause');
    const before = (await poll(web, 'wait=0')).reply!.cursor;
    const engine = a.site.enginePid()!;
    const began = performance.now();
    await a.site.kill('SIGKILL');
    process.kill(engine, 'SIGKILL');
    const seen = new Set<string>();
    let confirmed = 0;
    const answer = await until(
      'a write that is confirmed',
      async () => {
        const { status, headers, body } = await post('/api/v1/agents/1003/pause', { reason: 'training' });
        seen.add(`${status} ${String(body['code'])} ${headers.get('retry-after') !== null}`);
        if (status === 200) confirmed += 1;
        return status === 200;
      },
      { ms: 60_000, every: 200 },
    );
    assert.ok(answer);
    t.diagnostic(`written after ${Math.round(performance.now() - began)} ms; ${[...seen].join(', ')}`);
    for (const one of seen) assert.match(one, /^(200 undefined|503 \w+ true|504 node_no_answer)/);
    assert.ok([...seen].some((one) => one.startsWith('503 node_not_active true')));
    const { reply } = await poll(web, `wait=0&cursor=${before}`);
    assert.equal(reply!.gap, null);
    const made = reply!.events.filter(
      ({ type, subject }) => type === 'agent.not_ready' && subject === 'agents/1003',
    );
    assert.ok(made.length >= confirmed);
    await b.leads();
    const headers = { authorization: `Bearer ${boss.token}` };
    // The node that made them is dead.
    for (const file of [`recordings/${recording}/audio`, `exports/${exported}/file`]) {
      const response = await fetch(`${web.base}/api/v1/${file}`, { headers });
      assert.equal(response.status, 200, file);
      assert.ok((await response.bytes()).length > 44);
    }
    await a.site.start('answers');
    await a.standsBy();
  });
  test('web nodes - nodes are added and removed under load: clients that hop have every event once', async (t) => {
    let bases = [web.base];
    let turn = 0;
    const any = {
      get base() {
        return bases[turn++ % bases.length]!;
      },
    };
    const hopping = followersOf(any, boss);
    for (const one of hopping) await one.begin();
    let over = false;
    const load = (async () => {
      for (let n = 0; !over; n += 1) {
        const what = n % 2 === 0 ? 'pause' : 'unpause';
        const body = JSON.stringify(n % 2 === 0 ? { reason: 'training' } : {});
        // A node that is being stopped refuses it.
        await ask(any, `/api/v1/agents/1003/${what}`, { method: 'POST', body }).catch(() => wait(20));
      }
    })();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await using more = await startWebNode('w4', url);
      bases = [more.base];
      await using socket = await openWs({ port: portOf(web), token: boss.token });
      socket.send({ op: 'subscribe', id: 1, topics: ['agents'] });
      const { cursor } = await socket.next('subscribed');
      const source = await openSse(`${web.base}/api/v1/events?topics=agents`, boss.token);
      await source.next('subscribed');
      // The next connection goes there, and comes back when it ends.
      await web.kill('SIGTERM');
      assert.ok((await socket.next('reconnect')).after_ms > 0);
      assert.equal((await socket.closed()).code, 1012);
      await source.next('reconnect');
      await until('the end of the events', () => source.ended);
      assert.equal((await poll(more, `wait=0&cursor=${cursor}`)).reply!.gap, null, 'it goes on there');
      await wait(1_000);
      bases = [more.base, web.base];
      await web.start('ready');
      await wait(500);
      bases = [web.base];
      const stopped = performance.now();
      await more.kill(signal);
      t.diagnostic(`${signal}: ended in ${Math.round(performance.now() - stopped)} ms`);
    }
    over = true;
    await load;
    const all = await rows();
    for (const one of hopping) {
      const wanted = heard(all, one);
      await until(`the newest event by ${one.way}`, () => one.newest >= wanted.at(-1)!);
      await one.stop();
      assert.deepEqual(one.seqs, heard(await rows(), one).slice(0, one.seqs.length), one.way);
      assert.ok(one.seqs.length >= wanted.length, one.way);
    }
  });
  test('web nodes - clients that followed over all of it have every event once, in order', async () => {
    await assertFollowed(followers, rows);
  });
});
