import type { Kysely, Transaction } from 'kysely';

/** One forward step of a feature's own tables. `id` is unique in the feature and sorts in order, e.g. `0001-sessions`. */
export interface Migration {
  readonly id: string;
  up(db: Transaction<unknown>): Promise<void>;
}

/**
 * The relational store. Features own their tables and describe them in a `Tables` interface of their own:
 * `store.db<MyTables>()`. A write that the database refuses now (locked, disk full, read-only) is `store_unavailable`.
 */
export interface Store {
  db<T>(): Kysely<T>;
  /** One writer at a time; rolled back when `work` throws. Never await anything but the given transaction inside. */
  transaction<T, R>(work: (trx: Transaction<T>) => Promise<R>): Promise<R>;
  /** Runs what has not run yet of one feature, each step in its own transaction. */
  migrate(feature: string, migrations: readonly Migration[]): Promise<void>;
  /** Bytes free where the store lives. */
  freeBytes(): Promise<number>;
  close(): Promise<void>;
}
