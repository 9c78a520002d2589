import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { downloadFiles, downloadOwn, openWorkspace, planFiles, updateIndex } from './apt.ts';
import type { PlannedFile } from './apt.ts';
import { ProvisionError } from './error.ts';
import { withLock } from './lock.ts';
import { readMachine } from './machine.ts';
import type { Machine } from './machine.ts';
import { run } from './run.ts';

const DEBIAN = 'http://deb.debian.org/debian';
const KEYRING_PACKAGE = 'debian-archive-keyring';
/** Releases whose keyring package is signed with older keys and holds newer ones, oldest first. */
const KEY_STEPS = ['bullseye', 'bookworm', 'trixie'];
const MARKER = 'offhook.json';
const UNPACKERS = 2;

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
/** Debian packages unpacked in a folder of their own: nothing is installed, no script of theirs was run. */
export interface UnpackedPackages {
  readonly root: string;
  /** Folder of libraries below `usr/lib`, e.g. `x86_64-linux-gnu`. */
  readonly triplet: string;
  /** Version of each package by its name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Command for a program of the tree (`usr/sbin/asterisk`) through the tree's own loader and libraries. */
  command(program: string): readonly string[];
}
/** Raised when a marker or tree of an older Offhook in a shared cache cannot be used any more. */
const FORMAT = 1;
interface Marker {
  readonly format: number;
  readonly packages: readonly string[];
  readonly release: string;
  readonly arch: string;
  readonly triplet: string;
  readonly loader: string;
  /** Folders of libraries, below the root. */
  readonly libraries: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
}

const megabytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1e6))} MB`;

async function readMarker(root: string): Promise<Marker | null> {
  try {
    const marker = JSON.parse(await fs.readFile(path.join(root, MARKER), 'utf8')) as Marker;
    return marker.format === FORMAT ? marker : null;
  } catch {
    return null;
  }
}

/** Folders that Debian's alternatives system would have linked into the library path. */
const SIDE_FOLDERS = ['', 'blas', 'lapack', 'pulseaudio'];

function unpacked(root: string, marker: Marker): UnpackedPackages {
  const libraryPath = marker.libraries.map((folder) => path.join(root, folder)).join(':');
  return {
    root,
    triplet: marker.triplet,
    versions: marker.versions,
    command: (program) => [
      path.join(root, marker.loader),
      '--library-path',
      libraryPath,
      path.join(root, program),
    ],
  };
}

async function libraryFolders(root: string, triplet: string): Promise<string[]> {
  const all = SIDE_FOLDERS.map((name) => path.join('usr', 'lib', triplet, name));
  const found = await Promise.all(all.map((f) => fs.stat(path.join(root, f)).catch(() => null)));
  return all.filter((_, i) => found[i]?.isDirectory());
}

async function findLoader(root: string, triplet: string): Promise<string> {
  const folder = path.join('usr', 'lib', triplet);
  const names = await fs.readdir(path.join(root, folder)).catch(() => []);
  const loader = names.find((name) => /^ld-linux-[a-z0-9-]+\.so\.\d+$/.test(name));
  if (loader === undefined) throw new ProvisionError('failed', `no loader is in the packages (${folder})`);
  return path.join(folder, loader);
}

async function unpack(
  plan: readonly PlannedFile[],
  archives: string,
  into: string,
  progress: (line: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const left = [...plan];
  let done = 0;
  let told = 0;
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const deb = path.join(archives, next.file);
      const outcome = await run(['dpkg-deb', '--extract', deb, into], signal ? { signal } : {});
      if (outcome.code !== 0) {
        const full = /No space left|Disk quota/.test(outcome.stderr);
        throw new ProvisionError(
          full ? 'disk' : 'failed',
          `${next.file} could not be unpacked: ${outcome.stderr.trim().slice(-300)}`,
        );
      }
      done += 1;
      if (done - told >= 60) {
        told = done;
        progress(`unpacking: ${done} of ${plan.length} packages`);
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: UNPACKERS }, work));
  const failed = results.find((r) => r.status === 'rejected');
  if (failed) throw failed.reason;
}

async function needRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await fs.statfs(folder);
  const free = bavail * bsize;
  if (free < bytes) {
    throw new ProvisionError('disk', `${folder} has ${megabytes(free)} free; ${megabytes(bytes)} are needed`);
  }
}

/** Debian's archive keys by way of the distribution's own repositories, which the machine's own keys sign. */
async function foreignKeyring(folder: string, machine: Machine, signal?: AbortSignal): Promise<string> {
  const workspace = await openWorkspace(path.join(folder, 'own'), machine, 'own');
  const deb = await downloadOwn(workspace, KEYRING_PACKAGE, signal);
  return await keyringOf([deb], path.join(folder, 'keys-own'), signal);
}

async function keyringOf(debs: readonly string[], into: string, signal?: AbortSignal): Promise<string> {
  await fs.rm(into, { recursive: true, force: true });
  await fs.mkdir(into, { recursive: true });
  for (const deb of debs) await run(['dpkg-deb', '--extract', deb, into], signal ? { signal } : {});
  const folder = path.join(into, 'usr', 'share', 'keyrings');
  const names: string[] = await fs.readdir(folder).catch(() => []);
  const ring = ['debian-archive-keyring.pgp', 'debian-archive-keyring.gpg'].find((n) => names.includes(n));
  if (ring === undefined) throw new ProvisionError('untrusted', `${KEYRING_PACKAGE} holds no keyring`);
  return path.join(folder, ring);
}

interface Ask {
  readonly folder: string;
  readonly machine: Machine;
  readonly mirror: string;
  readonly release: string;
  readonly packages: readonly string[];
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal | undefined;
}

/** Newer archive keys, by the package that Debian signed with the older ones this machine trusts. */
async function newerKeyring(ask: Ask, keyring: string, release: string): Promise<string> {
  const folder = path.join(ask.folder, `keys-${release}`);
  const workspace = await openWorkspace(folder, ask.machine, { mirror: ask.mirror, release, keyring });
  await updateIndex(workspace, ask.signal);
  const plan = (await planFiles(workspace, [KEYRING_PACKAGE], ask.signal)).filter(
    (f) => f.name === KEYRING_PACKAGE,
  );
  await downloadFiles(workspace, [KEYRING_PACKAGE], plan, { signal: ask.signal });
  const debs = plan.map((f) => path.join(workspace.archives, f.file));
  return await keyringOf(debs, path.join(folder, 'keys'), ask.signal);
}

/** Downloads everything from one mirror. */
async function fetchFrom(ask: Ask): Promise<{ plan: PlannedFile[]; archives: string }> {
  let keyring = ask.machine.keyrings[0] ?? (await foreignKeyring(ask.folder, ask.machine, ask.signal));
  const open = (ring: string) =>
    openWorkspace(ask.folder, ask.machine, { mirror: ask.mirror, release: ask.release, keyring: ring });
  let workspace = await open(keyring);
  ask.progress(`reading the list of packages of ${ask.mirror} (${ask.release})`);
  for (const step of [...KEY_STEPS, null]) {
    try {
      await updateIndex(workspace, ask.signal);
      break;
    } catch (error) {
      const old = error instanceof ProvisionError && error.reason === 'untrusted';
      if (!old || step === null) throw error;
      // The first refusal stays the one to report: the step is only a way round keys that are too old.
      const newer = await newerKeyring(ask, keyring, step).catch(() => null);
      ask.signal?.throwIfAborted();
      if (newer === null) continue;
      keyring = newer;
      workspace = await open(keyring);
    }
  }
  const plan = await planFiles(workspace, ask.packages, ask.signal);
  const bytes = plan.reduce((sum, f) => sum + f.bytes, 0);
  await needRoom(ask.folder, bytes * 5);
  ask.progress(`downloading ${plan.length} packages, ${megabytes(bytes)}`);
  let told = 0;
  await downloadFiles(workspace, ask.packages, plan, {
    signal: ask.signal,
    onPercent: (percent) => {
      if (percent < told + 20) return;
      told = percent;
      ask.progress(`downloading: ${Math.round(percent)} %`);
    },
  });
  return { plan, archives: workspace.archives };
}

async function fetchFromAny(ask: Omit<Ask, 'mirror'>, mirrors: readonly string[]) {
  const refusals: ProvisionError[] = [];
  for (const mirror of mirrors) {
    try {
      return await fetchFrom({ ...ask, mirror });
    } catch (error) {
      if (!(error instanceof ProvisionError) || error.reason === 'disk') throw error;
      refusals.push(error);
      const other = mirrors[refusals.length];
      if (other !== undefined) ask.progress(`${error.message}; trying ${other}`);
    }
  }
  const [first] = refusals;
  if (first === undefined) throw new ProvisionError('failed', 'no mirror is known');
  // With two mirrors the second one's answer says more: the first may simply not carry the release.
  throw refusals.at(-1) ?? first;
}

/** Syncs the folder's file system, so that a power cut cannot leave a marked tree with empty files. */
async function settle(folder: string): Promise<void> {
  await run(['sync', '-f', folder], { timeout_ms: 60_000 }).catch(() => undefined);
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
  const there = await readMarker(root);
  if (there) return unpacked(root, there);

  const given = options.machine ?? (() => readMachine(signal));
  const machine = typeof given === 'function' ? await given() : given;
  const mirrors = options.mirrors ?? [...new Set([...machine.mirrors, DEBIAN])];
  const folder = path.join(cache, 'apt', `${release}-${machine.arch}`);
  try {
    await fs.mkdir(path.dirname(root), { recursive: true });
    await fs.mkdir(folder, { recursive: true });
  } catch (error) {
    throw new ProvisionError('disk', `the cache ${cache} cannot be written: ${String(error)}`, error);
  }
  const work = async (): Promise<UnpackedPackages> => {
    const meanwhile = await readMarker(root);
    if (meanwhile) return unpacked(root, meanwhile);
    const { plan, archives } = await fetchFromAny(
      { folder, machine, release, packages, progress, signal },
      mirrors,
    );
    const temporary = `${root}.unpacking`;
    await fs.rm(temporary, { recursive: true, force: true });
    try {
      await fs.mkdir(temporary);
      progress(`unpacking ${plan.length} packages`);
      await unpack(plan, archives, temporary, progress, signal);
      const marker: Marker = {
        format: FORMAT,
        packages,
        release,
        arch: machine.arch,
        triplet: machine.triplet,
        loader: await findLoader(temporary, machine.triplet),
        libraries: await libraryFolders(temporary, machine.triplet),
        versions: Object.fromEntries(plan.map((f) => [f.name, f.version])),
      };
      await fs.writeFile(path.join(temporary, MARKER), `${JSON.stringify(marker, null, 2)}\n`);
      await settle(temporary);
      await fs.rm(root, { recursive: true, force: true });
      await fs.rename(temporary, root);
      // The tree is what is kept; the index alone is 60 MB and read anew for the next packages.
      await fs.rm(folder, { recursive: true, force: true });
      return unpacked(root, marker);
    } catch (error) {
      await fs.rm(temporary, { recursive: true, force: true });
      throw error;
    }
  };
  return await withLock(`${folder}.lock`, work, {
    signal,
    onWait: () => progress('another Offhook is getting packages into the same cache; waiting for it'),
  });
}
