/**
 * The engine as the rest of the house sees it: facts up (`EngineEvent`), verbs down (`Engine`).
 * No word of a vendor crosses this file; an adapter translates in both directions.
 */
import type { Placed } from '@offhook/contract/directions.ts';
import type { BridgeId, CallId, ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type { EndpointKind } from './directory.ts';

/** What an endpoint does, in the engine's own eight words (numbers 0 to 8 of app_queue are mapped by the adapter). */
export const DEVICE_STATES = [
  'UNKNOWN',
  'NOT_INUSE',
  'INUSE',
  'BUSY',
  'INVALID',
  'UNAVAILABLE',
  'RINGING',
  'RINGINUSE',
  'ONHOLD',
] as const;
export type DeviceState = (typeof DEVICE_STATES)[number];

export type ChannelState = 'down' | 'dialing' | 'ringing' | 'up' | 'other';

export interface Party {
  readonly number: string;
  readonly name: string;
}

/** An absolute description of one channel, as on `channel.created` and in a snapshot. */
export interface EngineChannel {
  readonly id: ChannelId;
  /** The first channel of the conversation; changes when channels meet (`channel.linked`). */
  readonly call: CallId;
  /** The engine's own name of the channel, for people and logs only. */
  readonly name: string;
  /** `endpoint`: a device or trunk; `local`: half of an internal pair, never a leg; `other`: a helper, never a leg. */
  readonly kind: 'endpoint' | 'local' | 'other';
  /** Name of the endpoint where `kind` is `endpoint`, e.g. `1001-web`. */
  readonly endpoint: string | null;
  /** Both halves of one internal pair share this key; null for other kinds. */
  readonly pair: string | null;
  readonly state: ChannelState;
  readonly caller: Party;
  readonly connected: Party;
  /** The number it dialled, or that was dialled to reach it. */
  readonly dialled: string;
  /** Of what the service placed itself: the first half of its pair, or somebody who listens. */
  readonly placed?: Placed;
  readonly created_at: number;
}

/** An absolute description of one queue member. `extension` is null for a member that is no extension of ours. */
export interface QueueMember {
  readonly queue: string;
  readonly interface: string;
  readonly extension: string | null;
  readonly name: string;
  readonly membership: 'static' | 'dynamic' | 'realtime';
  readonly paused: boolean;
  readonly paused_reason: string;
  /** Milliseconds since 1970, null when it never happened. */
  readonly paused_at: number | null;
  readonly login_at: number | null;
  readonly last_call_at: number | null;
  readonly in_call: boolean;
  readonly penalty: number;
  readonly state: DeviceState;
}
export interface QueueCaller {
  readonly queue: string;
  readonly channel: ChannelId;
  readonly position: number;
  readonly joined_at: number;
  /** Null until a snapshot shows it. */
  readonly priority: number | null;
}
export interface EngineQueue {
  readonly name: string;
  readonly strategy: string;
  readonly members: readonly QueueMember[];
  readonly callers: readonly QueueCaller[];
}

/** Which of the own devices ring: all, those of one kind, or those of two. */
export type RingingDevices = 'all' | EndpointKind | (typeof KIND_PAIRS)[number];
/** Two kinds at once, in the order of `EndpointKind`. */
export const KIND_PAIRS = ['sip-webrtc', 'sip-mobile', 'webrtc-mobile'] as const;
/** Whether devices of this kind are among them. */
export const isRung = (devices: RingingDevices, kind: EndpointKind): boolean =>
  devices === 'all' || devices.split('-').includes(kind);
/**
 * What a person set for its own calls; the engine keeps it in a store of its own and follows it without us. An empty number
 * is no forward.
 */
export interface ExtensionFeatures {
  /** No device rings: callers find the person busy. */
  readonly dnd: boolean;
  /** Where every call goes; it comes before `dnd`. */
  readonly forward: string;
  readonly forward_busy: string;
  /** Where a call goes that nobody answered in `ring_seconds`, or that found no device. */
  readonly forward_no_answer: string;
  readonly ring_seconds: number;
  readonly devices: RingingDevices;
  /** Milliseconds since 1970 by the clock of who changed it last, always more than before; 0 for never. */
  readonly changed_at: number;
}
export const FEATURES_OFF: ExtensionFeatures = Object.freeze({
  dnd: false,
  forward: '',
  forward_busy: '',
  forward_no_answer: '',
  ring_seconds: 20,
  devices: 'all',
  changed_at: 0,
});

/** A channel on a parking slot; `since` is milliseconds since 1970. */
export interface ParkedChannel {
  readonly channel: ChannelId;
  readonly slot: string;
  readonly lot: string;
  readonly since: number;
}
/** The whole state of one node at one moment. */
export interface EngineSnapshot {
  readonly node: NodeId;
  /** Identifies one life of the engine process; differs after a restart. */
  readonly boot_id: string;
  /** Null in the first snapshot this process takes; else whether the engine was restarted since the one before. */
  readonly restarted: boolean | null;
  readonly channels: readonly EngineChannel[];
  /** Which channel is in which bridge. */
  readonly bridged: readonly {
    readonly bridge: BridgeId;
    readonly channel: ChannelId;
    readonly holding: boolean;
  }[];
  /** Channels on parking slots; missing where it is not known. */
  readonly parked?: readonly ParkedChannel[];
  /** Channels that have put the other side on hold by an operation of ours. */
  readonly held_here?: readonly ChannelId[];
  readonly queues: readonly EngineQueue[];
  readonly devices: readonly { readonly endpoint: string; readonly state: DeviceState }[];
  /** By extension; who is not there has set nothing. Missing where it is not known. */
  readonly features?: ReadonlyMap<string, ExtensionFeatures>;
}

/** Every event carries `at`: milliseconds since 1970 from the engine's own clock. */
export type EngineEvent = { readonly at: number } & (
  | {
      readonly type: 'engine.link';
      readonly node: NodeId;
      readonly up: boolean;
      readonly reason: string;
      readonly boot_id: string;
    }
  /** `resync` for anti-entropy and reloads; `connect` after every connect. */
  | {
      readonly type: 'engine.snapshot';
      readonly why: 'connect' | 'resync';
      readonly snapshot: EngineSnapshot;
    }
  | { readonly type: 'channel.created'; readonly channel: EngineChannel }
  | {
      readonly type: 'channel.state';
      readonly id: ChannelId;
      readonly state: ChannelState;
      readonly caller: Party;
      readonly connected: Party;
    }
  | {
      readonly type: 'channel.party';
      readonly id: ChannelId;
      readonly caller: Party;
      readonly connected: Party;
    }
  | { readonly type: 'channel.linked'; readonly id: ChannelId; readonly call: CallId }
  | { readonly type: 'channel.renamed'; readonly id: ChannelId; readonly channel: EngineChannel }
  /** By the device itself, or by an operation of ours, which the device knows nothing of. */
  | {
      readonly type: 'channel.held';
      readonly id: ChannelId;
      readonly held: boolean;
      readonly by?: 'operation';
    }
  | { readonly type: 'channel.recording'; readonly id: ChannelId; readonly on: boolean }
  /** What is recorded of it is silence, both what it says and what it hears. */
  | { readonly type: 'channel.recording_paused'; readonly id: ChannelId; readonly on: boolean }
  /** `in`: a digit came from the device, or as if it had; `out`: one was sent to it to the end. Which one is never told. */
  | { readonly type: 'channel.digit'; readonly id: ChannelId; readonly direction: 'in' | 'out' }
  /** The channel listens to another one, unseen in that one's call. */
  | { readonly type: 'channel.listening'; readonly id: ChannelId; readonly to: ChannelId }
  /** Somebody hangs this channel up: what ends from here on ends for that. */
  | { readonly type: 'channel.ending'; readonly id: ChannelId }
  | {
      readonly type: 'channel.hungup';
      readonly id: ChannelId;
      readonly cause: number;
      readonly cause_text: string;
    }
  /** `from` is null for a call that the engine itself places. */
  | {
      readonly type: 'dial.begun';
      readonly from: ChannelId | null;
      readonly to: ChannelId;
      readonly dialled: string;
    }
  | {
      readonly type: 'dial.ended';
      readonly from: ChannelId | null;
      readonly to: ChannelId;
      readonly status: string;
    }
  | {
      readonly type: 'bridge.entered';
      readonly bridge: BridgeId;
      readonly id: ChannelId;
      readonly holding: boolean;
    }
  | { readonly type: 'bridge.left'; readonly bridge: BridgeId; readonly id: ChannelId }
  | {
      readonly type: 'transfer.blind';
      readonly by: ChannelId;
      readonly transferee: ChannelId | null;
      readonly to: string;
      readonly succeeded: boolean;
    }
  /** `first` and `second` are the transferer's two channels; the second call is joined into the first. */
  | {
      readonly type: 'transfer.attended';
      readonly first: ChannelId;
      readonly second: ChannelId;
      readonly first_call: CallId;
      readonly second_call: CallId;
      readonly to: string;
      readonly succeeded: boolean;
    }
  | { readonly type: 'channel.picked_up'; readonly by: ChannelId; readonly target: ChannelId }
  | { readonly type: 'channel.parked'; readonly id: ChannelId; readonly slot: string; readonly lot: string }
  | {
      readonly type: 'channel.unparked';
      readonly id: ChannelId;
      readonly slot: string;
      readonly reason: 'retrieved' | 'timeout' | 'gave_up';
    }
  | { readonly type: 'queue.caller_joined'; readonly caller: QueueCaller }
  | { readonly type: 'queue.caller_left'; readonly queue: string; readonly channel: ChannelId }
  /** No agent got this caller: it gave up, waited too long, or was taken out. `queue.caller_left` follows. */
  | {
      readonly type: 'queue.caller_abandoned';
      readonly queue: string;
      readonly channel: ChannelId;
      readonly hold_seconds: number;
      readonly position: number;
    }
  /** Absolute; `why` names the event that carried it. */
  | {
      readonly type: 'queue.member';
      readonly why: 'added' | 'paused' | 'status' | 'other';
      readonly member: QueueMember;
    }
  | { readonly type: 'queue.member_removed'; readonly queue: string; readonly interface: string }
  | {
      readonly type: 'offer.created';
      readonly queue: string;
      readonly interface: string;
      readonly caller: ChannelId;
      readonly agent: ChannelId;
    }
  | {
      readonly type: 'offer.accepted';
      readonly queue: string;
      readonly interface: string;
      readonly caller: ChannelId;
      readonly agent: ChannelId;
      readonly hold_seconds: number;
      readonly ring_seconds: number;
    }
  | {
      readonly type: 'offer.timeout';
      readonly queue: string;
      readonly interface: string;
      readonly caller: ChannelId;
      readonly agent: ChannelId;
      readonly ring_seconds: number;
    }
  | {
      readonly type: 'agent.released';
      readonly queue: string;
      readonly interface: string;
      readonly caller: ChannelId;
      readonly agent: ChannelId;
      readonly reason: 'agent' | 'caller' | 'transfer';
      readonly talk_seconds: number;
    }
  | { readonly type: 'device.state'; readonly endpoint: string; readonly state: DeviceState }
  /** All that the engine's store holds of one extension, by whomever it was changed. */
  | {
      readonly type: 'extension.features';
      readonly extension: string;
      readonly features: ExtensionFeatures;
    }
);
export type EngineEventType = EngineEvent['type'];
export type EngineEventOf<T extends EngineEventType> = Extract<EngineEvent, { type: T }>;

export type LinkState = 'connecting' | 'booting' | 'syncing' | 'up' | 'down' | 'refused';
export interface EngineStatus {
  readonly node: NodeId;
  readonly link: LinkState;
  /** Why the link is not up; empty while it is. */
  readonly reason: string;
  readonly since: number;
  readonly version: string | null;
  readonly boot_id: string | null;
  readonly counters: {
    readonly frames: number;
    readonly unknown: number;
    readonly malformed: number;
    readonly oversize: number;
    readonly drift: number;
    readonly reconnects: number;
    readonly pending_actions: number;
  };
}

/** A request over SIP that the engine refused; no fact of the model. */
export interface SipRefusal {
  /** `account`: nobody has it; `address`: not from there; `request`: nothing that is served. */
  readonly reason: 'password' | 'account' | 'address' | 'request';
  /** As the sender wrote it. */
  readonly account: string;
  /** Empty where it is not known. */
  readonly address: string;
}

/** Options of every verb. The caller names the action before it is sent, so that its outcome can be waited for. */
export interface CommandOptions {
  /** At most 64 of `[A-Za-z0-9-]`; the adapter makes one where it is missing. */
  readonly action_id?: string;
  readonly signal?: AbortSignal;
}

/**
 * Verbs. Each resolves when the engine answered success, which is not yet the confirming event.
 * Errors (`ServiceError`): `engine_unavailable` (link down), `engine_refused` (with the engine's message),
 * `engine_timeout`, `invalid_request` (a value the wire cannot carry: nothing was sent).
 */
export interface Engine {
  readonly node: NodeId;
  status(): EngineStatus;
  /**
   * Every fact in order, in batches of one loop turn, for a single consumer. Starts with `engine.link` and an
   * `engine.snapshot` after every connect; live events of the time between are held back until it is complete.
   */
  events(signal: AbortSignal): AsyncIterable<readonly EngineEvent[]>;
  /** Ask for a fresh snapshot; it arrives as an event. */
  resync(): void;
  /**
   * Resolves once it is known what became of every command that was given up on: at once where there is none, else when a
   * snapshot of after it was taken in. Until then what is shown may be about to change, and no command may answer from it.
   * Rejects `engine_unavailable` after `ms`, or when the link is lost.
   */
  settled(ms: number): Promise<void>;
  /**
   * Resolves once the engine has answered a question that was asked now. What is shown of an engine that is stopped or gone stays
   * as it was for a while, so "it is so already" is a success only after this. Rejects `engine_unavailable` or `engine_timeout`.
   */
  roundTrip(ms: number): Promise<void>;
  pauseMember(
    queue: string,
    iface: string,
    paused: boolean,
    reason: string,
    options?: CommandOptions,
  ): Promise<void>;
  addMember(
    member: {
      queue: string;
      interface: string;
      name: string;
      state_interface: string;
      penalty: number;
      paused: boolean;
      reason: string;
    },
    options?: CommandOptions,
  ): Promise<void>;
  removeMember(queue: string, iface: string, options?: CommandOptions): Promise<void>;
  /** How an extension of ours is written as a queue member. */
  memberOf(extension: string): { readonly interface: string; readonly state_interface: string };
  close(): Promise<void>;
}

/** What the own device does once it is answered. */
export type PlacedPart =
  | {
      readonly does: 'call';
      /** The number the called side is shown. */
      readonly caller_number: string;
      /** The call ends so long after the own device answered; null for no limit. */
      readonly limit_seconds: number | null;
    }
  /** Takes the call that rings there. */
  | { readonly does: 'pickup'; readonly channel: ChannelId }
  /** `whisper`: only that side hears the own one; `barge`: all hear each other. */
  | { readonly does: 'listen' | 'whisper' | 'barge'; readonly channel: ChannelId };
/** Something the engine is to do for somebody: the own devices ring first, and whichever answers goes on. */
export interface PlacedCall {
  /** Ids of the internal pair it begins with, chosen before it is asked for; the first is the id of the call. */
  readonly pair: readonly [ChannelId, ChannelId];
  readonly extension: string;
  /** The one kind of device to ring; null for all. */
  readonly device: EndpointKind | null;
  /** What the own devices show while they ring, and what is called where it is a call. */
  readonly number: string;
  /** How long the own devices ring. */
  readonly ring_seconds: number;
  readonly part: PlacedPart;
}
/**
 * Verbs for calls; each is one fixed template of the adapter, filled with ids and digits only. They resolve and throw as
 * those of `Engine`; a channel that is gone is `engine_refused`.
 */
export interface CallVerbs {
  placeCall(call: PlacedCall, options?: CommandOptions): Promise<void>;
  /** A leg that listens goes on in another way, or with another side, without ringing anew. */
  listenAs(
    channel: ChannelId,
    part: Extract<PlacedPart, { readonly does: 'listen' | 'whisper' | 'barge' }>,
    options?: CommandOptions,
  ): Promise<void>;
  hangup(channel: ChannelId, options?: CommandOptions): Promise<void>;
  blindTransfer(channel: ChannelId, number: string, options?: CommandOptions): Promise<void>;
  /**
   * The other side is put on hold and the number is called, by the right of the extension `by`; the three verbs below then end
   * it or change sides.
   */
  consult(channel: ChannelId, number: string, by: string | null, options?: CommandOptions): Promise<void>;
  swapConsult(channel: ChannelId, options?: CommandOptions): Promise<void>;
  completeConsult(channel: ChannelId, options?: CommandOptions): Promise<void>;
  cancelConsult(channel: ChannelId, options?: CommandOptions): Promise<void>;
  /** `others`: the channels it is bridged with. */
  hold(channel: ChannelId, others: readonly ChannelId[], options?: CommandOptions): Promise<void>;
  retrieve(others: readonly ChannelId[], options?: CommandOptions): Promise<void>;
  /** Parks a channel; when nobody takes it in time, `back_to` is rung. */
  park(channel: ChannelId, back_to: string | null, options?: CommandOptions): Promise<void>;
  /** One digit, as if the device itself had sent it. */
  digit(channel: ChannelId, digit: string, options?: CommandOptions): Promise<void>;
  /** Records both sides into a file of the engine's own folder; `name` is ours, without a folder or an ending. */
  startRecording(channel: ChannelId, name: string, options?: CommandOptions): Promise<void>;
  stopRecording(channel: ChannelId, options?: CommandOptions): Promise<void>;
  /** Silence takes the place of both sides in what is recorded of this channel, or no longer. */
  pauseRecording(channel: ChannelId, paused: boolean, options?: CommandOptions): Promise<void>;
}
/** Verb for what people set for their own calls. It resolves and throws as those of `Engine`. */
export interface FeatureVerbs {
  /**
   * Writes the changes and, last of all, their time, so that a change that was cut off is known by its older time. What the
   * store then holds is told as `extension.features`.
   */
  keepFeatures(
    extension: string,
    changes: Partial<Omit<ExtensionFeatures, 'changed_at'>>,
    changed_at: number,
    options?: CommandOptions,
  ): Promise<void>;
}
/** Where a caller shall wait. */
export interface QueuePlace {
  /** The queue's number. */
  readonly number: string;
  /** From 1, among those of the same priority; null for the end. */
  readonly position: number | null;
  readonly priority: number;
}
/** Verbs for callers who wait. They resolve and throw as those of `Engine`, and `no_such_caller` for who is not in `queue`. */
export interface QueueVerbs {
  /** A higher priority is served first; the caller takes its new place at once. Only a snapshot shows what came of it. */
  setCallerPriority(
    queue: string,
    caller: ChannelId,
    priority: number,
    options?: CommandOptions,
  ): Promise<void>;
  /**
   * Takes a caller out of its queue: into another place of the same or another queue, or, with `null`, to where a caller
   * goes who has waited too long.
   */
  takeCaller(
    queue: string,
    caller: ChannelId,
    to: QueuePlace | null,
    options?: CommandOptions,
  ): Promise<void>;
}
