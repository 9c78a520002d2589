import type { Envelope } from '@offhook/contract/events.ts';

/** One committed row with its envelope, serialised once for every reader. */
export interface JournalRow {
  readonly seq: number;
  readonly type: string;
  readonly subject: string;
  readonly at: number;
  /** Topics of the event (rights/topics.ts), joined by one space. */
  readonly topics: string;
  /** Ends with the check of its content and of all rows before it (core/row-check.ts). */
  readonly json: string;
}

/** Journal as features read it. */
export interface JournalReader {
  readonly epoch: string;
  readonly head: number;
  readonly tail: number;
  read(after: number, limit: number): readonly JournalRow[];
}
/** Journal for a feature with a cursor of its own. */
export interface FollowableJournal extends JournalReader {
  /** First seq of the epoch; rows before it belong to another one. */
  readonly began: number;
  /**
   * Resolves once `seq` is committed, or a later row if a new epoch left `seq` out; rejects with the signal's reason.
   */
  waitFor(seq: number, signal?: AbortSignal): Promise<void>;
}
/** Start of a copy of a log: the rows after `seq` follow. `check` is that of the row `seq`, empty if it is not known. */
export interface CopyStart {
  readonly epoch: string;
  readonly began: number;
  readonly after: { readonly seq: number; readonly check: string };
}
/** A copy of a log as the process before left it. */
export interface KeptCopy extends Disposable {
  readonly epoch: string;
  readonly began: number;
  readonly head: number;
  /** Check of a row that is kept; null of another one. */
  checkAt(seq: number): string | null;
  read(after: number, limit: number): readonly JournalRow[];
}
/** The file of a copy on this machine. */
export interface CopyFile {
  /** Null where there is none, or none of this site. */
  kept(): KeptCopy | null;
  /** Moves the copy aside; the reason becomes part of its name. */
  discard(why: string): void;
  /** Opens the copy, an empty one at `start` where there is none. */
  open(start: CopyStart): JournalStore;
}
/**
 * Storage of the journal. Appends are synchronous and atomic; `seq` has no gaps within an epoch and survives restarts. Within
 * an epoch each seq is used once: opening the log must prove that it is the one last read from, up to the newest row any reader
 * got (core/epoch.ts), or begin a new epoch.
 */
export interface JournalStore {
  /** Random id of this log; new when the log was lost, cut, copied, restored or exchanged. */
  readonly epoch: string;
  /** First seq of the epoch. Older rows may be kept, but no cursor resumes from them. */
  readonly began: number;
  /** Check of the newest row, continued by the next one; that of the epoch where there is no row. */
  check(): string;
  /** Newest committed seq, 0 for an empty log. */
  head(): number;
  /** Oldest seq still kept; head + 1 when none is. */
  tail(): number;
  /** All rows or none. Throws `ServiceError('store_unavailable')` when the disk or a lock refuses. */
  append(rows: readonly JournalRow[]): void;
  /**
   * Up to `limit` rows with seq > `after`, in order. O(log n + limit). Where a row differs from what was written, it and all
   * before it are dropped (`tail` moves on) and this call throws `store_unavailable`.
   */
  read(after: number, limit: number): JournalRow[];
  /** Deletes every row with seq < `below`; `head` and the numbering stay. */
  trim(below: number): void;
  /** Approximate bytes of the kept rows; O(1). */
  bytes(): number;
  /**
   * Stores a text with the seq it is valid for, one piece with each step, so that a long text does not hold the event loop. Each
   * step returns the characters it wrote. The previous text is kept until the last piece is stored, also where the iteration is
   * not continued. A step throws as `append`.
   */
  saveCheckpoint(seq: number, pieces: Iterable<string>): Generator<number, void>;
  checkpoint(): { readonly seq: number; readonly text: string } | null;
  close(): void;
}
export type { Envelope };
