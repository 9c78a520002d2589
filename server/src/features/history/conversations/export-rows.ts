import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { ConversationFilter } from '@offhook/contract/conversations.ts';
import { toE164 } from '../../../core/e164.ts';
import { ServiceError } from '../../../core/errors.ts';
import { fold } from '../../../core/fold.ts';
import { historyOf, reaches } from '../../../core/rights.ts';
import type { Principal } from '../../../core/rights.ts';
import type { Cell, ConversationRows } from '../../../ports/conversations.ts';
import type { Store } from '../../../ports/store.ts';
import type { ConversationKeyRow, Tables } from '../tables.ts';

/** Rows that are counted one by one; more are estimated from how ids and time run. */
const COUNTED = 10_000;
const likeLiteral = (q: string): string => `%${q.replace(/[\\%_]/g, '\\$&')}%`;

function checkRange({ from, to }: ConversationFilter): void {
  if (from !== undefined && to !== undefined && Date.parse(to) < Date.parse(from)) {
    throw new ServiceError('invalid_request', 'filter.to: it is before from');
  }
}

export function createConversationRows(store: Store, country: string): ConversationRows {
  const db = store.db<Tables>();

  /** What the reader may see and the filter leaves. */
  function narrowed(of: Kysely<Tables>, reader: Principal, filter: ConversationFilter) {
    const objects = historyOf(reader);
    const { person, number, queue, agent, direction, disposition, from, to, q } = filter;
    if (person !== undefined && !reaches(objects, person)) {
      throw new ServiceError('forbidden', "another person's conversations need a right to their history");
    }
    checkRange(filter);
    let rows = of.selectFrom('conversations');
    if (direction !== undefined) rows = rows.where('direction', '=', direction);
    if (disposition !== undefined) rows = rows.where('disposition', '=', disposition);
    if (from !== undefined) rows = rows.where('started_ms', '>=', Date.parse(from));
    if (to !== undefined) rows = rows.where('started_ms', '<', Date.parse(to));
    if (q !== undefined) rows = rows.where(sql<boolean>`search like ${likeLiteral(fold(q))} escape '\\'`);
    const numbers = number === undefined ? null : [...new Set([number, toE164(number, country) ?? number])];
    const keys: readonly (readonly [ConversationKeyRow['kind'], readonly string[] | null])[] = [
      ['person', person === undefined ? objects : [person]],
      ['number', numbers],
      ['queue', queue === undefined ? null : [queue]],
      ['agent', agent === undefined ? null : [agent]],
    ];
    for (const [kind, values] of keys) {
      if (values === null) continue;
      rows = rows.where((e) =>
        values.length === 0
          ? e.lit(false)
          : e.exists(
              e
                .selectFrom('conversation_keys as k')
                .select('k.conversation')
                .where('k.kind', '=', kind)
                .where('k.value', 'in', values)
                .whereRef('k.started_ms', '=', 'conversations.started_ms')
                .whereRef('k.conversation', '=', 'conversations.id'),
            ),
      );
    }
    return rows;
  }
  return {
    async begin(reader, filter) {
      const first = narrowed(db, reader, filter)
        .select('id')
        .limit(COUNTED + 1)
        .as('first');
      const { n } = await db
        .selectFrom(first)
        .select((e) => e.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      const newest = await db
        .selectFrom('conversations')
        .select((e) => e.fn.max('id').as('id'))
        .executeTakeFirst();
      const bound = Number(newest?.id ?? 0);
      return { bound, estimated: Number(n) > COUNTED ? bound : Number(n) };
    },
    async page(reader, filter, { bound, after, limit }) {
      let query = narrowed(db, reader, filter)
        .select(['id', 'root', 'state', 'revision', 'erased', 'started_ms', 'cells'])
        .where('id', '<=', bound);
      if (after !== null) {
        query = query.where((e) =>
          e(e.refTuple('started_ms', 'id'), '<', e.tuple(e.val(after.started_ms), e.val(after.id))),
        );
      }
      const found = await query.orderBy('started_ms', 'desc').orderBy('id', 'desc').limit(limit).execute();
      const last = found.length < limit ? undefined : found.at(-1);
      return {
        rows: found.map((row): readonly Cell[] => [
          row.root,
          row.state,
          row.revision,
          row.erased === 1,
          ...(JSON.parse(row.cells) as Cell[]),
        ]),
        next: last === undefined ? null : { started_ms: Number(last.started_ms), id: last.id },
      };
    },
  };
}
