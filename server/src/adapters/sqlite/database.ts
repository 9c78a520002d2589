import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { ServiceError, StartError, messageOf } from '../../core/errors.ts';
import { isUnreleased, olderStore } from '../../core/migrations.ts';

/** SQLite's primary result codes for temporary refusals, as opposed to errors. */
const NOT_NOW: ReadonlyMap<number, string> = new Map([
  [5, 'another program holds the lock'],
  [6, 'another program holds the lock'],
  [7, 'out of memory'],
  [8, 'the file is read-only'],
  [10, 'the disk reported an error'],
  [11, 'the file is damaged'],
  [13, 'the disk is full'],
  [14, 'the file cannot be opened'],
  [26, 'the file is not a database'],
]);
const primary = (error: unknown): number => {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : 0;
};
/** True where another process holds the lock, so that a retry can help soon. */
export const isBusy = (error: unknown): boolean => primary(error) === 5 || primary(error) === 6;
/** True where the file itself is damaged or is no database. */
const isDamaged = (error: unknown): boolean => primary(error) === 11 || primary(error) === 26;

/** Converts a temporary refusal of the database to `store_unavailable`; returns every other error unchanged. */
export function unavailable(error: unknown, file: string): unknown {
  if (error instanceof ServiceError) return error;
  const why = NOT_NOW.get(primary(error));
  if (why === undefined) return error;
  return new ServiceError('store_unavailable', `${path.basename(file)}: ${why} (${messageOf(error)})`, {
    cause: error,
    retry_after_seconds: 5,
  });
}

/** The database file cannot be trusted. `file` was not changed; it needs a restored backup. */
export class DamagedDatabaseError extends StartError {
  readonly file: string;
  constructor(file: string, detail: string, cause?: unknown) {
    // The message about a damaged file may contain any bytes.
    const plain = detail.replaceAll(/[^ -~]+/g, ' ');
    super(
      'store_damaged',
      `${file} is damaged or is not a database: ${plain}. It was left as it is; restore a backup in its place, ` +
        'or move it and journal.db away to begin with an empty one.',
      cause,
    );
    this.name = 'DamagedDatabaseError';
    this.file = file;
  }
}

/** Above this size only the schema is read before opening: a full check would delay the start. */
const FULL_CHECK_BYTES = 64 * 1024 * 1024;

/**
 * Checks an existing file through a read-only connection, so that a damaged one is never written to. Throws
 * `DamagedDatabaseError`.
 */
export function checkDatabase(file: string): void {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return;
  const { size } = stat;
  if (!stat.isFile()) throw new DamagedDatabaseError(file, 'it is no file');
  if (size === 0) throw new DamagedDatabaseError(file, 'it is empty');
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true });
    const found =
      size <= FULL_CHECK_BYTES
        ? db.prepare('pragma quick_check(1)').get()
        : (db.prepare('select name from sqlite_master').all(), { quick_check: 'ok' });
    const verdict = String(found?.['quick_check']);
    if (verdict !== 'ok') throw new DamagedDatabaseError(file, verdict);
    if (isCut(db, file, size)) throw new DamagedDatabaseError(file, 'its last page is cut');
  } catch (error) {
    if (error instanceof DamagedDatabaseError) throw error;
    const refused = unavailable(error, file);
    // An error that is neither temporary nor known damage is a header this SQLite cannot read.
    if (isDamaged(error) || refused === error) throw new DamagedDatabaseError(file, messageOf(error), error);
    throw refused;
  } finally {
    db?.close();
  }
}
/**
 * Rejects the store of a build before 0.1.0 without changing its folder: no lock, no log. An unreadable file is rejected
 * at opening. Throws `store_older`.
 */
export function refuseOlder(file: string): void {
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
  const url = pathToFileURL(file);
  // A read-only connection creates an index beside an existing log, unless the file is declared immutable.
  if ((fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0) url.search = '?immutable=1';
  if (stepsOf(url).some(isUnreleased)) throw olderStore(path.dirname(file));
}
function stepsOf(url: URL): readonly string[] {
  try {
    const db = new DatabaseSync(url, { readOnly: true });
    try {
      return db
        .prepare('select id from offhook_migrations')
        .all()
        .map((row) => String(row['id']));
    } finally {
      db.close();
    }
  } catch {
    return [];
  }
}
/** The rest of a cut last page is read as zeros; a write-ahead log may still hold the page. */
function isCut(db: DatabaseSync, file: string, size: number): boolean {
  const wal = fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (wal > 0) return false;
  const page = Number(db.prepare('pragma page_size').get()?.['page_size']);
  return size % page !== 0;
}

/** Limit of prepared statements; the features use a fixed set of texts, so it is never reached in practice. */
const STATEMENTS = 256;

export type Row = Record<string, unknown>;
export interface Written {
  readonly rows: Row[];
  readonly changes: number | bigint;
  readonly lastInsertRowid: number | bigint | undefined;
}

/**
 * One connection. By default it never waits for a lock (`node:sqlite` would block the event loop): callers retry. Errors are
 * SQLite's own; `unavailable()` converts them.
 */
export class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();
  constructor(file: string, options: { readOnly?: boolean; lockWaitMs?: number } = {}) {
    this.#db = new DatabaseSync(file, {
      readOnly: options.readOnly ?? false,
      timeout: options.lockWaitMs ?? 0,
    });
  }
  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }
  exec(sql: string): void {
    this.#db.exec(sql);
  }
  prepare(sql: string): StatementSync {
    return this.#db.prepare(sql);
  }
  run(sql: string, parameters: readonly unknown[]): Written {
    const prepared = this.#prepared(sql);
    const values = parameters.map(inputValue);
    if (prepared.names.length === 0) {
      const { changes, lastInsertRowid } = prepared.statement.run(...values);
      return { rows: [], changes, lastInsertRowid };
    }
    const rows = (prepared.statement.all(...values) as unknown as Values[]).map((row) =>
      named(prepared, row),
    );
    return { rows, changes: rows.length, lastInsertRowid: undefined };
  }
  *iterate(sql: string, parameters: readonly unknown[]): Generator<Row> {
    const prepared = prepare(this.#db, sql);
    for (const row of prepared.statement.iterate(...parameters.map(inputValue)))
      yield named(prepared, row as unknown as Values);
  }
  /** Runs one statement as a whole transaction, with `last` before the commit. */
  runWhole(sql: string, parameters: readonly unknown[], last: () => void): Written {
    this.run('begin immediate', []);
    try {
      const written = this.run(sql, parameters);
      last();
      this.run('commit', []);
      return written;
    } catch (error) {
      // A full disk already ends the transaction on SQLite's side.
      if (this.inTransaction) this.run('rollback', []);
      throw error;
    }
  }
  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
  #prepared(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const prepared = prepare(this.#db, sql);
    if (this.#statements.size >= STATEMENTS) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

type Values = readonly unknown[];
interface Prepared {
  readonly statement: StatementSync;
  /** Names of its columns; none for a statement that returns no rows. */
  names: readonly string[];
}
/** Rows are read as arrays: `node:sqlite` makes slow objects without a prototype, whose copies cost three times the read. */
function prepare(db: DatabaseSync, sql: string): Prepared {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return { statement, names: namesOf(statement) };
}
const namesOf = (statement: StatementSync): readonly string[] => statement.columns().map(({ name }) => name);
function named(prepared: Prepared, values: Values): Row {
  // SQLite prepares `select *` again after a migration has added a column.
  if (values.length !== prepared.names.length) prepared.names = namesOf(prepared.statement);
  const row: Row = {};
  for (let i = 0; i < values.length; i += 1) row[prepared.names[i]!] = values[i];
  return row;
}

const inputValue = (value: unknown): SQLInputValue =>
  typeof value === 'boolean' ? Number(value) : (value as SQLInputValue);
