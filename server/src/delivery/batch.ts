import type { JournalRow } from '../ports/journal-store.ts';

/** How a transport writes what is shared by many readers. */
export interface Framing {
  readonly name: string;
  /** True where each event says which one was sent before it. */
  readonly chained: boolean;
  /** `json` is the envelope as the journal holds it. */
  event(json: Buffer, seq: number, prev: number): Buffer;
  /** `json` is the state of the topic as of `cursor`. */
  snapshot(topic: string, cursor: number, json: string): Buffer;
}
/** Rows that one feed hears, framed once for every reader that stands before them. */
export interface Batch {
  /** Every row with `from` < seq <= `to` was looked at. */
  readonly from: number;
  readonly to: number;
  /** Those that are heard; seq of the newest of them, or 0. */
  readonly rows: readonly JournalRow[];
  readonly last: number;
  /** Bytes of the events that must not be left out. */
  readonly facts: number;
  /** All rows as one piece for readers that were sent `prev` before. There is at least one row. */
  bytes(prev: number): Buffer;
}
/** Bytes kept for readers that were sent something else before; most were sent the same. */
const MAX_STARTS = 4 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

export interface BatchRows {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly JournalRow[];
  readonly facts: number;
}
/** `jsonOf` gives the bytes of an envelope, made once however many feeds hear it. */
export function createBatch(
  framing: Framing,
  jsonOf: (row: JournalRow) => Buffer,
  { from, to, rows, facts }: BatchRows,
): Batch {
  const starts = new Map<number, Buffer>();
  let kept = 0;
  let rest: Buffer | undefined;
  const [first] = rows;
  return {
    from,
    to,
    rows,
    facts,
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
