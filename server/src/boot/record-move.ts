/** Moves tables of a stopped site from its SQLite file into PostgreSQL. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Kysely, TableMetadata, Transaction } from 'kysely';
import { refuseOlder } from '../adapters/sqlite/database.ts';
import { readTables } from '../adapters/sqlite/tables.ts';
import type { TableReader } from '../adapters/sqlite/tables.ts';
import type { Migration, Store } from '../ports/store.ts';
import type { FeatureTables } from './site-tables.ts';

export class MoveError extends Error {}
export interface MovedTable {
  readonly table: string;
  readonly rows: number;
  /** Sum of all whole numbers in the column. */
  readonly sum: bigint;
  /** Hash of all rows, independent of their order. */
  readonly hash: string;
}
export type Rows = Record<string, unknown>;
export interface Tables {
  offhook_move: { name: string; after: number; rows: number; done: number };
  [table: string]: Rows;
}
/** Row of the whole move; its `done` is 1 once both sides were found equal. */
const WHOLE = '';
const steps: Migration = {
  id: '0100-move',
  async up(db) {
    await db.schema
      .createTable('offhook_move')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('after', 'integer', (c) => c.notNull())
      .addColumn('rows', 'integer', (c) => c.notNull())
      .addColumn('done', 'integer', (c) => c.notNull())
      .execute();
  },
};
const MOST_ROWS = 500;
const MOST_VALUES = 20_000;

/**
 * Moves the tables of `features`, or continues an interrupted move; then compares both sides. `file` is only read. `last` runs
 * before the database counts as moved. Throws `MoveError` where the move may not begin, or where the sides differ.
 */
export async function moveTables(
  file: string,
  target: Store,
  features: FeatureTables,
  report: (line: string) => void,
  last: () => Promise<void> = async () => {},
): Promise<readonly MovedTable[]> {
  refuseOlder(file);
  using source = readTables(file);
  for (const [feature, migrations] of Object.entries(features)) {
    const have = source.steps(feature);
    if (have.length !== migrations.length || have.some((id, i) => id !== migrations[i]!.id)) {
      throw new MoveError(
        `${file}: ${feature} is of another version; start and stop this version on it first`,
      );
    }
  }
  const db = target.db<Tables>();
  const before = await tablesOf(db);
  const begun = before.some((table) => table.name === 'offhook_move');
  if (!begun) await refuseForeign(db, before);
  await target.migrate('move', [steps]);
  for (const [feature, migrations] of Object.entries(features)) await target.migrate(feature, migrations);
  const known = new Map(
    (await db.selectFrom('offhook_move').selectAll().execute()).map((row) => [row.name, row]),
  );
  if (known.get(WHOLE)?.done === 1) throw new MoveError('the records of this database were moved already');
  const tables = (await tablesOf(db)).filter((table) => !table.name.startsWith('offhook_'));
  for (const table of tables) await copy(source, target, table, known.get(table.name), report);
  const moved = await compare(source, db, tables);
  await last();
  await target.transaction<Tables, void>(async (trx) => {
    for (const table of tables) await takeUpNumbers(trx, table, source.lastNumber(table.name));
    await note(trx, WHOLE, { after: 0, rows: 0, done: 1 });
  });
  return moved;
}
/** Marks the site of this database as moved away, so that no service starts on it. */
export async function markMovedAway(store: Store): Promise<void> {
  await store.migrate('move', [steps]);
  await store.transaction<Tables, void>((trx) => note(trx, WHOLE, { after: 0, rows: 0, done: 0 }));
}

export async function tablesOf(db: Kysely<Tables>): Promise<readonly TableMetadata[]> {
  const { rows } = await sql<{ name: string }>`select current_schema() as name`.execute(db);
  const all = await db.introspection.getTables();
  return all.filter((table) => table.schema === rows[0]?.name && !table.isView);
}
async function refuseForeign(db: Kysely<Tables>, tables: readonly TableMetadata[]): Promise<void> {
  for (const { name } of tables) {
    if (name === 'offhook_migrations') continue;
    const found = await db.selectFrom(name).selectAll().limit(1).execute();
    if (found.length > 0) {
      throw new MoveError(`the database is not empty: ${name} holds rows that this move did not write`);
    }
  }
}
async function note(
  trx: Transaction<Tables>,
  name: string,
  values: { after: number; rows: number; done: number },
): Promise<void> {
  await trx
    .insertInto('offhook_move')
    .values({ name, ...values })
    .onConflict((c) => c.column('name').doUpdateSet(values))
    .execute();
}

/** Rows and the position they reach are stored together, so that an interrupted move continues without gaps or duplicates. */
async function copy(
  source: TableReader,
  target: Store,
  { name, columns }: TableMetadata,
  begun: Tables['offhook_move'] | undefined,
  report: (line: string) => void,
): Promise<void> {
  const names = columns.map((column) => column.name);
  const limit = Math.min(MOST_ROWS, Math.floor(MOST_VALUES / names.length));
  const all = source.count(name);
  let { after, rows } = begun ?? { after: 0, rows: 0 };
  let reportedAt = performance.now();
  for (;;) {
    const some = source.rows(name, names, after, limit);
    if (some.length > 0) {
      after = some.at(-1)!.at;
      rows += some.length;
    }
    const position = { after, rows, done: Number(some.length < limit) };
    await target.transaction<Tables, void>(async (trx) => {
      if (some.length > 0)
        await trx
          .insertInto(name)
          .values(some.map(({ row }) => row))
          .execute();
      await note(trx, name, position);
    });
    if (position.done === 1) break;
    if (performance.now() - reportedAt > 1_000) {
      reportedAt = performance.now();
      report(`${name}: ${rows} of ${all}`);
    }
  }
  report(`${name}: ${rows} of ${all}`);
}

/** PostgreSQL's text cannot hold NUL (adapters/postgres): it was replaced on the way. */
const plain = (value: unknown): unknown => {
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD');
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
};
export function createSum(names: readonly string[]) {
  let [rows, sum, hash] = [0, 0n, 0n];
  return {
    add(row: Rows): void {
      rows += 1;
      const values = names.map((name) => plain(row[name]));
      for (const value of values)
        if (typeof value === 'number' && Number.isInteger(value)) sum += BigInt(value);
      const digest = createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 32);
      hash = BigInt.asUintN(128, hash + BigInt(`0x${digest}`));
    },
    of: (table: string): MovedTable => ({ table, rows, sum, hash: hash.toString(16).padStart(32, '0') }),
  };
}
async function compare(
  source: TableReader,
  db: Kysely<Tables>,
  tables: readonly TableMetadata[],
): Promise<readonly MovedTable[]> {
  const moved: MovedTable[] = [];
  for (const { name, columns } of tables) {
    const names = columns.map((column) => column.name);
    const [here, there] = [createSum(names), createSum(names)];
    for (let after = 0; ;) {
      const some = source.rows(name, names, after, MOST_ROWS);
      for (const { row } of some) here.add(row);
      if (some.length < MOST_ROWS) break;
      after = some.at(-1)!.at;
    }
    for await (const row of db.selectFrom(name).selectAll().stream(MOST_ROWS)) there.add(row);
    const [a, b] = [here.of(name), there.of(name)];
    if (a.rows !== b.rows || a.sum !== b.sum || a.hash !== b.hash) {
      throw new MoveError(
        `${name} differs: ${a.rows} rows, sum ${a.sum}, hash ${a.hash} in SQLite; ${b.rows} rows, sum ${b.sum}, hash ` +
          `${b.hash} in PostgreSQL. Empty the database and move again`,
      );
    }
    moved.push(b);
  }
  return moved;
}

/** Continues the sequences of a table, so that no number is assigned twice, not even that of a deleted row. */
async function takeUpNumbers(
  trx: Transaction<Tables>,
  { name, columns }: TableMetadata,
  last: number,
): Promise<void> {
  for (const column of columns) {
    if (!column.isAutoIncrementing) continue;
    // SQLite notes the last number only of some tables.
    await sql`select setval(pg_get_serial_sequence(quote_ident(${name}), ${column.name}), greatest(${last}, newest))
      from (select max(${sql.ref(column.name)}) as newest from ${sql.table(name)}) as rows
      where greatest(${last}, newest) > 0`.execute(trx);
  }
}
