import { ServiceError } from './errors.ts';
import { say } from './said.ts';

/** Part of a file that a request asks for; `end` is included. */
export type Part = { readonly start: number; readonly end: number };

/**
 * Reads the header `Range` for a file of `size` bytes. Null: the whole file, because the header is absent or may
 * be ignored (RFC 9110 14.2): another unit, several parts, or a syntax error. `unsatisfiable`: a part outside the file.
 */
export function partOf(header: string | undefined, size: number): Part | 'unsatisfiable' | null {
  const m = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(' ', '') ?? '');
  if (m === null) return null;
  const [first = '', last = ''] = m.slice(1);
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const [start, end] = [Number(first), last === '' ? Infinity : Number(last)];
  if (end < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end: Math.min(end, size - 1) };
}

/** Answer to a request for a file or a part of it. */
export interface PartAnswer {
  readonly status: 200 | 206;
  readonly start: number;
  readonly end: number;
  readonly headers: Readonly<Record<string, string>>;
}
/**
 * Status, bytes and headers for a request of a file of `size` bytes with this `etag` (with its quotes). Throws
 * `range_not_satisfiable`, after it passed the header `Content-Range` of that reply to `onRefusal`.
 */
export function answerPart(
  asked: { readonly range?: string | undefined; readonly 'if-range'?: string | string[] | undefined },
  file: { readonly size: number; readonly etag: string },
  onRefusal: (name: string, value: string) => unknown,
): PartAnswer {
  const { size, etag } = file;
  const same = asked['if-range'];
  const part = same === undefined || same === etag ? partOf(asked.range, size) : null;
  if (part === 'unsatisfiable') {
    onRefusal('content-range', `bytes */${size}`);
    throw new ServiceError('range_not_satisfiable', say`the file has ${size} bytes`);
  }
  const { start, end } = part ?? { start: 0, end: size - 1 };
  return {
    status: part === null ? 200 : 206,
    start,
    end,
    headers: {
      'content-length': String(end - start + 1),
      'cache-control': 'private, no-store',
      'accept-ranges': 'bytes',
      etag,
      ...(part === null ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }),
    },
  };
}
