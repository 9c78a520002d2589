/** Files of a site that every engine node must reach: the data folder has links into a folder that all nodes share. */
import fs from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../core/errors.ts';
import { makeFolder } from '../core/folders.ts';
import type { Check } from '../http/health.ts';
import { ConfigError } from './config.ts';
import type { Config } from './config.ts';

/** Folders of the data folder. Files that only the engine writes, such as its call records and voicemail, are not moved. */
export const SHARED = ['recordings', 'exports', 'privacy', 'sounds'] as const;

/**
 * Makes each of these folders a link into `shared`. Throws `ConfigError` where one still has files, or `shared` is not there: nothing
 * is made instead of it, since it may not be mounted.
 */
export function shareFiles(data: string, shared: string): void {
  if (fs.statSync(shared, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new ConfigError(`OFFHOOK_SHARED_FILES: ${shared} is not a folder; mount or create it`);
  for (const name of SHARED) {
    const [own, target] = [path.join(data, name), path.join(shared, name)];
    try {
      makeFolder(target);
      link(own, target);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      throw new ConfigError(`OFFHOOK_SHARED_FILES: ${target}: ${messageOf(error)}`);
    }
  }
}
function link(own: string, target: string): void {
  const found = fs.lstatSync(own, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) {
    if (fs.readlinkSync(own) === target) return;
    fs.unlinkSync(own);
  } else if (found !== undefined) {
    if (fs.readdirSync(own).length > 0)
      throw new ConfigError(`OFFHOOK_SHARED_FILES: ${own} has files; move them to ${target} and start again`);
    fs.rmdirSync(own);
  }
  fs.symlinkSync(target, own);
}

/** Time for which a finding of the check is reused, in ms: health may be requested each second. */
const FRESH_MS = 5_000;

/** Throws unless the folder can be listed, has its subfolders, and can be written and read. */
async function probe(shared: string, node: string): Promise<void> {
  const found = new Set(await readdir(shared));
  const missing = SHARED.filter((name) => !found.has(name));
  // A write alone proves no mount: an empty mount point can be written too.
  if (missing.length > 0) throw new Error(`it has no ${missing.join(', ')}: is it mounted?`);
  const [file, text] = [path.join(shared, `.alive-${node}`), `${node} ${Date.now()}\n`];
  await writeFile(file, text, { mode: 0o600 });
  if ((await readFile(file, 'utf8')) !== text)
    throw new Error('a file that was written there has other content when it is read');
}
/** Checks that this node can list, write and read the shared folder. Calls without a recording do not need it. */
export function sharedFilesCheck(
  { node, sharedFiles: shared }: Pick<Config, 'node' | 'sharedFiles'>,
  now: () => number = () => performance.now(),
): Check {
  type Finding = Awaited<ReturnType<Check['run']>>;
  let last: { readonly at: number; readonly finding: Finding } | null = null;
  let running: Promise<Finding> | null = null;
  async function look(folder: string): Promise<Finding> {
    let finding = { ok: true, detail: `${folder} answers` };
    try {
      await probe(folder, node ?? 'only');
    } catch (error) {
      finding = { ok: false, detail: `${folder}: ${messageOf(error)}` };
    }
    last = { at: now(), finding };
    return finding;
  }
  return {
    name: 'shared_files',
    needed: false,
    async run() {
      if (shared === null) return { ok: true, detail: 'none are used' };
      // At most one probe waits for a folder that hangs.
      if (running === null && last !== null && now() - last.at < FRESH_MS) return last.finding;
      running ??= look(shared).finally(() => (running = null));
      return await running;
    },
  };
}
