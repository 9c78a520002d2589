import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Violation by a peer that ends its connection; `code` is a close code of RFC 6455. */
export class FrameError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = 'FrameError';
    this.code = code;
  }
}
const HEADER_MAX = 14;

const CLOSE = 0x8;

interface Frame {
  readonly opcode: number;
  readonly payload: number;
}
interface Walk {
  step(chunk: Buffer): void;
  /** True between two frames, false inside one. */
  readonly between: boolean;
}
/**
 * Follows frames across chunks of any size; holds only an incomplete header. `start` receives the first two bytes of a
 * header, `frame` a complete header; `step` throws the errors of both.
 */
function frameWalk(start: (first: number, second: number) => void, frame: (frame: Frame) => void): Walk {
  let header = Buffer.alloc(0);
  let payload = 0;
  return {
    get between() {
      return header.length === 0 && payload === 0;
    },
    step(chunk) {
      let at = 0;
      while (at < chunk.length) {
        if (payload > 0) {
          const step = Math.min(payload, chunk.length - at);
          payload -= step;
          at += step;
          continue;
        }
        const had = header.length;
        header = Buffer.concat([header, chunk.subarray(at, at + HEADER_MAX - had)]);
        const [first, second] = header;
        if (first === undefined || second === undefined) return;
        start(first, second);
        const size = headerSize(second);
        if (header.length < size) return;
        at += size - had;
        payload = payloadSize(header);
        frame({ opcode: first & 0x0f, payload });
        header = Buffer.alloc(0);
      }
    },
  };
}
/** Bytes of a header, mask included, from its second byte. */
export function headerSize(second: number): number {
  const length = second & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0);
}
/** Bytes of payload that a complete header announces. */
export function payloadSize(header: Buffer): number {
  const short = header[1]! & 0x7f;
  return short === 126 ? header.readUInt16BE(2) : short === 127 ? Number(header.readBigUInt64BE(2)) : short;
}

/** Throws `FrameError` 1002 if the first two bytes of a client's header break RFC 6455 without extensions. */
export function checkStart(first: number, second: number): void {
  const refuse = (reason: string): never => {
    throw new FrameError(1002, reason);
  };
  if ((first & 0x70) !== 0) refuse('a reserved bit is set');
  if ((second & 0x80) === 0) refuse('a client frame is not masked');
  const opcode = first & 0x0f;
  if ((opcode & 0x7) > 2) refuse(`the opcode ${opcode} is reserved`);
  if (opcode < CLOSE) return;
  if ((first & 0x80) === 0) refuse('a control frame comes in pieces');
  if ((second & 0x7f) > 125) refuse('a control frame is longer than 125 bytes');
}

/** Follows the bytes sent to one side, and decides whether a close frame may follow them. */
export interface FrameWatch {
  see(chunk: Buffer): void;
  /** False inside a frame, and for good once a close frame was seen. */
  readonly mayClose: boolean;
}
export function frameWatch(): FrameWatch {
  let closed = false;
  const walk = frameWalk(
    () => {},
    ({ opcode }) => {
      closed ||= opcode === CLOSE;
    },
  );
  return {
    see: (chunk) => walk.step(chunk),
    get mayClose() {
      return !closed && walk.between;
    },
  };
}

/** A close frame as a server sends it. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, 123);
  const frame = Buffer.alloc(4 + text.length);
  frame[0] = 0x88;
  frame[1] = 2 + text.length;
  frame.writeUInt16BE(code, 2);
  text.copy(frame, 4);
  return frame;
}

/** A frame with the final bit; a mask of zeros is enough for a client on loopback. */
export function wholeFrame(opcode: number, payload: Buffer, masked: boolean): Buffer {
  const { length } = payload;
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const header = start + (masked ? 4 : 0);
  const frame = Buffer.allocUnsafe(header + length);
  frame[0] = 0x80 | opcode;
  frame[1] = (masked ? 0x80 : 0) | (start === 2 ? length : start === 4 ? 126 : 127);
  if (start === 4) frame.writeUInt16BE(length, 2);
  if (start === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.fill(0, start, header);
  payload.copy(frame, header);
  return frame;
}
/** A message of text, or a control frame, as a server sends it. */
export const serverFrame = (opcode: 0x1 | 0x9 | 0xa, payload: Buffer): Buffer =>
  wholeFrame(opcode, payload, false);
/** The `Sec-WebSocket-Accept` that answers a client's key. */
export const acceptOf = (key: string): string =>
  hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64');
/** Required headers of a handshake of version 13. */
export const isHandshake = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-websocket-version'] === '13' &&
  /^[A-Za-z0-9+/]{22}==$/.test(headers['sec-websocket-key'] ?? '');
