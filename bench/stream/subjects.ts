/** One subject of delivery with its load: ours or a peer on one core, its engine and its clients on the other. */
import type { ChildProcess } from 'node:child_process';
import {
  GENERATOR_CORE,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  cpuOf,
  end,
  firstLine,
  start,
  temporaryFolder,
} from '../lib.ts';
import { fillSite } from '../site-data.ts';
import { startBroker } from './brokers.ts';
import type { BrokerName } from './brokers.ts';
import { AGENTS_PER_QUEUE } from './script.ts';
import type { Connected, LoadQuestion, Played, Site, Wire } from './questions.ts';

export type Kind =
  | 'ours'
  | 'ours sse'
  | 'bridge'
  | 'ws'
  | 'socket.io'
  | 'preframed'
  | 'due'
  | 'sse'
  | 'replay'
  | 'replay json'
  | 'redis'
  | 'redis log'
  | 'jetstream'
  | 'jetstream log';
const WIRES: Readonly<Record<Kind, Wire>> = {
  ours: 'offhook',
  'ours sse': 'offhook-sse',
  bridge: 'ws',
  ws: 'ws',
  'socket.io': 'socket.io',
  preframed: 'ws',
  due: 'ws',
  sse: 'sse',
  replay: 'ws',
  'replay json': 'ws',
  redis: 'redis',
  'redis log': 'redis-log',
  jetstream: 'nats',
  'jetstream log': 'nats-log',
};
const brokerOf = (kind: Kind): BrokerName | null => {
  if (kind.startsWith('redis')) return 'redis';
  return kind.startsWith('jetstream') ? 'jetstream' : null;
};
/** Names in the tables. */
export const NAMES: Readonly<Record<Kind, string>> = {
  ours: 'Offhook',
  'ours sse': 'Offhook, server-sent events',
  bridge: 'asterisk-manager and ws',
  ws: 'ws',
  'socket.io': 'socket.io',
  preframed: 'one frame written to bare sockets',
  due: 'one frame, figures and heartbeats written to bare sockets',
  sse: 'one event written to bare responses',
  replay: 'frames that lie ready in memory, to a bare socket',
  'replay json': 'SQLite rows, each parsed and made anew, with ws',
  redis: 'Redis pub/sub',
  'redis log': 'stream of Redis, in pages of 1,000',
  jetstream: 'JetStream, stored and then sent on',
  'jetstream log': 'JetStream, a consumer from the cursor on',
};
type Ask = Omit<Extract<LoadQuestion, { ask: 'connect' }>, 'ask' | 'wire' | 'port'>;
/** Result of a play, and its cost for the subject. */
export interface Cost extends Played {
  /** Microseconds of the subject's CPU, its message server included. */
  readonly cpu: number;
}
export interface Subject extends AsyncDisposable {
  readonly kind: Kind;
  readonly process: ChildProcess;
  connect(how: Ask): Promise<Connected>;
  play(what: Omit<Extract<LoadQuestion, { ask: 'play' }>, 'ask'>): Promise<Cost>;
  ask<T>(question: LoadQuestion): Promise<T>;
  comeBack(how: Omit<Extract<LoadQuestion, { ask: 'return' }>, 'ask'>): Promise<Connected>;
  /** Appends so many events to our journal. */
  fill(events: number): Promise<void>;
  /** Bytes of the process after a garbage collection. */
  memory(): Promise<number>;
}

/** Starts a subject and waits until it is live. The site has one open session for each possible client. */
export async function startSubject(
  kind: Kind,
  site: Site,
  options: { readonly clients: number; readonly flags?: readonly string[]; readonly level?: 'supervisor' },
): Promise<Subject> {
  const stack = new AsyncDisposableStack();
  try {
    const load = start('stream/load.ts', [JSON.stringify(site)], GENERATOR_CORE);
    stack.defer(() => end(load));
    const engine = await firstLine<{ port: number }>(load);
    let process: ChildProcess;
    /** Processes of the subject: two with a message server. */
    const pids: number[] = [];
    const cpu = (): number => pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
    const flags = ['--expose-gc', ...(options.flags ?? [])];
    if (kind.startsWith('ours')) {
      const folder = temporaryFolder();
      stack.defer(() => folder[Symbol.dispose]());
      await fillSite(folder.path, {
        extensions: site.extensions,
        queues: site.queues,
        agentsPerQueue: AGENTS_PER_QUEUE,
        static: true,
        sessions: options.clients,
        ...(options.level === undefined ? {} : { level: options.level }),
      });
      process = start('service-subject.ts', [folder.path, engine.port], SUBJECT_CORE, [
        ...SERVICE_FLAGS,
        ...flags,
      ]);
    } else {
      const name = brokerOf(kind);
      const broker = name === null ? null : stack.use(await startBroker(name));
      if (broker !== null) pids.push(broker.pid);
      const ports = [engine.port, ...(broker === null ? [] : [broker.port])];
      process = start('stream/peer.ts', [kind, ...ports], SUBJECT_CORE, flags);
    }
    pids.push(process.pid!);
    stack.defer(() => end(process));
    const { port } = await firstLine<{ port: number }>(process);
    const put = async <T>(question: LoadQuestion): Promise<T> => await ask<T>(load, question);
    const owned = stack.move();
    return {
      kind,
      process,
      ask: put,
      connect: async (how) => await put({ ask: 'connect', wire: WIRES[kind], port, ...how }),
      async play(what) {
        const before = cpu();
        const played = await put<Played>({ ask: 'play', ...what });
        const used = cpu() - before;
        if (played.wrong > 0 || played.received !== played.due) {
          throw new Error(`${kind}: ${JSON.stringify(played)}`);
        }
        return { ...played, cpu: used };
      },
      comeBack: async (how) => await put({ ask: 'return', ...how }),
      async fill(events) {
        await ask(process, { ask: 'fill', events });
      },
      async memory() {
        return (await ask<{ rss: number }>(process, { ask: 'memory' })).rss;
      },
      async [Symbol.asyncDispose]() {
        await owned.disposeAsync();
      },
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
/** Starts several, gives them to `work`, and ends them all. */
export async function withSubjects<T>(
  kinds: readonly Kind[],
  site: Site,
  clients: number,
  work: (subjects: ReadonlyMap<Kind, Subject>) => Promise<T>,
): Promise<T> {
  await using stack = new AsyncDisposableStack();
  const subjects = new Map<Kind, Subject>();
  for (const kind of kinds) {
    const subject = await startSubject(kind, site, { clients });
    stack.use(subject);
    subjects.set(kind, subject);
  }
  return await work(subjects);
}
