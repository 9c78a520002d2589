import {
  CompiledQuery,
  HandleEmptyInListsPlugin,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  replaceWithNoncontingentExpression,
} from 'kysely';
import type { DatabaseConnection, Driver, QueryResult } from 'kysely';
import { ServiceError } from '../../core/errors.ts';
import type { Answer, Begun, Link, Session } from './link.ts';
import { translation } from './translate.ts';

const SLOW_MS = 30 * 60_000;

class Connection implements DatabaseConnection {
  readonly #link: Link;
  readonly #patience: number | undefined;
  /** Session of this connection's transaction. */
  writing: Session | undefined;
  begun: Begun | undefined;
  constructor(link: Link, patience: number | undefined) {
    this.#link = link;
    this.#patience = patience;
  }
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { sql, parameters } = query;
    const link = this.#link;
    if (this.writing !== undefined)
      return asResult(await link.ask(this.writing, sql, parameters, this.#patience));
    if (isRead(query)) return asResult(await link.reading((session) => link.ask(session, sql, parameters)));
    await link.writes.take();
    try {
      return asResult(await link.ask(await link.writer(), sql, parameters));
    } finally {
      link.writes.give();
    }
  }
  async *streamQuery<R>(query: CompiledQuery, chunk = 100): AsyncIterableIterator<QueryResult<R>> {
    if (!isRead(query)) throw new Error('only a select can be streamed');
    const link = this.#link;
    const own = this.writing === undefined ? await link.reader() : undefined;
    const session = own ?? this.writing!;
    let whole = false;
    try {
      if (own) await link.ask(session, 'begin');
      await link.ask(session, `declare offhook_rows no scroll cursor for ${query.sql}`, query.parameters);
      for (;;) {
        const { rows } = await link.ask(session, FETCH(chunk));
        for (const row of rows) yield { rows: [row as R] };
        if (rows.length < chunk) break;
      }
      await link.ask(session, 'close offhook_rows');
      if (own) await link.ask(session, 'commit');
      whole = true;
    } finally {
      own?.release(!whole);
    }
  }
}

const FETCH = (chunk: number): string => `fetch ${Math.trunc(chunk)} from offhook_rows`;
const WRITES: readonly string[] = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'];
const asResult = <R>({ rows, command, affected }: Answer): QueryResult<R> => ({
  rows: rows as R[],
  ...(WRITES.includes(command) ? { numAffectedRows: BigInt(affected) } : {}),
});
/** Hand-written SQL is a read only if it starts with `select`. */
const isRead = (query: CompiledQuery): boolean =>
  query.query.kind === 'SelectQueryNode' ||
  (query.query.kind === 'RawNode' && /^\s*select\b/i.test(query.sql));

/** Reads go to any reading session; writes queue for the writing one. `ready` is awaited before each use. */
class PostgresDriver implements Driver {
  readonly #link: Link;
  readonly #ready: () => Promise<void>;
  readonly #slow: boolean;
  constructor(link: Link, ready: () => Promise<void>, slow: boolean) {
    this.#link = link;
    this.#ready = ready;
    this.#slow = slow;
  }
  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    await this.#ready();
    return new Connection(this.#link, this.#slow ? SLOW_MS : undefined);
  }
  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#link.writes.take();
    let session: Session | undefined;
    try {
      session = await this.#link.writer();
      const begun = await this.#link.begin(session);
      if (this.#slow) await this.#link.ask(session, 'set local statement_timeout = 0');
      Object.assign(connection, { writing: session, begun });
    } catch (error) {
      // The server refuses every later statement of a transaction that began and failed.
      if (session !== undefined) this.#link.drop(session);
      this.#link.writes.give();
      throw error;
    }
  }
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as Connection;
    const command = await this.#commit(own);
    own.writing = undefined;
    this.#link.writes.give();
    if (command === 'ROLLBACK') {
      throw new Error(
        'a statement of the transaction failed and its error was ignored: the transaction was rolled back',
      );
    }
  }
  /** Resolves with what the server did. A commit whose answer was lost counts as one if the server has it. */
  async #commit({ writing, begun }: Connection): Promise<string> {
    const link = this.#link;
    try {
      return (await link.ask(writing!, 'commit')).command;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      link.drop(writing!);
      if (!(await link.isCommitted(begun!))) throw error;
      return 'COMMIT';
    }
  }
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as Connection;
    const session = own.writing;
    if (session === undefined) return;
    own.writing = undefined;
    try {
      await this.#link.ask(session, 'rollback');
    } catch {
      // The server rolls back the transaction of a client that left.
      this.#link.drop(session);
    } finally {
      this.#link.writes.give();
    }
  }
  async savepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await this.#savepoint(connection, 'savepoint', name);
  }
  async rollbackToSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await this.#savepoint(connection, 'rollback to', name);
  }
  async releaseSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await this.#savepoint(connection, 'release', name);
  }
  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await this.rollbackTransaction(connection);
  }
  async destroy(): Promise<void> {}
  async #savepoint(connection: DatabaseConnection, verb: string, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`${verb} "${name.replaceAll('"', '""')}"`));
  }
}

/** `slow` removes the limit, for transactions that change large tables. */
export const kyselyOver = (
  link: Link,
  ready: () => Promise<void>,
  { slow = false }: { readonly slow?: boolean } = {},
): Kysely<unknown> =>
  new Kysely<unknown>({
    dialect: {
      createDriver: () => new PostgresDriver(link, ready, slow),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
    plugins: [translation(), new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
  });
