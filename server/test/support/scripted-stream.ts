import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import type { ClientFrame, ServerFrame } from '@offhook/contract/stream.ts';
import { until } from './until.ts';

/** One connection of a client, served by the test. */
export interface ScriptedLink {
  /** Path and query of the upgrade. */
  readonly url: string;
  readonly protocol: string;
  readonly frames: ClientFrame[];
  /** Close code sent by the client; null before. */
  readonly closedBy: number | null;
  readonly gone: boolean;
  send(...frames: ServerFrame[]): void;
  text(text: string): void;
  close(code: number, reason?: string): void;
  /** Ends the connection without a close frame. */
  cut(): void;
  /** The n-th frame of this kind, once received. */
  heard<O extends ClientFrame['op']>(op: O, n?: number): Promise<Extract<ClientFrame, { op: O }>>;
}
export interface ScriptedStream {
  readonly base: string;
  readonly links: readonly ScriptedLink[];
  /** `<method> <path> <authorization>` of each request. */
  readonly asked: string[];
  /** The n-th connection, from 0, once opened. */
  link(n: number): Promise<ScriptedLink>;
  /** Replies to the next requests with this status and body instead, in turn. */
  answer(path: string, status: number, body: object, headers?: Record<string, string>): void;
}

const SOON = { every: 2 };
const frameOf = (opcode: number, payload: Buffer): Buffer => {
  const { length } = payload;
  const head =
    length < 126
      ? Buffer.from([0x80 | opcode, length])
      : length < 65_536
        ? Buffer.alloc(4)
        : Buffer.alloc(10);
  if (length >= 126) {
    head[0] = 0x80 | opcode;
    head[1] = length < 65_536 ? 126 : 127;
    if (length < 65_536) head.writeUInt16BE(length, 2);
    else head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, payload]);
};

/** A server that issues tickets and leaves every frame to the test. */
export async function scriptedStream(t: TestContext): Promise<ScriptedStream> {
  const links: ScriptedLink[] = [];
  const asked: string[] = [];
  const sockets = new Set<Duplex>();
  const prepared: { path: string; status: number; body: object; headers: Record<string, string> }[] = [];
  let tickets = 0;
  const server = createServer((request, response) => {
    request.resume();
    const path = request.url ?? '';
    asked.push(`${request.method} ${path} ${request.headers.authorization ?? '-'}`);
    const at = prepared.findIndex((p) => p.path === path);
    const [own] = at < 0 ? [] : prepared.splice(at, 1);
    const usual =
      path === '/api/v1/stream/ticket'
        ? { success: true, ticket: `t${(tickets += 1)}`, expires_at: '2030-01-01T00:00:00.000Z' }
        : { success: true, token: `renewed-${asked.length}` };
    response.writeHead(own?.status ?? 200, { 'content-type': 'application/json', ...own?.headers });
    response.end(JSON.stringify(own?.body ?? usual));
  });
  server.on('upgrade', (request, socket: Duplex) => {
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const protocol = request.headers['sec-websocket-protocol'] ?? '';
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
    );
    sockets.add(socket);
    const frames: ClientFrame[] = [];
    let closedBy: number | null = null;
    let gone = false;
    let bytes = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => {
      gone = true;
      sockets.delete(socket);
    });
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (;;) {
        if (bytes.length < 6) return;
        const short = bytes[1]! & 0x7f;
        const at = short === 126 ? 4 : 2;
        const length = short === 126 ? bytes.readUInt16BE(2) : short;
        if (bytes.length < at + 4 + length) return;
        const mask = bytes.subarray(at, at + 4);
        const payload = Buffer.from(bytes.subarray(at + 4, at + 4 + length)).map((b, i) => b ^ mask[i % 4]!);
        const opcode = bytes[0]! & 0x0f;
        bytes = bytes.subarray(at + 4 + length);
        if (opcode === 1) frames.push(JSON.parse(Buffer.from(payload).toString()) as ClientFrame);
        if (opcode === 8) {
          closedBy = payload.length >= 2 ? Buffer.from(payload).readUInt16BE(0) : 1005;
          socket.end(frameOf(8, Buffer.from(payload.subarray(0, 2))));
        }
      }
    });
    const link: ScriptedLink = {
      url: request.url ?? '',
      protocol,
      frames,
      get closedBy() {
        return closedBy;
      },
      get gone() {
        return gone;
      },
      send: (...list) => list.forEach((frame) => link.text(JSON.stringify(frame))),
      text: (text) => void socket.write(frameOf(1, Buffer.from(text))),
      close(code, reason = '') {
        const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
        payload.writeUInt16BE(code, 0);
        payload.write(reason, 2);
        socket.write(frameOf(8, payload));
      },
      cut: () => void socket.destroy(),
      heard: (op, n = 0) =>
        until(`frame ${op} number ${n}`, () => frames.filter((f) => f.op === op)[n] as never, SOON),
    };
    links.push(link);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    links,
    asked,
    link: (n) => until(`connection number ${n}`, () => links[n], SOON),
    answer(path, status, body, headers = {}) {
      prepared.push({ path, status, body, headers });
    },
  };
}
