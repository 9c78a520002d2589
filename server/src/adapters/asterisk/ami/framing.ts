import { isAscii } from 'node:buffer';
import { Frame } from './frame.ts';

/** No frame may be longer, none of its lines, and none may have more headers: such a frame is dropped and counted. */
export const FRAME_BYTES = 64 * 1024;
export const LINE_BYTES = 16 * 1024;
export const HEADER_COUNT = 512;
const BANNER_BYTES = 256;
const END = '\r\n\r\n';
/** What must be seen again when an end of frame is split over two chunks. */
const SEAM = END.length - 1;
/** A header needs a letter, a colon and a line end, so a shorter frame cannot have too many of them. */
const NEEDS_COUNTING = HEADER_COUNT * 4;

export type DropReason = 'frame_too_long' | 'line_too_long' | 'too_many_headers' | 'not_a_frame';

/** What a decoder reports, in the order of the bytes. None of them may throw. */
export interface DecoderHandlers {
  /**
   * The first line, without its line end, only with `banner: true`. Answering false ends the decoding: whoever is
   * on the other side is no manager, and nothing it says is read.
   */
  banner?(line: string): boolean;
  event(name: string, frame: Frame): void;
  /** An event that `wants` refused. */
  ignored?(name: string): void;
  response(status: string, frame: Frame): void;
  /** `raw` is at most its first 2,000 characters. */
  dropped?(reason: DropReason, raw: string): void;
}
export interface DecoderOptions {
  /** True when the stream begins with the manager's greeting. */
  readonly banner?: boolean;
  /** Events for which a frame is made; all of them where this is missing. */
  readonly wants?: (name: string) => boolean;
}
export interface Decoder {
  write(chunk: Buffer): void;
}

/**
 * Bytes to frames; any split of the stream gives the same frames. The bytes are read as latin1, so that one byte is one
 * character and a split loses nothing; a value becomes UTF-8 only when it is asked for and is not ASCII.
 */
export const createDecoder = (handlers: DecoderHandlers, options: DecoderOptions = {}): Decoder => {
  const { wants } = options;
  let greeting = options.banner === true;
  let dead = false;
  /** The beginning of a frame whose end has not come, joined lazily by the engine so that tiny chunks stay cheap. */
  let rest = '';
  let restAscii = true;
  /** The last three characters of `rest`. */
  let tail = '';
  /** True while the rest of an oversize frame is skipped up to the next blank line. */
  let skipping = false;

  const drop = (reason: DropReason, raw: string): void => handlers.dropped?.(reason, raw.slice(0, 2000));

  const oversize = (text: string, start: number, end: number): DropReason | null => {
    if (end - start > FRAME_BYTES) return 'frame_too_long';
    let lines = 0;
    for (let at = start; at < end;) {
      const found = text.indexOf('\r\n', at);
      const stop = found < 0 || found > end ? end : found;
      if (stop - at > LINE_BYTES) return 'line_too_long';
      if (++lines > HEADER_COUNT) return 'too_many_headers';
      at = stop + 2;
    }
    return null;
  };

  /** `bytes` are those behind `text`, where they lie in one piece: cutting from them leaves no chunk behind a value. */
  const emit = (text: string, begin: number, end: number, ascii: boolean, bytes: Buffer | null): void => {
    let start = begin;
    while (start < end && text.startsWith('\r\n', start)) start += 2;
    if (start >= end) return;
    if (end - start > NEEDS_COUNTING) {
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
      if (rest.length > FRAME_BYTES) {
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

  /** The greeting is one line and no frame; whatever follows it in the same chunk is read on. */
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
