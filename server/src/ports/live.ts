import type { AgentSummary, ReadinessSource } from '@offhook/contract/agents.ts';
import type { CallId, ChannelId, OfferId } from '@offhook/contract/ids.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { CallDirection, Placed } from '@offhook/contract/directions.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Activity, Personal, Reachability } from '@offhook/contract/extensions.ts';
import type {
  DeviceState,
  EngineEvent,
  EngineQueue,
  ExtensionFeatures,
  Party,
  QueueCaller,
  QueueMember,
} from './engine.ts';
import type { Endpoint, EndpointKind } from './directory.ts';

/** What one device or trunk does; `since` is milliseconds since 1970, of what this service has seen. */
export interface LiveDevice {
  readonly state: DeviceState;
  /** Null while that is not known. */
  readonly reachable: boolean | null;
  /** Since when that is so. */
  readonly since: number;
}
/** What is known now of one extension. Frozen, replaced as a whole when anything in it changes. */
export interface LiveExtension {
  readonly extension: string;
  readonly devices: Readonly<Record<EndpointKind, DeviceState>>;
  readonly reachability: Reachability;
  readonly activity: Activity;
  readonly personal: Personal;
  readonly note: string | null;
  /** When what the person says is over, in milliseconds since 1970; null: open. */
  readonly expires_at: number | null;
  readonly summary: string;
  /** Milliseconds since 1970 of the last change of reachability, activity or personal. */
  readonly since: number;
}
export interface LiveLeg {
  readonly id: ChannelId;
  readonly call: CallId;
  readonly extension: string | null;
  readonly endpoint: string | null;
  /** Who is on this leg. */
  readonly party: Party;
  readonly state: 'initiated' | 'alerting' | 'queued' | 'connected' | 'held' | 'parked';
  readonly since: number;
  /** When it was connected for the first time; null before. */
  readonly answered_at: number | null;
  /** True while this leg has put the other side on hold. */
  readonly held: boolean;
  /** The queue it waits in. */
  readonly queue: string | null;
  /** The slot it is parked on. */
  readonly slot: string | null;
  /** True where the hold is an operation's doing, of which the device knows nothing. */
  readonly held_here: boolean;
  readonly recording: boolean;
  readonly recording_paused: boolean;
  /** How many digits came from it, or as if from it, and how many were sent to it. */
  readonly digits: { readonly in: number; readonly out: number };
  /** Whom it listens to, unseen in that call. */
  readonly listens_to: ChannelId | null;
  /** How many times it began to listen; one leg can change between listening, whispering and joining. */
  readonly listenings: number;
}
/** The other side of a leg. */
export interface LiveSide {
  /** The leg there, across internal pairs; null where none is seen. */
  readonly leg: ChannelId | null;
  /** The channels in the same bridge, halves of pairs among them. */
  readonly channels: readonly ChannelId[];
}
export interface LiveCall {
  readonly id: CallId;
  readonly direction: CallDirection;
  /** Every extension that has or had a leg in it, sorted. */
  readonly extensions: readonly string[];
  /** What its first leg dialled, or was reached by. */
  readonly dialled: string;
  readonly placed?: Placed;
  readonly started_at: number;
  readonly answered_at: number | null;
  /** How the customer of an outgoing call took it so far. */
  readonly customer_disposition?: LegDisposition;
  readonly legs: readonly LiveLeg[];
}
/** A call on a parking slot, as it was when it took the slot. */
export interface LiveParked {
  readonly slot: string;
  readonly lot: string;
  readonly call: CallId;
  readonly leg: ChannelId;
  /** Who waits on the slot. */
  readonly party: Party;
  readonly since: number;
  /** Extension of who parked it; null where that is not known. */
  readonly by: string | null;
}
/** A caller who waits; `leg` names its visit until it has left. */
export interface LiveCaller extends QueueCaller {
  readonly leg: string;
  readonly call: string;
  readonly party: Party;
  /** How often a supervisor gave it another place in this queue. */
  readonly moves: number;
}
/** One ring of one agent for one caller. */
export interface LiveOffer {
  readonly id: OfferId;
  readonly queue: string;
  /** Null for a member that is no extension of ours. */
  readonly extension: string | null;
  readonly member: string;
  readonly caller: ChannelId;
  readonly call: string;
  readonly created_at: number;
}
export interface LiveQueue extends EngineQueue {
  /** In order of position. */
  readonly callers: readonly LiveCaller[];
  readonly offers: readonly LiveOffer[];
}
/** One agent over all its queues. Frozen, replaced as a whole when anything in it changes. */
export interface LiveAgent {
  readonly extension: string;
  /** Its rows as the engine last confirmed them, those held back by the system (pbx/agent-reasons.ts) included. */
  readonly members: readonly QueueMember[];
  /** What the newest agent event said, and what the next one will be compared with. */
  readonly summary: AgentSummary;
  /** Milliseconds since 1970 when the wrap-up that is open ends, also while something else outranks it; null without one. */
  readonly wrap_up_deadline: number | null;
}

/** What the live model shows; every read is from memory and O(1) or O(result). */
export interface ModelView {
  /** False from the moment the link is down until the snapshot after it. */
  readonly live: boolean;
  /** Milliseconds since 1970 of the newest fact. */
  readonly as_of: number;
  /** Grows with every change of any extension. */
  readonly presence_version: number;
  extension(extension: string): LiveExtension | undefined;
  /** One endpoint of the engine; undefined while nothing is known of it. */
  device(endpoint: string): LiveDevice | undefined;
  /** Extensions changed since `version` (exclusive); null when that is too long ago: take all. */
  changedSince(version: number): readonly string[] | null;
  /** What the engine keeps of everybody who ever set something; another map after every change, empty before the first snapshot. */
  readonly features: ReadonlyMap<string, ExtensionFeatures>;
  /** Undefined for an extension that is no agent: in no queue's list and no member of one. */
  agent(extension: string): LiveAgent | undefined;
  /** Everyone who is an agent, in order of extension. */
  agents(): readonly LiveAgent[];
  queue(name: string): LiveQueue | undefined;
  queues(): readonly LiveQueue[];
  calls(): readonly LiveCall[];
  /** Calls on parking slots, in order of slot. */
  parked(): readonly LiveParked[];
  /** One call by its id, or by an id it had before it was joined with another. */
  call(id: string): LiveCall | undefined;
  /** One leg of a call that goes on. */
  leg(id: string): LiveLeg | undefined;
  /** Whom this leg is together with now; undefined while it is with nobody. */
  beside(leg: string): LiveSide | undefined;
  /** Types of the events that an operation led to so far; kept until its time is over. */
  ledTo(operationId: string): ReadonlySet<DomainEvent['type']>;
  /** True for a channel that ended lately. */
  gone(channel: string): boolean;
}

/** Read view of the live model. */
export interface LiveView extends ModelView {
  /**
   * Resolves once `holds` is true, looked at now and after every batch of facts.
   * Rejects `engine_timeout` after `ms`, with `waitingFor` in its detail, and `engine_unavailable` when the link is or
   * goes down.
   */
  until(
    holds: () => boolean,
    options: { ms: number; waitingFor: string; signal?: AbortSignal },
  ): Promise<void>;
}

/** What the model must know of the site; told at start and after every change of the directory. */
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
    /** How long one agent rings. */
    readonly ring_seconds: number;
    readonly wrap_up_seconds: number;
    /** How long a caller waits at most; 0 for ever. */
    readonly max_wait_seconds: number;
  }[];
  readonly pause_reasons: readonly { readonly id: string; readonly longest_seconds: number | null }[];
  /** Numbers that the engine answers by itself: echo test, music, voicemail. */
  readonly services: readonly string[];
}

/** One event that an operation is to lead to; every fact that is named must fit. */
export interface ExpectedEvent {
  readonly type: DomainEvent['type'];
  readonly call?: string;
  readonly leg?: string;
  readonly extension?: string;
  readonly queue?: string;
  /** Whose doing it is, as the event names them, and for a transfer also how and where to. */
  readonly by?: string | null;
  readonly kind?: 'blind' | 'attended' | 'pickup';
  readonly to?: string;
  /** How many such events are its doing; 1. */
  readonly times?: number;
}
/** An operation is about to be given to the engine: what it leads to carries its id, until the event time `until`. */
export interface OperationEvent {
  readonly type: 'operation.sent';
  readonly at: number;
  readonly operation_id: string;
  readonly until: number;
  readonly expects: readonly ExpectedEvent[];
}

/**
 * A supervisor takes this caller out of its queue, or (`placed`) to another place in it, for which the engine lets it leave
 * and join again: one visit. Told before the engine is. `null`: it did not come to that; who left and did not come back left.
 */
export interface CallerTaken {
  readonly type: 'caller.taken';
  readonly at: number;
  readonly channel: ChannelId;
  readonly why: 'moved' | 'placed' | 'withdrawn' | null;
}
/** What the house decided about an agent; `at` is milliseconds since 1970. */
export type AgentInput = { readonly at: number; readonly extension: string } &
  /**
   * Told before a change is sent: whose it is and since when it holds (null: from the fact that confirms it), for that fact to
   * carry. An empty `reason` is ready; `source` null takes back what was told.
   */
  (
    | {
        readonly type: 'agent.intended';
        readonly queues: readonly string[];
        readonly reason: string;
        readonly source: ReadinessSource | null;
        readonly since: number | null;
        /** One change of several queues: the agent is ready in all of them as soon as the first one confirms it. */
        readonly together?: boolean;
      }
    /** So many offers in a row were not answered that the agent is taken out. */
    | { readonly type: 'agent.not_responding'; readonly missed: number }
    /** No device could be reached for longer than the grace. */
    | { readonly type: 'agent.absent' }
    /** Another deadline, in milliseconds since 1970; null: the wrap-up is over. */
    | { readonly type: 'agent.wrap_up'; readonly deadline: number | null }
  );

/** What a person says of itself; do not disturb is the engine's to keep (`ModelView.features`). */
export interface Said {
  readonly personal: Exclude<Personal, 'dnd'>;
  readonly note: string | null;
  /** Milliseconds since 1970; null: open. */
  readonly expires_at: number | null;
}
/** What these people say from now on, null: nothing. The first one after a start names everybody who says something. */
export interface PresenceSaid {
  readonly type: 'presence.said';
  readonly at: number;
  readonly people: ReadonlyMap<string, Said | null>;
}

/** What a step takes: facts of the engine, and what the house itself decided. */
export type ModelInput = EngineEvent | SiteEvent | OperationEvent | CallerTaken | AgentInput | PresenceSaid;

/** The live model as its driver sees it: facts in, domain events out. Deterministic; never throws for a strange fact. */
export interface LiveModel {
  readonly view: ModelView;
  step(event: ModelInput): readonly DomainEvent[];
  /** Tells the model what is now in the journal, in order. */
  committed(events: readonly DomainEvent[]): void;
  /** What the journal left open (calls, waiting callers, offers, memberships, presence), to begin again from. */
  checkpoint(): string;
  /**
   * Forgets the engine's state and takes as told what a checkpoint and the events after it say, so that the next snapshot
   * yields the differences only. `null` begins with nothing told.
   */
  restore(checkpoint: string | null, after: Iterable<DomainEvent>): void;
}
