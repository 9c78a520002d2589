import type { AgentSummary, PendingState, ReadinessSource } from '@offhook/contract/agents.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { CallDirection, Placed } from '@offhook/contract/directions.ts';
import type { DomainEvent, EventData, EventType } from '@offhook/contract/events.ts';
import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import type { BridgeId, CallId, ChannelId, OfferId, NodeId } from '@offhook/contract/ids.ts';
import type { EndpointKind } from '../ports/directory.ts';
import type { TrunkChange } from '@offhook/contract/trunks.ts';
import type {
  EngineChannel,
  EngineTrunk,
  ExtensionFeatures,
  Party,
  QueueMember,
  SignedIn,
} from '../ports/engine-state.ts';
import type {
  CallerTaken,
  ExpectedEvent,
  LiveAgent,
  LiveCall,
  LiveDevice,
  LiveExtension,
  LiveLeg,
  LiveParked,
  LiveQueue,
  LiveTrunk,
  SiteEvent,
  Said,
} from '../ports/live.ts';
import type { PublishedLeg, PublishedMember, PublishedPresence, PublishedVisit } from './facts.ts';
import type { LegTimes } from './leg-times.ts';
import { Tombstones } from '../core/tombstones.ts';
import type { Touched } from './touched.ts';

/** A channel as the engine describes it, updated by its later events. */
export interface Channel extends Omit<EngineChannel, 'call'> {
  /** The call it belongs to after all merges; null for a helper. */
  readonly call: CallId | null;
  readonly extension: string | null;
  readonly bridge: BridgeId | null;
  /** True while its bridge is one that only holds it (parking, music). */
  readonly holding: boolean;
  /** True while the device itself holds its other side. */
  readonly held: boolean;
  /** Bridge in which that hold began; null without one, and for a hold that a snapshot showed. */
  readonly held_in: BridgeId | null;
  /** True while an operation of the service holds its other side. */
  readonly held_here: boolean;
  /** Number of recordings that run at once. */
  readonly recordings: number;
  readonly recording_paused: boolean;
  readonly digits: LiveLeg['digits'];
  readonly listens_to: ChannelId | null;
  readonly listenings: number;
  /** True once it met another leg. */
  readonly met: boolean;
  readonly slot: string | null;
  /** Name of the queue in which it waits. */
  readonly queued: string | null;
  /** Seconds of its wait in a queue that ended with an answer, until the engine reports the agent; else null. */
  readonly waited: number | null;
  /** True once a hangup was requested for it. */
  readonly ending: boolean;
  readonly rang: boolean;
  readonly leg: LiveLeg['state'];
  readonly leg_since: number;
  readonly leg_answered_at: number | null;
}

export interface Call {
  readonly id: CallId;
  /** True once its first leg appeared and `call.started` was emitted. */
  readonly started: boolean;
  readonly started_at: number;
  readonly answered_at: number | null;
  /** Legs and halves of internal pairs, oldest first. */
  readonly channels: readonly ChannelId[];
  readonly first_leg: ChannelId | null;
  /** As `LiveCall.numbers`; the first one is the number dialled by the first leg. */
  readonly numbers: readonly string[];
  readonly placed?: Placed;
  /** Null until the first leg. */
  readonly direction: CallDirection | null;
  /** Extensions that have or had a leg in it, sorted. */
  readonly extensions: readonly string[];
  /** Ids of merged calls, under which the engine still reports this one. */
  readonly aliases: readonly CallId[];
  /** Hangup cause of the first leg once it is gone, else of the leg that left last. */
  readonly cause: { readonly code: number | null; readonly text: string; readonly of: ChannelId } | null;
  /** Disposition of the customer of an outgoing call by the legs that are gone; null while undecided. */
  readonly customer: LegDisposition | null;
  /** The customer from the phonebook. */
  readonly known: CallCustomer | null;
  /** State or end of the newest ring for its caller in a queue; null if no queue has rung an agent for it. */
  readonly ring: 'rings' | 'answered' | 'timeout' | 'gave_up' | null;
  /** Key of the newest transfer: the model publishes a transfer once, also if the engine reports it twice. */
  readonly transfer: string;
}

/** A waiting caller. */
export interface Visit {
  readonly queue: string;
  readonly channel: ChannelId;
  readonly leg: string;
  readonly caller: Party;
  readonly joined_at: number;
  /** Start of the wait as the engine counts it: from its newest position on. */
  readonly entered_at: number;
  readonly priority: number | null;
  /** True once a member answered; the caller then leaves the queue because of the answer. */
  readonly answered: boolean;
  /** Why a supervisor takes the caller out; null if none does. */
  readonly taken: CallerTaken['why'];
  /** True while it has left for another position in this queue and has not joined again. */
  readonly away: boolean;
  /** Number of changes of its position. */
  readonly moves: number;
}
export interface Queue {
  readonly name: string;
  strategy: string;
  readonly members: Map<string, QueueMember>;
  /** In order of position. */
  readonly callers: Visit[];
  readonly offers: Set<OfferId>;
  /** Cached view for readers; null after a change. */
  view: LiveQueue | null;
}
/** One ring of one agent for one caller. */
export interface Offer {
  readonly id: OfferId;
  readonly queue: string;
  readonly interface: string;
  readonly extension: string | null;
  readonly member: string;
  readonly caller: ChannelId;
  readonly agent: ChannelId;
  readonly call: string;
  readonly created_at: number;
  readonly answered: boolean;
  /** Channel of another person that picked up this ring; null if none did. */
  readonly picked_up_by: ChannelId | null;
}
/** An agent's part in a queue call, from connect to release. */
export interface Talk {
  readonly queue: string;
  /** Interface of the agent's own member row. */
  readonly interface: string;
  /** True if the agent picked up the ring of another member, for which alone the engine counts the call. */
  readonly picked_up: boolean;
  readonly caller: ChannelId | null;
  readonly agent: ChannelId | null;
  readonly call: CallId;
  readonly since: number;
  /** True once the engine itself counted the member as in this call. */
  readonly counted: boolean;
  /** True once a snapshot lacked this call in the engine's count. */
  readonly uncounted: boolean;
  /**
   * How the call was transferred: by the agent, joined with another call by another party, or not known yet;
   * null if not.
   */
  readonly transfer: 'own' | 'joined' | 'unknown' | null;
  /** Talk that this one interrupted, of an agent that a queue also rings in another call. */
  readonly before: Talk | null;
}
/** The time after a queue call; the service counts it, not the engine. */
export interface WrapUp {
  readonly queue: string;
  readonly call: CallId;
  readonly since: number;
  readonly deadline: number;
  readonly talk_seconds: number;
  /** True once `agent.wrap_up` was emitted, which happens once. */
  readonly published: boolean;
  /** True once the engine showed the member paused for it. */
  readonly held: boolean;
}
/** Engagement of an agent with its details. */
export type Doing = Pick<AgentSummary, 'engagement' | 'queue' | 'call_id' | 'offer_id' | 'direction'> & {
  readonly deadline: number | null;
};
/** Summary of an agent's memberships. */
export interface Pauses {
  /** The pause that is shown; null if at most a wrap-up holds the agent back. */
  readonly shown: QueueMember | null;
  /** The pause that a person chose, without those of a login or logout. */
  readonly chosen: QueueMember | null;
  readonly leaves: boolean;
  /** True if a queue has it paused for its wrap-up. */
  readonly heldBack: boolean;
  readonly openSomewhere: boolean;
}
export interface Agent {
  readonly extension: string;
  /** Its member row in each queue, the same object as in the queue. */
  readonly members: QueueMember[];
  /** Cache of `pausesOf`; null after a membership was paused, unpaused, added or removed. */
  pauses: Pauses | null;
  /** Pause reason that the directory shows; empty while not paused. */
  shown: string;
  /** The effective readiness: during a call the one before it. An empty reason means ready. */
  readiness: { readonly reason: string; readonly since: number; readonly source: ReadinessSource | null };
  /** Readiness that takes effect after the call. */
  pending: {
    readonly to: PendingState;
    readonly reason: string | null;
    readonly source: ReadinessSource | null;
  } | null;
  wrap: WrapUp | null;
  /** The call it was released from while its leg is still there. */
  released: CallId | null;
  /** The queue call that the journal left it in, until the first snapshot. */
  resumed: Pick<Talk, 'queue' | 'call' | 'since' | 'transfer' | 'picked_up'> | null;
  /** True once no device could be reached for longer than the grace period. */
  away: boolean;
  /** `held` once the engine has paused the agent for it. */
  not_responding: 'no' | 'published' | 'held';
  /** Offers in a row that led to `not_responding`. */
  missed: number;
  /** Source of the next expected change, by queue. */
  readonly intended: Map<
    string,
    {
      readonly reason: string;
      readonly source: ReadinessSource;
      readonly since: number | null;
      readonly together: boolean;
    }
  >;
  summary: AgentSummary;
  /** Its summary in the newest event; null before the first. */
  published: AgentSummary | null;
  view: LiveAgent | null;
}
/** Change of one agent in one queue in this step. */
export type AgentNote =
  | { readonly type: 'agent.logged_in' | 'agent.logged_out' | 'agent.ready'; readonly queue: string }
  | {
      readonly type: 'agent.not_ready';
      readonly queue: string;
      readonly reason: string;
      readonly since: string;
    };

export interface Extension extends LiveExtension {
  /** Start of the activity; that of a call includes further calls that ring, and holds that are over. */
  readonly activity_since: number;
  /** Start of the calls, holds included; null without a call. */
  readonly in_call_since: number | null;
}

export interface OpenOperation {
  readonly until: number;
  /** Expected events still to come, and how often. */
  readonly left: { readonly event: ExpectedEvent; times: number }[];
  readonly led: Set<EventType>;
}

export interface SiteIndex {
  readonly names: ReadonlyMap<string, string>;
  /** By endpoint. A sign-in at a shared phone changes this map and `devices` in place. */
  readonly endpoints: Map<string, { readonly extension: string; readonly kind: EndpointKind }>;
  /** Endpoint names of each kind, by extension. */
  readonly devices: Map<string, readonly { readonly kind: EndpointKind; readonly name: string }[]>;
  readonly agents: ReadonlySet<string>;
  readonly queues: ReadonlyMap<string, Omit<SiteEvent['queues'][number], 'name' | 'agents'>>;
  /** Longest time in seconds, by pause reason. */
  readonly longest: ReadonlyMap<string, number>;
  readonly services: ReadonlySet<string>;
  /** By endpoint. */
  readonly trunks: ReadonlyMap<string, Omit<SiteEvent['trunks'][number], 'endpoint'>>;
  /** Names of shared phones, by endpoint. */
  readonly shared: ReadonlyMap<string, string>;
}

/** Complete state of the model. Entities are readonly and replaced one at a time. */
export interface State {
  live: boolean;
  /** Node of the engine whose state decides whether the model is live; null before its first report. */
  first: NodeId | null;
  /** By node. */
  readonly links: Map<NodeId, 'up' | 'down'>;
  /** True once a snapshot was taken since the state was last emptied. */
  synced: boolean;
  as_of: number;
  site: SiteIndex;
  readonly channels: Map<ChannelId, Channel>;
  readonly pairs: Map<string, readonly ChannelId[]>;
  readonly bridges: Map<BridgeId, Set<ChannelId>>;
  readonly legsOf: Map<string, Set<ChannelId>>;
  readonly gone: Tombstones<ChannelId>;
  readonly calls: Map<CallId, Call>;
  readonly callViews: Map<CallId, LiveCall>;
  callList: readonly LiveCall[] | null;
  readonly aliases: Map<CallId, CallId>;
  /** Legs that an event has named, until their `call.left` or the end of their call. */
  readonly publishedLegs: Map<ChannelId, PublishedLeg>;
  /** Times of legs of before a restart of the service, until a snapshot contains the leg. */
  readonly publishedLegTimes: Map<string, LegTimes>;
  /** Why a leg is about to leave, known from a fact before its end. */
  readonly leaving: Map<ChannelId, { readonly how?: 'transferred'; readonly dial?: string }>;
  /** Last leg that each leg talked to; its extension is kept, since its channel may end before the parking event. */
  readonly peers: Map<ChannelId, { readonly id: ChannelId; readonly extension: string | null }>;
  readonly ended: Tombstones<CallId>;
  /** By `slotKey`; at the start the slots that the journal has occupied. */
  readonly parked: Map<string, LiveParked>;
  readonly queues: Map<string, Queue>;
  queueList: readonly LiveQueue[] | null;
  readonly visits: Map<ChannelId, Visit>;
  readonly offers: Map<OfferId, Offer>;
  /** Open offers by the channel of the caller and by that of the agent, and by extension. */
  readonly offersOf: Map<string, Set<OfferId>>;
  readonly closedOffers: Tombstones<OfferId>;
  readonly agents: Map<string, Agent>;
  readonly talks: Map<string, Talk>;
  readonly devices: Map<string, LiveDevice>;
  readonly extensions: Map<string, Extension>;
  /** State of the trunks as the engine reports it, by endpoint. */
  readonly trunkFacts: Map<string, EngineTrunk>;
  /** By name. */
  readonly trunks: Map<string, LiveTrunk>;
  /** Newest event of each trunk in the journal, by name. */
  readonly publishedTrunks: Map<string, TrunkChange>;
  /** Null until the engine reports them; replaced as a whole. */
  features: ReadonlyMap<string, ExtensionFeatures> | null;
  /** People signed in at shared phones, by endpoint. */
  readonly signed: Map<string, SignedIn>;
  /** Sign-ins that the journal has open, by name of the phone. */
  readonly publishedSigned: Map<string, EventData<'phone.signed_in'>>;
  /** Switched time conditions by name, as the engine and as the journal has them. */
  readonly switched: Map<string, 'open' | 'closed'>;
  readonly publishedSwitches: Map<string, 'open' | 'closed'>;
  presence_version: number;
  /** Extension of each version, `version % length`. */
  readonly presenceRing: string[];
  /** Members and presence in the journal, for comparison only. */
  readonly publishedMembers: Map<string, PublishedMember>;
  readonly publishedPresence: Map<string, PublishedPresence>;
  /** Extensions with an app that a push wakes, as the service reports them. */
  wakeable: ReadonlySet<string>;
  /** Status that persons set, by extension; null until the service reports it. */
  said: Map<string, Said> | null;
  /** By leg. */
  readonly publishedVisits: Map<string, PublishedVisit>;
  /** Operations whose events may still come, oldest first. */
  readonly operations: Map<string, OpenOperation>;
  /** Operations with an expected event that has not come yet, oldest first. */
  readonly expecting: Map<string, OpenOperation>;
}

const noSite = (): SiteIndex => ({
  names: new Map(),
  endpoints: new Map(),
  devices: new Map(),
  agents: new Set(),
  queues: new Map(),
  longest: new Map(),
  services: new Set(),
  trunks: new Map(),
  shared: new Map(),
});

export const emptyState = (): State => ({
  live: false,
  first: null,
  links: new Map(),
  synced: false,
  as_of: 0,
  site: noSite(),
  channels: new Map(),
  pairs: new Map(),
  bridges: new Map(),
  legsOf: new Map(),
  gone: new Tombstones(),
  calls: new Map(),
  callViews: new Map(),
  callList: null,
  aliases: new Map(),
  publishedLegs: new Map(),
  publishedLegTimes: new Map(),
  leaving: new Map(),
  peers: new Map(),
  ended: new Tombstones(),
  parked: new Map(),
  queues: new Map(),
  queueList: null,
  visits: new Map(),
  offers: new Map(),
  offersOf: new Map(),
  closedOffers: new Tombstones(),
  agents: new Map(),
  talks: new Map(),
  devices: new Map(),
  extensions: new Map(),
  trunkFacts: new Map(),
  trunks: new Map(),
  publishedTrunks: new Map(),
  features: null,
  signed: new Map(),
  publishedSigned: new Map(),
  switched: new Map(),
  publishedSwitches: new Map(),
  presence_version: 0,
  presenceRing: [],
  publishedMembers: new Map(),
  publishedPresence: new Map(),
  wakeable: new Set(),
  said: null,
  publishedVisits: new Map(),
  operations: new Map(),
  expecting: new Map(),
});

/** One step: time of the fact, how it was observed, and its events. */
export interface Turn {
  readonly at: number;
  readonly observed: 'live' | 'resync';
  readonly out: DomainEvent[];
  readonly agents: Touched;
}
export function emit<T extends EventType>(t: Turn, type: T, subject: string, data: EventData<T>): void {
  t.out.push({ type, subject, at: t.at, observed: t.observed, data } as DomainEvent);
}

/** Adds to a set in a map of sets. */
export function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set === undefined) map.set(key, new Set([value]));
  else set.add(value);
}
/** Removes from a set in a map of sets, and the set itself when it is empty. */
export function takeFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set === undefined || !set.has(value)) return;
  // Dropping the set avoids the shrinking that deleting its last value costs.
  if (set.size === 1) map.delete(key);
  else set.delete(value);
}
/** Whole seconds between two moments, never negative. */
export const secondsBetween = (from: number, to: number): number =>
  Math.max(0, Math.floor((to - from) / 1000));
/** Waiting time in the fields of a visit's end event. */
export const waitedBetween = (from: number, to: number) => ({
  waited_seconds: secondsBetween(from, to),
  waited_ms: Math.max(0, Math.floor(to - from)),
});
