/** `npm run cluster -- try`: a whole site of several nodes on this machine, from packages without root, to look at. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { systemClock } from '../core/clock.ts';
import { silent } from '../core/log.ts';
import { loadInstance } from '../adapters/asterisk/process/instance-file.ts';
import { endEngine } from '../adapters/asterisk/process/end.ts';
import { findLiving } from '../adapters/asterisk/process/living.ts';
import { SETTINGS } from './settings.ts';
import { makeNatsServer } from './nats-server.ts';
import { NodesError } from './nodes.ts';
import { makePostgresServer } from './postgres-server.ts';

const HOST = '127.0.0.1';
const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const BUILT = path.join(REPOSITORY, 'server/dist/main.js');
const SERVICE = existsSync(BUILT) ? BUILT : path.join(REPOSITORY, 'server/src/programs/main.ts');
const SIP_PROXY = path.join(REPOSITORY, 'server/src/programs/sip-proxy.ts');
const ENGINE_NODES = ['a', 'b'] as const;
const WEB_NODES = ['w1', 'w2', 'w3'] as const;
/** Media ports of each engine node, below the range from which systems give out free ports. */
const MEDIA = { a: '14000-14099', b: '14100-14199' } as const;
/** JetStream stream of its events. */
const STREAM = 'OFFHOOK';
const POLL_MS = 200;
/** The first start on a machine gets all packages. */
const START_MS = 10 * 60_000;
const KEPT_LINES = 30;

/** A program of the site that runs until its disposal. */
class Part implements AsyncDisposable {
  readonly name: string;
  /** Its last lines. */
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #signal: NodeJS.Signals;
  readonly #closed: Promise<unknown>;
  constructor(name: string, child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM') {
    [this.name, this.#child, this.#signal] = [name, child, signal];
    this.#closed = once(child, 'close');
    for (const stream of [child.stdout!, child.stderr!])
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        if (this.lines.length > KEPT_LINES) this.lines.shift();
      });
  }
  get pid(): number {
    return this.#child.pid!;
  }
  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.ended) this.#child.kill(this.#signal);
    await this.#closed;
  }
}
/** Ends the engine of a data folder whose service was killed. */
async function endEngineOf(data: string): Promise<void> {
  const instance = loadInstance(data);
  const living = instance === null ? null : findLiving(instance);
  if (instance === null || living === null) return;
  await endEngine(living, { instance, clock: systemClock, log: silent });
}
/** Polls until `done`; throws `NodesError` with the last lines of `part` once it has ended, or after the limit. */
async function reaches(
  part: Part,
  what: string,
  done: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  for (const began = performance.now(); !(await done().catch(() => false));) {
    const late = performance.now() - began > START_MS;
    if (part.ended || late)
      throw new NodesError(
        `${part.name} ${part.ended ? 'ended' : `took longer than ${START_MS / 1000} s`} before ${what}:\n${part.lines.join('\n')}`,
      );
    await systemClock.sleep(POLL_MS, signal);
  }
}
async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
const answers = async (url: string): Promise<boolean> =>
  (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).status === 200;
/** True for a standby that could lead. */
async function standsBy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  const { status, checks } = (await response.json()) as { status: string; checks: Record<string, string> };
  return status === 'standby' && ['engine', 'configuration', 'copy'].every((name) => checks[name] === 'ok');
}

async function startDatabase(folder: string, progress: (line: string) => void, signal: AbortSignal) {
  const server = await makePostgresServer({
    folder,
    password: randomBytes(18).toString('base64url'),
    port: await freePort(),
    get: false,
    progress,
  });
  const [file = '', ...args] = server.command;
  // Its own group: Ctrl-C in a terminal reaches the whole group of this program, and the nodes need it to the end.
  const child = spawn(file, args, { ...server.process, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const part = new Part('PostgreSQL', child, 'SIGINT');
  const create = async (): Promise<true> => {
    const client = new Client({ connectionString: server.url('postgres'), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('create database site');
      return true;
    } finally {
      await client.end();
    }
  };
  try {
    await reaches(part, 'it answered', create, signal);
  } catch (error) {
    await part[Symbol.asyncDispose]();
    throw error;
  }
  return { part, url: server.url('site') };
}

async function startBus(folder: string, progress: (line: string) => void, signal: AbortSignal) {
  const port = await freePort();
  const cache = SETTINGS.cache.parse(process.env['OFFHOOK_CACHE'] ?? SETTINGS.cache.initial)!;
  const { command, url } = await makeNatsServer({ cache, folder, port, progress });
  const [file = '', ...args] = command;
  const child = spawn(file, args, { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const part = new Part('NATS', child);
  const listens = (): Promise<boolean> =>
    Promise.resolve(part.lines.some((line) => line.includes('Server is ready')));
  try {
    await reaches(part, 'it was ready', listens, signal);
  } catch (error) {
    await part[Symbol.asyncDispose]();
    throw error;
  }
  return { part, url };
}

export interface TryOptions {
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}
/** Resolves once `signal` was aborted and everything has ended and is removed. Throws `NodesError`. */
export async function tryCluster({ signal, print }: TryOptions): Promise<void> {
  const began = performance.now();
  await using stack = new AsyncDisposableStack();
  const newFolder = async (): Promise<string> => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-try-'));
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    return folder;
  };
  // Started by root, PostgreSQL runs under another account, which may not enter the folder of the nodes.
  const [folder, databaseFolder, busFolder] = [await newFolder(), await newFolder(), await newFolder()];
  print('Starting PostgreSQL …');
  const { part, url } = await startDatabase(databaseFolder, print, signal);
  stack.use(part);
  print('Starting NATS …');
  const bus = await startBus(busFolder, print, signal);
  stack.use(bus.part);
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('OFFHOOK_') || name === 'OFFHOOK_CACHE' || name === 'OFFHOOK_ASTERISK',
  );
  const run = (name: string, program: string, env: Readonly<Record<string, string>>): Part =>
    stack.use(
      new Part(
        name,
        spawn(process.execPath, [program], {
          cwd: REPOSITORY,
          env: { ...Object.fromEntries(inherited), OFFHOOK_DATA: path.join(folder, name), ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
          detached: true,
        }),
      ),
    );
  const address = async (): Promise<string> => `${HOST}:${await freePort()}`;
  const [proxySip, proxyMetrics] = [await address(), await address()];
  const node = (name: string, listen: string, env: Readonly<Record<string, string>>): Part =>
    run(name, SERVICE, {
      OFFHOOK_NODE: name,
      OFFHOOK_DATABASE_URL: url,
      OFFHOOK_SITE_STORE: 'postgres',
      OFFHOOK_NATS: bus.url,
      OFFHOOK_NATS_STREAM: STREAM,
      OFFHOOK_LISTEN: listen,
      ...env,
    });
  const engineNode = async (name: (typeof ENGINE_NODES)[number]) => {
    const [listen, sip] = [await address(), await address()];
    const settings = { OFFHOOK_SIP_LISTEN: sip, OFFHOOK_RTP_PORTS: MEDIA[name], OFFHOOK_SIP_PROXY: proxySip };
    stack.defer(() => endEngineOf(path.join(folder, name)));
    return { name, sip, url: `http://${listen}`, part: node(name, listen, settings) };
  };
  print('Starting engine node a, which makes the site …');
  const a = await engineNode('a');
  await reaches(a.part, 'it led the site', () => answers(a.url), signal);
  print('Starting engine node b, three web nodes and the SIP proxy …');
  const b = await engineNode('b');
  const nodes = [a, b];
  const proxy = run('SIP proxy', SIP_PROXY, {
    OFFHOOK_SIP_LISTEN: proxySip,
    OFFHOOK_METRICS_LISTEN: proxyMetrics,
    OFFHOOK_SIP_PROXY_NODES: nodes.map((one) => `${one.sip}=${one.url}`).join(','),
  });
  const web = [];
  for (const name of WEB_NODES) {
    const listen = await address();
    web.push({ name, url: `http://${listen}`, part: node(name, listen, { OFFHOOK_NODE_ROLE: 'web' }) });
  }
  await Promise.all([
    reaches(b.part, 'it stood by', () => standsBy(b.url), signal),
    reaches(proxy, 'it was ready', () => answers(`http://${proxyMetrics}`), signal),
    ...web.map((one) => reaches(one.part, 'it was ready', () => answers(one.url), signal)),
  ]);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  for (const line of [
    `A site of two engine nodes, three web nodes, PostgreSQL, NATS and a SIP proxy, ready after ${seconds} s:`,
    ...web.map((one) => `  web node ${one.name}     ${one.url}`),
    ...nodes.map(
      (one) => `  engine node ${one.name}   ${one.url}, SIP at ${one.sip}, process ${one.part.pid}`,
    ),
    `  desk phones     ${proxySip} (UDP and TCP)`,
    `  NATS            ${bus.url}, process ${bus.part.pid}, stream ${STREAM}`,
    `  passwords       ${path.join(folder, 'a', 'credentials.json')}`,
    '  nodes           System health of the console at a web node, or:',
    `    OFFHOOK_DATABASE_URL='${url}' npm run cluster -- status`,
    `    OFFHOOK_DATABASE_URL='${url}' npm run cluster -- switch b`,
    'Ctrl-C ends all of it and removes its data.',
  ])
    print(line);
  if (!signal.aborted) await once(signal, 'abort');
  print('Ending all of it …');
}
