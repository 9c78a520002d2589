import { Transform } from 'node:stream';
import { FrameError, checkStart, headerSize, payloadSize } from './ws-frames.ts';

const CONTROL = 0x8;
const HEADER_MAX = 14;
const FIRST_ROOM = 2_048;
/** Limit of frames in one message. */
const MAX_PIECES = 64;

export interface WholeFrame {
  readonly opcode: number;
  readonly fin: boolean;
  /** The received bytes, header and mask included. */
  readonly raw: Buffer;
  /** The payload without its mask. */
  payload(): Buffer;
}

/**
 * Assembles frames from chunks of any size. `masked`: the frames of a client, which must be masked and pass `checkStart`.
 * Throws `FrameError` for an invalid frame, or one with more than `maxPayload` bytes.
 */
export function frameReader(maxPayload: number, masked: boolean): (chunk: Buffer) => WholeFrame[] {
  let raw = Buffer.allocUnsafe(FIRST_ROOM);
  let filled = 0;
  /** Size of the frame; 0 until its header is complete. */
  let size = 0;
  let header = 0;
  const room = (bytes: number): void => {
    if (raw.length >= bytes) return;
    const larger = Buffer.allocUnsafe(Math.min(Math.max(bytes, raw.length * 2), maxPayload + HEADER_MAX));
    raw.copy(larger, 0, 0, filled);
    raw = larger;
  };
  const take = (chunk: Buffer, at: number, until: number): number => {
    const step = Math.min(until - filled, chunk.length - at);
    room(filled + step);
    chunk.copy(raw, filled, at, at + step);
    filled += step;
    return at + step;
  };
  return (chunk) => {
    const frames: WholeFrame[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (size === 0) {
        at = take(chunk, at, filled < 2 ? 2 : header);
        if (filled < 2) continue;
        const second = raw[1]!;
        if (header === 0) {
          if (masked) checkStart(raw[0]!, second);
          header = headerSize(second);
        }
        if (filled < header) continue;
        const payload = payloadSize(raw);
        if (payload > maxPayload) {
          throw new FrameError(1009, `a frame of ${payload} bytes is larger than ${maxPayload}`);
        }
        size = header + payload;
      }
      if (filled < size) at = take(chunk, at, size);
      if (filled < size) continue;
      frames.push(frameOf(Buffer.from(raw.subarray(0, size)), header));
      raw = Buffer.allocUnsafe(FIRST_ROOM);
      filled = size = header = 0;
    }
    return frames;
  };
}
function frameOf(raw: Buffer, header: number): WholeFrame {
  return {
    opcode: raw[0]! & 0x0f,
    fin: (raw[0]! & 0x80) !== 0,
    raw,
    payload() {
      const payload = Buffer.from(raw.subarray(header));
      if ((raw[1]! & 0x80) === 0) return payload;
      for (let i = 0; i < payload.length; i += 1) payload[i]! ^= raw[header - 4 + (i & 3)]!;
      return payload;
    },
  };
}

/** Rewrites a whole message of a client; null passes the original on. */
export type Rewrite = (message: Buffer) => Buffer | null | Promise<Buffer | null>;
/**
 * Forwards a client's frames in order and shows each whole message to `rewrite` first. Fails with the error of `frameReader`
 * or of `rewrite`.
 */
export function messageFilter(maxPayload: number, rewrite: Rewrite): Transform {
  const read = frameReader(maxPayload, true);
  let pieces: WholeFrame[] = [];
  let bytes = 0;
  function collect(frame: WholeFrame): WholeFrame[] | null {
    if ((frame.opcode === 0) !== pieces.length > 0) {
      throw new FrameError(
        1002,
        'a frame goes on with a message that was not begun, or begins one inside another',
      );
    }
    pieces.push(frame);
    bytes += frame.raw.length;
    if (bytes > maxPayload + pieces.length * HEADER_MAX) {
      throw new FrameError(1009, `a message is larger than ${maxPayload} bytes`);
    }
    if (pieces.length > MAX_PIECES) throw new FrameError(1008, 'message fragmented into too many frames');
    if (!frame.fin) return null;
    const whole = pieces;
    [pieces, bytes] = [[], 0];
    return whole;
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const filter = async (frames: readonly WholeFrame[]): Promise<void> => {
        for (const frame of frames) {
          if (frame.opcode >= CONTROL) {
            this.push(frame.raw);
            continue;
          }
          const whole = collect(frame);
          if (whole === null) continue;
          const message =
            whole.length === 1 ? whole[0]!.payload() : Buffer.concat(whole.map((f) => f.payload()));
          const answer = rewrite(message);
          const other = answer instanceof Promise ? await answer : answer;
          if (other === null) for (const piece of whole) this.push(piece.raw);
          else this.push(clientFrame(whole[0]!.opcode, other));
        }
      };
      const run = async (): Promise<void> => {
        let failed: Error | null = null;
        try {
          await filter(read(chunk));
        } catch (error) {
          failed = error as Error;
        }
        done(failed);
      };
      void run();
    },
  });
}

/** A masked frame; a mask of zeros is enough on loopback. */
function clientFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.alloc(start + 4 + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (start === 2 ? length : start === 4 ? 126 : 127);
  if (start === 4) frame.writeUInt16BE(length, 2);
  if (start === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  payload.copy(frame, start + 4);
  return frame;
}
