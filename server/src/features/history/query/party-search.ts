/** Rows found by the other side's name or number: an index knows which texts fit, and another one leads to their rows. */
import type { Kysely } from 'kysely';
import type { HistoryStats } from '@offhook/contract/history.ts';
import { textsWith } from '../../../core/text-index.ts';
import { inChunks } from '../store.ts';
import { padded } from './sources.ts';
import { statsOf } from './list.ts';
import type { ListQuery, PageOf, StoredRow } from './list.ts';
import type { Tables } from '../tables.ts';

/** Texts that are followed, and rows that are sorted at once; beyond these a list is read and compared row by row. */
const MOST_TEXTS = 4_000;
const MOST_ROWS = 4_000;
const CHUNK = 512;

export type Found = Pick<StoredRow, 'id' | 'started_us' | 'hidden' | 'direction' | 'talk_seconds'>;
/** All rows of the list, newest first; null where that many fit. */
export async function findRows(db: Kysely<Tables>, list: ListQuery): Promise<readonly Found[] | null> {
  const ids = await textsWith(db, 'history_terms', list.q, MOST_TEXTS);
  if (ids === null) return null;
  const found: Found[] = [];
  for (let i = 0; i < ids.length; i += CHUNK) {
    found.push(...(await rowsWith(db, list.extension, ids.slice(i, i + CHUNK))));
    if (found.length > MOST_ROWS) return null;
  }
  return found.filter((row) => isIn(list, row)).sort((a, b) => b.started_us - a.started_us || b.id - a.id);
}
/** In this order, which SQLite keeps for a cross join: by `extension` first it would read all rows of it. */
const rowsWith = (
  db: Kysely<Tables>,
  extension: string,
  texts: readonly number[],
): Promise<readonly Found[]> =>
  db
    .selectFrom('history_terms as t')
    .crossJoin('history_rows as r')
    .select(['r.id', 'r.started_us', 'r.hidden', 'r.direction', 'r.talk_seconds'])
    .where('t.id', 'in', padded(texts))
    .whereRef('r.search', '=', 't.text')
    .where('r.extension', '=', extension)
    .limit(MOST_ROWS + 1)
    .execute();
/** Compared here: in the query they would tempt a planner to another index. */
const isIn = ({ own, filter, from_us, to_us }: ListQuery, row: Found): boolean =>
  !(own && row.hidden) &&
  (filter === 'all' || row.direction === filter) &&
  (from_us === null || row.started_us >= from_us) &&
  (to_us === null || row.started_us < to_us);

export async function readFound(
  db: Kysely<Tables>,
  found: readonly Found[],
  { limit, offset, after }: PageOf,
): Promise<readonly StoredRow[]> {
  const left = after
    ? found.filter((row) => row.started_us < after.at || (row.started_us === after.at && row.id < after.id))
    : found;
  const ids = left.slice(offset, offset + limit).map((row) => row.id);
  const rows = await inChunks(ids, (some) =>
    db.selectFrom('history_rows').selectAll().where('id', 'in', padded(some)).execute(),
  );
  return rows.sort((a, b) => b.started_us - a.started_us || b.id - a.id);
}
export const statsOfFound = (found: readonly Found[]): HistoryStats =>
  statsOf(found.map(({ direction, talk_seconds }) => ({ direction, calls: 1, billsec: talk_seconds })));
