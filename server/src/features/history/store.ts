import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

/** Values of one statement; far below the limit of every database. */
const CHUNK = 200;

/** Runs a statement for a few values at a time and gives back all its rows. */
export async function inChunks<T, R>(
  values: readonly T[],
  run: (some: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < values.length; i += CHUNK) found.push(...(await run(values.slice(i, i + CHUNK))));
  return found;
}
/** Writes values with a statement for a few of them at a time. */
export async function insertAll<T>(
  values: readonly T[],
  insert: (some: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < values.length; i += CHUNK) await insert(values.slice(i, i + CHUNK));
}

/**
 * `cursor_key` signs cursors; `token_key` makes the tokens of tombstones; `boot` is the engine's life last seen;
 * `restarted_us` when the newest one was noticed; `published` is a place in the journal before which every event of ours is
 * known; `wrap_ups` how far it was read for them; `proof` how far the call records were compared with it; `rebuild` how far one is that was begun.
 */
export type FactKey =
  | 'checkpoint'
  | 'cursor_key'
  | 'token_key'
  | 'boot'
  | 'restarted_us'
  | 'published'
  | 'wrap_ups'
  | 'proof'
  | 'rebuild';

export async function readFact(db: Kysely<Tables>, key: FactKey): Promise<string | null> {
  const row = await db.selectFrom('history_facts').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value ?? null;
}
export async function writeFact(db: Kysely<Tables>, key: FactKey, value: string): Promise<void> {
  await db
    .insertInto('history_facts')
    .values({ key, value })
    .onConflict((c) => c.column('key').doUpdateSet({ value }))
    .execute();
}
