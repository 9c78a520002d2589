import type { Kysely } from 'kysely';
import type { OutboxRow, Tables } from './tables.ts';

/** Values per statement; far below the limit of every database. */
const CHUNK = 200;

/** Runs a statement in chunks of the values and returns all rows. */
export async function inChunks<T, R>(
  values: readonly T[],
  run: (some: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < values.length; i += CHUNK) found.push(...(await run(values.slice(i, i + CHUNK))));
  return found;
}
/** Writes values in chunks. */
export async function insertAll<T>(
  values: readonly T[],
  insert: (some: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < values.length; i += CHUNK) await insert(values.slice(i, i + CHUNK));
}

/**
 * `cursor_key` signs cursors; `token_key` hashes tombstones. `checkpoint` is the position in the call records, in that
 * of a node with a name `checkpoint:<node>`. `boot` is the newest start of the engine, `restarted_us` the time at which
 * a restart was noticed; those of another engine of the site are `boot:<node>` and `restarted_us:<node>`. `published`,
 * `wrap_ups` and `proof` are the positions up to which the publisher, the wrap-ups and the prover have read the
 * journal; `rebuild` is the progress of an unfinished rebuild.
 */
export type FactKey =
  | 'checkpoint'
  | `checkpoint:${string}`
  | 'cursor_key'
  | 'token_key'
  | 'boot'
  | `boot:${string}`
  | 'restarted_us'
  | `restarted_us:${string}`
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

/**
 * Takes the next `n` positions in the feed of changes and returns the first. Other writers wait for the end of this
 * transaction, so that no new position appears before one that a reader has passed.
 */
export async function takeChanges(db: Kysely<Tables>, n: number): Promise<number> {
  const { value } = await db
    .insertInto('history_counters')
    .values({ name: 'change', value: n })
    .onConflict((c) => c.column('name').doUpdateSet((e) => ({ value: e('history_counters.value', '+', n) })))
    .returning('value')
    .executeTakeFirstOrThrow();
  return Number(value) - n + 1;
}
/** Newest position of the feed; 0 before the first. O(1). */
export async function newestChange(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('history_counters')
    .select('value')
    .where('name', '=', 'change')
    .executeTakeFirst();
  return Number(row?.value ?? 0);
}
/** Stores events to publish (ingest/publish.ts), in the transaction of the change that they report. */
export const remember = (db: Kysely<Tables>, events: readonly OutboxRow[]): Promise<void> =>
  insertAll(events, (some) => db.insertInto('conversation_outbox').values(some).execute());

/** Appends conversations to the feed again after attached data, such as a note, changed. Ignores unknown ids. */
export async function touchConversations(db: Kysely<Tables>, roots: readonly string[]): Promise<void> {
  const rows = await inChunks([...new Set(roots)], (some) =>
    db.selectFrom('conversations').select(['id', 'root', 'revision']).where('root', 'in', some).execute(),
  );
  if (rows.length === 0) return;
  let change = await takeChanges(db, rows.length);
  const events: OutboxRow[] = [];
  for (const { id, root, revision } of rows) {
    await db.updateTable('conversations').set({ change }).where('id', '=', id).execute();
    events.push({ change, root, kind: 'updated', revision });
    change += 1;
  }
  await remember(db, events);
}
/** Roots of the conversations of these calls. */
export async function rootsOf(db: Kysely<Tables>, calls: readonly string[]): Promise<readonly string[]> {
  const rows = await inChunks(calls, (some) =>
    db.selectFrom('history_calls').select('root').where('call', 'in', some).execute(),
  );
  return [...new Set(rows.map((row) => row.root))];
}
