import fs from 'node:fs/promises';
import path from 'node:path';
import { ProvisionError } from './error.ts';
import { run } from './run.ts';

/** Facts of this machine that downloading Debian packages depends on. */
export interface Machine {
  /** Debian's name of the processor, e.g. `amd64`. */
  readonly arch: string;
  /** The folder of its libraries, e.g. `x86_64-linux-gnu`. */
  readonly triplet: string;
  /** Debian's archive keys trusted by the machine itself, best first. */
  readonly keyrings: readonly string[];
  /** The machine's own sources of Debian, in their order; empty on another distribution. */
  readonly mirrors: readonly string[];
  /** Sources of the machine for Debian's security updates. */
  readonly security: readonly string[];
  /** Lines of the machine’s own apt configuration on how to reach a mirror (proxy, address family, time limits). */
  readonly aptLines: readonly string[];
}

const ARCHES: Readonly<Record<string, { arch: string; triplet: string }>> = {
  x64: { arch: 'amd64', triplet: 'x86_64-linux-gnu' },
  arm64: { arch: 'arm64', triplet: 'aarch64-linux-gnu' },
};
const KEYRINGS = ['debian-archive-keyring.pgp', 'debian-archive-keyring.gpg'];
/**
 * Settings that are copied: how to reach a mirror, and whether its dates are checked, which only a machine with its own archive
 * switches off. Settings that weaken apt's signature checks are not in this list.
 */
const TAKEN =
  /^Acquire::(?:https?(?:$|::)|ForceIPv[46]$|Retries$|Check-Date$|Check-Valid-Until$|Max-FutureTime$|Send-URI-Encoded$)/i;

const textOf = (file: string): Promise<string> => fs.readFile(file, 'utf8').catch(() => '');

/** `key=value` lines of an os-release file. */
export function parseOsRelease(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const m = /^([A-Z_]+)=(?:"([^"]*)"|'([^']*)'|(.*))$/.exec(line.trim());
    if (m) fields.set(m[1]!, m[2] ?? m[3] ?? m[4] ?? '');
  }
  return fields;
}

type Kind = 'main' | 'security';
const usable = (uri: string, suites: readonly string[], components: readonly string[], kind: Kind): boolean =>
  /^https?:\/\/[^\s"]+$/.test(uri) &&
  /security/.test(uri) === (kind === 'security') &&
  components.includes('main') &&
  // A suite with a slash at its end is a flat repository, never Debian's own.
  suites.some((suite) => (kind === 'security' ? /^[a-z]+-security$/ : /^[a-z]+$/).test(suite));

/** Debian's addresses in a one-line `sources.list`. */
export function mirrorsOfList(text: string, kind: Kind = 'main'): string[] {
  return text.split('\n').flatMap((line) => {
    const [type, ...words] = line.split('#', 1)[0]!.trim().split(/\s+/);
    // Options precede the address in brackets.
    const start = words[0]?.startsWith('[') === true ? words.findIndex((word) => word.endsWith(']')) + 1 : 0;
    const [uri = '', suite = '', ...components] = words.slice(start);
    return type === 'deb' && usable(uri, [suite], components, kind) ? [uri.replace(/\/+$/, '')] : [];
  });
}

/** Debian's addresses in a deb822 `*.sources` file. */
export function mirrorsOfSources(text: string, kind: Kind = 'main'): string[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const fields = new Map<string, string[]>();
    let key = '';
    for (const line of stanza.split('\n').filter((l) => !l.startsWith('#'))) {
      const m = /^([A-Za-z-]+):\s*(.*)$/.exec(line);
      if (m) key = m[1]!.toLowerCase();
      const words = (m ? m[2]! : line).trim().split(/\s+/).filter(Boolean);
      fields.set(key, [...(fields.get(key) ?? []), ...words]);
    }
    const of = (name: string): string[] => fields.get(name) ?? [];
    if (of('enabled')[0] === 'no' || !of('types').includes('deb')) return [];
    return of('uris')
      .filter((uri) => usable(uri, of('suites'), of('components'), kind))
      .map((uri) => uri.replace(/\/+$/, ''));
  });
}

async function readMirrors(etcApt: string, kind: Kind): Promise<string[]> {
  const parts = path.join(etcApt, 'sources.list.d');
  const names = (await fs.readdir(parts).catch(() => [])).toSorted((a, b) => (a < b ? -1 : 1));
  const found = mirrorsOfList(await textOf(path.join(etcApt, 'sources.list')), kind);
  for (const name of names) {
    const text = await textOf(path.join(parts, name));
    if (name.endsWith('.list')) found.push(...mirrorsOfList(text, kind));
    if (name.endsWith('.sources')) found.push(...mirrorsOfSources(text, kind));
  }
  return [...new Set(found)].filter((uri) => /debian/i.test(uri));
}

/** Lines of `apt-config dump` on how to reach a mirror. */
export function acquireLines(dump: string): string[] {
  return dump.split('\n').filter((line) => {
    const m = /^(\S+) "([^"\\]*)";$/.exec(line);
    return m !== null && m[2] !== '' && TAKEN.test(m[1]!);
  });
}

/**
 * Reads the facts of this machine (`osRelease` is the text of its os-release where known). Errors: ProvisionError `unsupported`
 * where Debian's packages are not available or would not run.
 */
export async function readMachine(signal?: AbortSignal, osRelease?: string): Promise<Machine> {
  const machine = ARCHES[process.arch];
  const text = osRelease ?? ((await textOf('/etc/os-release')) || (await textOf('/usr/lib/os-release')));
  const os = parseOsRelease(text);
  const id = os.get('ID') ?? process.platform;
  const family = [id, ...(os.get('ID_LIKE') ?? '').split(/\s+/)];
  const name = os.get('PRETTY_NAME') ?? process.platform;
  if (process.platform !== 'linux' || !(family.includes('debian') || family.includes('ubuntu'))) {
    throw new ProvisionError('unsupported', `this machine (${name}) is neither Debian nor Ubuntu`);
  }
  if (machine === undefined) {
    throw new ProvisionError('unsupported', `there is no engine package for a ${process.arch} processor`);
  }
  const options = { timeout_ms: 10_000, ...(signal ? { signal } : {}) };
  const dump = await run(['apt-config', 'dump'], options).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ProvisionError('unsupported', 'apt-get is not on the PATH of this machine', error);
  });
  const rings = KEYRINGS.map((ring) => path.join('/usr/share/keyrings', ring));
  const present = await Promise.all(
    rings.map((ring) =>
      fs.access(ring, fs.constants.R_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return {
    ...machine,
    keyrings: rings.filter((_, i) => present[i]),
    mirrors: id === 'debian' ? await readMirrors('/etc/apt', 'main') : [],
    security: id === 'debian' ? await readMirrors('/etc/apt', 'security') : [],
    aptLines: acquireLines(dump.stdout),
  };
}
