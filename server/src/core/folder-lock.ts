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

const lockFile = (folder: string): string => path.join(folder, 'service.lock');
const ownLock = (): string => `${process.pid} ${processStart(process.pid) ?? ''}\n`;
const releaseLock = (file: string): void => {
  if (fs.readFileSync(file, 'utf8') === ownLock()) fs.rmSync(file, { force: true });
};
/** Gives `folder` back before this process is replaced by another program, which keeps its pid and start time. */
export function unlockFolder(folder: string): void {
  if (fs.existsSync(lockFile(folder))) releaseLock(lockFile(folder));
}

/**
 * Takes `folder` for this process, or throws with the pid of the one that has it.
 * A lock whose owner is dead is taken over.
 */
export function lockFolder(folder: string): { release(): void } {
  const file = lockFile(folder);
  const mine = ownLock();
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      fs.writeFileSync(file, mine, { flag: 'wx', mode: 0o600 });
      return { release: () => releaseLock(file) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const [pid, start] = fs.readFileSync(file, 'utf8').trim().split(' ');
    if (pid && start && processStart(Number(pid)) === start) {
      throw new Error(
        `another Offhook (process ${pid}) uses ${folder}; choose another OFFHOOK_DATA or stop that one`,
      );
    }
    fs.rmSync(file, { force: true });
  }
  throw new Error(`${file} could not be taken`);
}
