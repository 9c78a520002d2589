import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../core/folders.ts';
import { messageOf } from '../../../core/errors.ts';
import { ProvisionError } from './error.ts';
import { fetchFromAny } from './fetch.ts';
import type { Ask, Offer } from './fetch.ts';
import { openNewest, readGenerations, removeSuperseded, writeGenerations } from './generations.ts';
import { withLock } from './lock.ts';
import { readMachine } from './machine.ts';
import type { Machine } from './machine.ts';
import { buildTree, openTree, removeUnfinished } from './tree.ts';
import type { UnpackedPackages } from './tree.ts';

export type { UnpackedPackages } from './tree.ts';

/** Debian's own mirror, by https where the machine can; signatures are verified either way. */
const DEBIAN = 'http://deb.debian.org/debian';
const DEBIAN_SECURITY = 'http://deb.debian.org/debian-security';
/** Number of the machine's own mirrors that are tried, because each unreachable one costs time. */
const OWN_MIRRORS = 2;
/** Debian's code name of the release that packages come from. */
const RELEASE = 'forky';

export interface ObtainPackagesOptions {
  /** Folder of the cache; may be shared by several processes. */
  readonly cache: string;
  readonly packages: readonly string[];
  /** Lines for people. */
  readonly progress?: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** Facts of the machine, where they are not to be read from it. */
  readonly machine?: Machine | (() => Promise<Machine>);
  /** Mirrors to try in this order instead of the machine's own and Debian's. */
  readonly mirrors?: readonly string[] | undefined;
  /** Mirrors of the security suite instead of the machine's own, and Debian's where `mirrors` is not given. */
  readonly security?: readonly string[] | undefined;
}
/** An error of the file system as a ProvisionError. */
function cacheError(cache: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof ProvisionError || code === undefined) return error;
  return new ProvisionError('disk', `the cache ${cache} cannot be written: ${messageOf(error)}`, error);
}

/** A set of packages and its folder in the cache. */
interface PackageSet {
  readonly packages: readonly string[];
  /** Path of the first tree of the set. */
  readonly base: string;
}
function packageSet(options: ObtainPackagesOptions): PackageSet {
  const { cache } = options;
  const packages = [...new Set(options.packages)].toSorted();
  if (packages.length === 0 || !packages.every((p) => /^[a-z0-9][a-z0-9.+-]*$/.test(p)))
    throw new ProvisionError('failed', `these are not names of packages: ${packages.join(' ')}`);
  const key = createHash('sha256')
    .update(`${RELEASE}\n${process.arch}\n${packages.join('\n')}`)
    .digest('hex');
  const base = path.join(cache, 'packages', `${options.packages[0] ?? ''}-${key.slice(0, 12)}`);
  return { packages, base };
}

/** A Debian address by https before the same by http, unless the machine reaches http by a proxy of its own. */
function secured(machine: Machine, mirrors: readonly string[]): string[] {
  const proxied = machine.aptLines.some((line) => /^Acquire::http::Proxy/i.test(line));
  const all = mirrors.flatMap((mirror) => {
    const debian = /^http:\/\/(?:deb|security)\.debian\.org\//.test(mirror);
    return debian && !proxied ? [mirror.replace('http:', 'https:'), mirror] : [mirror];
  });
  return [...new Set(all)];
}

/** Runs `work` with the cache locked and everything needed to query a mirror. */
async function withCache<T>(
  options: ObtainPackagesOptions,
  { packages, base }: PackageSet,
  strict: boolean,
  work: (ask: Omit<Ask, 'mirror'>, mirrors: readonly string[]) => Promise<T>,
): Promise<T> {
  const { cache, signal } = options;
  const progress = options.progress ?? (() => undefined);
  const given = options.machine ?? (() => readMachine(signal));
  const machine = typeof given === 'function' ? await given() : given;
  const mirrors = options.mirrors ?? secured(machine, [...machine.mirrors.slice(0, OWN_MIRRORS), DEBIAN]);
  const security =
    options.security ??
    (options.mirrors === undefined
      ? secured(machine, [...machine.security.slice(0, OWN_MIRRORS), DEBIAN_SECURITY])
      : machine.security);
  const folder = path.join(cache, 'apt', `${RELEASE}-${machine.arch}`);
  try {
    makeFolder(path.dirname(base));
    return await withLock(
      path.join(cache, 'packages.lock'),
      async () => {
        await removeUnfinished(path.dirname(base));
        await fs.mkdir(folder, { recursive: true });
        const ask = {
          cache,
          folder,
          machine,
          security,
          strict,
          release: RELEASE,
          packages,
          progress,
          signal,
        };
        return await work(ask, mirrors);
      },
      {
        signal,
        onWait: () => progress('another Offhook is getting packages into the same cache; waiting for it'),
      },
    );
  } catch (error) {
    signal?.throwIfAborted();
    throw cacheError(cache, error);
  }
}

const rfc3339 = (ms: number): string => new Date(ms).toISOString();
async function unpackOffer(ask: Omit<Ask, 'mirror'>, offer: Offer, root: string): Promise<UnpackedPackages> {
  const { packages, release, machine, progress, signal } = ask;
  const index = Object.fromEntries(Object.entries(offer.index).map(([suite, ms]) => [suite, rfc3339(ms)]));
  const marker = { packages, release, arch: machine.arch, triplet: machine.triplet, index };
  const { plan, workspace } = offer;
  const tree = await buildTree(root, { plan, archives: workspace.archives, marker, progress, signal });
  // Only the tree is kept; the index takes 60 MB and is downloaded again for the next packages.
  await fs.rm(ask.folder, { recursive: true, force: true });
  return tree;
}

/**
 * Downloads Debian packages with their dependencies, without root, container or installation: by a private apt (which verifies
 * Debian's signatures and dates), each file verified by its SHA-256, unpacked into one folder of `cache`, where later calls
 * find it. Safe with several processes at once; continues an interrupted download. Errors: ProvisionError, after which no
 * partial tree remains; the signal's reason when aborted.
 */
export async function obtainPackages(options: ObtainPackagesOptions): Promise<UnpackedPackages> {
  const set = packageSet(options);
  const there = await openNewest(set.base);
  if (there) return there;
  return await withCache(options, set, false, async (ask, mirrors) => {
    const meanwhile = await openNewest(set.base);
    if (meanwhile) return meanwhile;
    return await unpackOffer(ask, await fetchFromAny(ask, mirrors), set.base);
  });
}

export interface UpdatedPackages {
  /** The tree for the next start. */
  readonly tree: UnpackedPackages;
  /** `name old -> new` of each changed package; empty where nothing is newer. */
  readonly changes: readonly string[];
}
/**
 * Reads the mirrors' indexes and unpacks newer packages beside the present ones for the next start; the previous tree is kept
 * until the new one has run (`confirmTree`). Without a tree it is `obtainPackages`. Errors: as there, and those of a security
 * suite that rejects or does not answer.
 */
export async function updatePackages(options: ObtainPackagesOptions): Promise<UpdatedPackages> {
  const set = packageSet(options);
  return await withCache(options, set, true, async (ask, mirrors) => {
    const there = await openNewest(set.base);
    const changesOf = ({ plan }: Offer): string[] =>
      plan.flatMap(({ name, version }) => {
        const before = there?.versions[name];
        return before === version ? [] : [`${name} ${before ?? '(new)'} -> ${version}`];
      });
    const offer = await fetchFromAny(ask, mirrors, (one) => there === null || changesOf(one).length > 0);
    const changes = changesOf(offer);
    if (there === null) return { tree: await unpackOffer(ask, offer, set.base), changes };
    const generations = await readGenerations(set.base);
    const indexed = rfc3339(Math.max(...Object.values(offer.index)));
    if (changes.length === 0) {
      await writeGenerations(set.base, { ...generations, confirmed: indexed });
      await fs.rm(ask.folder, { recursive: true, force: true });
      return { tree: there, changes };
    }
    const text = offer.plan.map((f) => `${f.file} ${f.sha256}`).toSorted();
    const key = createHash('sha256').update(text.join('\n')).digest('hex').slice(0, 12);
    const root = `${set.base}-${key}`;
    // A tree that was refused before, or completed in an interrupted run, is offered again.
    const tree = (await openTree(root)) ?? (await unpackOffer(ask, offer, root));
    const next = path.basename(root);
    await writeGenerations(set.base, { ...generations, next, refused: null, confirmed: null });
    await removeSuperseded(set.base);
    return { tree, changes };
  });
}

const baseOf = (tree: UnpackedPackages): string | null => {
  const m = /^(.+?-[0-9a-f]{12})(?:-[0-9a-f]{12})?$/.exec(path.basename(tree.root));
  return m === null ? null : path.join(path.dirname(tree.root), m[1]!);
};
/** The newest tree of the same set, which may be this one. */
export async function newestTree(tree: UnpackedPackages): Promise<UnpackedPackages> {
  const base = baseOf(tree);
  return (base === null ? null : await openNewest(base)) ?? tree;
}
/** State of a set's generations, for the check of the engine's packages. */
export async function generationsOf(tree: UnpackedPackages): ReturnType<typeof readGenerations> {
  return await readGenerations(baseOf(tree) ?? tree.root);
}
/** Package tree of a process, by its command; null for a program outside the cache. */
export async function treeOfCommand(
  cache: string,
  command: readonly string[],
): Promise<UnpackedPackages | null> {
  const folder = path.join(cache, 'packages');
  const program = command.at(-1) ?? '';
  const [name = ''] = path.relative(folder, program).split(path.sep);
  return program.startsWith(`${folder}${path.sep}`) && name !== ''
    ? await openTree(path.join(folder, name))
    : null;
}

async function change(
  cache: string,
  tree: UnpackedPackages,
  to: (was: Awaited<ReturnType<typeof readGenerations>>, name: string) => typeof was,
): Promise<void> {
  const base = baseOf(tree);
  // Only a waiting tree can be confirmed or refused, so most starts need no lock.
  if (base === null || (await readGenerations(base)).next !== path.basename(tree.root)) return;
  await withLock(path.join(cache, 'packages.lock'), async () => {
    const was = await readGenerations(base);
    const now = to(was, path.basename(tree.root));
    if (now === was) return;
    await writeGenerations(base, now);
    await removeSuperseded(base);
  });
}
/** Makes the tree the current one and keeps the previous one. */
export async function confirmTree(cache: string, tree: UnpackedPackages): Promise<void> {
  await change(cache, tree, (was, name) =>
    was.next === name ? { ...was, current: name, previous: was.current, next: null } : was,
  );
}
/** Refuses the tree, so that the next start uses the previous one. */
export async function refuseTree(cache: string, tree: UnpackedPackages, why: string): Promise<void> {
  const at = rfc3339(Date.now());
  await change(cache, tree, (was, name) =>
    was.next === name ? { ...was, next: null, refused: { tree: name, why: why.slice(0, 500), at } } : was,
  );
}
