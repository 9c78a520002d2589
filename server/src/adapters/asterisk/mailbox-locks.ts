/** Locks of the folders of mailboxes, which the engine respects. */
import type { Dirent } from 'node:fs';
import { link, readdir, stat, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { missing } from '../../core/files.ts';
import type { Clock } from '../../ports/clock.ts';

/** The engine changes a folder only while it has made this file, as another name of a file of its own. */
const LOCK = '.lock';
const OWN_LOCK = '.lock-offhook';
const WAIT_MS = 50;
const TRIES = 100;
const BUSY = Symbol('busy');

/** Empty where the folder does not exist. */
export const entriesOf = async (folder: string): Promise<readonly Dirent[]> =>
  (await readdir(folder, { withFileTypes: true }).catch(missing)) ?? [];
export const foldersIn = (entries: readonly Dirent[]): string[] =>
  entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);

/** Ends the locks of this program in all folders of a mailbox, also those of work that still runs. */
export async function endLocks(mailbox: string): Promise<void> {
  await Promise.all(foldersIn(await entriesOf(mailbox)).map((name) => unlock(path.join(mailbox, name))));
}

/** Keeps the engine, and other work of this process, out of a folder. */
export class MailboxLocks {
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #held = new Set<string>();
  /** Folders whose lock was not free for some seconds: until they are listed again, nothing waits for them. */
  readonly #busy = new Set<string>();

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }
  /** Ends a lock that a crash left, before the folder is listed. */
  async endLeft(folder: string): Promise<void> {
    this.#busy.delete(folder);
    if (this.#held.has(folder)) return;
    this.#held.add(folder);
    try {
      await unlock(folder);
    } finally {
      this.#held.delete(folder);
    }
  }
  /** Result of `work`; null where the folder does not exist, or its lock is not free for some seconds. */
  async during<T>(folder: string, signal: AbortSignal, work: () => Promise<T | null>): Promise<T | null> {
    for (let tries = 1; ; tries += 1) {
      const got = await this.#once(folder, work);
      if (got !== BUSY) return got;
      if (tries === TRIES || this.#busy.has(folder)) break;
      await this.#clock.sleep(WAIT_MS, signal);
    }
    this.#busy.add(folder);
    return null;
  }
  async #once<T>(folder: string, work: () => Promise<T | null>): Promise<T | null | typeof BUSY> {
    if (this.#held.has(folder)) return BUSY;
    this.#held.add(folder);
    try {
      const own = path.join(folder, OWN_LOCK);
      if ((await writeFile(own, '', { mode: 0o600 }).catch(missing)) === null) return null;
      try {
        // Missing where the folder was moved meanwhile.
        const got = await linked(own, path.join(folder, LOCK)).catch(missing);
        if (got === false) return BUSY;
        return got === null ? null : await work();
      } finally {
        await unlock(folder);
      }
    } finally {
      this.#held.delete(folder);
    }
  }
}
/** False where the engine, or another program, has the lock. */
async function linked(own: string, lock: string): Promise<boolean> {
  try {
    await link(own, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
/** Ends a lock of this program; one of the engine stays. */
async function unlock(folder: string): Promise<void> {
  const [own, lock] = [path.join(folder, OWN_LOCK), path.join(folder, LOCK)];
  const mine = await stat(own).catch(missing);
  if (mine === null) return;
  if ((await stat(lock).catch(missing))?.ino === mine.ino) await unlink(lock).catch(missing);
  await unlink(own).catch(missing);
}
