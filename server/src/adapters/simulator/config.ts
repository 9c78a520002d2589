/** The simulated engine's configuration: one file that holds the site, in memory. */
import { createHash } from 'node:crypto';
import type { EngineConfig, EngineFiles } from '../../ports/engine-config.ts';
import type { Site } from '../../ports/site.ts';

const FILE = 'site.json';
const hash = (text: string | undefined): string | null =>
  text === undefined ? null : createHash('sha256').update(text).digest('hex');
const SECRETS = new Set(['sip_password', 'voicemail_pin', 'pin', 'password']);

export interface SimulatedConfig extends EngineConfig {
  /** The site as it was written last; null before the first time. */
  site(): Site | null;
}
/** `load` receives each site that the engine reads. */
export function createConfig(load: (site: Site) => void): SimulatedConfig {
  const files = new Map<string, string>();
  const backups = new Map<string, string>();
  const site = (): Site | null => {
    const text = files.get(FILE);
    return text === undefined ? null : (JSON.parse(text) as Site);
  };
  const stateOf = (name: string) => ({ name, hash: hash(files.get(name)) });
  return {
    ready: true,
    site,
    render: (wanted): EngineFiles => new Map([[FILE, `${JSON.stringify(wanted, null, 1)}\n`]]),
    onDisk: (names) => Promise.resolve([...names].toSorted().map(stateOf)),
    handWritten: () => Promise.resolve([]),
    read: (name, backup = false) => Promise.resolve((backup ? backups : files).get(name) ?? null),
    certify: () => Promise.resolve(),
    prepare: () => Promise.resolve({ problems: [], notices: [] }),
    prove: () => Promise.resolve({ problems: [] }),
    write(wanted) {
      const changed = [...wanted].filter(([name, text]) => files.get(name) !== text);
      for (const [name, text] of changed) {
        const before = files.get(name);
        if (before !== undefined) backups.set(name, before);
        files.set(name, text);
      }
      return Promise.resolve(changed.map(([name]) => name));
    },
    reload() {
      const now = site();
      if (now !== null) load(now);
      return Promise.resolve();
    },
    verify: () => Promise.resolve([]),
    hidden: (_name, text) =>
      JSON.stringify(
        JSON.parse(text),
        (key, value: unknown) => (SECRETS.has(key) && typeof value === 'string' ? hash(value) : value),
        1,
      ),
    needsRestart: () => [],
  };
}
