import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, opendir, statfs, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import { isFileName } from './ids.ts';

/** What lies in the folder under a recording's name. */
export interface Found {
  readonly bytes: number;
  /** The engine writes the length into the head when it closes the file: before that it is still being written, or was lost. */
  readonly closed: boolean;
  /** Last write, in milliseconds since 1970. */
  readonly written_ms: number;
}
/** The folder of recordings. Every name is checked; errors are those of the file system. */
export interface RecordingFiles {
  look(file: string): Promise<Found | null>;
  /** Waits for the engine to close a file that it was told to end; then, or after about ten seconds, what lies there. */
  settled(file: string, signal: AbortSignal): Promise<Found | null>;
  /** Writes the length into the head of a file that the engine lost before it could; without it no player plays it. */
  mend(file: string): Promise<void>;
  /** SHA-256 in hexadecimal. */
  hash(file: string): Promise<string>;
  /** The caller closes it. Null where there is no such file. */
  open(file: string): Promise<FileHandle | null>;
  /** Bytes that were given up; null where there was no such file. */
  remove(file: string): Promise<number | null>;
  /** Names of regular files with the time of their last write. */
  list(): AsyncIterable<{ readonly file: string; readonly written_ms: number }>;
  freeBytes(): Promise<number>;
}

const HEAD_BYTES = 44;
const RIFF_LENGTH_AT = 4;
const DATA_LENGTH_AT = 40;
/** Bytes of a file that stand before what its own length counts. */
const UNCOUNTED = 8;
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_600, 3_000, 4_000] as const;
/** After so many of the waits a file that does not exist will not come any more. */
const WAITS_FOR_NONE = 6;

const missing = (error: unknown): null => {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
};
/** A link is no recording either. */
const missingOrLink = (error: unknown): null =>
  (error as NodeJS.ErrnoException).code === 'ELOOP' ? null : missing(error);

export function recordingFiles(folder: string, clock: Clock): RecordingFiles {
  const at = (file: string): string => {
    if (!isFileName(file)) throw new Error('not the name of a recording');
    return path.join(folder, file);
  };
  // A link in its place would lead out of the folder, and a pipe would wait for its writer: some of them stop all file access.
  const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  async function openFile(file: string): Promise<FileHandle | null> {
    const handle = await open(at(file), FLAGS).catch(missingOrLink);
    if (handle === null || (await handle.stat()).isFile()) return handle;
    await handle.close();
    return null;
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
    open: openFile,
    async remove(file) {
      const found = await lstat(at(file)).catch(missing);
      if (found === null) return null;
      await unlink(at(file)).catch(missing);
      return found.size;
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
