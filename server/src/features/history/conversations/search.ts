import type { Kysely } from 'kysely';
import type { Tables } from '../tables.ts';
import { padded } from './sources.ts';
import type { Key, Place, Range, Source } from './sources.ts';
import type { Terms } from './terms.ts';

/** Names and numbers that are followed; a text that more of them hold is found soonest by reading conversations. */
const MOST_KEYS = 4_000;
/** Conversations that are read and sorted at once; people of more are read side by side in the order of time. */
const MOST_PLACES = 10_000;
const SIDE_BY_SIDE = 128;
const CHUNK = 512;

/** The conversations of everybody whose name or number holds the text, as a set to read from; null where they are many. */
export async function searchSource(
  db: Kysely<Tables>,
  terms: Terms,
  text: string,
  range: Range,
): Promise<Exclude<Source, 'all'> | null> {
  const keys = await terms.find(text, MOST_KEYS);
  if (keys === null) return null;
  if (keys.length === 0) return { keys };
  const places = await placesOf(db, keys, range);
  if (places !== null) return { places };
  return keys.length <= SIDE_BY_SIDE ? { keys } : null;
}

/** Newest first; null where they are more than are sorted. */
async function placesOf(
  db: Kysely<Tables>,
  keys: readonly Key[],
  range: Range,
): Promise<readonly Place[] | null> {
  const places = new Map<number, Place>();
  for (const [kind, some] of Map.groupBy(keys, (key) => key.kind)) {
    for (let i = 0; i < some.length; i += CHUNK) {
      let rows = db
        .selectFrom('conversation_keys')
        .select(['started_ms', 'conversation'])
        .where('kind', '=', kind)
        .where(
          'value',
          'in',
          padded(some.slice(i, i + CHUNK)).map((key) => key.value),
        );
      if (range.from_ms !== null) rows = rows.where('started_ms', '>=', range.from_ms);
      if (range.to_ms !== null) rows = rows.where('started_ms', '<', range.to_ms);
      for (const row of await rows.limit(MOST_PLACES + 1).execute()) {
        const id = Number(row.conversation);
        places.set(id, { started_ms: Number(row.started_ms), id });
      }
      if (places.size > MOST_PLACES) return null;
    }
  }
  return [...places.values()].sort((a, b) => b.started_ms - a.started_ms || b.id - a.id);
}
