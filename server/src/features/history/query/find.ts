import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { likeLiteral } from '../../../core/text-index.ts';
import type { Tables } from '../store/tables.ts';
import { countOf, padded, readPlaces } from './sources.ts';
import type { Count, Place, Range, Source } from './sources.ts';
import type { ConversationsQuery } from '@offhook/contract/conversation-list.ts';
import { toE164 } from '../../../numbers/e164.ts';
import { digitsOf, fold } from '@offhook/contract/search.ts';
import { historyOf } from '../../../rights/rights.ts';
import type { Principal } from '../../../rights/rights.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import type { Store } from '../../../ports/store.ts';
import { invalid, readRange, sinceHeld } from './paging.ts';
import { addedFilter } from './annotations.ts';
import { both, hiddenFilter } from './hide.ts';
import { KEY_LIMIT } from './terms.ts';

/** Filters of a list; a conversation must match all of them. */
export interface Wanted extends Range {
  /** Sets that must contain it; the smallest is read, the others are looked up. */
  readonly sources: readonly Exclude<Source, 'all'>[];
  /** Text that its names and numbers must contain, folded; empty for any. */
  readonly contains: string;
  /** Filter without an index of the history: returns the matching places. */
  readonly fits?: (places: readonly Place[]) => Promise<readonly Place[]>;
}
export interface Found {
  readonly places: readonly Place[];
  /** Position of the next page; null at the end. */
  readonly next: Place | null;
  /** Null unless requested. */
  readonly total: Count | null;
}

/** Conversations scanned in one request: about what can be read in 10 ms. */
export const SCAN = 4_096;
const FIRST_WINDOW = 128;
const WINDOW = 1_024;

/**
 * A page, newest first. With a single filter, O(log n + limit) at any depth; with several, the smallest set is read in
 * order and the others are looked up, for at most `SCAN` conversations per request.
 */
export async function findConversations(
  db: Kysely<Tables>,
  wanted: Wanted,
  page: { readonly limit: number; readonly after: Place | null; readonly count: boolean },
): Promise<Found> {
  const { limit } = page;
  if (wanted.sources.some((source) => 'keys' in source && source.keys.length === 0)) {
    return { places: [], next: null, total: page.count ? { count: 0, exact: true } : null };
  }
  const { driver, total } = await driverOf(db, wanted, page.count);
  const others = wanted.sources.filter((source) => source !== driver);
  const plain = others.length === 0 && wanted.contains === '' && wanted.fits === undefined;
  const hits: Place[] = [];
  let [place, examined, size] = [page.after, 0, plain ? limit + 1 : FIRST_WINDOW];
  let ended = false;
  while (hits.length <= limit && examined < SCAN && !ended) {
    const some = await readPlaces(db, driver, { ...wanted, after: place, limit: size });
    examined += some.length;
    ended = some.length < size;
    place = some.at(-1) ?? place;
    size = Math.min(size * 2, WINDOW);
    hits.push(...(plain ? some : await narrow(db, some, others, wanted)));
  }
  const places = hits.slice(0, limit);
  const next = hits.length > limit ? places.at(-1)! : ended ? null : place;
  if (!page.count) return { places, next, total: null };
  if (next === null) return { places, next, total: { count: places.length, exact: true } };
  if (plain) return { places, next, total };
  const count = Math.max(hits.length, Math.round((total!.count * hits.length) / Math.max(1, examined)));
  return { places, next, total: { count, exact: false } };
}

/** The smallest set; a single set is counted only on request. */
async function driverOf(
  db: Kysely<Tables>,
  wanted: Wanted,
  count: boolean,
): Promise<{ readonly driver: Source; readonly total: Count | null }> {
  const sources: readonly Source[] = wanted.sources.length === 0 ? ['all'] : wanted.sources;
  if (sources.length === 1 && !count) return { driver: sources[0]!, total: null };
  let best: { driver: Source; total: Count } | null = null;
  for (const source of sources) {
    const total = await countOf(db, source, wanted);
    if (best === null || total.count < best.total.count) best = { driver: source, total };
  }
  return best!;
}

/** The places that are in every other set, too. */
async function narrow(
  db: Kysely<Tables>,
  places: readonly Place[],
  others: readonly Exclude<Source, 'all'>[],
  { contains, fits }: Wanted,
): Promise<readonly Place[]> {
  if (places.length === 0) return [];
  const left = others.length === 0 && contains === '' ? places : await lookUp(db, places, others, contains);
  return fits === undefined || left.length === 0 ? left : await fits(left);
}
async function lookUp(
  db: Kysely<Tables>,
  places: readonly Place[],
  others: readonly Exclude<Source, 'all'>[],
  contains: string,
): Promise<readonly Place[]> {
  let rows = db
    .selectFrom('conversations as c')
    .select(['c.id', 'c.direction', 'c.disposition', 'c.state'])
    .where('c.id', 'in', padded(places.map((p) => p.id)));
  for (const other of others) {
    if (!('keys' in other)) continue;
    const byKind = Map.groupBy(other.keys, (key) => key.kind);
    rows = rows.where((e) =>
      e.or(
        [...byKind].map(([kind, keys]) =>
          e.exists(
            e
              .selectFrom('conversation_keys as k')
              .select('k.conversation')
              .where('k.kind', '=', kind)
              .where('k.value', 'in', padded(keys.map((key) => key.value)))
              .whereRef('k.started_ms', '=', 'c.started_ms')
              .whereRef('k.conversation', '=', 'c.id'),
          ),
        ),
      ),
    );
  }
  if (contains !== '') rows = rows.where(sql<boolean>`c.search like ${likeLiteral(contains)} escape '\\'`);
  // Compared here: in the query these conditions could lead the planner to read a column's whole index.
  const columns = others.flatMap((other) => ('column' in other ? [other] : []));
  const lists = others.flatMap((other) =>
    'places' in other ? [new Set(other.places.map((p) => p.id))] : [],
  );
  const fit = (await rows.execute()).filter(
    (row) =>
      columns.every((c) => row[c.column] === c.value) && lists.every((list) => list.has(Number(row.id))),
  );
  const kept = new Set(fit.map((row) => Number(row.id)));
  return places.filter((place) => kept.has(place.id));
}

export interface WantedDeps {
  readonly store: Store;
  readonly recordings: RecordingIndex;
  /** Country of the site, for numbers in a query. */
  readonly country: string;
}
/** Filters of the query within what the reader may see. Throws `invalid_request` (range, `own` of an API key). */
export async function wantedOf(
  deps: WantedDeps,
  reader: Principal,
  query: ConversationsQuery,
): Promise<Wanted> {
  const within = historyOf(reader);
  const sources: Wanted['sources'][number][] = [];
  const person = (extension: string) => ({ kind: 'person', value: extension }) as const;
  if (within !== null) sources.push({ keys: within.map(person) });
  const own = query.own === 'true';
  if (own && reader.key !== null) throw invalid('own: an API key has no view of its own');
  if (own && within === null) sources.push({ keys: [person(reader.extension)] });
  if (query.person !== undefined && !(within?.length === 1 && within[0] === query.person))
    sources.push({ keys: [person(query.person)] });
  if (query.number !== undefined)
    sources.push({
      keys: spellings(query.number, deps.country).map((value) => ({ kind: 'number', value })),
    });
  for (const kind of ['queue', 'agent'] as const) {
    const value = query[kind];
    if (value !== undefined) sources.push({ keys: [{ kind, value }] });
  }
  for (const column of ['direction', 'disposition', 'state'] as const) {
    const value = query[column];
    if (value !== undefined) sources.push({ column, value });
  }
  const db = deps.store.db<Tables>();
  const fits = both(
    own ? await hiddenFilter(db, reader.extension) : undefined,
    addedFilter(db, deps.recordings, query),
  );
  const contains = fold(query.q ?? '');
  return {
    ...sinceHeld(reader, readRange(query)),
    sources,
    contains,
    ...(fits === undefined ? {} : { fits }),
  };
}

/** Spellings in which a number may have been received. */
function spellings(number: string, country: string): readonly string[] {
  const all = [number, digitsOf(number), toE164(number, country)];
  return [...new Set(all.flatMap((text) => (text ? [text.slice(0, KEY_LIMIT)] : [])))];
}
