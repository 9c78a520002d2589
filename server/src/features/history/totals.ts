import type { Kysely } from 'kysely';
import type { HistoryRow, Tables } from './tables.ts';

export const DAY_US = 86_400_000_000;
export type Counted = Pick<HistoryRow, 'extension' | 'direction' | 'started_us' | 'talk_seconds' | 'hidden'>;

/** Collects what rows add to the totals and take from them, and writes the sums at the end of a transaction. */
export function createTotals() {
  const changes = new Map<string, Tables['history_totals']>();
  const count = (row: Counted, sign: 1 | -1): void => {
    const day = Math.floor(row.started_us / DAY_US);
    const { extension, direction } = row;
    const key = `${extension}/${day}/${direction}`;
    const sum = changes.get(key) ?? {
      extension,
      day,
      direction,
      calls: 0,
      billsec: 0,
      hidden_calls: 0,
      hidden_billsec: 0,
    };
    sum.calls += sign;
    sum.billsec += sign * row.talk_seconds;
    if (row.hidden) {
      sum.hidden_calls += sign;
      sum.hidden_billsec += sign * row.talk_seconds;
    }
    changes.set(key, sum);
  };
  return {
    add: (row: Counted): void => count(row, 1),
    remove: (row: Counted): void => count(row, -1),
    async write(db: Kysely<Tables>): Promise<void> {
      for (const change of changes.values()) {
        if (!change.calls && !change.billsec && !change.hidden_calls && !change.hidden_billsec) continue;
        await db
          .insertInto('history_totals')
          .values(change)
          .onConflict((c) =>
            c.columns(['extension', 'day', 'direction']).doUpdateSet((e) => ({
              calls: e('history_totals.calls', '+', change.calls),
              billsec: e('history_totals.billsec', '+', change.billsec),
              hidden_calls: e('history_totals.hidden_calls', '+', change.hidden_calls),
              hidden_billsec: e('history_totals.hidden_billsec', '+', change.hidden_billsec),
            })),
          )
          .execute();
      }
    },
  };
}
export type Totals = ReturnType<typeof createTotals>;
