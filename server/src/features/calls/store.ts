import { CallSettings, INITIAL_CALL_SETTINGS } from '@offhook/contract/call-settings.ts';
import { createTable } from '../../core/schema.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Migration, Store } from '../../ports/store.ts';

interface Tables {
  call_settings: { id: number; value: string };
  /** Calls placed by one person on one day of the site's zone. */
  call_usage: { who: string; day: string; calls: number; countries: string };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-calls',
    async up(db) {
      await createTable(db.schema)`call_settings (id integer primary key, value text not null)`;
      await createTable(db.schema)`call_usage (
        who text not null, day text not null, calls integer not null, countries text not null,
        constraint call_usage_key primary key (who, day))`;
    },
  },
];

export interface Usage {
  readonly calls: number;
  /** Country codes. */
  readonly countries: readonly string[];
}
export const NOTHING_USED: Usage = { calls: 0, countries: [] };
export interface CallStore {
  settings(): Promise<CallSettings>;
  /** Stores the settings and their audit entry, both or neither. */
  saveSettings(settings: CallSettings, line: AuditEntry): Promise<void>;
  /** Calls placed on this day, by person; deletes other days. */
  usageOf(day: string): Promise<ReadonlyMap<string, Usage>>;
  keepUsage(who: string, day: string, usage: Usage): Promise<void>;
}

export async function createCallStore(store: Store, audit: Required<Audit>): Promise<CallStore> {
  await store.migrate('calls', migrations);
  const db = store.db<Tables>();
  return {
    async settings() {
      const row = await db.selectFrom('call_settings').select('value').executeTakeFirst();
      return row === undefined ? INITIAL_CALL_SETTINGS : CallSettings.parse(JSON.parse(row.value));
    },
    async saveSettings(settings, line) {
      const value = JSON.stringify(settings);
      await store.transaction<Tables, void>(async (trx) => {
        await trx
          .insertInto('call_settings')
          .values({ id: 1, value })
          .onConflict((c) => c.column('id').doUpdateSet({ value }))
          .execute();
        await audit.recordIn(trx, line);
      });
    },
    async usageOf(day) {
      await db.deleteFrom('call_usage').where('day', '!=', day).execute();
      const rows = await db.selectFrom('call_usage').select(['who', 'calls', 'countries']).execute();
      return new Map(
        rows.map(({ who, calls, countries }) => [
          who,
          { calls, countries: countries.split(' ').filter(Boolean) },
        ]),
      );
    },
    async keepUsage(who, day, { calls, countries }) {
      const row = { calls, countries: countries.join(' ') };
      await db
        .insertInto('call_usage')
        .values({ who, day, ...row })
        .onConflict((c) => c.columns(['who', 'day']).doUpdateSet(row))
        .execute();
    },
  };
}
