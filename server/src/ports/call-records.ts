import type { z } from 'zod';
import type { RouteClass } from '@offhook/contract/config-fields.ts';
import type { RefusalReason, WakeOutcome } from '@offhook/contract/conversations.ts';
import type { BridgeId, CallId, ChannelId } from '@offhook/contract/ids.ts';

/** `music_start` and `music_end`: music on hold for this channel; in a bridge, that is the held side. */
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
 * Why a caller left a queue without an agent: waited too long, queue full, no member to join for, no member left, pressed the
 * exit key, removed by a supervisor, or continued after the agent hung up.
 */
export type QueueStatus =
  | 'timeout'
  | 'full'
  | 'empty_join'
  | 'empty_leave'
  | 'exit_key'
  | 'withdrawn'
  | 'continued';

/** Facts added by the event; a fact that the engine did not give, or gave as empty, is missing. */
export interface CallRecordFacts {
  /** Bridge that was entered or left, and whether it only holds channels (parking, waiting), without any talk. */
  readonly bridge?: BridgeId;
  readonly holding?: boolean;
  /** Q.850 cause of a hang-up, and the name of the channel that hung up. */
  readonly cause?: number;
  readonly source?: string;
  /** Result of the last dialling of this channel: ANSWER, BUSY, NOANSWER, CANCEL, CONGESTION. */
  readonly dial_status?: string;
  /** Number a call is transferred or forwarded to. */
  readonly target?: string;
  /** The other channel: the transferred one, the one that picked up, the transferer's second one. */
  readonly other?: ChannelId;
  /** Name of the other channel where the engine gives no id: the one that took the parked call. */
  readonly other_name?: string;
  /** The channel listens to another call, or is about to. */
  readonly listens?: boolean;
  /**
   * Attended transfer by a second channel that was in no bridge: that channel. The transferee replaces it in its
   * application, as in a queue.
   */
  readonly replaces?: ChannelId;
  /** Attended transfer by a second channel that talked to the target: that channel, whose call is joined with this one. */
  readonly joins?: ChannelId;
  /** Queue the channel waits in, on records made meanwhile. */
  readonly queue?: string;
  /**
   * On the record written as soon as the caller has left; a caller that hangs up, moves to another queue or is transferred by
   * an agent leaves none.
   */
  readonly queue_status?: QueueStatus;
  /** The dialplan refused the call to the number outside. */
  readonly refused?: CallRefusal;
  /** The call goes to an emergency number; a text is empty where it is not known. */
  readonly emergency?:
    | {
        readonly extension: string;
        readonly callback: string;
        readonly address: string;
        /** Endpoint of the shared phone that calls; absent for other phones. */
        readonly phone?: string;
      }
    | undefined;
  /** A wrong PIN after which no PIN is accepted for a time. */
  readonly pins_refused?: PinsRefused | undefined;
  /** Rule that rejects this call of a blocked caller. */
  readonly rejected?: 'rule' | 'customer';
  /** A call waited for the app of an extension. */
  readonly push?:
    | {
        readonly extension: string;
        readonly outcome: z.infer<typeof WakeOutcome>;
        readonly after_ms: number;
      }
    | undefined;
  /** Extension whose feature code blocked its last caller. */
  readonly blocks_caller?: string;
  /**
   * A call recorded by rule was answered: which channel, whose rule (extension, or name of a queue or ring group), and the
   * file.
   */
  readonly recording?: RecordingBegun;
}
export interface PinsRefused {
  readonly kind: 'conference' | 'mailbox';
  readonly key: string;
  /** The extension whose PINs are not accepted; null for all callers without one. */
  readonly extension: string | null;
}
export interface CallRefusal {
  readonly reason: z.infer<typeof RefusalReason>;
  /** Null where the class of the route is not permitted to the extension. */
  readonly call_limit: string | null;
  readonly class: z.infer<typeof RouteClass>;
  /** Extension that the call counts for. */
  readonly extension: string;
}
export interface RecordingBegun {
  readonly by: 'extension' | 'queue' | 'ring_group';
  readonly of: string;
  readonly file: string;
  /** The recorded channel; the record's own where absent. */
  readonly channel?: ChannelId;
}

/** One durable fact written by the engine itself, in our words. */
export interface CallRecord {
  readonly type: CallRecordType;
  /** Name of a user-defined event, else empty. */
  readonly name: string;
  /** Microseconds since 1970. */
  readonly at_us: number;
  readonly channel: ChannelId;
  readonly call: CallId;
  readonly channel_name: string;
  /**
   * On `channel_start`: the channel's number among the SIP channels of its engine, which are numbered consecutively; null for
   * other channels.
   */
  readonly sip_serial?: number | null;
  /** Name of the endpoint behind the channel; null for internal pairs and helpers. */
  readonly endpoint: string | null;
  /** Both halves of one internal pair share this key; null for other channels. */
  readonly pair: string | null;
  readonly caller_number: string;
  readonly caller_name: string;
  /** Number of the channel in the dialplan: the one it dialled, or the one that was dialled to reach it. */
  readonly dialled: string;
  readonly context: string;
  /** Application the channel is in, in lower case, and its arguments. */
  readonly app: string;
  readonly app_data: string;
  /** Names of the other channels in the bridge, separated by commas. */
  readonly peer: string;
  readonly facts: CallRecordFacts;
  /** `journal`: built from the journal because the engine's own record is missing. */
  readonly observed?: 'journal';
  /** Hash of the node and the raw record: a record that is read again, from any file, has the same key. */
  readonly key: string;
}

/** Position of a reader, opaque to all but the source; stored in the transaction that stores the rows. */
export interface CallRecordCheckpoint {
  readonly file: string;
  readonly inode: number;
  readonly offset: number;
  /** Hash of the bytes before `offset`: distinguishes the file from another one in its place. */
  readonly mark: string;
}
export interface CallRecordBatch {
  readonly records: readonly CallRecord[];
  /** SIP channels of the service's own test calls, which have no records although the engine numbers them like all others. */
  readonly test_channels?: readonly ChannelId[];
  readonly checkpoint: CallRecordCheckpoint;
  /** Records that could not be parsed, kept raw for support; the reader continues after them. */
  readonly malformed: readonly string[];
  /** True when the reader had reached the end of the file; false while it catches up. */
  readonly live: boolean;
}
/**
 * The engine's own durable call records, read with a checkpoint. Follows rotation, truncation and replacement; a record may
 * then be delivered twice, never lost. Ends when the signal is aborted.
 */
export interface CallRecords {
  read(from: CallRecordCheckpoint | null, signal: AbortSignal): AsyncIterable<CallRecordBatch>;
  /** When everything the engine had written was last read and stored, in ms; null before the first time. */
  caughtUpAt?(): number | null;
  /**
   * Deletes what the engine wrote as far as it was read and stored, rotated copies included; compressed copies of other
   * programs remain. Resolves when it is deleted, which needs a running reader; rejects with the signal's reason.
   */
  forget?(signal: AbortSignal): Promise<void>;
}
