/** Protocols of the subjects, one section each: how a client asks for its events, and how it finds them in the bytes. */
import { tokenOf } from '../site-data.ts';
import { fail, live, setup, topicsFor } from './clients.ts';
import type { Client } from './clients.ts';
import * as nats from './nats.ts';
import type { Wire } from './questions.ts';
import { heard } from './received.ts';
import * as redis from './redis.ts';
import { LOGGED } from './script.ts';
import { clientFrame, eachFrame, upgradeRequest } from './wire.ts';

const PATHS: Readonly<Partial<Record<Wire, string>>> = {
  offhook: '/api/v1/stream',
  ws: '/',
  'socket.io': '/socket.io/?EIO=4&transport=websocket',
  'offhook-sse': '/api/v1/events',
  sse: '/events',
};
const isSse = (): boolean => setup.wire.endsWith('sse');
const isRedis = (): boolean => setup.wire === 'redis' || setup.wire === 'redis-log';
const isNats = (): boolean => setup.wire === 'nats' || setup.wire === 'nats-log';
/** A message server has no handshake of HTTP. */
const isMessageServer = (): boolean => isRedis() || isNats();

/** First bytes of a client: a request of HTTP, or to a message server the first commands. */
export function begin(client: Client): void {
  if (!isMessageServer()) {
    client.socket.write(requestOf(client));
    return;
  }
  client.stage = 'asking';
  if (setup.wire === 'redis') client.socket.write(redis.command('SUBSCRIBE', redis.CHANNEL));
  else if (setup.wire === 'nats') client.socket.write(nats.SUBSCRIBE);
  else if (setup.wire === 'nats-log') {
    client.socket.write(nats.consume(client.n, LOGGED - setup.behind + 1));
  } else {
    client.last = LOGGED - setup.behind;
    askPage(client);
  }
}
function requestOf(client: Client): Buffer {
  const { wire, port } = setup;
  if (isSse()) {
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
/** The subject has accepted the request of HTTP. */
export function accepted(client: Client): void {
  client.stage = 'asking';
  if (setup.wire === 'ws') subscribe(client);
  if (isSse()) live(client);
}
/** Reads the complete messages and returns the number of used bytes; the rest is the start of one. */
export function readMessages(client: Client, buffer: Buffer): number {
  if (isRedis()) return redisValues(client, buffer, buffer.length);
  if (isNats()) return natsMessages(client, buffer, buffer.length);
  if (isSse()) return sseEvents(client, buffer, buffer.length);
  return eachFrame(buffer, buffer.length, (opcode, from, to) => frame(client, opcode, buffer, from, to));
}

const PONG = clientFrame('{"op":"pong"}');
/** Epoch of our stream, from its last `hello`. */
let epoch = '';
function subscribe(client: Client): void {
  client.stage = 'asking';
  const wanted = topicsFor(client);
  if (wanted.length === 0) return live(client);
  const cursor = setup.resume ? { cursor: client.last, epoch } : {};
  client.socket.write(
    clientFrame(
      JSON.stringify(
        setup.wire === 'offhook'
          ? {
              op: 'subscribe',
              id: client.n,
              topics: wanted,
              snapshot: setup.snapshot && !setup.resume,
              ...cursor,
            }
          : { topics: wanted, behind: setup.behind },
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
      if (!setup.resume || setup.behind > 0) client.last = (frame.head ?? 0) - setup.behind;
      return subscribe(client);
    case 'subscribed':
      if (!setup.resume) live(client);
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
  if (setup.wire === 'offhook') ourFrame(client, buffer, from, to);
  else if (setup.wire === 'socket.io') socketIoFrame(client, buffer, from, to);
  // Other messages of a peer begin with `{"ok"`, its heartbeats with `{"op"`.
  else if (buffer[from + 2] === 0x6f) live(client);
  else heard(client, buffer, from, to);
}

const EVENT_LINE = Buffer.from('data: {"specversion"');
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
  const log = setup.wire === 'redis-log';
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
      if (setup.wire === 'nats-log' && head[3]!.endsWith('.0')) live(client);
    },
    (line) => {
      if (line === 'PING') client.socket.write('PONG\r\n');
      else if (line === 'PONG') live(client);
      else if (line.startsWith('-ERR')) fail(line);
    },
  );
}
