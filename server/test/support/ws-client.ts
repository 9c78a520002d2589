/** A WebSocket client for tests that can also break the protocol. */
import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { STREAM_PROTOCOL, ServerFrame } from '@offhook/contract/stream.ts';
import { GiveUp, PATIENCE_MS, until } from './until.ts';

export interface WsOptions {
  readonly port: number;
  readonly token?: string;
  /** Connects by TLS and trusts this authority (PEM). */
  readonly ca?: string;
  readonly path?: string;
  /** Null offers none. */
  readonly protocol?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}
type Op = ServerFrame['op'];
export type FrameOf<O extends Op> = Extract<ServerFrame, { op: O }>;
export interface WsClient extends AsyncDisposable {
  readonly socket: net.Socket;
  /** Every frame so far, in order. */
  readonly frames: readonly ServerFrame[];
  readonly pongs: number;
  /** The close frame, once received; code 0 if the connection ended without one. */
  readonly close: { readonly code: number; readonly reason: string } | null;
  send(frame: object | string): void;
  /** Sends bytes unchanged and unmasked. */
  raw(bytes: Buffer): void;
  /** The next unread frame with this op. */
  next<O extends Op>(op: O, ms?: number): Promise<FrameOf<O>>;
  /** Seq of every event so far; throws where the chain of `prev` is broken. */
  seqs(): number[];
  closed(ms?: number): Promise<{ code: number; reason: string }>;
  /** From now on, reads nothing and answers no pings. */
  freeze(): void;
}

/** A masked frame of a client. */
export function clientFrame(opcode: number, payload: Buffer, first = 0x80 | opcode): Buffer {
  const { length } = payload;
  const mask = randomBytes(4);
  const head =
    length < 126
      ? Buffer.from([first, 0x80 | length])
      : length < 65_536
        ? Buffer.from([first, 0x80 | 126, length >> 8, length & 0xff])
        : Buffer.concat([Buffer.from([first, 0x80 | 127]), bigEndian(length)]);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ mask[i & 3]!)]);
}
function bigEndian(length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}

/** Reply to a refused upgrade. */
export class UpgradeRefused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(answer: string) {
    super(answer.slice(0, 500));
    this.status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
    this.code = /"code":"(\w+)"/.exec(answer)?.[1] ?? '';
  }
}
/** Opens a connection; throws `UpgradeRefused`. */
export async function openWs(options: WsOptions): Promise<WsClient> {
  const { port, token, ca, path = '/api/v1/stream', protocol = STREAM_PROTOCOL, headers = {} } = options;
  const at = { port, host: '127.0.0.1', noDelay: true };
  const socket = ca === undefined ? net.connect(at) : tls.connect({ ...at, ca, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => {});
  const key = randomBytes(16).toString('base64');
  const lines = {
    Host: `127.0.0.1:${port}`,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': key,
    'Sec-WebSocket-Extensions': 'permessage-deflate',
    ...(protocol === null ? {} : { 'Sec-WebSocket-Protocol': protocol }),
    ...(token === undefined || token === '' ? {} : { Authorization: `Bearer ${token}` }),
    ...headers,
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${head.join('')}\r\n`);

  let received: Buffer = Buffer.alloc(0);
  let end = -1;
  while (end < 0) {
    const [chunk] = (await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [])])) as [
      Buffer?,
    ];
    if (chunk === undefined) throw new UpgradeRefused(received.toString('latin1'));
    received = Buffer.concat([received, chunk]);
    end = received.indexOf('\r\n\r\n');
    if (end >= 0 && !received.toString('latin1', 0, 13).startsWith('HTTP/1.1 101')) {
      const text = received.toString('latin1');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (received.length < end + 4 + length) {
        end = -1;
        continue;
      }
      socket.destroy();
      throw new UpgradeRefused(text);
    }
  }
  const answer = received.toString('latin1', 0, end);
  const accept = hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64');
  if (!answer.includes(accept)) throw new Error(`not the right accept: ${answer}`);
  if (/sec-websocket-extensions/i.test(answer)) throw new Error('an extension was negotiated');

  const frames: ServerFrame[] = [];
  const given = new Set<ServerFrame>();
  let pongs = 0;
  let close: { code: number; reason: string } | null = null;
  let rest: Buffer = Buffer.alloc(0);
  let frozen = false;
  const take = (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (;;) {
      if (rest.length - at < 2) break;
      const short = rest[at + 1]!;
      const start = at + (short === 126 ? 4 : short === 127 ? 10 : 2);
      if (rest.length < start) break;
      const length =
        short === 126
          ? rest.readUInt16BE(at + 2)
          : short === 127
            ? Number(rest.readBigUInt64BE(at + 2))
            : short;
      if (rest.length < start + length) break;
      const payload = rest.subarray(start, start + length);
      const opcode = rest[at]! & 0x0f;
      at = start + length;
      if (opcode === 0x1) frames.push(JSON.parse(payload.toString('utf8')) as ServerFrame);
      else if (opcode === 0x9 && !frozen) socket.write(clientFrame(0xa, payload));
      else if (opcode === 0xa) pongs += 1;
      else if (opcode === 0x8) {
        close = {
          code: payload.length >= 2 ? payload.readUInt16BE(0) : 1005,
          reason: payload.toString('utf8', 2),
        };
      }
    }
    rest = rest.subarray(at);
  };
  socket.on('close', () => (close ??= { code: 0, reason: 'no close frame' }));
  take(received.subarray(end + 4));
  socket.on('data', take);
  socket.resume();

  const seen = (): object => ({ last: frames.slice(-5), close });
  return {
    socket,
    frames,
    get pongs() {
      return pongs;
    },
    get close() {
      return close;
    },
    send: (frame) =>
      void socket.write(
        clientFrame(0x1, Buffer.from(typeof frame === 'string' ? frame : JSON.stringify(frame))),
      ),
    raw: (bytes) => void socket.write(bytes),
    next: async (op, ms = PATIENCE_MS) => {
      const frame = await until(
        `a frame ${op}`,
        () => {
          const found = frames.find((one) => one.op === op && !given.has(one));
          if (found === undefined && close !== null)
            throw new GiveUp(`closed: ${close.code} ${close.reason}`);
          return found;
        },
        { ms, every: 2, seen },
      );
      given.add(frame);
      return ServerFrame.parse(frame) as never;
    },
    seqs() {
      let prev: number | undefined;
      return frames.flatMap((frame) => {
        if (frame.op === 'subscribed' || frame.op === 'snapshot') prev ??= frame.cursor;
        if (frame.op !== 'event') return [];
        if (frame.prev !== prev)
          throw new Error(`event ${frame.event.seq} names ${frame.prev}, sent was ${prev}`);
        prev = frame.event.seq;
        return [frame.event.seq];
      });
    },
    closed: (ms = PATIENCE_MS) => until('the close', () => close, { ms, every: 2, seen }),
    freeze() {
      frozen = true;
      socket.pause();
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}
