/** Where a list of conversations can be read from in the order of time; each is one index. */
import { sql } from 'kysely';
import type { Expression, Kysely, SqlBool } from 'kysely';
import type { ConversationKeyRow, Tables } from '../store/tables.ts';

/** A place in the order of every list: newest first. */
export interface Place {
  readonly started_ms: number;
  readonly id: number;
}
export interface Range {
  /** Included; null is without a beginning. */
  readonly from_ms: number | null;
  /** Not included; null is without an end. */
  readonly to_ms: number | null;
}
export type Key = Pick<ConversationKeyRow, 'kind' | 'value'>;
/** Conversations with any of some keys, those of a list (newest first), with one value of a column, or all. */
export type Source =
  | { readonly keys: readonly Key[] }
  | { readonly places: readonly Place[] }
  | { readonly column: 'direction' | 'disposition' | 'state'; readonly value: string }
  | 'all';
interface Cut extends Range {
  readonly after: Place | null;
  readonly limit: number;
  readonly oldestFirst?: boolean;
  /** Places that are passed over; of a source that is one index only. */
  readonly skip?: number;
}

/** Subqueries of one statement; SQLite takes 500. */
const UNION = 128;

/** The next places of a source, newest first unless told; O(keys × (log n + limit)), however deep. */
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
/** Conditions of a range, and of the places after one; `id` is the column of the conversation. */
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
/** Each key is read from its own place, so that no key's whole history is sorted. */
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

/** As many as the next power of two, the last one again and again: there are few texts of a statement, so they stay prepared. */
export function padded<T>(values: readonly T[]): readonly T[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, values.length)));
  return [...values, ...Array.from({ length: size - values.length }, () => values.at(-1)!)];
}

/** Conversations that are counted one by one; more are estimated. */
export const COUNTED = 1_000;
const MIN_SAMPLE = 50;
export interface Count {
  readonly count: number;
  readonly exact: boolean;
}
/** How many there are: counted up to a bound, beyond it by how dense the newest of them lie; O(bound). */
export async function countOf(db: Kysely<Tables>, source: Source, range: Range): Promise<Count> {
  const [newest] = await readPlaces(db, source, { ...range, after: null, limit: 1 });
  const [oldest] = await readPlaces(db, source, { ...range, after: null, limit: 1, oldestFirst: true });
  if (!newest || !oldest) return { count: 0, exact: true };
  // Ids are given in the order of time or nearly so, and hardly any goes: their distance is the number of conversations.
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
/** The place that `sample` newer ones lie before; how many there are where they are no more than that. */
async function lastOf(
  db: Kysely<Tables>,
  source: Source,
  range: Range,
  single: boolean,
  sample: number,
): Promise<Place | number> {
  if (single) {
    // The database passes over a thousand entries of an index much faster than it hands them over.
    const [last] = await readPlaces(db, source, { ...range, after: null, limit: 1, skip: sample });
    if (last !== undefined) return last;
  }
  const newest = await readPlaces(db, source, { ...range, after: null, limit: sample + 1 });
  return newest.length <= sample ? newest.length : newest.at(-1)!;
}
