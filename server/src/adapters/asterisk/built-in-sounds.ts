import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { AsteriskProgram } from './conf/instance.ts';

/** Upper limit of sounds returned; no language pack of the engine has as many. */
const MOST = 5_000;
const DEEPEST = 3;
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

async function namesIn(folder: string, prefix: string, depth: number, allowed: RegExp): Promise<string[]> {
  // Debian links folders of the tree into each other, so folders are found by trying to read them.
  const entries = await readdir(folder).catch(() => []);
  const names: string[] = [];
  for (const entry of entries) {
    const { name, ext } = path.parse(entry);
    if (!allowed.test(name)) continue;
    if (ext !== '') names.push(prefix + name);
    else if (depth < DEEPEST)
      names.push(...(await namesIn(path.join(folder, entry), `${prefix}${name}/`, depth + 1, allowed)));
  }
  return names;
}

/** Names of all prompts in a folder of sounds, such as `vm-INBOX`. */
export const promptNames = (folder: string): Promise<readonly string[]> =>
  namesIn(folder, '', 1, /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/);

const read = new Map<string, Promise<readonly string[]>>();
/**
 * Names of this engine's own sounds, e.g. `vm-goodbye` or `digits/1`, sorted; without those the configuration cannot name. Read
 * once per program.
 */
export function builtInSounds(program: AsteriskProgram | null): Promise<readonly string[]> {
  if (program === null) return Promise.resolve([]);
  const folder = path.join(program.data_dir, 'sounds', 'en');
  let names = read.get(folder);
  if (names === undefined) {
    names = namesIn(folder, '', 1, NAME).then((found) => [...new Set(found)].toSorted().slice(0, MOST));
    read.set(folder, names);
  }
  return names;
}
