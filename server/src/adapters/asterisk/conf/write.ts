import { isUtf8 } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { appendFile, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { missing } from '../../../core/files.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { FileOnDisk } from '../../../ports/engine-config.ts';
import { blockedFile, celFile, etcDir } from './instance.ts';
import type { Instance } from './instance.ts';

const MODE = 0o640;
/** Null for a missing file. Throws for a folder, a pipe or anything else that is not a file. */
const read = async (file: string): Promise<Buffer | null> => {
  const found = await stat(file).catch(missing);
  if (found === null) return null;
  if (!found.isFile()) throw new Error(`${file} is not a file`);
  return await readFile(file).catch(missing);
};
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
/** A complete file on the disk under another name, ready to be renamed: a partly written file is never visible. */
interface Prepared {
  readonly temporary: string;
  readonly file: string;
}
async function prepare(file: string, content: Buffer, prepared: Prepared[]): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  prepared.push({ temporary, file });
  const handle = await open(temporary, 'wx', MODE);
  try {
    await handle.writeFile(content);
    await handle.chmod(MODE);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
const RENDERED = /^[a-z][a-z0-9_]{0,40}\.conf$/;
const HAND_WRITTEN = /^custom\/[A-Za-z0-9][A-Za-z0-9_.-]{0,60}\.conf$/;
const fileOf = (folder: string, name: string): string => {
  if (!RENDERED.test(name) && !HAND_WRITTEN.test(name))
    throw new Error(`not a configuration file: ${JSON.stringify(name)}`);
  return path.join(folder, name);
};
const noRoom = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');

/** The engine treats a file whose include is missing as changed each time, and reads all of it again. */
async function missingIncludes(folder: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  const missing: string[] = [];
  for (const text of files.values()) {
    for (const [, name] of text.matchAll(/^#tryinclude (custom\/[a-z0-9_]+\.conf)$/gm)) {
      const file = path.join(folder, name!);
      if (!missing.includes(file) && (await read(file)) === null) missing.push(file);
    }
  }
  return missing;
}

/**
 * Writes rendered files into `folder` (made with mode 0750, and `custom/` for hand-written includes with it, each empty
 * where there is none) and returns the names of those that changed. A file that already holds the same bytes is not
 * touched, because Asterisk detects a change by size and time; the version before is kept as `<name>.bak`. All of it is on
 * the disk before the first file is replaced, so where there is no room nothing changes. `before` is called with the names
 * right before that. Errors are those of the file system, but `storage_full` (ServiceError) where there is no room; a failure
 * leaves every file whole, either old or new.
 */
export async function writeFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
  before: (changed: readonly string[]) => Promise<void> = () => Promise.resolve(),
): Promise<readonly string[]> {
  const wrong = [...files.keys()].find((name) => !RENDERED.test(name));
  if (wrong !== undefined) throw new Error(`not a configuration file: ${JSON.stringify(wrong)}`);
  const changed: string[] = [];
  const prepared: Prepared[] = [];
  const custom = path.join(folder, 'custom');
  try {
    await mkdir(custom, { recursive: true, mode: 0o750 });
    const includes = await missingIncludes(folder, files);
    for (const file of includes) await prepare(file, Buffer.alloc(0), prepared);
    for (const [name, text] of files) {
      const file = path.join(folder, name);
      const content = Buffer.from(text);
      const former = await read(file);
      if (former?.equals(content)) continue;
      if (former !== null) await prepare(`${file}.bak`, former, prepared);
      await prepare(file, content, prepared);
      changed.push(name);
    }
    if (changed.length > 0) await before(changed);
    while (prepared.length > 0) {
      const { temporary, file } = prepared[0]!;
      await rename(temporary, file);
      prepared.shift();
    }
    if (includes.length > 0) await syncFolder(custom);
  } catch (error) {
    await Promise.all(prepared.map(({ temporary }) => rm(temporary, { force: true })));
    if (noRoom(error))
      throw new ServiceError('storage_full', 'the disk has no space for the engine’s files', {
        cause: error,
      });
    throw error;
  } finally {
    if (changed.length > 0) await syncFolder(folder);
  }
  return changed;
}

const UNREADABLE = 'unreadable';
const readable = (file: string): Promise<Buffer | null | typeof UNREADABLE> =>
  read(file).catch(() => UNREADABLE);

/** The text of a file, or of the version before it; null where there is none that can be read. What is no UTF-8 is read as Latin-1. */
export async function readFileOf(folder: string, name: string, backup: boolean): Promise<string | null> {
  const file = fileOf(folder, name);
  const bytes = await readable(backup ? `${file}.bak` : file);
  return bytes === null || bytes === UNREADABLE ? null : bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}
const hashOf = (bytes: Buffer | null | typeof UNREADABLE): string | null =>
  bytes === null || bytes === UNREADABLE ? bytes : createHash('sha256').update(bytes).digest('hex');
/** The state of these files, in order of name. One that cannot be read has a hash that no bytes have. */
export async function diskOf(folder: string, names: Iterable<string>): Promise<readonly FileOnDisk[]> {
  const found: FileOnDisk[] = [];
  for (const name of [...new Set(names)].sort()) {
    found.push({ name, hash: hashOf(await readable(fileOf(folder, name))) });
  }
  return found;
}
/** Hand-written files in `custom/`; empty ones are left out. */
export async function handWrittenFiles(folder: string): Promise<readonly FileOnDisk[]> {
  const names = await readdir(path.join(folder, 'custom')).catch(() => []);
  const files = await diskOf(
    folder,
    names.map((name) => `custom/${name}`).filter((name) => HAND_WRITTEN.test(name)),
  );
  return files.filter((file) => file.hash !== NOTHING && file.hash !== UNREADABLE);
}
const NOTHING = hashOf(Buffer.alloc(0));

const TEMPORARY = /\.conf(?:\.bak)?\.[0-9a-f]{12}\.tmp$/;
/** Temporary files of a service that was killed while it wrote: they are not used again, and they may contain secrets. */
async function sweepTemporaries(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => TEMPORARY.test(name));
  await Promise.all(left.map((name) => rm(path.join(folder, name), { force: true })));
}
/**
 * Makes the folders that Asterisk writes into and does not make itself (without this one no call record is ever written), and
 * removes what a killed service left half written. Only before anything is written.
 */
export async function prepareFolders(instance: Instance): Promise<void> {
  const etc = etcDir(instance);
  for (const folder of [etc, path.join(etc, 'custom')]) await sweepTemporaries(folder);
  await mkdir(path.dirname(celFile(instance)), { recursive: true, mode: 0o750 });
  await appendFile(blockedFile(instance), '', { mode: MODE });
}
