import type { Generated, Selectable } from 'kysely';
import type { Migration } from '../../ports/store.ts';

interface JobTable {
  id: Generated<number>;
  kind: 'export' | 'erasure';
  state: 'queued' | 'running' | 'done' | 'failed';
  subject_kind: 'number' | 'extension';
  /** The subject, stored until the job is over, because the next start must be able to continue. */
  subject: string | null;
  salt: string;
  subject_hash: string;
  by: string;
  reason: string;
  /** Counts by table as JSON; `before_places` is written once, before the erasure. */
  before_places: string | null;
  erased_places: string;
  after_places: string | null;
  verified: number;
  remains: string;
  items: number;
  bytes: number | null;
  sha256: string | null;
  error: string | null;
  created_ms: number;
  started_ms: number | null;
  finished_ms: number | null;
  expires_ms: number | null;
  /** Position in the ledger of erasures. */
  place: number | null;
  previous_hash: string | null;
  hash: string | null;
}
export interface Tables {
  privacy_jobs: JobTable;
}
export type JobRow = Selectable<JobTable>;

export const migrations: readonly Migration[] = [
  {
    id: '0100-privacy',
    async up(db) {
      await db.schema
        .createTable('privacy_jobs')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('state', 'text', (c) => c.notNull())
        .addColumn('subject_kind', 'text', (c) => c.notNull())
        .addColumn('subject', 'text')
        .addColumn('salt', 'text', (c) => c.notNull())
        .addColumn('subject_hash', 'text', (c) => c.notNull())
        .addColumn('by', 'text', (c) => c.notNull())
        .addColumn('reason', 'text', (c) => c.notNull())
        .addColumn('before_places', 'text')
        .addColumn('erased_places', 'text', (c) => c.notNull())
        .addColumn('after_places', 'text')
        .addColumn('verified', 'integer', (c) => c.notNull())
        .addColumn('remains', 'text', (c) => c.notNull())
        .addColumn('items', 'integer', (c) => c.notNull())
        .addColumn('bytes', 'bigint')
        .addColumn('sha256', 'text')
        .addColumn('error', 'text')
        .addColumn('created_ms', 'bigint', (c) => c.notNull())
        .addColumn('started_ms', 'bigint')
        .addColumn('finished_ms', 'bigint')
        .addColumn('expires_ms', 'bigint')
        .addColumn('place', 'integer', (c) => c.unique())
        .addColumn('previous_hash', 'text')
        .addColumn('hash', 'text')
        .execute();
      await db.schema.createIndex('privacy_jobs_state').on('privacy_jobs').columns(['state', 'id']).execute();
    },
  },
];
