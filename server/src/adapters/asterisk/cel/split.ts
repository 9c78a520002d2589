import { RECORD_START } from '../conf/cel-format.ts';

/** Longest record in bytes; the engine's own fields are far shorter, a caller's name can have any length. */
export const RECORD_LIMIT = 64 * 1024;

const LF = 10;
const QUOTE = 34;

/** One record as in the file, without its line end. */
export interface RawRecord {
  readonly bytes: Buffer;
  /** False for text that cannot be a record: cut short, too long, or between two records. */
  readonly whole: boolean;
}
export interface Split {
  readonly records: readonly RawRecord[];
  /** Bytes that are processed; the rest waits for more. */
  readonly consumed: number;
}

const startsRecord = (bytes: Buffer, at: number): boolean =>
  RECORD_START.test(bytes.toString('latin1', at, at + 2));

/** Byte by byte: a record has forty quotes, and a native search for each of them takes longer. */
function quotesIn(bytes: Buffer, from: number, to: number): number {
  let n = 0;
  for (let at = from; at < to; at += 1) if (bytes[at] === QUOTE) n += 1;
  return n;
}

/**
 * Splits bytes into records. A record ends at a line end outside quotes. A line that begins like a record while another one is
 * open proves that the open one was cut short, because quotes inside values are doubled. `bytes` must start at a record or
 * where a reader stopped; `last`: nothing will follow.
 */
export function splitRecords(bytes: Buffer, last = false): Split {
  const records: RawRecord[] = [];
  let start = 0;
  let from = 0;
  let open = false;
  const take = (end: number, next: number, whole: boolean): void => {
    const length = Math.min(end - start, RECORD_LIMIT);
    if (length > 0) {
      const fits = end - start <= RECORD_LIMIT && startsRecord(bytes, start);
      records.push({ bytes: bytes.subarray(start, start + length), whole: whole && fits });
    }
    start = next;
    from = next;
    open = false;
  };
  for (;;) {
    const end = bytes.indexOf(LF, from);
    if (end === -1) break;
    if (quotesIn(bytes, from, end) % 2 === 1) open = !open;
    if (!open) {
      take(end, end + 1, true);
      continue;
    }
    if (startsRecord(bytes, end + 1)) take(end, end + 1, false);
    else from = end + 1;
  }
  const rest = bytes.length - start;
  if (rest > 0 && (last || rest > RECORD_LIMIT)) take(bytes.length, bytes.length, false);
  return { records, consumed: start };
}
