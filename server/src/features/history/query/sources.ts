/** Sources of a list of conversations in order of time; each is one index. */
import { sql } from 'kysely';
import type { Expression, Kysely, SqlBool } from 'kysely';
import type { ConversationKeyRow, Tables } from '../store/tables.ts';

/** Position in the order of every list, newest first. */
export interface Place {
  readonly started_ms: number;
  readonly id: number;
}
export interface Range {
  /** Inclusive; null means no lower bound. */
  readonly from_ms: number | null;
  /** Exclusive; null means no upper bound. */
  readonly to_ms: number | null;
}
export type Key = Pick<ConversationKeyRow, 'kind' | 'value'>;
/** Conversations with any of these keys, those in `places` (newest first), those with a column value, or all. */
export type Source =
  | { readonly keys: readonly Key[] }
  | { readonly places: readonly Place[] }
  | { readonly column: 'direction' | 'disposition' | 'state'; readonly value: string }
  | 'all';
interface Cut extends Range {
  readonly after: Place | null;
  readonly limit: number;
  readonly oldestFirst?: boolean;
  /** Places to skip; only for a source with one index. */
  readonly skip?: number;
}

/** Limit of subqueries in one statement; SQLite accepts 500. */
const UNION = 128;

/** Next places of a source, newest first by default; O(keys × (log n + limit)) at any depth. */
export async function readPlaces(db: Kysely<Tables>, source: Source, cut: Cut): Promise<readonly Place[]> {
  if (cut.limit < 1) return [];
  if (source !== 'all' && 'places' in source) return ofPlaces(source.places, cut);
  const rows =
    source === 'all' || 'column' in source
      ? await ofColumn(db, source, cut).execute()
      : source.keys.length === 1
        ? await ofKey(db, source.keys[0]!, cut).execute()
        : await ofKeys(db, source.keys, cut);
  return rows.map((row) => ({ started_ms: Number(row.started_ms), id: Number(row.id) }));
}

function ofPlaces(places: readonly Place[], cut: Cut) {
  const { from_ms, to_ms, after, limit, oldestFirst, skip = 0 } = cut;
  const within = places.filter(
    (place) =>
      (from_ms === null || place.started_ms >= from_ms) &&
      (to_ms === null || place.started_ms < to_ms) &&
      (after === null || byTime(after, place) < 0),
  );
  return oldestFirst ? within.slice(-limit).reverse() : within.slice(skip, skip + limit);
}
/** Conditions of a range and of the places after `after`; `id` is the column of the conversation. */
export function within(
  { from_ms, to_ms, after = null }: Range & { readonly after?: Place | null },
  id: 'id' | 'conversation' = 'id',
): readonly Expression<SqlBool>[] {
  const started = sql.ref('started_ms');
  return [
    ...(from_ms === null ? [] : [sql<SqlBool>`${started} >= ${from_ms}`]),
    ...(to_ms === null ? [] : [sql<SqlBool>`${started} < ${to_ms}`]),
    ...(after === null
      ? []
      : [sql<SqlBool>`(${started}, ${sql.ref(id)}) < (${after.started_ms}, ${after.id})`]),
  ];
}
function ofColumn(db: Kysely<Tables>, source: Extract<Source, { column: unknown } | 'all'>, cut: Cut) {
  const order = cut.oldestFirst ? 'asc' : 'desc';
  let rows = db.selectFrom('conversations').select(['started_ms', 'id']);
  if (source !== 'all') rows = rows.where(source.column, '=', source.value as never);
  for (const condition of within(cut)) rows = rows.where(condition);
  return rows
    .orderBy('started_ms', order)
    .orderBy('id', order)
    .limit(cut.limit)
    .offset(cut.skip ?? 0);
}
function ofKey(db: Kysely<Tables>, { kind, value }: Key, cut: Cut) {
  const order = cut.oldestFirst ? 'asc' : 'desc';
  let rows = db
    .selectFrom('conversation_keys')
    .select(['started_ms', 'conversation as id'])
    .where('kind', '=', kind)
    .where('value', '=', value);
  for (const condition of within(cut, 'conversation')) rows = rows.where(condition);
  return rows
    .orderBy('started_ms', order)
    .orderBy('conversation', order)
    .limit(cut.limit)
    .offset(cut.skip ?? 0);
}
/** Reads each key from its own position, so that no key's whole history is sorted. */
async function ofKeys(db: Kysely<Tables>, keys: readonly Key[], cut: Cut): Promise<readonly Place[]> {
  const found = new Map<number, Place>();
  for (let i = 0; i < keys.length; i += UNION) {
    const [first, ...rest] = padded(keys.slice(i, i + UNION));
    const one = (key: Key, n: number) =>
      db.selectFrom(ofKey(db, key, cut).as(`k${n}`)).select(['started_ms', 'id']);
    let all = one(first!, 0);
    for (const [n, key] of rest.entries()) all = all.union(one(key, n + 1));
    const order = cut.oldestFirst ? 'asc' : 'desc';
    const rows = await all.orderBy('started_ms', order).orderBy('id', order).limit(cut.limit).execute();
    for (const row of rows) found.set(Number(row.id), row);
  }
  const places = [...found.values()].sort(cut.oldestFirst ? (a, b) => byTime(b, a) : byTime);
  return places.slice(0, cut.limit);
}
const byTime = (a: Place, b: Place): number =>
  Number(b.started_ms) - Number(a.started_ms) || Number(b.id) - Number(a.id);

/** Repeats the last value up to the next power of two, so that few distinct statements need preparing. */
export function padded<T>(values: readonly T[]): readonly T[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, values.length)));
  return [...values, ...Array.from({ length: size - values.length }, () => values.at(-1)!)];
}

/** Conversations counted exactly; above this, the count is estimated. */
const COUNTED = 1_000;
const MIN_SAMPLE = 50;
export interface Count {
  readonly count: number;
  readonly exact: boolean;
}
/** Number of conversations: counted up to a bound, above it estimated from the density of the newest; O(bound). */
export async function countOf(db: Kysely<Tables>, source: Source, range: Range): Promise<Count> {
  const [newest] = await readPlaces(db, source, { ...range, after: null, limit: 1 });
  const [oldest] = await readPlaces(db, source, { ...range, after: null, limit: 1, oldestFirst: true });
  if (!newest || !oldest) return { count: 0, exact: true };
  // Ids grow with time and few are deleted: their distance is nearly the number of conversations.
  const distance = newest.id - oldest.id + 1;
  if (source === 'all' && distance > COUNTED) return { count: distance, exact: false };
  const parts = source !== 'all' && 'keys' in source ? source.keys.length : 1;
  const sample = Math.max(MIN_SAMPLE, Math.ceil(COUNTED / parts));
  const last = await lastOf(db, source, range, parts === 1, sample);
  if (typeof last === 'number') return { count: last, exact: true };
  const span = Math.max(1, newest.started_ms - last.started_ms);
  const count = (sample * (newest.started_ms - oldest.started_ms)) / span;
  return { count: Math.max(sample + 1, Math.round(count)), exact: false };
}
/** The place with exactly `sample` newer ones; their number if there are no more than that. */
async function lastOf(
  db: Kysely<Tables>,
  source: Source,
  range: Range,
  single: boolean,
  sample: number,
): Promise<Place | number> {
  if (single) {
    // Skipping a thousand index entries in the database is much faster than returning them.
    const [last] = await readPlaces(db, source, { ...range, after: null, limit: 1, skip: sample });
    if (last !== undefined) return last;
  }
  const newest = await readPlaces(db, source, { ...range, after: null, limit: sample + 1 });
  return newest.length <= sample ? newest.length : newest.at(-1)!;
}
