import fs from 'node:fs/promises';
import path from 'node:path';
import { missing } from '../../../core/files.ts';
import type { PlannedFile } from './apt.ts';
import { ProvisionError } from './error.ts';
import { run } from './run.ts';

const MARKER = 'offhook.json';
const UNPACKERS = 2;

/** Debian packages unpacked in their own folder: nothing is installed, none of their scripts was run. */
export interface UnpackedPackages {
  readonly root: string;
  /** Folder of libraries below `usr/lib`, e.g. `x86_64-linux-gnu`. */
  readonly triplet: string;
  /** Version of each package by its name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Time of unpacking, and the date of the newest index it was planned by (null in an older cache); ms since 1970. */
  readonly unpacked: number;
  readonly indexed: number | null;
  /** Command for a program of the tree (`usr/sbin/asterisk`) through the tree's own loader and libraries. */
  command(program: string): readonly string[];
}
/** Increased when markers or trees of an older Offhook in a shared cache can no longer be used. */
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
  /** Date of each suite's index, RFC 3339; absent in an older tree. */
  readonly index?: Readonly<Record<string, string>>;
}

/** The whole tree at `root`, or null. */
export async function openTree(root: string): Promise<UnpackedPackages | null> {
  try {
    const file = path.join(root, MARKER);
    const marker = JSON.parse(await fs.readFile(file, 'utf8')) as Marker;
    return marker.format === FORMAT ? unpacked(root, marker, (await fs.stat(file)).mtimeMs) : null;
  } catch {
    return null;
  }
}

/** Folders that Debian's alternatives system would have linked into the library path. */
const SIDE_FOLDERS = ['', 'blas', 'lapack', 'pulseaudio'];

function unpacked(root: string, marker: Marker, at: number): UnpackedPackages {
  const dates = Object.values(marker.index ?? {})
    .map(Date.parse)
    .filter(Number.isFinite);
  const libraryPath = marker.libraries.map((folder) => path.join(root, folder)).join(':');
  return {
    root,
    triplet: marker.triplet,
    versions: marker.versions,
    unpacked: Math.round(at),
    indexed: dates.length === 0 ? null : Math.max(...dates),
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
  const names = await fs.readdir(path.join(root, folder)).catch(missing);
  // Packages of data alone, such as sounds, have no programs.
  if (names === null) return '';
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
  let reported = 0;
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const deb = path.join(archives, next.file);
      const extracted = await run(['dpkg-deb', '--extract', deb, into], signal ? { signal } : {});
      if (extracted.code !== 0) {
        const full = /No space left|Disk quota/.test(extracted.stderr);
        throw new ProvisionError(
          full ? 'disk' : 'failed',
          `${next.file} could not be unpacked: ${extracted.stderr.trim().slice(-300)}`,
        );
      }
      done += 1;
      if (done - reported >= 60) {
        reported = done;
        progress(`unpacking: ${done} of ${plan.length} packages`);
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: UNPACKERS }, work));
  const failed = results.find((r) => r.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Syncs the folder's file system, so that a power cut cannot leave a marked tree with empty files. */
async function settle(folder: string): Promise<void> {
  await run(['sync', '-f', folder], { timeout_ms: 60_000 }).catch(() => undefined);
}

export interface BuildOptions {
  readonly plan: readonly PlannedFile[];
  readonly archives: string;
  readonly marker: Pick<Marker, 'packages' | 'release' | 'arch' | 'triplet' | 'index'>;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal | undefined;
}

/** Suffix of a tree's name until it is complete. */
const UNFINISHED = '.unpacking';

/** Removes partial trees of a killed process. Requires the lock of the cache. */
export async function removeUnfinished(folder: string): Promise<void> {
  const left = (await fs.readdir(folder)).filter((name) => name.endsWith(UNFINISHED));
  for (const name of left) await fs.rm(path.join(folder, name), { recursive: true, force: true });
}

/** Unpacks the plan's files to `root`, completely or not at all. */
export async function buildTree(root: string, options: BuildOptions): Promise<UnpackedPackages> {
  const { plan, progress } = options;
  const temporary = `${root}${UNFINISHED}`;
  try {
    await fs.mkdir(temporary);
    progress(`unpacking ${plan.length} packages`);
    await unpack(plan, options.archives, temporary, progress, options.signal);
    const { triplet } = options.marker;
    const marker: Marker = {
      ...options.marker,
      format: FORMAT,
      loader: await findLoader(temporary, triplet),
      libraries: await libraryFolders(temporary, triplet),
      versions: Object.fromEntries(plan.map((f) => [f.name, f.version])),
    };
    await fs.writeFile(path.join(temporary, MARKER), `${JSON.stringify(marker, null, 2)}\n`);
    await settle(temporary);
    await fs.rm(root, { recursive: true, force: true });
    await fs.rename(temporary, root);
    return unpacked(root, marker, Date.now());
  } catch (error) {
    await fs.rm(temporary, { recursive: true, force: true });
    throw error;
  }
}
