import { createIndex, createTable } from '../../core/schema.ts';
import type { Migration } from '../../ports/store.ts';

export type RecordingState = 'running' | 'stored' | 'missing' | 'expired' | 'erased';
/** One recording. Times in milliseconds since 1970. */
export interface RecordingRow {
  /** Sorts by `started_ms`. */
  id: string;
  /** The call in which it began, which may have been merged since. */
  call: string;
  channel: string;
  /** Name in the folder of recordings; unique, so that a call record read twice adds one recording. */
  file: string;
  by: 'extension' | 'queue' | 'ring_group' | 'on_demand';
  extension: string | null;
  queue: string | null;
  started_ms: number;
  ended_ms: number | null;
  /** Pause windows as JSON: pairs of times, the second null while open. */
  paused: string;
  state: RecordingState;
  /** Size and hash of the stored file; kept after its deletion. */
  bytes: number | null;
  sha256: string | null;
}
export interface Tables {
  recordings: RecordingRow;
}

export const migrations: readonly Migration[] = [
  {
    id: '0100-recordings',
    async up(db) {
      const { schema } = db;
      await createTable(schema)`recordings (
        id text primary key, call text not null, channel text not null, file text not null unique, by text not null,
        extension text, queue text, started_ms bigint not null, ended_ms bigint, paused text not null,
        state text not null, bytes bigint, sha256 text)`;
      await createIndex(schema)`recordings_call on recordings (call)`;
      await createIndex(schema)`recordings_channel on recordings (channel)`;
      await createIndex(schema)`recordings_state on recordings (state, started_ms)`;
      await createIndex(schema)`recordings_extension on recordings (extension, id)`;
      await createIndex(schema)`recordings_queue on recordings (queue, id)`;
    },
  },
];
