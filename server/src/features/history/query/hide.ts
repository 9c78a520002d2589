import type { Kysely } from 'kysely';
import type { Store } from '../../../ports/store.ts';
import { inChunks, insertAll } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import type { Wanted } from './find.ts';

/** Rows per transaction, so that clearing a long history does not block other writes. */
const AT_ONCE = 1000;

const hideRows = (db: Kysely<Tables>, ids: readonly number[]): Promise<void> =>
  insertAll(ids, (some) =>
    db.updateTable('history_rows').set({ hidden: 1 }).where('id', 'in', some).execute(),
  );

/**
 * Hides conversations from one extension's own view; returns the number of rows hidden now. The key of a merged call
 * names the conversation it is part of now: an older page may still show it.
 */
export const hideCalls = (store: Store, extension: string, keys: readonly string[]): Promise<number> =>
  store.transaction<Tables, number>(async (db) => {
    const joined = await inChunks(keys, (some) =>
      db.selectFrom('history_calls').select('root').where('call', 'in', some).execute(),
    );
    const roots = [...new Set([...keys, ...joined.map((call) => call.root)])];
    const rows = await db
      .selectFrom('history_rows')
      .select('id')
      .where('extension', '=', extension)
      .where('root', 'in', roots)
      .where('hidden', '=', 0)
      .execute();
    await hideRows(
      db,
      rows.map((row) => row.id),
    );
    return rows.length;
  });

/** Hides all present rows from one extension's own view. */
export async function clearCalls(store: Store, extension: string): Promise<void> {
  const newest = await store
    .db<Tables>()
    .selectFrom('history_rows')
    .select((e) => e.fn.max('id').as('id'))
    .where('extension', '=', extension)
    .executeTakeFirst();
  const last = Number(newest?.id ?? 0);
  for (;;) {
    const hidden = await store.transaction<Tables, number>(async (db) => {
      const rows = await db
        .selectFrom('history_rows')
        .select('id')
        .where('extension', '=', extension)
        .where('hidden', '=', 0)
        .where('id', '<=', last)
        .limit(AT_ONCE)
        .execute();
      await hideRows(
        db,
        rows.map((row) => row.id),
      );
      return rows.length;
    });
    if (hidden < AT_ONCE) return;
  }
}

/** Filter without the conversations hidden by an extension; undefined if it has hidden none. */
export async function hiddenFilter(db: Kysely<Tables>, extension: string): Promise<Wanted['fits']> {
  const hidden = db
    .selectFrom('history_rows as row')
    .where('row.extension', '=', extension)
    .where('row.hidden', '=', 1);
  if ((await hidden.select('row.id').limit(1).executeTakeFirst()) === undefined) return undefined;
  return async (places) => {
    const found = await inChunks(
      places.map((place) => place.id),
      (some) =>
        hidden
          .innerJoin('conversations', 'conversations.root', 'row.root')
          .select('conversations.id')
          .where('conversations.id', 'in', some)
          .execute(),
    );
    const gone = new Set(found.map(({ id }) => Number(id)));
    return places.filter((place) => !gone.has(place.id));
  };
}
/** Applies both filters. */
export const both = (one: Wanted['fits'], other: Wanted['fits']): Wanted['fits'] =>
  one === undefined || other === undefined
    ? (one ?? other)
    : async (places) => {
        const left = await one(places);
        return left.length === 0 ? left : await other(left);
      };
