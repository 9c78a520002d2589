/**
 * Holders of an extension with the start of each, so that a new holder sees no data of the previous one. Each change of
 * person adds a row; a restored version of the same person adds none.
 */
import type { Kysely, Transaction } from 'kysely';
import type { ObjectChange } from './model.ts';
import type { ObjectTables } from './tables.ts';

/** Times in ms since 1970. */
export interface Holders {
  /** Start of the current holder of an extension; 0 for its first holder. */
  readonly since: ReadonlyMap<string, number>;
  /** Time of the first version with a person, by the person's id. */
  readonly known: ReadonlyMap<number, number>;
}

/** The newest holder of each extension. */
async function lastHolders(
  db: Kysely<ObjectTables>,
): Promise<ReadonlyMap<string, { readonly person: number; readonly since_ms: number }>> {
  const rows = await db.selectFrom('config_holders').selectAll().orderBy('since_ms').execute();
  return new Map(
    rows.map(({ extension, person, since_ms }) => [extension, { person, since_ms: Number(since_ms) }]),
  );
}
/** Stores the holders of the extensions of a new version. */
export async function noteHolders(
  trx: Transaction<ObjectTables>,
  changes: readonly ObjectChange[],
  at: number,
): Promise<void> {
  const extensions = changes.filter(({ kind }) => kind === 'extension');
  if (extensions.length === 0) return;
  const holders = await lastHolders(trx);
  for (const { key, object } of extensions) {
    if (object === null) continue;
    const last = holders.get(key);
    if (last?.person === object.id) continue;
    // `since_ms` increases per extension, also with two versions in one millisecond or a clock that was set back.
    const since_ms = last === undefined ? 0 : Math.max(at, last.since_ms + 1);
    await trx.insertInto('config_holders').values({ extension: key, person: object.id, since_ms }).execute();
  }
}
/** Ids of the persons who ever had the extension, the newest first. */
export async function holdersOf(db: Kysely<ObjectTables>, extension: string): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('config_holders')
    .select('person')
    .where('extension', '=', extension)
    .orderBy('since_ms', 'desc')
    .execute();
  return [...new Set(rows.map(({ person }) => person))];
}
export async function readHolders(db: Kysely<ObjectTables>): Promise<Holders> {
  const known = await db
    .selectFrom('config_objects')
    .innerJoin('config_versions', 'config_versions.version', 'config_objects.since_version')
    .select(['config_objects.id', (e) => e.fn.min('config_versions.at').as('at')])
    .where('config_objects.kind', '=', 'extension')
    .groupBy('config_objects.id')
    .execute();
  return {
    since: new Map([...(await lastHolders(db))].map(([extension, { since_ms }]) => [extension, since_ms])),
    known: new Map(known.map(({ id, at }) => [Number(id), Number(at)])),
  };
}
