import type { CallId, ChannelId } from '@offhook/contract/ids.ts';

export type CallRecordType =
  | 'channel_start'
  | 'channel_end'
  | 'answer'
  | 'hangup'
  | 'app_start'
  | 'app_end'
  | 'bridge_enter'
  | 'bridge_exit'
  | 'blind_transfer'
  | 'attended_transfer'
  | 'pickup'
  | 'forward'
  | 'park_start'
  | 'park_end'
  | 'local_optimize'
  | 'local_optimize_begin'
  | 'linked_end'
  | 'hold'
  | 'unhold'
  | 'user_defined';

/** One durable fact that the engine wrote itself, in our words. */
export interface CallRecord {
  readonly type: CallRecordType;
  /** Name of a user-defined event, else empty. */
  readonly name: string;
  /** Microseconds since 1970. */
  readonly at_us: number;
  readonly channel: ChannelId;
  readonly call: CallId;
  readonly channel_name: string;
  /** Name of the endpoint behind the channel; null for internal pairs and helpers. */
  readonly endpoint: string | null;
  /** True for one half of an internal pair. */
  readonly local: boolean;
  readonly caller_number: string;
  readonly caller_name: string;
  readonly dialled: string;
  readonly context: string;
  readonly app: string;
  readonly app_data: string;
  readonly peer: string;
  /** Free JSON of the event: hang-up cause, bridge id, transfer target. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Sha-256 of the raw line and its place: the key that makes a replay harmless. */
  readonly key: string;
}

/** How far a reader came, opaque to everyone but the source; stored in the transaction that stores the rows. */
export interface CallRecordCheckpoint {
  readonly file: string;
  readonly inode: number;
  readonly offset: number;
}
export interface CallRecordBatch {
  readonly records: readonly CallRecord[];
  readonly checkpoint: CallRecordCheckpoint;
  /** Lines that could not be read, kept raw for support; the reader goes on after them. */
  readonly malformed: readonly string[];
}
/** The engine's own durable call records, read with a checkpoint. Follows rotation, truncation and replacement. */
export interface CallRecords {
  read(from: CallRecordCheckpoint | null, signal: AbortSignal): AsyncIterable<CallRecordBatch>;
}
