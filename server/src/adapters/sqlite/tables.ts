import { DatabaseSync } from 'node:sqlite';
import type { Row } from './database.ts';

/** A row with its ascending row id in the table. */
export interface PlacedRow {
  readonly at: number;
  readonly row: Row;
}
/** Read-only access to the tables of a database file. */
export interface TableReader extends Disposable {
  /** Migrations that ran, by feature. */
  steps(feature: string): readonly string[];
  /** Rows after a row id, in order; `columns` and `table` must come from the database. */
  rows(table: string, columns: readonly string[], after: number, limit: number): readonly PlacedRow[];
  count(table: string): number;
  /** The greatest number ever assigned in the table, 0 for none. */
  lastNumber(table: string): number;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Opens `file` for reading only. Throws SQLite's own errors. */
export function readTables(file: string): TableReader {
  const db = new DatabaseSync(file, { readOnly: true });
  const number = (value: unknown): number => Number(value ?? 0);
  return {
    steps: (feature) =>
      db
        .prepare('select id from offhook_migrations where feature = ? order by id')
        .all(feature)
        .map((row) => String(row['id'])),
    rows(table, columns, after, limit) {
      const names = columns.map(quoted).join(', ');
      const text = `select rowid as "offhook at", ${names} from ${quoted(table)} where rowid > ? order by rowid limit ?`;
      return db
        .prepare(text)
        .all(after, limit)
        .map(({ 'offhook at': at, ...row }) => ({ at: Number(at), row }));
    },
    count: (table) => number(db.prepare(`select count(*) as n from ${quoted(table)}`).get()?.['n']),
    lastNumber: (table) =>
      number(db.prepare('select seq from sqlite_sequence where name = ?').get(table)?.['seq']),
    [Symbol.dispose]: () => db.close(),
  };
}
