import type { Conversations } from '../../ports/conversations.ts';
import type { Objects } from '../../rights/rights.ts';
import { lowestOf, msOf } from './ids.ts';
import type { Filter, RecordingStore } from './store.ts';
import type { RecordingRow } from './tables.ts';

export interface PagesDeps {
  readonly store: RecordingStore;
  readonly conversations: Pick<Conversations, 'talkedIn' | 'withPart'>;
}

/** Recordings read at once, and conversations read first and at most at once, for a reader who may not hear all. */
const READ_AT_ONCE = 250;
const READ_FIRST = 100;
const READ_MOST = 400;
/** After the end of every recording. */
const END_MS = 2 ** 49;

/** Reads pages of the recordings that a reader may hear. */
export function createPages({ store, conversations }: PagesDeps) {
  /** Up to `filter.limit` rows of `reach`, and of conversations of `calls` in which one of `reach` talked. */
  async function rowsOf(reach: readonly string[], calls: readonly string[], filter: Filter) {
    const own = await store.page({ ...filter, own: reach });
    const others: RecordingRow[] = [];
    let below = filter.below;
    for (let more = calls.length > 0; more && others.length < filter.limit;) {
      const some = await store.page({ ...filter, below, calls, limit: READ_AT_ONCE });
      const talked = await conversations.talkedIn(
        some.map((row) => row.call),
        reach,
      );
      others.push(...some.filter((row) => talked.has(row.call)));
      below = some.at(-1)?.id;
      more = some.length === READ_AT_ONCE;
    }
    const byId = new Map([...own, ...others].map((row) => [row.id, row]));
    return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit);
  }
  /**
   * Up to `filter.limit` rows that `reach` includes, and the id at which the search ended before that, null if it did not. Rows
   * of another extension, or of none as those of a queue, are included if one of `reach` talked in their conversation.
   */
  async function pageWithin(
    reach: Objects,
    filter: Filter,
  ): Promise<{ rows: RecordingRow[]; ended: string | null }> {
    if (reach === null) return { rows: await store.page(filter), ended: null };
    if (reach.length === 0) return { rows: [], ended: null };
    if (filter.calls !== undefined) return { rows: await rowsOf(reach, filter.calls, filter), ended: null };
    const rows: RecordingRow[] = [];
    const begin = filter.from ?? 0;
    let before = Math.min(filter.to ?? END_MS, filter.below === undefined ? END_MS : msOf(filter.below) + 1);
    for (let most = READ_FIRST; most <= READ_MOST; most *= 2) {
      const { calls, since_ms } = await conversations.withPart(reach, before, most);
      const within = { from: Math.max(begin, since_ms), to: before, limit: filter.limit - rows.length };
      rows.push(...(await rowsOf(reach, calls, { ...filter, ...within })));
      if (rows.length >= filter.limit || since_ms <= begin) return { rows, ended: null };
      before = since_ms;
    }
    return { rows, ended: lowestOf(before) };
  }
  return pageWithin;
}
