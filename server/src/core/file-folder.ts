import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { freeBytes } from './folders.ts';

/** The folder of the finished files, for their owner only. */
export interface FileFolder {
  pathOf(id: number, format: string): string;
  /**
   * Writes everything, then gives the file its name: a named file is complete. Throws the errors of the file system and of
   * `pieces`.
   */
  write(
    id: number,
    format: string,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly bytes: number; readonly sha256: string }>;
  remove(id: number, format: string): Promise<void>;
  /** Deletes every file that `known` does not name. */
  tidy(known: ReadonlySet<string>): Promise<void>;
}
/** Thrown where another piece would leave less free space on the disk than the floor. */
export class NoRoomError extends Error {
  override name = 'NoRoomError';
}
/** Written bytes after which the free space on the disk is checked again. */
const LOOK_BYTES = 8 * 1024 * 1024;

/** `floor`: bytes that stay free on the disk. */
export function createFileFolder(folder: string, floor: number): FileFolder {
  const pathOf = (id: number, format: string): string => path.join(folder, `${id}.${format}`);
  async function checkRoom(): Promise<void> {
    if ((await freeBytes(folder)) < floor + LOOK_BYTES)
      throw new NoRoomError('the disk does not have enough free space');
  }
  return {
    pathOf,
    async write(id, format, pieces) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const part = `${pathOf(id, format)}.part`;
      const hash = createHash('sha256');
      let bytes = 0;
      let looked = -LOOK_BYTES;
      const file = await open(part, 'w', 0o600);
      try {
        for await (const piece of pieces) {
          if (bytes - looked >= LOOK_BYTES) {
            await checkRoom();
            looked = bytes;
          }
          await file.writeFile(piece);
          hash.update(piece);
          bytes += piece.length;
        }
        await file.sync();
      } catch (error) {
        await file.close();
        await rm(part, { force: true });
        throw error;
      }
      await file.close();
      await rename(part, pathOf(id, format));
      return { bytes, sha256: hash.digest('hex') };
    },
    remove: (id, format) => rm(pathOf(id, format), { force: true }),
    async tidy(known) {
      const names = await readdir(folder).catch(() => []);
      for (const name of names) {
        if (!known.has(name)) await rm(path.join(folder, name), { force: true });
      }
    },
  };
}
