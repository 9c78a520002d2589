import { Transform } from 'node:stream';

/** What a peer did that ends its connection; `code` is a close code of RFC 6455. */
export class FrameError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = 'FrameError';
    this.code = code;
  }
}
const HEADER_MAX = 14;

/**
 * Passes the bytes of a client's WebSocket frames on unchanged and fails with a `FrameError` at the first frame that is
 * not masked, uses reserved bits (nothing was negotiated) or holds more than `maxPayload` bytes. Nothing is buffered but a
 * header that is not complete.
 */
export function frameGuard(maxPayload: number): Transform {
  let header = Buffer.alloc(0);
  let payload = 0;
  const check = (chunk: Buffer): void => {
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
      const size = headerSize(header);
      if (size === undefined || header.length < size) return;
      at += size - had;
      payload = payloadSize(header, maxPayload);
      header = Buffer.alloc(0);
    }
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        check(chunk);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
}
/** Bytes of the header that begins here; undefined while that cannot be told. */
function headerSize(bytes: Buffer): number | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  if ((first & 0x70) !== 0) throw new FrameError(1002, 'a reserved bit is set');
  if ((second & 0x80) === 0) throw new FrameError(1002, 'a client frame is not masked');
  const length = second & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + 4;
}
function payloadSize(header: Buffer, max: number): number {
  const short = header[1]! & 0x7f;
  const size =
    short === 126 ? header.readUInt16BE(2) : short === 127 ? Number(header.readBigUInt64BE(2)) : short;
  if (size > max) throw new FrameError(1009, `a frame of ${size} bytes is larger than ${max}`);
  return size;
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
