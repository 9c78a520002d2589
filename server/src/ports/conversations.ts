import type { ConversationChange } from '@offhook/contract/conversation-list.ts';
import type {
  Conversation,
  ConversationFilter,
  ConversationRecording,
} from '@offhook/contract/conversations.ts';
import type { z } from 'zod';
import type { Principal } from '../rights/rights.ts';

/** Fields of a conversation that other features read. Owner: features/history. */
export interface KnownConversation {
  /** Id of its first call. */
  readonly id: string;
  /** Ids of all calls it consists of, `id` included. */
  readonly calls: readonly string[];
  /** All extensions that took part or were called. */
  readonly extensions: readonly string[];
  /** Those of `extensions` that talked. */
  readonly talkers: readonly string[];
  readonly queues: readonly string[];
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly open: boolean;
}
export interface Conversations {
  /** Finds it by the id of any of its calls, also one that was joined later. Throws `store_unavailable`. */
  byCall(call: string): Promise<KnownConversation | null>;
  /** Those of `calls` in whose conversation one of these extensions talked. Throws `store_unavailable`. */
  talkedIn(calls: readonly string[], extensions: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Calls of the conversations in which one of these extensions took part and of which something may have begun between
   * `since_ms` (included) and `before_ms`; `since_ms` is 0 if there are no older ones, and otherwise such that there are about
   * `most` for each extension. Throws `store_unavailable`.
   */
  withPart(
    extensions: readonly string[],
    before_ms: number,
    most: number,
  ): Promise<{ readonly calls: readonly string[]; readonly since_ms: number }>;
  /**
   * Puts the conversations of these calls into the feed of changes again, with the same revision, because an attachment (a
   * recording) was stored or erased. Unknown calls are ignored.
   */
  touch(calls: readonly string[]): Promise<void>;
}
/** The feed of changes of the site's conversations; all throw `store_unavailable`. Owner: features/history. */
export interface ConversationFeed {
  /** Throws `position_unknown` where the feed does not know the cursor any more. */
  changes(cursor: string | null): Promise<{
    readonly changes: readonly ConversationChange[];
    readonly cursor: string;
    readonly more: boolean;
  }>;
  /** The conversation with this call as it is now; null where there is none. */
  one(id: string): Promise<Conversation | null>;
}
/** Text, empty where there is none, or a number. */
export type Cell = string | number;
/** Position after the last read, opaque to all but the owner. */
export interface ExportPlace {
  readonly started_ms: number;
  readonly id: number;
}
/**
 * Conversations as table rows, newest first, for files of millions of rows. Owner: features/history. Both methods throw
 * `invalid_request` (a range that ends before it begins) and `store_unavailable`.
 */
export interface ConversationRows {
  /** `bound` excludes rows added later from this reading; `estimated` is the approximate number of rows. */
  begin(
    reader: Principal,
    filter: ConversationFilter,
  ): Promise<{ readonly bound: number; readonly estimated: number }>;
  /**
   * The next rows after `after`, each as a JSON array with one `Cell` per column of `EXPORT_COLUMNS`, in that order; `next` is
   * null at the end. Only rows the reader may see. Every row that existed at `begin` comes once, in its newest state.
   */
  page(
    reader: Principal,
    filter: ConversationFilter,
    at: { readonly bound: number; readonly after: ExportPlace | null; readonly limit: number },
  ): Promise<{ readonly lines: readonly string[]; readonly next: ExportPlace | null }>;
}
export type RecordingView = z.infer<typeof ConversationRecording>;
/** Owner: features/recordings. */
export interface RecordingIndex {
  /** Recordings of these calls that exist or existed, oldest first. Throws `store_unavailable`. */
  ofCalls(calls: readonly string[]): Promise<ReadonlyMap<string, readonly RecordingView[]>>;
  /** The given calls that have a playable recording. One query per page of a list. */
  withRecording(calls: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Deletes the files of all recordings of these calls, a running one included; only the note that they existed remains. Files
   * are unlinked, not overwritten: the disk and its backups may still hold them. Can be repeated after a failure. Throws
   * `store_unavailable` and errors of the file system.
   */
  erase(calls: readonly string[]): Promise<{ readonly erased: number; readonly bytes: number }>;
}
