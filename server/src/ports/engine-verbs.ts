/** Verbs of the engine by subject: calls, call settings, desk phones, apps, customers, caller rules and waiting callers. */
import type { RuleAction } from '@offhook/contract/caller-rules.ts';
import type { ChannelId } from '@offhook/contract/ids.ts';
import type { EndpointKind } from './directory.ts';
import type { SignedBy } from './engine-events.ts';
import type { ExtensionFeatures } from './engine-state.ts';
import type { CommandOptions } from './engine.ts';

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
  /** `whisper`: only that side hears the listener; `barge`: all hear each other. `session_id`: of the person who asked for it. */
  | {
      readonly does: 'listen' | 'whisper' | 'barge';
      readonly channel: ChannelId;
      readonly session_id: number;
    };
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
  /** Session that asked for a leg to listen, as the engine has it; null where none did, or the leg has ended. */
  sessionOf(channel: ChannelId, options?: CommandOptions): Promise<number | null>;
  /** Ports at the far side of the SIP of a leg; none where it has ended. */
  sipPortsOf(channel: ChannelId, options?: CommandOptions): Promise<readonly number[]>;
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
