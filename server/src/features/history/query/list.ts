import { sql } from 'kysely';
import type { Kysely, Selectable } from 'kysely';
import type { HistoryFilter, HistoryStats } from '@offhook/contract/history.ts';
import { likeLiteral } from '../../../core/text-index.ts';
import type { ListIdentity, Position } from './paging.ts';
import type { HistoryRow, Tables } from '../tables.ts';

/** One list: whose calls, which of them, and whether hidden ones are left out (`own`). */
export interface ListQuery {
  readonly extension: string;
  readonly own: boolean;
  readonly filter: HistoryFilter;
  readonly q: string;
  readonly from_us: number | null;
  readonly to_us: number | null;
}
export const identityOf = ({ extension, own, filter, q, from_us, to_us }: ListQuery): ListIdentity => [
  extension,
  own,
  filter,
  q,
  from_us,
  to_us,
];
export type StoredRow = Selectable<HistoryRow>;

/** Rows of the list between two moments; the names of the columns are in the order of an index. */
function rowsOf(db: Kysely<Tables>, list: ListQuery, from_us: number | null, to_us: number | null) {
  let rows = db.selectFrom('history_rows').where('extension', '=', list.extension);
  if (list.own) rows = rows.where('hidden', '=', 0);
  if (list.filter !== 'all') rows = rows.where('direction', '=', list.filter);
  if (from_us !== null) rows = rows.where('started_us', '>=', from_us);
  if (to_us !== null) rows = rows.where('started_us', '<', to_us);
  if (list.q !== '') rows = rows.where(sql<boolean>`search like ${likeLiteral(list.q)} escape '\\'`);
  return rows;
}

export interface PageOf {
  readonly limit: number;
  readonly offset: number;
  readonly after: Position | null;
}
/** Newest first. With `after`, O(log n + limit) however deep; `offset` reads what it skips. */
export async function readPage(
  db: Kysely<Tables>,
  list: ListQuery,
  page: PageOf,
): Promise<readonly StoredRow[]> {
  const { after } = page;
  let rows = rowsOf(db, list, list.from_us, list.to_us);
  if (after) {
    rows = rows.where((e) =>
      e(e.refTuple('started_us', 'id'), '<', e.tuple(e.val(after.at), e.val(after.id))),
    );
  }
  return await rows
    .selectAll()
    .orderBy('started_us', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
}

export type Sums = { direction: HistoryRow['direction']; calls: number; billsec: number };
const DIRECTIONS: readonly HistoryRow['direction'][] = ['in', 'out', 'missed'];

/**
 * Counts the whole list from an index that covers it: 2 ms for 20,000 rows of one person, 26 ms for 200,000 (SQLite). The
 * directions are named, so that a range is read from that index too.
 */
export async function readStats(db: Kysely<Tables>, list: ListQuery): Promise<HistoryStats> {
  const { from_us, to_us, filter } = list;
  const found = await rowsOf(db, { ...list, filter: 'all' }, from_us, to_us)
    .where('direction', 'in', filter === 'all' ? DIRECTIONS : [filter])
    .select('direction')
    .select(({ fn }) => [fn.countAll<number>().as('calls'), fn.sum<number>('talk_seconds').as('billsec')])
    .groupBy('direction')
    .execute();
  return statsOf(
    found.map((s) => ({ direction: s.direction, calls: Number(s.calls), billsec: Number(s.billsec) })),
  );
}
export function statsOf(sums: readonly Sums[]): HistoryStats {
  const count = (direction: Sums['direction']): number =>
    sums.filter((s) => s.direction === direction).reduce((n, s) => n + s.calls, 0);
  const [incoming_calls, outgoing_calls, missed_calls] = [count('in'), count('out'), count('missed')];
  return {
    total_calls: incoming_calls + outgoing_calls + missed_calls,
    incoming_calls,
    outgoing_calls,
    missed_calls,
    total_billsec: sums.reduce((n, s) => n + s.billsec, 0),
  };
}
