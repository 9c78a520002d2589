import { readdir } from 'node:fs/promises';
import path from 'node:path';

/** Programs of one PostgreSQL release. */
export interface PostgresProgram {
  /** Where it comes from, for people. */
  readonly from: string;
  readonly env: NodeJS.ProcessEnv;
  command(name: string): readonly string[];
}
/** The first release whose clusters may sort by ICU. */
const OLDEST = 15;

/** The newest server on this machine. */
export async function findPostgres(): Promise<PostgresProgram> {
  const releases = await readdir('/usr/lib/postgresql').catch(() => []);
  const [newest] = releases
    .map(Number)
    .filter((release) => release >= OLDEST)
    .sort((a, b) => b - a);
  if (newest === undefined) throw new Error(`no PostgreSQL ${OLDEST} or later is in /usr/lib/postgresql`);
  const folder = `/usr/lib/postgresql/${newest}/bin`;
  return {
    from: folder,
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    command: (name) => [path.join(folder, name)],
  };
}
