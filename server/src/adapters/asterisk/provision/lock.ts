import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { processStart } from '../../../core/folder-lock.ts';

const BEAT_MS = 5_000;
/** Age without a touch from which a lock of another machine (a shared folder, a container) is ignored. */
const FOREIGN_MS = 60_000;

const own = (): string =>
  `${JSON.stringify({ pid: process.pid, start: processStart(process.pid), host: os.hostname() })}\n`;

/** True where the lock's owner has certainly ended. */
async function isDead(file: string): Promise<boolean> {
  const text = await fs.readFile(file, 'utf8').catch(() => null);
  const stat = await fs.stat(file).catch(() => null);
  if (text === null || stat === null) return false;
  const age = Date.now() - stat.mtimeMs;
  let owner: { pid?: number; start?: string; host?: string };
  try {
    owner = JSON.parse(text) as typeof owner;
  } catch {
    return age > FOREIGN_MS;
  }
  if (owner.host !== os.hostname() || owner.pid === undefined) return age > FOREIGN_MS;
  return processStart(owner.pid) !== owner.start;
}

/** Removes a dead owner's lock; only one process at a time does so, else a second could remove the lock that replaced it. */
async function bury(file: string): Promise<void> {
  const spade = `${file}.takeover`;
  try {
    await fs.writeFile(spade, own(), { flag: 'wx' });
  } catch {
    const stat = await fs.stat(spade).catch(() => null);
    if (stat && Date.now() - stat.mtimeMs > FOREIGN_MS) await fs.rm(spade, { force: true });
    return;
  }
  try {
    if (await isDead(file)) await fs.rm(file, { force: true });
  } finally {
    await fs.rm(spade, { force: true });
  }
}

/**
 * Runs `work` while holding `file` as a lock between processes. Waits while a running owner holds it (calls `onWait` once),
 * takes over from a dead one, and rejects with the signal's reason when aborted.
 */
export async function withLock<T>(
  file: string,
  work: () => Promise<T>,
  options: { readonly signal?: AbortSignal | undefined; readonly onWait?: () => void } = {},
): Promise<T> {
  await fs.mkdir(path.dirname(file), { recursive: true });
  for (let waited = 0; ; waited++) {
    options.signal?.throwIfAborted();
    try {
      await fs.writeFile(file, own(), { flag: 'wx' });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const dead = await isDead(file);
    if (dead) await bury(file);
    else if (waited === 0) options.onWait?.();
    await wait(dead ? 20 : 200, undefined, options.signal ? { signal: options.signal } : {});
  }
  const beat = setInterval(() => {
    const now = new Date();
    fs.utimes(file, now, now).catch(() => undefined);
  }, BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await fs.rm(file, { force: true });
  }
}
