/** An update of a cluster as docs/nodes.md describes it: an older and a newer version work side by side in one database. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { drainNode, endDrain, nodeLines, switchTo } from '../../src/boot/nodes.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { SiteNodes } from '../../src/ports/site-nodes.ts';
import { signIn } from '../support/api.ts';
import { ableToLead, startNodes, startWebNode } from '../support/nodes.ts';
import type { TestNode, TestNodes } from '../support/nodes.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { assertFollowed, followersOf, rowsOf } from '../support/server-faults.ts';
import type { Follower } from '../support/server-faults.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';

const main = new URL('../support/newer-main.ts', import.meta.url).pathname;
const NEWER = { TEST_NEWER: '1' };

describe('two versions', () => {
  let server: TestPostgres;
  let url = '';
  let known: SiteNodes;
  let nodes: TestNodes;
  let web: Site;
  let token = '';
  let followers: readonly Follower[] = [];
  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
    known = openPostgresSiteNodes(url);
    nodes = await startNodes({ a: url, b: url }, {}, { main });
    web = await startWebNode('w1', url, {}, { main });
    const { password } = (await nodes.a.site.credentials()).find((one) => one.extension === '1001')!;
    const boss = await signIn(web.base, '1001', password);
    token = boss.token;
    followers = followersOf(web, boss);
    for (const one of followers) await one.begin();
  });
  after(async () => {
    for (const one of followers) one.halt();
    await web?.[Symbol.asyncDispose]();
    await nodes?.[Symbol.asyncDispose]();
    await known?.close();
    await server[Symbol.asyncDispose]();
  });

  const change = async (what: string, body: object = {}) => {
    const response = await fetch(`${web.base}/api/v1/agents/1003/${what}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200, await response.text());
  };
  /** A call between phones of this node, and a pause through the web node. */
  async function works(node: TestNode): Promise<void> {
    let seen: unknown;
    await until(
      `the web node to reach ${node.name} as the leading one`,
      async () => {
        const headers = { authorization: `Bearer ${token}` };
        const response = await fetch(`${web.base}/api/v1/nodes`, { headers });
        const { nodes = [] } = (seen = await response.json()) as { nodes?: { name: string; role: string }[] };
        return nodes.find(({ role }) => role === 'leads')?.name === node.name;
      },
      { seen: () => ({ seen }) },
    );
    await using one = await node.phone('1007');
    await using two = await node.phone('1008');
    const outgoing = await one.invite('1008');
    const incoming = await two.incoming(outgoing);
    await incoming.answer();
    await outgoing.answered();
    await outgoing.hangup();
    await change('pause', { reason: 'training' });
    await change('unpause');
  }
  const steps = async (): Promise<number> =>
    (await server.run(url, `select id from offhook_migrations where id = '9999-newer'`)).length;
  async function update({ site }: TestNode): Promise<void> {
    await site.stop();
    await site.start('answers', NEWER);
  }

  test('two versions - the newer standby becomes ready beside the older leader and changes no table', async () => {
    const { a, b } = nodes;
    await change('login');
    await drainNode(known, 'b', { seconds: 0, clock: systemClock, print: () => {} });
    await update(b);
    await endDrain(known, 'b');
    await ableToLead(known, 'b');
    assert.equal(await steps(), 0);
    await works(a);
  });
  test('two versions - the newer one leads after a drain; the older web node goes on', async () => {
    const { a, b } = nodes;
    // On a busy machine the report of a standby can be too old for a drain for a moment.
    await ableToLead(known, 'b');
    await drainNode(known, 'a', { seconds: 30, clock: systemClock, print: () => {} });
    await b.leads();
    assert.equal(await steps(), 1);
    await works(b);
    assert.equal((await a.readyz())?.status, 'standby');
  });
  test('two versions - the older one says that it cannot lead, and leaves the site alone when the newer one dies', async () => {
    const { a, b } = nodes;
    await endDrain(known, 'a');
    let lines: readonly string[] = [];
    await until(
      'the older node to name the newer version',
      async () => /^a  standby, not ready .*newer version/.test((lines = nodeLines(await known.list()))[0]!),
      { seen: () => ({ lines, tail: a.site.tail() }) },
    );
    await assert.rejects(switchTo(known, 'a', systemClock), /a cannot lead the site/);
    const [before] = await server.run(url, 'select term from offhook_log');
    const engine = b.site.enginePid()!;
    await b.site.kill('SIGKILL');
    process.kill(engine, 'SIGKILL');
    await until('the lease to have ended', async () => {
      const [lease] = await server.run(url, 'select until < clock_timestamp() as ended from offhook_log');
      return lease?.['ended'] === true;
    });
    await a.site.stop();
    await a.site.start('answers');
    assert.deepEqual(await server.run(url, 'select term from offhook_log'), [before]);
    assert.equal((await a.readyz())?.status, 'standby');
    await b.site.start('answers');
    await b.leads();
    await works(b);
  });
  test('two versions - the former leader is updated and leads again, then the web node', async () => {
    const { a, b } = nodes;
    await update(a);
    await ableToLead(known, 'a');
    await switchTo(known, 'a', systemClock);
    await a.leads();
    await b.standsBy();
    await web.stop();
    await web.start('ready', NEWER);
    await works(a);
  });
  test('two versions - clients of the web node have every event once, in order', async () => {
    await assertFollowed(followers, () => rowsOf(server, url));
    const all = await rowsOf(server, url);
    assert.deepEqual(
      all.map((row) => row.seq),
      all.map((_, i) => i + 1),
    );
  });
});
