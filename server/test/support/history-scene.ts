import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Kysely } from 'kysely';
import { nodeId } from '@offhook/contract/ids.ts';
import { recordedIn } from './call-records.ts';
import { openTestStore } from './test-store.ts';
import { systemClock } from '../../src/core/clock.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { e164In } from '../../src/numbers/e164.ts';
import { silent } from '../../src/core/log.ts';
import type { ConversationRecord } from '../../src/features/history/record/record.ts';
import { readRecord, unpack } from '../../src/features/history/store/packs.ts';
import { Ingest } from '../../src/features/history/ingest/ingest.ts';
import { migrations } from '../../src/features/history/store/migrations.ts';
import type { Tables } from '../../src/features/history/store/tables.ts';
import type { CallRecord, CallRecordBatch } from '../../src/ports/call-records.ts';
import type { Store } from '../../src/ports/store.ts';
import { directoryFixture } from './directory-fixture.ts';
import type { DirectoryFixture } from './directory-fixture.ts';

const FIXTURES = new URL('../../src/features/history/fixtures/', import.meta.url);
export const NODE = nodeId('ast1');
/** Names of the recorded calls. */
export const recordings = async (): Promise<readonly string[]> =>
  (await readdir(FIXTURES))
    .filter((file) => file.endsWith('.cel'))
    .map((file) => file.slice(0, -4))
    .sort();
export const recordingFile = (name: string): URL => new URL(`${name}.cel`, FIXTURES);
export const recorded = (name: string): readonly CallRecord[] => recordedIn(NODE, recordingFile(name));

/** The same call whole seconds later, with other channels, calls and keys. */
export function later(records: readonly CallRecord[], seconds: number): readonly CallRecord[] {
  const id = <T extends string>(text: T): T =>
    text.replace(/(\d+)\.(\d+)$/, (_all, at: string, n: string) => `${Number(at) + seconds}.${n}`) as T;
  return records.map((r) => ({
    ...r,
    at_us: r.at_us + seconds * 1_000_000,
    channel: id(r.channel),
    call: id(r.call),
    facts: { ...r.facts, ...(r.facts.other === undefined ? {} : { other: id(r.facts.other) }) },
    key: `${r.key}+${seconds}`,
  }));
}

/** A batch of records as a reader returns it; `offset` is the position after it. */
export const batchOf = (records: readonly CallRecord[], offset: number): CallRecordBatch => ({
  records,
  checkpoint: { file: 'offhook.csv', inode: 1, offset, mark: '' },
  malformed: [],
  live: true,
});

export const inPieces = (records: readonly CallRecord[], size: number): readonly (readonly CallRecord[])[] =>
  Array.from({ length: Math.ceil(records.length / size) }, (_, i) => records.slice(i * size, (i + 1) * size));

/**
 * A store in which the n-th statement and every later one fails, as if the process died there; `step` counts other
 * operations, too.
 */
export function dying(
  store: Store,
  n: number,
): { readonly store: Store; readonly died: () => boolean; readonly step: () => void } {
  let left = n;
  const step = (): void => {
    left -= 1;
    if (left <= 0) throw new ServiceError('store_unavailable', 'the power is gone');
  };
  const plugin = {
    transformQuery<A extends { node: N }, N>({ node }: A): N {
      step();
      return node;
    },
    transformResult: <R>({ result }: { result: R }): Promise<R> => Promise.resolve(result),
  };
  const failing: Store = {
    ...store,
    transaction: (work) =>
      store.transaction((trx) =>
        work((trx as unknown as Kysely<never>).withPlugin(plugin as never) as never),
      ),
  };
  return { store: failing, died: () => left <= 0, step };
}

export interface StoredConversation {
  readonly root: string;
  readonly state: string;
  readonly revision: number;
  readonly keys: readonly string[];
  readonly record: ConversationRecord;
}
export interface HistoryScene extends AsyncDisposable {
  /** Removed at the end. */
  readonly folder: string;
  readonly database: string;
  readonly store: Store;
  readonly directory: DirectoryFixture;
  readonly ingest: Ingest;
  /** A new ingestion over the same store, as after a restart; `store` may be a failing one. */
  restart(store?: Store): Ingest;
  /** Stores the records in one batch. */
  feed(...records: readonly CallRecord[]): Promise<void>;
  /** Number of records that are stored and not packed. */
  loose(): Promise<number>;
  /** Every row without its id. */
  rows(): Promise<readonly object[]>;
  /** Every conversation with its keys, without its positions in the feed. */
  conversations(): Promise<readonly StoredConversation[]>;
  /** Deletes all data. */
  clear(): Promise<void>;
}

export async function historyScene(): Promise<HistoryScene> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-history-'));
  const database = path.join(folder, 'offhook.db');
  const store = await openTestStore(database);
  await store.migrate('history', migrations);
  const directory = directoryFixture();
  const restart = (over: Store = store): Ingest =>
    new Ingest({ store: over, directory, clock: systemClock, log: silent, e164: e164In('DE') });
  const ingest = restart();
  const db = store.db<Tables>();
  let fed = 0;
  return {
    folder,
    database,
    store,
    directory,
    ingest,
    restart,
    async feed(...records) {
      fed += records.length;
      await ingest.store(batchOf(records, fed));
    },
    async loose() {
      const stored = await db.selectFrom('history_loose').select('records').execute();
      return stored.reduce((n, row) => n + unpack<readonly CallRecord[]>(row.records).length, 0);
    },
    async rows() {
      const rows = await db
        .selectFrom('history_rows')
        .selectAll()
        .orderBy('root')
        .orderBy('extension')
        .execute();
      return rows.map((row) => ({ ...row, id: 0 }));
    },
    async conversations() {
      const keys = await db.selectFrom('conversation_keys').selectAll().execute();
      const rows = await db.selectFrom('conversations').selectAll().orderBy('root').execute();
      return rows.map(({ id, root, state, revision, record }) => ({
        root,
        state,
        revision,
        keys: keys
          .filter((k) => k.conversation === id)
          .map((k) => `${k.kind} ${k.value} ${k.started_ms}`)
          .sort(),
        record: readRecord(record),
      }));
    },
    async clear() {
      fed = 0;
      for (const table of [
        'conversations',
        'conversation_keys',
        'conversation_merged',
        'conversation_outbox',
        'history_counters',
        'history_loose',
        'history_packs',
        'history_channels',
        'history_calls',
        'history_conversations',
        'history_rows',
        'history_terms',
        'history_malformed',
        'history_tombstones',
        'history_facts',
      ] as const) {
        await db.deleteFrom(table).execute();
      }
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
