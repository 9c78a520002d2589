/** Checks of readiness and gauges of the service. */
import { Reachability } from '@offhook/contract/extensions.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { rfc3339 } from '../core/clock.ts';
import { descriptors, enough } from '../core/descriptors.ts';
import type { Connectors } from '../features/connectors/feature.ts';
import type { createDirectory } from '../features/pbx-config/directory.ts';
import type { PathChecks } from '../features/path-check/service.ts';
import type { PhonebookSourceService } from '../features/phonebook/sync/service.ts';
import type { Push } from '../features/push/service.ts';
import type { CallControlFeature } from '../features/calls/feature.ts';
import type { History } from '../features/history/feature.ts';
import { certificateCheck } from './certificate-check.ts';
import type { Config } from './config.ts';
import { exposures } from './exposure.ts';
import type { ExternalAddress } from '../features/reachability/service.ts';
import type { TrunkProxy } from '../features/reachability/trunk-proxy.ts';
import type { TrunkServerLookup } from '../features/reachability/trunk-servers.ts';
import { REFUSAL_REASONS } from '../features/sip-security/service.ts';
import type { SipSecurity } from '../features/sip-security/service.ts';
import { trunkTroubles } from '../features/trunks/service.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import { emergencyNumbersOf } from '../numbers/emergency.ts';
import { outboundFinder, outboundOrder } from '../routing/routes.ts';
import type { EngineLoop, JournalLag } from '../journal/engine-loop.ts';
import type { Journal } from '../journal/journal.ts';
import type { Renewal } from '../ports/certificates.ts';
import type { Clock } from '../ports/clock.ts';
import type { LdapServer } from '../features/ldap/server.ts';
import { PACKAGES_OLD_MS } from '../ports/engine-site.ts';
import type { EngineWatch, Exchange, Finding } from '../ports/engine-site.ts';
import type { Firewall } from '../ports/firewall.ts';
import type { Engine } from '../ports/engine.ts';
import type { LiveView } from '../ports/live.ts';
import type { Store } from '../ports/store.ts';
import type { LostEventNotes } from './lost-events.ts';
import type { StoreGaps } from './store-gaps.ts';

/** Rejected SIP requests per minute from which the check reports an attack. */
const MANY_REFUSALS = 100;
/** Free bytes below which the disk counts as full. */
export const DISK_FLOOR_BYTES = 64 * 1024 * 1024;

export interface Watched {
  readonly directory: Pick<ReturnType<typeof createDirectory>, 'config'>;
  readonly config: Config;
  readonly engine: Engine;
  readonly live: LiveView;
  readonly exchange: Exchange;
  readonly renewal: Renewal | null;
  readonly watch: EngineWatch;
  readonly sipSecurity: SipSecurity;
  readonly firewall: Firewall | null;
  readonly loop: EngineLoop;
  readonly journal: Journal;
  readonly store: Store;
  readonly storeGaps: Pick<StoreGaps, 'check'>;
  readonly lostEvents: Pick<LostEventNotes, 'trouble'>;
  readonly records: Store;
  readonly history: Pick<History, 'proof'>;
  readonly calls: CallControlFeature;
  readonly connectors: Pick<Connectors, 'troubles'>;
  readonly phonebookSources: Pick<PhonebookSourceService, 'troubles'>;
  readonly externalAddress: Pick<ExternalAddress, 'finding'>;
  readonly trunkProxy: Pick<TrunkProxy, 'finding'>;
  readonly trunkServers: Pick<TrunkServerLookup, 'finding'>;
  readonly pathChecks: Pick<PathChecks, 'finding'>;
  readonly ldap: Pick<LdapServer, 'finding'>;
  readonly push: Pick<Push, 'finding'>;
  readonly clock: Clock;
}
function engineChecks({
  directory,
  engine,
  live,
  exchange,
  watch,
  sipSecurity,
  firewall,
  externalAddress,
  trunkProxy,
  trunkServers,
  ldap,
  renewal,
  clock,
}: Watched): readonly Check[] {
  return [
    {
      name: 'engine',
      run: async () => {
        const { link, reason, version } = engine.status();
        const ok = live.live && link === 'up';
        return {
          ok,
          detail: ok ? `up, ${version ?? 'version unknown'}` : `${link}: ${reason || exchange.state()}`,
        };
      },
    },
    // Web phones work without the address of desk phones, so the service stays ready.
    ...watch.checks.map((name) => ({
      name,
      needed: () => name !== 'sip' || exchange.deskPhones(),
      run: async () =>
        name === 'sip' && !exchange.deskPhones()
          ? { ok: false, detail: 'another program uses the address for desk phones' }
          : watch.finding(name),
    })),
    {
      name: 'sip_refusals',
      needed: false,
      run: async () => {
        const { requests, addresses } = sipSecurity.lastMinute();
        return { ok: requests < MANY_REFUSALS, detail: `${requests} in the last minute from ${addresses}` };
      },
    },
    {
      name: 'firewall',
      needed: false,
      run: () => {
        const state = firewall?.state();
        if (state === undefined) return Promise.resolve({ ok: true, detail: 'none is used' });
        const ok = state.state === 'active';
        const detail = ok ? `nftables: ${state.networks} networks` : `nftables: ${state.detail}`;
        return Promise.resolve({ ok, detail });
      },
    },
    certificateCheck(() => exchange.certificate(), clock),
    {
      name: 'engines',
      needed: false,
      run: async () => enginesFinding({ directory, engine }),
    },
    { name: 'ldap', needed: false, run: () => Promise.resolve(ldap.finding()) },
    { name: 'external_address', needed: false, run: () => Promise.resolve(externalAddress.finding()) },
    { name: 'sip_proxies', needed: false, run: () => Promise.resolve(trunkProxy.finding()) },
    { name: 'trunk_servers', needed: false, run: () => Promise.resolve(trunkServers.finding()) },
    {
      name: 'certificate_renewal',
      needed: false,
      run: async () => {
        if (renewal === null) return { ok: true, detail: 'no ACME server is used' };
        const { due_at, failed } = renewal.state();
        if (failed !== null)
          return {
            ok: false,
            detail: `acme_failed: ${failed.detail}; next try at ${rfc3339(failed.next_try_at)}`,
          };
        const detail = due_at === null ? 'the first order is under way' : `next order at ${rfc3339(due_at)}`;
        return { ok: true, detail };
      },
    },
    {
      name: 'turn',
      needed: false,
      run: () => Promise.resolve(exchange.turn() ?? { ok: true, detail: 'none is used' }),
    },
    {
      name: 'engine_packages',
      needed: false,
      run: async () => {
        const origin = exchange.origin();
        const age = await exchange.packageAge();
        if (origin === null) return { ok: true, detail: 'not known yet' };
        if (age === null) return { ok: true, detail: `of this machine: ${origin}` };
        const days = Math.max(0, Math.floor((clock.now() - age.as_of) / 86_400_000));
        const more = age.waiting
          ? ', newer ones wait for its next start'
          : age.refused === null
            ? ''
            : `, newer ones did not start: ${age.refused}`;
        const ok = days * 86_400_000 < PACKAGES_OLD_MS && age.refused === null;
        return {
          ok,
          detail: `${days} days old, of ${new Date(age.as_of).toISOString().slice(0, 10)}${more}`,
        };
      },
    },
  ];
}
/** Other engines of the site: the service follows each of them, and each can send calls to all others. */
export function enginesFinding({
  directory,
  engine,
}: {
  readonly directory: { config(): { readonly engines: readonly { readonly node: string }[] } };
  readonly engine: Pick<Engine, 'node' | 'status'>;
}): Finding {
  const others = directory.config().engines.map(({ node }) => node);
  if (others.length === 0) return { ok: true, detail: '' };
  const all = [engine.node, ...others];
  const troubles = all.flatMap((node) => {
    const { link, reason, unreached = [] } = engine.status(nodeId(node));
    if (link !== 'up') return node === engine.node ? [] : [`${node} is not followed: ${reason || link}`];
    // The engine may still list one that the configuration does not have any more.
    return unreached
      .filter((other) => all.includes(other))
      .map((other) => `calls from ${node} do not reach ${other}`);
  });
  return { ok: troubles.length === 0, detail: troubles.join('; ') };
}
/** With the node at a site with several engines. */
export const gapText = (
  { from, to, node }: { readonly from: string; readonly to: string; readonly node?: string | undefined },
  named: boolean,
): string => `${from} to ${to}${named && node !== undefined ? ` at ${node}` : ''}`;
function storeChecks({
  config,
  directory,
  loop,
  lostEvents,
  storeGaps,
  records,
  history,
}: Watched): readonly Check[] {
  const follows = ({ error, oldest_ms }: JournalLag): boolean => error === null && oldest_ms < 5_000;
  return [
    {
      name: 'journal',
      // After a loss of events the service is ready again as soon as the journal accepts writes.
      needed: () => !follows(loop.lag()),
      run: async () => {
        const lag = loop.lag();
        const trouble = lostEvents.trouble();
        const detail = JSON.stringify(lag);
        return trouble === null
          ? { ok: follows(lag), detail }
          : { ok: false, detail: `${trouble}; ${detail}` };
      },
    },
    storeGaps.check,
    {
      name: 'records',
      needed: false,
      run: async () => {
        await records
          .db()
          .selectNoFrom((e) => e.lit(1).as('one'))
          .execute();
        return { ok: true, detail: config.databaseUrl === null ? 'SQLite' : 'PostgreSQL' };
      },
    },
    {
      name: 'history',
      needed: false,
      run: async () => {
        const { gaps, differences, newest_gap } = await history.proof.figures();
        if (gaps + differences === 0) return { ok: true, detail: 'call records and journal agree' };
        const newest =
          newest_gap === null
            ? ''
            : `, the newest ${gapText(newest_gap, directory.config().engines.length > 0)}`;
        const detail = `in the last day: ${differences} conversations differ, ${gaps} gaps${newest}`;
        return { ok: false, detail };
      },
    },
  ];
}
function machineChecks({ config, pathChecks, store }: Watched): readonly Check[] {
  return [
    {
      name: 'descriptors',
      run: async () => {
        const open = descriptors();
        if (open === null) return { ok: true, detail: 'not known here' };
        return { ok: enough(open), detail: `${open.used} of ${open.limit} file descriptors` };
      },
    },
    { name: 'doctor', needed: false, run: () => pathChecks.finding() },
    {
      name: 'disk',
      run: async () => {
        const free = await store.freeBytes();
        return { ok: free > DISK_FLOOR_BYTES, detail: `${Math.floor(free / 1_048_576)} MiB free` };
      },
    },
    {
      name: 'exposure',
      needed: false,
      run: () => {
        const found = exposures(config);
        return Promise.resolve({ ok: found.length === 0, detail: found.join('; ') });
      },
    },
  ];
}
export const checksOf = (watched: Watched): readonly Check[] => [
  ...engineChecks(watched),
  ...storeChecks(watched),
  {
    name: 'emergency_calls',
    needed: false,
    run: () => {
      const { outbound_routes, trunks } = watched.directory.config();
      const find = outboundFinder(outboundOrder(outbound_routes));
      const missing = emergencyNumbersOf(watched.config.siteCountry).filter(
        (number) => find(number)?.class !== 'emergency',
      );
      const ok = trunks.length === 0 || missing.length === 0;
      const detail = ok ? '' : `no outbound route of class emergency for ${missing.join(', ')}`;
      return Promise.resolve({ ok, detail });
    },
  },
  {
    name: 'trunks',
    needed: false,
    run: () => {
      const { directory, live } = watched;
      const troubles = trunkTroubles({ trunks: () => directory.config().trunks, live });
      return Promise.resolve({ ok: troubles.length === 0, detail: troubles.join('; ') });
    },
  },
  {
    name: 'connectors',
    needed: false,
    run: () => {
      const troubles = [...watched.connectors.troubles(), ...watched.phonebookSources.troubles()];
      return Promise.resolve({ ok: troubles.length === 0, detail: troubles.join('; ') });
    },
  },
  { name: 'push', needed: false, run: () => Promise.resolve(watched.push.finding()) },
  ...machineChecks(watched),
];
export function addGauges(
  metrics: Metrics,
  { directory, engine, live, loop, journal, calls, history, watch, sipSecurity }: Watched,
): void {
  for (const name of watch.checks)
    metrics.gauge(`offhook_engine_${name}_ok`, `Whether the check ${name} of the engine holds.`, () =>
      Number(watch.finding(name).ok),
    );
  for (const reason of REFUSAL_REASONS)
    metrics.gauge(
      `offhook_sip_refused_${reason}`,
      `Requests over SIP that the engine refused: ${reason}.`,
      () => sipSecurity.totals[reason],
    );
  metrics.gauge(
    'offhook_engine_tasks_waiting',
    "Tasks that wait in the engine's fullest queue.",
    () => watch.waitingTasks,
  );
  metrics.gauge('offhook_engine_up', 'Whether the engine link is up.', () => Number(live.live));
  metrics.gauge('offhook_calls_refused', 'Calls from the API that the guard refused.', () =>
    Object.values(calls.guard.refusals()).reduce((sum, n) => sum + n, 0),
  );
  metrics.gauge('offhook_journal_head', 'Newest committed seq.', () => journal.head);
  metrics.gauge('offhook_journal_held', 'Events that are not committed yet.', () => loop.lag().held);
  metrics.gauge(
    'offhook_journal_dropped',
    'Events of the engine that were dropped since the start because the journal rejected writes; a snapshot replaced them.',
    () => loop.lag().dropped,
  );
  metrics.gauge(
    'offhook_journal_lost',
    'Other events that were lost since the start because the journal rejected writes.',
    () => loop.lag().lost,
  );
  metrics.gauge('offhook_calls', 'Calls in progress.', () => live.calls().length);
  metrics.gaugeBy(
    'offhook_extensions',
    'Extensions by the reachability of their devices.',
    'reachability',
    () => {
      const counts = new Map(Reachability.options.map((word) => [word, 0]));
      for (const { person } of directory.config().people) {
        if (!person.active) continue;
        const reachability = (live.live && live.extension(person.extension)?.reachability) || 'unknown';
        counts.set(reachability, (counts.get(reachability) ?? 0) + 1);
      }
      return counts;
    },
  );
  metrics.gauge(
    'offhook_history_completed',
    'Conversations completed from the journal since the start.',
    () => history.proof.completed(),
  );

  for (const name of [
    'frames',
    'unknown',
    'malformed',
    'oversize',
    'drift',
    'reconnects',
    'pending_actions',
  ] as const) {
    metrics.gauge(`offhook_engine_${name}`, `Engine link: ${name}.`, () => engine.status().counters[name]);
  }
}
