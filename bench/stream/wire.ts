/** The part of HTTP and WebSocket that a load of thousands of clients needs, without the cost of a client library. */
import { hash } from 'node:crypto';

const KEY = Buffer.from('0123456789abcdef').toString('base64');
export function upgradeRequest(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
): Buffer {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': KEY,
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
}
export function upgradeAnswer(key: string): string {
  const accept = hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64');
  return `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`;
}

const TEXT = 0x81;
/** A frame from a server: not masked. */
export function serverFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + length);
  frame[0] = TEXT;
  if (head === 2) frame[1] = length;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, head);
  return frame;
}
/** A frame of a client, masked with zeros, which keep the payload unchanged. */
export function clientFrame(text: string, opcode = 1): Buffer {
  const payload = Buffer.from(text);
  const head = payload.length < 126 ? 6 : 8;
  const frame = Buffer.alloc(head + payload.length);
  frame[0] = 0x80 | opcode;
  if (head === 6) frame[1] = 0x80 | payload.length;
  else {
    frame[1] = 0x80 | 126;
    frame.writeUInt16BE(payload.length, 2);
  }
  payload.copy(frame, head);
  return frame;
}

/**
 * Calls `frame` with the bounds of each complete frame's payload in `bytes`, and returns the number of used bytes; the
 * rest is the start of a frame.
 */
export function eachFrame(
  bytes: Buffer,
  end: number,
  frame: (opcode: number, from: number, to: number) => void,
): number {
  let at = 0;
  while (end - at >= 2) {
    const short = bytes[at + 1]! & 0x7f;
    const masked = (bytes[at + 1]! & 0x80) === 0 ? 0 : 4;
    let head = 2 + masked;
    let length = short;
    if (short === 126) {
      if (end - at < 4) break;
      head = 4 + masked;
      length = bytes.readUInt16BE(at + 2);
    } else if (short === 127) {
      if (end - at < 10) break;
      head = 10 + masked;
      length = Number(bytes.readBigUInt64BE(at + 2));
    }
    const to = at + head + length;
    if (to > end) break;
    frame(bytes[at]! & 0x0f, at + head, to);
    at = to;
  }
  return at;
}
/** Text of a client's frame. */
export function unmasked(bytes: Buffer, from: number, to: number): string {
  const out = Buffer.allocUnsafe(to - from);
  for (let i = 0; i < out.length; i++) out[i] = bytes[from + i]! ^ bytes[from - 4 + (i & 3)]!;
  return out.toString();
}
