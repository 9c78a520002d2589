import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '..');

/** One hash over what a build depends on: the sources in these folders without their tests, and these further files. */
export async function fingerprint(folders: readonly string[], files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  const names = [...files];
  for (const folder of folders) {
    for (const entry of await readdir(path.join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const name = path.relative(ROOT, path.join(entry.parentPath, entry.name));
      const source = !/(^|\/)(node_modules|dist|test|examples)\/|\.test\.tsx?$|\.md$/.test(name);
      if (entry.isFile() && source) names.push(name);
    }
  }
  for (const name of names.toSorted()) hash.update(`${name}\0`).update(await readFile(path.join(ROOT, name)));
  return hash.digest('hex');
}
