import type { Kysely } from 'kysely';
import type { Tables } from '../tables.ts';
import type { Range, Source } from './sources.ts';
import type { Place } from './sources.ts';
import type { Terms } from './terms.ts';

/** Names and numbers that are followed; a text that more of them hold is found soonest by reading conversations. */
const MOST_KEYS = 4_000;
/** Keys that are read side by side in the order of time. */
const SIDE_BY_SIDE = 128;
/** Conversations of more keys than that are read and sorted while they are no more than these. */
const MOST_PLACES = 20_000;
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
  if (keys.length <= SIDE_BY_SIDE) return { keys };
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
          some.slice(i, i + CHUNK).map((key) => key.value),
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
  return { places: [...places.values()].sort((a, b) => b.started_ms - a.started_ms || b.id - a.id) };
}
