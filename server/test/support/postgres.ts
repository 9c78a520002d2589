import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { makePostgresServer } from '../../src/boot/postgres-server.ts';
import { freePort } from './ports.ts';
import { PATIENCE_MS, until } from './until.ts';

export const PASSWORD = 'a secret that no log may hold';
/** Ends the server and removes its folder when its input ends, also after a kill of the test. */
const KEEPER = `cat >/dev/null; server=$(head -n 1 "$1/data/postmaster.pid") && kill -CONT $server && kill -QUIT $server
while kill -0 $server; do sleep 0.05; done; rm -rf "$1"`;

/** A real server for a test, on a free loopback port, removed with the test. */
export interface TestPostgres extends AsyncDisposable {
  /** Creates an empty database; returns its address with the password. */
  createDatabase(): Promise<string>;
  /** Command of the server's own client. */
  readonly psql: readonly string[];
  /** Process ids of the server and its sessions. */
  pids(): readonly number[];
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

/** `durable`: its commits wait for the disk. */
export async function startPostgres({ durable = false } = {}): Promise<TestPostgres> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-postgres-'));
  const server = await makePostgresServer({
    folder,
    password: PASSWORD,
    durable,
    port: await freePort(),
    get: process.env['TEST_POSTGRES'] === 'get',
    progress: (line) => console.error(`PostgreSQL for tests: ${line}`),
  });
  const { data, url: urlOf } = server;
  // Ctrl-C in a terminal reaches a whole process group; the server must outlive it until the test ends.
  const options = { ...server.process, detached: true } as const;
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'keeper', folder], {
    ...options,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  let databases = 0;
  const pid = (): number => Number(readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  const all = (): number[] => [pid(), ...childrenOf(pid())];
  const signal = (name: NodeJS.Signals): void => all().forEach((one) => send(one, name));

  async function run(url: string, text: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: PATIENCE_MS });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }
  async function start(): Promise<void> {
    const [file = '', ...args] = server.command;
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
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
      // By files instead of by the log: a third of the processor time.
      await run(urlOf('postgres'), `create database ${name} strategy file_copy`);
      return urlOf(name);
    },
    psql: server.psql,
    pids: all,
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
