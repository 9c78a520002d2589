import fs from 'node:fs';
import path from 'node:path';
import { placeOf } from '../adapters/postgres/settings.ts';
import { randomBytes } from '../core/chance.ts';
import { StartError } from '../core/errors.ts';
import { replaceFile, textOf } from '../core/files.ts';
import type { Migration, Store } from '../ports/store.ts';

interface Tables {
  site: { id: string };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-site',
    async up(db) {
      await db.schema
        .createTable('site')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .execute();
    },
  },
];

/** Name of the site in the store; null while it has none. */
export const knownSite = async (store: Pick<Store, 'db'>): Promise<string | null> =>
  (await store.db<Tables>().selectFrom('site').select('id').executeTakeFirst())?.id ?? null;

/** Random name of this site, created once and kept in its store; the journal notes the site it belongs to. */
export async function siteId(store: Store): Promise<string> {
  await store.migrate('site', migrations);
  return store.transaction<Tables, string>(async (trx) => {
    const known = await trx.selectFrom('site').select('id').executeTakeFirst();
    if (known !== undefined) return known.id;
    const id = randomBytes(9, 'site').toString('base64url');
    await trx.insertInto('site').values({ id }).execute();
    return id;
  });
}

/** Path of the store. Throws `store_missing` where it is missing from a folder whose journal shows that it existed. */
export function storeFile(data: string): string {
  const [file, journal] = [path.join(data, 'offhook.db'), path.join(data, 'journal.db')];
  if (!fs.existsSync(file) && fs.existsSync(journal)) {
    throw new StartError(
      'store_missing',
      `${file} is missing, and ${journal} shows that there was one: give OFFHOOK_SITE_STORE=postgres if the site is in PostgreSQL, ` +
        'restore a backup in its place, or move journal.db away too to begin with an empty site.',
    );
  }
  return file;
}

/** Random name of the data folder, created once: the next process on it may take a log that this one held. */
export async function folderId(data: string): Promise<string> {
  const file = path.join(data, 'folder.id');
  const kept = (await textOf(file))?.trim() ?? '';
  if (/^[\w-]{12}$/.test(kept)) return kept;
  const id = randomBytes(9, 'folder').toString('base64url');
  await replaceFile(file, `${id}\n`);
  return id;
}

const recordsFile = (data: string): string => path.join(data, 'records.database');
/** Notes in the data folder which database has the records of this site; null: they are in the folder. */
export async function noteRecords(data: string, url: string | null): Promise<void> {
  if (url === null) fs.rmSync(recordsFile(data), { force: true });
  else await replaceFile(recordsFile(data), `${placeOf(url)}\n`);
}
/** The database of the records of the site in this folder, without its password; null where the folder has them. */
export const recordsDatabase = async (data: string): Promise<string | null> =>
  (await textOf(recordsFile(data)))?.trim() ?? null;
