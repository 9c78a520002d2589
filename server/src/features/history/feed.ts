import type { Kysely } from 'kysely';
import { inChunks } from './chunks.ts';
import type { Tables } from './tables.ts';

/**
 * Takes the next `n` places of the feed of changes and returns the first. Other writers wait until this transaction ends, so
 * that a reader of the feed never finds a place before one it has passed.
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
/** Puts conversations into the feed once more: something that hangs on them has changed. Unknown ones are left out. */
export async function touchConversations(db: Kysely<Tables>, roots: readonly string[]): Promise<void> {
  const rows = await inChunks(roots, (some) =>
    db.selectFrom('conversations').select('id').where('root', 'in', some).execute(),
  );
  if (rows.length === 0) return;
  let change = await takeChanges(db, rows.length);
  for (const { id } of rows) {
    await db.updateTable('conversations').set({ change: change++ }).where('id', '=', id).execute();
  }
}
/** The conversations that these calls are part of. */
export async function rootsOf(db: Kysely<Tables>, calls: readonly string[]): Promise<readonly string[]> {
  const rows = await inChunks(calls, (some) =>
    db.selectFrom('history_calls').select('root').where('call', 'in', some).execute(),
  );
  return [...new Set(rows.map((row) => row.root))];
}
