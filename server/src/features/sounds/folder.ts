import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rename, rm, statfs, unlink, utimes } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';

/** One kept sound: a whole file, named by what is in it. */
export interface KeptSound {
  readonly sound: string;
  readonly bytes: number;
  /** When it was known to be wanted last, in milliseconds since 1970. */
  readonly wanted_ms: number;
}
/** The folder of sounds; the engine plays from it. Errors are those of the file system, beside the ones that are named. */
export interface SoundFolder {
  /** Puts the body aside under a name of its own, which `remove`s it. Throws `sound_too_large`, `invalid_request`. */
  receive(body: Readable, most: number): Promise<Upload>;
  /** Gives a converted file its name; one that was there stays. It is wanted from now on. */
  keep(file: string, sound: string, now: number): Promise<void>;
  list(): Promise<readonly KeptSound[]>;
  /** The caller closes it. Null where there is none. */
  open(sound: string): Promise<FileHandle | null>;
  has(sound: string): Promise<boolean>;
  /** Keeps the time at which it was wanted, in its file. */
  want(sound: string, now: number): Promise<void>;
  /** False where there was none. */
  remove(sound: string): Promise<boolean>;
  freeBytes(): Promise<number>;
}
export interface Upload {
  readonly from: string;
  readonly to: string;
  remove(): Promise<void>;
}

/** The engine tells the rate of a WAV by the end of its name; this is the one for 16 kHz. */
const ENDING = '.wav16';
const NAME = /^([0-9a-f]{64})\.wav16$/;
const missing = (error: unknown): null => {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
};

/** Makes the folder (0750), and deletes what uploads that were cut off left behind. */
export async function openSoundFolder(folder: string): Promise<SoundFolder> {
  const incoming = path.join(folder, 'incoming');
  await mkdir(folder, { recursive: true, mode: 0o750 });
  await chmod(folder, 0o750);
  await rm(incoming, { recursive: true, force: true });
  await mkdir(incoming, { mode: 0o700 });
  let uploads = 0;
  const at = (sound: string): string => path.join(folder, `${sound}${ENDING}`);
  const look = async (sound: string): Promise<KeptSound | null> => {
    const found = await lstat(at(sound)).catch(missing);
    if (found === null || !found.isFile()) return null;
    return { sound, bytes: found.size, wanted_ms: Math.floor(found.mtimeMs) };
  };
  async function syncFolder(): Promise<void> {
    await using handle = await open(folder, constants.O_RDONLY);
    await handle.sync();
  }
  return {
    async receive(body, most) {
      const name = path.join(incoming, String((uploads += 1)));
      const [from, to] = [`${name}.upload`, `${name}${ENDING}`];
      const remove = async (): Promise<void> => {
        await rm(from, { force: true });
        await rm(to, { force: true });
      };
      try {
        await using file = await open(from, 'wx', 0o600);
        let bytes = 0;
        // The rest of a refused body must still be read by who answers, so it is not destroyed here.
        for await (const chunk of body.iterator({ destroyOnReturn: false })) {
          bytes += (chunk as Buffer).length;
          if (bytes > most) {
            throw new ServiceError('sound_too_large', say`the upload is larger than ${most} bytes`);
          }
          await file.writeFile(chunk as Buffer);
        }
      } catch (error) {
        await remove();
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE') {
          throw new ServiceError('invalid_request', 'the body ended early');
        }
        throw error;
      }
      return { from, to, remove };
    },
    async keep(file, sound, now) {
      if ((await look(sound)) === null) {
        await rename(file, at(sound));
        await syncFolder();
      }
      await utimes(at(sound), now / 1000, now / 1000);
    },
    async list() {
      const names = await readdir(folder);
      const sounds = names.flatMap((name) => NAME.exec(name)?.[1] ?? []).toSorted();
      const found = await Promise.all(sounds.map((sound) => look(sound)));
      return found.filter((one) => one !== null);
    },
    async open(sound) {
      const handle = await open(at(sound), constants.O_RDONLY | constants.O_NOFOLLOW).catch(missing);
      return handle;
    },
    has: async (sound) => (await look(sound)) !== null,
    async want(sound, now) {
      await utimes(at(sound), now / 1000, now / 1000).catch(missing);
    },
    async remove(sound) {
      const gone = await unlink(at(sound)).then(() => true, missing);
      if (gone === null) return false;
      await syncFolder();
      return true;
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
  };
}
