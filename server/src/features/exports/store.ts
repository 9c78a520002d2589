import type { Generated, Kysely, Selectable } from 'kysely';
import type { Export, NewExport } from '@offhook/contract/exports.ts';
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
      await db.schema
        .createTable('exports')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('person_id', 'integer', (c) => c.notNull())
        .addColumn('by', 'text', (c) => c.notNull())
        .addColumn('reader', 'text', (c) => c.notNull())
        .addColumn('format', 'text', (c) => c.notNull())
        .addColumn('filter', 'text', (c) => c.notNull())
        .addColumn('columns', 'text', (c) => c.notNull())
        .addColumn('state', 'text', (c) => c.notNull())
        .addColumn('rows_done', 'integer', (c) => c.notNull())
        .addColumn('rows_estimated', 'integer')
        .addColumn('bytes', 'bigint')
        .addColumn('sha256', 'text')
        .addColumn('error', 'text')
        .addColumn('created_ms', 'bigint', (c) => c.notNull())
        .addColumn('started_ms', 'bigint')
        .addColumn('finished_ms', 'bigint')
        .addColumn('expires_ms', 'bigint')
        .execute();
      await db.schema.createIndex('exports_state').on('exports').columns(['state', 'id']).execute();
      await db.schema.createIndex('exports_person').on('exports').columns(['person_id', 'id']).execute();
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
