import { sql } from 'kysely';
import type { Kysely, Selectable } from 'kysely';
import type { HistoryFilter, HistoryStats } from '@offhook/contract/history.ts';
import { likeLiteral } from '../../../core/text-index.ts';
import type { ListIdentity, Position } from './paging.ts';
import type { HistoryRow, Tables } from '../tables.ts';
import { DAY_US } from '../ingest/person-rows.ts';

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

/** Counts of the whole list: whole days from their totals, the parts of days at both ends and searches from the rows. */
export async function readStats(db: Kysely<Tables>, list: ListQuery): Promise<HistoryStats> {
  const { from_us, to_us } = list;
  const sums: Sums[] = [];
  const first = from_us === null ? null : Math.ceil(from_us / DAY_US);
  const end = to_us === null ? null : Math.floor(to_us / DAY_US);
  const wholeDays = list.q === '' && (first === null || end === null || first < end);
  if (wholeDays) {
    sums.push(...(await sumDays(db, list, first, end)));
    if (from_us !== null && first! * DAY_US > from_us) {
      sums.push(...(await sumRows(db, list, from_us, first! * DAY_US)));
    }
    if (to_us !== null && end! * DAY_US < to_us)
      sums.push(...(await sumRows(db, list, end! * DAY_US, to_us)));
  } else sums.push(...(await sumRows(db, list, from_us, to_us)));
  return statsOf(sums);
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
async function sumDays(
  db: Kysely<Tables>,
  list: ListQuery,
  first: number | null,
  end: number | null,
): Promise<readonly Sums[]> {
  let days = db.selectFrom('history_totals').where('extension', '=', list.extension);
  if (list.filter !== 'all') days = days.where('direction', '=', list.filter);
  if (first !== null) days = days.where('day', '>=', first);
  if (end !== null) days = days.where('day', '<', end);
  const found = await days
    .select('direction')
    .select(({ fn }) => [
      fn.sum<number>('calls').as('calls'),
      fn.sum<number>('billsec').as('billsec'),
      fn.sum<number>('hidden_calls').as('hidden_calls'),
      fn.sum<number>('hidden_billsec').as('hidden_billsec'),
    ])
    .groupBy('direction')
    .execute();
  return found.map((s) => ({
    direction: s.direction,
    calls: Number(s.calls) - (list.own ? Number(s.hidden_calls) : 0),
    billsec: Number(s.billsec) - (list.own ? Number(s.hidden_billsec) : 0),
  }));
}
async function sumRows(
  db: Kysely<Tables>,
  list: ListQuery,
  from_us: number | null,
  to_us: number | null,
): Promise<readonly Sums[]> {
  const found = await rowsOf(db, list, from_us, to_us)
    .select('direction')
    .select(({ fn }) => [fn.countAll<number>().as('calls'), fn.sum<number>('talk_seconds').as('billsec')])
    .groupBy('direction')
    .execute();
  return found.map((s) => ({ direction: s.direction, calls: Number(s.calls), billsec: Number(s.billsec) }));
}
