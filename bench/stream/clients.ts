/** Clients of the load: their state, their subscriptions, and the number of events due to them. */
import type net from 'node:net';
import type { Site, Wire } from './questions.ts';
import { queueAt, topicsOf } from './script.ts';
import type { Topics } from './script.ts';

type Stage = 'handshake' | 'asking' | 'live' | 'gone';
export interface Client {
  readonly n: number;
  socket: net.Socket;
  stage: Stage;
  frozen: boolean;
  rest: Buffer | null;
  /** Cursor for its resumption. */
  last: number;
  /** Seq of the newest event of this connection; -1 before the first. */
  newest: number;
  received: number;
  due: number;
  /** Due events missed while it was away. */
  missed: number;
  /** Seq of its newest figures, by number of the queue. */
  figures: Int32Array;
  /** Entries of the present page of a stream of Redis. */
  page: number;
  /** Those of them that are still to come; -1 until the answer begins. */
  left: number;
}
interface Setup {
  site: Site;
  wire: Wire;
  port: number;
  topics: Topics;
  wideFirst: number;
  snapshot: boolean;
  resume: boolean;
  behind: number;
}
/** Set by the start of the load, and by the questions `connect` and `return`. */
export const setup: Setup = {
  site: { extensions: 0, queues: 0 },
  wire: 'ws',
  port: 0,
  topics: 'none',
  wideFirst: 0,
  snapshot: false,
  resume: false,
  behind: 0,
};
export const setUp = (changes: Partial<Setup>): void => void Object.assign(setup, changes);

export let clients: readonly Client[] = [];
/** Clients by subscription, to count due messages. */
export let byExtension = new Map<number, Client[]>();
export let byQueue = new Map<string, Client[]>();
export let wide: readonly Client[] = [];

/** Replaces all clients by `count` new ones without a connection. */
export function makeClients(count: number): void {
  clients = Array.from({ length: count }, (_, n) => ({
    n,
    socket: undefined as unknown as net.Socket,
    stage: 'handshake',
    frozen: false,
    rest: null,
    last: 0,
    newest: -1,
    received: 0,
    due: 0,
    missed: 0,
    figures: new Int32Array(setup.site.queues),
    page: 0,
    left: -1,
  }));
  index();
}
function index(): void {
  const { site, topics, wideFirst } = setup;
  byExtension = new Map();
  byQueue = new Map();
  wide = topics === 'wide' ? clients : clients.slice(0, wideFirst);
  if (topics !== 'narrow') return;
  for (const client of clients.slice(wideFirst)) {
    const own = client.n % site.extensions;
    const queue = queueAt(own, site.queues);
    byExtension.set(own, [...(byExtension.get(own) ?? []), client]);
    const inQueue = byQueue.get(queue) ?? [];
    inQueue.push(client);
    byQueue.set(queue, inQueue);
  }
}
export const topicsFor = ({ n }: Client): string[] =>
  topicsOf(n < setup.wideFirst ? 'wide' : setup.topics, n, setup.site.extensions, setup.site.queues);
/** Counts an event for these clients: as due, or as missed while one is away. Returns the number of due messages. */
export function due(list: readonly Client[]): number {
  let count = 0;
  for (const client of list) {
    if (client.frozen) continue;
    if (client.stage !== 'live') {
      client.missed += 1;
      continue;
    }
    client.due += 1;
    count += 1;
  }
  return count;
}

/** Handlers of the present question: a client is live, bytes were received. After a failure both are called. */
export const pending = {
  onLive: (): void => undefined,
  onReceived: (): void => undefined,
  failure: null as Error | null,
};
export function live(client: Client): void {
  if (client.stage === 'live') return;
  client.stage = 'live';
  pending.onLive();
}
export function fail(why: string): void {
  pending.failure ??= new Error(why);
  pending.onReceived();
  pending.onLive();
}
