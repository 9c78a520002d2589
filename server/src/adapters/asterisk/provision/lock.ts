import fs from 'node:fs';
import { mkdir, readFile, rm, utimes } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createLock, processStart, removeStaleLock } from '../../../core/folder-lock.ts';

const BEAT_MS = 5_000;
/** Age without a touch from which a lock of another machine (a shared folder, a container) is ignored. */
const FOREIGN_MS = 60_000;

const own = (): string =>
  `${JSON.stringify({ pid: process.pid, start: processStart(process.pid), host: os.hostname() })}\n`;

/** True where the lock's owner has certainly ended. */
function isDead(file: string): boolean {
  let owner: { pid?: number; start?: string; host?: string } = {};
  try {
    owner = JSON.parse(fs.readFileSync(file, 'utf8')) as typeof owner;
  } catch {
    // A lock that cannot be read is judged by its age.
  }
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  if (owner.host !== os.hostname() || owner.pid === undefined) return Date.now() - stat.mtimeMs > FOREIGN_MS;
  return processStart(owner.pid) !== owner.start;
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
  await mkdir(path.dirname(file), { recursive: true });
  for (let waited = 0; ; waited++) {
    options.signal?.throwIfAborted();
    if (createLock(file, own())) break;
    const dead = isDead(file);
    if (dead) removeStaleLock(file, own(), isDead);
    else if (waited === 0) options.onWait?.();
    await wait(dead ? 20 : 200, undefined, options.signal ? { signal: options.signal } : {});
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => undefined);
  }, BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    // Another process took the lock over if this one was stopped for long.
    if ((await readFile(file, 'utf8').catch(() => null)) === own()) await rm(file, { force: true });
  }
}
