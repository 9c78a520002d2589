import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { findPostgres } from './postgres-program.ts';
import type { PostgresProgram } from './postgres-program.ts';
import { freePort } from './ports.ts';
import { until } from './until.ts';

export const PASSWORD = 'a secret that no log may hold';
const ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;
/** False in a user namespace of a test, which has only root. */
const HAS_NOBODY = readFileSync('/proc/self/uid_map', 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/).map(Number))
  .some(([first = 0, , count = 0]) => first <= NOBODY && NOBODY < first + count);
/** The server refuses to run as root; the account nobody is on every machine. */
const OWNER = ROOT && HAS_NOBODY ? { uid: NOBODY, gid: NOBODY } : {};
/** Gives root another number where there is no other account. */
const RENAMED = ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`];
const commandOf = (command: readonly string[]): readonly string[] =>
  ROOT && !HAS_NOBODY ? [...RENAMED, ...command] : command;
/** Ends the server and removes its folder when its input ends, also after a kill of the test. */
const KEEPER = `cat >/dev/null; server=$(head -n 1 "$1/data/postmaster.pid") && kill -CONT $server && kill -QUIT $server
while kill -0 $server; do sleep 0.05; done; rm -rf "$1"`;

/** A real server for a test, on a free loopback port, removed with the test. */
export interface TestPostgres extends AsyncDisposable {
  /** Creates an empty database; returns its address with the password. */
  createDatabase(): Promise<string>;
  /** Command of the server's own client. */
  readonly psql: readonly string[];
  /** Runs one statement as the owner of the database at that address. */
  run(url: string, text: string): Promise<Record<string, unknown>[]>;
  /** Stops the server and all its sessions, as on a machine that hangs, until `resume`. */
  freeze(): void;
  resume(): void;
  /** Kills the server. */
  kill(): Promise<void>;
  /** Starts it again on its data. */
  start(): Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-postgres-'));
  const program = await findPostgres(folder);
  const data = path.join(folder, 'data');
  const passwordFile = path.join(folder, 'password');
  await writeFile(passwordFile, PASSWORD);
  if (OWNER.uid !== undefined) {
    // The server's keeper removes this folder.
    const inside = await readdir(folder, { recursive: true });
    for (const it of ['', ...inside]) chownSync(path.join(folder, it), OWNER.uid, OWNER.gid);
  }
  await runToEnd(program, [
    ...program.initdb,
    `--pgdata=${data}`,
    `--pwfile=${passwordFile}`,
    '--username=offhook',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // A database with a language's collation: the service must compare text by its bytes nevertheless.
    '--locale=C',
    '--locale-provider=icu',
    '--icu-locale=en-US',
    '--no-sync',
    '--no-instructions',
  ]);
  const port = await freePort();
  const urlOf = (database: string): string =>
    `postgres://offhook:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
  // Ctrl-C in a terminal reaches a whole process group; the server must outlive it until the test ends.
  const options = { ...OWNER, cwd: folder, env: program.env, detached: true } as const;
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'keeper', folder], {
    ...options,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  let databases = 0;
  const pid = (): number => Number(readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  const all = (): number[] => [pid(), ...childrenOf(pid())];
  const signal = (name: NodeJS.Signals): void => all().forEach((one) => send(one, name));

  async function run(url: string, text: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }
  async function start(): Promise<void> {
    const settings = ['fsync=off', 'shared_buffers=16MB', 'max_connections=60', 'unix_socket_directories='];
    const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', ...settings.flatMap((s) => ['-c', s])];
    const [file = '', ...before] = commandOf(program.postgres);
    const child = spawn(file, [...before, ...args], { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2_000)));
    let last: unknown;
    const answers = (): Promise<boolean> =>
      run(urlOf('postgres'), 'select 1').then(
        () => true,
        (error: unknown) => ((last = error), false),
      );
    await until('PostgreSQL to answer', answers, { every: 50, seen: () => ({ said, last }) });
  }
  async function kill(): Promise<void> {
    const gone = all();
    gone.forEach((one) => send(one, 'SIGKILL'));
    await until('the sessions to be gone', () => !gone.some((one) => send(one, 0)));
  }
  await start();
  return {
    async createDatabase() {
      const name = `site_${++databases}`;
      await run(urlOf('postgres'), `create database ${name}`);
      return urlOf(name);
    },
    psql: program.psql,
    run,
    freeze: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    kill,
    start,
    async [Symbol.asyncDispose]() {
      signal('SIGCONT');
      keeper.stdin.end();
      await once(keeper, 'exit');
    },
  };
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
async function runToEnd(program: PostgresProgram, command: readonly string[]): Promise<void> {
  const [file = '', ...args] = commandOf(command);
  const child = spawn(file, args, { ...OWNER, cwd: '/', env: program.env, stdio: 'pipe' });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`initdb of ${program.from} ended with ${code}: ${said.slice(-2_000)}`);
}
