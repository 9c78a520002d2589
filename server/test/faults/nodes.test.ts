import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { drainNode, endDrain, nodeLines, switchTo } from '../../src/boot/nodes.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { SeenNode, SiteNodes } from '../../src/ports/site-nodes.ts';
import { CLOSE_CODES } from '@offhook/contract/stream.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { apply, ask as configure } from '../support/config-steps.ts';
import { cuttable } from '../support/cuttable.ts';
import type { Cuttable } from '../support/cuttable.ts';
import { ableToLead, startNodes } from '../support/nodes.ts';
import type { TestNode, TestNodes } from '../support/nodes.ts';
import type { Phone } from '../support/phone.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { assertFollowed, followersOf, rowsOf } from '../support/server-faults.ts';
import type { Follower } from '../support/server-faults.ts';
import { openSse } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { openWs } from '../support/ws-client.ts';
import type { WsClient } from '../support/ws-client.ts';

/** Lease of the site by the clock of the machine, which is the database's too. The bench (P34) measures the time of a failover. */
const LEASE_MS = 10_000;

/** Begin of a fault, and what the database knew of the lease. */
interface Fault {
  readonly at: number;
  /** End of the lease of the node that leads. */
  readonly leased: number;
}

describe('nodes', () => {
  let server: TestPostgres;
  let url = '';
  let way: Cuttable;
  let nodes: TestNodes;
  let boss: Person;
  let followers: readonly Follower[] = [];
  let known: SiteNodes;
  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
    way = await cuttable(url);
    known = openPostgresSiteNodes(url);
    nodes = await startNodes({ a: way.url, b: url });
    const { a, b } = nodes;
    const password = (await a.site.credentials()).find((one) => one.extension === '1001')!.password;
    boss = await signIn(a.site.base, '1001', password!);
    // A load balancer in small: every connection asks the next node, and a standby refuses it.
    let turn = 0;
    const either = {
      get base() {
        return [a, b][turn++ % 2]!.site.base;
      },
    };
    followers = followersOf(either, boss);
    for (const one of followers) {
      turn = 0;
      await one.begin();
    }
  });
  after(async () => {
    for (const one of followers) one.halt();
    await nodes?.[Symbol.asyncDispose]();
    await known?.close();
    await way?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const ask = async (node: TestNode, path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${boss.token}`, 'content-type': 'application/json' };
    const response = await fetch(`${node.site.base}${path}`, { ...init, headers });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const change = (node: TestNode, extension: string, what: string, body = {}) =>
    ask(node, `/api/v1/agents/${extension}/${what}`, { method: 'POST', body: JSON.stringify(body) });
  const states = async (node: TestNode): Promise<unknown> => {
    const { body } = await ask(node, '/api/v1/agents');
    const agents = body['agents'] as {
      extension: string;
      readiness: object;
      queues: { queue: string; paused: boolean }[];
    }[];
    // Readiness begins with the membership, which is new in the other engine.
    return agents.map(({ extension, readiness, queues }) => ({
      extension,
      readiness: { ...readiness, since: null },
      queues,
    }));
  };
  /** Lines of the engine's queues that name a member. */
  const members = async (node: TestNode): Promise<string[]> =>
    (await node.site.engineCli('queue show'))
      .split('\n')
      .filter((line) => line.includes('PJSIP/') || line.includes('Local/'))
      .map((line) => `${/(1\d{3})/.exec(line)?.[1]} ${line.includes('paused')}`)
      .toSorted();
  const call = async (from: Phone, to: Phone) => {
    const outgoing = await from.invite(to.extension);
    const incoming = await to.incoming(outgoing);
    incoming.ring();
    await incoming.answer();
    await outgoing.answered();
    return outgoing;
  };
  const faultNow = async (): Promise<Fault> => {
    const [log] = await server.run(
      url,
      'select extract(epoch from until)::float8 * 1000 as leased from offhook_log',
    );
    return { at: Date.now(), leased: Number(log?.['leased']) };
  };
  /** Moments after `since` at which this node took the site and was ready, from its log. */
  const tookOver = async ({ site }: TestNode, since: number): Promise<{ took: number; ready: number }> => {
    const text = await readFile(path.join(site.dataDir, 'logs', 'offhook.log'), 'utf8');
    const lines = text.split('\n').filter(Boolean);
    const all = lines.map((line) => JSON.parse(line) as { readonly time: string; readonly msg: string });
    const at = (wanted: string): number =>
      Math.max(...all.filter(({ msg }) => msg === wanted).map(({ time }) => Date.parse(time))) - since;
    return { took: at('this node takes over the site'), ready: at('ready') };
  };
  /** A call from a phone of `node` to another after a fault. Where the node waited for the lease, `lapse` names the fault. */
  async function callsWork(
    node: TestNode,
    fault: Fault,
    t: TestContext,
    what: string,
    lapse: boolean,
  ): Promise<void> {
    await node.leads(60_000);
    await using one = await node.phone('1007');
    await using two = await node.phone('1008');
    const made = await call(one, two);
    const ms = Date.now() - fault.at;
    await made.hangup();
    const { took, ready } = await tookOver(node, fault.at);
    const leased = fault.leased - fault.at;
    const parts = { lease_left: leased, took, took_over: ready - took, called: ms - ready, all: ms };
    const shown = Object.entries(parts).map(([name, part]) => `${name} ${Math.round(part)}`);
    t.diagnostic(`${what}, in ms: ${shown.join(', ')}`);
    assert.ok(leased <= LEASE_MS, 'the lease ends ten seconds after it was renewed at the latest');
    if (lapse) assert.ok(took >= leased - 1, 'no node takes the site while another one may hold it');
  }
  const rows = () => rowsOf(server, url);
  const events = async () =>
    (await rows()).map((row) => JSON.parse(row.json) as { type: string; data: Record<string, unknown> });
  /** A stream at this node itself. */
  const openStream = async ({ site }: TestNode): Promise<WsClient> => {
    const client = await openWs({ port: Number(new URL(site.base).port), token: boss.token });
    client.send({ op: 'subscribe', id: 1, topics: ['agents'] });
    await client.next('subscribed');
    return client;
  };
  const conversations = () =>
    server.run(url, `select state, count(*)::int as n from conversations group by state order by state`);
  const conversationsAre = (count: number) => {
    let last: object = [];
    return until(
      `${count} conversations, all over`,
      async () => {
        const found = (last = await conversations());
        const all = found.reduce((sum, row) => sum + Number(row['n']), 0);
        return all === count && found.every((row) => row['state'] !== 'open');
      },
      { seen: () => last },
    );
  };
  const lead = async (name: string): Promise<void> => {
    await ableToLead(known, name);
    await switchTo(known, name, systemClock);
  };

  test('nodes - a standby names the active node and is no target of a load balancer', async () => {
    const { a, b } = nodes;
    assert.equal((await fetch(`${b.site.base}/healthz`)).status, 200);
    assert.equal((await fetch(`${b.site.base}/readyz`)).status, 503);
    const { status, body } = await ask(b, '/api/v1/agents');
    assert.deepEqual([status, body['code'], body['active']], [503, 'node_not_active', a.site.base]);
  });
  test('nodes - a configuration that the active one applies is read back from the engine of the standby', async () => {
    const { a, b } = nodes;
    await configure(a.site, 'PATCH', '/queues/support', { title: 'Standing By', ring_seconds: 33 });
    assert.equal((await apply(a.site)).state, 'applied');
    // The same file, and the node reports a version only once its engine was compared with it.
    const fileOf = ({ site }: TestNode) =>
      readFile(path.join(site.dataDir, 'engine', 'etc', 'queues.conf'), 'utf8');
    assert.match(await fileOf(a), /timeout ?= ?33/);
    await until('the file of the standby', async () => (await fileOf(b)) === (await fileOf(a)));
    let last: readonly SeenNode[] = [];
    await until(
      'both to report the version',
      async () => {
        const [one, other] = (last = await known.list());
        return one?.version != null && one.version === other?.version && other.problem === null;
      },
      { seen: () => last },
    );
  });
  test('nodes - the active one is killed in a call: agents and pauses stay, the call ends with its cause', async (t) => {
    const { a, b } = nodes;
    for (const extension of ['1003', '1004', '1005']) {
      const { status } = await change(a, extension, 'login');
      assert.equal(status, 200);
    }
    await change(a, '1004', 'pause', { reason: 'training' });
    await change(a, '1005', 'logout');
    const before = await states(a);
    const queued = await members(a);
    assert.ok(queued.some((line) => line === '1004 true') && queued.some((line) => line === '1003 false'));
    // Closed once the engine of `a` answers again: a dead one answers no BYE.
    await using one = await a.phone('1007');
    await using two = await a.phone('1008');
    const cut = await call(one, two);
    await until('the call in the journal', async () =>
      (await events()).some(({ type }) => type === 'call.answered'),
    );
    const fault = await faultNow();
    const engine = a.site.enginePid()!;
    await a.site.kill('SIGKILL');
    process.kill(engine, 'SIGKILL');
    await callsWork(b, fault, t, 'killed', true);
    assert.equal(cut.state, 'up', 'its phones were told nothing');
    let reasons: unknown[] = [];
    await until(
      'the ends of both calls',
      async () => {
        const ended = (await events()).filter(({ type }) => type === 'call.ended');
        reasons = ended.map(({ data }) => data['reason']);
        return reasons.join(' ') === 'engine_lost hangup';
      },
      { seen: () => reasons },
    );
    let last: object = [];
    await until(
      'the agents as before',
      async () => JSON.stringify((last = await members(b))) === JSON.stringify(queued),
      { seen: () => ({ last, queued }) },
    );
    let shown: unknown;
    // The model learns from the engine what its console shows already.
    await until('the states as before', async () => isDeepStrictEqual((shown = await states(b)), before), {
      seen: () => ({ shown, before }),
    });
    const out = (await events()).filter(({ type }) => type === 'agent.logged_out');
    assert.deepEqual([...new Set(out.map(({ data }) => data['extension']))], ['1005']);
    await conversationsAre(2);
    const drift = await ask(b, '/api/v1/config/drift');
    assert.deepEqual(drift.body['files'], [], 'what the standby wrote is no change by hand');

    await a.site.start('answers');
    await a.standsBy();
    const again = await faultNow();
    await lead('a');
    await callsWork(a, again, t, 'switched back', false);
    await b.standsBy();
    // The records of the cut call, which only the engine of `a` wrote, change its conversation and add none.
    await conversationsAre(3);
  });
  test('nodes - a drain waits for the last call, is ended by a second command, and keeps the node out', async () => {
    const { a, b } = nodes;
    await a.leads();
    await ableToLead(known, 'b');
    const drains = async (node: TestNode) => (await node.readyz())?.checks['drain'] === 'failing';
    const said: string[] = [];
    const options = { seconds: 600, clock: systemClock, print: (line: string) => void said.push(line) };
    await using one = await a.phone('1007');
    await using two = await a.phone('1008');
    const made = await call(one, two);
    const ended = assert.rejects(drainNode(known, 'a', options), /the drain of a was ended/);
    await until('the drain to count the call', () => said.some((line) => line.endsWith('; 1 call')), {
      seen: () => ({ said }),
    });
    await until('the node to show its drain', () => drains(a));
    assert.equal((await a.readyz())?.status, 'ready', 'it leads until the call ends');
    await endDrain(known, 'a');
    await ended;
    await until('the node to be drained no more', async () => !(await drains(a)));

    const drained = drainNode(known, 'a', options);
    await until('the node to show its drain again', () => drains(a));
    await made.hangup();
    await drained;
    await b.leads();
    assert.equal(said.at(-1), 'a: drained');
    assert.match(nodeLines(await known.list())[0]!, /^a  standby, drained  /);
    assert.deepEqual([(await a.readyz())?.status, await drains(a)], ['standby', true]);
    await assert.rejects(switchTo(known, 'a', systemClock), /a is being drained/);
    await assert.rejects(drainNode(known, 'b', options), /no standby can take it/);
    await endDrain(known, 'a');
    await a.standsBy();
  });
  test('nodes - a drain passes the site on with its calls when its time is over, and waits until they have ended', async () => {
    const { a, b } = nodes;
    await b.leads();
    await ableToLead(known, 'a');
    const said: string[] = [];
    await using one = await b.phone('1007');
    await using two = await b.phone('1008');
    const made = await call(one, two);
    const options = { seconds: 0, clock: systemClock, print: (line: string) => void said.push(line) };
    const drained = drainNode(known, 'b', options);
    await until(
      'the other node to lead with the call left',
      () => said.includes('b: draining, calls left at its engine'),
      { seen: () => ({ said }) },
    );
    await a.leads();
    assert.equal(made.state, 'up');
    await made.hangup();
    await drained;
    assert.equal(said.at(-1), 'b: drained');
    await endDrain(known, 'b');
    await b.standsBy();
  });
  test('nodes - the active one freezes: what it had to do is refused when it goes on', async (t) => {
    const { a, b } = nodes;
    const queued = await members(a);
    await using held = await openStream(a);
    const fault = await faultNow();
    process.kill(a.site.pid!, 'SIGSTOP');
    const late = change(a, '1003', 'pause', { reason: 'training' }).catch((error: unknown) => error);
    try {
      await callsWork(b, fault, t, 'frozen', true);
    } finally {
      process.kill(a.site.pid!, 'SIGCONT');
    }
    const answer = (await late) as { status?: number };
    assert.notEqual(answer.status, 200);
    assert.equal((await held.closed()).code, CLOSE_CODES.restarting);
    await a.standsBy();
    assert.deepEqual(await members(b), queued);
  });
  test('nodes - the active one is cut off from the database: it stops acting and ends its streams before the other one leads', async (t) => {
    const { a, b } = nodes;
    await lead('a');
    await a.leads(60_000);
    await b.standsBy();
    await using held = await openStream(a);
    const events = await openSse(`${a.site.base}/api/v1/events?topics=agents`, boss.token);
    const fault = await faultNow();
    way.cut();
    await events.next('reconnect');
    assert.equal((await held.closed()).code, CLOSE_CODES.restarting);
    await callsWork(b, fault, t, 'cut off', true);
    const refused = await change(a, '1003', 'pause', { reason: 'training' });
    assert.equal(refused.status, 503);
    assert.equal((await a.readyz())?.checks['lease'], 'failing');
    way.mend();
    await a.standsBy();
  });
  test('nodes - clients that followed over all of it have every event once, in order', async (t) => {
    await assertFollowed(followers, rows);
    const all = await rows();
    assert.deepEqual(
      all.map((row) => row.seq),
      all.map((_, i) => i + 1),
    );
    const [log] = await server.run(url, 'select term from offhook_log');
    t.diagnostic(`term ${String(log?.['term'])}, ${all.length} events`);
  });
});
