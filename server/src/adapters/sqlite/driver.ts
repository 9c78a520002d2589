import { setTimeout as wait } from 'node:timers/promises';
import { CompiledQuery, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { DatabaseConnection, Dialect, Driver, QueryCompiler, QueryResult } from 'kysely';
import { Backoff } from '../../core/backoff.ts';
import { writeQueue } from '../../core/queue.ts';
import { isBusy, unavailable } from './database.ts';
import type { Commits } from './commits.ts';
import type { Connection, Written } from './database.ts';
import type { Flusher } from './flusher.ts';
import type { Commit, StoreSeal } from './store-seal.ts';

/** Limit of a write's retries while another process holds the lock. */
const LOCK_WAIT_MS = 2_000;
/** Limit for a write to wait behind other writes of this process. */
const TURN_WAIT_MS = 10_000;

/** Retries without blocking the event loop while the file is locked, at most `LOCK_WAIT_MS`. */
export async function whenFree<R>(file: string, work: () => R): Promise<R> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  let backoff: Backoff | undefined;
  for (;;) {
    try {
      return work();
    } catch (error) {
      backoff ??= new Backoff({ first_ms: 2, most_ms: 100 });
      const pause = backoff.next();
      if (!isBusy(error) || performance.now() + pause > deadline) throw unavailable(error, file);
      await wait(pause);
    }
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #driver: SqliteDriver;
  /** True while this connection holds the write queue for a transaction. */
  writing = false;
  /** True once a statement of the transaction may have written. */
  wrote = false;
  constructor(driver: SqliteDriver) {
    this.#driver = driver;
  }
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { sql, parameters } = query;
    const { file, reader, writer, writes } = this.#driver;
    if (this.writing) {
      this.wrote ||= changesRows(query);
      return asResult(this.#now(() => writer.run(sql, parameters)));
    }
    if (isRead(query)) return asResult(await whenFree(file, () => reader.run(sql, parameters)));
    const written = await writes.run(() => whenFree(file, () => this.#driver.write(sql, parameters)));
    await this.#driver.flush();
    return asResult(written);
  }
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    const { file, reader, writer } = this.#driver;
    if (!isRead(query)) throw new Error('only a select can be streamed');
    try {
      const rows = (this.writing ? writer : reader).iterate(query.sql, query.parameters);
      for (const row of rows) yield { rows: [row as R] };
    } catch (error) {
      throw unavailable(error, file);
    }
  }
  #now<R>(work: () => R): R {
    try {
      return work();
    } catch (error) {
      throw unavailable(error, this.#driver.file);
    }
  }
}

const asResult = <R>({ rows, changes, lastInsertRowid }: ReturnType<Connection['run']>): QueryResult<R> =>
  lastInsertRowid === undefined
    ? { rows: rows as R[] }
    : { rows: rows as R[], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
/** Hand-written SQL is a read only if it starts with `select`. */
const isRead = (query: CompiledQuery): boolean =>
  query.query.kind === 'SelectQueryNode' ||
  (query.query.kind === 'RawNode' && /^\s*select\b/i.test(query.sql));

/** False for a change of the schema: `offhook_migrations` gets a row in the same transaction. */
const changesRows = (query: CompiledQuery): boolean =>
  !isRead(query) && !/^(?:Create|Alter|Drop)/.test(query.query.kind);
/** A pragma changes no rows, and some have no effect within a transaction. */
const isPragma = (sql: string): boolean => /^\s*pragma\b/i.test(sql);

/**
 * Kysely over two connections to one file: reads never wait for writes and never see part of a transaction; writes are queued.
 * Kysely's own SQLite driver has one connection, on which a read waits for every open transaction.
 */
export class SqliteDriver implements Driver {
  readonly file: string;
  readonly reader: Connection;
  readonly writer: Connection;
  readonly flusher: Flusher;
  readonly commits: Commits;
  readonly seal: StoreSeal;
  readonly writes = writeQueue(TURN_WAIT_MS);
  #newest: Commit = { count: 0, at: 0 };
  constructor(parts: Pick<SqliteDriver, 'file' | 'reader' | 'writer' | 'flusher' | 'commits' | 'seal'>) {
    this.file = parts.file;
    this.reader = parts.reader;
    this.writer = parts.writer;
    this.flusher = parts.flusher;
    this.commits = parts.commits;
    this.seal = parts.seal;
  }
  /** Commits a single statement. */
  write(sql: string, parameters: readonly unknown[]): Written {
    if (isPragma(sql)) return this.writer.run(sql, parameters);
    let commit = this.#newest;
    const written = this.writer.runWhole(sql, parameters, () => (commit = this.commits.next()));
    this.#newest = commit;
    return written;
  }
  /** Flushes committed writes to the disk, then writes the number of the newest commit to the seal. */
  async flush(): Promise<void> {
    const newest = this.#newest;
    await this.flusher.flush();
    this.seal.write(this.commits.id, newest);
  }
  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return new SqliteConnection(this);
  }
  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as SqliteConnection;
    await this.writes.take();
    try {
      await whenFree(this.file, () => this.writer.exec('begin immediate'));
      own.writing = true;
      own.wrote = false;
    } catch (error) {
      this.writes.give();
      throw error;
    }
  }
  /** Resolves when it is on the disk; the write queue is released before, so that later transactions share the next flush. */
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as SqliteConnection;
    try {
      const commit = own.wrote ? this.commits.next() : this.#newest;
      this.writer.exec('commit');
      this.#newest = commit;
    } catch (error) {
      throw unavailable(error, this.file);
    }
    own.writing = false;
    this.writes.give();
    await this.flush();
  }
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as SqliteConnection;
    if (!own.writing) return;
    own.writing = false;
    try {
      // A full disk already ends the transaction on SQLite's side.
      if (this.writer.inTransaction) this.writer.exec('rollback');
    } finally {
      this.writes.give();
    }
  }
  async savepoint(
    connection: DatabaseConnection,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await this.#savepoint(connection, 'savepoint', name, compile);
  }
  async rollbackToSavepoint(
    connection: DatabaseConnection,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await this.#savepoint(connection, 'rollback to', name, compile);
  }
  async releaseSavepoint(
    connection: DatabaseConnection,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await this.#savepoint(connection, 'release', name, compile);
  }
  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await this.rollbackTransaction(connection);
  }
  /** Moves the write-ahead log, which holds old pages, into the file and truncates it. False where a reader still uses it. */
  async forget(): Promise<boolean> {
    for (const deadline = performance.now() + LOCK_WAIT_MS; ;) {
      await this.writes.take();
      try {
        const { rows } = this.writer.run('pragma wal_checkpoint(truncate)', []);
        if (rows[0]?.['busy'] === 0) return true;
      } catch (error) {
        if (!isBusy(error)) throw unavailable(error, this.file);
      } finally {
        // Lets other writes run between two attempts.
        this.writes.give();
      }
      if (performance.now() > deadline) return false;
      await wait(50);
    }
  }
  async destroy(): Promise<void> {
    await this.writes.take();
    await this.flusher.close();
    this.reader.close();
    this.writer.close();
    this.seal.close();
  }
  async #savepoint(
    connection: DatabaseConnection,
    verb: string,
    name: string,
    _compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`${verb} "${name.replaceAll('"', '""')}"`));
  }
}

class TwoConnectionAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

export const sqliteDialect = (driver: SqliteDriver): Dialect => ({
  createDriver: () => driver,
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createAdapter: () => new TwoConnectionAdapter(),
  createIntrospector: (db) => new SqliteIntrospector(db),
});
