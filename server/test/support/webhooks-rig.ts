import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { openMemoryJournal } from '../../src/adapters/memory/journal-store.ts';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { silent } from '../../src/core/log.ts';
import { createWebhooks } from '../../src/features/webhooks/feature.ts';
import type { Webhooks, WebhooksOptions } from '../../src/features/webhooks/feature.ts';
import { createOwners } from '../../src/features/webhooks/subscription.ts';
import { createAudit } from '../../src/features/audit/service.ts';
import { openJournal } from '../../src/journal/journal.ts';
import type { Actor } from '../../src/ports/operations.ts';
import type { KeyRights } from '../../src/rights/rights.ts';
import { temporaryStore } from '../conformance/store-temp.ts';
import { directoryFixture } from './directory-fixture.ts';
import { until } from './until.ts';

const who = { session_id: 1, expires_at: 0, cookie: false };
export const admin: Actor = {
  caller: { ...who, person_id: 1, extension: '1001', username: 'ada', level: 'admin', key: null },
  ip: '192.0.2.7',
};
/** The actor of an API key, as its authenticator returns it. */
export const keyActor = (key: KeyRights): Actor => ({
  caller: {
    ...who,
    session_id: 0,
    person_id: -key.id,
    extension: '',
    username: `key:${key.name}`,
    level: 'supervisor',
    key,
  },
  ip: null,
});

export const presence = (extension: string, note = ''): DomainEvent =>
  ({
    type: 'presence.changed',
    subject: `extensions/${extension}`,
    at: Date.UTC(2026, 10, 21, 9),
    observed: 'live',
    data: { extension, note },
  }) as unknown as DomainEvent;
export const queueEvent = (queue: string): DomainEvent =>
  ({
    type: 'queue.caller_joined',
    subject: `queues/${queue}`,
    at: Date.UTC(2026, 10, 21, 9),
    observed: 'live',
    data: { queue },
  }) as unknown as DomainEvent;

/** Webhooks over a journal in memory, a database of their own, the virtual clock and real connections to the loopback. */
export async function webhooksRig(t: TestContext, more: Partial<WebhooksOptions> = {}) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  let journalStore = openMemoryJournal();
  let journal = openJournal({ store: journalStore, node: nodeId('ast1') });
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const keys = new Map<number, KeyRights>();
  /** False after a crash: later writes of the dead service are lost. */
  let life = { writes: true };
  const open = (options: Partial<WebhooksOptions> = {}): Promise<Webhooks> => {
    const own = (life = { writes: true });
    return createWebhooks({
      store: {
        ...temp.store,
        transaction: (work) =>
          own.writes ? temp.store.transaction(work) : Promise.reject(new Error('this life is over')),
      },
      journal,
      clock,
      audit,
      log: silent,
      owner: createOwners(directory, (id) => keys.get(id) ?? null),
      allow: ['127.0.0.1'],
      version: '0.0.0-test',
      source: '/offhook/ast1',
      chance: () => 0.5,
      // The machine's resolver is not used: every name has a public address.
      resolve: () => Promise.resolve([{ address: '93.184.216.34', family: 4 }]),
      ...more,
      ...options,
    });
  };
  let webhooks = await open();
  t.after(async () => {
    await webhooks.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  return {
    clock,
    get journal() {
      return journal;
    },
    get journalStore() {
      return journalStore;
    },
    /** The same journal after a restart, without its memory. */
    reopenJournal: () => (journal = openJournal({ store: journalStore, node: nodeId('ast1') })),
    newJournal() {
      journalStore = openMemoryJournal();
      return this.reopenJournal();
    },
    /** `writes` false: the database rejects writes of the running service. */
    get life() {
      return life;
    },
    directory,
    audit,
    keys,
    temp,
    get webhooks() {
      return webhooks;
    },
    /** Restarts; with `crash`, unwritten data is lost. */
    async restart(options: Partial<WebhooksOptions> & { crash?: boolean } = {}) {
      const { crash = false, ...rest } = options;
      if (crash) life.writes = false;
      await webhooks.close();
      webhooks = await open(rest);
    },
    /** Commits `n` events for webhooks on `presence`. */
    happen(n: number, extension = '1003'): void {
      for (let i = 0; i < n; i += 1) journal.append([presence(extension, `note ${i}`)]);
    },
    create: (fields: object) =>
      webhooks.service.create(admin, {
        url: 'http://127.0.0.1:9/',
        topics: ['presence'],
        types: null,
        enabled: true,
        description: '',
        ...fields,
      }),
    one: (id: number) => webhooks.service.one(admin.caller, id),
    deliveries: async (id: number) =>
      (await webhooks.service.deliveries(admin.caller, id, { limit: 200 })).deliveries,
    /** Advances the clock in steps; every attempt of a step ends before the next step. */
    async pass(ms: number, settled: () => boolean, step = 1_000): Promise<void> {
      for (let gone = 0; gone < ms; gone += step) {
        await clock.advance(Math.min(step, ms - gone));
        await until('attempts to end', settled, { every: 1 });
      }
    },
  };
}
export type WebhooksRig = Awaited<ReturnType<typeof webhooksRig>>;
