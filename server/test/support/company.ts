/** A company made for one file of scenarios: people with known secrets, so that a phone needs no sign-in of its person. */
import path from 'node:path';
import type { Insertable } from 'kysely';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import { DEMO_REASONS, SERVICES } from '../../src/features/pbx-config/demo.ts';
import { seed } from '../../src/features/pbx-config/seed.ts';
import { migrations } from '../../src/features/pbx-config/tables.ts';
import { putInboundRoute, putOutboundRoute, putTrunk } from '../../src/features/pbx-config/trunks.ts';
import type { QueueRow, Tables } from '../../src/features/pbx-config/tables.ts';
import type { Store } from '../../src/ports/store.ts';
import { registerPhone } from './phone.ts';
import type { Phone } from './phone.ts';
import type { Site } from './site.ts';

export interface CompanyQueue extends Partial<Omit<Insertable<QueueRow>, 'id'>> {
  readonly number: string;
  /** Members by configuration, who need not log in. */
  readonly agents: readonly string[];
}
export interface Company {
  /** Extensions besides 1001, who is the administrator and has no part in the calls. */
  readonly people: readonly string[];
  readonly mailboxes?: readonly string[];
  readonly queues?: readonly CompanyQueue[];
  readonly parking_seconds?: number;
  readonly trunks?: readonly Parameters<typeof putTrunk>[1][];
  readonly inbound?: readonly Parameters<typeof putInboundRoute>[1][];
  readonly outbound?: readonly Parameters<typeof putOutboundRoute>[1][];
}
/** All extensions from one to another. */
export const extensions = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, i) => String(first + i));

const SECRET = 'a-secret-of-24-letters-0';

/** Writes it into the database of a site that has not started yet. */
export const prepareCompany =
  (company: Company) =>
  async (dataDir: string): Promise<void> => {
    const { people, mailboxes = [], queues = [], parking_seconds = 120 } = company;
    const store = await openSqliteStore(path.join(dataDir, 'offhook.db'));
    await store.migrate('pbx-config', migrations);
    await store.transaction<Tables, void>(async (trx) => {
      const all = ['1001', ...people];
      for (const [i, extension] of all.entries()) {
        const id = i + 1;
        await trx
          .insertInto('people')
          .values({
            id,
            extension,
            username: `p${extension}`,
            name: `Person ${extension}`,
            email: null,
            mobile: null,
            department: 'All',
            level: i === 0 ? 'admin' : 'agent',
            active: 1,
            sip_password: SECRET,
            voicemail: mailboxes.includes(extension) ? 1 : 0,
            voicemail_pin: '471100',
          })
          .execute();
        for (const [kind, suffix] of [
          ['sip', ''],
          ['webrtc', '-web'],
          ['mobile', '-mobile'],
        ] as const)
          await trx
            .insertInto('endpoints')
            .values({ name: extension + suffix, person_id: id, kind })
            .execute();
      }
      for (const [i, { agents, ...queue }] of queues.entries()) {
        const id = i + 1;
        const row = { name: `q${queue.number}`, title: '', strategy: 'ringall', ...queue } as const;
        await trx
          .insertInto('queues')
          .values({ ring_seconds: 15, wrap_up_seconds: 0, max_wait_seconds: 600, ...row, id })
          .execute();
        for (const agent of agents)
          await trx
            .insertInto('queue_agents')
            .values({ queue_id: id, person_id: all.indexOf(agent) + 1, static: 1 })
            .execute();
      }
      await trx
        .insertInto('pause_reasons')
        .values(
          DEMO_REASONS.map((reason, position) => ({
            ...reason,
            position,
            paid: Number(reason.paid),
            supervisor_only: Number(reason.supervisor_only),
          })),
        )
        .execute();
      await trx
        .insertInto('services')
        .values([...SERVICES])
        .execute();
      const parking = { number: '700', first_slot: 701, last_slot: 720, timeout_seconds: parking_seconds };
      await trx
        .insertInto('pbx_settings')
        .values({ key: 'parking', value: JSON.stringify(parking) })
        .execute();
    });
    for (const trunk of company.trunks ?? []) await putTrunk(store, trunk);
    for (const route of company.inbound ?? []) await putInboundRoute(store, route);
    for (const route of company.outbound ?? []) await putOutboundRoute(store, route);
    await store.close();
  };

/** The demo company, and what `configure` puts into its store besides: trunks, for instance. */
export const prepareDemo =
  (configure: (store: Store) => Promise<void>) =>
  async (dataDir: string): Promise<void> => {
    const store = await openSqliteStore(path.join(dataDir, 'offhook.db'));
    await store.migrate('pbx-config', migrations);
    await seed(store, { empty: false });
    await configure(store);
    await store.close();
  };

/** A desk phone of one of them. */
export const phoneOf = (site: Site, extension: string): Promise<Phone> =>
  registerPhone({ server: site.sip, extension, password: SECRET });
