/**
 * Whose an extension is, and since when: who is given a number that somebody else had sees nothing of what was theirs. A line for
 * each person an extension came to; the same person again, e.g. by a version that is restored, goes on with theirs.
 */
import type { Kysely, Transaction } from 'kysely';
import type { ObjectChange } from './model.ts';
import type { ObjectTables } from './object-tables.ts';

/** When the extension came to who has it now, ms since 1970; 0 where nobody had it before. */
export type Holders = ReadonlyMap<string, number>;

/** For a migration: from every version that is still kept. */
export async function seedHolders(any: Kysely<unknown>): Promise<void> {
  const db = any as Kysely<ObjectTables>;
  await db.schema
    .createTable('config_holders')
    .addColumn('extension', 'text', (c) => c.notNull())
    .addColumn('person', 'integer', (c) => c.notNull())
    .addColumn('since_ms', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('config_holders_key', ['extension', 'since_ms'])
    .execute();
  const rows = await db
    .selectFrom('config_objects')
    .leftJoin('config_versions', 'config_versions.version', 'config_objects.since_version')
    .select(['config_objects.key', 'config_objects.id', 'config_versions.at'])
    .where('config_objects.kind', '=', 'extension')
    .orderBy('config_objects.key')
    .orderBy('config_objects.since_version')
    .execute();
  let [extension, person] = ['', 0];
  for (const { key, id, at } of rows) {
    if (extension === key && person === id) continue;
    const since_ms = extension === key ? Number(at ?? 0) : 0;
    await db.insertInto('config_holders').values({ extension: key, person: id, since_ms }).execute();
    [extension, person] = [key, id];
  }
}
/** Notes to whom extensions come with a version. */
export async function noteHolders(
  trx: Transaction<ObjectTables>,
  changes: readonly ObjectChange[],
  at: number,
): Promise<void> {
  for (const { kind, key, object } of changes) {
    if (kind !== 'extension' || object === null) continue;
    const last = await trx
      .selectFrom('config_holders')
      .select(['person', 'since_ms'])
      .where('extension', '=', key)
      .orderBy('since_ms', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (last?.person === object.id) continue;
    // Two versions in one millisecond, or a clock that was set back.
    const since_ms = last === undefined ? 0 : Math.max(at, Number(last.since_ms) + 1);
    await trx.insertInto('config_holders').values({ extension: key, person: object.id, since_ms }).execute();
  }
}
export async function readHolders(db: Kysely<ObjectTables>): Promise<Holders> {
  const rows = await db
    .selectFrom('config_holders')
    .select(['extension', 'since_ms'])
    .orderBy('since_ms')
    .execute();
  return new Map(rows.map((row) => [row.extension, Number(row.since_ms)]));
}
