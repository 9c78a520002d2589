import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../core/folders.ts';
import { messageOf } from '../../../core/errors.ts';
import { ProvisionError } from './error.ts';
import { fetchFromAny } from './fetch.ts';
import { withLock } from './lock.ts';
import { readMachine } from './machine.ts';
import type { Machine } from './machine.ts';
import { buildTree, openTree, removeUnfinished } from './tree.ts';
import type { UnpackedPackages } from './tree.ts';

export type { UnpackedPackages } from './tree.ts';

const DEBIAN = 'http://deb.debian.org/debian';
/** Of the machine's own mirrors; each dead one takes its time. */
const OWN_MIRRORS = 2;

export interface ObtainPackagesOptions {
  /** Where everything lies; may be shared by several processes. */
  readonly cache: string;
  readonly packages: readonly string[];
  /** Debian's code name of the release they come from. */
  readonly release?: string;
  /** Lines for people. */
  readonly progress?: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** Facts of the machine, where they are not to be read from it. */
  readonly machine?: Machine | (() => Promise<Machine>);
  /** Mirrors to try in this order instead of the machine's own and Debian's. */
  readonly mirrors?: readonly string[];
}
/** Errors of the file system, told as what they mean here. */
function cacheError(cache: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof ProvisionError || code === undefined) return error;
  return new ProvisionError('disk', `the cache ${cache} cannot be written: ${messageOf(error)}`, error);
}

/**
 * Gets Debian packages and what they depend on without root, container or installation: downloaded by a private apt
 * (which checks Debian's signatures), each file proven by its SHA-256, unpacked into one folder of `cache`.
 * The second time it is there already. Safe when several processes ask at once; an interrupted download is gone on
 * with. Errors: ProvisionError, after which nothing half unpacked remains; the signal's reason when aborted.
 */
export async function obtainPackages(options: ObtainPackagesOptions): Promise<UnpackedPackages> {
  const { cache, signal, release = 'forky' } = options;
  const progress = options.progress ?? (() => undefined);
  const packages = [...new Set(options.packages)].toSorted();
  if (
    packages.length === 0 ||
    !packages.every((p) => /^[a-z0-9][a-z0-9.+-]*$/.test(p)) ||
    !/^[a-z-]+$/.test(release)
  ) {
    throw new ProvisionError('failed', `these are not names of packages: ${packages.join(' ')} (${release})`);
  }
  const key = createHash('sha256')
    .update(`${release}\n${process.arch}\n${packages.join('\n')}`)
    .digest('hex');
  const root = path.join(cache, 'packages', `${options.packages[0] ?? ''}-${key.slice(0, 12)}`);
  const there = await openTree(root);
  if (there) return there;

  const given = options.machine ?? (() => readMachine(signal));
  const machine = typeof given === 'function' ? await given() : given;
  const own = machine.mirrors.slice(0, OWN_MIRRORS);
  const mirrors = options.mirrors ?? [...new Set([...own, DEBIAN])];
  const folder = path.join(cache, 'apt', `${release}-${machine.arch}`);
  const work = async (): Promise<UnpackedPackages> => {
    const meanwhile = await openTree(root);
    if (meanwhile) return meanwhile;
    await removeUnfinished(path.dirname(root));
    await fs.mkdir(folder, { recursive: true });
    const ask = { folder, machine, release, packages, progress, signal };
    const { plan, archives } = await fetchFromAny(ask, mirrors);
    const marker = { packages, release, arch: machine.arch, triplet: machine.triplet };
    const tree = await buildTree(root, { plan, archives, marker, progress, signal });
    // The tree is what is kept; the index alone is 60 MB and read anew for the next packages.
    await fs.rm(folder, { recursive: true, force: true });
    return tree;
  };
  try {
    makeFolder(path.dirname(root));
    return await withLock(path.join(cache, 'packages.lock'), work, {
      signal,
      onWait: () => progress('another Offhook is getting packages into the same cache; waiting for it'),
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw cacheError(cache, error);
  }
}
