import fs from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';

/**
 * Makes a folder with its parents, for its owner only. One level at a time, because Node's own recursive `mkdir` never returns
 * where a file system (such as /proc) reports ENOENT for a folder that cannot be made. Throws the errors of `mkdir`.
 */
export function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let at = path.resolve(folder); !fs.existsSync(at); at = path.dirname(at)) missing.unshift(at);
  for (const level of missing) {
    try {
      fs.mkdirSync(level, { mode: 0o700 });
    } catch (error) {
      // Another process has made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  if (!fs.statSync(folder).isDirectory()) throw new Error('it is a file');
  fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK);
}
/** Bytes that the service may still write to the disk of a folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
