import type { Kysely } from 'kysely';
import { inChunks, insertAll } from '../store.ts';
import type { OutboxRow, Tables } from '../tables.ts';

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
/** Newest position of the feed; 0 before the first. O(1). */
export async function newestChange(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('history_counters')
    .select('value')
    .where('name', '=', 'change')
    .executeTakeFirst();
  return Number(row?.value ?? 0);
}
/** Stores events to publish (publish.ts), in the transaction of the change that they report. */
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
/** The conversations that these calls are part of. */
export async function rootsOf(db: Kysely<Tables>, calls: readonly string[]): Promise<readonly string[]> {
  const rows = await inChunks(calls, (some) =>
    db.selectFrom('history_calls').select('root').where('call', 'in', some).execute(),
  );
  return [...new Set(rows.map((row) => row.root))];
}
