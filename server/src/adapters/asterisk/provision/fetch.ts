import fs from 'node:fs/promises';
import path from 'node:path';
import { downloadFiles, downloadOwn, openWorkspace, planFiles, updateIndex } from './apt.ts';
import type { PlannedFile, Source, Workspace } from './apt.ts';
import { ProvisionError } from './error.ts';
import { readIndexDate, refuseReplay } from './index-date.ts';
import type { IndexDates } from './index-date.ts';
import { freeBytes } from '../../../core/folders.ts';
import type { Machine } from './machine.ts';
import { run } from './run.ts';

const KEYRING_PACKAGE = 'debian-archive-keyring';
/** Releases whose keyring package is signed with older keys and holds newer ones, oldest first. */
const KEY_STEPS = ['bullseye', 'bookworm', 'trixie'];

const megabytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1e6))} MB`;

async function needRoom(folder: string, bytes: number): Promise<void> {
  const free = await freeBytes(folder);
  if (free < bytes) {
    throw new ProvisionError('disk', `${folder} has ${megabytes(free)} free; ${megabytes(bytes)} are needed`);
  }
}

/** Debian's archive keys from the distribution's own repositories, which the machine's own keys sign. */
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

export interface Ask {
  /** Stores the date of the newest index of each suite. */
  readonly cache: string;
  readonly folder: string;
  readonly machine: Machine;
  readonly mirror: string;
  /** Mirrors of the security suite, in the order of attempts; empty to leave the suite out. */
  readonly security: readonly string[];
  /** True to fail when the security suite cannot be reached. */
  readonly strict: boolean;
  readonly release: string;
  readonly packages: readonly string[];
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal | undefined;
}

/** The offer of one mirror before its files are fetched. */
export interface Offer {
  readonly workspace: Workspace;
  readonly plan: readonly PlannedFile[];
  readonly index: IndexDates;
}

/** Newer archive keys, by the package that Debian signed with the older ones this machine trusts. */
async function newerKeyring(ask: Ask, keyring: string, release: string): Promise<string> {
  const folder = path.join(ask.folder, `keys-${release}`);
  const workspace = await openWorkspace(folder, ask.machine, {
    sources: [{ mirror: ask.mirror, suite: release }],
    keyring,
  });
  await updateIndex(workspace, ask.signal);
  const plan = (await planFiles(workspace, [KEYRING_PACKAGE], ask.signal)).filter(
    (f) => f.name === KEYRING_PACKAGE,
  );
  await downloadFiles(workspace, [KEYRING_PACKAGE], plan, { signal: ask.signal });
  const debs = plan.map((f) => path.join(workspace.archives, f.file));
  return await keyringOf(debs, path.join(folder, 'keys'), ask.signal);
}

/**
 * Reads the indexes of the release, its updates and its security suite, each signed, within its time and not older than one
 * seen before. The suites beside the release are left out where the mirror has none.
 */
async function readIndexes(ask: Ask): Promise<{ workspace: Workspace; index: IndexDates }> {
  const { signal, release, progress } = ask;
  const main: Source = { mirror: ask.mirror, suite: release };
  let keyring = ask.machine.keyrings[0] ?? (await foreignKeyring(ask.folder, ask.machine, signal));
  const open = (sources: readonly [Source, ...Source[]]): Promise<Workspace> =>
    openWorkspace(ask.folder, ask.machine, { sources, keyring });
  let workspace = await open([main]);
  progress(`reading the list of packages of ${ask.mirror} (${release})`);
  for (const step of [...KEY_STEPS, null]) {
    try {
      await updateIndex(workspace, signal, main);
      break;
    } catch (error) {
      const old = error instanceof ProvisionError && error.reason === 'untrusted';
      if (!old || step === null) throw error;
      // The first error stays the one to report: this step only works around keys that are too old.
      const newer = await newerKeyring(ask, keyring, step).catch(() => null);
      signal?.throwIfAborted();
      if (newer === null) continue;
      keyring = newer;
      workspace = await open([main]);
    }
  }
  const index: Record<string, number> = {};
  const noted = async (source: Source): Promise<void> => {
    const date = await readIndexDate(workspace.lists, source.mirror, source.suite);
    await refuseReplay(ask.cache, source, date);
    index[source.suite] = date;
  };
  await noted(main);
  const sources: [Source, ...Source[]] = [main];
  const also = async (source: Source): Promise<void> => {
    try {
      workspace = await open([...sources, source]);
      await updateIndex(workspace, signal, source);
      await noted(source);
      sources.push(source);
    } catch (error) {
      workspace = await open(sources);
      throw error;
    }
  };
  await also({ mirror: ask.mirror, suite: `${release}-updates` }).catch((error: unknown) => {
    if (!(error instanceof ProvisionError) || error.reason !== 'missing') throw error;
  });
  const refusals: ProvisionError[] = [];
  for (const mirror of ask.security) {
    try {
      await also({ mirror, suite: `${release}-security` });
      return { workspace, index };
    } catch (error) {
      if (!(error instanceof ProvisionError)) throw error;
      refusals.push(error);
    }
  }
  // An index that is unsigned or outdated always fails; a missing one is logged.
  const worst =
    refusals.find((r) => !['missing', 'unreachable'].includes(r.reason)) ??
    (ask.strict ? refusals.find((r) => r.reason !== 'missing') : undefined);
  if (worst !== undefined) throw worst;
  if (refusals[0] !== undefined) progress(`without ${release}-security: ${refusals[0].message}`);
  return { workspace, index };
}

/** Index of one mirror. */
async function offerOf(ask: Ask): Promise<Offer> {
  const { workspace, index } = await readIndexes(ask);
  return { workspace, index, plan: await planFiles(workspace, ask.packages, ask.signal) };
}

/** Downloads the files of an offer. Errors: ProvisionError. */
async function download(ask: Ask, { workspace, plan }: Offer): Promise<void> {
  const bytes = plan.reduce((sum, f) => sum + f.bytes, 0);
  await needRoom(ask.folder, bytes * 5);
  ask.progress(`downloading ${plan.length} packages, ${megabytes(bytes)}`);
  let reported = 0;
  await downloadFiles(workspace, ask.packages, plan, {
    signal: ask.signal,
    onPercent: (percent) => {
      if (percent < reported + 20) return;
      reported = percent;
      ask.progress(`downloading: ${Math.round(percent)} %`);
    },
  });
}

/**
 * Index, plan and files from the first mirror that has them all; `wanted` decides whether to download an offer. Errors:
 * ProvisionError of the last mirror.
 */
export async function fetchFromAny(
  ask: Omit<Ask, 'mirror'>,
  mirrors: readonly string[],
  wanted: (offer: Offer) => boolean = () => true,
): Promise<Offer> {
  const refusals: ProvisionError[] = [];
  for (const mirror of mirrors) {
    const one = { ...ask, mirror };
    try {
      const offer = await offerOf(one);
      if (wanted(offer)) await download(one, offer);
      return offer;
    } catch (error) {
      if (!(error instanceof ProvisionError) || error.reason === 'disk') throw error;
      refusals.push(error);
      const other = mirrors[refusals.length];
      if (other !== undefined) ask.progress(`${error.message}; trying ${other}`);
    }
  }
  const [first] = refusals;
  if (first === undefined) throw new ProvisionError('failed', 'no mirror is known');
  // With two mirrors the second one's error is more useful: the first may simply not carry the release.
  throw refusals.at(-1) ?? first;
}
