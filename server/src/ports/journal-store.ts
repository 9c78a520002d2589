import type { Envelope } from '@offhook/contract/events.ts';

/** One committed row: the envelope already serialised, once, for every reader. */
export interface JournalRow {
  readonly seq: number;
  readonly type: string;
  readonly subject: string;
  readonly at: number;
  /** The topics it belongs to (rights/topics.ts), joined by one space. */
  readonly topics: string;
  /** Ends with the check of its content and of all rows before it (core/row-check.ts). */
  readonly json: string;
}

/** What a feature that counts or answers for committed events may read of the journal. */
export interface JournalReader {
  readonly epoch: string;
  readonly head: number;
  readonly tail: number;
  read(after: number, limit: number): readonly JournalRow[];
}
/** What a feature with a cursor of its own follows. */
export interface FollowableJournal extends JournalReader {
  /** First seq of the epoch; rows before it belong to another one. */
  readonly began: number;
  /** Resolves once `seq` is committed; rejects with the signal's reason. */
  waitFor(seq: number, signal?: AbortSignal): Promise<void>;
}
/**
 * Where the journal lies. Appends are synchronous and atomic; `seq` has no holes within an epoch and survives restarts.
 * Within an epoch a seq is given out once: whoever opens the log must show that it is the one that was read from last,
 * up to the newest row that anybody read (core/epoch.ts), or begin a new epoch.
 */
export interface JournalStore {
  /** Random id of this log; new when the log was lost, cut, copied, restored or exchanged. */
  readonly epoch: string;
  /** First seq of the epoch. Rows before it may be kept, and no cursor leads on from them. */
  readonly began: number;
  /** The check of the newest row, from which the next one goes on; that of the epoch where it has none. */
  check(): string;
  /** Newest committed seq, 0 for an empty log. */
  head(): number;
  /** Oldest seq still kept; head + 1 when none is. */
  tail(): number;
  /** All rows or none. Throws `ServiceError('store_unavailable')` when the disk or a lock refuses. */
  append(rows: readonly JournalRow[]): void;
  /**
   * Up to `limit` rows with seq > `after`, in order. O(log n + limit). Where one of them is not what was written, it and all
   * before it are given up (`tail` moves on) and `store_unavailable` is thrown this once.
   */
  read(after: number, limit: number): JournalRow[];
  /** Forgets every row with seq < `below`; `head` and the numbering stay. */
  trim(below: number): void;
  /** Bytes that the kept rows take, about; O(1). */
  bytes(): number;
  /** Keeps one text and the seq it holds for, in place of the one before. Throws as `append`. */
  saveCheckpoint(seq: number, text: string): void;
  checkpoint(): { readonly seq: number; readonly text: string } | null;
  close(): void;
}
export type { Envelope };
