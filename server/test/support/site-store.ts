/** Place of the tables and events of a test site: its data folder, or PostgreSQL in a run with TEST_SITE_STORE=postgres. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { openPostgresStore } from '../../src/adapters/postgres/store.ts';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import { moveToServer } from '../../src/boot/site-move.ts';
import { SITE } from '../../src/boot/site-tables.ts';
import type { Store } from '../../src/ports/store.ts';
import { readDatabase } from './journal.ts';
import { startPostgres } from './postgres.ts';

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
      open: () => openSqliteStore(file),
      async rows(query) {
        using db = readDatabase(file);
        return db.prepare(query).all();
      },
      async [Symbol.asyncDispose]() {},
    };
  const server = await startPostgres();
  const url = await server.createDatabase();
  return {
    env: { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres' },
    async settle() {
      if (!existsSync(file)) return;
      const prepared = await openSqliteStore(file);
      for (const [feature, steps] of Object.entries(SITE)) await prepared.migrate(feature, steps);
      await prepared.close();
      await moveToServer({ data: dataDir, url, report: () => {} });
    },
    open: async () => openPostgresStore(url),
    rows: (query) => server.run(url, query),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
