/** Place of the tables and events of a test site: its data folder, or PostgreSQL in a run with TEST_SITE_STORE=postgres. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Store } from '../../src/ports/store.ts';
import { readDatabase } from './journal.ts';

// The stores load 300 modules, and PostgreSQL's part 60 more: few of the tests with a site need them.
const openFile = async (file: string): Promise<Store> =>
  (await import('../../src/adapters/sqlite/store.ts')).openSqliteStore(file);

/** True where test sites are in PostgreSQL, except those whose settings name a store of their own. */
export const OVER_POSTGRES = process.env['TEST_SITE_STORE'] === 'postgres';

export interface SitePlace extends AsyncDisposable {
  /** Settings of the service and of the programs that open the site. */
  readonly env: Readonly<Record<string, string>>;
  /** Moves a site that was prepared in files of the data folder to its place. */
  settle(): Promise<void>;
  /** The tables of a stopped service. The caller closes it. */
  open(): Promise<Store>;
  /** Rows of one query, also beside a running service. */
  rows(query: string): Promise<Record<string, unknown>[]>;
}

export async function sitePlace(
  dataDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<SitePlace> {
  const file = path.join(dataDir, 'offhook.db');
  const chosen = 'OFFHOOK_DATABASE_URL' in settings || 'OFFHOOK_SITE_STORE' in settings;
  if (!OVER_POSTGRES || chosen)
    return {
      env: {},
      async settle() {},
      open: () => openFile(file),
      async rows(query) {
        using db = readDatabase(file);
        return db.prepare(query).all();
      },
      async [Symbol.asyncDispose]() {},
    };
  const { startPostgres } = await import('./postgres.ts');
  const server = await startPostgres();
  const url = await server.createDatabase();
  return {
    env: { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres' },
    async settle() {
      if (!existsSync(file)) return;
      const { SITE } = await import('../../src/boot/site-tables.ts');
      const { moveToServer } = await import('../../src/boot/site-move.ts');
      const prepared = await openFile(file);
      for (const [feature, steps] of Object.entries(SITE)) await prepared.migrate(feature, steps);
      await prepared.close();
      await moveToServer({ data: dataDir, url, report: () => {} });
    },
    open: async () => (await import('../../src/adapters/postgres/store.ts')).openPostgresStore(url),
    rows: (query) => server.run(url, query),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
