/** A host with the event stream over a journal in memory; a test publishes the events. */
import { addOperations } from '../../src/http/operations.ts';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { openMemoryJournal } from '../../src/adapters/memory/journal-store.ts';
import { silent } from '../../src/core/log.ts';
import { createStream } from '../../src/delivery/stream.ts';
import type { Stream, LocalOptions } from '../../src/delivery/stream.ts';
import type { HostOptions } from '../../src/http/host.ts';
import { openJournal } from '../../src/journal/journal.ts';
import type { LocalJournal } from '../../src/journal/journal.ts';
import type { JournalStore } from '../../src/ports/journal-store.ts';
import type { Commands } from '../../src/ports/operations.ts';
import type { TopicSource } from '../../src/ports/stream.ts';
import { directoryFixture } from './directory-fixture.ts';
import type { DirectoryFixture } from './directory-fixture.ts';
import { hostFixture } from './host-fixture.ts';
import { manualClock } from './sessions-fixture.ts';
import type { ManualClock } from './sessions-fixture.ts';
import { sourcesOf } from './topic-sources.ts';
import { openWs } from './ws-client.ts';
import type { WsClient, WsOptions } from './ws-client.ts';
import { loggedOut } from '../../src/pbx/agent-state.ts';

export interface StreamRig {
  readonly port: number;
  readonly base: string;
  readonly journal: LocalJournal;
  readonly store: JournalStore;
  readonly stream: Stream;
  readonly directory: DirectoryFixture;
  readonly clock: ManualClock;
  /** Events that happened and are not committed yet; null while the state has no place in the journal. */
  held: readonly DomainEvent[] | null;
  /** An event happens: the sources show it, and it is held. */
  happen(...events: readonly DomainEvent[]): void;
  /** Commits the oldest `count` held events, fewer where a commit has to end at a position. */
  commitHeld(count: number): void;
  /** State of the sources: the newest data of each subject, from its events. */
  readonly states: Map<string, unknown>;
  /** Commits events and notifies the stream, as the engine loop does. */
  commit(...events: readonly DomainEvent[]): void;
  endSession(id: number): void;
  endKey(id: number): void;
  /** A client signed in at this level; closed after the test. */
  open(level: string, options?: Partial<WsOptions>): Promise<WsClient>;
  /** A figure of the stream's metrics. */
  figure(name: string): number;
  /** Number of requests for a source's state. */
  readonly taken: number;
  stop(): Promise<void>;
}
export interface RigOptions extends Partial<LocalOptions> {
  readonly host?: Partial<HostOptions>;
  readonly commands?: Commands;
  readonly store?: JournalStore;
}
let counter = 0;
export const presence = (extension: string, summary: string = `s${(counter += 1)}`): DomainEvent => ({
  type: 'presence.changed',
  subject: `presence/${extension}`,
  at: Date.UTC(2026, 10, 21, 12),
  observed: 'live',
  data: {
    extension,
    reachability: 'online',
    activity: 'idle',
    personal: 'available',
    note: null,
    expires_at: null,
    summary,
    since: '2026-11-21T12:00:00.000Z',
  },
});
export const offer = (
  queue: string,
  extension: string,
  note: string = `o${(counter += 1)}`,
): DomainEvent => ({
  type: 'offer.created',
  subject: `queues/${queue}`,
  at: Date.UTC(2026, 10, 21, 12),
  observed: 'live',
  data: { offer_id: note, queue, extension, member: extension, call_id: 'c1' },
});
export const agentReady = (extension: string, queue: string | null = null): DomainEvent => ({
  type: 'agent.ready',
  subject: `agents/${extension}`,
  at: Date.UTC(2026, 10, 21, 12),
  observed: 'live',
  data: { extension, queue, agent: loggedOut(extension, extension, 0) },
});
export const linkDown = (): DomainEvent => ({
  type: 'engine.link_down',
  subject: 'engine',
  at: Date.UTC(2026, 10, 21, 12),
  observed: 'live',
  data: { node: 'ast1', reason: 'cut' },
});

export async function streamRig(t: Pick<TestContext, 'after'>, options: RigOptions = {}): Promise<StreamRig> {
  const store = options.store ?? openMemoryJournal();
  const journal = openJournal({ store, node: nodeId('ast1') });
  const directory = directoryFixture();
  const clock = manualClock();
  const sessionEnds = new Set<(id: number) => void>();
  const keyEnds = new Set<(id: number) => void>();
  const states = new Map<string, unknown>();
  const figures = new Map<string, () => number>();
  let taken = 0;
  let meetAt = 0;
  const restored = 0;
  const source = (noun: string): TopicSource => ({
    snapshot: (objects) => {
      taken += 1;
      return Object.fromEntries(
        [...states].filter(([subject]) => {
          const [head, name = ''] = subject.split('/');
          return head === noun && (objects === null || objects.includes(name));
        }),
      );
    },
  });
  const stream = createStream({
    journal,
    positions: {
      position: () => rig.held && { seq: journal.head + rig.held.length, restored },
      meet: () => void (meetAt = journal.head + (rig.held?.length ?? 0)),
    },
    sources: {
      ...sourcesOf(source),
      alerts: { snapshot: (objects, since_ms) => ({ objects, since_ms }) },
    },
    directory,
    credentials: {
      onSessionEnded: (listener) => (sessionEnds.add(listener), () => sessionEnds.delete(listener)),
      onKeyEnded: (listener) => (keyEnds.add(listener), () => keyEnds.delete(listener)),
      use: async () => null,
    },
    clock,
    log: silent,
    heartbeatSeconds: 15,
    perPerson: 10_000,
    metrics: { gauge: (name, _help, read) => void figures.set(name, read), gaugeBy: () => {} },
    ...options,
  });
  const host = await hostFixture(options.host);
  addOperations(host.app, [stream.operations(host.app, options.commands ?? { run: async () => ({}) })]);
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= (async () => {
      host.drain();
      await host.close();
      stream.close();
    })());
  t.after(async () => {
    // Fetch keeps idle connections open.
    if (stopped === undefined) host.app.server.closeAllConnections();
    await stop();
  });
  const rig: StreamRig = {
    port,
    base: `http://127.0.0.1:${port}`,
    journal,
    store,
    stream,
    directory,
    clock,
    held: [],
    happen(...events) {
      for (const event of events) states.set(event.subject, event.data);
      rig.held = [...(rig.held ?? []), ...events];
    },
    commitHeld(count) {
      const most = meetAt > journal.head ? Math.min(count, meetAt - journal.head) : count;
      const group = rig.held?.slice(0, most) ?? [];
      rig.held = rig.held?.slice(most) ?? null;
      journal.append(group);
      stream.committed();
    },
    states,
    commit(...events) {
      for (const event of events) states.set(event.subject, event.data);
      journal.append(events);
      stream.committed();
    },
    endSession: (id) => sessionEnds.forEach((listener) => listener(id)),
    endKey: (id) => keyEnds.forEach((listener) => listener(id)),
    async open(level, wanted = {}) {
      const client = await openWs({ port, token: `token-${level}`, ...wanted });
      t.after(() => client.socket.destroy());
      return client;
    },
    figure: (name) => figures.get(name)!(),
    get taken() {
      return taken;
    },
    stop,
  };
  return rig;
}
