import type { Kysely, Transaction } from 'kysely';

/** One forward step of a feature's own tables. `id` is unique in the feature and sorts in order, e.g. `0001-sessions`. */
export interface Migration {
  readonly id: string;
  up(db: Transaction<unknown>): Promise<void>;
}

/** Commits that a store lost: its log was cut or removed, or an older copy was put in its place. Times are ms since 1970. */
export interface StoreGap {
  /** Grows from gap to gap. */
  readonly id: number;
  /** Newest commit that is left, or the newest lost one where that is not known. */
  readonly from: number;
  /** Newest commit that is lost. */
  readonly to: number;
  readonly writes: number;
  readonly found: number;
  /** Whether its event is in the journal. */
  readonly told: boolean;
}

/**
 * The relational store. Features own their tables and describe them in a `Tables` interface of their own:
 * `store.db<MyTables>()`. What the database refuses now (locked, disk full, read-only, out of reach) is `store_unavailable`,
 * also a read. What a statement means everywhere is in `test/conformance/store-sql.ts`; beyond it databases differ:
 * where nulls may be in an order, say `nullsFirst` or `nullsLast`; divide by a literal or a column, never by a parameter; give
 * `like` its escape; name the table where `doUpdateSet` reads a column; never go on in a transaction after a statement of it
 * failed, except from a savepoint; whole numbers up to 2^53; booleans are numbers.
 */
export interface Store {
  db<T>(): Kysely<T>;
  /** One writer at a time; rolled back when `work` throws. Never await anything but the given transaction inside. */
  transaction<T, R>(work: (trx: Transaction<T>) => Promise<R>): Promise<R>;
  /**
   * Runs what has not run yet of one feature, each step in its own transaction. Where the database is out of reach this is made
   * up for later, before anything else is read or written.
   */
  migrate(feature: string, migrations: readonly Migration[]): Promise<void>;
  /** Bytes free where the store lives; infinite where that is not ours to see. */
  freeBytes(): Promise<number>;
  /**
   * Leaves nothing of what was deleted or changed in the files of the store; false where it does, now or because they are not
   * ours.
   */
  forget(): Promise<boolean>;
  close(): Promise<void>;
}
