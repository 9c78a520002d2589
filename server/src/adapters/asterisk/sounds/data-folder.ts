/** The engine's folder of read-only data: links to the program's own, so that a site can have sounds that the program has not. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readlink, rename, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { missing } from '../../../core/files.ts';
import { dataDir } from '../conf/instance.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';

const SOUNDS = 'sounds';
const ENGLISH = 'en';
/** Folder in which the engine looks for the sounds of a language. */
export const languageFolder = (instance: Instance, language: string): string =>
  path.join(dataDir(instance), SOUNDS, language);

async function link(target: string, at: string): Promise<void> {
  if ((await readlink(at).catch(missing)) === target) return;
  // A running engine finds either the old link or the new one.
  const aside = `${at}.${randomBytes(6).toString('hex')}`;
  await symlink(target, aside);
  await rename(aside, at);
}
/** Links everything of the program's data folder; links of languages stay. */
export async function linkData(instance: Instance, program: AsteriskProgram): Promise<void> {
  const folder = dataDir(instance);
  await mkdir(path.join(folder, SOUNDS), { recursive: true, mode: 0o750 });
  const own = path.join(program.data_dir, SOUNDS);
  for (const name of await readdir(program.data_dir).catch(() => []))
    if (name !== SOUNDS) await link(path.join(program.data_dir, name), path.join(folder, name));
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
