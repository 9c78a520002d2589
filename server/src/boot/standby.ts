/** An engine node while another one leads the site: its engine runs with the current configuration, and it waits for the lease. */
import path from 'node:path';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { sqliteCopyFile } from '../adapters/sqlite/journal-copy.ts';
import { systemClock } from '../core/clock.ts';
import { StartError, messageOf } from '../core/errors.ts';
import { storedIntents } from '../features/agents/store.ts';
import type { Intent } from '../features/agents/store.ts';
import { followDeletions } from '../features/recordings/disposal.ts';
import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import { StandbyFiles } from '../features/pbx-config/apply/standby.ts';
import { toPbxConfig } from '../features/pbx-config/config.ts';
import { openObjects } from '../features/pbx-config/objects.ts';
import { toSite } from '../features/pbx-config/site.ts';
import type { ObjectTables } from '../features/pbx-config/tables.ts';
import type { Check, HealthOptions } from '../http/health.ts';
import { createMetrics } from '../http/metrics.ts';
import { listenAsStandby } from '../http/standby.ts';
import { CopyFollower } from '../journal/attach.ts';
import { LEASE_SECONDS } from '../journal/lease.ts';
import type { Bus } from '../ports/bus.ts';
import type { Clock } from '../ports/clock.ts';
import type { Common } from '../ports/common.ts';
import type { LogHolder, SiteLog } from '../ports/site-log.ts';
import type { NodeReport, SeenNode, SiteNodes } from '../ports/site-nodes.ts';
import type { Store } from '../ports/store.ts';
import { openAsteriskSite } from './asterisk-site.ts';
import { urlOf } from './banner.ts';
import { busCheck, busGauges, openBus, sleepWoken } from './bus.ts';
import { sipOf } from './home-engines.ts';
import type { Config } from './config.ts';
import { followExports } from './former-exports.ts';
import { AddressCopy } from './contact-addresses.ts';
import { StandbyCalls, drainCheck } from './drain.ts';
import { serveMetrics } from './listen.ts';
import { newerVersion } from './newer-version.ts';
import { followOrdered } from './ordered-certificate.ts';
import { sharedFilesCheck } from './shared-files.ts';
import { holderOf, openSiteDatabase, whenReachable } from './server-site.ts';
import { knownSite } from './site-id.ts';
import { shareKey } from './site-key.ts';
import { openFolder } from './stores.ts';
import { serversNow } from './trunk-lookup.ts';

/** Interval at which this node requests the lease and reports its state. */
const ASK_MS = 1_000;

export interface StandbyOptions {
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Receives whole lines for the terminal. */
  readonly print: (text: string) => void;
}
export const nodeUrlOf = ({ nodeUrl, listen }: Config): string => nodeUrl ?? urlOf(listen, null);

/**
 * Resolves with true once this node holds the lease and is to lead the site, with false at the stop. Throws
 * `StartError` where another running node has the same name.
 */
export async function standBy(options: StandbyOptions): Promise<boolean> {
  const { config, signal } = options;
  const clock = systemClock;
  await using stack = new AsyncDisposableStack();
  const { log } = openFolder(config, stack);
  const say = (line: string): void => options.print(`  ${line}\n`);
  const { siteLog, nodes, store } = openSiteDatabase(config, log, stack);
  const holder = await holderOf(config.data);
  const waiting = { clock, say, signal };
  try {
    const parts: Parts = { ...options, clock, log, say, siteLog, nodes, store, holder };
    const first = await whenReachable(waiting, () => takeAtStart(parts));
    if (first) return true;
    await whenReachable(waiting, () => shareKey(nodes, config.data));
    return await follow(parts, stack);
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
/** A site that was never begun has no holder: the next start begins it. */
async function takeAtStart({ config, holder, nodes, siteLog, store }: Parts): Promise<boolean> {
  if ((await siteLog.state()) === null) return true;
  if ((await newerVersion(store)) !== null) return false;
  const own = (await nodes.list()).find((node) => node.name === config.node && node.holder.id === holder.id);
  return await take(siteLog, holder, own);
}
/** Takes the lease; a node that is being drained takes it only if it already holds the log of the site. */
const take = async (siteLog: SiteLog, holder: LogHolder, own: SeenNode | undefined): Promise<boolean> =>
  (own === undefined || own.drain === null || own.holds) && (await siteLog.take(holder, LEASE_SECONDS)).taken;

interface Parts extends StandbyOptions, Common<'log' | 'store'> {
  readonly clock: Clock;
  readonly say: (line: string) => void;
  readonly siteLog: SiteLog;
  readonly nodes: SiteNodes;
  readonly holder: LogHolder;
}
/** Deletes files of this machine that belong to deleted recordings and exports, unless the nodes share their files. */
function followDeleted(
  { clock, config, log, store }: Parts,
  recordings: string,
  stack: AsyncDisposableStack,
): void {
  if (config.sharedFiles !== null) return;
  stack.use(followDeletions({ store, node: config.node!, folder: recordings, clock, log }));
  stack.use(followExports({ store, data: config.data, clock, log }));
}
async function follow(parts: Parts, stack: AsyncDisposableStack): Promise<boolean> {
  const { clock, config, log, nodes, say, signal, siteLog, store } = parts;
  const engineSite = await openAsteriskSite({ config, log, clock, say });
  const { exchange, folders } = engineSite;
  // The engine of a former leader keeps its calls until they end, but takes no new ones.
  const goOn = await exchange.retire().catch((error: unknown) => {
    log.warn({ error: messageOf(error) }, 'the engine of this node could not be set to refuse new calls');
    return () => Promise.resolve();
  });
  const files = new StandbyFiles({
    engine: exchange.engineConfig,
    log,
    read: () => appliedSite(store, config, signal),
    newest: () => newestVersion(store),
    restart: () => exchange.restartWhenConvenient(),
    running: () => exchange.running(),
    mailboxes: (owners) => engineSite.moveMailboxes(owners),
  });
  const copy = new CopyFollower({ siteLog, open: copyFileOf(parts, store), log });
  const addresses =
    config.sipProxies.length === 0 ? null : new AddressCopy({ nodes, engineSite, clock, log });
  const followAddresses = async (): Promise<void> =>
    await addresses
      ?.follow(signal)
      .catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'registrations could not be copied yet'),
      );
  const stop = new AbortController();
  exchange.begin({
    signal: stop.signal,
    configure: (lives) => files.write(lives),
    refit: () => files.refit(),
    known: () => Promise.resolve(),
  });
  let leads = false;
  stack.defer(async () => {
    stop.abort();
    copy.close();
    await (leads ? exchange.release() : exchange.stop());
    if (leads) await goOn().catch(() => undefined);
  });
  followDeleted(parts, folders.recordings, stack);
  const { renewal } = engineSite;
  const seen = await followOrdered({ renewal, data: config.data, clock, log }, stop.signal);
  const calls = new StandbyCalls(exchange);
  let own: SeenNode | undefined;
  // A site that another node leads has a name.
  const site = await whenReachable(parts, () => knownSite(store));
  const bus = (await openBus({ config, log, site: site! }, stack))?.bus ?? null;
  let active: string | null = null;
  let newer: string | null = null;
  const checks: readonly Check[] = [
    { name: 'engine', run: () => Promise.resolve({ ok: exchange.running(), detail: exchange.state() }) },
    {
      name: 'configuration',
      run: () => Promise.resolve(newer === null ? files.finding() : { ok: false, detail: newer }),
    },
    { name: 'copy', needed: false, run: () => Promise.resolve(copy.finding()) },
    drainCheck(() => own),
    busCheck(bus),
    sharedFilesCheck(config),
  ];
  const standby = { engineUp: () => exchange.running(), checks, active: () => active };
  const listener = await listenAsStandby(config.listen, standby);
  stack.defer(() => listener.close());
  await serveOwnMetrics({ config, log, standby, copy, addresses, bus }, stack);
  const report = (): NodeReport => ({
    name: config.node!,
    holder: parts.holder,
    url: nodeUrlOf(config),
    role: 'standby',
    engine: exchange.running() ? 'up' : 'down',
    // The leading node does not pass the site to a standby without a version.
    version: newer === null ? files.version : null,
    problem: newer ?? files.problem,
    head: copy.head(),
    calls: calls.now,
    bus: bus === null ? null : bus.state().up,
    sip: sipOf(config),
  });
  let away = false;
  for (;;) {
    try {
      if (!(await nodes.report(report()))) throw nameTaken(config.node!);
      const all = await nodes.list();
      own = all.find((node) => node.name === config.node);
      seen(all);
      const found = await newerVersion(store);
      if (found !== null && newer === null) say(`Standby that cannot lead: ${found}`);
      newer = found;
      leads = newer === null && (await take(siteLog, parts.holder, own));
      if (leads) break;
      await calls.count(own !== undefined && own.drain !== null);
      const now = all.find((node) => node.holds)?.url ?? null;
      if (now !== active) say(`Standby: ${now ?? 'another node'} leads the site.`);
      active = now;
      away = false;
      await files.follow(signal);
      await copy.follow();
      await followAddresses();
    } catch (error) {
      if (error instanceof StartError || signal.aborted) throw error;
      if (!away) log.warn({ error: messageOf(error) }, 'the site could not be followed; retrying');
      away = true;
    }
    // Followed at each message, the copy has the newest events even if the leading node and the log lose them.
    await sleepWoken({ bus, clock, signal, ms: ASK_MS, work: () => copy.follow() });
  }
  log.warn({ from: active }, 'this node takes over the site');
  await followAddresses();
  // Before the first snapshot, so that agents do not seem to have signed out.
  await membersHere(store)
    .then((members) => engineSite.putMembers(members))
    .catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'agents could not be added to their queues yet'),
    );
  say('This node takes the site.');
  return true;
}
/** Intended members of the queues that the leading engine has; another engine keeps the members of its queues itself. */
export async function membersHere(store: Pick<Store, 'db'>): Promise<readonly Intent[]> {
  const queues = await store
    .db<ObjectTables>()
    .selectFrom('config_objects')
    .select('body')
    .where('kind', '=', 'queue')
    .where('until_version', 'is', null)
    .execute();
  // A leading node of an earlier version stored no engine.
  type Body = Pick<ConfigBody<'queue'>, 'name'> & Partial<Pick<ConfigBody<'queue'>, 'engine'>>;
  const bodies = queues.map(({ body }) => JSON.parse(body) as Body);
  const elsewhere = new Set(bodies.filter(({ engine }) => engine != null).map(({ name }) => name));
  return (await storedIntents(store)).filter(({ queue }) => !elsewhere.has(queue));
}
/** Version of the configuration that was applied last; 0 for none. */
export const newestVersion = async (store: Pick<Store, 'db'>): Promise<number> =>
  (
    await store
      .db<{ config_versions: { version: number } }>()
      .selectFrom('config_versions')
      .select((e) => e.fn.max('version').as('version'))
      .executeTakeFirst()
  )?.version ?? 0;
/** The site that was applied last, with trunk servers looked up now and without the external address. */
export async function appliedSite(store: Store, config: Config, signal: AbortSignal) {
  const objects = await openObjects(store);
  const known = toPbxConfig(objects.applied());
  const servers = await serversNow(known.trunks, config, signal);
  return { version: objects.version, site: toSite(known, FEATURE_CODES, { address: null, servers }) };
}
async function serveOwnMetrics(
  {
    config,
    log,
    standby,
    copy,
    addresses,
    bus,
  }: Pick<Parts, 'config' | 'log'> & {
    readonly standby: Omit<HealthOptions, 'metrics'>;
    readonly copy: CopyFollower;
    readonly addresses: AddressCopy | null;
    readonly bus: Bus | null;
  },
  stack: AsyncDisposableStack,
): Promise<void> {
  if (config.metricsListen === null) return;
  const metrics = createMetrics();
  metrics.gauge('offhook_node_active', 'Whether this node leads the site.', () => 0);
  metrics.gauge('offhook_node_copy_behind', 'Events that the copy of this standby lacks.', () =>
    copy.behind(),
  );
  busGauges(metrics, bus);
  if (addresses !== null)
    metrics.gauge(
      'offhook_node_addresses_behind',
      'Desk phones of the SIP proxy that the engine of this standby lacks.',
      () => addresses.behind,
    );
  await serveMetrics(config, { metrics, ...standby }, log, stack);
}
export function copyFileOf({ config, log }: Pick<Parts, 'config' | 'log'>, store: Pick<Store, 'db'>) {
  return async () => {
    const site = await knownSite(store);
    return site === null ? null : sqliteCopyFile(path.join(config.data, 'journal.db'), { log, site });
  };
}
export const nameTaken = (node: string): StartError =>
  new StartError(
    'node_name_taken',
    `another node of this site has the name ${node}: give each its own OFFHOOK_NODE; a name is free a minute after its node was last seen`,
  );
