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
/** Rows of one statement. */
const MOST_ROWS = 256;
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
        await unindex(db, [id]);
        return [id, undefined];
      }),
    /** Stores all of them or none; `id` 0 is a new one. Returns them with their ids. */
    storeAll: (rows: readonly CustomerRow[]): Promise<readonly CustomerRow[]> =>
      write(async (db) => {
        const known = rows.filter(({ id }) => id !== 0);
        for (const { id, ...row } of known)
          await db.trx.updateTable('customers').set(columnsOf(row)).where('id', '=', id).execute();
        await unindex(db, ids(known));
        const added = await insertAll(
          db,
          rows.filter(({ id }) => id === 0),
        );
        // All rows are indexed last, because the text index flushes its pending data before each other statement.
        const stored = [...known, ...added];
        await index(db, stored);
        return stored;
      }),
    removeAll: (gone: readonly number[]): Promise<void> =>
      write(async (db) => {
        for (const some of inStatements(gone))
          await db.trx.deleteFrom('customers').where('id', 'in', some).execute();
        await unindex(db, gone);
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
  await index(db, [{ ...row, id }]);
  return { ...row, id };
}
async function update(db: Writing, row: CustomerRow): Promise<void> {
  await db.trx.updateTable('customers').set(columnsOf(row)).where('id', '=', row.id).execute();
  await unindex(db, [row.id]);
  await index(db, [row]);
}
/** Inserts rows without indexing them. */
async function insertAll({ trx }: Writing, rows: readonly CustomerRow[]): Promise<readonly CustomerRow[]> {
  // A statement returns its rows in any order, so each is recognised by the id at its source.
  const byId = new Map(rows.flatMap((row) => (row.external_id === null ? [] : [[row.external_id, row]])));
  const added: CustomerRow[] = [];
  for (const some of inStatements([...byId.values()])) {
    const stored = await trx
      .insertInto('customers')
      .values(some.map(columnsOf))
      .returning(['id', 'external_id'])
      .execute();
    for (const { id, external_id } of stored) added.push({ ...byId.get(external_id!)!, id });
  }
  for (const row of rows) {
    if (row.external_id !== null && byId.get(row.external_id) === row) continue;
    const values = columnsOf(row);
    const { id } = await trx.insertInto('customers').values(values).returning('id').executeTakeFirstOrThrow();
    added.push({ ...row, id });
  }
  return added;
}
async function index({ trx, keys }: Writing, rows: readonly CustomerRow[]): Promise<void> {
  const numbers = rows.flatMap(({ id, numbers: own }) =>
    [...new Set(own.map(keyOf))].map((key) => ({ key, customer_id: id })),
  );
  for (const some of inStatements(numbers)) await trx.insertInto('customer_numbers').values(some).execute();
  for (const { key } of numbers) keys.add(key);
  const texts = rows.map((row) => ({ id: row.id, text: textOf(row) }));
  for (const some of inStatements(texts)) await trx.insertInto('customer_texts').values(some).execute();
}
async function unindex({ trx, keys }: Writing, gone: readonly number[]): Promise<void> {
  for (const some of inStatements(gone)) {
    const numbers = trx.deleteFrom('customer_numbers').where('customer_id', 'in', some);
    for (const { key } of await numbers.returning('key').execute()) keys.add(key);
    await trx.deleteFrom('customer_texts').where('id', 'in', some).execute();
  }
}
const ids = (rows: readonly CustomerRow[]): number[] => rows.map(({ id }) => id);
/** Parts for one statement each, of powers of two rows, so that the database keeps few statements prepared. */
function* inStatements<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0, rows = MOST_ROWS; at < all.length; at += rows) {
    while (rows > all.length - at) rows /= 2;
    yield all.slice(at, at + rows);
  }
}
