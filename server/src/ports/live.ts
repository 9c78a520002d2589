import type { TrunkChange } from '@offhook/contract/trunks.ts';
import type { AgentSummary, ReadinessSource } from '@offhook/contract/agents.ts';
import type { CallId, ChannelId, NodeId, OfferId } from '@offhook/contract/ids.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { CallDirection, Placed } from '@offhook/contract/directions.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import type { Activity, Personal, Reachability } from '@offhook/contract/extensions.ts';
import type { EngineEvent } from './engine-events.ts';
import type {
  DeviceState,
  EngineQueue,
  ExtensionFeatures,
  Party,
  QueueCaller,
  QueueMember,
  SignedIn,
} from './engine-state.ts';
import type { Endpoint, EndpointKind } from './directory.ts';

/** State of one device or trunk; `since` is milliseconds since 1970, as observed by this service. */
export interface LiveDevice {
  readonly state: DeviceState;
  /** Null while unknown. */
  readonly reachable: boolean | null;
  /** Start of this reachability. */
  readonly since: number;
}
/** State of one trunk. */
export interface LiveTrunk extends Pick<TrunkChange, 'state' | 'reason' | 'round_trip_ms' | 'servers'> {
  readonly name: string;
  /** Start of this state, in milliseconds since 1970. */
  readonly since: number;
}
/** Current state of one extension. Frozen, replaced as a whole with every change. */
export interface LiveExtension {
  readonly extension: string;
  readonly devices: Readonly<Record<EndpointKind, DeviceState>>;
  readonly reachability: Reachability;
  readonly activity: Activity;
  readonly personal: Personal;
  readonly note: string | null;
  /** End of the personal status, in milliseconds since 1970; null: open. */
  readonly expires_at: number | null;
  readonly summary: string;
  /** Start of what `summary` names, or of the hold while `on_hold`, in milliseconds since 1970. */
  readonly since: number;
}
export interface LiveLeg {
  readonly id: ChannelId;
  readonly call: CallId;
  readonly extension: string | null;
  readonly endpoint: string | null;
  /** The party of this leg. */
  readonly party: Party;
  readonly state: 'initiated' | 'alerting' | 'queued' | 'connected' | 'held' | 'parked';
  readonly since: number;
  /** First connection; null before. */
  readonly answered_at: number | null;
  /** True while this leg has put the other side on hold. */
  readonly held: boolean;
  /** The queue it waits in. */
  readonly queue: string | null;
  /** The slot it is parked on. */
  readonly slot: string | null;
  /** True where a command, and not the device, put the other side on hold; the device does not show it. */
  readonly held_here: boolean;
  readonly recording: boolean;
  readonly recording_paused: boolean;
  /** Number of digits received from it, or as if from it, and of digits sent to it. */
  readonly digits: { readonly in: number; readonly out: number };
  /** The channel it listens to, invisible in that call. */
  readonly listens_to: ChannelId | null;
  /** Number of times it began to listen; one leg can change between listening, whispering and joining. */
  readonly listenings: number;
}
/** The other side of a leg. */
export interface LiveSide {
  /** The leg on that side, across internal pairs; null where there is none. */
  readonly leg: ChannelId | null;
  /** Channels in the same bridge, halves of pairs included. */
  readonly channels: readonly ChannelId[];
  /** True while one of them is half of a pair that the engine takes out of the call as soon as audio flows. */
  readonly passing: boolean;
}
export interface LiveCall {
  readonly id: CallId;
  readonly direction: CallDirection;
  /** Every extension that has or had a leg in it, sorted. */
  readonly extensions: readonly string[];
  /** The number its first leg dialled, or was reached by. */
  readonly dialled: string;
  /** All numbers that it was begun or transferred to, those of calls that were joined into it included; each once. */
  readonly numbers: readonly string[];
  readonly placed?: Placed;
  readonly started_at: number;
  readonly answered_at: number | null;
  /** Result at the customer's leg of an outgoing call so far. */
  readonly customer_disposition?: LegDisposition;
  /** The shared customer of its outside party, once found. */
  readonly customer?: CallCustomer;
  readonly legs: readonly LiveLeg[];
}
/** A parked call, as it was when it was parked. */
export interface LiveParked {
  readonly slot: string;
  readonly lot: string;
  /** The engine that has the slot; that of the leg may be another one. */
  readonly node: NodeId;
  readonly call: CallId;
  readonly leg: ChannelId;
  /** The party on the slot. */
  readonly party: Party;
  readonly since: number;
  /** Extension that parked it; null where unknown. */
  readonly by: string | null;
}
/** A waiting caller; `leg` names its visit until it has left. */
export interface LiveCaller extends QueueCaller {
  readonly leg: string;
  readonly call: string;
  readonly party: Party;
  /** The shared customer of its call, once found. */
  readonly customer?: CallCustomer;
  /** Number of moves of the caller within this queue by a supervisor. */
  readonly moves: number;
}
/** One ring of one agent for one caller. */
export interface LiveOffer {
  readonly id: OfferId;
  readonly queue: string;
  /** Null for a member that is not one of our extensions. */
  readonly extension: string | null;
  readonly member: string;
  readonly caller: ChannelId;
  readonly call: string;
  readonly created_at: number;
}
export interface LiveQueue extends EngineQueue {
  /** Sorted by position. */
  readonly callers: readonly LiveCaller[];
  readonly offers: readonly LiveOffer[];
}
/** One agent over all its queues. Frozen, replaced as a whole with every change. */
export interface LiveAgent {
  readonly extension: string;
  /** Its memberships as last confirmed by the engine, including those paused by the system (pbx/agent-reasons.ts). */
  readonly members: readonly QueueMember[];
  /** Summary of the newest agent event; the next one is compared with it. */
  readonly summary: AgentSummary;
  /** End of the open wrap-up in milliseconds since 1970, also while another state outranks it; null without one. */
  readonly wrap_up_deadline: number | null;
}

/** State of the live model; every read is from memory and O(1) or O(result). */
export interface ModelView {
  /** False from the moment the link is down until the next snapshot. */
  readonly live: boolean;
  /** Milliseconds since 1970 of the newest fact. */
  readonly as_of: number;
  /** Grows with every change of any extension. */
  readonly presence_version: number;
  extension(extension: string): LiveExtension | undefined;
  /** One endpoint of the engine; undefined while unknown. */
  device(endpoint: string): LiveDevice | undefined;
  /** One trunk by its name; undefined while unknown. */
  trunk(name: string): LiveTrunk | undefined;
  /** Extensions changed since `version` (exclusive); null when that is too long ago and all must be read. */
  changedSince(version: number): readonly string[] | null;
  /** Call settings of all extensions that ever set any; replaced with every change, empty before the first snapshot. */
  readonly features: ReadonlyMap<string, ExtensionFeatures>;
  /** People signed in at shared phones, by endpoint; the newest last. */
  readonly signed: ReadonlyMap<string, SignedIn>;
  /** Switched time conditions, by name. */
  readonly switched: ReadonlyMap<string, 'open' | 'closed'>;
  /** Undefined for an extension that is not an agent: in no queue's list and no member of one. */
  agent(extension: string): LiveAgent | undefined;
  /** All agents, sorted by extension. */
  agents(): readonly LiveAgent[];
  queue(name: string): LiveQueue | undefined;
  queues(): readonly LiveQueue[];
  calls(): readonly LiveCall[];
  /** Parked calls, sorted by slot. */
  parked(): readonly LiveParked[];
  /** A call by its id, or by an id it had before it was joined with another. */
  call(id: string): LiveCall | undefined;
  /** A leg of a live call. */
  leg(id: string): LiveLeg | undefined;
  /** The other side of this leg now; undefined while it has none. */
  beside(leg: string): LiveSide | undefined;
  /** Types of the events an operation caused so far; kept until its time is over. */
  ledTo(operationId: string): ReadonlySet<DomainEvent['type']>;
  /** True for a channel that ended recently. */
  gone(channel: string): boolean;
}

/** Read view of the live model. */
export interface LiveView extends ModelView {
  /**
   * Resolves once `holds` is true, checked now and after every batch of facts. Rejects `engine_timeout` after `ms`, with
   * `waitingFor` in its detail, and `engine_unavailable` when the link is or goes down.
   */
  until(
    holds: () => boolean,
    options: { ms: number; waitingFor: string; signal?: AbortSignal },
  ): Promise<void>;
}

/** Site data of the model; given at start and after every directory change. */
export interface SiteEvent {
  readonly type: 'site.changed';
  readonly at: number;
  readonly extensions: readonly {
    readonly extension: string;
    readonly name: string;
    readonly endpoints: readonly Endpoint[];
  }[];
  readonly queues: readonly {
    readonly name: string;
    readonly agents: readonly string[];
    /** Ring time of one agent. */
    readonly ring_seconds: number;
    readonly wrap_up_seconds: number;
    /** Limit of a caller's wait; 0 for none. */
    readonly max_wait_seconds: number;
  }[];
  /** Enabled ones. */
  readonly trunks: readonly {
    readonly name: string;
    readonly title: string;
    readonly endpoint: string;
    readonly registers: boolean;
  }[];
  readonly pause_reasons: readonly { readonly id: string; readonly longest_seconds: number | null }[];
  /** Absent: none. */
  readonly shared_phones?: readonly { readonly name: string; readonly endpoint: string }[];
  /** Numbers the engine answers itself: echo test, music, voicemail. */
  readonly services: readonly string[];
}

/** An event that an operation is to cause; every given field must match. */
export interface ExpectedEvent {
  readonly type: DomainEvent['type'];
  readonly call?: string;
  readonly leg?: string;
  readonly extension?: string;
  /** Null for an event about all queues of an agent. */
  readonly queue?: string | null;
  /** Actor of the operation, as the event names it; for a transfer also its kind and target. */
  readonly by?: string | null;
  readonly kind?: 'blind' | 'attended' | 'pickup';
  readonly to?: string;
  /** Number of such events; default 1. */
  readonly times?: number;
}
/** Announces an operation before the engine gets it: events it causes carry its id, until the event time `until`. */
export interface OperationEvent {
  readonly type: 'operation.sent';
  readonly at: number;
  readonly operation_id: string;
  readonly until: number;
  readonly expects: readonly ExpectedEvent[];
}

/**
 * A supervisor removes this caller from its queue, or moves it within the queue (`placed`): the engine then makes it
 * leave and join again, which is one visit. Announced before the engine gets the command. `null`: it was not carried
 * out; a caller that left and did not join again has left the queue.
 */
export interface CallerTaken {
  readonly type: 'caller.taken';
  readonly at: number;
  readonly channel: ChannelId;
  readonly why: 'moved' | 'placed' | 'withdrawn' | null;
}
/** The shared customer of a live call's outside party; null: none. */
export interface CustomerFound {
  readonly type: 'call.customer';
  readonly at: number;
  readonly call: string;
  readonly customer: CallCustomer | null;
}
/** A decision of the service about an agent; `at` is milliseconds since 1970. */
export type AgentInput = { readonly at: number; readonly extension: string } &
  /**
   * Announced before a change is sent: its cause and start (null: time of the confirming fact), which that fact then carries.
   * An empty `reason` is ready; `source` null withdraws the announcement.
   */
  (
    | {
        readonly type: 'agent.intended';
        readonly queues: readonly string[];
        readonly reason: string;
        readonly source: ReadinessSource | null;
        readonly since: number | null;
        /** One change of several queues: the agent is ready in all of them once the first one confirms it. */
        readonly together?: boolean;
      }
    /** The agent missed so many offers in a row that it is taken out. */
    | { readonly type: 'agent.not_responding'; readonly missed: number }
    /** No device was reachable for longer than the grace period. */
    | { readonly type: 'agent.absent' }
    /** New deadline of the wrap-up, in milliseconds since 1970; null: the wrap-up is over. */
    | { readonly type: 'agent.wrap_up'; readonly deadline: number | null }
  );

/** Personal status of a person; the engine stores do not disturb (`ModelView.features`). */
export interface Said {
  readonly personal: Exclude<Personal, 'dnd'>;
  readonly note: string | null;
  /** Milliseconds since 1970; null: open. */
  readonly expires_at: number | null;
}
/** New personal status of these people, null: none. The first one after a start lists everyone with a status. */
export interface PresenceSaid {
  readonly type: 'presence.said';
  readonly at: number;
  readonly people: ReadonlyMap<string, Said | null>;
}

/** Extensions with an app that a push wakes; replaces the former ones. */
export interface PushWakeable {
  readonly type: 'push.wakeable';
  readonly at: number;
  readonly extensions: ReadonlySet<string>;
}

/** Input of a step: facts of the engine, and decisions of the service. */
export type ModelInput =
  | EngineEvent
  | SiteEvent
  | OperationEvent
  | CallerTaken
  | CustomerFound
  | AgentInput
  | PresenceSaid
  | PushWakeable;

/** The live model as its driver sees it: facts in, domain events out. Deterministic; never throws for an unexpected fact. */
export interface LiveModel {
  readonly view: ModelView;
  step(event: ModelInput): readonly DomainEvent[];
  /** Reports to the model what is now in the journal, in order. */
  committed(events: readonly DomainEvent[]): void;
  /** Open items in the journal (calls, waiting callers, offers, memberships, presence), as a starting point. */
  checkpoint(): Iterable<string>;
  /**
   * Drops the engine's state and takes as published what a checkpoint and the events after it contain, so that the next
   * snapshot yields only the differences. `null` begins with nothing published.
   */
  restore(checkpoint: string | null, after: Iterable<DomainEvent>): void;
}
