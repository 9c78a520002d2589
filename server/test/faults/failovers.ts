/**
 * The node that leads is killed, frozen and cut off from the database in turn, while ten calls, six agents and twelve clients of the
 * stream are at work, and phones that know only the SIP proxy. Throws where something was lost, doubled or not as it was.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { signIn } from '../support/api.ts';
import { apply, ask as configure } from '../support/config-steps.ts';
import { cuttable } from '../support/cuttable.ts';
import { ableToLead, startNodes } from '../support/nodes.ts';
import type { TestNode, TestNodes } from '../support/nodes.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { startPostgres } from '../support/postgres.ts';
import { assertFollowed, followersOf, rowsOf } from '../support/server-faults.ts';
import { sipProxyFor } from '../support/sip-proxy.ts';
import type { TestSipProxy } from '../support/sip-proxy.ts';
import { until } from '../support/until.ts';

const SECRET = 'a-secret-of-24-letters-0';
const CALLS = 10;
/** With agents already among the demo company. */
const AGENTS = ['1003', '1004', '1005', '2001', '2002', '2003'];
const PAUSED = ['1004', '2002'];
const PEOPLE = Array.from({ length: 25 }, (_, i) => String(2001 + i));
const [TALKERS, CALLER, CALLED] = [PEOPLE.slice(3, 23), PEOPLE[23]!, PEOPLE[24]!];
/** Ends a run that hangs: a phone that missed one OPTIONS of the engine is asked again after a minute. */
const LATEST_MS = 120_000;
const FAULTS = ['killed', 'frozen', 'cut off'] as const;

export async function runFailovers(rounds: number, print: (line: string) => void): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startPostgres());
  const url = await server.createDatabase();
  const ways = { a: stack.use(await cuttable(url)), b: stack.use(await cuttable(url)) };
  const known = openPostgresSiteNodes(url);
  stack.defer(() => known.close());
  const proxy: TestSipProxy = stack.use(await sipProxyFor(() => [nodes.a.site, nodes.b.site]));
  const address = { OFFHOOK_SIP_PROXY: `${proxy.sip.host}:${proxy.sip.port}` };
  const nodes: TestNodes = stack.use(await startNodes({ a: ways.a.url, b: ways.b.url }, address));
  await proxy.start();
  for (const extension of PEOPLE)
    await configure(nodes.a.site, 'POST', '/extensions', {
      extension,
      username: `p${extension}`,
      name: `Person ${extension}`,
      level: 'agent',
      // A phone that cannot be reached is no call that is answered.
      voicemail: false,
      sip_password: SECRET,
    });
  const members = AGENTS.map((extension) => ({ extension }));
  await configure(nodes.a.site, 'PATCH', '/queues/support', { members });
  await configure(nodes.a.site, 'PATCH', '/queues/sales', { members });
  assert.equal((await apply(nodes.a.site)).state, 'applied');

  const password = (await nodes.a.site.credentials()).find((one) => one.extension === '1001')!.password!;
  const boss = await signIn(nodes.a.site.base, '1001', password);
  const ask = async (node: TestNode, path: string, method = 'GET', body?: object) => {
    const headers = { authorization: `Bearer ${boss.token}`, 'content-type': 'application/json' };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${node.site.base}${path}`, init);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const states = async (node: TestNode): Promise<unknown> => {
    const { body } = await ask(node, '/api/v1/agents');
    const agents = body['agents'] as {
      extension: string;
      readiness: object;
      queues: { paused: boolean }[];
    }[];
    // Readiness begins with the membership, which is new in the other engine.
    return agents.map((one) => [one.extension, { ...one.readiness, since: null }, one.queues]);
  };
  for (const extension of AGENTS) {
    const { status } = await ask(nodes.a, `/api/v1/agents/${extension}/login`, 'POST', {});
    assert.equal(status, 200, `login of ${extension}`);
  }
  for (const extension of PAUSED)
    await ask(nodes.a, `/api/v1/agents/${extension}/pause`, 'POST', { reason: 'training' });

  // A load balancer in small: every connection asks the next node, and a standby refuses it.
  let turn = 0;
  const either = {
    get base() {
      return [nodes.a, nodes.b][turn++ % 2]!.site.base;
    },
  };
  const followers = Array.from({ length: 4 }, () => followersOf(either, boss)).flat();
  for (const one of followers) {
    turn = 0;
    await one.begin();
  }
  stack.defer(() => followers.forEach((one) => one.halt()));

  const phones = new Map<string, Phone>();
  for (const extension of [...TALKERS, CALLER, CALLED])
    phones.set(extension, stack.use(await registerPhone({ server: proxy.sip, extension, password: SECRET })));
  const call = async (from: string, to: string): Promise<PhoneCall> => {
    const outgoing = await phones.get(from)!.invite(to);
    const incoming = await phones.get(to)!.incoming(outgoing);
    incoming.ring();
    await incoming.answer();
    await outgoing.answered();
    return outgoing;
  };
  /** Phones that the engine of a node can call. */
  const reached = async ({ site }: TestNode): Promise<string[]> =>
    [...(await site.engineCli('pjsip show contacts')).matchAll(/Contact: +(2\d+)\/\S+ +\S+ +Avail/g)]
      .map(([, extension]) => extension!)
      .toSorted();
  const knows = async (node: TestNode): Promise<void> => {
    const all = [...phones.keys()].toSorted();
    let found: readonly string[] = [];
    await until(
      `all phones at node ${node.name}`,
      async () => isDeepStrictEqual((found = await reached(node)), all),
      { ms: LATEST_MS, seen: () => ({ found }) },
    );
  };
  const pairs = Array.from({ length: CALLS }, (_, i) => [TALKERS[2 * i]!, TALKERS[2 * i + 1]!] as const);

  /** Who hears nothing for a second dials again. Resolves with the moment at which a call was up. */
  async function firstCall(): Promise<number> {
    const [caller, called] = [phones.get(CALLER)!, phones.get(CALLED)!];
    let last: unknown = 'nothing';
    let up = 0;
    await until(
      'a call by the proxy',
      async () => {
        const outgoing = await caller.invite(CALLED);
        const late = AbortSignal.timeout(1_000);
        while (called.waiting === 0 && outgoing.state !== 'ended' && !late.aborted) await wait(20);
        if (called.waiting === 0) {
          last = `${outgoing.state} ${outgoing.status}`;
          // A dead node answers no CANCEL either.
          void outgoing.hangup().catch(() => undefined);
          return false;
        }
        await (await called.incoming(outgoing)).answer();
        await outgoing.answered();
        up = Date.now();
        await outgoing.hangup();
        return true;
      },
      { ms: LATEST_MS, seen: () => ({ last }) },
    );
    return up;
  }
  /** After a fault: then the phones of this node call each other, and all is as it was. */
  async function leadsOn(node: TestNode, fault: string, before: unknown): Promise<void> {
    const began = Date.now();
    await node.leads();
    const ready = Date.now() - began;
    const called = (await firstCall()) - began;
    let shown: unknown;
    await until('the agents as before', async () => isDeepStrictEqual((shown = await states(node)), before), {
      seen: () => ({ shown, before }),
    });
    const same = Date.now() - began;
    await knows(node);
    const seconds = [ready, called, same, Date.now() - began].map((ms) => (ms / 1000).toFixed(1));
    print(
      `${fault}: next node ready after ${seconds[0]} s, a call by the proxy after ${seconds[1]} s, ` +
        `agents as before after ${seconds[2]} s, ${phones.size} phones known after ${seconds[3]} s`,
    );
  }
  const conversations = async (node: TestNode): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await ask(node, `/api/v1/conversations?limit=100${cursor}`);
      for (const one of body['conversations'] as { extensions: string[]; state: string }[])
        if (one.state !== 'open') found.push(one.extensions.join(' '));
      if (typeof body['next_cursor'] !== 'string') return found;
      cursor = `&cursor=${encodeURIComponent(body['next_cursor'])}`;
    }
  };

  let [leading, next] = [nodes.a, nodes.b];
  for (let round = 0; round < rounds * FAULTS.length; round += 1) {
    const fault = FAULTS[round % FAULTS.length]!;
    const way = ways[leading.name as 'a' | 'b'];
    await ableToLead(known, next.name);
    await knows(next);
    const calls = await Promise.all(pairs.map(([from, to]) => call(from, to)));
    const before = await states(leading);
    const [service, engine] = [leading.site.pid!, leading.site.enginePid()!];
    let late: Promise<number | string> = Promise.resolve('nothing was asked');
    const pause = () =>
      ask(leading, '/api/v1/agents/1003/pause', 'POST', { reason: 'training' }).then(
        ({ status }) => status,
        (error: unknown) => String(error),
      );
    if (fault === 'killed') {
      await leading.site.kill('SIGKILL');
      process.kill(engine, 'SIGKILL');
    } else if (fault === 'frozen') {
      process.kill(service, 'SIGSTOP');
      process.kill(engine, 'SIGSTOP');
      late = pause();
    } else way.cut();
    await leadsOn(next, fault, before);
    if (fault === 'killed') await leading.site.start('answers');
    else if (fault === 'frozen') {
      process.kill(engine, 'SIGCONT');
      process.kill(service, 'SIGCONT');
    } else {
      late = pause();
      assert.notEqual(await late, 200, 'the node that is cut off confirms nothing');
      way.mend();
    }
    assert.notEqual(await late, 200, 'the deposed node confirms nothing');
    await leading.standsBy(LATEST_MS);
    assert.ok(isDeepStrictEqual(await states(next), before), 'the deposed node changed nothing');
    await Promise.all(calls.map((one) => one.hangup().catch(() => undefined)));
    [leading, next] = [next, leading];
    let last: unknown;
    await until(
      'one conversation of each call',
      async () => {
        const all = await conversations(leading);
        const counts = pairs.map((pair) => all.filter((one) => one === pair.join(' ')).length);
        last = counts;
        return counts.every((count) => count === round + 1);
      },
      { ms: LATEST_MS, seen: () => ({ last, round }) },
    );
  }
  const rows = () => rowsOf(server, url);
  await assertFollowed(followers, rows);
  const all = await rows();
  assert.deepEqual(
    all.map(({ seq }) => seq),
    all.map((_, i) => i + 1),
    'the log is dense',
  );
  print(
    `${rounds * FAULTS.length} failovers: ${rounds * FAULTS.length * CALLS} calls each in one conversation, ` +
      `${AGENTS.length} agents as they were, ${all.length} events once and in order at ${followers.length} clients.`,
  );
}
