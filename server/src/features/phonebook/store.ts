import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { digitsOf, fold } from '@offhook/contract/search.ts';
import { newestWith } from '../../core/text-index.ts';
import { nationalOf } from '../../numbers/e164.ts';
import type { Store } from '../../ports/store.ts';
import { EVERYONE, migrations } from './tables.ts';
import type { CustomersTable, Tables } from './tables.ts';

/** A customer as the tables hold it. */
export interface CustomerRow extends Omit<Customer, 'shared' | 'updated_at'> {
  /** 0: shared. */
  readonly person_id: number;
  /** Milliseconds since 1970. */
  readonly updated_at: number;
}
type Number_ = Customer['numbers'][number];
/** What a number is found by. */
export const keyOf = ({ number, e164 }: Pick<Number_, 'number' | 'e164'>): string => e164 ?? number;

const rowOf = (row: Selectable<CustomersTable>): CustomerRow => ({
  ...row,
  numbers: JSON.parse(row.numbers) as Number_[],
  emails: JSON.parse(row.emails) as string[],
  vip: row.vip === 1,
  blocked: row.blocked === 1,
});
const columnsOf = ({ id: _id, ...row }: CustomerRow) => ({
  ...row,
  numbers: JSON.stringify(row.numbers),
  emails: JSON.stringify(row.emails),
  vip: row.vip ? 1 : 0,
  blocked: row.blocked ? 1 : 0,
});
/** Folded lines; a number in the spellings that people type the beginning of. */
function textOf({ name, company, emails, numbers }: CustomerRow): string {
  const spelled = numbers.flatMap(({ number, e164 }) => {
    const national = e164 === null ? undefined : nationalOf(e164)?.national;
    return [number, ...(e164 === null ? [] : [e164]), ...(national === undefined ? [] : [`0${national}`])];
  });
  return [...new Set([name, company ?? '', ...emails].map(fold).concat(spelled))].join('\n');
}
/** Words of a search; a number is one word without its separators. */
function wordsOf(q: string): readonly string[] {
  const digits = digitsOf(q);
  if (digits !== null) return [digits.replace(/^00(?=[1-9])/, '+')];
  return fold(q)
    .split(' ')
    .filter((word) => word !== '');
}
/** Whose customers are read: the shared ones and those of this person. */
const mine = (person: number): readonly number[] => (person > 0 ? [EVERYONE, person] : [EVERYONE]);
/** Ids read of a search at a time after the first block; others' personal customers are among them. */
const AT_ONCE = 256;
/** Reads of one page of a search. */
const MOST_READS = 8;
const NEWEST = Number.MAX_SAFE_INTEGER;

/** A write in the same transaction as a change. */
export type Also = (trx: Transaction<unknown>, id: number) => Promise<void>;
export interface Page {
  readonly rows: readonly CustomerRow[];
  /** Id below which the list continues; null at its end. */
  readonly next: number | null;
}
/** Every method throws `store_unavailable` when the database refuses. `also` is committed with the change or not at all. */
export interface PhonebookStore {
  /** Number of customers of each person; 0 is the shared ones. */
  counts(): Promise<Map<number, number>>;
  one(id: number): Promise<CustomerRow | undefined>;
  /** Customers that this person sees, newest first. */
  page(person: number, before: number | null, limit: number): Promise<Page>;
  search(person: number, q: string, before: number | null, limit: number): Promise<Page>;
  /** Those that this person sees with one of the keys: personal ones first, then the newest. */
  withKey(person: number, key: string, limit: number): Promise<readonly CustomerRow[]>;
  /** All customers, oldest first. */
  after(id: number, limit: number): Promise<readonly CustomerRow[]>;
  add(row: Omit<CustomerRow, 'id'>, also: Also): Promise<CustomerRow>;
  replace(row: CustomerRow, also: Also): Promise<void>;
  remove(id: number, also: Also): Promise<void>;
}

/** Runs the migrations. */
export async function createPhonebookStore(store: Store): Promise<PhonebookStore> {
  await store.migrate('phonebook', migrations);
  const db = store.db<Tables>();
  const change = <R>(also: Also, work: (trx: Transaction<Tables>) => Promise<[id: number, result: R]>) =>
    store.transaction<Tables, R>(async (trx) => {
      const [id, result] = await work(trx);
      await also(trx as unknown as Transaction<unknown>, id);
      return result;
    });
  const read = async (ids: readonly number[], person: number): Promise<CustomerRow[]> =>
    ids.length === 0
      ? []
      : (
          await db
            .selectFrom('customers')
            .selectAll()
            .where('id', 'in', ids)
            .where('person_id', 'in', mine(person))
            .orderBy('id', 'desc')
            .execute()
        ).map(rowOf);
  return {
    async counts() {
      const rows = await db
        .selectFrom('customers')
        .select(['person_id', (e) => e.fn.countAll<number>().as('n')])
        .groupBy('person_id')
        .execute();
      return new Map(rows.map(({ person_id, n }) => [person_id, Number(n)]));
    },
    async one(id) {
      const row = await db.selectFrom('customers').selectAll().where('id', '=', id).executeTakeFirst();
      return row === undefined ? undefined : rowOf(row);
    },
    async page(person, before, limit) {
      // One after the other by its own index: together, both would be sorted.
      const found: CustomerRow[] = [];
      for (const id of mine(person)) {
        const rows = await db
          .selectFrom('customers')
          .selectAll()
          .where('person_id', '=', id)
          .where('id', '<', before ?? NEWEST)
          .orderBy('id', 'desc')
          .limit(limit + 1)
          .execute();
        found.push(...rows.map(rowOf));
      }
      const rows = found.sort((a, b) => b.id - a.id).slice(0, limit);
      return { rows, next: found.length > limit ? rows.at(-1)!.id : null };
    },
    async search(person, q, before, limit) {
      const words = wordsOf(q);
      const rows: CustomerRow[] = [];
      let next: number | null = before ?? NEWEST;
      for (let reads = 0; next !== null && reads < MOST_READS && rows.length <= limit; reads += 1) {
        const block: Awaited<ReturnType<typeof newestWith>> = await newestWith(
          db,
          'customer_texts',
          words,
          next,
          reads === 0 ? limit + 1 : AT_ONCE,
        );
        rows.push(...(await read(block.ids, person)));
        next = block.next;
      }
      const page = rows.slice(0, limit);
      return { rows: page, next: rows.length > limit ? page.at(-1)!.id : next };
    },
    async withKey(person, key, limit) {
      const rows = await db
        .selectFrom('customer_numbers as n')
        // In this order, which SQLite keeps for a cross join: by `person_id` first it would read all shared customers.
        .crossJoin('customers as c')
        .selectAll('c')
        .where('n.key', '=', key)
        .whereRef('c.id', '=', 'n.customer_id')
        .where('c.person_id', 'in', mine(person))
        .orderBy('c.person_id', 'desc')
        .orderBy('c.id', 'desc')
        .limit(limit)
        .execute();
      return rows.map(rowOf);
    },
    async after(id, limit) {
      const rows = await db
        .selectFrom('customers')
        .selectAll()
        .where('id', '>', id)
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(rowOf);
    },
    add: (row, also) =>
      change(also, async (trx) => {
        const { id } = await trx
          .insertInto('customers')
          .values(columnsOf({ ...row, id: 0 }))
          .returning('id')
          .executeTakeFirstOrThrow();
        await index(trx, { ...row, id });
        return [id, { ...row, id }];
      }),
    replace: (row, also) =>
      change(also, async (trx) => {
        await trx.updateTable('customers').set(columnsOf(row)).where('id', '=', row.id).execute();
        await unindex(trx, row.id);
        await index(trx, row);
        return [row.id, undefined];
      }),
    remove: (id, also) =>
      change(also, async (trx) => {
        await trx.deleteFrom('customers').where('id', '=', id).execute();
        await unindex(trx, id);
        return [id, undefined];
      }),
  };
}
async function index(db: Kysely<Tables>, row: CustomerRow): Promise<void> {
  const keys = new Set(row.numbers.map(keyOf));
  if (keys.size > 0)
    await db
      .insertInto('customer_numbers')
      .values([...keys].map((key) => ({ key, customer_id: row.id })))
      .execute();
  await db
    .insertInto('customer_texts')
    .values({ id: row.id, text: textOf(row) })
    .execute();
}
async function unindex(db: Kysely<Tables>, id: number): Promise<void> {
  await db.deleteFrom('customer_numbers').where('customer_id', '=', id).execute();
  await db.deleteFrom('customer_texts').where('id', '=', id).execute();
}
