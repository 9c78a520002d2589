import type { Kysely } from 'kysely';
import { NEWEST, isNamed, rowOf, seenBy } from './rows.ts';
import type { CustomerRow } from './rows.ts';
import { EVERYONE } from './tables.ts';
import type { Tables } from './tables.ts';

/** A part of a list, newest first. */
export interface Page {
  readonly rows: readonly CustomerRow[];
  /** Id below which the list continues; null at its end. */
  readonly next: number | null;
}
export interface Match {
  readonly row: CustomerRow;
  /** Number of customers with the key. */
  readonly matches: number;
}

/** Reads of customers by id, person and number. */
export function readsIn(db: Kysely<Tables>) {
  const customers = () => db.selectFrom('customers').selectAll();
  const origins = () =>
    db
      .selectFrom('customers')
      .select(['id', 'source', 'external_id', 'updated_at'])
      .where('person_id', '=', EVERYONE);
  return {
    /** Number of customers of each person; 0 is the shared ones. */
    async counts(): Promise<Map<number, number>> {
      const rows = await db
        .selectFrom('customers')
        .select(['person_id', (e) => e.fn.countAll<number>().as('n')])
        .groupBy('person_id')
        .execute();
      return new Map(rows.map(({ person_id, n }) => [person_id, Number(n)]));
    },
    async one(id: number): Promise<CustomerRow | undefined> {
      const row = await customers().where('id', '=', id).executeTakeFirst();
      return row === undefined ? undefined : rowOf(row);
    },
    /** Customers that this person sees, newest first. */
    page: (person: number, before: number | null, limit: number) => pageOf(db, person, before, limit),
    /** Blocked customers of exactly this person, newest first. */
    async blocked(person: number, before: number | null, limit: number): Promise<Page> {
      const rows = await customers()
        .where('person_id', '=', person)
        .where('blocked', '=', 1)
        .where('id', '<', before ?? NEWEST)
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      return { rows: rows.map(rowOf), next: rows.length === limit ? rows.at(-1)!.id : null };
    },
    /** All customers, oldest first. */
    async after(id: number, limit: number): Promise<readonly CustomerRow[]> {
      const rows = await customers().where('id', '>', id).orderBy('id').limit(limit).execute();
      return rows.map(rowOf);
    },
    /** Customers of exactly this person, oldest first. */
    async ofPerson(person: number, after: number, limit: number): Promise<readonly CustomerRow[]> {
      const rows = await customers()
        .where('person_id', '=', person)
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(rowOf);
    },
    /** Customers of exactly this person with one of the ids of their source; at most `limit`. */
    async withExternalIds(
      person: number,
      external_ids: readonly string[],
      limit: number,
    ): Promise<readonly CustomerRow[]> {
      if (external_ids.length === 0) return [];
      const rows = await customers()
        .where('external_id', 'in', external_ids)
        .where('person_id', '=', person)
        .limit(limit)
        .execute();
      return rows.map(rowOf);
    },
    /** Customers of exactly this person with one of the names and one of the keys; at most `limit`. */
    async named(
      person: number,
      names: readonly string[],
      keys: readonly string[],
      limit: number,
    ): Promise<readonly CustomerRow[]> {
      if (names.length === 0 || keys.length === 0) return [];
      const rows = await db
        .selectFrom('customer_numbers as n')
        .crossJoin('customer_texts as t')
        .crossJoin('customers as c')
        .selectAll('c')
        .where('n.key', 'in', keys)
        .whereRef('t.id', '=', 'n.customer_id')
        .where((e) => e.or(names.map(isNamed)))
        .whereRef('c.id', '=', 'n.customer_id')
        .where('c.person_id', '=', person)
        .limit(limit)
        .execute();
      return rows.map(rowOf);
    },
    /** Customers with this key that the person sees: personal ones first, each group newest first. */
    async withKey(person: number, key: string, limit: number): Promise<readonly CustomerRow[]> {
      const rows = await db
        .selectFrom('customer_numbers as n')
        // SQLite keeps the order of a cross join; with `customers` first it would read all shared customers.
        .crossJoin('customers as c')
        .selectAll('c')
        .where('n.key', '=', key)
        .whereRef('c.id', '=', 'n.customer_id')
        .where('c.person_id', 'in', seenBy(person))
        .orderBy('c.person_id', 'desc')
        .orderBy('c.id', 'desc')
        .limit(limit)
        .execute();
      return rows.map(rowOf);
    },
    /** For each key with a customer, by one query: the one that `withKey` lists first, and the number of all. */
    newestWith: (person: number, keys: readonly string[]) => newestWith(db, person, keys),
    /** Origin of the shared customers, oldest first. */
    origins: (after: number, limit: number) =>
      origins().where('id', '>', after).orderBy('id').limit(limit).execute(),
    originsOf: (ids: readonly number[]) => origins().where('id', 'in', ids).execute(),
  };
}
async function pageOf(
  db: Kysely<Tables>,
  person: number,
  before: number | null,
  limit: number,
): Promise<Page> {
  // One query for each person id reads in the order of the index; one for both would sort all rows.
  const found: CustomerRow[] = [];
  for (const id of seenBy(person)) {
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
}
async function newestWith(
  db: Kysely<Tables>,
  person: number,
  keys: readonly string[],
): Promise<Map<string, Match>> {
  const rows = await db
    .selectFrom((inner) =>
      inner
        .selectFrom('customer_numbers as n')
        .crossJoin('customers as c')
        .selectAll('c')
        .select([
          'n.key as key',
          (e) =>
            e.fn
              .countAll<number>()
              .over((o) => o.partitionBy('n.key'))
              .as('matches'),
          (e) =>
            e.fn
              .agg<number>('row_number')
              .over((o) => o.partitionBy('n.key').orderBy('c.person_id', 'desc').orderBy('c.id', 'desc'))
              .as('nth'),
        ])
        .where('n.key', 'in', keys)
        .whereRef('c.id', '=', 'n.customer_id')
        .where('c.person_id', 'in', seenBy(person))
        .as('found'),
    )
    .selectAll()
    .where('nth', '=', 1)
    .execute();
  return new Map(
    rows.map(({ key, matches, nth: _nth, ...row }) => [key, { row: rowOf(row), matches: Number(matches) }]),
  );
}
