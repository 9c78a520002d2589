/** The real service with a real engine on its own ports and folders, started as `npm start` does. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadInstance } from '../server/src/adapters/asterisk/process/instance-file.ts';
import { findLiving } from '../server/src/adapters/asterisk/process/living.ts';
import type { Instance } from '../server/src/adapters/asterisk/conf/instance.ts';
import { freePort, freeRange } from '../server/test/support/ports.ts';
import {
  ALL_CORES,
  GENERATOR_CORE,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  end,
  atExit,
  moveTo,
  onCore,
  temporaryFolder,
} from './lib.ts';
import { fillSite } from './site-data.ts';
import type { SiteSize } from './site-data.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const MEDIA_PORTS = 60;

export interface Exchange extends AsyncDisposable {
  readonly base: string;
  readonly data: string;
  /** Process id of the running service. */
  readonly pid: number;
  readonly instance: Instance;
  /** Milliseconds from the last start of the process until `/readyz` succeeded. */
  readonly readyMs: number;
  /** Ends the service; its engine keeps running with `SIGUSR2` and ends with `SIGINT`. */
  stop(signal: 'SIGINT' | 'SIGUSR2'): Promise<void>;
  start(): Promise<void>;
}
export interface MoreOfSite {
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
  /** Changes the data folder before the first start. */
  readonly prepare?: (data: string) => Promise<void>;
}
/** Without `size` the site is the demo company. `spread` leaves the processes to the system's scheduler. */
export async function startExchange(
  size?: SiteSize,
  spread = false,
  { env: more = {}, prepare }: MoreOfSite = {},
): Promise<Exchange> {
  execFileSync(process.execPath, [path.join(ROOT, 'scripts/build-service.ts')], { stdio: 'inherit' });
  const folder = temporaryFolder();
  const data = folder.path;
  if (size !== undefined) await fillSite(data, size);
  await prepare?.(data);
  const [http, sip, rtp] = [await freePort(), await freePort(), await freeRange(MEDIA_PORTS)];
  const own = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('OFFHOOK_') || name === 'OFFHOOK_CACHE' || name === 'OFFHOOK_ASTERISK',
  );
  const env = {
    // As in scripts/start.mjs.
    NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/node'),
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '1048576',
    ...Object.fromEntries(own),
    OFFHOOK_DATA: data,
    OFFHOOK_LISTEN: `127.0.0.1:${http}`,
    OFFHOOK_SIP_LISTEN: `127.0.0.1:${sip}`,
    OFFHOOK_RTP_PORTS: `${rtp}-${rtp + MEDIA_PORTS - 1}`,
    OFFHOOK_SITE_ZONE: 'UTC',
    ...more,
  };
  const base = `http://127.0.0.1:${http}`;
  let child: ChildProcess | undefined;
  let readyMs = 0;
  const engine = () => {
    const instance = loadInstance(data);
    return instance === null ? null : findLiving(instance);
  };
  /** Process id of the TURN server, which keeps running without the service, as the engine does. */
  function turnPid(): number | null {
    try {
      const { pid } = JSON.parse(readFileSync(path.join(data, 'engine/turn.json'), 'utf8')) as {
        pid: number;
      };
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(data) ? pid : null;
    } catch {
      return null;
    }
  }
  async function start(): Promise<void> {
    const command = [process.execPath, ...SERVICE_FLAGS, path.join(ROOT, 'server/dist/main.js')];
    // An engine inherits the cores of the service that starts it, and a large one needs all of them to boot.
    const free = spread || engine() === null;
    const [program = '', ...args] = free ? onCore(ALL_CORES, command) : onCore(SUBJECT_CORE, command);
    const began = performance.now();
    const started = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] });
    child = started;
    for (const until = began + 240_000; ;) {
      if (started.exitCode !== null) throw new Error(`the service ended with ${started.exitCode}`);
      if (performance.now() > until) throw new Error('the service was not ready within 240 s');
      const ok = await fetch(`${base}/readyz`).then(
        async (reply) => (await reply.arrayBuffer(), reply.ok),
        () => false,
      );
      if (ok) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    readyMs = performance.now() - began;
    const living = engine();
    if (spread) return;
    moveTo(SUBJECT_CORE, started.pid!);
    if (living !== null) moveTo(GENERATOR_CORE, living.pid);
  }
  const kill = (): void => {
    child?.kill('SIGKILL');
    const living = engine();
    if (living !== null) process.kill(living.pid, 'SIGKILL');
    const relay = turnPid();
    if (relay !== null) process.kill(relay, 'SIGKILL');
  };
  const forget = atExit(kill);
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (child !== undefined) await end(child, signal);
  };
  const exchange: Exchange = {
    base,
    data,
    get pid() {
      return child?.pid ?? 0;
    },
    get instance() {
      const instance = loadInstance(data);
      if (instance === null) throw new Error('there is no engine instance');
      return instance;
    },
    get readyMs() {
      return readyMs;
    },
    stop,
    start,
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL');
      kill();
      while (engine() !== null) await new Promise((resolve) => setTimeout(resolve, 20));
      forget();
      folder[Symbol.dispose]();
    },
  };
  try {
    await start();
  } catch (error) {
    await exchange[Symbol.asyncDispose]();
    throw error;
  }
  return exchange;
}
