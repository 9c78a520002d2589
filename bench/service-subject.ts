/**
 * The service without an engine: `service-subject.ts <data folder> <manager port> [<events> <actions> console]`. It is
 * composed like the service, and answers questions about itself over IPC; `console` adds the operations of a wallboard.
 */
import { hash } from 'node:crypto';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { nodeId } from '@offhook/contract/ids.ts';
import { createAsteriskEngine } from '../server/src/adapters/asterisk/engine.ts';
import { openSqliteJournal } from '../server/src/adapters/sqlite/journal.ts';
import { openSqliteStore } from '../server/src/adapters/sqlite/store.ts';
import { readConfig } from '../server/src/boot/config.ts';
import { systemClock as clock } from '../server/src/core/clock.ts';
import { silent as log } from '../server/src/core/log.ts';
import { hashPassword } from '../server/src/features/sessions/password.ts';
import { createStream } from '../server/src/delivery/stream.ts';
import { createAgents } from '../server/src/features/agents/feature.ts';
import { Boards } from '../server/src/features/boards/service.ts';
import { boardOperations } from '../server/src/features/boards/operations.ts';
import { createLiveCalls } from '../server/src/features/calls/live.ts';
import { createLiveParking } from '../server/src/features/calls/parking.ts';
import { callOperations } from '../server/src/features/calls/operations.ts';
import { consoleRoutes } from '../server/src/features/console/routes.ts';
import { frontDoorOperations, frontDoorRoutes } from '../server/src/features/front-door/routes.ts';
import { createQueues } from '../server/src/features/queues/service.ts';
import { queueOperations } from '../server/src/features/queues/operations.ts';
import { wallboardOperations } from '../server/src/features/wallboard/operations.ts';
import { createAudit } from '../server/src/features/audit/service.ts';
import { createContacts } from '../server/src/features/contacts/feature.ts';
import { presenceSource } from '../server/src/features/contacts/presence.ts';
import { contactOperations } from '../server/src/features/contacts/operations.ts';
import { createDirectory } from '../server/src/features/pbx-config/directory.ts';
import { openObjects } from '../server/src/features/pbx-config/objects.ts';
import { siteEvent } from '../server/src/features/pbx-config/live.ts';
import { sessionOperations } from '../server/src/features/sessions/operations.ts';
import { Sessions } from '../server/src/features/sessions/service.ts';
import { Wallboard } from '../server/src/features/wallboard/service.ts';
import { createHost } from '../server/src/http/host.ts';
import { addOperations } from '../server/src/http/operations.ts';
import { EngineLoop } from '../server/src/journal/engine-loop.ts';
import { eventOf, openJournal } from '../server/src/journal/journal.ts';
import { createLiveView } from '../server/src/journal/live.ts';
import { createModel } from '../server/src/pbx/model.ts';
import { PASSWORD, extensionOf } from './site-data.ts';
import { sourcesOf } from '../server/test/support/topic-sources.ts';
import { presenceEvent } from './stream/events.ts';

export type Question =
  | { readonly ask: 'token' }
  | { readonly ask: 'rebuild'; readonly times: number }
  | { readonly ask: 'hashes'; readonly concurrency: number; readonly ms: number }
  | { readonly ask: 'delay' }
  | { readonly ask: 'memory' }
  /** The present figures of every queue. */
  | { readonly ask: 'stats' }
  /** Appends so many events of presence to the journal without publishing them. */
  | { readonly ask: 'fill'; readonly events: number }
  | { readonly ask: 'resync' };

const [data = '', port = '', events = 'e:e', actions = 'a:a', also = ''] = process.argv.slice(2);
const account = (text: string): { user: string; secret: string } => ({
  user: text.slice(0, text.indexOf(':')),
  secret: text.slice(text.indexOf(':') + 1),
});
const config = readConfig({ OFFHOOK_DATA: data, OFFHOOK_SITE_ZONE: 'UTC' });
const node = nodeId('ast1');
const store = await openSqliteStore(path.join(data, 'offhook.db'));
const journal = openJournal({ store: openSqliteJournal(path.join(data, 'journal.db')), node });
const directory = createDirectory(await openObjects(store));
const audit = await createAudit(store, clock, log);
const deps = { store, clock, directory, audit, log };
const sessions = await Sessions.open({ ...deps, config, sipKey: Buffer.alloc(32) });
const began = performance.now();
const engine = createAsteriskEngine({
  node,
  clock,
  log,
  connect: async () => ({
    host: '127.0.0.1',
    port: Number(port),
    events: account(events),
    actions: account(actions),
  }),
  // The rows change states without an engine; a resync must not undo them, also in a soak of hours.
  resync_ms: 86_400_000,
});
const model = createModel();
const live = createLiveView(model.view);
const agents = await createAgents({
  engine,
  live: live.view,
  tell: (input) => loop.tell(input),
  ...deps,
});
const queue = (name: string) => {
  const found = live.view.queue(name);
  return { queue: name, waiting: found?.callers ?? [], members: [...(found?.members ?? [])] };
};
const nothing = { snapshot: () => ({}) };
const withConsole = also === 'console';
const liveCalls = createLiveCalls(live.view, clock);
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
const wallboard = await Wallboard.open({
  store,
  journal,
  eventOf,
  clock,
  directory,
  live: live.view,
  audit,
  log,
  zone: config.siteZone,
  publish: (made) => loop.publish(made),
});
const stream = createStream({
  journal,
  positions: { position: () => loop.position(), meet: () => loop.meet() },
  sources: {
    ...sourcesOf(() => nothing),
    presence: presenceSource({ directory, live: live.view, clock }),
    calls: withConsole ? liveCalls : nothing,
    parking: withConsole ? createLiveParking(live.view, clock) : nothing,
    queues: {
      snapshot(names) {
        if (!withConsole) return (names ?? []).map(queue);
        const shown = queues.snapshot(names);
        const withStats = shown.queues.map((q) => ({ ...q, stats: wallboard.stats(q.name) ?? null }));
        return { ...shown, queues: withStats };
      },
    },
    agents: withConsole ? agents : nothing,
  },
  directory,
  credentials: {
    onSessionEnded: (listener) => sessions.onSessionEnded(listener),
    onKeyEnded: () => () => undefined,
    use: async ({ session_id }) => sessions.use(session_id),
  },
  clock,
  log,
  heartbeatSeconds: config.streamHeartbeatSeconds,
  perPerson: 100,
});
const stop = new AbortController();
const isLive = Promise.withResolvers<number>();
const loop = new EngineLoop({ engine, model, journal, log });
loop.begin({
  signal: stop.signal,
  site: siteEvent(directory.config(), clock.now()),
  onStepped() {
    live.changed();
    if (live.view.live) isLive.resolve(performance.now() - began);
  },
  onCommitted(rows, made) {
    wallboard.onCommitted(rows, made);
    stream.committed();
    for (const event of made) agents.onDomainEvent(event);
  },
});
const contacts = createContacts({ directory, live: live.view, clock });
const host = await createHost({ config, authenticator: sessions, log, version: '0.0.0' });
const { signIn, session } = sessionOperations({
  sessions,
  directory,
  config,
  turn: { network: () => directory.config().network, secret: '', now: () => clock.now() },
});
addOperations(host.app, [signIn, session, contactOperations(contacts), agents.operations]);
if (withConsole) {
  const keys = () => Promise.reject(new Error('this subject has no display keys'));
  const boards = await Boards.open({
    store,
    clock,
    directory,
    audit,
    keys: () => ({ create: keys, list: keys, revoke: keys }) as never,
  });
  addOperations(host.app, [
    boardOperations(boards),
    callOperations(liveCalls),
    queueOperations(queues),
    wallboardOperations(wallboard),
    frontDoorOperations({ config, version: '0.0.0', clock }),
  ]);
  frontDoorRoutes(host.app, { config });
  consoleRoutes(host.app, { folder: path.resolve(import.meta.dirname, '../console/dist') });
}
addOperations(host.app, [stream.operations(host.app, { run: async () => ({}) })]);
const address = await host.listen({ host: '127.0.0.1', port: 0 });
const connected = await isLive.promise;
const written = async (): Promise<void> => {
  while (loop.lag().held > 0) await clock.sleep(1);
};
await written();

// Measured from the first question on: its timer alone wakes the process a thousand times per second.
const delay = monitorEventLoopDelay({ resolution: 1 });
process.on('message', (question: Question) => {
  void answer(question).then((reply) => process.send?.(reply));
});
async function answer(question: Question): Promise<object> {
  switch (question.ask) {
    case 'token': {
      const name = extensionOf(0);
      const issued = await sessions.login({ name, password: PASSWORD, ip: '127.0.0.1' });
      return { token: issued.token };
    }
    case 'rebuild':
      return rebuild(question.times);
    case 'hashes':
      return await hashes(question.concurrency, question.ms);
    case 'delay': {
      const reply = {
        p50: delay.percentile(50) / 1e6,
        p99: delay.percentile(99) / 1e6,
        max: delay.max / 1e6,
      };
      delay.enable();
      delay.reset();
      return reply;
    }
    case 'stats':
      return Object.fromEntries(directory.queues().map(({ name }) => [name, wallboard.stats(name)]));
    case 'memory':
      globalThis.gc?.();
      return { rss: process.memoryUsage.rss(), heap: process.memoryUsage().heapUsed };
    case 'fill':
      return fill(question.events);
    case 'resync': {
      const before = engine.diagnostics().resyncs;
      const from = performance.now();
      engine.resync();
      while (engine.diagnostics().resyncs === before) await clock.sleep(1);
      await new Promise((resolve) => setImmediate(resolve));
      await written();
      return { ms: performance.now() - from, drift: engine.status().counters.drift };
    }
  }
}
/** Appends the missed events of a client that was away for long. */
function fill(count: number): { head: number; us: number } {
  const from = performance.now();
  for (let done = 0; done < count; done += 500) {
    const length = Math.min(500, count - done);
    const events = Array.from({ length }, (_, i) => presenceEvent(done + i));
    journal.append(events);
  }
  return { head: journal.head, us: ((performance.now() - from) * 1000) / count };
}
let changes = 0;
/** Changes one extension's state and reads the whole list, repeatedly: milliseconds of each. */
function rebuild(times: number): { ms: number[] } {
  const people = directory.people();
  const ms: number[] = [];
  let last = '';
  for (let i = 0; i < times; i++) {
    const n = changes++;
    const endpoint = people[n % people.length]!.extension;
    // Each pass over the people sets the other state, so that every step is a change.
    const state = Math.floor(n / people.length) % 2 === 0 ? 'INUSE' : 'NOT_INUSE';
    const from = performance.now();
    model.step({ type: 'device.state', at: clock.now(), endpoint, state });
    const etag = contacts.etag();
    contacts.body();
    ms.push(performance.now() - from);
    if (etag === last) throw new Error('a changed list has its old tag');
    last = etag;
  }
  return { ms };
}
/** The limit of signing in: the key derivation alone. */
async function hashes(concurrency: number, ms: number): Promise<{ count: number; seconds: number }> {
  const from = performance.now();
  let count = 0;
  const work = async (): Promise<void> => {
    while (performance.now() - from < ms) {
      await hashPassword(PASSWORD);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { count, seconds: (performance.now() - from) / 1000 };
}
console.log(
  JSON.stringify({ port: address.port, connected_ms: connected, life: hash('sha256', String(began)) }),
);
process.on('SIGTERM', () => process.exit());
