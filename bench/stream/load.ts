/**
 * Thousands of clients on one core, with their engine: `load.ts <the site, as JSON>`. It prints the `{ port }` of that
 * engine and accepts requests over IPC. Clients and engine share a process, so that one clock measures both ends.
 */
import net from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startFakeAmi } from '../../server/test/support/fake-ami.ts';
import type { FakeState } from '../../server/test/support/fake-ami.ts';
import { framesOf, stampedNow } from '../recording.ts';
import { extensionOf, queueOf, tokenOf } from '../site-data.ts';
import {
  AGENTS_PER_QUEUE,
  LOGGED,
  SCRIPT_MS,
  callerFrame,
  deviceFrame,
  extensionAt,
  queueAt,
  topicsOf,
} from './script.ts';
import type { Topics } from './script.ts';
import * as nats from './nats.ts';
import * as redis from './redis.ts';
import { clientFrame, eachFrame, upgradeRequest } from './wire.ts';

/**
 * Protocol of a subject. `ws` is that of every peer with bare WebSocket frames; the last four are those of message
 * servers, and with `-log` a client reads the events that it missed.
 */
export type Wire =
  | 'offhook'
  | 'ws'
  | 'socket.io'
  | 'offhook-sse'
  | 'sse'
  | 'redis'
  | 'redis-log'
  | 'nats'
  | 'nats-log';
export interface Site {
  readonly extensions: number;
  readonly queues: number;
}
export type LoadQuestion =
  | {
      readonly ask: 'connect';
      readonly wire: Wire;
      readonly port: number;
      readonly count: number;
      readonly topics: Topics;
      /** Number of first clients with every presence. */
      readonly wideFirst?: number;
      readonly snapshot?: boolean;
      /** Number of missed events before it resumes. */
      readonly behind?: number;
      /** Number of connections opened at once: many for a storm; few otherwise, so that the kernel's backlog is never full. */
      readonly atOnce?: number;
    }
  /** After a `drop`, all clients return at once, with their cursors or for a snapshot. */
  | { readonly ask: 'return'; readonly resume: boolean; readonly atOnce: number }
  | {
      readonly ask: 'play';
      readonly events: number;
      /**
       * Events per second; null: a write follows once all clients have the events of all but the last `window` writes.
       */
      readonly rate: number | null;
      readonly window?: number;
      /** Events in one write of the engine. */
      readonly batch?: number;
      /** Range of participating extensions, and of their queues; by default all. */
      readonly among?: readonly [from: number, to: number];
      readonly callers?: boolean;
    }
  /**
   * Recorded calls at so many frames per second; received events are only counted. Without `settle` it ends with its last frame,
   * and the next flood continues there.
   */
  | { readonly ask: 'flood'; readonly rate: number; readonly seconds: number; readonly settle?: boolean }
  | { readonly ask: 'freeze'; readonly count: number }
  | { readonly ask: 'drop' }
  | { readonly ask: 'close' }
  | { readonly ask: 'actions' };
export interface Connected {
  readonly seconds: number;
  readonly bytes: number;
  readonly received: number;
  readonly wrong: number;
}
export interface Played {
  readonly seconds: number;
  readonly events: number;
  /** Messages due to reading clients. */
  readonly due: number;
  readonly received: number;
  /** Messages with figures of a queue, which follow from the events and are not in `due`. */
  readonly figures: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Events out of order, repeated, with a wrong `prev`, or not subscribed. */
  readonly wrong: number;
  readonly closed: number;
}

export interface Flooded {
  readonly frames: number;
  readonly seconds: number;
  /** Messages of all clients, and the number of those out of order. */
  readonly received: number;
  readonly wrong: number;
  /** Clients whose newest figures of a queue differ from those of the other clients with that queue. */
  readonly different: number;
  /** Milliseconds from the time in an event to its arrival, at some of the clients. */
  readonly lag: { readonly p50: number; readonly p99: number; readonly max: number };
  /**
   * Delay of the load's own event loop, p99 in ms, and its CPU in % of one core. A late load measures too high a lag.
   */
  readonly load: { readonly delay: number; readonly core: number };
  /** `data` of the first client's newest `queue.stats` of each queue. */
  readonly last: Readonly<Record<string, unknown>>;
  readonly stats: number;
}

const SILENCE_MS = 30_000;
const [described = '{}'] = process.argv.slice(2);
const site = JSON.parse(described) as Site;
const ami = await startFakeAmi({ state: engineOf(site) });

/** Engine of a site: every phone is registered, and each queue has its own caller who joins and leaves. */
function engineOf({ extensions, queues }: Site): Partial<FakeState> {
  return {
    devices: Object.fromEntries(
      Array.from({ length: extensions }, (_, i) => [`PJSIP/${extensionOf(i)}`, 'NOT_INUSE']),
    ),
    queues: Object.fromEntries(
      Array.from({ length: queues }, (_, q) => [
        queueOf(q),
        {
          members: Array.from({ length: AGENTS_PER_QUEUE }, (_member, i) => ({
            name: extensionOf(q * AGENTS_PER_QUEUE + i),
            interface: `PJSIP/${extensionOf(q * AGENTS_PER_QUEUE + i)}`,
            membership: 'static' as const,
          })),
        },
      ]),
    ),
    channels: Array.from({ length: queues }, (_, q) => ({
      name: `PJSIP/trunk-${q.toString(16).padStart(8, '0')}`,
      uniqueid: `bench-${q}`,
      state: 6,
      caller: '12025550143',
      exten: '5000',
    })),
  };
}

type Stage = 'handshake' | 'asking' | 'live' | 'gone';
interface Client {
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
let wire: Wire = 'ws';
let port = 0;
let topics: Topics = 'none';
let wideFirst = 0;
let snapshot = false;
let resume = false;
let behind = 0;
let epoch = '';
let clients: Client[] = [];
/** Clients by subscription, to count due messages. */
let byExtension = new Map<number, Client[]>();
let byQueue = new Map<string, Client[]>();
let wide: Client[] = [];

let bytes = 0;
let received = 0;
let figures = 0;
let wrong = 0;
let closed = 0;
let onLive: (client: Client) => void = () => undefined;
let onReceived: () => void = () => undefined;
let failure: Error | null = null;
/** Times at which the script's events were written, by number. */
let sentAt = new Float64Array(1 << 16);
let events = 0;
/** More than any row writes to a journal. */
const WRITTEN = 1_000_000;
let now = 0;

/** Latencies in steps of 10 µs up to 20 s. */
const STEP_MS = 0.01;
const histogram = new Uint32Array(2_000_000);
let samples = 0;
function sample(ms: number): void {
  histogram[Math.min(histogram.length - 1, Math.max(0, Math.floor(ms / STEP_MS)))]! += 1;
  samples += 1;
}
const quantileOf = (share: number): number => {
  let left = Math.ceil(samples * share);
  for (let i = 0; i < histogram.length; i++) {
    left -= histogram[i]!;
    if (left <= 0) return (i + 1) * STEP_MS;
  }
  return Number.NaN;
};

const SEQ = Buffer.from('"seq":');
const EVENT_LINE = Buffer.from('data: {"specversion"');
const DAY_MS = 86_400_000;
/** Prefix of an event's time: in our and the peers' envelope, or the engine's own header in a naive bridge. */
const TIME = Buffer.from('"time":"');
const TYPE = Buffer.from('"type":"');
const STATS = Buffer.from('queue.stats"');
/** Followed by the number of the queue. */
const QUEUE = Buffer.from(`"subject":"queues/${queueOf(0).slice(0, -1)}`);
const STAMP = Buffer.from('"timestamp":"');
const PREV = Buffer.from('"prev":');
/** Last position of each mark; messages of one kind look alike. Only marks that every message has are searched. */
const guesses = new Map<Buffer, number>([TIME, STAMP, SEQ, TYPE, QUEUE].map((mark) => [mark, 0]));
function find(mark: Buffer, buffer: Buffer, from: number, to: number): number {
  const guess = from + guesses.get(mark)!;
  let i = 0;
  while (i < mark.length && buffer[guess + i] === mark[i]) i += 1;
  if (i === mark.length && guess + i < to) return guess + i;
  const found = buffer.indexOf(mark, from);
  if (found < 0 || found >= to) return -1;
  guesses.set(mark, found - from);
  return found + mark.length;
}
function isFigures(buffer: Buffer, from: number, to: number): boolean {
  const at = find(TYPE, buffer, from, to);
  return at >= 0 && buffer.compare(STATS, 0, STATS.length, at, at + STATS.length) === 0;
}
function digitsAt(buffer: Buffer, at: number): number {
  let value = 0;
  for (let i = at; ; i++) {
    const digit = buffer[i]! - 48;
    if (!(digit >= 0 && digit <= 9)) return value;
    value = value * 10 + digit;
  }
}
const two = (b: Buffer, at: number): number => (b[at]! - 48) * 10 + b[at + 1]! - 48;
/** Number of the event in the script; -1 for other events. */
function numberOf(buffer: Buffer, from: number, to: number): number {
  const at = find(TIME, buffer, from, to);
  if (at >= 0) {
    // 2026-11-21T00:00:00.000Z
    const ms = two(buffer, at + 20) * 10 + buffer[at + 22]! - 48;
    return ((two(buffer, at + 11) * 60 + two(buffer, at + 14)) * 60 + two(buffer, at + 17)) * 1000 + ms;
  }
  const stamp = find(STAMP, buffer, from, to);
  if (stamp < 0) return -1;
  return (digitsAt(buffer, stamp) * 1000 + Math.floor(digitsAt(buffer, stamp + 11) / 1000)) % DAY_MS;
}

/** One in so many clients measures the lag of a flood. */
const LAG_OF = 50;
/** True while recorded calls are played, for which the due messages are unknown. */
let flooding = false;
let lastStats: Record<string, unknown> = {};
let statsHeard = 0;
function counted(client: Client, buffer: Buffer, from: number, to: number): void {
  const { seq, prev } = numbersOf(buffer, from, to);
  if (seq <= client.last || (client.newest >= 0 && prev !== client.newest)) wrong += 1;
  client.last = client.newest = seq;
  client.received += 1;
  received += 1;
  if (client.n % LAG_OF === 0) {
    const time = numberOf(buffer, from, to);
    // `numberOf` reads only the time of day.
    const ms = (Date.now() - SCRIPT_MS - time + DAY_MS) % DAY_MS;
    if (time >= 0 && ms < DAY_MS / 2) sample(ms);
  }
  if (!isFigures(buffer, from, to)) return;
  client.figures[digitsAt(buffer, find(QUEUE, buffer, from, to))] = seq;
  if (client.n !== 0) return;
  const { event } = JSON.parse(buffer.toString('utf8', from, to)) as { event: { data: { queue: string } } };
  statsHeard += 1;
  lastStats[event.data.queue] = event.data;
}
/** `prev` is the last field: `"prev":123}`. NaN for a missing one. */
function numbersOf(buffer: Buffer, from: number, to: number): { seq: number; prev: number } {
  const at = find(SEQ, buffer, from, to);
  let digit = to - 2;
  while (buffer[digit]! >= 48 && buffer[digit]! <= 57) digit -= 1;
  const begins = digit + 1 - PREV.length;
  const there = buffer.compare(PREV, 0, PREV.length, begins, begins + PREV.length) === 0;
  return {
    seq: at < 0 ? Number.NaN : digitsAt(buffer, at),
    prev: there ? digitsAt(buffer, digit + 1) : Number.NaN,
  };
}
function heard(client: Client, buffer: Buffer, from: number, to: number): void {
  if (flooding) return counted(client, buffer, from, to);
  if (wire === 'offhook') {
    const { seq, prev } = numbersOf(buffer, from, to);
    if (!(seq > client.last) || (client.newest >= 0 && prev !== client.newest)) wrong += 1;
    client.last = client.newest = seq;
  } else if (wire !== 'offhook-sse') {
    const at = find(SEQ, buffer, from, to);
    const seq = at < 0 ? client.last : digitsAt(buffer, at);
    if (at >= 0 && seq <= client.last) wrong += 1;
    client.last = seq;
  }
  if (isFigures(buffer, from, to)) {
    figures += 1;
    return;
  }
  const n = numberOf(buffer, from, to);
  if (n < 0 || n >= events) {
    wrong += 1;
    return;
  }
  client.received += 1;
  received += 1;
  sample(now - sentAt[n]!);
}

const PONG = clientFrame('{"op":"pong"}');
const live = (client: Client): void => {
  if (client.stage === 'live') return;
  client.stage = 'live';
  onLive(client);
};
const fail = (why: string): void => {
  failure ??= new Error(why);
  onReceived();
  onLive(clients[0]!);
};
const topicsFor = ({ n }: Client): string[] =>
  topicsOf(n < wideFirst ? 'wide' : topics, n, site.extensions, site.queues);
function subscribe(client: Client): void {
  client.stage = 'asking';
  const wanted = topicsFor(client);
  if (wanted.length === 0) return live(client);
  const cursor = resume ? { cursor: client.last, epoch } : {};
  client.socket.write(
    clientFrame(
      JSON.stringify(
        wire === 'offhook'
          ? { op: 'subscribe', id: client.n, topics: wanted, snapshot: snapshot && !resume, ...cursor }
          : { topics: wanted, behind },
      ),
    ),
  );
}
interface ServerWord {
  readonly op?: string;
  readonly epoch?: string;
  readonly head?: number;
  readonly cursor?: number;
}
function ourFrame(client: Client, buffer: Buffer, from: number, to: number): void {
  // `{"op":"ev…`
  if (buffer[from + 7] === 0x65 && buffer[from + 8] === 0x76) return heard(client, buffer, from, to);
  // A snapshot can be large; its start is sufficient.
  const word = buffer.toString('latin1', from, Math.min(to, from + 40));
  if (word.startsWith('{"op":"snapshot')) return;
  // `frame` answers the WebSocket ping that comes with it.
  if (word.startsWith('{"op":"heartbeat')) return;
  const frame = JSON.parse(buffer.toString('utf8', from, to)) as ServerWord;
  switch (frame.op) {
    case 'hello':
      epoch = frame.epoch ?? '';
      if (!resume || behind > 0) client.last = (frame.head ?? 0) - behind;
      return subscribe(client);
    case 'subscribed':
      if (!resume) live(client);
      return;
    case 'resumed':
      client.last = Math.max(client.last, frame.cursor ?? 0);
      return live(client);
    case 'ping':
      client.socket.write(PONG);
      return;
    default:
      fail(`client ${client.n} received ${JSON.stringify(frame).slice(0, 300)}`);
  }
}
function socketIoFrame(client: Client, buffer: Buffer, from: number, to: number): void {
  const kind = buffer[from]! - 48;
  // 0 open, 2 ping, 40 connected, 42 an event.
  if (kind === 0) client.socket.write(clientFrame('40'));
  else if (kind === 2) client.socket.write(clientFrame('3'));
  else if (buffer[from + 1] === 0x30) live(client);
  else if (buffer[from + 1] === 0x32) heard(client, buffer, from, to);
}
function frame(client: Client, opcode: number, buffer: Buffer, from: number, to: number): void {
  if (opcode === 9) client.socket.write(clientFrame(buffer.toString('latin1', from, to), 10));
  if (opcode === 8) {
    const code = to - from >= 2 ? buffer.readUInt16BE(from) : 0;
    if (!client.frozen) fail(`client ${client.n} was closed with ${code}`);
  }
  if (opcode !== 1) return;
  if (wire === 'offhook') ourFrame(client, buffer, from, to);
  else if (wire === 'socket.io') socketIoFrame(client, buffer, from, to);
  // Other messages of a peer begin with `{"ok"`, its heartbeats with `{"op"`.
  else if (buffer[from + 2] === 0x6f) live(client);
  else heard(client, buffer, from, to);
}
const END = Buffer.from('\r\n\r\n');
/** Events in a stream of SSE, whose pieces may be cut anywhere; returns the number of used bytes. */
function sseEvents(client: Client, buffer: Buffer, end: number): number {
  let used = 0;
  for (let at = buffer.indexOf('\n\n'); at >= 0 && at < end; at = buffer.indexOf('\n\n', used)) {
    if (buffer.subarray(used, at).includes(EVENT_LINE)) heard(client, buffer, used, at);
    used = at + 2;
  }
  return used;
}
/** Entries of a stream of Redis asked for at once. */
const PAGE = 1_000;
const OPENING_BRACE = 0x7b;
function askPage(client: Client): void {
  client.left = -1;
  client.socket.write(redis.command('XRANGE', redis.STREAM, `(${client.last}-0`, '+', 'COUNT', String(PAGE)));
}
/** Answers of Redis: published events, or pages of a stream until one is not full. Returns the number of used bytes. */
function redisValues(client: Client, buffer: Buffer, end: number): number {
  const log = wire === 'redis-log';
  return redis.eachValue(
    buffer,
    end,
    (length) => {
      // Only the first array of an answer has the number of its entries.
      if (!log || client.left >= 0) return;
      client.page = client.left = length;
      if (length === 0) live(client);
    },
    (from, to) => {
      if (buffer[from] !== OPENING_BRACE) {
        if (!log) live(client);
        return;
      }
      heard(client, buffer, from, to);
      if (!log || (client.left -= 1) > 0) return;
      if (client.page < PAGE) live(client);
      else askPage(client);
    },
  );
}
/** Messages of NATS; a consumer of a stream has caught up after the message that reports no pending ones. */
function natsMessages(client: Client, buffer: Buffer, end: number): number {
  return nats.eachMessage(
    buffer,
    end,
    (head, from, to) => {
      if (head[1]!.endsWith('.api')) {
        const reply = buffer.toString('utf8', from, to);
        if (reply.includes('"error"')) fail(reply);
        return;
      }
      heard(client, buffer, from, to);
      if (wire === 'nats-log' && head[3]!.endsWith('.0')) live(client);
    },
    (line) => {
      if (line === 'PING') client.socket.write('PONG\r\n');
      else if (line === 'PONG') live(client);
      else if (line.startsWith('-ERR')) fail(line);
    },
  );
}
const isRedis = (): boolean => wire === 'redis' || wire === 'redis-log';
const isNats = (): boolean => wire === 'nats' || wire === 'nats-log';
/** First bytes to a message server, which has no handshake of HTTP. */
function begin(client: Client): void {
  client.stage = 'asking';
  if (wire === 'redis') client.socket.write(redis.command('SUBSCRIBE', redis.CHANNEL));
  else if (wire === 'nats') client.socket.write(nats.SUBSCRIBE);
  else if (wire === 'nats-log') client.socket.write(nats.consume(client.n, LOGGED - behind + 1));
  else {
    client.last = LOGGED - behind;
    askPage(client);
  }
}
const shared = Buffer.allocUnsafe(1 << 18);
function take(client: Client, length: number): void {
  bytes += length;
  let buffer = shared;
  let end = length;
  if (client.rest !== null) {
    buffer = Buffer.concat([client.rest, shared.subarray(0, length)]);
    end = buffer.length;
    client.rest = null;
  }
  let at = 0;
  if (client.stage === 'handshake') {
    const head = buffer.subarray(0, end).indexOf(END);
    if (head < 0) {
      client.rest = Buffer.from(buffer.subarray(0, end));
      return;
    }
    const status = buffer.toString('latin1', 9, 12);
    if (status !== '101' && status !== '200') return fail(`${status}: ${buffer.toString('utf8', 0, end)}`);
    at = head + END.length;
    client.stage = 'asking';
    if (wire === 'ws') subscribe(client);
    if (wire.endsWith('sse')) live(client);
  }
  const left = buffer === shared ? shared.subarray(at, end) : buffer.subarray(at, end);
  const used = isRedis()
    ? redisValues(client, left, left.length)
    : isNats()
      ? natsMessages(client, left, left.length)
      : wire.endsWith('sse')
        ? sseEvents(client, left, left.length)
        : eachFrame(left, left.length, (opcode, from, to) => frame(client, opcode, left, from, to));
  if (used < left.length) client.rest = Buffer.from(left.subarray(used));
}

const PATHS: Readonly<Partial<Record<Wire, string>>> = {
  offhook: '/api/v1/stream',
  ws: '/',
  'socket.io': '/socket.io/?EIO=4&transport=websocket',
  'offhook-sse': '/api/v1/events',
  sse: '/events',
};
function requestOf(client: Client): Buffer {
  if (wire.endsWith('sse')) {
    const wanted = topicsFor(client).join(',');
    const path = `${PATHS[wire]!}?topics=${wanted === '' ? 'system' : wanted}`;
    return Buffer.from(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${tokenOf(client.n)}\r\naccept: text/event-stream\r\n\r\n`,
    );
  }
  return upgradeRequest(
    port,
    PATHS[wire]!,
    wire === 'offhook'
      ? { authorization: `Bearer ${tokenOf(client.n)}`, 'sec-websocket-protocol': 'offhook.v1' }
      : {},
  );
}
function open(client: Client): void {
  client.stage = 'handshake';
  client.rest = null;
  client.newest = -1;
  const socket = net.connect({
    host: '127.0.0.1',
    port,
    noDelay: true,
    onread: {
      buffer: shared,
      callback(length) {
        now = performance.now();
        take(client, length);
        onReceived();
        return !client.frozen;
      },
    },
  });
  client.socket = socket;
  socket.once('connect', () => {
    if (isRedis() || isNats()) begin(client);
    else socket.write(requestOf(client));
  });
  socket.on('error', (error) => {
    if (client.stage !== 'gone' && !client.frozen) fail(`client ${client.n}: ${error.message}`);
  });
  socket.once('close', () => {
    if (client.socket !== socket || client.stage === 'gone') return;
    closed += 1;
    client.stage = 'gone';
    if (!client.frozen) fail(`client ${client.n} was closed`);
  });
}
/** Opens these clients, at most `atOnce` in parallel, until all are live. */
async function openAll(list: readonly Client[], atOnce: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const waiting = list.values();
  let left = list.length;
  if (left === 0) return;
  const next = (): void => {
    const { value } = waiting.next();
    if (value !== undefined) open(value);
  };
  const late = setTimeout(
    () => reject(new Error(`${left} of ${list.length} clients were not live`)),
    120_000,
  );
  onLive = () => {
    if (failure !== null) return reject(failure);
    left -= 1;
    if (left === 0) resolve();
    else next();
  };
  for (let i = 0; i < atOnce; i++) next();
  try {
    await promise;
  } finally {
    clearTimeout(late);
    onLive = () => undefined;
  }
}
function index(): void {
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
const due = (list: readonly Client[]): number => {
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
};
/** Callers in a queue. */
const joined = new Set<number>();
/** Extensions whose device is in use. Each event must change one: the service publishes nothing else. */
const inUse = new Set<number>();
let devices = 0;
let callers = 0;
async function play(question: LoadQuestion & { ask: 'play' }): Promise<Played> {
  const { rate, window = 1, batch = 1, among = [0, site.extensions], callers: both = false } = question;
  for (const client of clients) [client.received, client.due] = [0, 0];
  [bytes, received, figures, wrong, closed, samples] = [0, 0, 0, 0, 0, 0];
  histogram.fill(0);
  const size = among[1] - among[0];
  const [firstQueue, queues] = [among[0] / AGENTS_PER_QUEUE, size / AGENTS_PER_QUEUE];
  let sent = 0;
  let wanted = 0;
  /** Number of due messages after each write. */
  const marks: number[] = [0];
  const one = (): string => {
    const n = events++;
    if (events > sentAt.length) {
      const longer = new Float64Array(sentAt.length * 2);
      longer.set(sentAt);
      sentAt = longer;
    }
    sentAt[n] = performance.now();
    let text: string;
    let audience: readonly Client[];
    if (both && n % 2 === 1) {
      const i = firstQueue + (callers++ % queues);
      const queue = queueOf(i);
      if (!joined.delete(i)) joined.add(i);
      text = callerFrame(n, queue, i, joined.has(i));
      audience = byQueue.get(queue) ?? [];
    } else {
      const i = among[0] + (devices++ % size);
      if (!inUse.delete(i)) inUse.add(i);
      text = deviceFrame(n, i, inUse.has(i));
      audience = byExtension.get(i) ?? [];
      wanted += due(wide);
    }
    sent += 1;
    wanted += due(audience);
    marks.push(wanted);
    return text;
  };
  const write = (): void => {
    let text = '';
    for (let i = 0; i < batch && sent < question.events; i++) text += one();
    ami.raw(text);
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let silent = setTimeout(() => undefined, 0);
  let before = -1;
  const watch = (): void => {
    if (received === before) {
      return reject(new Error(`${received} of ${wanted} messages came, then none in ${SILENCE_MS / 1000} s`));
    }
    before = received;
    silent = setTimeout(watch, SILENCE_MS);
  };
  const began = performance.now();
  watch();
  let timer: NodeJS.Timeout | undefined;
  onReceived = () => {
    if (failure !== null) return reject(failure);
    if (rate === null) {
      // The window counts writes of the engine.
      while (sent < question.events && received >= marks[Math.max(0, sent - (window - 1) * batch)]!) write();
    }
    if (sent >= question.events && received >= wanted) resolve();
  };
  if (rate === null) onReceived();
  else {
    let next = began;
    const tick = (): void => {
      const at = performance.now();
      while (next <= at && sent < question.events) {
        write();
        next += (1000 * batch) / rate;
      }
      if (sent < question.events) timer = setTimeout(tick, Math.max(0, next - performance.now()));
      else onReceived();
    };
    tick();
  }
  try {
    await promise;
    const seconds = (performance.now() - began) / 1000;
    // Later messages are repeated, or sent to the wrong client.
    await new Promise((done) => setTimeout(done, 20));
    for (const client of clients) if (!client.frozen && client.received !== client.due) wrong += 1;
    return {
      seconds,
      events: sent,
      due: wanted,
      received,
      figures,
      bytes,
      p50: quantileOf(0.5),
      p99: quantileOf(0.99),
      max: quantileOf(1),
      wrong,
      closed,
    };
  } finally {
    clearTimeout(timer);
    clearTimeout(silent);
    onReceived = () => undefined;
  }
}
/** 75 callers join or leave in a second of 3,000 frames: the peak of 500 and more agents. */
const FRAMES_PER_CALLER = 40;
/** Counted over all floods, because ended calls must not return. */
let copy = 0;
const ownDelay = monitorEventLoopDelay({ resolution: 1 });
async function flood({ rate, seconds, settle = true }: LoadQuestion & { ask: 'flood' }): Promise<Flooded> {
  if (failure !== null) throw failure;
  if (!flooding) {
    for (const client of clients) client.received = 0;
    [received, wrong, lastStats, statsHeard, flooding] = [0, 0, {}, 0, true];
  }
  samples = 0;
  histogram.fill(0);
  let frames: string[] = [];
  let sent = 0;
  ownDelay.reset();
  ownDelay.enable();
  const cpu = process.cpuUsage();
  const began = performance.now();
  while (sent < rate * seconds) {
    const due = Math.min(Math.floor(((performance.now() - began) * rate) / 1000), rate * seconds) - sent;
    while (frames.length < due) {
      frames = [
        ...framesOf(copy++, site.extensions, (agent) => queueAt(agent, site.queues)).toReversed(),
        ...frames,
      ];
    }
    let text = '';
    for (let i = 0; i < due; i++) {
      if ((sent + i) % FRAMES_PER_CALLER !== 0) {
        text += stampedNow(frames.pop()!);
        continue;
      }
      // A caller joins or leaves, because the recording has few calls for its frames.
      const q = callers++ % site.queues;
      if (!joined.delete(q)) joined.add(q);
      text += callerFrame(Date.now() - SCRIPT_MS, queueOf(q), q, joined.has(q));
    }
    if (due > 0) ami.raw(text);
    sent += due;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const took = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  ownDelay.disable();
  const load = { delay: ownDelay.percentile(99) / 1e6, core: (user + system) / 1e4 / took };
  // Waits until the last wrap-up is over and all its events are published.
  for (let before = -1; settle && before !== received;) {
    before = received;
    await new Promise((resolve) => setTimeout(resolve, 7_000));
  }
  if (settle) flooding = false;
  return {
    frames: sent,
    seconds: took,
    received,
    wrong,
    different: settle ? differing() : 0,
    lag: { p50: quantileOf(0.5), p99: quantileOf(0.99), max: quantileOf(1) },
    load,
    last: lastStats,
    stats: statsHeard,
  };
}
/** Clients that lack the newest figures of a subscribed queue. */
function differing(): number {
  const newest = new Int32Array(site.queues);
  for (const { figures } of clients)
    for (let q = 0; q < site.queues; q++) newest[q] = Math.max(newest[q]!, figures[q]!);
  const hears = ({ n }: Client, q: number): boolean =>
    topics !== 'narrow' || queueAt(n % site.extensions, site.queues) === queueOf(q);
  return clients.filter((client) => newest.some((seq, q) => hears(client, q) && client.figures[q] !== seq))
    .length;
}
const drop = (): void => {
  for (const client of clients) {
    client.stage = 'gone';
    // With a reset, because a closed port in TIME_WAIT could not be used in the next round.
    client.socket.resetAndDestroy();
  }
};

async function answer(question: LoadQuestion): Promise<object> {
  switch (question.ask) {
    case 'connect': {
      ({ wire, port, topics } = question);
      snapshot = question.snapshot ?? false;
      wideFirst = question.wideFirst ?? 0;
      behind = question.behind ?? 0;
      resume = behind > 0;
      // Resumed events were stored, and never played.
      if (resume) events = WRITTEN;
      [failure, bytes, received, wrong] = [null, 0, 0, 0];
      clients = Array.from({ length: question.count }, (_, n) => ({
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
        figures: new Int32Array(site.queues),
        page: 0,
        left: -1,
      }));
      index();
      const began = performance.now();
      await openAll(clients, question.atOnce ?? 64);
      const seconds = (performance.now() - began) / 1000;
      return { seconds, bytes, received, wrong } satisfies Connected;
    }
    case 'return': {
      behind = 0;
      resume = question.resume;
      snapshot = !resume;
      [bytes, received, wrong] = [0, 0, 0];
      for (const client of clients) client.received = 0;
      const began = performance.now();
      await openAll(clients, question.atOnce);
      const seconds = (performance.now() - began) / 1000;
      for (const client of clients) {
        if (resume && client.received !== client.missed) wrong += 1;
        client.missed = 0;
      }
      return { seconds, bytes, received, wrong } satisfies Connected;
    }
    case 'play':
      return await play(question);
    case 'flood':
      return await flood(question);
    case 'freeze':
      for (const client of clients.slice(0, question.count)) {
        client.frozen = true;
        client.socket.pause();
      }
      return {};
    case 'drop':
      drop();
      return {};
    case 'close': {
      drop();
      clients = [];
      return {};
    }
    case 'actions':
      // Pings keep the connection alive without any client.
      return { actions: ami.actions.filter(({ name }) => name !== 'Ping').length };
  }
}
process.on('message', (question: LoadQuestion) => {
  answer(question).then(
    (reply) => process.send?.(reply),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
console.log(JSON.stringify({ port: ami.port, first: extensionAt(0) }));
process.on('SIGTERM', () => process.exit());
