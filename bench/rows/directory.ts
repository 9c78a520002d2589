/** P7: the directory over HTTP, with the real host, sessions, model and routes. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { asteriskConf } from '../../server/src/adapters/asterisk/conf/instance.ts';
import { findLiving } from '../../server/src/adapters/asterisk/process/living.ts';
import { startFakeAmi } from '../../server/test/support/fake-ami.ts';
import { startExchange } from '../exchange.ts';
import {
  GENERATOR_CORE,
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  atLeast,
  atMost,
  count,
  cpuOf,
  end,
  figure,
  firstLine,
  growthOf,
  interleave,
  quantile,
  ratiosOf,
  run,
  start,
  temporaryFolder,
} from '../lib.ts';
import type { Figure, Gate, Row } from '../lib.ts';
import { RECONSTRUCTIONS, TOKEN, reconstruct } from '../reconstruct.ts';
import { fillSite } from '../site-data.ts';

interface Load {
  readonly requests: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly statuses: readonly string[];
}
interface Cost {
  readonly cpu: number;
  readonly rate: number;
}
/**
 * Requests of one round: about a second of the subject's core. A fixed number, so that other load of the machine changes
 * no CPU figure.
 */
const requests = (subject: string, size: number): number => {
  if (['unchanged', 'hello', 'framework'].includes(subject)) return 8_000;
  // One request of each connection.
  if (subject === 'cli') return 50;
  return Math.round((subject === 'json' || subject === 'daemons' ? 400_000 : 1_500_000) / size);
};

/** The size at which the reconstructions are measured: at 10,000 one list of the command line takes the engine a second. */
const RECONSTRUCTED = 1_000;
/** Smallest share of our bytes for an answer to be the list; the reconstructions write a few fields differently. */
const WHOLE = 0.95;
/** Another subject: its address, the headers it needs, and the CPU of all its processes. */
interface Peer {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly cpu: () => number;
}
/** CPU of the ended children of a process, in microseconds; the kernel counts hundredths of a second. */
function cpuOfChildren(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10_000;
}
/**
 * The reconstructions, with a real engine of as many extensions; `contacts` is a file with the list as ours sends it.
 */
async function reconstructed(
  contacts: string,
  stack: AsyncDisposableStack,
): Promise<ReadonlyMap<string, Peer>> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const auth = await reconstruct('auth', {}, stack);
  const chatd = await reconstruct('chatd', { auth: auth.port, contacts }, stack);
  const exchange = stack.use(
    await startExchange({ extensions: RECONSTRUCTED, queues: 0, agentsPerQueue: 0 }),
  );
  const living = findLiving(exchange.instance);
  if (living === null) throw new Error('the engine has ended');
  const engine = [...living.command, '-C', asteriskConf(exchange.instance)];
  // Only the engine is needed.
  await exchange.stop('SIGUSR2');
  const cli = await reconstruct('cli', { engine, contacts }, stack);
  return new Map([
    ['daemons', { url: chatd.url, headers, cpu: () => cpuOf(chatd.pid) + cpuOf(auth.pid) }],
    [
      'cli',
      { url: cli.url, headers, cpu: () => cpuOf(cli.pid) + cpuOfChildren(cli.pid) + cpuOf(living.pid) },
    ],
  ]);
}
/** Runs `work` with a site of this size behind the service; everything is ended and removed afterwards. */
export async function withDirectory<T>(
  extensions: number,
  work: (service: ChildProcess, port: number, data: string) => Promise<T>,
): Promise<T> {
  using folder = temporaryFolder();
  const data = folder.path;
  await using engine = await startFakeAmi();
  await fillSite(data, { extensions, queues: 0, agentsPerQueue: 0 });
  const service = start('service-subject.ts', [data, engine.port], SUBJECT_CORE, SERVICE_FLAGS);
  try {
    const { port } = await firstLine<{ port: number }>(service);
    return await work(service, port, data);
  } finally {
    await end(service);
  }
}
/** Milliseconds of rebuilding the list after one change: median and p99 of every round. */
async function rebuilt(service: ChildProcess): Promise<{ p50: number[]; p99: number[] }> {
  const rounds: number[][] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const { ms } = await ask<{ ms: number[] }>(service, { ask: 'rebuild', times: 200 });
    if (round >= 0) rounds.push(ms);
  }
  return {
    p50: rounds.map((ms) => quantile(ms, 0.5)),
    p99: rounds.map((ms) => quantile(ms, 0.99)),
  };
}

const NAMES = {
  daemons: 'reconstruction of Wazo’s approach',
  cli: 'reconstruction of the AiPBX approach (a process for each request), with its engine',
} as const;
type Values = (name: string) => number[];
const besideReconstructions = (of: string, cpu: Values, rate: Values): Figure[] =>
  Object.entries(NAMES).flatMap(([name, title]) => [
    figure(`${title}, ${of}`, 'µs CPU/request', 'peer', cpu(name)),
    figure(`${title}, ${of}`, 'requests/s', 'peer', rate(name)),
    figure(`times the speed of the ${title}, ${of}`, '×', 'ours', ratiosOf(cpu(name), cpu('warm'))),
  ]);

export async function p7(): Promise<Row> {
  const figures: Figure[] = [];
  const gates: Gate[] = [];
  const points: [size: number, ms: readonly number[]][] = [];
  points.push([100, await withDirectory(100, async (service) => (await rebuilt(service)).p50)]);
  for (const [size, ceiling] of [
    [1_000, 5],
    [10_000, 40],
  ] as const) {
    await withDirectory(size, async (service, port, data) => {
      const anew = await rebuilt(service);
      points.push([size, anew.p50]);
      const { token } = await ask<{ token: string }>(service, { ask: 'token' });
      const authorization = `Bearer ${token}`;
      const url = `http://127.0.0.1:${port}/api/mobile/contacts.php`;
      const first = await fetch(url, { headers: { authorization } });
      const body = Buffer.from(await first.arrayBuffer());
      const { contacts } = JSON.parse(body.toString()) as { contacts: unknown[] };
      if (contacts.length !== size + 1) throw new Error(`${contacts.length} contacts of ${size + 1}`);
      const tag = first.headers.get('etag') ?? '';
      const costs = await measure(service, url, authorization, tag, data, body, size);
      const cpu = (name: string): number[] => (costs.get(name) ?? []).map((c) => c.cpu);
      const rate = (name: string): number[] => (costs.get(name) ?? []).map((c) => c.rate);
      const of = `${count(size)} contacts`;
      const kB = `${count(body.length / 1000)} kB`;
      const warm = ratiosOf(cpu('prebuilt'), cpu('warm'));
      const unchanged = ratiosOf(cpu('hello'), cpu('unchanged'));
      figures.push(
        figure(`Offhook, ${of} (${kB})`, 'µs CPU/request', 'ours', cpu('warm')),
        figure(`Offhook, ${of}`, 'requests/s', 'ours', rate('warm')),
        figure(`Offhook, ${of}, If-None-Match`, 'µs CPU/request', 'ours', cpu('unchanged')),
        figure(`Offhook, ${of}, If-None-Match`, 'requests/s', 'ours', rate('unchanged')),
        figure(`fastify makes the JSON each time, ${of}`, 'µs CPU/request', 'peer', cpu('json')),
        figure(`fastify makes the JSON each time, ${of}`, 'requests/s', 'peer', rate('json')),
        figure(`node:http sends a ready buffer, ${of}`, 'µs CPU/request', 'limit', cpu('prebuilt')),
        figure(`node:http sends a ready buffer, ${of}`, 'requests/s', 'limit', rate('prebuilt')),
        figure('node:http sends 17 bytes', 'µs CPU/request', 'limit', cpu('hello')),
        figure('fastify alone sends 17 bytes', 'µs CPU/request', 'peer', cpu('framework')),
        figure(
          `If-None-Match, share of fastify alone, ${of}`,
          '×',
          'ours',
          ratiosOf(cpu('framework'), cpu('unchanged')),
          'lower',
        ),
        figure(`share of the ready buffer, ${of}`, '×', 'ours', warm, 'lower'),
        figure(`list anew after one change, ${of}`, 'ms', 'ours', anew.p50),
        ...(size === RECONSTRUCTED ? besideReconstructions(of, cpu, rate) : []),
      );
      gates.push(
        atLeast(`${of}: share of the speed of a ready buffer`, 0.8, warm, '×'),
        atLeast(`${of}: If-None-Match, share of the speed of 17 bytes`, 0.8, unchanged, '×'),
        atMost(`${of}: list anew after one presence change, p99`, ceiling, anew.p99, ' ms'),
      );
    });
  }
  const { growth, gate } = growthOf({ name: 'the list anew over contacts', unit: 'ms', most: 1.1 }, points);
  return {
    id: 'P7',
    title: 'Directory with presence, 50 connections',
    figures,
    gates: [...gates, gate],
    growth: [growth],
    notes: [
      'Every request of ours is authenticated, measured and carries the security headers; the limits do none of it.',
      RECONSTRUCTIONS,
      `Wazo’s approach here: the token checked by HTTP at another daemon, a select and two counts, the list made into JSON each time. The process for each request is the engine’s command line (\`pjsip show endpoints\`), whose text is parsed, that of a real engine with ${count(RECONSTRUCTED)} extensions, whose processor time is included, and a text that the engine cuts because nobody reads it within 100 ms counts as an answer; ours and Wazo’s have the states already, by the engine’s events.`,
    ],
  };
}

async function measure(
  service: ChildProcess,
  url: string,
  authorization: string,
  tag: string,
  data: string,
  body: Buffer,
  size: number,
): Promise<Map<string, Cost[]>> {
  const file = path.join(data, 'body.json');
  await fs.writeFile(file, body);
  await using stack = new AsyncDisposableStack();
  const own = { url, headers: { authorization }, cpu: () => cpuOf(service.pid!) };
  const peers = new Map<string, Peer>([
    ['warm', own],
    ['unchanged', { ...own, headers: { authorization, 'if-none-match': tag } }],
  ]);
  for (const kind of ['json', 'prebuilt', 'hello', 'framework']) {
    const peer = start('directory-peer.ts', [kind, file], SUBJECT_CORE);
    stack.defer(() => end(peer));
    const { port } = await firstLine<{ port: number }>(peer);
    peers.set(kind, { url: `http://127.0.0.1:${port}/`, headers: {}, cpu: () => cpuOf(peer.pid!) });
  }
  if (size === RECONSTRUCTED)
    for (const [name, peer] of await reconstructed(file, stack)) peers.set(name, peer);
  const once = async (subject: string): Promise<Cost> => {
    const { url: address, headers, cpu } = peers.get(subject)!;
    const before = cpu();
    const load = await run<Load>(
      'load.ts',
      [address, requests(subject, size), JSON.stringify(headers)],
      GENERATOR_CORE,
    );
    const used = cpu() - before;
    const right = subject === 'unchanged' ? '304' : '200';
    const whole = requests(subject, size) === 8_000 || load.bytes / load.requests > body.length * WHOLE;
    if (load.bytes === 0 || !whole || load.statuses.some((status) => status !== right))
      throw new Error(`${subject}: ${JSON.stringify(load)}`);
    return { cpu: used / load.requests, rate: load.requests / load.seconds };
  };
  const subjects = [...peers.keys()];
  // The first requests of a process include compiling.
  for (const subject of subjects) await once(subject);
  return await interleave(subjects, ROUNDS, once);
}
