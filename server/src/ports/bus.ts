import type { JournalRow } from './journal-store.ts';

/** Notice that the log of a site has events up to `head`. */
export interface LogNews {
  readonly epoch: string;
  readonly head: number;
}
export interface BusState {
  /** True while the server of the bus answers. */
  readonly up: boolean;
  /** For administrators, without secrets. */
  readonly detail: string;
}
/**
 * Sends news of the leading node to the others, so that they read the log earlier than by their own interval. News may
 * be lost, late, duplicated or forged, so a receiver trusts only the log.
 */
export interface Bus {
  /** Sends the newest news to the other nodes, or none while the server is away. Never throws; holds at most one piece of news. */
  send(news: LogNews): void;
  /** Calls `listener` with the news of other nodes. Returns a function that ends it. */
  onNews(listener: (news: LogNews) => void): () => void;
  state(): BusState;
  /** Numbers of news sent and heard since the start. */
  readonly counts: { readonly sent: number; readonly heard: number };
  close(): Promise<void>;
}

/** The newest event that an outside stream holds. */
export interface StoredEvent {
  readonly seq: number;
  readonly json: string;
}
/**
 * Position at which an outside stream continues: after `event`, or at its beginning if it never held an event.
 * `expired`: it held events, all older than `since`, ms since 1970.
 */
export type StreamEnd =
  | { readonly at: 'event'; readonly event: StoredEvent }
  | { readonly at: 'begin' }
  | { readonly at: 'expired'; readonly since: number };

/** A stream of a site's events for other programs, in a server of theirs. */
export interface OutsideStream {
  /** Creates it where there is none. Rejects while the server is away, or where the stream is not one of this site. */
  open(): Promise<StreamEnd>;
  /**
   * Appends rows after those that `open` or the last call found. Rejects where another writer was faster or the outcome is open;
   * the stream then has a number of the first rows, and `open` finds out which.
   */
  append(rows: readonly JournalRow[]): Promise<void>;
}
