/** A company for one file of scenarios: people with known secrets, so that phones register without signing in. */
import path from 'node:path';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import { PARKING } from '../../src/features/pbx-config/demo.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import type { ConfigInput, Objects } from '../../src/features/pbx-config/put.ts';
import { HOUSE, seed } from '../../src/features/pbx-config/seed.ts';
import { migrations } from '../../src/features/pbx-config/tables.ts';
import type { Store } from '../../src/ports/store.ts';
import type { Phone } from './phone.ts';
import { registerAt } from './site.ts';
import type { Site } from './site.ts';

export interface CompanyQueue extends Partial<Omit<ConfigInput<'queue'>, 'members'>> {
  readonly number: string;
  /** Static members, who need not log in. */
  readonly agents: readonly string[];
}
export interface Company {
  /** Extensions besides 1001, the administrator, who takes part in no call. */
  readonly people: readonly string[];
  readonly mailboxes?: readonly string[];
  /** Extensions whose desk phones must encrypt media. */
  readonly encrypted?: readonly string[];
  readonly queues?: readonly CompanyQueue[];
  readonly parking_seconds?: number;
  /** Engines of extensions that are homed at another one than that of the leading node. */
  readonly homes?: Readonly<Record<string, string>>;
  /** Further objects. */
  readonly objects?: Objects;
}
/** All extensions of a range. */
export const extensions = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, i) => String(first + i));

/** Secret of every phone of the company. */
export const SECRET = 'a-secret-of-24-letters-0';

/** Writes the company into the database of a site that has not started yet. */
export const prepareCompany =
  (company: Company) =>
  async (dataDir: string): Promise<void> => {
    const {
      people,
      mailboxes = [],
      encrypted = [],
      queues = [],
      parking_seconds = 120,
      homes = {},
    } = company;
    const store = await openSqliteStore(path.join(dataDir, 'offhook.db'));
    await store.migrate('pbx-config', migrations);
    await putObjects(store, {
      ...HOUSE,
      parking_lot: [{ ...PARKING, timeout_seconds: parking_seconds }],
      extension: ['1001', ...people].map((extension, i) => ({
        extension,
        username: `p${extension}`,
        name: `Person ${extension}`,
        department: 'All',
        pickup_group: 'all',
        level: i === 0 ? 'admin' : 'agent',
        sip_password: SECRET,
        srtp: encrypted.includes(extension) ? 'required' : 'off',
        voicemail: mailboxes.includes(extension),
        voicemail_pin: '471100',
        engine: homes[extension] ?? null,
      })),
      queue: queues.map(({ agents, ...queue }) => ({
        name: `q${queue.number}`,
        title: `Queue ${queue.number}`,
        max_wait_seconds: 600,
        ...queue,
        members: agents.map((extension) => ({ extension, static: true })),
      })),
      ...company.objects,
    });
    await store.close();
  };

/** The demo company, with additions by `configure`, e.g. trunks. */
export const prepareDemo =
  (configure: (store: Store) => Promise<void>) =>
  async (dataDir: string): Promise<void> => {
    const store = await openSqliteStore(path.join(dataDir, 'offhook.db'));
    await store.migrate('pbx-config', migrations);
    await seed(store, { empty: false });
    await configure(store);
    await store.close();
  };

/** A desk phone of the company, known to the service. */
export const phoneOf = (site: Site, extension: string): Promise<Phone> => registerAt(site, extension, SECRET);
