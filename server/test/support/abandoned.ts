/** Sites of killed test processes: their detached engines run until the next test run ends them here. */
import { readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const PREFIX = 'offhook-site-';
/** Names a data folder after the owning process. */
export const siteFolderPrefix = (): string => path.join(os.tmpdir(), `${PREFIX}${process.pid}-`);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
const textOf = (file: string): Promise<string> => readFile(file, 'latin1').catch(() => '');

/** Processes of this data folder: the service by its environment, the engine and the SIP proxy by their configuration. */
async function processesOf(folder: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const [environ, cmdline] = [await textOf(`/proc/${name}/environ`), await textOf(`/proc/${name}/cmdline`)];
    const service = environ.split('\0').includes(`OFFHOOK_DATA=${folder}`);
    if (service || cmdline.split('\0').some((word) => word.startsWith(`${folder}/`)))
      found.push(Number(name));
  }
  return found;
}

/** Ends the processes of this user's earlier, killed test runs and removes their folders. */
export async function endAbandonedSites(): Promise<void> {
  for (const name of await readdir(os.tmpdir())) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    const folder = path.join(os.tmpdir(), name);
    for (const pid of await processesOf(folder)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended, or belongs to another user.
      }
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
}
