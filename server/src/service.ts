/** The composition root: the one place that knows every part. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { nodeId } from '@offhook/contract/ids.ts';
import { createCelReader } from './adapters/asterisk/cel/reader.ts';
import { watchEngine } from './adapters/asterisk/watch.ts';
import { createAsteriskEngine } from './adapters/asterisk/engine.ts';
import { celFile, recordingsDir, soundsDir } from './adapters/asterisk/instance.ts';
import { builtInSounds } from './adapters/asterisk/built-in-sounds.ts';
import { moveMailboxes } from './adapters/asterisk/mailbox-folders.ts';
import { createInstance } from './adapters/asterisk/process/instance-file.ts';
import { openPostgresStore } from './adapters/postgres/store.ts';
import { openSqliteJournal } from './adapters/sqlite/journal.ts';
import { openSqliteStore } from './adapters/sqlite/store.ts';
import { ConfigError } from './config.ts';
import type { Config } from './config.ts';
import { outboundFinder, outboundOrder } from './core/routes.ts';
import { rfc3339, systemClock } from './core/clock.ts';
import { messageOf } from './core/errors.ts';
import { lockFolder } from './core/folder-lock.ts';
import { makeFolder } from './core/folders.ts';
import { openLog } from './core/log-file.ts';
import { createStream } from './delivery/stream.ts';
import { runExchange } from './exchange.ts';
import { createAgents } from './features/agents/feature.ts';
import { createApiKeys, isApiKey } from './features/api-keys/service.ts';
import { createBoards } from './features/boards/service.ts';
import { createAudit } from './features/audit/service.ts';
import { createCallControlFeature } from './features/calls/feature.ts';
import { createLiveCalls } from './features/calls/live.ts';
import { createLiveParking } from './features/calls/parking.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { createConsoleSettings } from './features/console-settings/service.ts';
import { presenceSource } from './features/contacts/presence.ts';
import { createExports } from './features/exports/service.ts';
import { FEATURE_CODES } from './features/feature-codes/feature-codes.ts';
import { createConversationRows } from './features/history/conversations/export-rows.ts';
import { createHistory } from './features/history/feature.ts';
import { createApplies } from './features/pbx-config/apply/service.ts';
import { toPbxConfig } from './features/pbx-config/config.ts';
import { createCredentials } from './features/pbx-config/credentials.ts';
import { createDirectory } from './features/pbx-config/directory.ts';
import type { House } from './features/pbx-config/check.ts';
import { createDraft } from './features/pbx-config/draft.ts';
import { openObjects } from './features/pbx-config/objects.ts';
import { seed } from './features/pbx-config/seed.ts';
import { defaultCode, toSite } from './features/pbx-config/site.ts';
import { usedSounds } from './features/pbx-config/used-sounds.ts';
import { dynamicMembers, otherNumbers, siteEvent } from './features/pbx-config/live.ts';
import { migrations as pbxConfigMigrations } from './features/pbx-config/tables.ts';
import { createPresence } from './features/presence/service.ts';
import { remainsOf } from './features/privacy/remains.ts';
import { createPrivacy } from './features/privacy/service.ts';
import { createQueues } from './features/queues/service.ts';
import { createRecordings } from './features/recordings/feature.ts';
import type { Recordings } from './features/recordings/feature.ts';
import { createSelfService } from './features/self-service/service.ts';
import { createSessions } from './features/sessions/service.ts';
import { createSipSecurity } from './features/sip-security/service.ts';
import { createSounds } from './features/sounds/service.ts';
import { createWallboard } from './features/wallboard/service.ts';
import { listenMetrics, readiness } from './http/health.ts';
import { createHost } from './http/host.ts';
import { createIdempotencyStore } from './http/idempotency.ts';
import { createMetrics } from './http/metrics.ts';
import { runEngineLoop } from './journal/engine-loop.ts';
import { eventOf, openJournal } from './journal/journal.ts';
import { createLiveView } from './journal/live.ts';
import { keepRetention } from './journal/retention.ts';
import { createModel } from './pbx/model.ts';
import type { EngineConfig } from './ports/engine-config.ts';
import { createWebhooks } from './delivery/webhooks/service.ts';
import { createOwners } from './delivery/webhooks/subscription.ts';
import { readyText, urlOf } from './banner.ts';
import { RECORDS } from './record-move.ts';
import { giveCredentials, newPassword } from './credentials.ts';
import { exposures } from './exposure.ts';
import { DISK_FLOOR_BYTES, addGauges, checksOf } from './health.ts';
import { addRoutes } from './routes.ts';
import { siteId, storeFile } from './site-id.ts';
import { createStoreGaps } from './store-gaps.ts';
import { siteKey } from './site-key.ts';

export const VERSION = '0.1.0';
const READY_POLL_MS = 50;

/** For fault tests: what stands between the service and the engine's configuration may fail in their way. */
export interface Faults {
  readonly engineConfig?: (real: EngineConfig) => EngineConfig;
}
export interface Service extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number };
  /** Resolves once the service was told to stop. */
  readonly closed: Promise<void>;
  /** The stop leaves the engine and its calls to the next service. */
  keepEngine(): void;
}

/**
 * Resolves when HTTP listens; the engine is got and started beside it. Aborting `signal` begins the stop. `print` is given
 * whole lines for the person in front of it. Throws where the data folder or the address cannot be had.
 */
export async function startService(
  config: Config,
  signal: AbortSignal,
  print: (text: string) => void = (text) => void process.stdout.write(text),
  faults: Faults = {},
): Promise<Service> {
  const began = performance.now();
  const say = (line: string): void => print(`  ${line}\n`);
  await using stack = new AsyncDisposableStack();
  try {
    makeFolder(config.data);
  } catch (error) {
    throw new ConfigError(
      `OFFHOOK_DATA=${config.data}: expected a folder that can be made and written; ${messageOf(error)}`,
    );
  }
  const lock = lockFolder(config.data);
  stack.defer(() => lock.release());
  const logFile = openLog(path.join(config.data, 'logs', 'offhook.log'), config.logLevel);
  const { log } = logFile;
  stack.defer(() => logFile.close());
  log.info({ version: VERSION, node: process.version, pid: process.pid }, 'starting');

  const clock = systemClock;
  const store = await openSqliteStore(storeFile(config.data), { log });
  stack.defer(() => store.close());
  const storeGaps = createStoreGaps(store, clock, log);
  // Live work needs nothing of it: while it is away, calls, agents and signing in go on.
  const features = Object.keys(RECORDS);
  const records =
    config.databaseUrl === null ? store : openPostgresStore(config.databaseUrl, { log, features });
  stack.defer(() => records.close());
  const site = await siteId(store);
  const journalStore = openSqliteJournal(path.join(config.data, 'journal.db'), { log, site });
  const instance = await createInstance(config.data);
  const node = nodeId(instance.node);
  const journal = openJournal({ store: journalStore, node });
  stack.defer(() => journal.close());

  await store.migrate('pbx-config', pbxConfigMigrations);
  const seeded = await seed(store, { empty: config.empty });
  if (config.empty && !seeded) say('--empty changes nothing: this site has people already.');
  const objects = await openObjects(store);
  const directory = createDirectory(objects);
  const audit = await createAudit(store, clock, log, directory);
  stack.defer(() => audit.close());
  const sipKey = await siteKey(config.data);
  const sessions = await createSessions({ store, clock, directory, audit, log, config, sipKey });
  stack.defer(() => sessions.close());
  const siteConsole = await createConsoleSettings({ store, audit, zone: config.siteZone });
  const boards = await createBoards({ store, clock, directory, audit, keys: () => apiKeys.display });
  const boardShows = (board: number) => boards.shows(board);
  const apiKeys = await createApiKeys({ store, clock, directory, audit, log, boardShows });
  stack.defer(() => apiKeys.close());
  const webhooks = await createWebhooks({
    store,
    journal,
    clock,
    audit,
    log,
    owner: createOwners(directory, (id) => apiKeys.rights(id)),
    allow: config.webhookAllow,
    version: VERSION,
    source: `/offhook/${node}`,
  });
  stack.defer(() => webhooks.close());
  stack.defer(apiKeys.onKeyEnded(() => webhooks.ownersChanged()));
  stack.defer(directory.onChange(() => webhooks.ownersChanged()));
  await giveCredentials(config.data, directory, sessions);
  const sounds = await createSounds({
    audit,
    clock,
    log,
    folder: soundsDir(instance),
    budget: config.soundMegabytes * 1_048_576,
    diskFloor: DISK_FLOOR_BYTES,
    usedSounds: () => usedSounds(store),
    builtIn: () => builtInSounds(exchange.program()),
  });
  stack.defer(() => sounds.close());
  const house: House = {
    codes: new Map(FEATURE_CODES.map((code) => [code.id, defaultCode(code)])),
    patterns: new Map(FEATURE_CODES.map((code) => [code.id, code.patterns])),
    hasSound: (sound) => sounds.knows(sound),
  };
  const draft = createDraft({
    objects,
    audit,
    clock,
    house,
  });
  const credentials = createCredentials({
    draft,
    audit,
    signIn: { setPassword: (id, password) => sessions.setPassword(id, password), newPassword },
  });

  const sipSecurity = createSipSecurity({
    audit,
    clock,
    log,
    isAccount: (account) => directory.byEndpoint(account) !== undefined,
  });
  stack.defer(() => sipSecurity.close());
  // An account that nobody has, and that nobody knows: its refusals are no attack.
  const healthAccount = `health-${randomUUID()}`;
  const engine = createAsteriskEngine({
    node,
    refused(refusal) {
      if (refusal.account !== healthAccount) sipSecurity.refused(refusal);
    },
    clock,
    log,
    connect: async () =>
      exchange.running()
        ? {
            host: '127.0.0.1',
            port: instance.ami_port,
            events: instance.ami_events,
            actions: instance.ami_actions,
          }
        : null,
  });

  const model = createModel();
  const live = createLiveView(model.view);
  const agents = await createAgents({
    engine,
    live: live.view,
    tell: (input) => loop.tell(input),
    directory,
    audit,
    store,
    clock,
    log,
    noAnswerLimit: config.noAnswerLimit,
    unreachableMs: config.unreachableSeconds * 1000,
  });
  // Each of the two needs the other.
  const made = Promise.withResolvers<Recordings>();
  const callRecords = createCelReader({ file: celFile(instance), node, log, clock });
  const history = await createHistory({
    store: records,
    clock,
    directory,
    log,
    zone: config.siteZone,
    records: {
      async *read(from, until) {
        yield* (await made.promise).watching(callRecords).read(from, until);
      },
      caughtUpAt: () => callRecords.caughtUpAt(),
    },
    recordings: {
      ofCalls: async (ids) => (await made.promise).index.ofCalls(ids),
      withRecording: async (ids) => (await made.promise).index.withRecording(ids),
      erase: async (ids) => (await made.promise).index.erase(ids),
    },
    audit,
    country: config.siteCountry,
    journal,
    feedEpoch: records === store ? storeGaps.feedEpoch(journal.epoch) : journal.epoch,
    eventOf,
    publish: (events) => loop.publish(events),
    settled: () => loop.settled(),
  });
  const recordings = await createRecordings({
    store: records,
    conversations: history.known,
    audit,
    live: live.view,
    clock,
    log,
    tell: (input) => loop.tell(input),
    folder: recordingsDir(instance),
    days: config.recordingDays,
    own: config.ownRecordings === 'yes',
  });
  made.resolve(recordings);
  const exports = await createExports({
    store: records,
    rows: createConversationRows({
      store: records,
      recordings: recordings.index,
      country: config.siteCountry,
    }),
    audit,
    clock,
    log,
    folder: path.join(config.data, 'exports'),
    hours: config.exportHours,
    diskFloor: DISK_FLOOR_BYTES,
  });
  stack.defer(() => exports.close());
  const wallboard = await createWallboard({
    store,
    journal,
    eventOf,
    clock,
    directory,
    live: live.view,
    audit,
    log,
    zone: config.siteZone,
    publish: (events) => loop.publish(events),
  });
  const calls = await createCallControlFeature({
    engine,
    live: live.view,
    directory,
    audit,
    store,
    recordings: recordings.keeper,
    mayListen: (caller) =>
      !siteConsole.settings().confirm_supervision || sessions.confirmation.holds(caller.session_id),
    clock,
    log,
    tell: (input) => loop.tell(input),
    publish: (events) => loop.publish(events),
    numbers: () => {
      const config = directory.config();
      return { services: otherNumbers(config), parking_lots: config.parking_lots };
    },
    zone: config.siteZone,
  });
  const selfService = await createSelfService({
    engine,
    live: live.view,
    directory,
    isPlace(number) {
      const { ring_groups, menus, time_conditions, conferences, mailboxes } = directory.config();
      return [ring_groups, menus, time_conditions, conferences, mailboxes].some((places) =>
        places.some((place) => place.number === number),
      );
    },
    mayForwardOutside(extension, number) {
      const { people, outbound_routes } = directory.config();
      const person = people.find((p) => p.person.extension === extension);
      const route = outboundFinder(outboundOrder(outbound_routes))(number);
      return (
        person?.forward_outside === true && route !== null && person.call_permission.includes(route.class)
      );
    },
    destinationOf: (number) => calls.destinationOf(number),
    store,
    audit,
    clock,
    log,
  });
  const presence = await createPresence({
    store,
    clock,
    log,
    directory,
    live: live.view,
    doNotDisturb: selfService.doNotDisturb,
    tell: (input) => loop.tell(input),
  });
  const privacy = await createPrivacy({
    store,
    holders: [history.data, audit.data, presence.data, exports.data],
    directory,
    audit,
    clock,
    log,
    folder: path.join(config.data, 'privacy'),
    hours: config.exportHours,
    diskFloor: DISK_FLOOR_BYTES,
    country: config.siteCountry,
    forget: (until) => callRecords.forget(until),
    forgetRows: async () => !(await Promise.all([store, records].map((one) => one.forget()))).includes(false),
    remains: remainsOf(config.journalDays),
  });
  stack.defer(() => privacy.close());
  const stopExchange = new AbortController();
  let keepEngine = false;
  const exchange = runExchange({
    config,
    instance,
    configure: async (lives) => await applies.start(lives),
    refit: async () => await applies.refit(),
    log,
    clock,
    async known(until) {
      while (!live.view.live) await clock.sleep(READY_POLL_MS, until);
      await agents.idle();
    },
    say,
    signal: stopExchange.signal,
  });
  const applies = createApplies({
    store,
    objects,
    engine: faults.engineConfig?.(exchange.engineConfig) ?? exchange.engineConfig,
    house,
    site: (config) => toSite(toPbxConfig(config), FEATURE_CODES),
    audit,
    clock,
    log,
    up: () => exchange.running(),
    draftTag: () => draft.etag(),
    publish: (events) => loop.publish(events),
    hold: () => agents.hold(),
    mailboxes: (owners) => moveMailboxes(instance, owners, clock),
    committed: () => directory.reload(),
    restart: () => exchange.restartWhenConvenient(),
  });
  stack.defer(async () => {
    stopExchange.abort();
    await (keepEngine ? exchange.release() : exchange.stop());
  });

  stack.defer(() => engine.close());
  // Ended after the loop: what is committed last is counted and stored too.
  stack.defer(() => wallboard.close());
  const liveCalls = createLiveCalls(live.view, clock);
  const parking = createLiveParking(live.view, clock);
  const queues = createQueues({
    engine,
    live: live.view,
    directory,
    settings: () => directory.config().queues,
    memberships: agents.memberships,
    audit,
    clock,
    log,
    tell: (input) => loop.tell(input),
  });
  const metrics = createMetrics();
  const nothing = { snapshot: () => ({}) };
  const stream = createStream({
    journal,
    settled: () => loop.settled(),
    sources: {
      presence: presenceSource({ directory, live: live.view, clock }),
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
      history: nothing,
      config: { snapshot: () => applies.snapshot() },
      system: { snapshot: () => ({ engine: engineStatus() }) },
    },
    directory,
    credentials: {
      onSessionEnded: (listener) => sessions.onSessionEnded(listener),
      onKeyEnded: (listener) => apiKeys.onKeyEnded(listener),
      use: async ({ key, session_id }) =>
        key === null ? sessions.use(session_id) : apiKeys.rights(key.id) === null ? null : Infinity,
    },
    clock,
    log,
    metrics,
    heartbeatSeconds: config.streamHeartbeatSeconds,
    perPerson: config.streamsPerPerson,
  });
  stack.defer(() => stream.close());
  const engineStatus = () => {
    const { link, reason, since } = engine.status();
    return { node, up: live.view.live, link, reason, since: rfc3339(since) };
  };
  const stopLoop = new AbortController();
  const loop = runEngineLoop({
    engine,
    model,
    journal,
    signal: stopLoop.signal,
    log,
    site: siteEvent(directory.config(), clock.now()),
    onStepped: () => {
      live.changed();
      selfService.onStepped();
      presence.onStepped();
    },
    onCommitted: (rows, events) => {
      wallboard.onCommitted(rows, events);
      stream.committed();
      for (const event of events) {
        agents.onDomainEvent(event);
        history.onDomainEvent(event);
        calls.onDomainEvent(event);
        recordings.onDomainEvent(event);
        storeGaps.onDomainEvent(event);
      }
    },
  });
  stack.defer(async () => {
    stopLoop.abort();
    await loop.closed;
  });
  loop.publish(storeGaps.events());
  history.begin();
  presence.begin();
  const retention = keepRetention({
    journal,
    clock,
    log,
    days: config.journalDays,
    bytes: config.journalMegabytes * 1_048_576,
    signal: stopLoop.signal,
  });
  stack.defer(() => {
    stopLoop.abort();
    return retention;
  });
  stack.defer(() => calls.close());
  stack.defer(() => recordings.close());
  stack.defer(() => history.close());
  stack.defer(() => agents.close());
  stack.defer(() => applies.close());
  stack.defer(() => selfService.close());
  stack.defer(() => presence.close());
  stack.defer(directory.onChange(() => loop.tell(siteEvent(directory.config(), clock.now()))));
  await agents.ensureSeedMembers(dynamicMembers(directory.config()));

  const watch = watchEngine({
    up: () => live.view.live && engine.status().link === 'up',
    sip: config.sipListen,
    account: healthAccount,
    placeCall: engine.placeHealthCall,
    recordFile: celFile(instance),
    console: async (text, until) => await exchange.console(text, until),
    clock,
    log,
  });
  stack.defer(() => watch.close());
  const watched = {
    watch,
    sipSecurity,
    config,
    engine,
    live: live.view,
    exchange,
    loop,
    journal,
    store,
    storeGaps,
    records,
    calls,
    webhooks,
    clock,
    history,
  };
  const engineUp = (): boolean => live.view.live;
  const checks = checksOf(watched);
  recordings.gauges(metrics);
  addGauges(metrics, watched);

  const host = await createHost({
    config,
    authenticator: {
      authenticate: (token) => (isApiKey(token) ? apiKeys.authenticate(token) : sessions.authenticate(token)),
    },
    confirmed: ({ session_id }) => sessions.confirmation.proven(session_id),
    lacksFactor: ({ level, person_id }) => {
      const { second_factor = 'off' } = siteConsole.settings();
      return second_factor !== 'off' && includesLevel(level, second_factor) && !sessions.hasFactor(person_id);
    },
    log,
    version: VERSION,
    metrics,
    idempotency: await createIdempotencyStore(store, clock, sipKey),
  });
  addRoutes(host.app, {
    config,
    version: VERSION,
    clock,
    log,
    live: live.view,
    health: { metrics, engineUp, checks },
    directory,
    objects,
    stream,
    enginePort: () => (exchange.running() ? instance.http_port : null),
    agents,
    apiKeys,
    applies,
    audit,
    boards,
    calls,
    credentials,
    draft,
    exports,
    history,
    liveCalls,
    parking,
    presence,
    privacy,
    queues,
    recordings,
    selfService,
    sessions,
    siteConsole,
    sounds,
    wallboard,
    webhooks,
  });

  const address = await host.listen(config.listen).catch((error: unknown) => {
    const { host: name, port } = config.listen;
    throw new ConfigError(
      `OFFHOOK_LISTEN=${name}:${port}: expected an address that is free; ${messageOf(error)}`,
    );
  });
  stack.defer(async () => {
    host.drain();
    await host.close();
  });
  if (config.metricsListen !== null) {
    const listener = await listenMetrics(config.metricsListen, { metrics, engineUp, checks }, log);
    stack.defer(() => listener.close());
  }
  log.info({ ...address, ms: Math.round(performance.now() - began) }, 'listening');
  say(`Listening at ${urlOf(address)}; the engine is on its way.`);
  const unready = new AbortController();
  const announced = announce(AbortSignal.any([signal, unready.signal]));
  stack.defer(async () => {
    unready.abort();
    await announced;
  });

  /** Says once that everything works, as soon as it does. */
  async function announce(until: AbortSignal): Promise<void> {
    while (!until.aborted && (await readiness(checks)).status !== 'ready') {
      await clock.sleep(READY_POLL_MS, until).catch(() => undefined);
    }
    if (until.aborted) return;
    const seconds = (performance.now() - began) / 1000;
    log.info({ seconds }, 'ready');
    for (const warning of exposures(config)) log.warn({}, warning);
    const terminal = process.stdout.isTTY;
    print(await readyText(config, address, { deskPhones: exchange.deskPhones(), seconds, terminal }));
  }

  const stopped = Promise.withResolvers<void>();
  if (signal.aborted) stopped.resolve();
  else signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  const parts = stack.move();
  return {
    address,
    closed: stopped.promise,
    keepEngine() {
      keepEngine = true;
    },
    async [Symbol.asyncDispose]() {
      log.info({}, 'stopping');
      await parts.disposeAsync();
    },
  };
}
