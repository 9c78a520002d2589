import { statOf } from '../../core/files.ts';
import type { CallRecords } from '../../ports/call-records.ts';
import type { Conversations, RecordingIndex, RecordingView } from '../../ports/conversations.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeOf } from '@offhook/contract/ids.ts';
import type { ModelInput } from '../../ports/live.ts';
import type { Gauges } from '../../ports/metrics.ts';
import type { Common } from '../../ports/common.ts';
import type { RecordingAudio, RecordingKeeper } from '../../ports/recordings.ts';
import { TIDY_MS, createDisposal } from './disposal.ts';
import { recordingFiles } from './files.ts';
import { Keeper, isOfNode } from './keeper.ts';
import type { RecordingRow } from './tables.ts';
import { createRecordingService } from './service.ts';
import type { RecordingService } from './service.ts';
import { createRecordingStore } from './store.ts';
import { viewOf } from './view.ts';

export interface RecordingsDeps extends Common<'audit' | 'clock' | 'live' | 'log' | 'store'> {
  readonly conversations: Conversations;
  readonly node: string;
  /** True if all nodes of the site use the same folder. */
  readonly shared?: boolean;
  /** Names of the home nodes: each has an engine, and never leads. */
  readonly homes: () => readonly string[];
  readonly tell: (input: ModelInput) => void;
  /** Folder into which the engine writes them. */
  readonly folder: string;
  /** Days for which recordings are kept; 0: without a limit. */
  readonly days: number;
  /** Whether persons may play recordings of the conversations in which they talked. */
  readonly own: boolean;
  readonly room_bytes?: number;
}
/** The recordings feature: follows, finds, plays and deletes recordings. */
export interface Recordings extends RecordingService, AsyncDisposable {
  readonly keeper: RecordingKeeper;
  readonly index: RecordingIndex;
  readonly audioFiles: RecordingAudio;
  /** Accepts every committed event, in order. */
  onDomainEvent(event: DomainEvent): void;
  /** Returns the same call records. The keeper reads each batch first; a batch that it rejects is read again. */
  watching(records: CallRecords): CallRecords;
  gauges(to: Gauges): void;
  /** Resolves once all pending writes are done; for tests. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** Runs the migrations and begins to tidy. */
export async function createRecordings(deps: RecordingsDeps): Promise<Recordings> {
  const { clock } = deps;
  const store = await createRecordingStore(deps.store);
  const files = recordingFiles(deps.folder, clock);
  const { node, shared = false } = deps;
  const parts = {
    ...deps,
    store,
    files,
    isHere: (row: RecordingRow) => shared || isOfNode(row, node),
    isAtHome: (row: RecordingRow) =>
      !shared && !isOfNode(row, node) && deps.homes().includes(nodeOf(row.channel)),
    shared,
  };
  const keeper = new Keeper(parts);
  const disposal = createDisposal(parts);
  const service = createRecordingService({ ...parts, disposal });
  const stop = new AbortController();
  let sums: Awaited<ReturnType<typeof store.sums>> = [];

  const index: RecordingIndex = {
    async ofCalls(calls) {
      const found = new Map<string, RecordingView[]>();
      for (const row of await store.ofCalls(calls)) {
        const of = found.get(row.call) ?? [];
        of.push(viewOf(row, clock.now()));
        found.set(row.call, of);
      }
      return found;
    },
    withRecording: (calls) => store.storedOf(calls),
    erase: async (calls) => disposal.erase(await store.ofCalls(calls)),
  };
  async function tidy(): Promise<void> {
    while (!stop.signal.aborted) {
      await disposal.tidy(stop.signal);
      sums = await store.sums().catch(() => sums);
      await clock.sleep(TIDY_MS, stop.signal).catch(() => {});
    }
  }
  const tidying = tidy();
  const close = async (): Promise<void> => {
    stop.abort();
    await Promise.all([keeper.close(), tidying]);
  };
  return {
    ...service,
    keeper,
    index,
    audioFiles: {
      async open(id) {
        const row = await store.byId(id);
        if (row?.state !== 'stored' || !parts.isHere(row)) return null;
        const handle = await files.open(row.file);
        if (handle === null) return null;
        const { size: bytes } = await statOf(handle);
        if (bytes === 0 || (row.bytes !== null && row.bytes !== bytes)) {
          await handle.close();
          return null;
        }
        return {
          bytes,
          read: () => handle.createReadStream({ start: 0, end: bytes - 1, autoClose: false }),
          [Symbol.asyncDispose]: () => handle.close(),
        };
      },
    },
    onDomainEvent: (event) => keeper.onDomainEvent(event),
    watching: (records) => ({
      async *read(from, signal) {
        for await (const batch of records.read(from, signal)) {
          await keeper.adopt(batch.records);
          yield batch;
        }
      },
    }),
    gauges(to) {
      to.gauge('offhook_recordings_running', 'Recordings in progress.', () => keeper.running());
      to.gauge('offhook_recordings_orphans', 'Files that no recording names; counted every hour.', () =>
        disposal.orphans(),
      );
      for (const state of ['stored', 'missing', 'expired', 'erased'] as const) {
        const of = () => sums.find((sum) => sum.state === state);
        to.gauge(
          `offhook_recordings_${state}`,
          `Recordings ${state}; counted every hour.`,
          () => of()?.count ?? 0,
        );
      }
      const kept = () => sums.find((sum) => sum.state === 'stored')?.bytes ?? 0;
      to.gauge(
        'offhook_recordings_bytes',
        'Size of the stored recordings in bytes; measured every hour.',
        kept,
      );
    },
    idle: () => keeper.idle(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
