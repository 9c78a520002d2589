/** Interfaces for clients: the event stream, the HTTP host with its routes, and the lines printed at start. */
import { createStream } from '../delivery/stream.ts';
import { isApiKey } from '../features/api-keys/service.ts';
import { presenceSource } from '../features/contacts/presence.ts';
import { withCheckPhone } from '../features/path-check/phone.ts';
import { trunksSnapshot } from '../features/trunks/service.ts';
import { healthOperations, readiness } from '../http/health.ts';
import { createHost } from '../http/host.ts';
import { createIdempotencyStore } from '../http/idempotency.ts';
import { createMetrics } from '../http/metrics.ts';
import { addOperations } from '../http/operations.ts';
import { sipRelayRoutes } from '../http/sip-relay.ts';
import type { Feature } from '../ports/feature.ts';
import type { Authenticator, Caller } from '../ports/http.ts';
import { readyText, urlOf } from './banner.ts';
import { blockedNetworksRoute } from './blocked-at-proxy.ts';
import { busCheck, busGauges, feedCheck, feedGauge } from './bus.ts';
import { VERSION } from './config.ts';
import type { Address } from './setting-values.ts';
import { exposures } from './exposure.ts';
import type { Features } from './features.ts';
import { addGauges, checksOf } from './health.ts';
import type { Watched } from './health.ts';
import { listenHttp, serveMetrics } from './listen.ts';
import { ownOrigins } from './origins.ts';
import type { ActiveNode } from './node.ts';
import { nodeCallRoutes } from './node-calls.ts';
import { beginRenewal, listenSecure, sharedPair } from './secure-edge.ts';
import { sharedFilesCheck } from './shared-files.ts';
import { sealingKey, siteSecret } from './site-key.ts';

const READY_POLL_MS = 50;
/** Idle end of an API key, which has none: the latest time that a `Date` can hold. */
const NEVER = 8_640_000_000_000_000;

export interface EdgeParts extends Features, Pick<Watched, 'watch'> {
  readonly stream: ReturnType<typeof createEventStream>['stream'];
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly features: readonly Feature[];
  /** Null where the site has one node only. */
  readonly activeNode: ActiveNode | null;
}

/** The stream receives committed events once the loop begins. */
export function createEventStream(parts: Features, stack: AsyncDisposableStack) {
  const { apiKeys, applies, clock, config, directory, journal, live, log, loop, queues, sessions } = parts;
  const { agents, alerts, engineStatus, liveCalls, parking, wallboard } = parts;
  const metrics = createMetrics();
  const lease = config.node === null ? null : parts.lease;
  const stream = createStream({
    journal,
    ...(lease !== null && { leads: () => lease.held() }),
    positions: loop,
    sources: {
      presence: presenceSource({ directory, live, clock }),
      calls: liveCalls,
      parking,
      queues: {
        snapshot(objects) {
          const shown = queues.snapshot(objects);
          const withStats = shown.queues.map((q) => ({ ...q, stats: wallboard.stats(q.name) ?? null }));
          return { ...shown, queues: withStats };
        },
      },
      agents,
      alerts,
      history: { snapshot: () => ({}) },
      phonebook: { snapshot: () => ({}) },
      trunks: {
        snapshot: () => trunksSnapshot({ trunks: () => directory.config().trunks, live, clock }),
      },
      config: { snapshot: () => applies.snapshot() },
      system: { snapshot: () => ({ engine: engineStatus() }) },
    },
    directory,
    credentials: {
      onSessionEnded: (listener) => sessions.onSessionEnded(listener),
      onKeyEnded: (listener) => apiKeys.onKeyEnded(listener),
      use: (caller) => useOf(parts, caller),
    },
    clock,
    log,
    metrics,
    heartbeatSeconds: config.streamHeartbeatSeconds,
    perPerson: config.streamsPerPerson,
  });
  stack.defer(() => stream.close());
  // Another node may lead from now on, and its events would be missing here.
  if (lease !== null) stack.defer(lease.onEnd(() => stream.interrupt()));
  return { stream, metrics };
}

const useOf = async (
  { apiKeys, sessions }: Pick<Features, 'apiKeys' | 'sessions'>,
  { key, session_id }: Caller,
): Promise<number | null> =>
  key === null ? sessions.use(session_id) : apiKeys.rights(key.id) === null ? null : NEVER;
/** Resolves when HTTP listens. Throws `ConfigError` where the address is not available. */
export async function listen(parts: EdgeParts, stack: AsyncDisposableStack) {
  const { apiKeys, clock, config, engineSite, features, journal, live, log, loop, metrics } = parts;
  const { pathChecks, stream } = parts;
  const { sessions, sipKey, siteConsole, store } = parts;
  const engineUp = (): boolean => live.live;
  const { exchange, renewal, firewall } = engineSite;
  const watched = { ...parts, exchange, renewal, firewall };
  const checks = [
    ...checksOf(watched),
    busCheck(parts.bus),
    feedCheck(parts.feed),
    sharedFilesCheck(config),
    ...(parts.activeNode?.checks() ?? []),
  ];
  parts.activeNode?.gauges(metrics);
  for (const feature of features) feature.gauges?.(metrics);
  addGauges(metrics, watched);
  busGauges(metrics, parts.bus);
  feedGauge(metrics, parts.feed);
  const authenticator: Authenticator = {
    authenticate: (token) => (isApiKey(token) ? apiKeys.authenticate(token) : sessions.authenticate(token)),
  };
  const lacksFactor = ({ level, person_id: id }: Caller): boolean => sessions.lacksFactor({ id, level });
  stack.defer(
    siteConsole.onChange(() => stream.interrupt((caller) => caller.key === null && lacksFactor(caller))),
  );
  const seq = (): number => loop.position()?.seq ?? journal.head;
  const nodes = config.node === null ? undefined : { secret: siteSecret(sipKey, 'nodes'), seq };
  const host = await createHost({
    config,
    authenticator,
    confirmed: ({ session_id }) => sessions.confirmation.proven(session_id),
    lacksFactor,
    nodes,
    log,
    version: VERSION,
    metrics,
    fence: config.node === null ? undefined : parts.lease?.fence,
    idempotency: await createIdempotencyStore(store, clock, sipKey),
    recorded: loop.recorded,
  });
  const { app } = host;
  const health = { metrics, engineUp, checks };
  for (const feature of features) feature.routes?.(app);
  const served = features.flatMap((feature) => feature.operations?.(app) ?? []);
  const commands = addOperations(app, [healthOperations(health), ...served]);
  addOperations(app, [stream.operations(app, commands)]);
  if (nodes !== undefined)
    nodeCallRoutes(app, {
      ...nodes,
      stream,
      commands,
      authenticator,
      lacksFactor,
      use: (caller) => useOf(parts, caller),
      keyRights: (id) => apiKeys.rights(id),
      pair: () => sharedPair(parts),
      ordered: async () => (await renewal?.ordered()) ?? null,
      sealingKey: sealingKey(sipKey),
      journal,
    });
  blockedNetworksRoute(app, config, () => parts.blocks.list().networks);
  const port = (): number | null => engineSite.webSipPort();
  const checking = {
    account: engineSite.paths?.account ?? '',
    secret: siteSecret(sipKey, 'doctor'),
    now: () => clock.now(),
  };
  const credentials = withCheckPhone(sessions.sip, checking);
  sipRelayRoutes(app, { port, credentials, calls: parts.sipCalls, log, metrics });
  const address = await listenHttp(host, config, stack);
  pathChecks.begin(ownOrigins(address));
  const secured = await listenSecure(host, parts, stack);
  await beginRenewal(parts, stack);
  await serveMetrics(config, health, log, stack);
  return { address, secured, checks };
}

export interface Announcement {
  readonly address: Address;
  /** Address by HTTPS; null for none. */
  readonly secured: Address | null;
  readonly checks: ReturnType<typeof checksOf>;
  readonly began: number;
  readonly print: (text: string) => void;
  readonly signal: AbortSignal;
}
/** Limit, in bytes; a full collection of a larger heap would block the event loop for up to a second. */
const COLLECTED_HEAP = 134_217_728;
/** Frees the memory that only the start needed, which an idle service would keep for hours; takes 0.1 s of a core. */
function collectStart(): void {
  if (process.memoryUsage().heapTotal > COLLECTED_HEAP) return;
  // `npm start` exposes it.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
/** Prints the address now, and the ready lines as soon as everything works. */
export function announce(
  { clock, config, engineSite, log, say }: EdgeParts,
  { address, secured, checks, began, print, signal }: Announcement,
  stack: AsyncDisposableStack,
): void {
  log.info({ ...address, ms: Math.round(performance.now() - began) }, 'listening');
  say(`Listening at ${urlOf(address, secured)}; the engine is on its way.`);
  const unready = new AbortController();
  const until = AbortSignal.any([signal, unready.signal]);
  async function whenReady(): Promise<void> {
    while (!until.aborted && (await readiness(checks)).status !== 'ready') {
      await clock.sleep(READY_POLL_MS, until).catch(() => undefined);
    }
    if (until.aborted) return;
    const seconds = (performance.now() - began) / 1000;
    log.info({ seconds }, 'ready');
    for (const warning of exposures(config)) log.warn({}, warning);
    const terminal = process.stdout.isTTY;
    print(
      await readyText(config, urlOf(address, secured), {
        deskPhones: engineSite.exchange.deskPhones(),
        seconds,
        terminal,
      }),
    );
    collectStart();
  }
  const announced = whenReady();
  stack.defer(async () => {
    unready.abort();
    await announced;
  });
}
