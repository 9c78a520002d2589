import type { AgentSummary, PendingState, ReadinessSource } from '@offhook/contract/agents.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { CallDirection, Placed } from '@offhook/contract/directions.ts';
import type { DomainEvent, EventData, EventType } from '@offhook/contract/events.ts';
import type { BridgeId, CallId, ChannelId, OfferId } from '@offhook/contract/ids.ts';
import type { EndpointKind } from '../ports/directory.ts';
import type { EngineChannel, ExtensionFeatures, Party, QueueMember } from '../ports/engine.ts';
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
  SiteEvent,
  Said,
} from '../ports/live.ts';
import type { ToldLeg, ToldMember, ToldPresence, ToldVisit } from './facts.ts';
import { Tombstones } from '../core/tombstones.ts';
import type { Touched } from './touched.ts';

/** A channel as the engine describes it, with what the events after it said. */
export interface Channel extends Omit<EngineChannel, 'call'> {
  /** The call it belongs to after all merges; null for a helper. */
  readonly call: CallId | null;
  readonly extension: string | null;
  readonly bridge: BridgeId | null;
  /** True while its bridge is one that only holds it (parking, music). */
  readonly holding: boolean;
  /** By the device itself. */
  readonly held: boolean;
  /** By an operation of ours. */
  readonly held_here: boolean;
  /** How many are written at once: each begins and ends by itself. */
  readonly recordings: number;
  readonly recording_paused: boolean;
  readonly digits: LiveLeg['digits'];
  readonly listens_to: ChannelId | null;
  readonly listenings: number;
  /** True once it met another leg. */
  readonly met: boolean;
  readonly slot: string | null;
  /** The queue it waits in. */
  readonly queued: string | null;
  /** True once somebody hangs it up. */
  readonly ending: boolean;
  readonly rang: boolean;
  readonly leg: LiveLeg['state'];
  readonly leg_since: number;
  readonly leg_answered_at: number | null;
}

export interface Call {
  readonly id: CallId;
  /** True once its first leg appeared and `call.started` left. */
  readonly started: boolean;
  readonly started_at: number;
  readonly answered_at: number | null;
  /** Legs and halves of internal pairs, oldest first. */
  readonly channels: readonly ChannelId[];
  readonly first_leg: ChannelId | null;
  /** What the first leg dialled. */
  readonly dialled: string;
  readonly placed?: Placed;
  /** Null until the first leg. */
  readonly direction: CallDirection | null;
  /** Extensions that have or had a leg in it, sorted. */
  readonly extensions: readonly string[];
  /** Other ids under which the engine still speaks of this call. */
  readonly aliases: readonly CallId[];
  /** Of the first leg where that is gone, else of the newest leg that is. */
  readonly cause: { readonly code: number | null; readonly text: string; readonly of: ChannelId } | null;
  /** How the customer of an outgoing call took it, by those of its legs that are gone; null while none is. */
  readonly customer: LegDisposition | null;
  /** How the newest ring for its caller in a queue stands or ended; null where no queue has rung anybody for it. */
  readonly ring: 'rings' | 'answered' | 'timeout' | 'gave_up' | null;
  /** The newest transfer, so that a frame that comes twice is told once. */
  readonly transfer: string;
}

/** A caller who waits. */
export interface Visit {
  readonly queue: string;
  readonly channel: ChannelId;
  readonly leg: string;
  readonly caller: Party;
  readonly joined_at: number;
  /** Since when the engine counts its wait: from its newest place on. */
  readonly entered_at: number;
  readonly priority: number | null;
  /** True once a member answered: it leaves for that. */
  readonly answered: boolean;
  /** Why a supervisor takes it out; null while nobody does. */
  readonly taken: CallerTaken['why'];
  /** It left for another place in this queue and is not back yet. */
  readonly away: boolean;
  /** How often it was given another place. */
  readonly moves: number;
}
export interface Queue {
  readonly name: string;
  strategy: string;
  readonly members: Map<string, QueueMember>;
  /** In order of position. */
  readonly callers: Visit[];
  readonly offers: Set<OfferId>;
  /** What readers are given, until the queue changes. */
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
}
/** An agent's part in a queue call, from connect to release. */
export interface Talk {
  readonly queue: string;
  readonly interface: string;
  readonly caller: ChannelId | null;
  readonly agent: ChannelId | null;
  readonly call: CallId;
  readonly since: number;
  /** True once the engine itself counted the member as in this call. */
  readonly counted: boolean;
  /** How the call was passed on: by the agent, joined with another by somebody else, or not known yet; null while it was not. */
  readonly transfer: 'own' | 'joined' | 'unknown' | null;
}
/** The time after a queue call; ours, not the engine's. */
export interface WrapUp {
  readonly queue: string;
  readonly call: CallId;
  readonly since: number;
  readonly deadline: number;
  readonly talk_seconds: number;
  /** True once `agent.wrap_up` left, which says it only once. */
  readonly told: boolean;
  /** True once the engine showed that it holds the agent back for it. */
  readonly held: boolean;
}
/** What an agent is in the middle of, with what belongs to it. */
export type Doing = Pick<AgentSummary, 'engagement' | 'queue' | 'call_id' | 'offer_id' | 'direction'> & {
  readonly deadline: number | null;
};
/** What the rows of one agent say together. */
export interface Pauses {
  /** The pause that is shown; null while nothing but a wrap-up holds it back anywhere. */
  readonly shown: QueueMember | null;
  /** The pause somebody chose: neither a login nor a logout is one. */
  readonly chosen: QueueMember | null;
  readonly leaves: boolean;
  /** For its wrap-up, in some queue. */
  readonly heldBack: boolean;
  readonly openSomewhere: boolean;
}
export interface Agent {
  readonly extension: string;
  /** Its row in each queue, the very object that the queue has. */
  readonly members: QueueMember[];
  /** Null once a row was paused, unpaused, added or removed, until they are looked at again. */
  pauses: Pauses | null;
  /** Why it is paused somewhere, as the directory shows it; empty while it is nowhere. */
  shown: string;
  /** As it counts: while a call goes on, what was before it. An empty reason is ready. */
  readiness: { readonly reason: string; readonly since: number; readonly source: ReadinessSource | null };
  /** What its rows say and what counts only after the call. */
  pending: {
    readonly to: PendingState;
    readonly reason: string | null;
    readonly source: ReadinessSource | null;
  } | null;
  wrap: WrapUp | null;
  /** The call it was released from while its leg is still there. */
  released: CallId | null;
  /** The queue call it was told to be in by the journal, until a snapshot says what became of it. */
  resumed: Pick<Talk, 'queue' | 'call' | 'since' | 'transfer'> | null;
  /** No device could be reached for longer than the grace. */
  away: boolean;
  /** `held` once the engine holds it back for that. */
  not_responding: 'no' | 'told' | 'held';
  /** Offers in a row that led to `not_responding`. */
  missed: number;
  /** By queue: whose the next change is. */
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
  /** The journal's newest word on it; null before the first. */
  told: AgentSummary | null;
  view: LiveAgent | null;
}
/** A change of one agent in one queue that this step leads to. */
export type AgentNote =
  | { readonly type: 'agent.logged_in' | 'agent.logged_out' | 'agent.ready'; readonly queue: string }
  | {
      readonly type: 'agent.not_ready';
      readonly queue: string;
      readonly reason: string;
      readonly since: string;
    };

export interface OpenOperation {
  readonly until: number;
  /** What is still to come, and how often. */
  readonly left: { readonly event: ExpectedEvent; times: number }[];
  readonly led: Set<EventType>;
}

export interface SiteIndex {
  readonly names: ReadonlyMap<string, string>;
  readonly endpoints: ReadonlyMap<string, { readonly extension: string; readonly kind: EndpointKind }>;
  /** Endpoint names of each kind, by extension. */
  readonly devices: ReadonlyMap<string, readonly { readonly kind: EndpointKind; readonly name: string }[]>;
  readonly agents: ReadonlySet<string>;
  readonly queues: ReadonlyMap<string, Omit<SiteEvent['queues'][number], 'name' | 'agents'>>;
  /** Longest time in seconds, by pause reason. */
  readonly longest: ReadonlyMap<string, number>;
  readonly services: ReadonlySet<string>;
}

/** Everything the model knows. Entities are frozen or readonly and replaced one at a time. */
export interface State {
  live: boolean;
  link: 'unknown' | 'up' | 'down';
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
  /** Legs that an event of a call has named, until one says that they left or the call's end. */
  readonly toldLegs: Map<ChannelId, ToldLeg>;
  /** Why a leg is about to leave, where a fact before its end says so. */
  readonly leaving: Map<ChannelId, { readonly how?: 'transferred'; readonly dial?: string }>;
  /** The leg that each leg talks to, or talked to last; its extension outlives its channel, whose end may come before a parking event. */
  readonly peers: Map<ChannelId, { readonly id: ChannelId; readonly extension: string | null }>;
  readonly ended: Tombstones<CallId>;
  /** By slot, as the journal says. */
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
  readonly extensions: Map<string, LiveExtension>;
  /** Null until the engine has told; replaced as a whole. */
  features: ReadonlyMap<string, ExtensionFeatures> | null;
  presence_version: number;
  /** Extension of each version, `version % length`. */
  readonly presenceRing: string[];
  /** What the journal says of members and presence; compared with, never shown. */
  readonly toldMembers: Map<string, ToldMember>;
  readonly toldPresence: Map<string, ToldPresence>;
  /** What people say of themselves, by extension; null until the house has told. */
  said: Map<string, Said> | null;
  /** By leg. */
  readonly toldVisits: Map<string, ToldVisit>;
  /** Operations whose doing is still to be seen, oldest first. */
  readonly operations: Map<string, OpenOperation>;
}

export const NO_SITE: SiteIndex = {
  names: new Map(),
  endpoints: new Map(),
  devices: new Map(),
  agents: new Set(),
  queues: new Map(),
  longest: new Map(),
  services: new Set(),
};

export const emptyState = (): State => ({
  live: false,
  link: 'unknown',
  synced: false,
  as_of: 0,
  site: NO_SITE,
  channels: new Map(),
  pairs: new Map(),
  bridges: new Map(),
  legsOf: new Map(),
  gone: new Tombstones(),
  calls: new Map(),
  callViews: new Map(),
  callList: null,
  aliases: new Map(),
  toldLegs: new Map(),
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
  features: null,
  presence_version: 0,
  presenceRing: [],
  toldMembers: new Map(),
  toldPresence: new Map(),
  said: null,
  toldVisits: new Map(),
  operations: new Map(),
});

/** One step: when the fact happened, how it is known, and the events it leads to. */
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
/** Takes out of a set in a map of sets, and the set out of the map when it is empty. */
export function takeFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set === undefined || !set.has(value)) return;
  // A set whose last one is deleted is made smaller first, for nothing.
  if (set.size === 1) map.delete(key);
  else set.delete(value);
}
/** Whole seconds between two moments, never negative. */
export const secondsBetween = (from: number, to: number): number =>
  Math.max(0, Math.floor((to - from) / 1000));
/** How long a caller waited, as the end of its visit says it. */
export const waitedBetween = (from: number, to: number) => ({
  waited_seconds: secondsBetween(from, to),
  waited_ms: Math.max(0, Math.floor(to - from)),
});
