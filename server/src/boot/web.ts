/** A node without an engine: it serves the console and the event streams, and the leading node answers everything else. */
import { setTimeout as wait } from 'node:timers/promises';
import type { NodeId } from '@offhook/contract/ids.ts';
import { systemClock } from '../core/clock.ts';
import { ServiceError } from '../core/errors.ts';
import { createRemoteSnapshots } from '../delivery/remote-snapshots.ts';
import { createStream } from '../delivery/stream.ts';
import type { Stream } from '../delivery/stream.ts';
import type { View } from '../delivery/view.ts';
import { createDirectory } from '../features/pbx-config/directory.ts';
import { openObjects } from '../features/pbx-config/objects.ts';
import type { ObjectStore } from '../features/pbx-config/objects.ts';
import { createForward } from '../http/forward.ts';
import type { Forward } from '../http/forward.ts';
import { healthOperations } from '../http/health.ts';
import type { Check } from '../http/health.ts';
import { createHost } from '../http/host.ts';
import { createMetrics } from '../http/metrics.ts';
import type { TlsPair } from '../http/secure.ts';
import { addOperations } from '../http/operations.ts';
import { openFollowed } from '../journal/attach.ts';
import { openJournal } from '../journal/journal.ts';
import { Replica } from '../journal/replica.ts';
import { keepRetention } from '../journal/retention.ts';
import type { Bus } from '../ports/bus.ts';
import type { JournalStore } from '../ports/journal-store.ts';
import type { Commands } from '../ports/operations.ts';
import type { Common } from '../ports/common.ts';
import type { SiteLog } from '../ports/site-log.ts';
import type { SiteNodes } from '../ports/site-nodes.ts';
import type { Store } from '../ports/store.ts';
import { urlOf } from './banner.ts';
import { busCheck, busGauges, openBus } from './bus.ts';
import { certificateCheck } from './certificate-check.ts';
import { VERSION } from './config.ts';
import type { Address } from './setting-values.ts';
import type { Config } from './config.ts';
import { addConsole, listenHttp, serveMetrics } from './listen.ts';
import { Leader } from './leader.ts';
import { holderOf, openSiteDatabase, whenReachable } from './server-site.ts';
import { shownNodes } from './node.ts';
import { knownSite } from './site-id.ts';
import { sealingKey, shareKey, siteKey, siteSecret } from './site-key.ts';
import { copyFileOf, newestVersion, nodeUrlOf } from './standby.ts';
import { openFolder } from './stores.ts';
import { WebCertificate, listenByCertificate } from './web-certificate.ts';
import { WebCredentials, tablesOf } from './web-credentials.ts';
import { CUT_OFF_MS, UNREADY_MS, WebWatch } from './web-watch.ts';

/** Interval between questions for a site that was not begun yet. */
const ASK_MS = 1_000;
/** Longest time that the answer to a write waits for its events at this node, in ms. */
const OWN_WRITE_MS = 1_000;

export interface WebNode extends AsyncDisposable {
  readonly address: Address;
  /** Resolves once it was asked to stop, or has to begin anew. */
  readonly closed: Promise<void>;
  /** Why its copy of the events cannot be used any more; null where it was asked to stop. */
  readonly failure: string | null;
}
export interface WebNodeOptions {
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Receives whole lines for the terminal. */
  readonly print: (text: string) => void;
}
interface Base extends Common<'log' | 'store'> {
  readonly config: Config;
  readonly siteLog: SiteLog;
  readonly nodes: SiteNodes;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Resolves once it listens, with the events of the site read; null where it was stopped before. */
export async function startWebNode({ config, signal, print }: WebNodeOptions): Promise<WebNode | null> {
  await using stack = new AsyncDisposableStack();
  const { log } = openFolder(config, stack);
  const say = (line: string): void => print(`  ${line}\n`);
  const { siteLog, nodes, store } = openSiteDatabase(config, log, stack);
  const base: Base = { config, log, siteLog, nodes, store, say, signal };
  try {
    const ended = Promise.withResolvers<void>();
    let failure: string | null = null;
    const address = await serve(base, stack, (why) => {
      failure ??= why;
      ended.resolve();
    });
    if (signal.aborted) ended.resolve();
    else signal.addEventListener('abort', () => ended.resolve(), { once: true });
    const held = stack.move();
    return {
      address,
      closed: ended.promise,
      get failure() {
        return failure;
      },
      [Symbol.asyncDispose]: () => held.disposeAsync(),
    };
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}
/** The copy of the log on this machine, once there is a log. */
async function openCopy(base: Base): Promise<JournalStore> {
  const { siteLog, store, signal, say } = base;
  for (let said = false; ; said = true) {
    const copy = await whenReachable({ ...base, clock: systemClock }, async () => {
      const state = await siteLog.state();
      const copyFile = state === null ? null : await copyFileOf(base, store)();
      return state === null || copyFile === null ? null : openFollowed({ siteLog, state, copyFile });
    });
    if (copy !== null) return copy;
    if (!said) say('Waiting for a node that leads the site.');
    await wait(ASK_MS, undefined, { signal });
  }
}
/** The directory of the configuration that is in the database. */
async function followDirectory(store: Store) {
  let objects: ObjectStore = await openObjects(store);
  const directory = createDirectory({
    applied: () => objects.applied(),
    heldSince: (extension) => objects.heldSince(extension),
    knownSince: (person) => objects.knownSince(person),
  });
  return {
    directory,
    version: () => objects.version,
    async reload() {
      if ((await newestVersion(store)) === objects.version) return;
      objects = await openObjects(store);
      directory.reload();
    },
  };
}

async function serve(base: Base, stack: AsyncDisposableStack, end: (why: string) => void): Promise<Address> {
  const { config, log, nodes, say, signal, siteLog, store } = base;
  const waiting = { say, signal, clock: systemClock };
  await whenReachable(waiting, () => shareKey(nodes, config.data));
  const secret = siteSecret(await siteKey(config.data), 'nodes');
  const copy = await openCopy(base);
  const journal = openJournal({ store: copy, node: config.node! as NodeId });
  stack.defer(() => journal.close());
  const people = await whenReachable(waiting, () => followDirectory(store));
  const { directory } = people;
  const leader = new Leader(secret);
  const credentials = new WebCredentials({
    ask: (call) => leader.call(call),
    db: tablesOf(store),
    directory,
    clock: systemClock,
  });
  let stream: Stream | null = null;
  const replica = new Replica({
    siteLog,
    store: copy,
    journal,
    log,
    committed: () => stream?.committed(),
    changesRights: ({ type }) => type.startsWith('config.'),
    reload: () => people.reload(),
    replaced(why) {
      log.error({ why }, 'the copy of this node belongs to another log than that of the site');
      end(`the log of the site is another one than its copy: ${why}`);
    },
  });
  replica.begin();
  stack.defer(() => replica.close());
  // The copy of a site has its name.
  const site = (await whenReachable(waiting, () => knownSite(store)))!;
  const bus = (await openBus({ config, log, site }, stack))?.bus ?? null;
  bus?.onNews((news) => replica.hear(news));
  // A stream opened earlier would receive old events as if they happened now.
  say('Reading the events of the site.');
  while (replica.age() > UNREADY_MS || replica.behind() > 0) await wait(20, undefined, { signal });

  const metrics = createMetrics();
  const snapshots = createRemoteSnapshots({
    ask: async (wanted) => (await leader.call({ op: 'view', wanted })) as View & { readonly epoch: string },
    journal,
    copy: replica,
    log,
  });
  const opened = (stream = createStream({
    journal,
    snapshots,
    tickets: credentials,
    reach: (seq) => replica.reach(seq),
    directory,
    credentials,
    clock: systemClock,
    log,
    metrics,
    heartbeatSeconds: config.streamHeartbeatSeconds,
    perPerson: config.streamsPerPerson,
  }));
  stack.defer(() => opened.close());
  stack.defer(credentials.onFactorRequired((of) => opened.interrupt(of)));
  const holder = await holderOf(config.data);
  let address: Address = config.listen;
  const watch = new WebWatch({
    nodes,
    report: () => ({
      name: config.node!,
      holder,
      url: nodeUrlOf({ ...config, listen: address }),
      role: 'web',
      engine: 'none',
      version: people.version(),
      problem: null,
      head: journal.head,
      calls: null,
      bus: bus === null ? null : bus.state().up,
    }),
    leader,
    reload: () => people.reload(),
    credentials,
    stream: opened,
    copyAge: () => replica.age(),
    clock: systemClock,
    log,
    end,
  });
  stack.defer(() => watch.close());
  await whenReachable(waiting, () => watch.begin());
  const certificate = new WebCertificate({
    leader,
    key: sealingKey(await siteKey(config.data)),
    data: config.data,
    clock: systemClock,
    log,
  });
  const followed = { metrics, stream: opened, credentials, leader, secret, replica, watch, bus };
  const listening = await listen({ ...base, ...followed, certificate }, stack);
  address = listening.address;
  const stop = new AbortController();
  const retention = keepRetention({
    journal,
    // This node has no model that would need earlier events.
    spare: () => journal.head,
    clock: systemClock,
    log,
    days: config.journalDays,
    bytes: config.journalMegabytes * 1_048_576,
    signal: stop.signal,
  });
  stack.defer(() => {
    stop.abort();
    return retention;
  });
  const at = [nodeUrlOf({ ...config, listen: address }), ...listening.secured];
  say(`Listening at ${at.join(' and ')} as a web node.`);
  return address;
}

function checksOf({ bus, certificate, replica, leader, watch }: EdgeParts): readonly Check[] {
  return [
    {
      name: 'store',
      run: async () => ({
        ok: watch.silentMs() < UNREADY_MS,
        detail: `read ${(watch.silentMs() / 1000).toFixed(1)} s ago`,
      }),
    },
    {
      name: 'copy',
      run: async () => ({ ok: replica.age() < UNREADY_MS, detail: `${replica.behind()} events behind` }),
    },
    busCheck(bus, () =>
      replica.hears() ? null : 'the leading node is not heard, so the log is read every 50 ms',
    ),
    certificateCheck(() => certificate.state(), systemClock),
    {
      name: 'nodes',
      // Streams work without it, so a load balancer must not remove every web node at once.
      needed: false,
      run: async () => ({ ok: leader.url() !== null, detail: shownNodes(leader.nodes) }),
    },
  ];
}

interface EdgeParts extends Base {
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly stream: Stream;
  readonly credentials: WebCredentials;
  readonly leader: Leader;
  readonly secret: string;
  readonly replica: Replica;
  readonly watch: WebWatch;
  readonly bus: Bus | null;
  readonly certificate: WebCertificate;
}
const DOCUMENTS: ReadonlySet<string> = new Set(['/api/v1/openapi.json', '/api/v1/asyncapi.json']);

/** Commands of the event stream, which the leading node runs. */
const commandsOf = (leader: Leader, reached: (seq: number) => Promise<void>): Commands => ({
  async run({ caller, ip }, action, data, key) {
    const { result, seq } = (await leader.call({ op: 'command', caller, ip, action, data, key })) as {
      readonly result: unknown;
      readonly seq: number;
    };
    await reached(seq);
    return result;
  },
});
const firstPair = ({ certificate, say, signal }: EdgeParts): Promise<TlsPair> =>
  certificate.first(signal, () => say('Waiting for the certificate of the leading node.'));

/** `secured`: the address by HTTPS, or none. */
async function listen(
  parts: EdgeParts,
  stack: AsyncDisposableStack,
): Promise<{ readonly address: Address; readonly secured: readonly string[] }> {
  const { bus, config, credentials, leader, log, metrics, replica, stream, watch } = parts;
  const reached = (seq: number): Promise<void> => replica.reach(seq, OWN_WRITE_MS).catch(() => undefined);
  const forward: Forward = createForward({
    own: (method, at) => !DOCUMENTS.has(at) && host.table.find(at)?.methods.has(method) === true,
    target: () => leader.url(),
    secret: parts.secret,
    reached,
    log: log.child({ part: 'forward' }),
  });
  leader.onSeen = (url) => forward.leads(url);
  stack.defer(() => forward.close());
  const host = await createHost({
    config,
    authenticator: credentials,
    lacksFactor: (caller) => credentials.lacksFactor(caller),
    log,
    version: VERSION,
    metrics,
    forward,
    fence() {
      if (watch.silentMs() < CUT_OFF_MS) return;
      throw new ServiceError('node_not_active', 'this node is cut off from the site; connect to another one');
    },
  });
  const { app } = host;
  addConsole(app, log);
  const engineUp = (): boolean => leader.node?.engine === 'up';
  const health = { metrics, engineUp, checks: checksOf(parts) };
  const { operations, handlers } = stream.operations(app, commandsOf(leader, reached));
  const { ticket: _, ...served } = operations;
  addOperations(app, [healthOperations(health), { operations: served, handlers }]);
  busGauges(metrics, bus);
  metrics.gauge('offhook_node_active', 'Whether this node leads the site.', () => 0);
  metrics.gauge('offhook_node_copy_behind', 'Events that the copy of this node lacks.', () =>
    replica.behind(),
  );
  metrics.gauge(
    'offhook_node_copy_seconds',
    'Seconds since the log was last read.',
    () => replica.age() / 1000,
  );
  metrics.gauge(
    'offhook_node_forwarded',
    'Requests that the leading node answered.',
    () => forward.counts.forwarded,
  );
  metrics.gauge(
    'offhook_node_forward_failed',
    'Requests that it gave no answer to.',
    () => forward.counts.failed,
  );
  // A load balancer that sees this node ready may send clients by HTTPS.
  const pair = config.httpsListen === null ? null : await firstPair(parts);
  const address = await listenHttp(host, config, stack);
  const secured = await listenByCertificate(host, { ...parts, pair }, stack);
  await serveMetrics(config, health, log, stack);
  return { address, secured: secured === null ? [] : [urlOf(address, secured)] };
}
