/** The composition root: all parts in the order of their creation; they are released in reverse. */
import { dynamicMembers, siteEvent } from '../features/pbx-config/live.ts';
import { followQueues } from '../features/queues/changes.ts';
import type { Flusher } from '../adapters/sqlite/flusher.ts';
import { systemClock } from '../core/clock.ts';
import type { PasswordCost } from '../features/sessions/password.ts';
import type { Objects } from '../features/pbx-config/put.ts';
import { keepRetention } from '../journal/retention.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineConfig } from '../ports/engine-config.ts';
import { openAsteriskSite } from './asterisk-site.ts';
import type { OpenEngineSite } from './asterisk-site.ts';
import { beginBeacon } from './bus.ts';
import type { Config } from './config.ts';
import { eachFeature } from './each-feature.ts';
import { announce, createEventStream, listen } from './edge.ts';
import type { EdgeParts } from './edge.ts';
import { createEngineSide } from './engine.ts';
import { ActiveNode } from './node.ts';
import type { ActiveNodeDeps } from './node.ts';
import { sipOf } from './home-engines.ts';
import { AddressKeeper } from './contact-addresses.ts';
import { holderOf } from './server-site.ts';
import { nodeUrlOf } from './standby.ts';
import type { LogHolder } from '../ports/site-log.ts';
import { createAgentFeature, createCallFeatures, createConfigFeatures } from './features.ts';
import type { Features } from './features.ts';
import { manifestOf } from './manifest.ts';
import { createRecordFeatures } from './records.ts';
import { createSiteFeatures } from './site.ts';
import { openStores } from './stores.ts';
import type { StoresOptions } from './stores.ts';

const LIVE_POLL_MS = 50;

/** Replacements of the machine's clock and of the Asterisk beside the service. */
export interface Ground {
  readonly openEngineSite?: OpenEngineSite;
  readonly clock?: Clock;
  readonly company?: Objects;
  readonly passwordCost?: PasswordCost;
  readonly flusher?: Flusher;
  /** Receives the parts once they are created. */
  readonly onCreated?: (parts: Pick<Features, 'journal' | 'loop' | 'apiKeys'>) => void;
  /** For fault tests: a wrapper that makes the engine's configuration fail. */
  readonly engineConfig?: (real: EngineConfig) => EngineConfig;
}
export interface Service extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number };
  /** Resolves once the service was asked to stop, or must not continue. */
  readonly closed: Promise<void>;
  /** Reason why it must not continue; null if it was asked to stop, or hands the site over. */
  readonly failure: string | null;
  /** True where this node must stand by, because another one leads the site or is to lead it. */
  readonly standsBy: boolean;
  /** True where this process must start again, because the engines of the site have changed. */
  readonly anew: boolean;
  /** True where another node leads the site already, so that this process can store nothing any more. */
  readonly deposed: boolean;
  /** Leaves the engine and its calls to the next service at the stop. */
  keepEngine(): void;
}

/** Creates every feature and starts none. */
async function createFeatures(
  options: Pick<StoresOptions, 'config' | 'say' | 'signal' | 'end' | 'heir'>,
  ground: Ground,
  stack: AsyncDisposableStack,
): Promise<Features> {
  const { clock = systemClock, openEngineSite = openAsteriskSite, flusher } = ground;
  const base = {
    ...(await openStores({ ...options, clock, openEngineSite, flusher }, stack)),
    say: options.say,
    company: ground.company,
    passwordCost: ground.passwordCost,
  };
  const { exchange } = base.engineSite;
  const site = { ...base, ...(await createSiteFeatures(base, stack)) };
  const engine = { ...site, ...(await createEngineSide(site, stack)) };
  const agents = await createAgentFeature(engine);
  const records = { ...engine, ...(await createRecordFeatures(engine, stack)), agents };
  const calls = { ...records, ...(await createCallFeatures(records)) };
  const engineConfig = ground.engineConfig?.(exchange.engineConfig) ?? exchange.engineConfig;
  const whole = base.engineSite.wholeConfig ?? engineConfig;
  return { ...calls, ...(await createConfigFeatures(calls, { here: engineConfig, whole }, stack)) };
}

/** Null where the site has one node only. */
function createNode(parts: Features, { end, pass }: Pick<ActiveNodeDeps, 'end' | 'pass'>): ActiveNode | null {
  const { clock, config, engineSite, journal, lease, live, log, nodes, objects } = parts;
  if (config.node === null || lease === null || nodes === null) return null;
  const name = config.node;
  const holder = holderOf(config.data);
  return new ActiveNode({
    nodes,
    lease,
    report: async () => ({
      name,
      holder: await holder,
      url: nodeUrlOf(config),
      role: 'active',
      engine: live.live && engineSite.exchange.running() ? 'up' : 'down',
      version: objects.version,
      problem: null,
      head: journal.head,
      calls: live.live ? live.calls().length : null,
      bus: parts.bus === null ? null : parts.bus.state().up,
      sip: sipOf(config),
    }),
    clock,
    log,
    end,
    pass,
  });
}
/** Finds and starts the engine in the background; `keeps`: whether the stop leaves it to the next service. */
function beginExchange(parts: Features, keeps: () => boolean, stack: AsyncDisposableStack): void {
  const { agents, applies, clock, engine, engineSite, live, wallboard } = parts;
  const { exchange } = engineSite;
  const stop = new AbortController();
  exchange.begin({
    signal: stop.signal,
    configure: (lives) => applies.start(lives),
    refit: () => applies.refit(),
    async known(until) {
      while (!live.live) await clock.sleep(LIVE_POLL_MS, until);
      await agents.idle();
    },
  });
  stack.defer(async () => {
    stop.abort();
    await (keeps() ? exchange.release() : exchange.stop());
  });
  stack.defer(() => engine.close());
  // Closed after the loop, so that the last commits are counted and stored too.
  stack.defer(() => wallboard.close());
}

/** From here on the model follows the engine, and features receive every committed event. */
async function beginLoop(
  parts: Omit<EdgeParts, 'watch' | 'activeNode'>,
  stack: AsyncDisposableStack,
): Promise<void> {
  const {
    adoptQueues,
    agents,
    callbacks,
    bus,
    clock,
    config,
    connectors,
    directory,
    features,
    history,
    journal,
    liveChanged,
    log,
    loop,
    publishedQueues,
  } = parts;
  const { lostEvents, phonebookSources, presence, storeGaps, stream, wallboard } = parts;
  const stop = new AbortController();
  loop.begin({
    signal: stop.signal,
    site: siteEvent(directory.config(), clock.now()),
    onStepped: () => {
      liveChanged();
      eachFeature(features, log, 'a step of the model', (one) => one.onStepped?.());
    },
    onCommitted: (rows, events) => {
      // First, because the clients of other nodes have the longer way.
      bus?.send({ epoch: journal.epoch, head: journal.head });
      wallboard.onCommitted(rows, events);
      stream.committed();
      for (const event of events) eachFeature(features, log, event.type, (one) => one.onEvent?.(event));
    },
  });
  stack.defer(async () => {
    stop.abort();
    const lost = await loop.closed;
    // Events of a process that no longer leads the site are no events of the site.
    if (parts.lease?.lost !== true) await lostEvents.note(lost);
  });
  if (bus !== null) beginBeacon(bus, () => ({ epoch: journal.epoch, head: journal.head }), stack);
  loop.publish([...storeGaps.events(), ...lostEvents.events()]);
  history.begin();
  callbacks.begin();
  parts.externalAddress.begin();
  parts.trunkServers.begin();
  parts.trunkProxy.begin();
  await connectors.begin();
  await phonebookSources.begin();
  presence.begin();
  const retention = keepRetention({
    journal,
    spare: () => journal.checkpoint()?.seq ?? 0,
    clock,
    log,
    days: config.journalDays,
    bytes: config.journalMegabytes * 1_048_576,
    signal: stop.signal,
  });
  stack.defer(() => {
    stop.abort();
    return retention;
  });
  for (const feature of features.toReversed()) stack.defer(() => feature.close?.());
  stack.defer(directory.onChange(() => loop.tell(siteEvent(directory.config(), clock.now()))));
  const settings = () => directory.config().queues;
  stack.defer(
    followQueues({
      directory,
      settings,
      published: publishedQueues(),
      adopt: adoptQueues,
      publish: loop.publish,
      clock,
    }),
  );
  await agents.ensureSeedMembers(dynamicMembers(directory.config()));
}

/**
 * Resolves when HTTP listens; the engine is found and started beside it. Aborting `signal` begins the stop. `print` receives
 * whole lines for the person at the terminal. Throws where the data folder or the address is not available.
 */
export async function startService(
  config: Config,
  signal: AbortSignal,
  print: (text: string) => void = (text) => void process.stdout.write(text),
  ground: Ground = {},
): Promise<Service> {
  const began = performance.now();
  await using stack = new AsyncDisposableStack();
  let keepEngine = false;
  const stopped = Promise.withResolvers<void>();
  let failure: string | null = null;
  let heir: LogHolder | null | undefined = null;
  let standsBy = false;
  let anew = false;
  const say = (line: string): void => print(`  ${line}\n`);
  const end = (why: string): void => {
    failure ??= why;
    standsBy = config.node !== null && parts?.lease?.lost === true;
    stopped.resolve();
  };
  let parts: Features | undefined;
  parts = await createFeatures({ config, say, signal, end, heir: () => heir }, ground, stack);
  ground.onCreated?.(parts);
  const { log } = parts;
  beginExchange(parts, () => keepEngine, stack);
  const streaming = { ...parts, features: manifestOf(parts), ...createEventStream(parts, stack) };
  await beginLoop(streaming, stack);
  const watch = parts.watchEngine();
  stack.defer(() => watch.close());
  const node = createNode(parts, {
    end,
    pass(to) {
      heir = to;
      standsBy = true;
      stopped.resolve();
    },
  });
  stack.defer(() => node?.close());
  if (config.sipProxies.length > 0 && parts.nodes !== null) {
    const { clock, engineSite, nodes } = parts;
    const addresses = new AddressKeeper({
      nodes,
      engineSite,
      holder: await holderOf(config.data),
      clock,
      log,
    });
    stack.defer(() => addresses.close());
  }
  const { applies, directory } = parts;
  const enginesNow = (): string => JSON.stringify(directory.config().engines.map((one) => one.node));
  const followed = enginesNow();
  const look = (): void => {
    if (enginesNow() === followed || anew) return;
    anew = true;
    say('The engines of the site have changed: this service begins anew, and calls go on.');
    void applies.idle().then(() => stopped.resolve());
  };
  stack.defer(directory.onChange(look));
  const edge = { ...streaming, watch, activeNode: node };
  const { address, secured, checks } = await listen(edge, stack);
  announce(edge, { address, secured, checks, began, print, signal }, stack);

  if (signal.aborted) stopped.resolve();
  else signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  const held = stack.move();
  return {
    address,
    closed: stopped.promise,
    get failure() {
      return failure;
    },
    get standsBy() {
      return standsBy;
    },
    get anew() {
      return anew;
    },
    get deposed() {
      return standsBy && failure !== null;
    },
    keepEngine() {
      keepEngine = true;
      // The next process on this folder leads the site again, if it comes in time.
      if (!standsBy) heir = undefined;
    },
    async [Symbol.asyncDispose]() {
      log.info({}, 'stopping');
      await held.disposeAsync();
    },
  };
}
