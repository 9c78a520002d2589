/** Sites whose test process was itself killed: their detached engines live on until the next run ends them here. */
import { readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const PREFIX = 'offhook-site-';
/** Names a data folder after the process that owns it. */
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

/** Processes started for this data folder and for no other: the service by its environment, the engine by its configuration. */
async function processesOf(folder: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const [environ, cmdline] = [await textOf(`/proc/${name}/environ`), await textOf(`/proc/${name}/cmdline`)];
    const service = environ.split('\0').includes(`OFFHOOK_DATA=${folder}`);
    if (service || cmdline.split('\0').some((word) => word.startsWith(`${folder}/engine/`)))
      found.push(Number(name));
  }
  return found;
}

/** Ends what an earlier, killed test run of this user left behind, and removes its folders. */
export async function endAbandonedSites(): Promise<void> {
  for (const name of await readdir(os.tmpdir())) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    const folder = path.join(os.tmpdir(), name);
    for (const pid of await processesOf(folder)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended meanwhile, or it is another user's.
      }
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
}
