import fs from 'node:fs/promises';
import path from 'node:path';
import { downloadFiles, downloadOwn, openWorkspace, planFiles, updateIndex } from './apt.ts';
import type { PlannedFile } from './apt.ts';
import { ProvisionError } from './error.ts';
import type { Machine } from './machine.ts';
import { run } from './run.ts';

const KEYRING_PACKAGE = 'debian-archive-keyring';
/** Releases whose keyring package is signed with older keys and holds newer ones, oldest first. */
const KEY_STEPS = ['bullseye', 'bookworm', 'trixie'];

const megabytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1e6))} MB`;

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

export interface Ask {
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

/** Index, plan and files from the first mirror that has them all. Errors: ProvisionError, the last mirror's. */
export async function fetchFromAny(
  ask: Omit<Ask, 'mirror'>,
  mirrors: readonly string[],
): Promise<{ plan: PlannedFile[]; archives: string }> {
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
