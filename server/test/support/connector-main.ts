/**
 * Connectors in a process that can be killed, until every entry is stored: `connector-main.ts <store> <address of the
 * CRM> <conversations>`.
 */
import { silent } from '../../src/core/log.ts';
import { createAudit } from '../../src/features/audit/service.ts';
import { createConnectors } from '../../src/features/connectors/feature.ts';
import { createGuard } from '../../src/outbound/address-guard.ts';
import { memoryAudio, memoryFeed } from './connectors-rig.ts';
import { crmFile } from './crm.ts';
import { directoryFixture } from './directory-fixture.ts';
import { openTestStore } from './test-store.ts';
import { until } from './until.ts';
import { admin } from './webhooks-rig.ts';

const [file = '', address = '', conversations = ''] = process.argv.slice(2);
/** Twenty times as fast: a lost answer is searched after half a second instead of ten. */
const SPEED = 20;
const began = Date.now();
const clock = {
  now: () => began + (Date.now() - began) * SPEED,
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms / SPEED);
      signal?.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      });
    }),
};
const nothing = (): Promise<void> => Promise.resolve();
const store = await openTestStore(file);
const feed = memoryFeed();
for (const id of conversations.split(' ')) feed.put(id);
const connectors = await createConnectors({
  store,
  clock,
  audit: await createAudit(store, clock, silent),
  log: silent,
  directory: directoryFixture(),
  feed,
  audio: memoryAudio(new Map()),
  verbs: { call: nothing, note: nothing, reject: () => Promise.resolve(false) },
  customers: {
    namesLanguages: () => undefined,
    store: nothing,
    remove: nothing,
    removeAll: nothing,
    removeSome: () => Promise.resolve(null),
  },
  guard: createGuard(['127.0.0.1']),
  folders: { release: '/nowhere', own: '/nowhere' },
  publicUrl: '',
  country: 'DE',
});
await connectors.begin();
if (connectors.service.running.length === 0)
  await connectors.service.create(admin, {
    source: crmFile(),
    settings: { address, token: 'geheim-4711' },
    enabled: true,
    from: new Date(0).toISOString(),
  });
// Ends by itself once every entry is stored.
const { caller } = admin;
await until(
  'every entry to be stored',
  async () => {
    const { entries } = await connectors.service.entries(caller, 1, {});
    return entries.length > 0 && entries.every(({ state }) => state === 'sent');
  },
  // The limit is set by the test that starts this process.
  { ms: 600_000 },
);
await connectors.close();
await store.close();
process.exit(0);
