/** A whole site for scenarios: the real service as a child process with a real engine, on its own ports and folders. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { consoleFile } from '../../src/adapters/asterisk/process/console-log.ts';
import { createInstance, loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { findLiving } from '../../src/adapters/asterisk/process/living.ts';
import { endAbandonedSites, siteFolderPrefix } from './abandoned.ts';
import { signIn } from './api.ts';
import type { Person } from './api.ts';
import { engineConsole } from './engine-console.ts';
import { registerPhone } from './phone.ts';
import type { Phone } from './phone.ts';
import { readDatabase } from './journal.ts';
import { enginePorts, freePort, freeRange } from './ports.ts';
import { sitePlace } from './site-store.ts';
import type { SitePlace } from './site-store.ts';
import { REPOSITORY } from './sources.ts';
import { GiveUp, PATIENCE_MS, until } from './until.ts';

const Credential = z.object({
  extension: z.string(),
  username: z.string(),
  full_name: z.string(),
  level: z.string(),
  /** Empty after it was changed. */
  password: z.string().default(''),
  sip_password: z.string(),
});
export type Credential = z.infer<typeof Credential>;

export interface SiteOptions {
  /** Address of HTTP and SIP; 127.0.0.1 by default. */
  readonly host?: string;
  /** Settings in addition to those of the site. */
  readonly env?: Readonly<Record<string, string>>;
  /** Only an administrator instead of the demo company. */
  readonly empty?: boolean;
  /** Fills the data folder before the first start, e.g. with another company. */
  readonly prepare?: (dataDir: string, sip: Site['sip']) => Promise<void>;
  /** Condition for a finished start: `ready` waits for the engine, too, `answers` only for HTTP. */
  readonly wait?: 'ready' | 'answers';
  /** Another program than the service's own, for faults of tests. */
  readonly main?: string;
  /** Limit of the start; the first one on a machine gets the engine's packages. */
  readonly ms?: number;
}
export interface Site extends AsyncDisposable {
  readonly base: string;
  readonly wsUrl: string;
  readonly sip: { readonly host: string; readonly port: number };
  readonly dataDir: string;
  /** Where its tables and events are. */
  readonly place: Omit<SitePlace, 'settle' | keyof AsyncDisposable>;
  credentials(): Promise<Credential[]>;
  /** Signs in once and keeps the session for later calls. */
  person(extension: string): Promise<Person>;
  /** A desk phone registered as this extension, which the service has heard of if it runs. */
  phone(extension: string): Promise<Phone>;
  /** Reply of the site's Asterisk console. */
  readonly engineCli: (text: string) => Promise<string>;
  enginePid(): number | null;
  /** Sends a signal and waits for the end of the service; the engine keeps running unless the service ends it. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends the service as Ctrl-C does. */
  stop(): Promise<void>;
  /** Starts the service again on the same data and ports; `settings` are added from now on, empty ones are taken out. */
  start(wait?: 'ready' | 'answers', settings?: Readonly<Record<string, string>>): Promise<void>;
  ready(ms?: number): Promise<void>;
  readonly pid: number | null;
  /** Exit code of the service; null while it runs, or after a signal. */
  readonly exitCode: number | null;
  /** The last lines of service and engine, for failures. */
  tail(lines?: number): string;
}

const MAIN = path.join(REPOSITORY, 'server/src/programs/main.ts');
/** Folder of programs built as one file each, in a complete test run (scripts/build-service.ts). */
const BUILT = process.env['TEST_PROGRAMS'];
/** The built program of this source where there is one, else the source. */
function programOf(source: string): string {
  const built = path.join(BUILT ?? '', `${path.basename(source, '.ts')}.js`);
  return BUILT !== undefined && existsSync(built) ? built : source;
}
const KEPT_LINES = 400;
const MEDIA_PORTS = 120;

function endProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Registers a desk phone. The engine answers a registration before it reports the device, and until then the service refuses
 * calls of the extension; so this waits for the report, unless the service does not run.
 */
export async function registerAt(site: Site, extension: string, password: string): Promise<Phone> {
  await using opening = new AsyncDisposableStack();
  const phone = opening.use(await registerPhone({ server: site.sip, extension, password }));
  let seen: unknown;
  await until(
    `the service to know the device of ${extension}`,
    () => site.pid === null || (seen = reachabilityOf(site, extension)) === 'online',
    { seen: () => ({ seen, tail: site.tail() }) },
  );
  opening.move();
  return phone;
}
/** As last published; undefined before. */
function reachabilityOf(site: Site, extension: string): string | undefined {
  using journal = readDatabase(path.join(site.dataDir, 'journal.db'));
  const row = journal
    .prepare('select json from journal where subject = ? order by seq desc limit 1')
    .get(`presence/${extension}`);
  return row && Published.parse(JSON.parse(String(row['json']))).data.reachability;
}
const Published = z.object({ data: z.object({ reachability: z.string() }) });

/** Starts a site; disposal ends all its processes, the detached engine too, and removes its folders. */
export async function startSite(options: SiteOptions = {}): Promise<Site> {
  await endAbandonedSites();
  const { host = '127.0.0.1' } = options;
  const dataDir = await mkdtemp(siteFolderPrefix());
  const place = await sitePlace(dataDir, options.env ?? {});
  const [http, sipPort, rtp] = [await freePort(), await freePort(), await freeRange(MEDIA_PORTS)];
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('OFFHOOK_') || name === 'OFFHOOK_CACHE' || name === 'OFFHOOK_ASTERISK',
  );
  let env: Readonly<Record<string, string | undefined>> = {
    ...Object.fromEntries(inherited),
    OFFHOOK_DATA: dataDir,
    OFFHOOK_LISTEN: `${host}:${http}`,
    OFFHOOK_SIP_LISTEN: `${host}:${sipPort}`,
    OFFHOOK_RTP_PORTS: `${rtp}-${rtp + MEDIA_PORTS - 1}`,
    OFFHOOK_SITE_ZONE: 'UTC',
    ...place.env,
    ...options.env,
  };
  const base = `http://${host}:${http}`;
  const lines: string[] = [];
  const people = new Map<string, Person>();
  let child: ChildProcess | undefined;
  /** Ended, with everything it wrote read: a process may exit before its last lines have arrived here. */
  let closed = true;

  const note = (stream: Readable): void => {
    createInterface({ input: stream }).on('line', (line) => {
      if (line === '') return;
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
    });
  };
  const engineTail = (): string[] => {
    try {
      const instance = loadInstance(dataDir);
      const log = instance ? readFileSync(consoleFile(instance), 'utf8') : '';
      return log.split('\n').filter((line) => /\b(WARNING|ERROR)\b/.test(line));
    } catch {
      return [];
    }
  };
  /** What the service logged last, for a site that does not come up. */
  const logTail = (): string => {
    try {
      const log = readFileSync(path.join(dataDir, 'logs', 'offhook.log'), 'utf8');
      return log.trimEnd().split('\n').slice(-15).join('\n');
    } catch {
      return 'no log';
    }
  };
  // Without the banner's list of people and passwords.
  const tail = (count = 20): string =>
    [...lines.filter((line) => !line.startsWith('    ')).slice(-count), ...engineTail().slice(-count)].join(
      '\n',
    );
  const engine = () => {
    const instance = loadInstance(dataDir);
    const living = instance && findLiving(instance);
    return living ? { instance, living } : null;
  };

  async function waitFor(what: 'ready' | 'answers', ms: number): Promise<void> {
    const url = `${base}/${what === 'ready' ? 'readyz' : 'healthz'}`;
    let answer = 'none yet';
    try {
      await until(
        `${url} answers 200`,
        async () => {
          if (closed) throw new GiveUp('the service ended');
          const response = await fetch(url, { signal: AbortSignal.timeout(3000) });
          answer = `${response.status} ${await response.text()}`;
          return response.ok;
        },
        // An engine starts for seconds, and each request costs the service and the test 3 ms of a processor together.
        { ms, every: what === 'ready' ? 200 : 50, seen: () => ({ answer }) },
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${tail()}\nits log ends with\n${logTail()}`, {
        cause: error,
      });
    }
  }
  async function launch(wait: 'ready' | 'answers'): Promise<void> {
    const started = spawn(
      process.execPath,
      [programOf(options.main ?? MAIN), ...(options.empty ? ['--empty'] : [])],
      {
        cwd: REPOSITORY,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    child = started;
    closed = false;
    started.once('close', () => (closed = true));
    note(started.stdout);
    note(started.stderr);
    await waitFor(wait, options.ms ?? 240_000);
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!child || closed) return;
    child.kill(signal);
    await until('the end of the service', () => closed, { every: 5 }).catch((error: Error) => {
      throw new Error(`${error.message}\n${tail()}`);
    });
  }
  const credentials = async (): Promise<Credential[]> =>
    z.array(Credential).parse(JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8')));

  const site: Site = {
    base,
    wsUrl: `ws://${host}:${http}/ws`,
    sip: { host, port: sipPort },
    dataDir,
    place,
    credentials,
    async person(extension) {
      const known = people.get(extension);
      if (known) return known;
      const found = (await credentials()).find((c) => c.extension === extension);
      if (!found) throw new Error(`credentials.json has nobody at ${extension}`);
      const person = await signIn(base, extension, found.password);
      people.set(extension, person);
      return person;
    },
    async phone(extension) {
      const found = (await credentials()).find((c) => c.extension === extension);
      if (!found) throw new Error(`credentials.json has nobody at ${extension}`);
      return registerAt(site, extension, found.sip_password);
    },
    async engineCli(text) {
      const found = engine();
      if (!found) throw new Error(`no engine runs to be asked ${text}\n${tail()}`);
      return engineConsole(found.living, found.instance, text);
    },
    enginePid: () => engine()?.living.pid ?? null,
    kill: end,
    stop: () => end('SIGINT'),
    start(wait = 'ready', settings = {}) {
      env = Object.fromEntries(Object.entries({ ...env, ...settings }).filter(([, value]) => value !== ''));
      return launch(wait);
    },
    ready: (ms = PATIENCE_MS) => waitFor('ready', ms),
    get pid() {
      return closed ? null : (child?.pid ?? null);
    },
    get exitCode() {
      return closed ? (child?.exitCode ?? null) : null;
    },
    tail,
    async [Symbol.asyncDispose]() {
      await end('SIGKILL');
      const pid = site.enginePid();
      if (pid !== null) {
        // A stopped process handles only SIGKILL.
        endProcess(pid, 'SIGKILL');
        await until('the end of the engine', () => site.enginePid() === null);
      }
      const turn = await readFile(path.join(dataDir, 'engine', 'turn.json'), 'utf8').catch(() => null);
      if (turn !== null) endProcess((JSON.parse(turn) as { pid: number }).pid, 'SIGKILL');
      await place[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    await options.prepare?.(dataDir, site.sip);
    const { OFFHOOK_NODE: node, OFFHOOK_NODE_ROLE: role } = env;
    if (role !== 'web')
      await createInstance(dataDir, { ports: await enginePorts(), ...(node === undefined ? {} : { node }) });
    await place.settle();
    await launch(options.wait ?? 'ready');
  } catch (error) {
    await site[Symbol.asyncDispose]();
    throw error;
  }
  return site;
}
