import type { Generated, Transaction } from 'kysely';
import type { BoardLayout } from '@offhook/contract/boards.ts';
import { createTable } from '../../core/schema.ts';
import type { Migration, Store } from '../../ports/store.ts';

interface Tables {
  boards: {
    id: Generated<number>;
    name: string;
    owner_id: number;
    owner: string;
    shared: number;
    /** JSON; null is every queue. */
    queues: string | null;
    layout: string;
    updated_at: number;
    version: number;
  };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-boards',
    async up(db) {
      // Never assigned again: a display may still use the id of a deleted board.
      await createTable(db.schema)`boards (
        id integer primary key autoincrement, name text not null, owner_id integer not null, owner text not null,
        shared integer not null, queues text, layout text not null, updated_at integer not null,
        version integer not null)`;
    },
  },
];

/** A board in memory and in its table. */
export interface BoardRow {
  readonly id: number;
  readonly name: string;
  /** The person's id, because an extension may get another owner. */
  readonly owner_id: number;
  readonly owner: string;
  readonly shared: boolean;
  readonly queues: readonly string[] | null;
  readonly layout: BoardLayout;
  /** Milliseconds since 1970. */
  readonly updated_at: number;
  readonly version: number;
}
const columnsOf = ({ id: _id, ...row }: BoardRow) => ({
  ...row,
  shared: row.shared ? 1 : 0,
  queues: row.queues === null ? null : JSON.stringify(row.queues),
  layout: JSON.stringify(row.layout),
});
/** Writes that belong to one transaction with a change. */
export type Also = (trx: Transaction<unknown>, id: number) => Promise<void>;

export type BoardStore = Awaited<ReturnType<typeof createBoardStore>>;
/** Every method throws `store_unavailable` if the database refuses. `also` commits together with the change. */
export async function createBoardStore(store: Store) {
  await store.migrate('boards', migrations);
  const change = <R>(also: Also, work: (trx: Transaction<Tables>) => Promise<[id: number, result: R]>) =>
    store.transaction<Tables, R>(async (trx) => {
      const [id, result] = await work(trx);
      await also(trx as unknown as Transaction<unknown>, id);
      return result;
    });
  return {
    async all(): Promise<BoardRow[]> {
      const rows = await store.db<Tables>().selectFrom('boards').selectAll().orderBy('id').execute();
      return rows.map((row) => ({
        ...row,
        shared: row.shared === 1,
        queues: row.queues === null ? null : (JSON.parse(row.queues) as string[]),
        layout: JSON.parse(row.layout) as BoardLayout,
      }));
    },
    add: (row: Omit<BoardRow, 'id'>, also: Also): Promise<BoardRow> =>
      change(also, async (trx) => {
        const { id } = await trx
          .insertInto('boards')
          .values(columnsOf({ ...row, id: 0 }))
          .returning('id')
          .executeTakeFirstOrThrow();
        return [id, { ...row, id }];
      }),
    replace: (row: BoardRow, also: Also): Promise<void> =>
      change(also, async (trx) => {
        await trx.updateTable('boards').set(columnsOf(row)).where('id', '=', row.id).execute();
        return [row.id, undefined];
      }),
    remove: (id: number, also: Also): Promise<void> =>
      change(also, async (trx) => {
        await trx.deleteFrom('boards').where('id', '=', id).execute();
        return [id, undefined];
      }),
  };
}
