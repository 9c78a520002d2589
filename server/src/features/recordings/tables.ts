import type { Migration } from '../../ports/store.ts';

export type RecordingState = 'running' | 'stored' | 'missing' | 'expired' | 'erased';
/** One recording. Times in milliseconds since 1970. */
export interface RecordingRow {
  /** Sorts by `started_ms`. */
  id: string;
  /** The call in which it began, which may have been merged since. */
  call: string;
  channel: string;
  /** Name in the folder of recordings; unique, so that a repeated fact adds no second recording. */
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
      await schema
        .createTable('recordings')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('call', 'text', (c) => c.notNull())
        .addColumn('channel', 'text', (c) => c.notNull())
        .addColumn('file', 'text', (c) => c.notNull().unique())
        .addColumn('by', 'text', (c) => c.notNull())
        .addColumn('extension', 'text')
        .addColumn('queue', 'text')
        .addColumn('started_ms', 'bigint', (c) => c.notNull())
        .addColumn('ended_ms', 'bigint')
        .addColumn('paused', 'text', (c) => c.notNull())
        .addColumn('state', 'text', (c) => c.notNull())
        .addColumn('bytes', 'bigint')
        .addColumn('sha256', 'text')
        .execute();
      for (const [name, ...columns] of [
        ['call', 'call'],
        ['channel', 'channel'],
        ['state', 'state', 'started_ms'],
        ['extension', 'extension', 'id'],
        ['queue', 'queue', 'id'],
      ] as const) {
        await schema
          .createIndex(`recordings_${name}`)
          .on('recordings')
          .columns([...columns])
          .execute();
      }
    },
  },
];
