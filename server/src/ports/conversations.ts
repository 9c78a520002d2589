import type { ConversationRecording } from '@offhook/contract/conversations.ts';
import type { z } from 'zod';

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
export type RecordingView = z.infer<typeof ConversationRecording>;
/** The owner is features/recordings. */
export interface RecordingIndex {
  /** Recordings of these calls that exist or existed, oldest first. Throws `store_unavailable`. */
  ofCalls(calls: readonly string[]): Promise<ReadonlyMap<string, readonly RecordingView[]>>;
  /** Those of the given calls that have a recording one can play. One query for a page of a list. */
  withRecording(calls: readonly string[]): Promise<ReadonlySet<string>>;
}
