import fs from 'node:fs';
import path from 'node:path';

/**
 * Start time of a process in clock ticks since boot, so that a recycled pid is recognised; null when the process is
 * gone. A zombie counts as gone: it keeps only its pid until its parent waits for it, which never happens in a
 * container without init.
 */
export function processStart(pid: number): string | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name may hold blanks and brackets; the fields start after the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

const ATTEMPTS = 20;
const ATTEMPT_MS = 10;
const lockFile = (folder: string): string => path.join(folder, 'service.lock');
const ownLock = (): string => `${process.pid} ${processStart(process.pid) ?? ''}\n`;
const releaseLock = (file: string): void => {
  if (fs.readFileSync(file, 'utf8') === ownLock()) fs.rmSync(file, { force: true });
};
/** Gives `folder` back before this process is replaced by another program, which keeps its pid and start time. */
export function unlockFolder(folder: string): void {
  if (fs.existsSync(lockFile(folder))) releaseLock(lockFile(folder));
}

/** Waits for the next attempt; a start has nothing else to do. */
const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ATTEMPT_MS);
/** Creates the lock `file` with the text of its owner; false where it exists. */
export function createLock(file: string, owner: string): boolean {
  try {
    fs.writeFileSync(file, owner, { flag: 'wx', mode: 0o644 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}
/**
 * Removes the stale lock `file`. Of several processes only the one that creates the takeover file does so, and only while the
 * lock is still stale: a slower process would otherwise remove the new owner's lock.
 */
export function removeStaleLock(file: string, owner: string, isStale: (lock: string) => boolean): void {
  const takeover = `${file}.takeover`;
  if (!createLock(takeover, owner)) {
    // A process that was killed during its takeover would block each later one.
    if (isStale(takeover)) fs.rmSync(takeover, { force: true });
    return;
  }
  try {
    if (isStale(file)) fs.rmSync(file, { force: true });
  } finally {
    fs.rmSync(takeover, { force: true });
  }
}

/** The owner's text in a lock; null where there is no such file. */
function ownerOf(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}
/** An empty lock belongs to a process that is writing it, or died before it did, which is assumed at `last`. */
function isDead(owner: string | null, last: boolean): boolean {
  if (owner === null) return false;
  const [pid, start] = owner.split(' ');
  return pid && start ? processStart(Number(pid)) !== start : owner !== '' || last;
}

/**
 * Takes `folder` for this process, or throws with the pid of the process that has it. A lock whose owner is dead is taken
 * over.
 */
export function lockFolder(folder: string): { release(): void } {
  const file = lockFile(folder);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (createLock(file, ownLock())) return { release: () => releaseLock(file) };
    const owner = ownerOf(file);
    const last = attempt > ATTEMPTS / 2;
    if (isDead(owner, last)) removeStaleLock(file, ownLock(), (lock) => isDead(ownerOf(lock), last));
    else if (owner)
      throw new Error(
        `another Offhook (process ${owner.split(' ')[0]}) uses ${folder}; choose another OFFHOOK_DATA or stop that one`,
      );
    pause();
  }
  throw new Error(`${file} could not be taken`);
}
