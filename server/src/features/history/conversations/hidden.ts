import type { Kysely } from 'kysely';
import { inChunks } from '../chunks.ts';
import type { Tables } from '../tables.ts';
import type { Wanted } from './find.ts';

/** Leaves out what an extension has hidden from its own view; undefined where it has hidden nothing. */
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
/** What both leave. */
export const both = (one: Wanted['fits'], other: Wanted['fits']): Wanted['fits'] =>
  one === undefined || other === undefined
    ? (one ?? other)
    : async (places) => {
        const left = await one(places);
        return left.length === 0 ? left : await other(left);
      };
