import type { Generated, Selectable, Transaction } from 'kysely';
import type { Scope } from '@offhook/contract/keys.ts';
import { createTable } from '../../core/schema.ts';
import type { Migration, Store } from '../../ports/store.ts';

interface Tables {
  api_keys: {
    id: Generated<number>;
    name: string;
    /** SHA-256 of the whole key, base64url. */
    hash: string;
    /** JSON arrays; null is every object of the kind. */
    scopes: string;
    queues: string | null;
    extensions: string | null;
    board: number | null;
    created_at: number;
    created_by: string;
    expires_at: number | null;
    last_used_at: number | null;
  };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-api-keys',
    async up(db) {
      // `autoincrement` never assigns an id twice: the audit trail still names deleted keys by their id.
      await createTable(db.schema)`api_keys (
        id integer primary key autoincrement, name text not null unique, hash text not null unique,
        scopes text not null, queues text, extensions text, created_at integer not null, created_by text not null,
        expires_at integer, last_used_at integer, board integer)`;
    },
  },
];

/** A key as memory and the table hold it; times in milliseconds since 1970. */
export interface KeyRow {
  readonly id: number;
  readonly name: string;
  readonly hash: string;
  readonly scopes: readonly Scope[];
  readonly queues: readonly string[] | null;
  readonly extensions: readonly string[] | null;
  /** The wallboard of a display's key, which then decides instead of `queues` and `extensions`; null for other keys. */
  readonly board: number | null;
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
}
type Stored = Selectable<Tables['api_keys']>;
const list = (text: string | null): string[] | null =>
  text === null ? null : (JSON.parse(text) as string[]);
const text = (names: readonly string[] | null): string | null =>
  names === null ? null : JSON.stringify(names);
const rowOf = (stored: Stored): KeyRow => ({
  ...stored,
  scopes: JSON.parse(stored.scopes) as Scope[],
  queues: list(stored.queues),
  extensions: list(stored.extensions),
});
const columnsOf = (row: Omit<KeyRow, 'id'>): Omit<Stored, 'id'> => ({
  name: row.name,
  hash: row.hash,
  scopes: JSON.stringify(row.scopes),
  queues: text(row.queues),
  extensions: text(row.extensions),
  board: row.board,
  created_at: row.created_at,
  created_by: row.created_by,
  expires_at: row.expires_at,
  last_used_at: row.last_used_at,
});
/** Writes that belong to one transaction with a change. */
export type InTransaction = (trx: Transaction<unknown>) => Promise<void>;

export type KeyStore = Awaited<ReturnType<typeof createKeyStore>>;
/** Every method throws `store_unavailable` if the database refuses. `also` commits together with the change. */
export async function createKeyStore(store: Store) {
  await store.migrate('api-keys', migrations);
  const change = <R>(work: (trx: Transaction<Tables>) => Promise<R>): Promise<R> =>
    store.transaction<Tables, R>(work);
  return {
    async all(): Promise<KeyRow[]> {
      const rows = await store.db<Tables>().selectFrom('api_keys').selectAll().orderBy('id').execute();
      return rows.map(rowOf);
    },
    add(row: Omit<KeyRow, 'id'>, also: (id: number) => InTransaction): Promise<KeyRow> {
      return change(async (trx) => {
        const { id } = await trx
          .insertInto('api_keys')
          .values(columnsOf(row))
          .returning('id')
          .executeTakeFirstOrThrow();
        await also(id)(trx as unknown as Transaction<unknown>);
        return { ...row, id };
      });
    },
    replace(row: KeyRow, also: InTransaction): Promise<void> {
      return change(async (trx) => {
        await trx.updateTable('api_keys').set(columnsOf(row)).where('id', '=', row.id).execute();
        await also(trx as unknown as Transaction<unknown>);
      });
    },
    remove(id: number, also: InTransaction): Promise<void> {
      return change(async (trx) => {
        await trx.deleteFrom('api_keys').where('id', '=', id).execute();
        await also(trx as unknown as Transaction<unknown>);
      });
    },
    used(at: ReadonlyMap<number, number>): Promise<void> {
      return change(async (trx) => {
        for (const [id, last_used_at] of at) {
          await trx.updateTable('api_keys').set({ last_used_at }).where('id', '=', id).execute();
        }
      });
    },
  };
}
