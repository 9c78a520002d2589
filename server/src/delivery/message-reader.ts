import { isUtf8 } from 'node:buffer';
import { MAX_FRAME_BYTES } from '@offhook/contract/stream.ts';
import { FrameError } from '../websocket/frames.ts';
import { FrameReader } from '../websocket/messages.ts';
import type { WholeFrame } from '../websocket/messages.ts';

/** Receives the messages and control frames of a client. */
export interface MessageTarget {
  text(message: string): void;
  binary(): void;
  ping(payload: Buffer): void;
  pong(): void;
  /** 1005 if the client sent no code. */
  closed(code: number): void;
}
/** Limit of frames in one message. */
const MAX_FRAGMENTS = 128;
const NO_STATUS = 1005;

/**
 * Reads a client's messages from chunks of any size; holds at most one message. `push` throws `FrameError` with the
 * close code: 1002 (protocol), 1007 (not UTF-8), 1008 (too many fragments), 1009 (a message larger than 64 KiB, at
 * its header).
 */
export class MessageReader {
  readonly #frames = new FrameReader({ masked: true, begin: (opcode, size) => this.#begin(opcode, size) });
  /** Opcode of the message being read; 0 for none. */
  #opcode = 0;
  #parts: Buffer[] = [];
  #size = 0;

  push(chunk: Buffer, target: MessageTarget): void {
    for (const frame of this.#frames.read(chunk)) this.#take(frame, target);
  }
  #begin(opcode: number, size: number): void {
    if (opcode >= 0x8) return;
    if ((opcode === 0) !== (this.#opcode !== 0)) {
      throw new FrameError(1002, 'the frames of a message are out of order');
    }
    if (this.#size + size > MAX_FRAME_BYTES) {
      throw new FrameError(1009, `a message is larger than ${MAX_FRAME_BYTES} bytes`);
    }
  }
  #take(frame: WholeFrame, target: MessageTarget): void {
    const { opcode, fin } = frame;
    const payload = frame.payload();
    if (opcode === 0x9) return target.ping(payload);
    if (opcode === 0xa) return target.pong();
    if (opcode === 0x8) return target.closed(closeCode(payload));
    if (opcode !== 0) this.#opcode = opcode;
    if (this.#parts.length >= MAX_FRAGMENTS) {
      throw new FrameError(1008, 'message fragmented into too many frames');
    }
    this.#parts.push(payload);
    this.#size += payload.length;
    if (!fin) return;
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
function closeCode(payload: Buffer): number {
  if (payload.length === 0) return NO_STATUS;
  const code = payload.length === 1 ? 0 : payload.readUInt16BE(0);
  const known =
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) || code >= 3000;
  if (!known || code > 4999) throw new FrameError(1002, 'the close frame has no valid code');
  if (!isUtf8(payload.subarray(2))) throw new FrameError(1007, 'the reason to close is not UTF-8');
  return code;
}
