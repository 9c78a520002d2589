import { Transform } from 'node:stream';
import { FrameError, checkStart, headerSize, payloadSize, wholeFrame } from './frames.ts';

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

interface FrameRules {
  /** Frames of a client, which must be masked and pass `checkStart`. */
  readonly masked: boolean;
  /** Called with each complete header, before its payload is held; throws to refuse the frame. */
  readonly begin: (opcode: number, payload: number) => void;
}
const NOTHING = Buffer.alloc(0);

/** Refuses a payload of more than `most` bytes with the close code 1009. */
const noLargerThan = (most: number) => (_opcode: number, payload: number) => {
  if (payload > most) throw new FrameError(1009, `a frame of ${payload} bytes is larger than ${most}`);
};
/** A reader of frames with at most `maxPayload` bytes each. */
export const frameReader = (maxPayload: number, masked: boolean): FrameReader =>
  new FrameReader({ masked, begin: noLargerThan(maxPayload) });

/** Assembles frames from chunks that are cut anywhere; holds nothing between two frames. */
export class FrameReader {
  readonly #rules: FrameRules;
  #raw = NOTHING;
  #filled = 0;
  /** Size of the frame; 0 until its header is complete. */
  #size = 0;
  #header = 0;
  constructor(rules: FrameRules) {
    this.#rules = rules;
  }
  /** Yields the complete frames; the caller must read all. Throws `FrameError` for a frame that breaks the rules. */
  *read(chunk: Buffer): Generator<WholeFrame, void> {
    let at = 0;
    while (at < chunk.length) {
      if (this.#size === 0) {
        at = this.#fill(chunk, at, this.#filled < 2 ? 2 : this.#header);
        if (!this.#begin()) continue;
      }
      if (this.#filled < this.#size) at = this.#fill(chunk, at, this.#size);
      if (this.#filled < this.#size) continue;
      const [raw, header] = [this.#raw.subarray(0, this.#size), this.#header];
      this.#raw = NOTHING;
      this.#filled = this.#size = this.#header = 0;
      yield frameOf(raw, header);
    }
  }
  #fill(chunk: Buffer, at: number, until: number): number {
    const step = Math.min(until - this.#filled, chunk.length - at);
    const bytes = this.#filled + step;
    if (this.#raw.length < bytes) {
      // One piece of memory for a small frame, and few copies of a large one that comes in many chunks.
      const offered = Math.min(this.#filled + chunk.length - at, FIRST_ROOM);
      const room = Math.max(bytes, HEADER_MAX, offered, Math.min(this.#raw.length * 2, until));
      const larger = Buffer.allocUnsafe(room);
      this.#raw.copy(larger, 0, 0, this.#filled);
      this.#raw = larger;
    }
    chunk.copy(this.#raw, this.#filled, at, at + step);
    this.#filled = bytes;
    return at + step;
  }
  /** True once the header is complete. */
  #begin(): boolean {
    if (this.#filled < 2) return false;
    const { masked, begin } = this.#rules;
    const [first, second] = [this.#raw[0]!, this.#raw[1]!];
    if (this.#header === 0) {
      if (masked) checkStart(first, second);
      this.#header = headerSize(second);
    }
    if (this.#filled < this.#header) return false;
    const payload = payloadSize(this.#raw);
    begin(first & 0x0f, payload);
    this.#size = this.#header + payload;
    return true;
  }
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
 * Forwards a client's frames in order and passes each whole message to `rewrite` first. Fails with the error of
 * `FrameReader` or of `rewrite`.
 */
export function messageFilter(maxPayload: number, rewrite: Rewrite): Transform {
  const frames = frameReader(maxPayload, true);
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
      const filter = async (all: Iterable<WholeFrame>): Promise<void> => {
        for (const frame of all) {
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
          else this.push(wholeFrame(whole[0]!.opcode, other, true));
        }
      };
      const run = async (): Promise<void> => {
        let failed: Error | null = null;
        try {
          await filter(frames.read(chunk));
        } catch (error) {
          failed = error as Error;
        }
        done(failed);
      };
      void run();
    },
  });
}
