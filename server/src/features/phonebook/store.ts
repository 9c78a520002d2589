import type { Transaction } from 'kysely';
import type { Store } from '../../ports/store.ts';
import { readsIn } from './reads.ts';
import { columnsOf, keyOf, textOf } from './rows.ts';
import type { CustomerRow } from './rows.ts';
import { searchIn } from './search.ts';
import { migrations } from './tables.ts';
import type { Tables } from './tables.ts';

/** A write in the same transaction as a change. */
export type Also = (trx: Transaction<unknown>, id: number) => Promise<void>;
/** Every method throws `store_unavailable` when the database refuses. */
export type PhonebookStore = Awaited<ReturnType<typeof createPhonebookStore>>;

/** Runs the migrations. */
export async function createPhonebookStore(store: Store) {
  await store.migrate('phonebook', migrations);
  const db = store.db<Tables>();
  return { ...readsIn(db), ...searchIn(db), ...writesIn(store) };
}

/** Changes of customers; `also` is committed with the change or not at all. */
function writesIn(store: Store) {
  let touched: (keys: ReadonlySet<string>) => void = () => {};
  async function write<R>(work: (db: Writing) => Promise<R>): Promise<R> {
    const keys = new Set<string>();
    const result = await store.transaction<Tables, R>((trx) => work({ trx, keys }));
    if (keys.size > 0) touched(keys);
    return result;
  }
  const change = <R>(also: Also, work: (db: Writing) => Promise<[id: number, result: R]>) =>
    write(async (db) => {
      const [id, result] = await work(db);
      await also(db.trx as unknown as Transaction<unknown>, id);
      return result;
    });
  return {
    /** `listener` receives, after each commit, the keys of all numbers that the changed customers had or have. One listener. */
    onTouched: (listener: (keys: ReadonlySet<string>) => void): void => void (touched = listener),
    add: (row: Omit<CustomerRow, 'id'>, also: Also): Promise<CustomerRow> =>
      change(also, async (db) => {
        const added = await insert(db, row);
        return [added.id, added];
      }),
    replace: (row: CustomerRow, also: Also): Promise<void> =>
      change(also, async (db) => {
        await update(db, row);
        return [row.id, undefined];
      }),
    remove: (id: number, also: Also): Promise<void> =>
      change(also, async (db) => {
        await db.trx.deleteFrom('customers').where('id', '=', id).execute();
        await unindex(db, id);
        return [id, undefined];
      }),
    /** Stores all of them or none; `id` 0 is a new one. Returns their ids. */
    storeAll: (rows: readonly CustomerRow[]): Promise<readonly number[]> =>
      write(async (db) => {
        const stored: number[] = [];
        for (const row of rows) {
          if (row.id === 0) stored.push((await insert(db, row)).id);
          else {
            await update(db, row);
            stored.push(row.id);
          }
        }
        return stored;
      }),
    removeAll: (ids: readonly number[]): Promise<void> =>
      write(async (db) => {
        await db.trx.deleteFrom('customers').where('id', 'in', ids).execute();
        for (const id of ids) await unindex(db, id);
      }),
  };
}
/** A transaction, and the keys of the numbers that it touched. */
interface Writing {
  readonly trx: Transaction<Tables>;
  readonly keys: Set<string>;
}
async function insert(db: Writing, row: Omit<CustomerRow, 'id'>): Promise<CustomerRow> {
  const { id } = await db.trx
    .insertInto('customers')
    .values(columnsOf(row))
    .returning('id')
    .executeTakeFirstOrThrow();
  await index(db, { ...row, id });
  return { ...row, id };
}
async function update(db: Writing, row: CustomerRow): Promise<void> {
  await db.trx.updateTable('customers').set(columnsOf(row)).where('id', '=', row.id).execute();
  await unindex(db, row.id);
  await index(db, row);
}
async function index({ trx, keys }: Writing, row: CustomerRow): Promise<void> {
  const own = new Set(row.numbers.map(keyOf));
  if (own.size > 0)
    await trx
      .insertInto('customer_numbers')
      .values([...own].map((key) => ({ key, customer_id: row.id })))
      .execute();
  for (const key of own) keys.add(key);
  await trx
    .insertInto('customer_texts')
    .values({ id: row.id, text: textOf(row) })
    .execute();
}
async function unindex({ trx, keys }: Writing, id: number): Promise<void> {
  const gone = await trx
    .deleteFrom('customer_numbers')
    .where('customer_id', '=', id)
    .returning('key')
    .execute();
  for (const { key } of gone) keys.add(key);
  await trx.deleteFrom('customer_texts').where('id', '=', id).execute();
}
