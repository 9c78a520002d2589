import { createHash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { constants } from 'node:fs';
import { lstat, open, opendir, statfs, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { missing, statOf } from '../../core/files.ts';
import type { Clock } from '../../ports/clock.ts';
import { isFileName } from './ids.ts';

/** State of a recording's file. */
export interface Found {
  readonly bytes: number;
  /**
   * False while the engine writes the file, or if it ended before it closed the file: it writes the length into the
   * header on close.
   */
  readonly closed: boolean;
  /** Last write, in milliseconds since 1970. */
  readonly written_ms: number;
}
/** The folder of recordings. Every name is checked; errors are those of the file system. */
export interface RecordingFiles {
  look(file: string): Promise<Found | null>;
  /** Waits about ten seconds for the engine to close a stopped recording; resolves with the file's last state. */
  settled(file: string, signal: AbortSignal): Promise<Found | null>;
  /** Writes the length, which every player needs, into the header of a file that the engine did not close. */
  mend(file: string): Promise<void>;
  /** SHA-256 in hexadecimal. */
  hash(file: string): Promise<string>;
  /** The caller closes the handle; `remove` closes it, too. Null if the file does not exist. */
  open(file: string): Promise<FileHandle | null>;
  /** Deletes a file, also for those who are reading it. Number of deleted bytes; null if the file does not exist. */
  remove(file: string): Promise<number | null>;
  /** Names of regular files with the time of their last write. */
  list(): AsyncIterable<{ readonly file: string; readonly written_ms: number }>;
  freeBytes(): Promise<number>;
}

const HEAD_BYTES = 44;
const RIFF_LENGTH_AT = 4;
const DATA_LENGTH_AT = 40;
/** Bytes before the part that the header's length counts. */
const UNCOUNTED = 8;
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_600, 3_000, 4_000] as const;
/** Waits after which a file that does not exist counts as missing. */
const WAITS_FOR_NONE = 6;

/** A symbolic link counts as missing. */
const missingOrLink = (error: unknown): null =>
  (error as NodeJS.ErrnoException).code === 'ELOOP' ? null : missing(error);

export function recordingFiles(folder: string, clock: Clock): RecordingFiles {
  const at = (file: string): string => {
    if (!isFileName(file)) throw new Error('not the name of a recording');
    return path.join(folder, file);
  };
  // A link could lead out of the folder, and opening a pipe would wait for its writer and block file access.
  const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  async function openFile(file: string): Promise<FileHandle | null> {
    const handle = await open(at(file), FLAGS).catch(missingOrLink);
    if (handle === null || (await statOf(handle)).isFile()) return handle;
    await handle.close();
    return null;
  }

  /** Handles of readers, by file. */
  const readers = new Map<string, Set<Promise<FileHandle | null>>>();
  async function openForReader(file: string): Promise<FileHandle | null> {
    const opening = openFile(file);
    const same = readers.get(file) ?? new Set();
    readers.set(file, same.add(opening));
    const forget = (): void => {
      if (same.delete(opening) && same.size === 0) readers.delete(file);
    };
    try {
      const handle = await opening;
      if (handle === null) forget();
      // Its types lack the events.
      else (handle as FileHandle & EventEmitter).once('close', forget);
      return handle;
    } catch (error) {
      forget();
      throw error;
    }
  }

  const files: RecordingFiles = {
    async look(file) {
      await using handle = await openFile(file);
      if (handle === null) return null;
      const { size, mtimeMs } = await handle.stat();
      const head = Buffer.alloc(HEAD_BYTES);
      const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
      const closed = bytesRead === HEAD_BYTES && head.readUInt32LE(RIFF_LENGTH_AT) + UNCOUNTED === size;
      return { bytes: size, closed, written_ms: Math.floor(mtimeMs) };
    },
    async settled(file, signal) {
      let found = await files.look(file);
      for (const [n, ms] of WAITS_MS.entries()) {
        if (found?.closed === true || (found === null && n >= WAITS_FOR_NONE)) break;
        await clock.sleep(ms, signal);
        found = await files.look(file);
      }
      return found;
    },
    async mend(file) {
      await using handle = await open(at(file), constants.O_RDWR | constants.O_NOFOLLOW);
      const { size } = await handle.stat();
      if (size < HEAD_BYTES) return;
      const length = Buffer.alloc(4);
      for (const [place, before] of [
        [RIFF_LENGTH_AT, UNCOUNTED],
        [DATA_LENGTH_AT, HEAD_BYTES],
      ] as const) {
        length.writeUInt32LE(Math.min(size - before, 0xffff_ffff));
        await handle.write(length, 0, length.length, place);
      }
    },
    async hash(file) {
      await using handle = await openFile(file);
      const hash = createHash('sha256');
      if (handle !== null) {
        for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
      }
      return hash.digest('hex');
    },
    open: openForReader,
    async remove(file) {
      const found = await lstat(at(file)).catch(missing);
      if (found !== null) await unlink(at(file)).catch(missing);
      // The bytes of an open file stay, and a paused player may keep it open for days. Also where an attempt before removed its name.
      for (const opening of readers.get(file) ?? []) await (await opening.catch(() => null))?.close();
      return found?.size ?? null;
    },
    async *list() {
      for await (const entry of await opendir(folder)) {
        if (!entry.isFile()) continue;
        const found = await lstat(path.join(folder, entry.name)).catch(missing);
        if (found !== null) yield { file: entry.name, written_ms: Math.floor(found.mtimeMs) };
      }
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
  };
  return files;
}
