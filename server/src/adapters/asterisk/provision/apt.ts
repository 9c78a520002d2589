import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { ProvisionError } from './error.ts';
import type { Machine } from './machine.ts';
import { run } from './run.ts';
import type { RunOutcome } from './run.ts';

/** One package file of apt's signed index. */
export interface PlannedFile {
  readonly file: string;
  readonly name: string;
  readonly version: string;
  readonly bytes: number;
  readonly sha256: string;
}
/** A private apt: own state, cache, sources and keys; it neither reads nor changes the machine's packages. */
export interface Workspace {
  readonly folder: string;
  readonly config: string;
  readonly archives: string;
  readonly lists: string;
  readonly mirror: string;
}
/** One suite of a Debian mirror, e.g. `forky-security` of `https://deb.debian.org/debian-security`. */
export interface Source {
  readonly mirror: string;
  readonly suite: string;
}

const LOCK_WAIT_MS = 60_000;
const quoted = (value: string): string => {
  // apt's configuration cannot escape these, and none of them belongs in a folder's name or an address.
  if (/["\\\n\r]/.test(value))
    throw new ProvisionError('failed', `this value cannot be passed to apt: ${JSON.stringify(value)}`);
  return `"${value}"`;
};

/**
 * Writes (or rewrites) the workspace in `folder` for these suites; errors name the first. Earlier downloads stay. `own` uses
 * the machine's own sources and keys instead of Debian's.
 */
export async function openWorkspace(
  folder: string,
  machine: Machine,
  source: { readonly sources: readonly [Source, ...Source[]]; readonly keyring: string } | 'own',
): Promise<Workspace> {
  const at = (...parts: string[]): string => path.join(folder, ...parts);
  const folders = ['state/lists/partial', 'cache/archives/partial', 'empty.d', 'trusted.d', 'log'];
  await Promise.all(folders.map((name) => fs.mkdir(at(name), { recursive: true })));
  await fs.writeFile(at('status'), '');
  const settings: [string, string][] = [
    ['Dir::State', at('state')],
    ['Dir::State::status', at('status')],
    ['Dir::Cache', at('cache')],
    ['Dir::Log', at('log')],
    ['APT::Architecture', machine.arch],
    ['APT::Install-Recommends', 'false'],
    ['APT::Install-Suggests', 'false'],
    ['APT::Sandbox::User', 'root'],
    ['APT::Update::Error-Mode', 'any'],
    ['APT::Keep-Downloaded-Packages', 'true'],
    ['Acquire::Languages', 'none'],
    ['Acquire::PDiffs', 'false'],
    ['Acquire::GzipIndexes', 'false'],
    ['Acquire::Retries', '2'],
    ['Acquire::http::Timeout', '20'],
    ['Acquire::https::Timeout', '20'],
  ];
  if (source !== 'own') {
    const kept = `debian${path.extname(source.keyring) === '.asc' ? '.asc' : '.gpg'}`;
    await fs.copyFile(source.keyring, at('trusted.d', kept));
    const lines = source.sources.map(({ mirror, suite }) => `deb ${mirror} ${suite} main\n`);
    await fs.writeFile(at('sources.list'), lines.join(''));
    settings.push(
      ['Dir::Etc::Main', '/dev/null'],
      ['Dir::Etc::Parts', at('empty.d')],
      ['Dir::Etc::sourcelist', at('sources.list')],
      ['Dir::Etc::sourceparts', at('empty.d')],
      ['Dir::Etc::preferences', '/dev/null'],
      ['Dir::Etc::preferencesparts', at('empty.d')],
      ['Dir::Etc::trusted', '/dev/null'],
      ['Dir::Etc::trustedparts', at('trusted.d')],
    );
  }
  // Our lines come last because the last one wins.
  const lines = [...machine.aptLines, ...settings.map(([key, value]) => `${key} ${quoted(value)};`)];
  lines.push(`#clear APT::Architectures;`, `APT::Architectures { ${quoted(machine.arch)}; };`);
  await fs.writeFile(at('apt.conf'), `${lines.join('\n')}\n`);
  return {
    folder,
    config: at('apt.conf'),
    archives: at('cache', 'archives'),
    lists: at('state', 'lists'),
    mirror: source === 'own' ? 'this machine’s own sources' : source.sources[0].mirror,
  };
}

const SYMPTOMS: readonly (readonly [RegExp, ProvisionError['reason'], string])[] = [
  [
    /Hash Sum mismatch|unexpected size|Hashes of/i,
    'untrusted',
    'sent something that is not what its signed index says (changed on the way, or a mirror in the middle of an update)',
  ],
  [
    /\bis expired\b/i,
    'outdated',
    'sent an index whose time is over (a mirror that is no longer kept up, or a replay)',
  ],
  [
    /NO_PUBKEY|not signed|BADSIG|EXPKEYSIG|REVKEYSIG|couldn.t be verified|could not be verified|invalid signature|not valid yet|missing key|Sub-process .*(?:gpgv|sqv)/i,
    'untrusted',
    'sent an index without a valid signature of Debian',
  ],
  [
    /No space left|Disk quota|not enough free space|Read-only file system/i,
    'disk',
    'was fine, but there is no room to store it',
  ],
  [
    /Unable to locate package|no installation candidate|does not have a Release file/i,
    'missing',
    'does not have it',
  ],
  [
    /Failed to fetch|Could not resolve|Temporary failure|Could not connect|Connection (?:refused|timed out|failed)|Unable to connect|Network is unreachable/i,
    'unreachable',
    'did not answer',
  ],
];

/** apt's complaint as one sentence. */
function aptError(mirror: string, what: string, outcome: RunOutcome): ProvisionError {
  const text = `${outcome.stderr}\n${outcome.stdout}`;
  const lines = text.split('\n').filter((line) => /^\s*(?:E:|W:|Err:)/.test(line));
  const shown = (lines.find((l) => l.startsWith('E:')) ?? lines[0] ?? `apt-get ended with ${outcome.code}`)
    .replace(/^[EW]: /, '')
    .slice(0, 300);
  for (const [symptom, reason, sentence] of SYMPTOMS) {
    if (symptom.test(text)) {
      const cause = lines.find((l) => symptom.test(l))?.replace(/^\s*(?:[EW]: |Err:\S* )/, '') ?? shown;
      return new ProvisionError(reason, `${what}: ${mirror} ${sentence}. apt says: ${cause.slice(0, 300)}`);
    }
  }
  return new ProvisionError('failed', `${what}: apt failed. It says: ${shown}`);
}

/** apt's own status lines as a share of 0 to 100. */
const percentOf = (line: string): number | null => {
  const m = /^(?:dlstatus|pmstatus):[^:]*:([\d.]+):/.exec(line);
  return m ? Number(m[1]) : null;
};

async function aptGet(
  workspace: Workspace,
  args: readonly string[],
  options: { readonly signal?: AbortSignal | undefined; readonly onPercent?: (percent: number) => void },
): Promise<RunOutcome> {
  const { onPercent } = options;
  const status = onPercent ? ['-o', 'APT::Status-Fd=3'] : [];
  const deadline = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    const outcome = await run(['apt-get', '-q', '-y', ...status, ...args], {
      cwd: workspace.folder,
      env: { ...process.env, APT_CONFIG: workspace.config, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      ...(options.signal ? { signal: options.signal } : {}),
      ...(onPercent
        ? {
            onStatusLine: (line: string) => {
              const percent = percentOf(line);
              if (percent !== null) onPercent(percent);
            },
          }
        : {}),
    }).catch((error: unknown) => {
      if (options.signal?.aborted) throw error;
      throw new ProvisionError('unsupported', 'apt-get is not on the PATH of this machine', error);
    });
    // An apt-get that outlived a killed Offhook holds apt's lock for a moment.
    const held = outcome.code !== 0 && /Could not get lock|Unable to lock/.test(outcome.stderr);
    if (!held || Date.now() > deadline) return outcome;
    await wait(300, undefined, options.signal ? { signal: options.signal } : {});
  }
}

/** Downloads the mirror's signed index. Errors: ProvisionError. */
export async function updateIndex(
  workspace: Workspace,
  signal?: AbortSignal,
  source?: Source,
): Promise<void> {
  const outcome = await aptGet(workspace, ['update'], { signal });
  // Before apt 2.1 a failed index was only a warning.
  if (outcome.code !== 0 || /^(?:Err:|W: Failed to fetch)/m.test(`${outcome.stdout}\n${outcome.stderr}`)) {
    const what = source === undefined ? '' : ` of ${source.suite}`;
    const from = source?.mirror ?? workspace.mirror;
    throw aptError(from, `the list of packages${what} could not be had`, outcome);
  }
}

/** Every file that `packages` need, with the hashes of the signed index. Errors: ProvisionError. */
export async function planFiles(
  workspace: Workspace,
  packages: readonly string[],
  signal?: AbortSignal,
): Promise<PlannedFile[]> {
  const nothing = path.join(workspace.folder, 'nothing-yet');
  await fs.mkdir(path.join(nothing, 'partial'), { recursive: true });
  const outcome = await aptGet(
    workspace,
    // Without files of its own apt lists everything; the hash is the one the download is checked with.
    [
      '-o',
      `Dir::Cache::archives=${nothing}`,
      '-o',
      'Acquire::ForceHash=SHA256',
      '--print-uris',
      'install',
      ...packages,
    ],
    { signal },
  );
  if (outcome.code !== 0) throw aptError(workspace.mirror, `${packages.join(', ')} cannot be had`, outcome);
  const files: PlannedFile[] = [];
  for (const line of outcome.stdout.split('\n')) {
    const m = /^'\S+' ([^\s/]+\.deb) (\d+) SHA256:([0-9a-f]{64})$/.exec(line.trim());
    if (m) {
      const [name = '', version = ''] = m[1]!.split('_').map(decodeURIComponent);
      files.push({ file: m[1]!, name, version, bytes: Number(m[2]), sha256: m[3]! });
    }
  }
  if (files.length === 0) {
    throw new ProvisionError('failed', `apt named no file with a SHA-256 for ${packages.join(', ')}`);
  }
  return files;
}

async function sha256Of(file: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file), hash);
    return hash.digest('hex');
  } catch {
    return null;
  }
}

/** Removes files that differ from the plan and returns their names. */
async function dropWrong(archives: string, plan: readonly PlannedFile[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const planned of plan) {
    const file = path.join(archives, planned.file);
    if ((await sha256Of(file)) === planned.sha256) continue;
    await fs.rm(file, { force: true });
    wrong.push(planned.file);
  }
  return wrong;
}

/**
 * Downloads the missing files of the plan, continuing partial ones, and verifies every file against the signed index. Errors:
 * ProvisionError; wrong files are then removed, right ones kept for the next attempt.
 */
export async function downloadFiles(
  workspace: Workspace,
  packages: readonly string[],
  plan: readonly PlannedFile[],
  options: { readonly signal?: AbortSignal | undefined; readonly onPercent?: (percent: number) => void },
): Promise<void> {
  const what = `the packages of ${packages[0] ?? ''}`;
  for (let attempt = 0; ; attempt++) {
    const outcome = await aptGet(workspace, ['--download-only', 'install', ...packages], options);
    if (outcome.code !== 0) {
      const error = aptError(workspace.mirror, what, outcome);
      // Damage in a partial file shows only at its end, when the file is removed: a second attempt is complete.
      if (error.reason === 'untrusted' && attempt === 0) continue;
      throw error;
    }
    // apt accepts an existing file of the right size without checking it.
    const wrong = await dropWrong(workspace.archives, plan);
    if (wrong.length === 0) return;
    if (attempt > 0) {
      throw new ProvisionError(
        'untrusted',
        `${what}: ${wrong[0] ?? ''} from ${workspace.mirror} is not the file its signed index names`,
      );
    }
  }
}

/** Downloads one package file with the machine's own sources and keys into `folder`; resolves with its path. */
export async function downloadOwn(workspace: Workspace, name: string, signal?: AbortSignal): Promise<string> {
  await updateIndex(workspace, signal);
  const outcome = await aptGet(workspace, ['download', name], { signal });
  const file = (await fs.readdir(workspace.folder)).find(
    (f) => f.startsWith(`${name}_`) && f.endsWith('.deb'),
  );
  if (outcome.code !== 0 || file === undefined) {
    throw aptError(workspace.mirror, `${name} cannot be had`, outcome);
  }
  return path.join(workspace.folder, file);
}
