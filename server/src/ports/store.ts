import type { Kysely, Transaction } from 'kysely';

/** One forward step of a feature's own tables. `id` is unique within the feature and sorts in order, e.g. `0001-sessions`. */
export interface Migration {
  readonly id: string;
  up(db: Transaction<unknown>): Promise<void>;
}

/** Commits a store lost: its log was cut or removed, or an older copy was restored. Times are ms since 1970. */
export interface StoreGap {
  /** Grows from gap to gap. */
  readonly id: number;
  /** Newest commit that is left, or the newest lost one where that is not known. */
  readonly from: number;
  /** Newest lost commit. */
  readonly to: number;
  readonly writes: number;
  readonly found: number;
  /** Whether its event is in the journal. */
  readonly reported: boolean;
}

/**
 * The relational store. Features own their tables and describe them in their own `Tables` interface: `store.db<MyTables>()`. A
 * statement the database refuses now (locked, disk full, read-only, unreachable) throws `store_unavailable`, reads included.
 * `test/conformance/store-sql.ts` defines what SQL means in every database; beyond it databases differ: order nulls by
 * `nullsFirst` or `nullsLast`; divide by a literal or a column, never by a parameter; give `like` its escape; name the table
 * where `doUpdateSet` reads a column; never continue a transaction after a failed statement, except from a savepoint; whole
 * numbers up to 2^53; booleans are numbers.
 */
export interface Store {
  db<T>(): Kysely<T>;
  /** One writer at a time; rolled back when `work` throws. Await only the given transaction inside. */
  transaction<T, R>(work: (trx: Transaction<T>) => Promise<R>): Promise<R>;
  /**
   * Runs the pending migrations of one feature, each in its own transaction. While the database is unreachable they are
   * deferred and run before any other statement.
   */
  migrate(feature: string, migrations: readonly Migration[]): Promise<void>;
  /** Free bytes on the store's disk; infinite for a remote database. */
  freeBytes(): Promise<number>;
  /**
   * Removes deleted and changed content from the files of the store; false where content remains, now or because the files are
   * not ours.
   */
  forget(): Promise<boolean>;
  close(): Promise<void>;
}
