/**
 * The engine as the rest of the service sees it: facts up (`EngineEvent`), verbs down (`Engine`). No vendor word crosses this
 * file; an adapter translates in both directions.
 */
import type { RuleAction } from '@offhook/contract/caller-rules.ts';
import type { Placed } from '@offhook/contract/directions.ts';
import type { BridgeId, CallId, ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type { EndpointKind } from './directory.ts';

/** State of an endpoint, in the engine's own words (the adapter maps app_queue's numbers 0 to 8). */
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

/** The complete state of one channel, as on `channel.created` and in a snapshot. */
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
  /** For channels placed by the service: the first half of its pair, or a listening leg. */
  readonly placed?: Placed;
  readonly created_at: number;
}

/** The complete state of one queue member. `extension` is null for a member that is not one of our extensions. */
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

/** Which of a person's own devices ring: all, one kind, or two kinds. */
export type RingingDevices = 'all' | EndpointKind | (typeof KIND_PAIRS)[number];
/** Two kinds at once, in the order of `EndpointKind`. */
export const KIND_PAIRS = ['sip-webrtc', 'sip-mobile', 'webrtc-mobile'] as const;
/** True when devices of this kind ring. */
export const isRung = (devices: RingingDevices, kind: EndpointKind): boolean =>
  devices === 'all' || devices.split('-').includes(kind);
/** Call settings of a person, which the engine stores and follows without us. An empty number is no forward. */
export interface ExtensionFeatures {
  /** No device rings: callers find the person busy. */
  readonly dnd: boolean;
  /** Target of every call; takes precedence over `dnd`. */
  readonly forward: string;
  readonly forward_busy: string;
  /** Target of calls that are not answered within `ring_seconds`, or find no reachable device. */
  readonly forward_no_answer: string;
  readonly ring_seconds: number;
  readonly devices: RingingDevices;
  /** Milliseconds since 1970 by the clock of the last writer, always increasing; 0 for never. */
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
/** A trunk as the engine reports it; a value is null where the engine does not know it yet. */
export interface EngineTrunk {
  readonly endpoint: string;
  /** Its servers, sorted by `server`; several where SRV records name them. */
  readonly servers: readonly EngineTrunkServer[];
}
export interface EngineTrunkServer {
  /** Host and port. */
  readonly server: string;
  /** Whether it answered the last OPTIONS. */
  readonly reachable: boolean | null;
  readonly round_trip_ms: number | null;
  /** Null without a registration. `pending`: neither accepted nor refused yet. */
  readonly registration: {
    readonly uri: string;
    readonly state: 'registered' | 'rejected' | 'pending';
  } | null;
}
/** A person at a shared phone; `since` is milliseconds since 1970. */
export interface SignedIn {
  readonly extension: string;
  readonly since: number;
}
/** The whole state of one node at one moment. */
export interface EngineSnapshot {
  readonly node: NodeId;
  /** Identifies one run of the engine process; changes with a restart. */
  readonly boot_id: string;
  /** Null in the first snapshot of this process; else whether the engine was restarted since the previous one. */
  readonly restarted: boolean | null;
  readonly channels: readonly EngineChannel[];
  /** Bridge of each bridged channel. */
  readonly bridged: readonly {
    readonly bridge: BridgeId;
    readonly channel: ChannelId;
    readonly holding: boolean;
  }[];
  /** Channels on parking slots; absent where unknown. */
  readonly parked?: readonly ParkedChannel[];
  /** Channels that put the other side on hold by a command of ours. */
  readonly held_here?: readonly ChannelId[];
  readonly queues: readonly EngineQueue[];
  readonly devices: readonly { readonly endpoint: string; readonly state: DeviceState }[];
  /** Absent where unknown. */
  readonly trunks?: readonly EngineTrunk[];
  /** By extension; an absent extension has set nothing. The whole map is absent where unknown. */
  readonly features?: ReadonlyMap<string, ExtensionFeatures>;
  /** People signed in at shared phones, by endpoint; absent where unknown. */
  readonly signed?: ReadonlyMap<string, SignedIn>;
  /** Switched time conditions, by name; absent where unknown. */
  readonly switches?: ReadonlyMap<string, 'open' | 'closed'>;
}

/** Cause of a sign-in or sign-out: a feature code, the end of its hours, or an administrator. */
export type SignedBy = 'code' | 'timeout' | 'administrator';

/** Every event carries `at`: milliseconds since 1970 from the engine's own clock. */
export type EngineEvent = { readonly at: number } & (
  | {
      readonly type: 'engine.link';
      readonly node: NodeId;
      readonly up: boolean;
      readonly reason: string;
      readonly boot_id: string;
    }
  /** `resync` for regular checks and reloads; `connect` after every connect. */
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
  /** Hold by the device itself, or by a command of ours, which the device does not show. */
  | {
      readonly type: 'channel.held';
      readonly id: ChannelId;
      readonly held: boolean;
      readonly by?: 'operation';
    }
  | { readonly type: 'channel.recording'; readonly id: ChannelId; readonly on: boolean }
  /** The recording contains silence for this channel, in both directions. */
  | { readonly type: 'channel.recording_paused'; readonly id: ChannelId; readonly on: boolean }
  /** `in`: a digit came from the device, or as if it had; `out`: one was sent to it completely. Never which digit. */
  | { readonly type: 'channel.digit'; readonly id: ChannelId; readonly direction: 'in' | 'out' }
  /** The channel listens to another one, invisible in that call. */
  | { readonly type: 'channel.listening'; readonly id: ChannelId; readonly to: ChannelId }
  /** A party hangs this channel up: whatever ends from here on ends for that reason. */
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
  /** The caller left without an agent: hung up, waited too long, or was removed. `queue.caller_left` follows. */
  | {
      readonly type: 'queue.caller_abandoned';
      readonly queue: string;
      readonly channel: ChannelId;
      readonly hold_seconds: number;
      readonly position: number;
    }
  /** The member's complete state; `why` names the event that carried it. */
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
  | {
      readonly type: 'trunk.contact';
      readonly endpoint: string;
      readonly server: string;
      /** Null once the engine no longer has this server. */
      readonly reachable: boolean | null;
      readonly round_trip_ms: number | null;
    }
  | {
      readonly type: 'trunk.registration';
      readonly server: string;
      readonly uri: string;
      readonly state: NonNullable<EngineTrunkServer['registration']>['state'];
    }
  /** All call settings of one extension, whoever changed them. */
  | {
      readonly type: 'extension.features';
      readonly extension: string;
      readonly features: ExtensionFeatures;
    }
  /** A person signed in or out at a shared phone. */
  | {
      readonly type: 'phone.signed';
      readonly endpoint: string;
      readonly now: SignedIn | null;
      readonly by: SignedBy;
    }
  /** A time condition was switched, or back for null; `by` is the extension of the phone. */
  | {
      readonly type: 'night_switch.changed';
      readonly name: string;
      readonly to: 'open' | 'closed' | null;
      readonly by: string | null;
    }
  /** A wrong PIN at a shared phone; null for something that is no extension. */
  | { readonly type: 'phone.pin_refused'; readonly endpoint: string; readonly extension: string | null }
);
export type EngineEventType = EngineEvent['type'];
export type EngineEventOf<T extends EngineEventType> = Extract<EngineEvent, { type: T }>;

export type LinkState = 'connecting' | 'booting' | 'syncing' | 'up' | 'down' | 'refused';
export interface EngineStatus {
  readonly node: NodeId;
  readonly link: LinkState;
  /** Why the link is down; empty while it is up. */
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

/** A SIP request that the engine rejected; not a fact of the model. */
export interface SipRefusal {
  /** `account`: unknown account; `address`: not allowed from there; `request`: unsupported. */
  readonly reason: 'password' | 'account' | 'address' | 'request';
  /** As written by the sender. */
  readonly account: string;
  /** Empty where unknown. */
  readonly address: string;
}

/** Options of every verb. The caller chooses the action id before sending, so that it can wait for the result. */
export interface CommandOptions {
  /** At most 64 of `[A-Za-z0-9-]`; generated by the adapter where absent. */
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
  /** Node of the engine that has the phones of an extension; absent where the site has one engine. */
  readonly nodeOf?: (extension: string) => NodeId;
  /** Of the engine of this node; without it, of the leading one. Throws `engine_unavailable` for a node without an engine. */
  status(node?: NodeId): EngineStatus;
  /**
   * Every fact in order, in batches of one turn of the event loop, for a single consumer. Starts with `engine.link` and an
   * `engine.snapshot` after every connect; live events are held back until the snapshot is complete.
   */
  events(signal: AbortSignal): AsyncIterable<readonly EngineEvent[]>;
  /** Requests a new snapshot; it arrives as an event. */
  resync(): void;
  /** Requests a new snapshot; resolves once the consumer has processed it, also where it shows nothing new. */
  resynced(): Promise<void>;
  /**
   * Resolves once the result of every abandoned command is known: at once where there is none, else when a later snapshot was
   * processed. Until then the model may be about to change, and no command may answer from it. Rejects `engine_unavailable`
   * after `ms`, or when the link is lost.
   */
  settled(ms: number): Promise<void>;
  /**
   * Resolves once the engine has answered a request sent now. The model of a stopped engine stays unchanged for a while, so
   * "already in this state" is a success only after this. Rejects `engine_unavailable` or `engine_timeout`.
   */
  roundTrip(ms: number): Promise<void>;
  pauseMember(
    queue: string,
    iface: string,
    paused: boolean,
    reason: string,
    options?: CommandOptions,
  ): Promise<void>;
  /** Changes the pause in all queues of the interface by one action; `queues` names all of them. */
  pauseEverywhere(
    queues: readonly string[],
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
  /** Name of an extension as a queue member. */
  memberOf(extension: string): { readonly interface: string; readonly state_interface: string };
  close(): Promise<void>;
}

/** Action of a person's own device after it answers. */
export type PlacedPart =
  | {
      readonly does: 'call';
      /** The number shown to the called side. */
      readonly caller_number: string;
      /** Limit of the call from the answer of the own device; null for none. */
      readonly limit_seconds: number | null;
    }
  /** Takes the call that rings at that channel. */
  | { readonly does: 'pickup'; readonly channel: ChannelId }
  /** `whisper`: only that side hears the listener; `barge`: all hear each other. */
  | { readonly does: 'listen' | 'whisper' | 'barge'; readonly channel: ChannelId };
/** A call placed for a person: the person's own devices ring first, and the one that answers continues. */
export interface PlacedCall {
  /** Ids of the internal pair it starts with, chosen in advance; the first is the id of the call. */
  readonly pair: readonly [ChannelId, ChannelId];
  readonly extension: string;
  /** The only kind of device to ring; null for all. */
  readonly device: EndpointKind | null;
  /** Number the own devices show while they ring; for a call also the number to dial. */
  readonly number: string;
  /** Ring time of the own devices. */
  readonly ring_seconds: number;
  readonly part: PlacedPart;
}
/**
 * Verbs for calls; each is one fixed template of the adapter, filled with ids and digits only. They resolve and throw as those
 * of `Engine`; a channel that has ended is `engine_refused`.
 */
export interface CallVerbs {
  placeCall(call: PlacedCall, options?: CommandOptions): Promise<void>;
  /** Changes how or to which side a leg listens, without ringing again. */
  listenAs(
    channel: ChannelId,
    part: Extract<PlacedPart, { readonly does: 'listen' | 'whisper' | 'barge' }>,
    options?: CommandOptions,
  ): Promise<void>;
  hangup(channel: ChannelId, options?: CommandOptions): Promise<void>;
  blindTransfer(channel: ChannelId, number: string, options?: CommandOptions): Promise<void>;
  /**
   * Puts the other side on hold and calls the number with the permissions of the extension `by`; the three verbs below end the
   * consultation or change sides.
   */
  consult(channel: ChannelId, number: string, by: string | null, options?: CommandOptions): Promise<void>;
  swapConsult(channel: ChannelId, options?: CommandOptions): Promise<void>;
  completeConsult(channel: ChannelId, options?: CommandOptions): Promise<void>;
  cancelConsult(channel: ChannelId, options?: CommandOptions): Promise<void>;
  /** `others`: the channels in the same bridge. */
  hold(channel: ChannelId, others: readonly ChannelId[], options?: CommandOptions): Promise<void>;
  retrieve(others: readonly ChannelId[], options?: CommandOptions): Promise<void>;
  /** Parks a channel; if it is not retrieved in time, `back_to` rings. */
  park(channel: ChannelId, back_to: string | null, options?: CommandOptions): Promise<void>;
  /** Sends one digit, as if it came from the device. */
  digit(channel: ChannelId, digit: string, options?: CommandOptions): Promise<void>;
  /** Records both sides into a file of the engine's own folder; we choose `name`, without folder or extension. */
  startRecording(channel: ChannelId, name: string, options?: CommandOptions): Promise<void>;
  stopRecording(channel: ChannelId, options?: CommandOptions): Promise<void>;
  /** Replaces both sides by silence in the recording of this channel, or stops doing so. */
  pauseRecording(channel: ChannelId, paused: boolean, options?: CommandOptions): Promise<void>;
}
/** Verb for people's own call settings. It resolves and throws as those of `Engine`. */
export interface FeatureVerbs {
  /**
   * Writes the changes and their time last, so that an interrupted change is recognised by its older time. Resolves with what is
   * stored then, which follows as `extension.features`.
   */
  keepFeatures(
    extension: string,
    changes: Partial<Omit<ExtensionFeatures, 'changed_at'>>,
    changed_at: number,
    options?: CommandOptions,
  ): Promise<ExtensionFeatures>;
}
/** Verb for desk phones. It resolves and throws as those of `Engine`. */
export interface PhoneVerbs {
  /**
   * Sends a SIP NOTIFY with this event, such as `check-sync`, to every contact address of an endpoint. `engine_refused` where it
   * has none; whether a phone obeys is not known here.
   */
  notifyPhones(endpoint: string, event: string, options?: CommandOptions): Promise<void>;
  /** Signs out who is signed in at a shared phone; `phone.signed` follows. `store_unavailable` where the store keeps it. */
  signOutPhone(endpoint: string, by: SignedBy, options?: CommandOptions): Promise<void>;
  /** Shows a person who is signed in at a shared phone as in no call there. */
  showIdleAtPhone(extension: string, options?: CommandOptions): Promise<void>;
}
/** Verb for night switches. It resolves and throws as those of `Engine`. */
export interface SwitchVerbs {
  /** Switches a time condition, or back to its hours for null; `night_switch.changed` follows. */
  keepSwitch(name: string, to: 'open' | 'closed' | null, options?: CommandOptions): Promise<void>;
}
/** A call that the engine holds until the app of an extension registers. */
export interface WakeRequest {
  readonly extension: string;
  /** The engine's name of the channel that waits. */
  readonly channel: string;
  /** Id of the call in the engine, which the app receives. */
  readonly call: string;
}
/** Verbs for apps that a push wakes. */
export interface PushVerbs {
  /** Passes on every extension that the engine holds calls for. */
  storedWakeable(each: (extension: string) => void, options?: CommandOptions): Promise<void>;
  /** Holds calls for an extension, or no longer for null. Throws as `keepCustomers`. */
  keepWakeable(changes: ReadonlyMap<string, true | null>, options?: CommandOptions): Promise<void>;
  /** Makes a call wait for at most `seconds`; null ends its wait. */
  answerWake(channel: string, seconds: number | null, options?: CommandOptions): Promise<void>;
}
/** Entry of a number outside in the engine's own store, for calls that arrive while the service is down. */
export interface StoredCustomer {
  readonly name: string;
  /** Extension of the person who looks after the customer. */
  readonly owner: string | null;
  /** Of prompts in its calls; absent for that of the route. */
  readonly language?: string;
  /** Calls of this customer are rejected. */
  readonly blocked: boolean;
}
/** A number is in E.164, or as it is dialled inside the country. */
export interface CustomerVerbs {
  /** Passes on every number of the store, in no order; null for a value that `keepCustomers` did not write. */
  storedCustomers(
    each: (number: string, customer: StoredCustomer | null) => void,
    options?: CommandOptions,
  ): Promise<void>;
  /**
   * Stores what is known of each number, or deletes the number for null, and reads each back. Throws `store_unavailable` where
   * the store has something else afterwards, and `invalid_request` for an owner that is no extension, and for a name with
   * control characters or of more than 900 bytes.
   */
  keepCustomers(
    customers: ReadonlyMap<string, StoredCustomer | null>,
    options?: CommandOptions,
  ): Promise<void>;
}
/** Caller rules of one key in the engine's own store; a field is null where there is no such rule. */
export interface StoredCallerRule {
  /** For callers with exactly this number. */
  readonly number: RuleAction | null;
  /** For all callers whose number begins with it. */
  readonly prefix: RuleAction | null;
  /** Extension whose feature code wrote it; null for what `keepCallerRules` wrote. */
  readonly by: string | null;
}
/** A key is a number as for customers, or `anonymous`. */
export interface CallerRuleVerbs {
  /** Passes on every key of the store, in no order; null for a value that nothing of ours wrote. */
  storedCallerRules(
    each: (key: string, rule: StoredCallerRule | null) => void,
    options?: CommandOptions,
  ): Promise<void>;
  /** Stores each rule, or deletes the key for null, and reads each back. Throws as `keepCustomers`. */
  keepCallerRules(
    rules: ReadonlyMap<string, StoredCallerRule | null>,
    options?: CommandOptions,
  ): Promise<void>;
  /** Deletes the stored last caller of each phone and reads back. Throws `store_unavailable` where some are left. */
  forgetLastCallers(options?: CommandOptions): Promise<void>;
}
/** Position at which a caller shall wait. */
export interface QueuePlace {
  /** The queue's name; it may be at another engine than the caller. */
  readonly queue: string;
  /** The queue's number. */
  readonly number: string;
  /** From 1, among callers of the same priority; null for the end. */
  readonly position: number | null;
  readonly priority: number;
}
/**
 * Verbs for waiting callers. They resolve and throw as those of `Engine`, and throw `no_such_caller` for a caller that is not
 * in `queue`.
 */
export interface QueueVerbs {
  /** A higher priority is served first; the caller moves at once. Only a snapshot shows the result. */
  setCallerPriority(
    queue: string,
    caller: ChannelId,
    priority: number,
    options?: CommandOptions,
  ): Promise<void>;
  /**
   * Removes a caller from its queue: to another position in the same or another queue, or, with `null`, to the destination of
   * callers who waited too long.
   */
  takeCaller(
    queue: string,
    caller: ChannelId,
    to: QueuePlace | null,
    options?: CommandOptions,
  ): Promise<void>;
}

/** Commands of every kind. */
export interface EngineVerbs
  extends
    CallVerbs,
    CallerRuleVerbs,
    CustomerVerbs,
    FeatureVerbs,
    PhoneVerbs,
    PushVerbs,
    QueueVerbs,
    SwitchVerbs {}
