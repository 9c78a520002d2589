import type { JournalRow } from './journal-store.ts';

/** State of a site's log. */
export interface LogState {
  readonly epoch: string;
  /** First seq of the epoch. */
  readonly began: number;
  /** Newest committed seq; `began - 1` where the epoch has none. */
  readonly head: number;
  /** Oldest seq still kept; `head + 1` when none is. */
  readonly tail: number;
  /** Check of the newest row (core/row-check.ts), trimmed or not; that of the epoch where it has no row. */
  readonly check: string;
  /** Number of times that a writer took the log; only the writer of this term may append. */
  readonly term: number;
}
export interface LogHolder {
  /** Random name of the writer's data folder: the next process on the same folder is the same holder. */
  readonly id: string;
  /** Location of the log for an administrator. */
  readonly location: string;
}
export type Taken =
  | { readonly taken: true; readonly state: LogState }
  | { readonly taken: false; readonly by: LogHolder; readonly seconds: number };
/**
 * `appended`: the log holds these rows after `after`, from this call or an earlier one. `deposed`: another writer took the log;
 * nothing of this call is in it. `behind`: the log ends before `after`: it lost its tail. `other`: it holds other rows there.
 */
export type Appended = 'appended' | 'deposed' | 'behind' | 'other';

/**
 * The record of a site's journal, which outlives its processes: one dense order, one writer at a time. The writer is fenced by its
 * term in the append itself, so that no clock matters for what the log holds. Every method rejects with
 * `ServiceError('store_unavailable')` while the log cannot be reached; the outcome of that call is then open, and the same call
 * again settles it.
 */
export interface SiteLog {
  /** Null for a log that was never begun. */
  state(): Promise<LogState | null>;
  /** Begins a log. False, with nothing changed, where there is one already. */
  begin(start: Pick<LogState, 'epoch' | 'began' | 'head' | 'check'>): Promise<boolean>;
  /** Makes `holder` the only writer, under a new term, for `seconds`; not while another holder's time runs. */
  take(holder: LogHolder, seconds: number): Promise<Taken>;
  /** Extends the lease of `term` to `seconds` from now, even after it ended; false where another took the log. */
  renew(term: number, seconds: number): Promise<boolean>;
  /**
   * Ends the lease of `term`. If `to` is not null, only `to` may take the log for `seconds`. False where another writer
   * took the log.
   */
  pass(term: number, to: LogHolder | null, seconds: number): Promise<boolean>;
  /**
   * Appends all rows or none after seq `after`; they are dense and end with their checks. A call again may have more rows, if it
   * begins with the same ones. Several processes may append under one term: the loser of a seq gets `other`, reads what is there
   * and appends its events after it. No two of them may make the same row, so each row names its process.
   */
  append(term: number, after: number, rows: readonly JournalRow[]): Promise<Appended>;
  /** Up to `limit` rows with seq > `after`, in order. */
  read(after: number, limit: number): Promise<readonly JournalRow[]>;
  /** Deletes every row with seq < `below`; nothing where another took the log. */
  trim(term: number, below: number): Promise<void>;
  /** Begins another epoch after what is kept. False where another took the log. */
  restart(term: number, start: { readonly epoch: string; readonly began: number }): Promise<boolean>;
  close(): Promise<void>;
}
