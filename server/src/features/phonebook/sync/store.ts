import type { Generated, Selectable, Transaction } from 'kysely';
import { LdapSettings } from '@offhook/contract/phonebook-sources.ts';
import type { PhonebookSource } from '@offhook/contract/phonebook-sources.ts';
import { createTable } from '../../../core/schema.ts';
import type { SyncEnd } from '../../../outbound/sync-schedule.ts';
import type { Migration, Store } from '../../../ports/store.ts';
import type { SourceConfig } from './reader.ts';

interface SourcesTable {
  id: Generated<number>;
  title: string;
  kind: PhonebookSource['kind'];
  /** JSON of `SourceConfig`, with the password. */
  config: string;
  enabled: number;
  /** Cursor after the last sync; null reads the whole source. */
  cursor: string | null;
  at: number | null;
  customers: number;
  created_at: number;
  created_by: string;
}
interface Tables {
  phonebook_sources: SourcesTable;
  /** One row for each entry of a source that was read; an empty tag is read again. */
  phonebook_source_entries: { source: number; entry: string; tag: string };
}
export const migrations: readonly Migration[] = [
  {
    id: '0170-phonebook-sources',
    async up(db) {
      // Ids are never reused, because customers name their source by its id.
      await createTable(db.schema)`phonebook_sources (
        id integer primary key autoincrement, title text not null, kind text not null, config text not null,
        enabled integer not null, cursor text, at integer, customers integer not null, created_at integer not null,
        created_by text not null)`;
      await createTable(db.schema)`phonebook_source_entries (
        source integer not null, entry text not null, tag text not null,
        constraint phonebook_source_entries_key primary key (source, entry))`;
    },
  },
];

export interface SourceRow extends Omit<Selectable<SourcesTable>, 'config' | 'enabled'> {
  readonly config: SourceConfig;
  readonly enabled: boolean;
}
/** The end of the last sync, with its cursor. */
export type SourceEnd = SyncEnd & Pick<SourceRow, 'cursor'>;
/** A write in the same transaction as a change. */
export type Also = (trx: Transaction<unknown>, id: number) => Promise<void>;

function rowOf({ config, enabled, ...row }: Selectable<SourcesTable>): SourceRow {
  const { ldap = null, ...stored } = JSON.parse(config) as Omit<SourceConfig, 'ldap'> & { ldap?: unknown };
  // An earlier version stored fewer settings.
  return {
    ...row,
    config: { ...stored, ldap: LdapSettings.nullable().parse(ldap) },
    enabled: enabled === 1,
  };
}
const columnsOf = ({ title, config, enabled }: Pick<SourceRow, 'title' | 'config' | 'enabled'>) => ({
  title,
  config: JSON.stringify(config),
  enabled: Number(enabled),
});
const untyped = (trx: Transaction<Tables>): Transaction<unknown> => trx as unknown as Transaction<unknown>;

export type SourceStore = Awaited<ReturnType<typeof createSourceStore>>;
/** Runs the migrations. Every method throws `store_unavailable`. */
export async function createSourceStore(store: Store) {
  await store.migrate('phonebook-sources', migrations);
  const db = store.db<Tables>();
  const change = <R>(work: (trx: Transaction<Tables>) => Promise<R>): Promise<R> =>
    store.transaction<Tables, R>(work);
  return {
    all: async (): Promise<SourceRow[]> =>
      (await db.selectFrom('phonebook_sources').selectAll().orderBy('id').execute()).map(rowOf),
    add: ({ config, enabled, ...row }: Omit<SourceRow, 'id'>, also: Also): Promise<number> =>
      change(async (trx) => {
        const { id } = await trx
          .insertInto('phonebook_sources')
          .values({ ...row, ...columnsOf({ ...row, config, enabled }) })
          .returning('id')
          .executeTakeFirstOrThrow();
        await also(untyped(trx), id);
        return id;
      }),
    /** `rereads`: the next sync reads every entry again. */
    change: (row: SourceRow, rereads: boolean, also: Also): Promise<void> =>
      change(async (trx) => {
        const { id } = row;
        const again = rereads ? { cursor: null, at: null } : {};
        await trx
          .updateTable('phonebook_sources')
          .set({ ...columnsOf(row), ...again })
          .where('id', '=', id)
          .execute();
        if (rereads)
          await trx
            .updateTable('phonebook_source_entries')
            .set({ tag: '' })
            .where('source', '=', id)
            .execute();
        await also(untyped(trx), id);
      }),
    remove: (id: number, also: Also): Promise<void> =>
      change(async (trx) => {
        await trx.deleteFrom('phonebook_sources').where('id', '=', id).execute();
        await trx.deleteFrom('phonebook_source_entries').where('source', '=', id).execute();
        await also(untyped(trx), id);
      }),
    async end(id: number): Promise<SourceEnd> {
      const row = db.selectFrom('phonebook_sources').select(['cursor', 'at', 'customers']);
      return row.where('id', '=', id).executeTakeFirstOrThrow();
    },
    putEnd: (id: number, end: SourceEnd): Promise<void> =>
      change(async (trx) => {
        await trx.updateTable('phonebook_sources').set(end).where('id', '=', id).execute();
      }),
    async tags(source: number): Promise<Map<string, string>> {
      const rows = db.selectFrom('phonebook_source_entries').select(['entry', 'tag']);
      const all = await rows.where('source', '=', source).execute();
      return new Map(all.map(({ entry, tag }) => [entry, tag]));
    },
    putTags: (
      source: number,
      entries: readonly { readonly id: string; readonly tag: string }[],
    ): Promise<void> =>
      change(async (trx) => {
        for (const { id, tag } of entries)
          await trx
            .insertInto('phonebook_source_entries')
            .values({ source, entry: id, tag })
            .onConflict((conflict) => conflict.columns(['source', 'entry']).doUpdateSet({ tag }))
            .execute();
      }),
    removeTags: (source: number, entries: readonly string[]): Promise<void> =>
      change(async (trx) => {
        for (const entry of entries)
          await trx
            .deleteFrom('phonebook_source_entries')
            .where('source', '=', source)
            .where('entry', '=', entry)
            .execute();
      }),
  };
}
