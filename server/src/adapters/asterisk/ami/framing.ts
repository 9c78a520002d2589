import { isAscii } from 'node:buffer';
import { Frame } from './frame.ts';

/** Limit of a line, in bytes. */
export const LINE_BYTES = 16 * 1024;
/** Limits of a frame; one beyond them is dropped and counted. */
export interface FrameLimits {
  readonly bytes: number;
  readonly headers: number;
}
export const FRAME_LIMITS: FrameLimits = { bytes: 64 * 1024, headers: 512 };
const BANNER_BYTES = 256;
const END = '\r\n\r\n';
/** Characters to scan again when the end of a frame is split over two chunks. */
const SEAM = END.length - 1;
/** A header needs a letter, a colon and a line end. */
const SHORTEST_HEADER = 4;

export type DropReason = 'frame_too_long' | 'line_too_long' | 'too_many_headers' | 'not_a_frame';

/** Callbacks of a decoder, in the order of the bytes. None of them may throw. */
export interface DecoderHandlers {
  /**
   * The first line, without its line end, only with `banner: true`. Returning false stops the decoding, because the peer is not
   * a manager.
   */
  banner?(line: string): boolean;
  event(name: string, frame: Frame): void;
  /** An event that `wants` rejected. */
  ignored?(name: string): void;
  response(status: string, frame: Frame): void;
  /** `raw` is at most its first 2,000 characters. */
  dropped?(reason: DropReason, raw: string): void;
}
export interface DecoderOptions {
  /** True when the stream begins with the manager's greeting. */
  readonly banner?: boolean;
  /** Events for which a frame is built; all where absent. */
  readonly wants?: (name: string) => boolean;
  readonly limits?: FrameLimits;
}
export interface Decoder {
  write(chunk: Buffer): void;
}

/**
 * Decodes bytes to frames; any split of the stream gives the same frames. Bytes are read as latin1, so that one byte is one
 * character and a split loses nothing; a value is decoded as UTF-8 only on request and when it is not ASCII.
 */
export const createDecoder = (handlers: DecoderHandlers, options: DecoderOptions = {}): Decoder => {
  const { wants, limits = FRAME_LIMITS } = options;
  /** No shorter frame can be beyond a limit. */
  const short = Math.min(LINE_BYTES, limits.headers * SHORTEST_HEADER);
  let greeting = options.banner === true;
  let dead = false;
  /** Start of a frame whose end has not arrived, joined lazily by the engine so that tiny chunks stay cheap. */
  let rest = '';
  let restAscii = true;
  /** The last three characters of `rest`. */
  let tail = '';
  /** True while the rest of an oversized frame is skipped up to the next blank line. */
  let skipping = false;

  const drop = (reason: DropReason, raw: string): void => handlers.dropped?.(reason, raw.slice(0, 2000));

  const oversize = (text: string, start: number, end: number): DropReason | null => {
    if (end - start > limits.bytes) return 'frame_too_long';
    let lines = 0;
    for (let at = start; at < end;) {
      const found = text.indexOf('\r\n', at);
      const stop = found < 0 || found > end ? end : found;
      if (stop - at > LINE_BYTES) return 'line_too_long';
      if (++lines > limits.headers) return 'too_many_headers';
      at = stop + 2;
    }
    return null;
  };

  /** `bytes` are those of `text`, where they are contiguous: a value cut from them keeps no chunk alive. */
  const emit = (text: string, begin: number, end: number, ascii: boolean, bytes: Buffer | null): void => {
    let start = begin;
    while (start < end && text.startsWith('\r\n', start)) start += 2;
    if (start >= end) return;
    if (end - start > short) {
      const reason = oversize(text, start, end);
      if (reason !== null) return drop(reason, text.slice(start, start + 2000));
    }
    const isEvent = text.startsWith('Event:', start);
    if (!isEvent && !text.startsWith('Response:', start))
      return drop('not_a_frame', text.slice(start, Math.min(end, start + 2000)));
    let from = start + (isEvent ? 6 : 9);
    if (text.charCodeAt(from) === 32) from++;
    const line = text.indexOf('\r\n', from);
    const name = text.slice(from, line < 0 || line > end ? end : line);
    if (isEvent && wants !== undefined && !wants(name)) return handlers.ignored?.(name);
    const frame = new Frame(
      bytes === null ? text.slice(start, end) : bytes.toString('latin1', start, end),
      ascii,
    );
    if (isEvent) handlers.event(name, frame);
    else handlers.response(name, frame);
  };

  const hold = (text: string, ascii: boolean): void => {
    if (!skipping) {
      rest += text;
      restAscii &&= ascii;
      if (rest.length > limits.bytes) {
        drop('frame_too_long', rest.slice(0, 2000));
        rest = '';
        skipping = true;
      }
    }
    tail = (tail + text.slice(-SEAM)).slice(-SEAM);
  };

  const body = (chunk: Buffer): void => {
    const text = chunk.toString('latin1');
    const ascii = isAscii(chunk);
    let at = 0;
    if (tail !== '') {
      const seam = (tail + text.slice(0, SEAM)).indexOf(END);
      const end = seam < 0 ? text.indexOf(END) : seam + END.length - tail.length;
      if (seam < 0 && end < 0) return hold(text, ascii);
      at = seam < 0 ? end + END.length : end;
      if (!skipping) {
        const whole = rest + text.slice(0, at);
        emit(whole, 0, whole.length - END.length, restAscii && ascii, null);
      }
      skipping = false;
      rest = '';
      tail = '';
      restAscii = true;
    }
    for (let end = text.indexOf(END, at); end >= 0 && !dead; end = text.indexOf(END, at)) {
      emit(text, at, end, ascii, chunk);
      at = end + END.length;
    }
    if (at < text.length) hold(text.slice(at), ascii);
  };

  /** The greeting is a single line, not a frame; decoding continues behind it in the same chunk. */
  const greet = (chunk: Buffer): void => {
    const before = rest.length;
    rest += chunk.toString('latin1');
    const end = rest.indexOf('\r\n');
    if (end < 0 && rest.length <= BANNER_BYTES) return;
    const line = end < 0 ? rest : rest.slice(0, end);
    greeting = false;
    rest = '';
    if (handlers.banner?.(line.slice(0, BANNER_BYTES)) === false || end < 0) {
      dead = true;
      return;
    }
    const used = end + 2 - before;
    if (used < chunk.length) body(chunk.subarray(used));
  };

  return {
    write(chunk) {
      if (dead || chunk.length === 0) return;
      if (greeting) greet(chunk);
      else body(chunk);
    },
  };
};
