import { isUtf8 } from 'node:buffer';
import { MAX_FRAME_BYTES } from '@offhook/contract/stream.ts';
import { FrameError, checkStart } from '../core/ws-frames.ts';

/** What a client's frames come to. */
export interface FrameTarget {
  text(message: string): void;
  binary(): void;
  ping(payload: Buffer): void;
  pong(): void;
  /** 1005 where the client named no code. */
  closed(code: number): void;
}
/** Frames one message may come in: more is a flood of crumbs. */
const MAX_FRAGMENTS = 128;
const HEADER_MAX = 14;
const NO_STATUS = 1005;

/**
 * Reads a client's frames from chunks that are cut anywhere; holds at most one message. `push` throws `FrameError` with the
 * close code: 1002 (protocol), 1007 (not UTF-8), 1008 (crumbs), 1009 (a message larger than 64 KiB, at its header).
 */
export class FrameReader {
  #header: Buffer | null = null;
  #payload: Buffer | null = null;
  #filled = 0;
  #first = 0;
  #mask = 0;
  /** Opcode of the message whose frames are coming in; 0 for none. */
  #opcode = 0;
  #parts: Buffer[] = [];
  #size = 0;

  push(chunk: Buffer, target: FrameTarget): void {
    let data = chunk;
    if (this.#header !== null) {
      data = Buffer.concat([this.#header, chunk]);
      this.#header = null;
    }
    let at = 0;
    while (at < data.length) {
      if (this.#payload === null) {
        const size = this.#begin(data, at);
        if (size === 0) {
          this.#header = Buffer.from(data.subarray(at, at + HEADER_MAX));
          return;
        }
        at += size;
      }
      const payload = this.#payload!;
      const step = Math.min(payload.length - this.#filled, data.length - at);
      data.copy(payload, this.#filled, at, at + step);
      this.#filled += step;
      at += step;
      if (this.#filled < payload.length) return;
      this.#payload = null;
      unmask(payload, this.#mask);
      this.#end(payload, target);
    }
  }
  /** Reads one header; returns its bytes, or 0 where it is not complete. */
  #begin(data: Buffer, at: number): number {
    const [first, second] = [data[at], data[at + 1]];
    if (first === undefined || second === undefined) return 0;
    checkStart(first, second);
    const opcode = first & 0x0f;
    if (opcode === 0 ? this.#opcode === 0 : opcode < 0x8 && this.#opcode !== 0) {
      throw new FrameError(1002, 'the frames of a message are out of order');
    }
    const short = second & 0x7f;
    const size = 6 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (data.length - at < size) return 0;
    const length =
      short === 126
        ? data.readUInt16BE(at + 2)
        : short === 127
          ? Number(data.readBigUInt64BE(at + 2))
          : short;
    if (opcode < 0x8 && this.#size + length > MAX_FRAME_BYTES) {
      throw new FrameError(1009, `a message is larger than ${MAX_FRAME_BYTES} bytes`);
    }
    this.#first = first;
    this.#mask = data.readUInt32BE(at + size - 4);
    this.#payload = Buffer.allocUnsafe(length);
    this.#filled = 0;
    return size;
  }
  #end(payload: Buffer, target: FrameTarget): void {
    const opcode = this.#first & 0x0f;
    if (opcode === 0x9) return target.ping(payload);
    if (opcode === 0xa) return target.pong();
    if (opcode === 0x8) return target.closed(closeCode(payload));
    if (opcode !== 0) this.#opcode = opcode;
    if (this.#parts.length >= MAX_FRAGMENTS) throw new FrameError(1008, 'a message comes in crumbs');
    this.#parts.push(payload);
    this.#size += payload.length;
    if ((this.#first & 0x80) === 0) return;
    const message = this.#parts.length === 1 ? payload : Buffer.concat(this.#parts);
    const kind = this.#opcode;
    this.#parts = [];
    this.#size = 0;
    this.#opcode = 0;
    if (kind === 0x2) return target.binary();
    if (!isUtf8(message)) throw new FrameError(1007, 'a message is not UTF-8');
    target.text(message.toString('utf8'));
  }
}
function unmask(payload: Buffer, mask: number): void {
  const keys = [mask >>> 24, (mask >>> 16) & 0xff, (mask >>> 8) & 0xff, mask & 0xff] as const;
  for (let i = 0; i < payload.length; i += 1) payload[i]! ^= keys[(i & 3) as 0 | 1 | 2 | 3];
}
function closeCode(payload: Buffer): number {
  if (payload.length === 0) return NO_STATUS;
  const code = payload.length === 1 ? 0 : payload.readUInt16BE(0);
  const known =
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) || code >= 3000;
  if (!known || code > 4999) throw new FrameError(1002, 'the close frame has no valid code');
  if (!isUtf8(payload.subarray(2))) throw new FrameError(1007, 'the reason to close is not UTF-8');
  return code;
}
