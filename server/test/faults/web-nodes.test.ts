import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PollReply } from '@offhook/contract/stream.ts';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { nodeLines } from '../../src/boot/nodes.ts';
import type { SiteNodes } from '../../src/ports/site-nodes.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { cuttable } from '../support/cuttable.ts';
import type { Cuttable } from '../support/cuttable.ts';
import { startNodes } from '../support/nodes.ts';
import type { TestNodes } from '../support/nodes.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { EventSourceFollower, PollFollower, SocketFollower, heard } from '../support/server-faults.ts';
import type { Follower, StoredRow } from '../support/server-faults.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { openSse } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { openWs } from '../support/ws-client.ts';

const TOPICS = ['presence', 'agents', 'queues', 'calls'];

describe('web nodes', () => {
  let server: TestPostgres;
  let url = '';
  let way: Cuttable;
  let nodes: TestNodes;
  let web: Site;
  let known: SiteNodes;
  let boss: Person;
  let followers: readonly Follower[] = [];
  const startWeb = (name: string, database: string): Promise<Site> =>
    startSite({
      env: {
        OFFHOOK_NODE: name,
        OFFHOOK_NODE_ROLE: 'web',
        OFFHOOK_DATABASE_URL: database,
        OFFHOOK_SITE_STORE: 'postgres',
      },
    });
  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
    way = await cuttable(url);
    known = openPostgresSiteNodes(url);
    nodes = await startNodes({ a: url, b: url });
    web = await startWeb('w1', way.url);
    const password = (await nodes.a.site.credentials()).find((one) => one.extension === '1001')!.password;
    boss = await signIn(web.base, '1001', password!);
    followers = [SocketFollower, EventSourceFollower, PollFollower].map(
      (By) => new By(web, boss, TOPICS, TOPICS),
    );
    for (const one of followers) await one.begin();
  });
  after(async () => {
    for (const one of followers) one.halt();
    await web?.[Symbol.asyncDispose]();
    await nodes?.[Symbol.asyncDispose]();
    await known?.close();
    await way?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
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
  const rows = async (): Promise<StoredRow[]> =>
    (await server.run(
      url,
      'select seq::float8 as seq, type, subject, at::float8 as at, topics, json from offhook_journal order by seq',
    )) as unknown as StoredRow[];
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
    await post('/api/v1/agents/1003/login');
    const { status } = await post('/api/v1/agents/1003/pause', { reason: 'training' });
    assert.equal(status, 200);
    const { reply } = await poll(web, `wait=0&cursor=${begun.reply!.cursor}`);
    const types = reply!.events.map(({ type }) => type as string);
    assert.ok(types.includes('agent.not_ready'), types.join(' '));
    assert.ok(types.includes('call.ended'), types.join(' '));
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
  test('web nodes - the status lists it', async () => {
    const lines = nodeLines(await known.list());
    assert.match(
      lines.find((line) => line.startsWith('w1'))!,
      /^w1 {2}web {2}engine none {2}version \d+ {2}\d+ events behind/,
    );
  });
  test('web nodes - clients that followed over all of it have every event once, in order', async () => {
    const all = await rows();
    for (const one of followers) {
      const wanted = heard(all, one);
      await until(`the newest event by ${one.way}`, () => one.newest >= wanted.at(-1)!, {
        seen: () => [one.newest, wanted.at(-1)],
      });
      await one.stop();
      assert.deepEqual(one.seqs, heard(await rows(), one), one.way);
    }
    void openSse;
  });
});
