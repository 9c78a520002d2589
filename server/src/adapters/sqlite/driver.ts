import { setTimeout as wait } from 'node:timers/promises';
import { CompiledQuery, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { DatabaseConnection, Dialect, Driver, QueryCompiler, QueryResult } from 'kysely';
import { ServiceError } from '../../core/errors.ts';
import { isBusy, unavailable } from './database.ts';
import type { Connection } from './database.ts';

/** How long a write goes on trying while another process holds the lock. */
const LOCK_WAIT_MS = 2_000;
/** How long a write waits for its turn behind the writes of this process. */
const TURN_WAIT_MS = 10_000;
const MAX_WAITING = 10_000;
/** Writes that share one flush of the disk at most. */
const MAX_GROUP = 64;

/** Tries again without blocking the event loop while the file is locked, at most `LOCK_WAIT_MS`. */
export async function whenFree<R>(file: string, work: () => R): Promise<R> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  for (let pause = 2; ; pause = Math.min(pause * 2, 100)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() + pause > deadline) throw unavailable(error, file);
    }
    await wait(pause);
  }
}

/** One holder at a time, first come first served; both the number of waiters and their patience are bounded. */
class Turn {
  #held = false;
  readonly #waiting: { take: () => void }[] = [];
  get isWanted(): boolean {
    return this.#waiting.length > 0;
  }
  async take(): Promise<void> {
    if (!this.#held) {
      this.#held = true;
      return;
    }
    if (this.#waiting.length >= MAX_WAITING) {
      throw new ServiceError('store_unavailable', 'too many writes are waiting', { retry_after_seconds: 5 });
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        reject(
          new ServiceError('store_unavailable', 'the writes before this one did not end', {
            retry_after_seconds: 5,
          }),
        );
      }, TURN_WAIT_MS);
      const entry = {
        take: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting.push(entry);
    });
  }
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#held = false;
    else next.take();
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #driver: SqliteDriver;
  /** True while this connection holds the writer's turn for a transaction. */
  writing = false;
  /** It came into a group of others, which its end does not end. */
  joined = false;
  constructor(driver: SqliteDriver) {
    this.#driver = driver;
  }
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { sql, parameters } = query;
    const { file, reader, writer, turn } = this.#driver;
    if (this.writing) return asResult(this.#now(() => writer.run(sql, parameters)));
    if (isRead(query)) return asResult(await whenFree(file, () => reader.run(sql, parameters)));
    await turn.take();
    if (!turn.isWanted && !this.#driver.isGrouped) {
      try {
        return asResult(await whenFree(file, () => writer.run(sql, parameters)));
      } finally {
        turn.give();
      }
    }
    await this.#driver.begin(this);
    try {
      const written = this.#now(() => writer.run(sql, parameters));
      await this.#driver.commitTransaction(this);
      return asResult(written);
    } finally {
      await this.#driver.rollbackTransaction(this);
    }
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
/** Text written by hand counts as a read only where its first word leaves no doubt. */
const isRead = (query: CompiledQuery): boolean =>
  query.query.kind === 'SelectQueryNode' ||
  (query.query.kind === 'RawNode' && /^\s*select\b/i.test(query.sql));

/**
 * Kysely over two connections of one file: reads never wait for writes and never see half of a transaction, and writes
 * take turns. Kysely's own SQLite driver has one connection, on which a read waits for every open transaction.
 */
export class SqliteDriver implements Driver {
  readonly file: string;
  readonly reader: Connection;
  readonly writer: Connection;
  readonly turn = new Turn();
  /** Who has written and waits for the commit. */
  #group: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  constructor(file: string, reader: Connection, writer: Connection) {
    this.file = file;
    this.reader = reader;
    this.writer = writer;
  }
  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return new SqliteConnection(this);
  }
  /** True while others wait for the commit that the holder of the turn shares. */
  get isGrouped(): boolean {
    return this.#group.length > 0;
  }
  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await this.turn.take();
    await this.begin(connection as SqliteConnection);
  }
  /** Begins for the holder of the turn, which is given away where that fails. */
  async begin(own: SqliteConnection): Promise<void> {
    own.joined = this.isGrouped;
    try {
      if (own.joined) this.writer.exec('savepoint member');
      else await whenFree(this.file, () => this.writer.exec('begin immediate'));
      own.writing = true;
    } catch (error) {
      this.#leave(own);
      throw unavailable(error, this.file);
    }
  }
  /**
   * Who waits for the turn writes into the same commit: a flush of the disk takes as long for all of them as for one.
   * Resolves when it is on the disk; throws where the disk refuses, to every one of them.
   */
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as SqliteConnection;
    this.#exec(own.joined ? 'release member' : '');
    own.writing = false;
    if (!this.turn.isWanted || this.#group.length >= MAX_GROUP) return this.#commit();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#group.push({ resolve, reject });
    this.turn.give();
    await promise;
  }
  /** Commits for everybody who waits for it, and gives the turn away. */
  #commit(): void {
    const group = this.#group;
    this.#group = [];
    try {
      // A full disk takes back what all of them wrote.
      if (!this.writer.inTransaction) {
        throw new ServiceError('store_unavailable', 'the disk took none of it', { retry_after_seconds: 5 });
      }
      this.#exec('commit');
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
      if (this.writer.inTransaction) this.writer.exec('rollback');
      throw error;
    } finally {
      this.turn.give();
    }
  }
  #exec(sql: string): void {
    try {
      this.writer.exec(sql);
    } catch (error) {
      throw unavailable(error, this.file);
    }
  }
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as SqliteConnection;
    if (!own.writing) return;
    own.writing = false;
    try {
      // A full disk already ends the transaction on SQLite's side.
      if (this.writer.inTransaction) {
        this.writer.exec(own.joined ? 'rollback to member; release member' : 'rollback');
      }
    } finally {
      this.#leave(own);
    }
  }
  /** The holder of the turn has nothing to commit; those who wrote before it may have nobody else to wait for. */
  #leave(own: SqliteConnection): void {
    if (!own.joined || (this.turn.isWanted && this.writer.inTransaction)) return this.turn.give();
    try {
      this.#commit();
    } catch {
      // Everybody it concerns was told.
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
  async destroy(): Promise<void> {
    await this.turn.take();
    this.reader.close();
    this.writer.close();
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
