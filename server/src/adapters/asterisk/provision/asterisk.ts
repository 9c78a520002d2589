import fs from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { PackageAge } from '../../../ports/engine-site.ts';
import type { AsteriskProgram } from '../conf/instance.ts';
import { ProvisionError } from './error.ts';
import {
  confirmTree,
  generationsOf,
  newestTree,
  obtainPackages,
  refuseTree,
  treeOfCommand,
  updatePackages,
} from './packages.ts';
import type { ObtainPackagesOptions, UnpackedPackages } from './packages.ts';
import { run } from './run.ts';

/** Before 21 `Queue` has its arguments in another order. */
const OLDEST = 22;
const PACKAGES = ['asterisk', 'asterisk-core-sounds-en-gsm', 'asterisk-moh-opsound-gsm'];
const VOICE = 'en_US_f_Allison';
const DATA_FOLDERS = ['/usr/share/asterisk', '/var/lib/asterisk', '/usr/local/share/asterisk'];
/** Name of the folder for sounds and documents in the unpacked tree. */
const DATA = 'offhook-data';

export interface ObtainAsteriskOptions extends Omit<ObtainPackagesOptions, 'packages'> {
  /** `OFFHOOK_ASTERISK`; empty or absent: one on the PATH, else Debian's packages. */
  readonly explicit?: string;
  /** The PATH to search. */
  readonly path?: string;
  /** Command of the running engine, whose packages are used instead of newer ones. */
  readonly running?: readonly string[] | undefined;
}

/** The version an Asterisk reports, or why it cannot be used. */
async function versionOf(command: readonly string[], signal?: AbortSignal): Promise<string> {
  const options = { timeout_ms: 10_000, limit: 4096, ...(signal ? { signal } : {}) };
  const { code, stdout, stderr, timed_out } = await run([...command, '-V'], options);
  const m = /^Asterisk (?:certified[/-])?(\d+(?:\.\d+)*)/.exec(stdout);
  if (code === 0 && m) return m[1]!;
  const said = (stdout + stderr).trim().split('\n')[0] ?? '';
  throw new Error(
    timed_out ? 'it did not answer to -V' : `it answered to -V: ${said || `exit code ${code}`}`,
  );
}

async function exists(file: string): Promise<boolean> {
  return await fs.access(file).then(
    () => true,
    () => false,
  );
}

async function dataFolder(): Promise<string> {
  for (const folder of DATA_FOLDERS) if (await exists(path.join(folder, 'sounds'))) return folder;
  for (const folder of DATA_FOLDERS) if (await exists(folder)) return folder;
  return DATA_FOLDERS[0]!;
}

async function onPath(search: string): Promise<string | null> {
  for (const folder of search.split(path.delimiter).filter((f) => path.isAbsolute(f))) {
    const file = path.join(folder, 'asterisk');
    const runs = await fs.access(file, fs.constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return file;
  }
  return null;
}

async function ownProgram(file: string, version: string): Promise<AsteriskProgram> {
  return { command: [file], version, modules_dir: null, data_dir: await dataFolder(), origin: file };
}

/** Creates links, so that prompts are found as `sounds/en` while the unpacked tree stays as Debian built it. */
async function linkData(root: string): Promise<string> {
  const folder = path.join(root, DATA);
  if (await exists(path.join(folder, 'sounds', 'en'))) return folder;
  const share = path.join('..', 'usr', 'share', 'asterisk');
  await fs.mkdir(path.join(folder, 'sounds'), { recursive: true });
  const link = async (target: string, name: string): Promise<void> => {
    await fs.symlink(target, path.join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  };
  for (const name of await fs.readdir(path.join(root, 'usr', 'share', 'asterisk'))) {
    if (name !== 'sounds') await link(path.join(share, name), name);
  }
  await link(path.join('..', share, 'sounds', VOICE), path.join('sounds', 'en'));
  return folder;
}

/** The program of a package tree. Throws when it does not print its version. */
async function programOf(tree: UnpackedPackages, signal?: AbortSignal): Promise<AsteriskProgram> {
  const command = tree.command('usr/sbin/asterisk');
  return {
    command,
    version: await versionOf(command, signal),
    modules_dir: path.join(tree.root, 'usr', 'lib', tree.triplet, 'asterisk', 'modules'),
    data_dir: await linkData(tree.root),
    origin: 'packages',
    packages: tree,
  };
}

async function fromPackages(options: ObtainAsteriskOptions): Promise<AsteriskProgram> {
  const { running, signal, cache } = options;
  const own = running === undefined ? null : await treeOfCommand(cache, running);
  const tree = own ?? (await obtainPackages({ ...options, packages: PACKAGES }));
  try {
    return await programOf(tree, signal);
  } catch (error) {
    signal?.throwIfAborted();
    await refuseTree(cache, tree, messageOf(error));
    if ((await newestTree(tree)).root !== tree.root) return await fromPackages(options);
    throw new ProvisionError(
      'failed',
      `the Asterisk unpacked in ${tree.root} does not run (${messageOf(error)}); remove that folder and start again`,
      error,
    );
  }
}

/**
 * The program for the next start: of newer packages where some wait, of the previous ones where those were refused, else the
 * same.
 */
export async function newestAsterisk(cache: string, program: AsteriskProgram): Promise<AsteriskProgram> {
  const { packages } = program;
  if (!packages) return program;
  const tree = await newestTree(packages);
  if (tree.root === packages.root) return program;
  try {
    return await programOf(tree);
  } catch (error) {
    await refuseTree(cache, tree, messageOf(error));
    return program;
  }
}
/** Records the result of a start: a waiting tree becomes the current one, or is refused. */
export async function noteStart(cache: string, program: AsteriskProgram, why: string | null): Promise<void> {
  if (!program.packages) return;
  if (why === null) await confirmTree(cache, program.packages);
  else await refuseTree(cache, program.packages, why);
}
/** True for a program whose packages have not run yet. */
export async function isOnTrial({ packages }: AsteriskProgram): Promise<boolean> {
  return !!packages && (await generationsOf(packages)).next === path.basename(packages.root);
}

/** Age and state of a program's packages. */
export async function packageAge({ packages }: AsteriskProgram): Promise<PackageAge | null> {
  if (!packages) return null;
  const { confirmed, next, current, refused } = await generationsOf(packages);
  const name = path.basename(packages.root);
  const own = packages.indexed ?? packages.unpacked;
  return {
    as_of: confirmed !== null && name === (next ?? current) ? Math.max(own, Date.parse(confirmed)) : own,
    waiting: next !== null && next !== name,
    refused: refused?.why ?? null,
  };
}

export interface UpdatedAsterisk {
  readonly program: AsteriskProgram;
  /** `name old -> new` of each package; empty where nothing is newer. */
  readonly changes: readonly string[];
}
/** Downloads newer packages of the engine for its next start. Errors: ProvisionError. */
export async function updateAsterisk(options: ObtainAsteriskOptions): Promise<UpdatedAsterisk> {
  const { tree, changes } = await updatePackages({ ...options, packages: PACKAGES });
  try {
    return { program: await programOf(tree, options.signal), changes };
  } catch (error) {
    options.signal?.throwIfAborted();
    await refuseTree(options.cache, tree, messageOf(error));
    throw new ProvisionError(
      'failed',
      `the newer Asterisk does not run here (${messageOf(error)}); the former one is kept`,
      error,
    );
  }
}
/** Path of the machine's own engine; null where the engine comes from packages. */
export async function ownAsterisk(options: ObtainAsteriskOptions): Promise<string | null> {
  if (options.explicit) return options.explicit;
  const found = await onPath(options.path ?? process.env['PATH'] ?? '');
  const version = found === null ? '0' : await versionOf([found], options.signal).catch(() => '0');
  return Number.parseInt(version, 10) >= OLDEST ? found : null;
}

const WAYS_OUT =
  'Ways out: set OFFHOOK_ASTERISK to an Asterisk 22 or later, put one on the PATH, or run the container file (compose.yaml)';

/**
 * The Asterisk to run: the configured one, else one on the PATH (version 22 or later), else Debian's packages without root.
 * Errors: ProvisionError with one sentence for people; the signal's reason when aborted.
 */
export async function obtainAsterisk(options: ObtainAsteriskOptions): Promise<AsteriskProgram> {
  const { explicit = '', signal, progress } = options;
  if (explicit !== '') {
    const wanted = `OFFHOOK_ASTERISK=${explicit}: expected the path of an Asterisk program, version ${OLDEST} or later`;
    const version = await versionOf([path.resolve(explicit)], signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw new ProvisionError('invalid_program', `${wanted}; ${messageOf(error)}`, error);
    });
    if (Number.parseInt(version, 10) < OLDEST) {
      throw new ProvisionError('invalid_program', `${wanted}; this one is ${version}`);
    }
    return await ownProgram(path.resolve(explicit), version);
  }
  const found = await onPath(options.path ?? process.env['PATH'] ?? '');
  if (found !== null) {
    const version = await versionOf([found], signal).catch(() => '0');
    signal?.throwIfAborted();
    if (Number.parseInt(version, 10) >= OLDEST) return await ownProgram(found, version);
    progress?.(`${found} is not an Asterisk ${OLDEST} or later; Debian's packages are used instead`);
  }
  try {
    return await fromPackages(options);
  } catch (error) {
    if (error instanceof ProvisionError && error.reason === 'unsupported') {
      throw new ProvisionError(
        'unsupported',
        `There is no Asterisk here and ${error.message}. ${WAYS_OUT}`,
        error,
      );
    }
    throw error;
  }
}

/**
 * As `obtainAsterisk`, but retries (5 s up to 60 s apart) until it succeeds, for example once the network is back or Asterisk
 * was installed. Calls `onFailure` after each failure. Errors: the signal's reason when aborted.
 */
export async function obtainAsteriskEventually(
  options: ObtainAsteriskOptions & {
    readonly clock: Clock;
    readonly onFailure: (error: ProvisionError, next_try_ms: number) => void;
  },
): Promise<AsteriskProgram> {
  for (let pause = 5_000; ; pause = Math.min(60_000, pause * 2)) {
    try {
      return await obtainAsterisk(options);
    } catch (error) {
      if (!(error instanceof ProvisionError)) throw error;
      options.onFailure(error, pause);
      await options.clock.sleep(pause, options.signal);
    }
  }
}
