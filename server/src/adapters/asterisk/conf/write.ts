import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { celFile } from '../instance.ts';
import type { Instance } from '../instance.ts';

const MODE = 0o640;
const read = async (file: string): Promise<Buffer | null> => {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
};
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
/** The text is on the disk under another name before it takes the place of the file, so a torn file is never seen. */
async function replace(file: string, content: Buffer): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const handle = await open(temporary, 'wx', MODE);
    try {
      await handle.writeFile(content);
      await handle.chmod(MODE);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Writes rendered files into `folder` (made with mode 0750, and `custom/` for hand-written includes with it) and returns
 * the names of those that changed. A file that already holds the same bytes is not touched, because Asterisk tells a
 * change by size and time; the version before is kept as `<name>.bak`. Errors are those of the file system; a failure
 * leaves every file whole, either old or new.
 */
export async function writeFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const wrong = [...files.keys()].find((name) => !/^[a-z][a-z0-9_]{0,40}\.conf$/.test(name));
  if (wrong !== undefined) throw new Error(`not a configuration file: ${JSON.stringify(wrong)}`);
  await mkdir(path.join(folder, 'custom'), { recursive: true, mode: 0o750 });
  const changed: string[] = [];
  for (const [name, text] of files) {
    const file = path.join(folder, name);
    const content = Buffer.from(text);
    const before = await read(file);
    if (before?.equals(content)) continue;
    if (before !== null) await replace(`${file}.bak`, before);
    await replace(file, content);
    changed.push(name);
  }
  if (changed.length > 0) await syncFolder(folder);
  return changed;
}

/** Folders that Asterisk writes into and does not make itself: without this one no call record is ever written. */
export async function prepareFolders(instance: Instance): Promise<void> {
  await mkdir(path.dirname(celFile(instance)), { recursive: true, mode: 0o750 });
}
