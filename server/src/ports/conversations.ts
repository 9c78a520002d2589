import type { ConversationFilter, ConversationRecording } from '@offhook/contract/conversations.ts';
import type { z } from 'zod';
import type { Principal } from '../rights/rights.ts';

/** What other features may know of a conversation. The owner is features/history. */
export interface KnownConversation {
  /** Id of its first call. */
  readonly id: string;
  /** Ids of all calls it consists of, `id` included. */
  readonly calls: readonly string[];
  readonly extensions: readonly string[];
  readonly queues: readonly string[];
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly open: boolean;
}
export interface Conversations {
  /** By the id of any of its calls, also of one that was joined into it later. Throws `store_unavailable`. */
  byCall(call: string): Promise<KnownConversation | null>;
  /**
   * Something that hangs on it has changed (a recording was stored or erased): it comes again in the feed of changes, with
   * the same revision. Unknown calls are left out.
   */
  touch(calls: readonly string[]): Promise<void>;
}
/** Text, empty where there is none, or a number. */
export type Cell = string | number;
/** Where reading stopped, opaque to everyone but the owner. */
export interface ExportPlace {
  readonly started_ms: number;
  readonly id: number;
}
/**
 * Conversations as rows of a table, newest first, for files of millions of them. The owner is features/history. Both throw
 * `invalid_request` (a range that ends before it begins) and `store_unavailable`.
 */
export interface ConversationRows {
  /** `bound`: rows that come later are not part of this reading. `estimated`: about how many rows there are. */
  begin(
    reader: Principal,
    filter: ConversationFilter,
  ): Promise<{ readonly bound: number; readonly estimated: number }>;
  /**
   * The next rows after `after`, each as JSON of an array with a `Cell` for every column of `EXPORT_COLUMNS` in their order;
   * `next` is null at the end. Narrowed to what the reader may see. Every row that was there at `begin` comes once, in its
   * newest state.
   */
  page(
    reader: Principal,
    filter: ConversationFilter,
    at: { readonly bound: number; readonly after: ExportPlace | null; readonly limit: number },
  ): Promise<{ readonly lines: readonly string[]; readonly next: ExportPlace | null }>;
}
export type RecordingView = z.infer<typeof ConversationRecording>;
/** The owner is features/recordings. */
export interface RecordingIndex {
  /** Recordings of these calls that exist or existed, oldest first. Throws `store_unavailable`. */
  ofCalls(calls: readonly string[]): Promise<ReadonlyMap<string, readonly RecordingView[]>>;
  /** Those of the given calls that have a recording one can play. One query for a page of a list. */
  withRecording(calls: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Deletes the files of all recordings of these calls, of one that still runs too; what is left is that they existed. The
   * files are unlinked, not overwritten: what the disk and copies of it still hold is beyond us. May be repeated after a
   * failure. Throws `store_unavailable`, and what the file system throws.
   */
  erase(calls: readonly string[]): Promise<{ readonly erased: number; readonly bytes: number }>;
}
