import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** The root of the checkout. */
export const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
export interface Source {
  /** Path from the root of the checkout, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Every file below the folders with a matching name, without dependencies; a missing folder is empty. */
export async function readSources(folders: readonly string[], name: RegExp): Promise<Source[]> {
  const found: Source[] = [];
  for (const folder of folders) {
    const entries = await readdir(path.join(REPOSITORY, folder), {
      recursive: true,
      withFileTypes: true,
    }).catch(() => []);
    for (const entry of entries) {
      const file = path
        .relative(REPOSITORY, path.join(entry.parentPath, entry.name))
        .replaceAll(path.sep, '/');
      if (!entry.isFile() || !name.test(file) || file.includes('node_modules/')) continue;
      found.push({ path: file, text: await readFile(path.join(REPOSITORY, file), 'utf8') });
    }
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** 1-based line of an offset. */
export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
