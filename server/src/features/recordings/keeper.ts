import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeOf } from '@offhook/contract/ids.ts';
import type { ChannelId } from '@offhook/contract/ids.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { untilDone } from '../../core/retry.ts';
import type { Log } from '../../core/log.ts';
import type { CallRecord, RecordingBegun } from '../../ports/call-records.ts';
import type { Conversations } from '../../ports/conversations.ts';
import type { LiveLeg, ModelInput } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';
import type { RecordingKeeper } from '../../ports/recordings.ts';
import type { Found, RecordingFiles } from './files.ts';
import { isFileName, newRecordingId } from './ids.ts';
import type { RecordingStore } from './store.ts';
import type { RecordingRow } from './tables.ts';
import { windowsOf } from './view.ts';

export interface KeeperDeps extends Common<'clock' | 'live' | 'log'> {
  readonly store: RecordingStore;
  readonly files: RecordingFiles;
  /** Prefix of the ids of this node's channels. */
  readonly node: string;
  /** False for a recording whose file is on the machine of another node. */
  readonly isHere: (row: RecordingRow) => boolean;
  /** True for a recording whose file is on the machine of a home node, which never leads. */
  readonly isAtHome: (row: RecordingRow) => boolean;
  readonly conversations: Pick<Conversations, 'touch'>;
  /** Passes an input to the model, in order with those of the engine. */
  readonly tell: (input: ModelInput) => void;
  /** Free disk space required to start a recording, in bytes; set by tests only. */
  readonly room_bytes?: number;
}

/** Disk space reserved for data that must always be written, such as the journal. */
const ROOM_BYTES = 256 * 1024 * 1024;
/** Time to wait for the engine's own event before the model is corrected. */
const FACT_MS = 2_000;
/** The recording of an unknown channel is finished if its file was not written for this long. */
const QUIET_MS = 60_000;
/** Recordings per database query. */
const STEP = 200;

/** True if the engine of this node wrote the recording: the id of its channel begins with the node's name. */
export const isOfNode = (row: Pick<RecordingRow, 'channel'>, node: string): boolean =>
  row.channel.startsWith(`${node}:`);

/** A recording that has just begun. */
const begunRow = (
  row: Pick<RecordingRow, 'id' | 'call' | 'channel' | 'file' | 'by' | 'extension' | 'queue' | 'started_ms'>,
): RecordingRow => ({ ...row, ended_ms: null, paused: '[]', state: 'running', bytes: null, sha256: null });

export class Keeper implements RecordingKeeper {
  readonly #deps: KeeperDeps;
  readonly #log: Log;
  readonly #stop = new AbortController();
  /** Running recordings by id. */
  readonly #running = new Map<string, RecordingRow>();
  readonly #ending = new Set<string>();
  readonly #reminding = new Set<string>();
  readonly #tasks = new Set<Promise<void>>();
  #hashing: Promise<unknown> = Promise.resolve();
  /** Pending write of the newest pause window by recording. A resume or end must wait for it, or the window is lost. */
  readonly #windows = new Map<string, Promise<void>>();
  /** Nodes of engines whose present calls are in the model. */
  readonly #followed = new Set<string>();
  /** Ends the sweep in progress. */
  #sweeps = new AbortController();

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#log = deps.log.child({ part: 'recordings' });
  }
  async begin(leg: LiveLeg): Promise<string> {
    const { store, files, clock } = this.#deps;
    if (this.#ofChannel(leg.id).some((row) => !this.#ending.has(row.id))) {
      throw new ServiceError('wrong_call_state', 'this leg is recorded already');
    }
    if ((await files.freeBytes()) < (this.#deps.room_bytes ?? ROOM_BYTES)) {
      throw new ServiceError('storage_full', 'the disk has no space for recordings');
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
    this.#running.set(id, row);
    return id;
  }
  async takeBack(name: string): Promise<void> {
    this.#running.delete(name);
    await this.#deps.store.drop(name);
  }
  onDemand(leg: string): boolean {
    const running = this.#ofChannel(leg).filter((row) => !this.#ending.has(row.id));
    return running.length > 0 && running.every((row) => row.by === 'on_demand');
  }
  async paused(leg: string, on: boolean, at: number): Promise<void> {
    // The engine has paused the recording already. If this write fails, the handler of the event repeats it.
    const written = this.#ofChannel(leg).map((row) => this.#deps.store.pause(row.id, on, at));
    for (const one of await Promise.allSettled(written)) {
      if (one.status === 'rejected')
        this.#log.debug({ error: messageOf(one.reason) }, 'a pause of a recording could not be stored yet');
    }
  }
  /** Accepts every committed event, in order. */
  onDomainEvent(event: DomainEvent): void {
    switch (event.type) {
      case 'call.recording_paused':
      case 'call.recording_resumed': {
        const on = event.type === 'call.recording_paused';
        for (const row of this.#ofChannel(event.data.leg.leg_id)) {
          const write = (): Promise<void> => this.#deps.store.pause(row.id, on, event.at);
          const task = this.#go('storing the pause of a recording', write, this.#windows.get(row.id));
          this.#windows.set(row.id, task);
          void task.then(() => this.#windows.get(row.id) === task && this.#windows.delete(row.id));
        }
        return;
      }
      case 'call.recording_stopped':
      case 'call.left':
        for (const row of this.#ofChannel(event.data.leg.leg_id)) {
          // The end of the previous recording may be published after the next one was requested.
          if (row.started_ms <= event.at) this.#finish(row, event.at);
        }
        return;
      case 'call.ended':
        if (event.data.reason === 'merged') return;
        for (const row of this.#running.values()) {
          const over = row.call === event.data.call_id || this.#deps.live.gone(row.channel);
          if (over && this.#deps.live.leg(row.channel) === undefined) this.#finish(row, event.at);
        }
        return;
      case 'engine.link_up':
        this.#sweepAnew();
        return;
      case 'engine.resynced':
        if (this.#followed.has(event.data.node)) return;
        this.#followed.add(event.data.node);
        this.#sweepAnew();
        return;
      case 'engine.link_down':
        this.#followed.delete(event.data.node);
    }
  }
  /** Reads call records: recordings that the dialplan started, and the ends of channels. Idempotent. */
  async adopt(records: readonly CallRecord[]): Promise<void> {
    const ended = new Map<string, number>();
    for (const record of records) {
      const { recording } = record.facts;
      if (recording !== undefined) await this.#began(record, recording);
      else if (record.type === 'channel_end') ended.set(record.channel, Math.floor(record.at_us / 1000));
    }
    await this.#channelsEnded(ended);
  }
  /** Number of running recordings, from memory. */
  running(): number {
    return this.#running.size;
  }
  /** Resolves once all pending writes are done. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#tasks);
  }

  async #persist(what: string, work: () => Promise<void>): Promise<void> {
    await untilDone(what, work, {
      clock: this.#deps.clock,
      log: this.#log,
      signal: this.#stop.signal,
    });
  }
  #go(what: string, work: () => Promise<void>, after?: Promise<void>): Promise<void> {
    const begun =
      after === undefined ? this.#persist(what, work) : after.then(() => this.#persist(what, work));
    const task = begun.finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
    return task;
  }
  /** Hashes one file at a time, so that many calls that end together do not slow down the service. */
  #hashOf(file: string): Promise<string> {
    const hash = this.#hashing.then(() => this.#deps.files.hash(file));
    this.#hashing = hash.catch(() => {});
    return hash;
  }
  /** Ends a recording: stores its end, then checks the file. `at` null: the time of the file's last write. */
  #finish(row: RecordingRow, at: number | null): void {
    const { store, files, conversations, isAtHome } = this.#deps;
    if (this.#ending.has(row.id)) return;
    this.#ending.add(row.id);
    const elsewhere = !this.#deps.isHere(row);
    const settle = async (): Promise<void> => {
      if (at !== null) await store.end(row.id, at);
      if (elsewhere) {
        // The node that has the file checks it once it leads the site again; a home node never does.
        if (isAtHome(row)) await store.settle(row.id, 'missing', null, null);
        this.#running.delete(row.id);
        this.#ending.delete(row.id);
        await conversations.touch([row.call]);
        return;
      }
      const found = await files.settled(row.file, this.#stop.signal);
      if (!isOfNode(row, this.#deps.node) && this.#isWritten(found)) {
        // The engine of the former leader writes the file until its last call ends; then a sweep completes it.
        this.#running.delete(row.id);
        this.#ending.delete(row.id);
        this.#sweepAnew();
        return;
      }
      if (at === null) await store.end(row.id, found?.written_ms ?? row.started_ms);
      if ((await store.byId(row.id))?.state === 'erased') await files.remove(row.file);
      else if (found === null) await store.settle(row.id, 'missing', null, null);
      else {
        if (!found.closed) await files.mend(row.file);
        await store.settle(row.id, 'stored', found.bytes, await this.#hashOf(row.file));
      }
      if (found === null)
        this.#log.warn({ recording: row.id, by: row.by }, 'the engine stored no file for a recording');
      this.#running.delete(row.id);
      this.#ending.delete(row.id);
      await conversations.touch([row.call]);
    };
    void this.#go('storing a recording', settle, this.#windows.get(row.id));
  }
  #ofChannel(channel: string): RecordingRow[] {
    return [...this.#running.values()].filter((row) => row.channel === channel);
  }
  /**
   * Checks recordings that an earlier process, or a lost link, left running: each continues if its leg is live, and is finished if
   * not. Returns false while this is uncertain for one of them.
   */
  async #sweep(signal: AbortSignal): Promise<boolean> {
    let certain = true;
    for (let after = ''; ;) {
      const rows = await this.#deps.store.running(after, STEP);
      for (const row of rows) {
        if (signal.aborted) return true;
        if (!(await this.#check(row))) certain = false;
      }
      if (rows.length < STEP) return certain;
      after = rows.at(-1)!.id;
    }
  }
  /** Repeats the sweep until it is certain; a newer one replaces it. */
  #sweepAnew(): void {
    this.#sweeps.abort();
    this.#sweeps = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, this.#sweeps.signal]);
    void this.#go('checking recordings of an earlier run of the service', async () => {
      while (!signal.aborted && !(await this.#sweep(signal)))
        await this.#deps.clock.sleep(QUIET_MS, signal).catch(() => undefined);
    });
  }
  /** False while it is uncertain whether the recording continues. */
  async #check(row: RecordingRow): Promise<boolean> {
    const { files, isHere, live, clock, tell } = this.#deps;
    const leg = live.leg(row.channel);
    const goesOn = row.ended_ms === null && leg !== undefined;
    if (!isHere(row)) {
      if (goesOn) this.#follow(row);
      else this.#checkElsewhere(row);
      return true;
    }
    const found = await files.look(row.file);
    const closed = found?.closed === true;
    if (goesOn && !closed) {
      this.#follow(row);
      return true;
    }
    if (!isOfNode(row, this.#deps.node) && this.#isWritten(found)) return false;
    this.#keep(row);
    if (this.#ending.has(row.id)) return true;
    if (closed && leg?.recording === true) {
      tell({ type: 'channel.recording', at: clock.now(), id: row.channel as ChannelId, on: false });
    }
    const quiet = found === null || found.written_ms < clock.now() - QUIET_MS;
    if (row.ended_ms === null && !closed && !quiet) return false;
    this.#finish(row, row.ended_ms);
    return true;
  }
  /** Finishes a recording without a live leg whose file is on another machine. */
  #checkElsewhere(row: RecordingRow): void {
    const { clock, isAtHome } = this.#deps;
    if (!isAtHome(row)) {
      if (row.ended_ms === null) this.#finish(row, clock.now());
    } else if (row.ended_ms !== null || this.#followed.has(nodeOf(row.channel)))
      // Until the engine is followed, the call may continue there.
      this.#finish(row, row.ended_ms ?? clock.now());
  }
  /** Keeps a running recording, unless it is known with its newer pauses. */
  #keep(row: RecordingRow): void {
    if (!this.#running.has(row.id)) this.#running.set(row.id, row);
  }
  #follow(row: RecordingRow): void {
    this.#keep(row);
    if (!this.#ending.has(row.id)) this.#remind(row);
  }
  /** True while the engine seems to write its file. */
  #isWritten(found: Found | null): boolean {
    return found?.closed === false && found.written_ms >= this.#deps.clock.now() - QUIET_MS;
  }
  /**
   * Reports a running recording to the model. The engine does not list its recordings, so the model cannot know one
   * that started while the service was away. Waits first, because the engine's own event may still arrive.
   */
  #remind(row: RecordingRow): void {
    const { live, clock, tell } = this.#deps;
    // The model counts the reports of a leg.
    if (this.#reminding.has(row.id)) return;
    this.#reminding.add(row.id);
    void this.#go('reporting a recording to the model', async () => {
      await clock.sleep(FACT_MS, this.#stop.signal);
      this.#reminding.delete(row.id);
      const goesOn = this.#running.has(row.id) && !this.#ending.has(row.id);
      if (!goesOn || live.leg(row.channel)?.recording !== false) return;
      const about = { at: clock.now(), id: row.channel as ChannelId, on: true };
      tell({ type: 'channel.recording', ...about });
      if (windowsOf(row).at(-1)?.[1] === null) tell({ type: 'channel.recording_paused', ...about });
    });
  }
  async #began(record: CallRecord, { by, of, file: name, channel }: RecordingBegun): Promise<void> {
    const file = name.endsWith('.wav') ? name : `${name}.wav`;
    if (!isFileName(file)) {
      this.#log.warn(
        { channel: record.channel },
        'the engine reports a recording with an invalid name; it is ignored',
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
    if (!(await this.#deps.store.add(row))) return;
    this.#running.set(row.id, row);
    if (this.#deps.live.leg(row.channel) !== undefined) this.#remind(row);
  }
  async #channelsEnded(ended: ReadonlyMap<string, number>): Promise<void> {
    const { store, conversations } = this.#deps;
    if (ended.size === 0) return;
    for (const row of await store.ofChannels([...ended.keys()])) {
      const at = ended.get(row.channel)!;
      if (row.state === 'running') {
        this.#keep(row);
        // While it is being stored, only its end can be corrected.
        if (this.#ending.has(row.id)) await store.end(row.id, at);
        else this.#finish(row, at);
      } else if (row.ended_ms !== null && at < row.ended_ms) {
        await store.end(row.id, at);
        await conversations.touch([row.call]);
      }
    }
  }
}
