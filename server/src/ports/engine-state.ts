/** State of the engine in our words: channels, queues, devices, trunks, call settings, and all of them in a snapshot. */
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
