/** The SIP proxy of a test: the real program with a real Kamailio, on its own port and folder. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { signalTo } from '../../src/adapters/asterisk/process/end.ts';
import { strayOf } from '../../src/adapters/asterisk/process/living.ts';
import { chooseRunDir } from '../../src/adapters/asterisk/process/run-dir.ts';
import { siteFolderPrefix } from './abandoned.ts';
import { freePort } from './ports.ts';
import type { Site } from './site.ts';
import { REPOSITORY } from './sources.ts';
import { until } from './until.ts';

const MAIN = path.join(REPOSITORY, 'server/src/programs/sip-proxy.ts');
const HOST = '127.0.0.1';

export interface TestSipProxy extends AsyncDisposable {
  readonly sip: { readonly host: string; readonly port: number };
  readonly metrics: string;
  /** Process of Kamailio itself. */
  readonly pid: number;
  readonly lines: readonly string[];
  /** Kamailio's answer to a command of its control socket. */
  command(...words: string[]): Promise<string>;
  /** Resolves once it answers and knows the node that leads. */
  ready(): Promise<void>;
  /** Starts the program, again after `kill`. */
  start(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Kills the program and all processes of Kamailio, as the end of their machine does. */
  die(): Promise<void>;
}
/** Starts nothing before `start`, so that nodes can be told its address first. */
export async function sipProxyFor(
  nodes: () => readonly Pick<Site, 'sip' | 'base'>[],
  settings: Readonly<Record<string, string>> = {},
): Promise<TestSipProxy> {
  const data = await mkdtemp(siteFolderPrefix());
  const sip = { host: HOST, port: await freePort() };
  const metricsPort = await freePort();
  const metrics = `http://${HOST}:${metricsPort}`;
  const lines: string[] = [];
  let child: ChildProcess | null = null;
  const killKamailio = (): void => {
    const marks = ['-f', path.join(data, 'sip-proxy', 'kamailio.cfg')];
    for (const one of strayOf({ note: '', pidFile: '', marks })) signalTo(one, 'SIGKILL');
  };
  const proxy: TestSipProxy = {
    sip,
    metrics,
    lines,
    get pid() {
      const note = readFileSync(path.join(data, 'sip-proxy', 'process.json'), 'utf8');
      return (JSON.parse(note) as { pid: number }).pid;
    },
    async command(...words) {
      // Kamailio's own command line, which ends at its program: kamcmd is beside it.
      const line = readFileSync(`/proc/${proxy.pid}/cmdline`, 'utf8').split('\0');
      const at = line.findIndex((one) => one.endsWith('/kamailio'));
      const [program, ...args] = [...line.slice(0, at), line[at]!.replace(/kamailio$/, 'kamcmd')];
      const socket = `unix:${path.join(chooseRunDir(data), 'ctl')}`;
      return (await promisify(execFile)(program, [...args, '-s', socket, ...words])).stdout;
    },
    async ready() {
      let last = 'none yet';
      await until(
        'the SIP proxy to be ready',
        async () => {
          const response = await fetch(`${metrics}/readyz`).catch(() => null);
          last = (await response?.text()) ?? 'none';
          return response?.status === 200;
        },
        { ms: 120_000, every: 50, seen: () => ({ last, lines: lines.slice(-10) }) },
      );
    },
    async start() {
      const started = spawn(process.execPath, [MAIN], {
        cwd: REPOSITORY,
        env: {
          ...process.env,
          OFFHOOK_DATA: data,
          OFFHOOK_SIP_LISTEN: `${sip.host}:${sip.port}`,
          OFFHOOK_METRICS_LISTEN: `${HOST}:${metricsPort}`,
          OFFHOOK_SIP_PROXY_NODES: nodes()
            .map((node) => `${node.sip.host}:${node.sip.port}=${node.base}`)
            .join(','),
          ...settings,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [started.stdout, started.stderr])
        stream.on('data', (chunk: Buffer) => void lines.push(...chunk.toString().split('\n')));
      child = started;
      await proxy.ready();
    },
    async kill(signal) {
      const ended = child === null || child.exitCode !== null ? null : once(child, 'exit');
      child?.kill(signal);
      await ended;
      child = null;
    },
    async die() {
      await proxy.kill('SIGKILL');
      killKamailio();
    },
    async [Symbol.asyncDispose]() {
      await proxy.kill('SIGTERM');
      // A test that failed after it killed the program leaves Kamailio to the next one, which never comes.
      killKamailio();
      await rm(data, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return proxy;
}
