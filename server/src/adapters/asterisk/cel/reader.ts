/**
 * Follows the file that the engine writes its call records to.
 *
 *          ┌── at its end: wait ──┐
 *   open ──> read, cut, decode ───┴─> renamed away ──> finish it ──> files between ──> the new file
 *     └── differs from the checkpoint ──> every file beside it ──> the file from its start
 */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { missing } from '../../../core/files.ts';
import type { ChannelId, NodeId } from '@offhook/contract/ids.ts';
import { messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type {
  CallRecord,
  CallRecordBatch,
  CallRecordCheckpoint,
  CallRecords,
} from '../../../ports/call-records.ts';
import type { Common } from '../../../ports/common.ts';
import { decodeRecord, salvage } from './decode.ts';
import {
  MARK_BYTES,
  currentPlace,
  forgetRotated,
  markOf,
  readMark,
  retire,
  rotatedPlaces,
} from './places.ts';
import type { Place } from './places.ts';
import { RECORD_LIMIT, splitRecords } from './split.ts';
import type { RawRecord } from './split.ts';
import { createWaker } from './wake.ts';
import type { Waker } from './wake.ts';

export interface CelReaderOptions extends Common<'clock' | 'log'> {
  /** The file the engine appends to; it and its folder may not exist yet. */
  readonly file: string;
  readonly node: NodeId;
  /** Poll interval in case no change is notified. */
  readonly poll_ms?: number;
  /** Time for which a renamed file is watched for a last write by a process that still has it open. */
  readonly linger_ms?: number;
  readonly chunk_bytes?: number;
  /** Size from which a file that was read to its end is rotated, so that the engine starts a new one. */
  readonly rotate_bytes?: number;
}

/** Bytes stored per transaction while the reader catches up: large, but small enough not to block the event loop for long. */
const CHUNK_BYTES = 256 * 1024;
const MALFORMED_LIMIT = 4096;
const ROTATE_BYTES = 64 * 1024 * 1024;
const POLL_MS = 1_000;
const LINGER_MS = 250;

/** Position of the reader: an open file, its name, and the next byte. */
interface Reading {
  readonly handle: FileHandle;
  readonly path: string;
  readonly inode: number;
  offset: number;
  mark: string;
  /** True for a file that is no longer written. */
  readonly done: boolean;
}

const openThere = (file: string): Promise<FileHandle | null> => open(file, 'r').catch(missing);
/** True where a file contains what was read up to the checkpoint. */
async function holds(place: Place, at: CallRecordCheckpoint): Promise<boolean> {
  if (place.size < at.offset) return false;
  const handle = await openThere(place.path);
  if (handle === null) return false;
  try {
    return (await readMark(handle, at.offset)) === at.mark;
  } finally {
    await handle.close();
  }
}

/** Opens a file at the checkpoint where it contains it, else at its start; null when it no longer exists. */
async function openPlace(
  place: Place,
  at: CallRecordCheckpoint | null,
  done: boolean,
): Promise<Reading | null> {
  const handle = await openThere(place.path);
  if (handle === null) return null;
  const { ino } = await handle.stat();
  const same = at !== null && (await readMark(handle, at.offset)) === at.mark;
  const start = { offset: 0, mark: markOf(Buffer.alloc(0)) };
  const { offset, mark } = same ? at : start;
  return { handle, path: place.path, inode: ino, offset, mark, done };
}

/** The call records of one engine, read from the file it writes itself. */
export class CelReader implements Required<CallRecords> {
  readonly #options: CelReaderOptions;
  readonly #log: Log;
  readonly #poll: number;
  readonly #window: Buffer;
  #waiting = false;
  /** Time when the reader was last at the end of the file. */
  #caughtUp: number | null = null;
  /** Waiters for the deletion of what was read. */
  readonly #forgetting = new Set<PromiseWithResolvers<void>>();

  constructor(options: CelReaderOptions) {
    this.#options = options;
    this.#log = options.log.child({ part: 'call-records' });
    this.#poll = options.poll_ms ?? POLL_MS;
    // Room for a record that is longer than a chunk.
    const chunk = Math.max(options.chunk_bytes ?? CHUNK_BYTES, 1);
    this.#window = Buffer.allocUnsafe(chunk + RECORD_LIMIT + MARK_BYTES);
  }
  async *read(from: CallRecordCheckpoint | null, signal: AbortSignal): AsyncGenerator<CallRecordBatch> {
    const { file, clock, linger_ms = LINGER_MS, rotate_bytes = ROTATE_BYTES } = this.#options;
    const waker = createWaker(file);
    let at = from;
    let reading: Reading | null = null;
    let queue: readonly Place[] = [];
    try {
      while (!signal.aborted) {
        try {
          if (reading === null) {
            if (queue.length === 0) queue = await this.#placesFrom(at);
            const [place, ...rest] = queue;
            queue = rest;
            if (place === undefined) await this.#forgetRead([]);
            if (place === undefined) await this.#waitAtEnd(waker, signal);
            else reading = await openPlace(place, at, rest.length > 0);
            waker.renew();
            continue;
          }
          let batch = await this.#next(reading, false);
          if (batch === null && !reading.done && (await currentPlace(file))?.inode !== reading.inode) {
            await clock.sleep(linger_ms, signal);
            batch = await this.#next(reading, true);
            if (batch === null) {
              const { inode } = reading;
              await reading.handle.close();
              reading = null;
              queue = (await this.#placesFrom(at)).filter((p) => p.inode !== inode);
              // The rows read so far are stored, because the consumer asked for the next batch.
              await this.#forgetRead(queue);
              if (queue.length === 0) await this.#waitAtEnd(waker, signal);
              continue;
            }
          } else if (batch === null && reading.done) {
            batch = await this.#next(reading, true);
            if (batch === null) {
              await reading.handle.close();
              reading = null;
              continue;
            }
          }
          if (batch === 'replaced') {
            await reading.handle.close();
            reading = null;
            queue = [];
            continue;
          }
          if (batch === null) {
            if (reading.offset >= rotate_bytes || this.#forgetting.size > 0)
              await retire(file, String(clock.now()));
            else await this.#waitAtEnd(waker, signal);
            continue;
          }
          at = batch.checkpoint;
          yield batch;
        } catch (error) {
          if (signal.aborted) return;
          this.#log.warn(
            { file, error: messageOf(error) },
            'the file of call records could not be read; retrying',
          );
          await reading?.handle.close().catch(() => {});
          reading = null;
          queue = [];
          await waker.wait(this.#poll, signal);
        }
      }
    } finally {
      waker.close();
      await reading?.handle.close().catch(() => {});
    }
  }
  caughtUpAt(): number | null {
    return this.#waiting ? this.#options.clock.now() : this.#caughtUp;
  }
  async forget(signal: AbortSignal): Promise<void> {
    const gone = Promise.withResolvers<void>();
    const stop = (): void => gone.reject(signal.reason as Error);
    signal.throwIfAborted();
    signal.addEventListener('abort', stop, { once: true });
    this.#forgetting.add(gone);
    try {
      await gone.promise;
    } finally {
      this.#forgetting.delete(gone);
      signal.removeEventListener('abort', stop);
    }
  }

  /** Files still to be read, in order; the current one last. */
  async #placesFrom(at: CallRecordCheckpoint | null): Promise<readonly Place[]> {
    const { file } = this.#options;
    const current = await currentPlace(file);
    const rotated = (await rotatedPlaces(file)).filter((p) => p.inode !== current?.inode);
    const all = current ? [...rotated, current] : rotated;
    if (at === null || all.length === 0) return all;
    const holding = await Promise.all(all.map((place) => holds(place, at)));
    // A file that was copied before it was emptied contains the same bytes under another inode.
    const same = all.findIndex((place, i) => holding[i] && place.inode === at.inode);
    const found = same === -1 ? holding.indexOf(true) : same;
    if (found !== -1) return all.slice(found);
    this.#log.warn(
      { file, offset: at.offset },
      'the file of call records was replaced; reading it from the beginning',
    );
    return all;
  }
  #decode(raw: readonly RawRecord[]): Pick<CallRecordBatch, 'records' | 'test_channels' | 'malformed'> {
    const records: CallRecord[] = [];
    const test_channels = new Set<ChannelId>();
    const malformed: string[] = [];
    const take = (record: ReturnType<typeof decodeRecord>): void => {
      if (typeof record === 'object') records.push(record);
      else if (record !== 'ignored' && record !== 'malformed') test_channels.add(record);
    };
    for (const { bytes, whole } of raw) {
      const record = whole ? decodeRecord(this.#options.node, bytes) : 'malformed';
      take(record);
      if (record !== 'malformed') continue;
      const inner = salvage(bytes);
      if (inner) take(decodeRecord(this.#options.node, inner));
      malformed.push(bytes.toString('latin1', 0, MALFORMED_LIMIT));
    }
    if (malformed.length > 0)
      this.#log.warn({ lines: malformed.length, first: malformed[0] }, 'call records that cannot be read');
    return { records, test_channels: [...test_channels], malformed };
  }
  /** The next batch of an open file; null at its current end, `replaced` when it no longer contains what was read. */
  async #next(r: Reading, last: boolean): Promise<CallRecordBatch | 'replaced' | null> {
    const before = Math.min(MARK_BYTES, r.offset);
    const { bytesRead } = await r.handle.read(this.#window, 0, this.#window.length, r.offset - before);
    if (bytesRead < before || markOf(this.#window.subarray(0, before)) !== r.mark) return 'replaced';
    if (bytesRead === before) return null;
    const { records: raw, consumed } = splitRecords(this.#window.subarray(before, bytesRead), last);
    if (consumed === 0) return null;
    const end = before + consumed;
    r.offset += consumed;
    r.mark = markOf(this.#window.subarray(Math.max(0, end - MARK_BYTES), end));
    const checkpoint = { file: r.path, inode: r.inode, offset: r.offset, mark: r.mark };
    return { ...this.#decode(raw), checkpoint, live: !r.done && bytesRead < this.#window.length };
  }
  async #waitAtEnd(waker: Waker, signal: AbortSignal): Promise<void> {
    this.#waiting = true;
    try {
      await waker.wait(this.#poll, signal);
    } finally {
      this.#waiting = false;
      this.#caughtUp = this.#options.clock.now();
    }
  }
  async #forgetRead(unread: readonly Place[]): Promise<void> {
    const waiting = [...this.#forgetting];
    if (waiting.length === 0 || !(await forgetRotated(this.#options.file, unread))) return;
    for (const one of waiting) {
      this.#forgetting.delete(one);
      one.resolve();
    }
  }
}
