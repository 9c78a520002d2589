/** P33, P36: events to clients of web nodes, and commands through one, beside the leading node itself. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { openListeners } from '../stream/listeners.ts';
import type { Listeners } from '../stream/listeners.ts';
import { request } from '../http-client.ts';
import {
  QUICK,
  ROUNDS,
  atLeast,
  atMost,
  beyond,
  cpuOf,
  figure,
  interleave,
  quantile,
  quantilesOf,
  ratiosOf,
} from '../lib.ts';
import type { Row } from '../lib.ts';
import { startCluster } from '../cluster.ts';
import type { BenchCluster } from '../cluster.ts';

const AGENTS = ['1003', '1004', '1005'];
const WEBS = 3;
/** Clients of each node. */
const CLIENTS = QUICK ? 50 : 200;
const EVENTS = QUICK ? 60 : 90;
/** Pause between two events, in ms. */
const PAUSE_MS = 12;
const COMMANDS = QUICK ? 30 : 100;

/** Changes the readiness of agents in turn, each time to the other state. */
class Changes {
  readonly #token: string;
  #n = 0;
  constructor(token: string) {
    this.#token = token;
  }
  async next(base: string): Promise<void> {
    const n = this.#n++;
    const agent = AGENTS[n % AGENTS.length]!;
    const pauses = Math.floor(n / AGENTS.length) % 2 === 0;
    const answer = await request(`${base}/api/v1/agents/${agent}/${pauses ? 'pause' : 'unpause'}`, {
      method: 'POST',
      token: this.#token,
      json: pauses ? { reason: 'training' } : {},
    });
    if (answer.status !== 200) throw new Error(`a change was answered ${answer.status} ${answer.body}`);
  }
}
async function logIn({ leader, token }: BenchCluster): Promise<void> {
  for (const agent of AGENTS)
    await request(`${leader.base}/api/v1/agents/${agent}/login`, { method: 'POST', token, json: {} });
}

interface Played {
  readonly deliveries: number;
  /** Milliseconds from the command to the event at the first client of each node. */
  readonly ms: readonly number[];
  /** Microseconds of CPU: of the nodes with the clients, and of the leading node. */
  readonly cpu: number;
  readonly leader: number;
}
export async function p33(): Promise<Row> {
  await using cluster = await startCluster(WEBS, { OFFHOOK_STREAMS_PER_PERSON: '10000' });
  const { leader, token, webs } = cluster;
  await logIn(cluster);
  const changes = new Changes(token);
  const used = { none: [], leader: [leader], one: webs.slice(0, 1), two: webs.slice(0, 2), three: webs };
  const names = Object.keys(used);
  async function play(which: string): Promise<Played> {
    const sites = used[which as keyof typeof used];
    using stack = new DisposableStack();
    const all: Listeners[] = [];
    for (const { base } of sites) all.push(stack.use(await openListeners({ base, token, count: CLIENTS })));
    const cpuNow = (): number => sites.reduce((sum, { pid }) => sum + cpuOf(pid!), 0);
    const [before, leading] = [cpuNow(), cpuOf(leader.pid!)];
    const ms: number[] = [];
    for (let i = 0; i < EVENTS; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      const sent = performance.now();
      const seen = all.map((one) => one.next());
      await changes.next(leader.base);
      for (const at of await Promise.all(seen)) ms.push(at - sent);
    }
    for (const one of all) await one.received(EVENTS);
    return {
      deliveries: EVENTS * CLIENTS * sites.length,
      ms,
      cpu: cpuNow() - before,
      leader: cpuOf(leader.pid!) - leading,
    };
  }
  for (const which of names) await play(which);
  const rounds = await interleave(names, ROUNDS, play);
  const of = (which: string, pick: (one: Played, i: number) => number): number[] =>
    rounds.get(which)!.map(pick);
  const idle = of('none', (one) => one.leader);
  const each = (which: string): number[] =>
    of(which, ({ cpu, deliveries }, i) => (which === 'leader' ? cpu - idle[i]! : cpu) / deliveries);
  const whole = (which: string): number[] =>
    of(which, ({ cpu, leader: leading, deliveries }, i) =>
      which === 'leader' ? (cpu - idle[i]!) / deliveries : (cpu + leading - idle[i]!) / deliveries,
    );
  const shown = [
    ['leader', 'one node', 'limit'],
    ['one', '1 web node', 'ours'],
    ['two', '2 web nodes', 'ours'],
    ['three', '3 web nodes', 'ours'],
  ] as const;
  return {
    id: 'P33',
    title: `Events to ${CLIENTS} clients of each node`,
    figures: shown.flatMap(([which, name, role]) => [
      figure(
        `${name}, command to event, p50`,
        'ms',
        role,
        of(which, ({ ms }) => quantile(ms, 0.5)),
      ),
      figure(
        `${name}, command to event, p99`,
        'ms',
        role,
        of(which, ({ ms }) => quantile(ms, 0.99)),
      ),
      figure(`${name}, those with the clients`, 'µs CPU/delivery', role, each(which)),
      figure(`${name}, with the leading node’s share`, 'µs CPU/delivery', role, whole(which)),
    ]),
    gates: [
      atLeast(
        'CPU per delivery, share that 3 web nodes keep of the speed of 1',
        0.8,
        ratiosOf(each('one'), each('three')),
        '×',
      ),
      atMost(
        'event to client beyond one node, 3 web nodes, p50',
        10,
        beyond(
          of('three', ({ ms }) => quantile(ms, 0.5)),
          of('leader', ({ ms }) => quantile(ms, 0.5)),
        ),
        ' ms',
      ),
    ],
    notes: [
      'A change of an agent by REST at the leading node, one at a time; each node has its own clients, so three have three times the deliveries. All nodes and servers share one core here, so CPU per delivery takes the place of deliveries/s.',
      'The leading node’s CPU for the same changes without a client is taken off.',
    ],
  };
}

/** A proxy that only forwards requests: the lowest cost of a node in between. */
async function plainProxy(target: string): Promise<AsyncDisposable & { readonly base: string }> {
  const { hostname, port } = new URL(target);
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const sent = http.request({ hostname, port, path: url, method, headers, agent }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
export async function p36(): Promise<Row> {
  await using cluster = await startCluster(1);
  const { leader, token, webs } = cluster;
  await logIn(cluster);
  await using proxy = await plainProxy(leader.base);
  const changes = new Changes(token);
  const bases: Readonly<Record<string, string>> = {
    direct: leader.base,
    proxy: proxy.base,
    web: webs[0]!.base,
  };
  async function round(which: string): Promise<number[]> {
    const ms: number[] = [];
    for (let i = 0; i < COMMANDS; i += 1) {
      const began = performance.now();
      await changes.next(bases[which]!);
      ms.push(performance.now() - began);
    }
    return ms;
  }
  for (const which of Object.keys(bases)) await round(which);
  const at = quantilesOf(await interleave(Object.keys(bases), ROUNDS, round));
  const added = beyond(at('web', 0.5), at('direct', 0.5));
  const times = ratiosOf(at('web', 0.5), at('direct', 0.5));
  return {
    id: 'P36',
    title: 'A command through a web node, until its event is there too',
    figures: [
      figure('through a web node, p50', 'ms', 'ours', at('web', 0.5)),
      figure('through a web node, p99', 'ms', 'ours', at('web', 0.99)),
      figure('a proxy that only passes on, p50', 'ms', 'peer', at('proxy', 0.5)),
      figure('a proxy that only passes on, p99', 'ms', 'peer', at('proxy', 0.99)),
      figure('at the leading node itself, p50', 'ms', 'limit', at('direct', 0.5)),
      figure('at the leading node itself, p99', 'ms', 'limit', at('direct', 0.99)),
      figure('added by the web node, p50', 'ms', 'ours', added),
      figure('times the leading node itself, p50', '×', 'ours', times, 'higher'),
    ],
    gates: [
      atMost('through a web node, times the leading node itself, p50', 2, times, '×'),
      atMost('added by the web node, p50', 10, added, ' ms'),
    ],
    notes: [
      'A change of an agent by REST. The web node answers once its own copy has the event of the change, read from PostgreSQL; the proxy does not wait for one.',
    ],
  };
}
