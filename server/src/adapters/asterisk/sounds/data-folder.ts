/** The engine's folder of read-only data: links to the program's own, so that a site can have sounds that the program has not. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import sax from 'sax';
import { missing, textOf } from '../../../core/files.ts';
import { dataDir } from '../conf/instance.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';

const SOUNDS = 'sounds';
const ENGLISH = 'en';
const DOCUMENTS = 'documentation';
const REFERENCE = 'core-en_US.xml';
/** Folder in which the engine looks for the sounds of a language. */
export const languageFolder = (instance: Instance, language: string): string =>
  path.join(dataDir(instance), SOUNDS, language);

/** An engine that reads it meanwhile finds either the old one or the new one. */
async function replace(at: string, make: (aside: string) => Promise<void>): Promise<void> {
  const aside = `${at}.${randomBytes(6).toString('hex')}`;
  try {
    await make(aside);
    await rename(aside, at);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
async function link(target: string, at: string): Promise<void> {
  if ((await readlink(at).catch(missing)) !== target) await replace(at, (aside) => symlink(target, aside));
}

/** What the engine looks up at each start: names, and one line about each. */
const KEPT =
  /<\/?(?:application|function|manager(?:Event)?|agi|config(?:Info|File|Object|Option))(?: [^<>]*)?>|<synopsis>[^<]*<\/synopsis>/g;
/**
 * The engine's reference without descriptions. The engine does not load a module whose options are missing there; with the
 * descriptions, a start takes three times the processor time and 27 MB more memory.
 */
function outlineOf(reference: string): string | null {
  const outline = `<?xml version="1.0" encoding="UTF-8"?>\n<docs>\n${(reference.match(KEPT) ?? []).join('')}\n</docs>\n`;
  try {
    sax.parser(true).write(outline).close();
    return outline;
  } catch {
    // An engine of another version may write it in another way, and one with a broken reference does not start.
    return null;
  }
}
/** Folder of the engine's documents: its own with the outline of the reference; the program's where that has none. */
async function documents(instance: Instance, program: AsteriskProgram): Promise<string> {
  const given = path.join(program.data_dir, DOCUMENTS);
  const reference = await textOf(path.join(given, REFERENCE));
  const outline = reference === null ? null : outlineOf(reference);
  if (outline === null) return given;
  const own = path.join(instance.folder, DOCUMENTS);
  const file = path.join(own, REFERENCE);
  await mkdir(own, { recursive: true, mode: 0o750 });
  if ((await textOf(file)) !== outline)
    await replace(file, (aside) => writeFile(aside, outline, { mode: 0o640 }));
  return own;
}
/** Links everything of the program's data folder, but an outline of its reference; links of languages stay. */
export async function linkData(instance: Instance, program: AsteriskProgram): Promise<void> {
  const folder = dataDir(instance);
  await mkdir(path.join(folder, SOUNDS), { recursive: true, mode: 0o750 });
  const own = path.join(program.data_dir, SOUNDS);
  for (const name of await readdir(program.data_dir).catch(() => []))
    if (name !== SOUNDS) {
      const from =
        name === DOCUMENTS ? await documents(instance, program) : path.join(program.data_dir, name);
      await link(from, path.join(folder, name));
    }
  for (const name of await readdir(own).catch(() => []))
    await link(path.join(own, name), path.join(folder, SOUNDS, name));
}
/** Makes the sounds in `from` those of a language. */
export async function linkLanguage(instance: Instance, language: string, from: string): Promise<void> {
  await link(from, languageFolder(instance, language));
}
/** Links the English sounds to where the engine looks for those that a language lacks. */
export async function linkFallback(instance: Instance): Promise<void> {
  const folder = path.join(dataDir(instance), SOUNDS);
  const names = await readdir(path.join(folder, ENGLISH)).catch(() => []);
  for (const name of names) {
    const at = path.join(folder, name);
    if ((await stat(at).catch(missing)) === null) await link(path.join(ENGLISH, name), at);
  }
}
