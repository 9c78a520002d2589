import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rename, rm, statfs, unlink, utimes } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { missing } from '../../core/files.ts';
import type { Readable } from 'node:stream';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';

/** One stored sound: a complete file, named by its hash. */
export interface KeptSound {
  readonly sound: string;
  readonly bytes: number;
  /** Last time at which it was in use, in milliseconds since 1970. */
  readonly wanted_ms: number;
}
/** The folder of sounds, from which the engine plays. Throws errors of the file system besides the named ones. */
export interface SoundFolder {
  /** Reserves file names for a new sound; `remove` deletes the files. */
  reserve(): Upload;
  /** Stores the body in a temporary file, which `remove` deletes. Throws `sound_too_large`, `invalid_request`. */
  receive(body: Readable, most: number): Promise<Upload>;
  /** Renames a converted file to its hash; an existing one stays. It counts as in use from now on. */
  keep(file: string, sound: string, now: number): Promise<void>;
  list(): Promise<readonly KeptSound[]>;
  /** The caller closes it. Null for an unknown sound. */
  open(sound: string): Promise<FileHandle | null>;
  has(sound: string): Promise<boolean>;
  /** Stores the time of use in the file. */
  want(sound: string, now: number): Promise<void>;
  /** False for an unknown sound. */
  remove(sound: string): Promise<boolean>;
  freeBytes(): Promise<number>;
}
export interface Upload {
  readonly from: string;
  readonly to: string;
  remove(): Promise<void>;
}

/** The engine reads the rate of a WAV from the end of its name; this is the one for 16 kHz. */
const ENDING = '.wav16';
const NAME = /^([0-9a-f]{64})\.wav16$/;

/** Creates the folder (0750) and deletes the remains of interrupted uploads. */
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
  function reserve(): Upload {
    const name = path.join(incoming, String((uploads += 1)));
    const [from, to] = [`${name}.upload`, `${name}${ENDING}`];
    return {
      from,
      to,
      async remove() {
        await rm(from, { force: true });
        await rm(to, { force: true });
      },
    };
  }
  return {
    reserve,
    async receive(body, most) {
      const upload = reserve();
      try {
        await using file = await open(upload.from, 'wx', 0o600);
        let bytes = 0;
        // The HTTP layer must still read the rest of a refused body, so it is not destroyed here.
        for await (const chunk of body.iterator({ destroyOnReturn: false })) {
          bytes += (chunk as Buffer).length;
          if (bytes > most) {
            throw new ServiceError('sound_too_large', say`the upload is larger than ${most} bytes`);
          }
          await file.writeFile(chunk as Buffer);
        }
      } catch (error) {
        await upload.remove();
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE') {
          throw new ServiceError('invalid_request', 'the body ended early');
        }
        throw error;
      }
      return upload;
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
