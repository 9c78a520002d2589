import type { Generated, Kysely, Selectable } from 'kysely';
import type { Export, NewExport } from '@offhook/contract/exports.ts';
import { createIndex, createTable } from '../../core/schema.ts';
import type { Migration } from '../../ports/store.ts';

interface ExportTable {
  id: Generated<number>;
  /** Creator; negative for an API key. */
  person_id: number;
  by: string;
  /** Principal as JSON: the creator's rights at the request. */
  reader: string;
  format: string;
  /** ConversationFilter as JSON. */
  filter: string;
  /** Names of columns, separated by commas. */
  columns: string;
  state: Export['state'];
  rows_done: number;
  rows_estimated: number | null;
  bytes: number | null;
  sha256: string | null;
  error: string | null;
  created_ms: number;
  started_ms: number | null;
  finished_ms: number | null;
  expires_ms: number | null;
}
export interface Tables {
  exports: ExportTable;
}
export type ExportRow = Selectable<ExportTable>;

export const migrations: readonly Migration[] = [
  {
    id: '0100-exports',
    async up(db) {
      await createTable(db.schema)`exports (
        id integer primary key autoincrement, person_id integer not null, by text not null, reader text not null,
        format text not null, filter text not null, columns text not null, state text not null,
        rows_done integer not null, rows_estimated integer, bytes bigint, sha256 text, error text,
        created_ms bigint not null, started_ms bigint, finished_ms bigint, expires_ms bigint)`;
      await createIndex(db.schema)`exports_state on exports (state, id)`;
      await createIndex(db.schema)`exports_person on exports (person_id, id)`;
    },
  },
];

/** Number of exports in these states, of one person or of all. */
export async function countIn(
  db: Kysely<Tables>,
  states: readonly Export['state'][],
  person_id?: number,
): Promise<number> {
  let query = db.selectFrom('exports').where('state', 'in', states);
  if (person_id !== undefined) query = query.where('person_id', '=', person_id);
  const { n } = await query.select((e) => e.fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  return Number(n);
}
export async function insertExport(
  db: Kysely<Tables>,
  made: {
    readonly person_id: number;
    readonly by: string;
    readonly reader: string;
    readonly wanted: NewExport;
    readonly now: number;
  },
): Promise<number> {
  const { wanted } = made;
  const { id } = await db
    .insertInto('exports')
    .values({
      person_id: made.person_id,
      by: made.by,
      reader: made.reader,
      format: wanted.format,
      filter: JSON.stringify(wanted.filter),
      columns: wanted.columns.join(','),
      state: 'queued',
      rows_done: 0,
      created_ms: made.now,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
export async function readExport(db: Kysely<Tables>, id: number): Promise<ExportRow | undefined> {
  return await db.selectFrom('exports').selectAll().where('id', '=', id).executeTakeFirst();
}
/** Names of the files that may be kept. */
export async function keptFiles(db: Kysely<Tables>): Promise<ReadonlySet<string>> {
  const done = await db.selectFrom('exports').select(['id', 'format']).where('state', '=', 'done').execute();
  return new Set(done.map(({ id, format }) => `${id}.${format}`));
}
/** Queues running exports again. */
export async function requeueRunning(
  db: Kysely<Tables>,
): Promise<readonly { id: number; person_id: number }[]> {
  return await db
    .updateTable('exports')
    .set({ state: 'queued' })
    .where('state', '=', 'running')
    .returning(['id', 'person_id'])
    .execute();
}
