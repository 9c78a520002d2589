import type { DomainEvent } from '@offhook/contract/events.ts';
import type { ChannelId } from '@offhook/contract/ids.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { untilDone } from '../../core/retry.ts';
import type { Log } from '../../core/log.ts';
import type { CallRecord, RecordingBegun } from '../../ports/call-records.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Conversations } from '../../ports/conversations.ts';
import type { LiveView, ModelInput } from '../../ports/live.ts';
import type { RecordingKeeper } from '../../ports/recordings.ts';
import type { RecordingFiles } from './files.ts';
import { isFileName, newRecordingId } from './ids.ts';
import type { RecordingStore } from './store.ts';
import type { RecordingRow } from './tables.ts';
import { windowsOf } from './view.ts';

export interface KeeperDeps {
  readonly store: RecordingStore;
  readonly files: RecordingFiles;
  readonly live: LiveView;
  readonly conversations: Pick<Conversations, 'touch'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Passes a fact to the model, in order with the engine's facts. */
  readonly tell: (input: ModelInput) => void;
  /** Free disk space required to start a recording, in bytes; set by tests only. */
  readonly room_bytes?: number;
}
/** Tracks each recording from its start until its file is complete. */
export interface Keeper extends RecordingKeeper {
  /** Accepts every committed event, in order. */
  onDomainEvent(event: DomainEvent): void;
  /** Reads call records: recordings that the dialplan started, and the ends of channels. Idempotent. */
  adopt(records: readonly CallRecord[]): Promise<void>;
  /** Number of running recordings, from memory. */
  running(): number;
  /** Resolves once all pending writes are done. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** Disk space reserved for data that must always be written, such as the journal. */
const ROOM_BYTES = 256 * 1024 * 1024;
/** Wait for the engine's own event before the model is corrected. */
const FACT_MS = 2_000;
/** The recording of an unknown channel is finished if its file was not written for this long. */
const QUIET_MS = 60_000;

/** A recording that has just begun. */
const begunRow = (
  row: Pick<RecordingRow, 'id' | 'call' | 'channel' | 'file' | 'by' | 'extension' | 'queue' | 'started_ms'>,
): RecordingRow => ({ ...row, ended_ms: null, paused: '[]', state: 'running', bytes: null, sha256: null });

export function createKeeper(deps: KeeperDeps): Keeper {
  const { store, files, live, conversations, clock, tell } = deps;
  const log = deps.log.child({ part: 'recordings' });
  const stop = new AbortController();
  const { signal } = stop;
  /** Running recordings by id. */
  const running = new Map<string, RecordingRow>();
  const ending = new Set<string>();
  const tasks = new Set<Promise<void>>();
  let hashing: Promise<unknown> = Promise.resolve();

  const persist = async (what: string, work: () => Promise<void>): Promise<void> =>
    void (await untilDone(what, work, { clock, log, signal }));
  const go = (what: string, work: () => Promise<void>, after?: Promise<void>): Promise<void> => {
    const begun = after === undefined ? persist(what, work) : after.then(() => persist(what, work));
    const task = begun.finally(() => tasks.delete(task));
    tasks.add(task);
    return task;
  };
  /** Pending write of the newest pause window, by recording id. A resume or an end must wait for it, or the window is lost. */
  const windows = new Map<string, Promise<void>>();

  /** Hashes one file at a time, so that many calls that end together do not slow down the service. */
  const hashOf = (file: string): Promise<string> => {
    const hash = hashing.then(() => files.hash(file));
    hashing = hash.catch(() => {});
    return hash;
  };
  /** Ends a recording: stores its end, then checks the file. `at` null: the time of the file's last write. */
  function finish(row: RecordingRow, at: number | null): void {
    if (ending.has(row.id)) return;
    ending.add(row.id);
    const settle = async (): Promise<void> => {
      if (at !== null) await store.end(row.id, at);
      const found = await files.settled(row.file, signal);
      if (at === null) await store.end(row.id, found?.written_ms ?? row.started_ms);
      if ((await store.byId(row.id))?.state === 'erased') await files.remove(row.file);
      else if (found === null) await store.settle(row.id, 'missing', null, null);
      else {
        if (!found.closed) await files.mend(row.file);
        await store.settle(row.id, 'stored', found.bytes, await hashOf(row.file));
      }
      if (found === null)
        log.warn({ recording: row.id, by: row.by }, 'the engine left no file of a recording');
      running.delete(row.id);
      ending.delete(row.id);
      await conversations.touch([row.call]);
    };
    void go('storing a recording', settle, windows.get(row.id));
  }
  const ofChannel = (channel: string): RecordingRow[] =>
    [...running.values()].filter((row) => row.channel === channel);
  const knows = (row: RecordingRow): boolean => live.leg(row.channel) !== undefined;

  /**
   * Checks recordings that an earlier process left running: each continues if its leg is live, and is finished if not.
   * Returns false while this is uncertain for one of them.
   */
  async function sweep(): Promise<boolean> {
    let certain = true;
    for (const row of await store.running()) {
      if (!running.has(row.id)) running.set(row.id, row);
      if (ending.has(row.id)) continue;
      const leg = live.leg(row.channel);
      const found = await files.look(row.file);
      const closed = found?.closed === true;
      if (row.ended_ms === null && leg !== undefined && !closed) {
        remind(row);
        continue;
      }
      if (closed && leg?.recording === true) {
        tell({ type: 'channel.recording', at: clock.now(), id: row.channel as ChannelId, on: false });
      }
      const quiet = found === null || found.written_ms < clock.now() - QUIET_MS;
      if (row.ended_ms !== null || closed || quiet) finish(row, row.ended_ms);
      else certain = false;
    }
    return certain;
  }
  /**
   * Reports a running recording to the model. The engine does not list its recordings, so the model cannot know one that
   * started while the service was away. Waits first, because the engine's own event may still arrive.
   */
  function remind(row: RecordingRow): void {
    void go('telling the model of a recording', async () => {
      await clock.sleep(FACT_MS, signal);
      const goesOn = running.has(row.id) && !ending.has(row.id);
      if (!goesOn || live.leg(row.channel)?.recording !== false) return;
      const about = { at: clock.now(), id: row.channel as ChannelId, on: true };
      tell({ type: 'channel.recording', ...about });
      if (windowsOf(row).at(-1)?.[1] === null) tell({ type: 'channel.recording_paused', ...about });
    });
  }
  const sweepUntilCertain = async (): Promise<void> => {
    while (!(await sweep())) await clock.sleep(QUIET_MS, signal);
  };

  async function began(record: CallRecord, { by, of, file: name, channel }: RecordingBegun): Promise<void> {
    const file = name.endsWith('.wav') ? name : `${name}.wav`;
    if (!isFileName(file)) {
      log.warn(
        { channel: record.channel },
        'the engine names a recording that cannot be one; it is left out',
      );
      return;
    }
    const started_ms = Math.floor(record.at_us / 1000);
    const row = begunRow({
      id: newRecordingId(started_ms),
      call: record.call,
      channel: channel ?? record.channel,
      file,
      by,
      extension: by === 'extension' ? of : null,
      queue: by === 'queue' ? of : null,
      started_ms,
    });
    if (!(await store.add(row))) return;
    running.set(row.id, row);
    if (live.leg(row.channel) !== undefined) remind(row);
  }
  async function channelsEnded(ended: ReadonlyMap<string, number>): Promise<void> {
    if (ended.size === 0) return;
    for (const row of await store.ofChannels([...ended.keys()])) {
      const at = ended.get(row.channel)!;
      if (row.state === 'running') {
        running.set(row.id, running.get(row.id) ?? row);
        // Already being stored: only its end can still be corrected.
        if (ending.has(row.id)) await store.end(row.id, at);
        else finish(row, at);
      } else if (row.ended_ms !== null && at < row.ended_ms) {
        await store.end(row.id, at);
        await conversations.touch([row.call]);
      }
    }
  }

  return {
    async begin(leg) {
      if (ofChannel(leg.id).some((row) => !ending.has(row.id))) {
        throw new ServiceError('wrong_call_state', 'this leg is recorded already');
      }
      if ((await files.freeBytes()) < (deps.room_bytes ?? ROOM_BYTES)) {
        throw new ServiceError('storage_full', 'the disk has no room for recordings');
      }
      const started_ms = clock.now();
      const id = newRecordingId(started_ms);
      const row = begunRow({
        id,
        call: leg.call,
        channel: leg.id,
        file: `${id}.wav`,
        by: 'on_demand',
        extension: leg.extension,
        queue: null,
        started_ms,
      });
      await store.add(row);
      running.set(id, row);
      return id;
    },
    async takeBack(name) {
      running.delete(name);
      await store.drop(name);
    },
    byRule: (leg) => ofChannel(leg).some((row) => row.by !== 'on_demand' && !ending.has(row.id)),
    async paused(leg, on, at) {
      // The engine has paused it already. If this write fails, the event's handler writes it later.
      const written = ofChannel(leg).map((row) => store.pause(row.id, on, at));
      for (const one of await Promise.allSettled(written)) {
        if (one.status === 'rejected')
          log.debug({ error: messageOf(one.reason) }, 'a window waits for the store');
      }
    },
    onDomainEvent(event) {
      switch (event.type) {
        case 'call.recording_paused':
        case 'call.recording_resumed': {
          const on = event.type === 'call.recording_paused';
          for (const row of ofChannel(event.data.leg.leg_id)) {
            const write = (): Promise<void> => store.pause(row.id, on, event.at);
            const task = go('writing down that a recording pauses', write, windows.get(row.id));
            windows.set(row.id, task);
            void task.then(() => windows.get(row.id) === task && windows.delete(row.id));
          }
          return;
        }
        case 'call.recording_stopped':
        case 'call.left':
          for (const row of ofChannel(event.data.leg.leg_id)) {
            // The end of the previous recording may be published after the next one was requested.
            if (row.started_ms <= event.at) finish(row, event.at);
          }
          return;
        case 'call.ended':
          if (event.data.reason === 'merged') return;
          for (const row of running.values()) {
            const over = row.call === event.data.call_id || live.gone(row.channel);
            if (over && !knows(row)) finish(row, event.at);
          }
          return;
        case 'engine.link_up':
          void go('looking through what an earlier life left', sweepUntilCertain);
      }
    },
    async adopt(records) {
      const ended = new Map<string, number>();
      for (const record of records) {
        const { recording } = record.facts;
        if (recording !== undefined) await began(record, recording);
        else if (record.type === 'channel_end') ended.set(record.channel, Math.floor(record.at_us / 1000));
      }
      await channelsEnded(ended);
    },
    running: () => running.size,
    async idle() {
      while (tasks.size > 0) await Promise.all(tasks);
    },
    async close() {
      stop.abort();
      await Promise.all(tasks);
    },
  };
}
