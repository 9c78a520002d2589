/** Whether a newer version changed the tables of a site, so that this one can stand by but not lead. */
import { sql } from 'kysely';
import { newerStore, notedSteps } from '../core/migrations.ts';
import type { Store } from '../ports/store.ts';
import { SITE } from './site-tables.ts';

/** The reason for people; null where this version can lead, or the site has no tables yet. */
export async function newerVersion(store: Pick<Store, 'db'>): Promise<string | null> {
  const db = store.db();
  const { rows } = await sql<{
    found: string | null;
  }>`select to_regclass('offhook_migrations') as found`.execute(db);
  if (rows[0]?.found == null) return null;
  for (const [feature, done] of await notedSteps(db)) {
    const newer = newerStore('the database', feature, SITE[feature] ?? done, done);
    if (newer !== null) return newer.message;
  }
  return null;
}
