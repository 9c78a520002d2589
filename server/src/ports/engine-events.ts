/** Events of the engine in our words: facts for the live model, each with the time of the engine. */
import type { BridgeId, CallId, ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type {
  ChannelState,
  DeviceState,
  EngineChannel,
  EngineSnapshot,
  EngineTrunkServer,
  ExtensionFeatures,
  Party,
  QueueCaller,
  QueueMember,
  SignedIn,
} from './engine-state.ts';

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
  /**
   * `first` and `second` are the transferer's two channels; the second call is joined into the first. The transferee
   * replaces a second channel in no bridge in its application, as in a queue.
   */
  | {
      readonly type: 'transfer.attended';
      readonly first: ChannelId;
      readonly second: ChannelId;
      readonly first_call: CallId;
      readonly second_call: CallId;
      readonly transferee?: ChannelId;
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
