/** A PostgreSQL server of this machine or of Debian's packages, without root or installation: for tests and `cluster -- try`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { obtainPackages } from '../adapters/asterisk/provision/packages.ts';

/** Programs of one PostgreSQL release. */
interface Programs {
  /** Origin, for people. */
  readonly from: string;
  readonly env: NodeJS.ProcessEnv;
  readonly initdb: readonly string[];
  readonly postgres: readonly string[];
  readonly psql: readonly string[];
}
export interface PostgresServerOptions {
  /** Empty folder for its data. */
  readonly folder: string;
  readonly password: string;
  /** Loopback port. */
  readonly port: number;
  /** True to use Debian's packages even if this machine has a server. */
  readonly get: boolean;
  /** True where a commit waits for the disk, as on a site; tests do without. */
  readonly durable?: boolean;
  /** Receives a line for each step of getting the packages. */
  readonly progress: (line: string) => void;
}
/** A server whose data was made; `command` runs it with `process`. */
export interface PostgresServer {
  readonly data: string;
  readonly command: readonly string[];
  /** Account, folder and environment of its process. */
  readonly process: {
    readonly uid?: number;
    readonly gid?: number;
    readonly cwd: string;
    readonly env: NodeJS.ProcessEnv;
  };
  /** Command of its own client. */
  readonly psql: readonly string[];
  /** Address of a database, with the password. */
  readonly url: (database: string) => string;
}

/** The first release with ICU collations for clusters. */
const OLDEST = 15;
/** The release in Debian's `forky`, from which the engine is got, too. */
const GOT = 18;
const MACHINE = '/usr/lib/postgresql';
const USER = 'offhook';
const ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;
/** False in a user namespace that has only root. */
const hasNobody = (): boolean =>
  readFileSync('/proc/self/uid_map', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .some(([first = 0, , count = 0]) => first <= NOBODY && NOBODY < first + count);
/** Maps root to another user id where there is no other account, because the server refuses to run as root. */
const RENAMED = ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`];
const env = { PATH: process.env['PATH'], LC_ALL: 'C' };

/** Finds or gets the programs and makes the data. Throws if neither works. */
export async function makePostgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  const { durable = false, folder, password, port } = options;
  const programs = await findPrograms(options);
  const data = path.join(folder, 'data');
  const passwordFile = path.join(folder, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  // The server refuses to run as root; the account nobody is on every machine.
  const other = ROOT && hasNobody();
  const owner = other ? { uid: NOBODY, gid: NOBODY } : {};
  const inside = other ? ['', ...(await readdir(folder, { recursive: true }))] : [];
  for (const it of inside) chownSync(path.join(folder, it), NOBODY, NOBODY);
  const asOwner = (command: readonly string[]): readonly string[] =>
    ROOT && !other ? [...RENAMED, ...command] : command;
  const [file = '', ...args] = asOwner([
    ...programs.initdb,
    `--pgdata=${data}`,
    `--pwfile=${passwordFile}`,
    `--username=${USER}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The collation of a language shows whether the service compares text by bytes in every database.
    '--locale=C',
    '--locale-provider=icu',
    '--icu-locale=en-US',
    '--no-sync',
    '--no-instructions',
  ]);
  await runToEnd(file, args, { ...owner, cwd: '/', env: programs.env }, programs.from);
  const settings = [
    `fsync=${durable ? 'on' : 'off'}`,
    'shared_buffers=16MB',
    'max_connections=100',
    'unix_socket_directories=',
  ];
  return {
    data,
    command: asOwner([
      ...programs.postgres,
      '-D',
      data,
      '-p',
      String(port),
      '-h',
      '127.0.0.1',
      ...settings.flatMap((one) => ['-c', one]),
    ]),
    process: { ...owner, cwd: folder, env: programs.env },
    psql: programs.psql,
    url: (database) => `postgres://${USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
  };
}

/** The newest server on this machine, else Debian's packages, got like the engine. */
async function findPrograms(options: PostgresServerOptions): Promise<Programs> {
  const releases = options.get ? [] : await readdir(MACHINE).catch(() => []);
  const [newest] = releases
    .map(Number)
    .filter((release) => release >= OLDEST)
    .sort((a, b) => b - a);
  if (newest === undefined) return await getPrograms(options);
  const from = path.join(MACHINE, String(newest), 'bin');
  const command = (name: string): readonly string[] => [path.join(from, name)];
  return { from, env, initdb: command('initdb'), postgres: command('postgres'), psql: command('psql') };
}
/** Root's home is closed to the server's account. */
const cacheFolder = (): string =>
  ROOT
    ? '/var/cache/offhook'
    : (process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook'));

async function getPrograms({ folder, progress }: PostgresServerOptions): Promise<Programs> {
  const tree = await obtainPackages({ cache: cacheFolder(), packages: [`postgresql-${GOT}`], progress });
  if (ROOT) for (const open of [tree.root, path.dirname(tree.root), cacheFolder()]) await chmod(open, 0o755);
  const programs = path.join('usr', 'lib', 'postgresql', String(GOT), 'bin');
  const postgres = tree.command(path.join(programs, 'postgres'));
  // initdb runs the `postgres` beside it, which must also go through the packages' loader.
  const beside = path.join(folder, 'programs');
  await mkdir(beside);
  const initdb = path.join(beside, 'initdb');
  await copyFile(path.join(tree.root, programs, 'initdb'), initdb);
  const script = path.join(beside, 'postgres');
  await writeFile(script, '#!/bin/sh\nexec "$PG_LOADER" --library-path "$PG_LIBRARIES" "$PG_SERVER" "$@"\n');
  for (const file of [beside, initdb, script]) await chmod(file, 0o755);
  const share = path.join(tree.root, 'usr', 'share', 'postgresql', String(GOT));
  const [loader, , libraries, server] = postgres;
  return {
    from: tree.root,
    env: { ...env, PG_LOADER: loader, PG_LIBRARIES: libraries, PG_SERVER: server },
    initdb: [...postgres.slice(0, -1), initdb, '-L', share],
    postgres,
    psql: tree.command(path.join(programs, 'psql')),
  };
}
async function runToEnd(
  file: string,
  args: readonly string[],
  options: PostgresServer['process'],
  from: string,
): Promise<void> {
  const child = spawn(file, args, { ...options, stdio: 'pipe' });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`initdb of ${from} ended with ${code}: ${said.slice(-2_000)}`);
}
