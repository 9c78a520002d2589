import type { Generated, Kysely, Selectable } from 'kysely';
import { createIndex, createTable } from '../../core/schema.ts';
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
  /** JSON: what an erasure leaves, or what an export lacks. */
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

/** Names of the files that may be kept. */
export async function keptFiles(db: Kysely<Tables>): Promise<ReadonlySet<string>> {
  const kept = await db.selectFrom('privacy_jobs').select('id').where('bytes', 'is not', null).execute();
  return new Set(kept.map(({ id }) => `${id}.json`));
}

export const migrations: readonly Migration[] = [
  {
    id: '0100-privacy',
    async up(db) {
      await createTable(db.schema)`privacy_jobs (
        id integer primary key autoincrement, kind text not null, state text not null, subject_kind text not null,
        subject text, salt text not null, subject_hash text not null, by text not null, reason text not null,
        before_places text, erased_places text not null, after_places text, verified integer not null,
        remains text not null, items integer not null, bytes bigint, sha256 text, error text,
        created_ms bigint not null, started_ms bigint, finished_ms bigint, expires_ms bigint, place integer unique,
        previous_hash text, hash text)`;
      await createIndex(db.schema)`privacy_jobs_state on privacy_jobs (state, id)`;
    },
  },
];
