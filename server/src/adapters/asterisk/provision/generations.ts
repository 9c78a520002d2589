/**
 * The trees of one set of packages in a cache, by age: the one that ran (`current`), the one before it, and one that was
 * fetched later and waits for the engine's next start (`next`). A cache of before has the first tree and no record.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { openTree } from './tree.ts';
import type { UnpackedPackages } from './tree.ts';

/** A package tree whose engine did not boot. */
export interface RefusedTree {
  readonly tree: string;
  readonly why: string;
  /** RFC 3339. */
  readonly at: string;
}
export interface Generations {
  readonly current: string;
  readonly previous: string | null;
  readonly next: string | null;
  readonly refused: RefusedTree | null;
  /** Date of the newest index without newer packages, RFC 3339; null where none was read since. */
  readonly confirmed: string | null;
}

const recordOf = (base: string): string => `${base}.generations.json`;
const named = (base: string, name: unknown): string | null =>
  typeof name === 'string' && (name === path.basename(base) || name.startsWith(`${path.basename(base)}-`))
    ? name
    : null;
export const pathOf = (base: string, name: string): string => path.join(path.dirname(base), name);

export async function readGenerations(base: string): Promise<Generations> {
  const first = path.basename(base);
  try {
    const read = JSON.parse(await fs.readFile(recordOf(base), 'utf8')) as Partial<Generations>;
    return {
      current: named(base, read.current) ?? first,
      previous: named(base, read.previous),
      next: named(base, read.next),
      refused: read.refused ?? null,
      confirmed: typeof read.confirmed === 'string' ? read.confirmed : null,
    };
  } catch {
    return { current: first, previous: null, next: null, refused: null, confirmed: null };
  }
}
/** Requires the lock of the cache. */
export async function writeGenerations(base: string, generations: Generations): Promise<void> {
  const file = recordOf(base);
  const temporary = `${file}.${randomBytes(4).toString('hex')}`;
  await fs.writeFile(temporary, `${JSON.stringify(generations, null, 2)}\n`, { flush: true });
  await fs.rename(temporary, file);
}

/** The newest complete package tree that was not refused; null where there is none. */
export async function openNewest(base: string): Promise<UnpackedPackages | null> {
  const { next, current, previous } = await readGenerations(base);
  for (const name of [next, current, path.basename(base), previous]) {
    const tree = name === null ? null : await openTree(pathOf(base, name));
    if (tree !== null) return tree;
  }
  return null;
}

/** True where a process of this machine runs from the tree. */
async function isUsed(root: string): Promise<boolean> {
  const pids = (await fs.readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const line = await fs.readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.split('\0').some((word) => word.startsWith(`${root}/`))) return true;
  }
  return false;
}
/** Removes trees of this set that no generation names and no process runs from. Requires the lock of the cache. */
export async function removeSuperseded(base: string): Promise<void> {
  const { current, previous, next } = await readGenerations(base);
  const kept = new Set([current, previous, next]);
  for (const name of await fs.readdir(path.dirname(base))) {
    if (named(base, name) === null || name.includes('.') || kept.has(name)) continue;
    const root = pathOf(base, name);
    if (!(await isUsed(root))) await fs.rm(root, { recursive: true, force: true });
  }
}
