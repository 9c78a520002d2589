import type { BridgeId, CallId, ChannelId } from '@offhook/contract/ids.ts';

/** `music_start` and `music_end`: music on hold plays to this channel; in a bridge, that is the side that is being held. */
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
  | 'music_start'
  | 'music_end'
  | 'user_defined';

/**
 * Why a caller left a queue by itself: waited too long, queue full, no member to join for, no member left, pressed the key
 * that leads out, taken out by a supervisor, or went on after the agent had hung up.
 */
export type QueueStatus =
  | 'timeout'
  | 'full'
  | 'empty_join'
  | 'empty_leave'
  | 'exit_key'
  | 'withdrawn'
  | 'continued';

/** What the event itself adds; a fact that the engine did not give, or gave as empty, is missing. */
export interface CallRecordFacts {
  /** Bridge that was entered or left, and whether it only holds (parking, waiting): nobody talks there. */
  readonly bridge?: BridgeId;
  readonly holding?: boolean;
  /** Q.850 cause of a hang-up, and the name of the channel that hung up. */
  readonly cause?: number;
  readonly source?: string;
  /** How the last dialling of this channel ended: ANSWER, BUSY, NOANSWER, CANCEL, CONGESTION. */
  readonly dial_status?: string;
  /** Number that a call is transferred or forwarded to. */
  readonly target?: string;
  /** The other channel: who is transferred, who picked up, the transferer's second channel. */
  readonly other?: ChannelId;
  /** Name of the other channel, where the engine gives no id: who took the parked call. */
  readonly other_name?: string;
  /** Somebody listens to another call, or is about to. */
  readonly listens?: boolean;
  /** Queue that the channel waits in, on the records made while it does. */
  readonly queue?: string;
  /**
   * On the record that is written as soon as the caller has left; who hangs up, is moved to another queue or is transferred
   * by an agent leaves none.
   */
  readonly queue_status?: QueueStatus;
  /** Somebody answered a call that is recorded by rule: of which channel, whose rule (extension, or name of a queue or ring group), and the file. */
  readonly recording?: RecordingBegun;
}
export interface RecordingBegun {
  readonly by: 'extension' | 'queue' | 'ring_group';
  readonly of: string;
  readonly file: string;
  /** The channel that is recorded; that of the record where it is not given. */
  readonly channel?: ChannelId;
}

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
  /** Both halves of one internal pair share this key; null for other channels. */
  readonly pair: string | null;
  readonly caller_number: string;
  readonly caller_name: string;
  /** Where the channel is in the dialplan: what it dialled, or what was dialled to reach it. */
  readonly dialled: string;
  readonly context: string;
  /** Application the channel is in, in lower case, and its arguments. */
  readonly app: string;
  readonly app_data: string;
  /** Names of the other channels in the bridge, separated by commas. */
  readonly peer: string;
  readonly facts: CallRecordFacts;
  /** `journal`: made of the journal because the engine's own record is missing. */
  readonly observed?: 'journal';
  /** Hash of the node and the raw record: the same record read again, from wherever, has the same key. */
  readonly key: string;
}

/** How far a reader came, opaque to everyone but the source; stored in the transaction that stores the rows. */
export interface CallRecordCheckpoint {
  readonly file: string;
  readonly inode: number;
  readonly offset: number;
  /** The bytes before `offset`, hashed: tells the same file from another one that took its place. */
  readonly mark: string;
}
export interface CallRecordBatch {
  readonly records: readonly CallRecord[];
  /** Channels of the service's own test calls, which have no records; the engine numbers them like all others. */
  readonly test_channels?: readonly ChannelId[];
  readonly checkpoint: CallRecordCheckpoint;
  /** Records that could not be read, kept raw for support; the reader goes on after them. */
  readonly malformed: readonly string[];
  /** Nothing more was there when it was read: what it tells is now. False while the reader catches up. */
  readonly live: boolean;
}
/**
 * The engine's own durable call records, read with a checkpoint. Follows rotation, truncation and replacement; a record
 * may then be given a second time, never lost. Ends when the signal is aborted.
 */
export interface CallRecords {
  read(from: CallRecordCheckpoint | null, signal: AbortSignal): AsyncIterable<CallRecordBatch>;
  /** When everything the engine had written was read and stored last, in ms; null before the first time. */
  caughtUpAt?(): number | null;
  /**
   * Deletes what the engine wrote as far as it was read and stored, copies that were put aside included; packed copies of
   * others are not ours. Resolves when it is gone, which needs a reader at work; rejects with the signal's reason.
   */
  forget?(signal: AbortSignal): Promise<void>;
}
