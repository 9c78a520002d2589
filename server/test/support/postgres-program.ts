import { chmod, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { obtainPackages } from '../../src/adapters/asterisk/provision/packages.ts';

/** Programs of one PostgreSQL release. */
export interface PostgresProgram {
  /** Origin, for people. */
  readonly from: string;
  readonly env: NodeJS.ProcessEnv;
  readonly initdb: readonly string[];
  readonly postgres: readonly string[];
  readonly psql: readonly string[];
}
/** The first release with ICU collations for clusters. */
const OLDEST = 15;
/** The release in Debian's `forky`, from which the engine is got, too. */
const GOT = 18;
const MACHINE = '/usr/lib/postgresql';
const env = { PATH: process.env['PATH'], LC_ALL: 'C' };

/**
 * The newest server on this machine; without one (or if TEST_POSTGRES is `get`) Debian's packages, got like the engine
 * without root or installation. `folder` is for files of this. Throws if neither works, so that tests fail.
 */
export async function findPostgres(folder: string): Promise<PostgresProgram> {
  const releases = process.env['TEST_POSTGRES'] === 'get' ? [] : await readdir(MACHINE).catch(() => []);
  const [newest] = releases
    .map(Number)
    .filter((release) => release >= OLDEST)
    .sort((a, b) => b - a);
  if (newest === undefined) return await getPostgres(folder);
  const from = path.join(MACHINE, String(newest), 'bin');
  const command = (name: string): readonly string[] => [path.join(from, name)];
  return { from, env, initdb: command('initdb'), postgres: command('postgres'), psql: command('psql') };
}

const ROOT = process.getuid?.() === 0;
/** Root's home is closed to the server's account. */
const cacheFolder = (): string =>
  ROOT
    ? '/var/cache/offhook'
    : (process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook'));

async function getPostgres(folder: string): Promise<PostgresProgram> {
  const tree = await obtainPackages({
    cache: cacheFolder(),
    packages: [`postgresql-${GOT}`],
    progress: (line) => console.error(`PostgreSQL for tests: ${line}`),
  });
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
