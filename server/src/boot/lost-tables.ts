/** Finds the tables that the database of a site has lost. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { openSqliteStore } from '../adapters/sqlite/store.ts';
import { StartError } from '../core/errors.ts';
import { notedSteps } from '../core/migrations.ts';
import type { Store } from '../ports/store.ts';
import { SITE } from './site-tables.ts';

const NO_FLUSH = { flush: () => Promise.resolve(), close: () => Promise.resolve() };

/** Names of the tables that these steps of the features make. */
async function tablesBy(done: Awaited<ReturnType<typeof notedSteps>>): Promise<readonly string[]> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-tables-'));
  const empty = await openSqliteStore(path.join(folder, 'offhook.db'), { flusher: NO_FLUSH });
  try {
    for (const [feature, steps] of Object.entries(SITE)) {
      const ran = steps.filter(({ id }) => done.get(feature)?.some((step) => step.id === id) === true);
      await empty.migrate(feature, ran);
    }
    // Without text indexes, which are tables (virtual and shadow) only in SQLite, and without the store's own tables.
    const { rows } = await sql<{ name: string }>`select name from pragma_table_list
      where schema = 'main' and type = 'table' and name not like 'sqlite!_%' escape '!' and name not like 'offhook!_%' escape '!'`.execute(
      empty.db(),
    );
    return rows.map((row) => row.name);
  } finally {
    await empty.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Throws `store_damaged` where the database of a site that was begun has lost tables, or the row that names the site: a restored
 * backup was not whole.
 */
export async function assertTables(store: Store, database: string): Promise<void> {
  const db = store.db();
  const all = await db.introspection.getTables();
  const { rows } = await sql<{ name: string }>`select current_schema() as name`.execute(db);
  const there = new Set(all.filter((table) => table.schema === rows[0]?.name).map((table) => table.name));
  const refuse = (what: string): never => {
    throw new StartError(
      'store_damaged',
      `${database} holds the events of a site without ${what}: restore a whole backup of the database, or begin with an empty site in ` +
        'an empty database and with another data folder.',
    );
  };
  if (!there.has('offhook_migrations')) refuse('its tables');
  const done = await notedSteps(db);
  const lost = (await tablesBy(done)).filter((name) => !there.has(name));
  if (lost.length > 0) refuse(`the tables ${lost.toSorted().join(', ')}`);
  const [site] = await db
    .selectFrom('site' as never)
    .selectAll()
    .limit(1)
    .execute();
  if (site === undefined) refuse('the row of the table site');
}
