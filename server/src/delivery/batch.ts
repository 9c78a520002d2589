import type { JournalRow } from '../ports/journal-store.ts';
import { isStateType } from '../rights/topics.ts';

/** Serialises for one transport the bytes that many readers share. */
export interface Framing {
  readonly name: string;
  /** True if each event names the seq sent before it (`prev`). */
  readonly chained: boolean;
  /** `json` is the envelope as the journal holds it. */
  event(json: Buffer, seq: number, prev: number): Buffer;
  /** `json` is the state of the topic as of `cursor`. */
  snapshot(topic: string, cursor: number, json: string): Buffer;
}
/** Events of one audience in a range of the journal, framed once for all its readers. */
export interface Batch {
  /** Every row with `from` < seq <= `to` was examined. */
  readonly from: number;
  readonly to: number;
  /** Rows the audience receives; `last` is the seq of the newest of them, or 0. */
  readonly rows: readonly JournalRow[];
  readonly last: number;
  /** Bytes of the events that may not be skipped for a slow reader. */
  readonly essential: number;
  /** All rows as one buffer, for readers whose last sent event was `prev`. The batch has at least one row. */
  bytes(prev: number): Buffer;
}
/** Limit of the bytes kept for different values of `prev`; most readers have the same one. */
const MAX_STARTS = 4 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);
/**
 * Limits of the rows examined at once: their number, and about their bytes. A reader that is not full (64 KiB) when
 * it is sent a page thus has at most about 256 KiB unsent.
 */
export const ROWS_PER_PAGE = 500;
const PAGE_BYTES = 192 * 1024;

/** As many rows as fit in one piece; nearly always all. */
export function firstPiece(rows: readonly JournalRow[]): readonly JournalRow[] {
  let size = 0;
  const end = rows.findIndex((row) => (size += row.json.length) > PAGE_BYTES);
  return end < 0 ? rows : rows.slice(0, Math.max(1, end));
}
export function essentialBytes(rows: readonly JournalRow[]): number {
  let bytes = 0;
  for (const row of rows) if (!isStateType(row.type)) bytes += row.json.length;
  return bytes;
}
/** Returns the bytes of an envelope, serialised once for every batch that it is passed to. */
export function bytesOnce(): (row: JournalRow) => Buffer {
  const made = new Map<number, Buffer>();
  return (row) => {
    let json = made.get(row.seq);
    if (json === undefined) made.set(row.seq, (json = Buffer.from(row.json)));
    return json;
  };
}

export interface BatchRows {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly JournalRow[];
  readonly essential: number;
}
/** `jsonOf` returns the bytes of an envelope, serialised once for all audiences. */
export function createBatch(
  framing: Framing,
  jsonOf: (row: JournalRow) => Buffer,
  { from, to, rows, essential }: BatchRows,
): Batch {
  const starts = new Map<number, Buffer>();
  let kept = 0;
  let rest: Buffer | undefined;
  const [first] = rows;
  return {
    from,
    to,
    rows,
    essential,
    last: rows.at(-1)?.seq ?? 0,
    bytes(sent) {
      const prev = framing.chained ? sent : 0;
      const known = starts.get(prev);
      if (known !== undefined) return known;
      if (first === undefined) return NOTHING;
      const start = framing.event(jsonOf(first), first.seq, prev);
      rest ??= Buffer.concat(
        rows.slice(1).map((row, i) => framing.event(jsonOf(row), row.seq, rows[i]!.seq)),
      );
      const all = rest.length === 0 ? start : Buffer.concat([start, rest]);
      kept += all.length;
      if (kept > MAX_STARTS) {
        starts.clear();
        kept = all.length;
      }
      starts.set(prev, all);
      return all;
    },
  };
}
/** Returns one batch for all audiences of a transport that receive the same rows of a range; they share its bytes. */
export function sharedBatches(
  from: number,
  to: number,
): (framing: Framing, rows: readonly JournalRow[]) => Batch {
  const jsonOf = bytesOnce();
  const made = new Map<string, Batch>();
  return (framing, rows) => {
    const key = `${framing.name} ${rows.map((row) => row.seq).join(' ')}`;
    let batch = made.get(key);
    if (batch === undefined) {
      batch = createBatch(framing, jsonOf, { from, to, rows, essential: essentialBytes(rows) });
      made.set(key, batch);
    }
    return batch;
  };
}
