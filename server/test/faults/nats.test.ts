import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { SiteNodesReply } from '@offhook/contract/nodes.ts';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { nodeLines } from '../../src/boot/nodes.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { startNats } from '../support/nats.ts';
import type { TestNats } from '../support/nats.ts';
import { startNodes, startWebNode } from '../support/nodes.ts';
import type { TestNodes } from '../support/nodes.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { assertFollowed, followersOf, rowsOf } from '../support/server-faults.ts';
import type { Follower } from '../support/server-faults.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';

describe('nats', () => {
  let server: TestPostgres;
  let nats: TestNats;
  let url = '';
  let nodes: TestNodes;
  let web: Site;
  let boss: Person;
  let followers: readonly Follower[] = [];
  before(async () => {
    [server, nats] = await Promise.all([startPostgres(), startNats()]);
    url = await server.createDatabase();
    const settings = { OFFHOOK_NATS: nats.url, OFFHOOK_NATS_STREAM: 'CALLS' };
    nodes = await startNodes({ a: url, b: url }, settings);
    web = await startWebNode('w1', url, settings);
    const { password } = (await nodes.a.site.credentials()).find((one) => one.extension === '1001')!;
    boss = await signIn(web.base, '1001', password);
    followers = followersOf(web, boss);
    for (const one of followers) await one.begin();
    await (await nodes.a.site.person('1003')).agent('login');
  });
  after(async () => {
    for (const one of followers) one.halt();
    await web?.[Symbol.asyncDispose]();
    await nodes?.[Symbol.asyncDispose]();
    await nats?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const get = async (site: Pick<Site, 'base'>, path: string): Promise<Response> =>
    fetch(`${site.base}${path}`, { headers: { authorization: `Bearer ${boss.token}` } });
  const check = async (site: Pick<Site, 'base'>, name: string): Promise<string> => {
    const { checks, details } = (await (await get(site, '/readyz')).json()) as {
      readonly checks: Readonly<Record<string, string>>;
      readonly details?: Readonly<Record<string, string>>;
    };
    return `${checks[name]}: ${details?.[name]}`;
  };
  const bus = (site: Pick<Site, 'base'>): Promise<string> => check(site, 'bus');
  const gauge = async (site: Pick<Site, 'base'>, name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await get(site, '/metrics')).text())?.[1]);
  const isUsed = async (sites: readonly Pick<Site, 'base'>[] = [nodes.a.site, web]): Promise<void> => {
    for (const site of sites)
      await until('the bus', async () => (await bus(site)).startsWith('ok: connected to '), {
        seen: () => ({ tail: web.tail() }),
      });
  };
  /** What the lines of the nodes and the API say of NATS; the two are read one after the other. */
  const status = async (): Promise<{ readonly lines: string[]; readonly api: string[] }> => {
    const known = openPostgresSiteNodes(url);
    try {
      const listed = (await (await get(web, '/api/v1/nodes')).json()) as SiteNodesReply;
      return {
        lines: nodeLines(await known.list()).map((line) => line.replace(/^(\w+) .* NATS (\w+) .*$/, '$1 $2')),
        api: listed.nodes.map(({ bus: state, name }) => `${name} ${state}`),
      };
    } finally {
      await known.close();
    }
  };
  const change = async (n: number): Promise<number> => {
    const [verb, body] = n % 2 === 0 ? ['pause', '{"reason":"training"}'] : ['unpause', '{}'];
    const response = await fetch(`${web.base}/api/v1/agents/1003/${verb}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${boss.token}`, 'content-type': 'application/json' },
      body,
    });
    return response.status;
  };
  const rows = () => rowsOf(server, url);

  test('nats - the leading node wakes the others; health and metrics show the bus', async () => {
    await isUsed();
    const [told, listened] = [
      await gauge(nodes.a.site, 'offhook_bus_sent'),
      await gauge(web, 'offhook_bus_heard'),
    ];
    for (let n = 0; n < 10; n += 1) assert.equal(await change(n), 200);
    assert.ok((await gauge(nodes.a.site, 'offhook_bus_sent')) >= told + 10);
    // The news of a change and its answer arrive by different ways.
    await until(
      'the web node to hear of each change',
      async () => (await gauge(web, 'offhook_bus_heard')) >= listened + 10,
    );
    assert.equal(await gauge(web, 'offhook_bus_up'), 1);
    await until('the bus at the standby', async () => (await nodes.b.readyz())?.checks['bus'] === 'ok');
    let last: unknown;
    const all = ['a', 'b', 'w1'].map((name) => `${name} connected`);
    // Each node reports once a second.
    await until(
      'every node to report it',
      async () => isDeepStrictEqual((last = await status()), { lines: all, api: all }),
      { seen: () => ({ last }) },
    );
  });
  test('nats - killed, frozen and back under calls: every stream has every event once, in order', async (t) => {
    await using one = await nodes.a.phone('1007');
    await using two = await nodes.a.phone('1008');
    let over = false;
    let changes = 0;
    const load = (async () => {
      for (let n = 0; !over; n += 1) {
        if ((await change(n)) === 200) changes += 1;
        const call = await one.invite(two.extension);
        const incoming = await two.incoming(call);
        await incoming.answer();
        await call.answered();
        await call.hangup();
      }
    })();
    for (const [what, ends, begins] of [
      ['killed', () => nats.kill(), () => nats.start()],
      ['frozen', async () => nats.freeze(), async () => nats.resume()],
      ['killed', () => nats.kill(), () => nats.start()],
    ] as const) {
      await isUsed();
      const before = changes;
      await ends();
      for (const site of [nodes.a.site, web])
        await until('health to name it', async () =>
          /^failing: 127\.0\.0\.1:\d+: .+; the nodes read the log every 50 ms$/.test(await bus(site)),
        );
      assert.equal((await get(web, '/readyz')).status, 200);
      assert.equal(await gauge(web, 'offhook_bus_up'), 0);
      await until('the status to name it', async () => {
        const { lines, api } = await status();
        return lines.includes('w1 away') && api.includes('w1 away');
      });
      await until('changes meanwhile', () => changes > before + 3);
      await begins();
      await isUsed();
      t.diagnostic(`${what}: ${changes - before} changes until it was used again`);
    }
    over = true;
    await load;
    assert.ok(changes > 10);
  });
  test('nats - forged, doubled and late news changes nothing', async () => {
    await isUsed();
    await using other = await nats.connect();
    const seen: Uint8Array[] = [];
    const subscription = other.subscribe('offhook.*.head', {
      callback: (_, { data }) => void seen.push(data),
    });
    await change(0);
    await until('news', () => seen.length > 1);
    subscription.unsubscribe();
    const site = String((await server.run(url, 'select id from site'))[0]!['id']);
    const { epoch, head } = JSON.parse(Buffer.from(seen.at(-1)!).toString()) as {
      epoch: string;
      head: number;
    };
    for (let n = 0; n < 2_000; n += 1)
      for (const forged of [head, 0, head + 1_000_000])
        other.publish(`offhook.${site}.head`, JSON.stringify({ epoch, head: forged }));
    await other.flush();
    for (let n = 0; n < 6; n += 1) assert.equal(await change(n + 1), 200);
    assert.equal((await get(web, '/readyz')).status, 200);
  });
  test('nats - the leading node is killed: the other one wakes the web nodes', async () => {
    const engine = nodes.a.site.enginePid()!;
    await nodes.a.site.kill('SIGKILL');
    process.kill(engine, 'SIGKILL');
    await until('the web node to miss it', async () =>
      /^failing: connected to .*; the leading node is not heard/.test(await bus(web)),
    );
    await nodes.b.leads();
    await isUsed([nodes.b.site, web]);
    await nodes.a.site.start('answers');
    await nodes.a.standsBy();
    for (let n = 0; n < 4; n += 1)
      await until('a change', async () => (await change(n)) === 200, { every: 200 });
  });
  test('nats - the stream of other programs has every event once, in order, over all of it', async () => {
    assert.match(await check(nodes.b.site, 'event_stream'), /^ok: \d+ events behind$/);
    const all = await rows();
    await until(
      'the stream to have all',
      async () => (await gauge(nodes.b.site, 'offhook_event_stream_behind')) === 0,
    );
    await using connection = await nats.connect();
    const manager = await jetstreamManager(connection);
    const { config } = await manager.streams.info('CALLS');
    assert.deepEqual(
      [config.max_age, config.max_bytes > 0, config.duplicate_window],
      [7 * 86_400e9, true, 120e9],
    );
    await manager.consumers.add('CALLS', { durable_name: 'reader', ack_policy: 'none' });
    const messages = await (await jetstream(connection).consumers.get('CALLS', 'reader')).consume();
    const got: { readonly id: string; readonly subject: string; readonly json: string }[] = [];
    for await (const message of messages) {
      got.push({ id: message.headers!.get('Nats-Msg-Id'), subject: message.subject, json: message.string() });
      if (message.info.pending === 0) break;
    }
    const site = String((await server.run(url, 'select id from site'))[0]!['id']);
    assert.deepEqual(
      got.slice(0, all.length),
      all.map(({ json, type }) => {
        const { id } = JSON.parse(json) as { id: string };
        return { id, subject: `offhook.${site}.events.${type}`, json };
      }),
    );
  });
  test('nats - clients that followed over all of it have every event once, in order', async () => {
    await assertFollowed(followers, rows);
  });
});
