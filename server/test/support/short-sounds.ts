/** Prompts of a test's engine: their beginnings only, so that a test does not wait for sentences nobody listens to. */
import { mkdir, readFile, readdir, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { AsteriskProgram } from '../../src/adapters/asterisk/conf/instance.ts';

/** One second of GSM: 50 frames of 33 bytes. */
const MOST_BYTES = 50 * 33;

/** The program with a data folder in `folder`, whose English prompts end after a second; all else is linked. */
export async function withShortSounds(program: AsteriskProgram, folder: string): Promise<AsteriskProgram> {
  const sounds = path.join(folder, 'sounds');
  await mkdir(sounds, { recursive: true });
  for (const name of await readdir(program.data_dir))
    if (name !== 'sounds') await symlink(path.join(program.data_dir, name), path.join(folder, name));
  const own = path.join(program.data_dir, 'sounds');
  const english = await realpath(path.join(own, 'en'));
  // Tests know the voice by the name of its folder.
  const voice = path.basename(english);
  await copyShortened(english, path.join(sounds, voice));
  if (voice !== 'en') await symlink(voice, path.join(sounds, 'en'));
  for (const name of await readdir(own))
    if (name !== 'en' && name !== voice) await symlink(path.join(own, name), path.join(sounds, name));
  return { ...program, data_dir: folder };
}
async function copyShortened(from: string, to: string): Promise<void> {
  for (const found of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (!found.isFile()) continue;
    const file = path.join(found.parentPath, found.name);
    const at = path.join(to, path.relative(from, file));
    await mkdir(path.dirname(at), { recursive: true });
    if (found.name.endsWith('.gsm')) await writeFile(at, (await readFile(file)).subarray(0, MOST_BYTES));
    else await symlink(file, at);
  }
}
