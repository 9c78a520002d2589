/** What of a file a request asks for; `end` is included. */
export type Part = { readonly start: number; readonly end: number };

/**
 * Reads the header `Range` for a file of `size` bytes. Null: the whole of it, because there is no such header, or one that
 * may be ignored (RFC 9110 14.2): another unit, several parts, or nonsense. `unsatisfiable`: it lies outside of the file.
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
