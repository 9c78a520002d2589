import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { CallDirection } from '@offhook/contract/directions.ts';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { dispositionOfReason, weightiest } from '@offhook/contract/ring-ends.ts';

/** What the journal has told and not yet closed: small, and enough for the next snapshot to yield differences only. */
export interface ToldCall {
  started_at: number;
  answered_at: number | null;
  direction: CallDirection;
  extensions: readonly string[];
  aliases: string[];
  /** How its customer took it, as far as events tell. */
  customer: LegDisposition | null;
  /** Those an event has named and none said to have left, by id. */
  legs: Map<string, ToldLeg['leg']>;
}
export type ToldLeg = Pick<EventData<'call.left'>, 'call_id' | 'leg'>;
export interface ToldVisit {
  queue: string;
  leg: string;
  call: string;
  caller: { number: string; name: string };
  position: number;
  joined_at: number;
}
export interface ToldOffer {
  queue: string;
  call: string;
  extension: string | null;
  member: string;
  created_at: number;
}
export interface ToldMember {
  queue: string;
  extension: string;
  paused: boolean;
  reason: string;
  since: number;
}
export interface ToldAgent {
  readonly summary: AgentSummary;
  /** When its queue call began; null outside one. */
  readonly talking_since: number | null;
  /** Somebody else joined that call with another one, and the agent talks on. */
  readonly joined?: boolean;
}
export type ToldPresence = EventData<'presence.changed'>;
export type ToldSlot = EventData<'parking.slot_occupied'>;
export interface OpenFacts {
  readonly calls: Map<string, ToldCall>;
  /** Calls that ended, the newest last: an id must never be told to start again. */
  readonly ended: Set<string>;
  /** By leg. */
  readonly visits: Map<string, ToldVisit>;
  readonly offers: Map<string, ToldOffer>;
  /** By `memberKey`. */
  readonly members: Map<string, ToldMember>;
  /** By extension. */
  readonly agents: Map<string, ToldAgent>;
  readonly presence: Map<string, ToldPresence>;
  /** Occupied slots. */
  readonly parked: Map<string, ToldSlot>;
}
export const memberKey = (queue: string, extension: string): string => `${queue}\n${extension}`;

/** What events say of their call; those of the first release only which. */
type OfCall = Pick<EventData<'call.started'>, 'call_id'> &
  Partial<Pick<EventData<'call.started'>, 'direction' | 'extensions'>>;
/** What the events and checkpoints of the first release do not say of a call. */
const NO_ONE: Pick<ToldCall, 'direction' | 'extensions' | 'customer'> = {
  direction: 'internal',
  extensions: [],
  customer: null,
};
/** As many as could still be on the engine's tongue. */
const MAX_ENDED = 1000;

export const noFacts = (): OpenFacts => ({
  calls: new Map(),
  ended: new Set(),
  visits: new Map(),
  offers: new Map(),
  members: new Map(),
  agents: new Map(),
  presence: new Map(),
  parked: new Map(),
});

/** Takes one committed event in; O(1). */
export function reduceFacts(facts: OpenFacts, event: DomainEvent): void {
  const { calls, visits, offers, members, presence } = facts;
  // Asked of the type first: a look for one name in the data of every kind of event is slow.
  if (event.type.startsWith('agent.')) {
    const { agent } = event.data as { readonly agent?: AgentSummary };
    if (agent !== undefined) reduceAgent(facts, event.type, event.at, agent);
  }
  switch (event.type) {
    case 'call.started': {
      const said: OfCall = event.data;
      const { direction = NO_ONE.direction, extensions = NO_ONE.extensions } = said;
      const { leg } = event.data;
      calls.set(said.call_id, {
        started_at: event.at,
        answered_at: null,
        aliases: [],
        customer: null,
        direction,
        extensions,
        legs: new Map([[leg.leg_id, leg]]),
      });
      return;
    }
    case 'call.ringing':
    case 'call.answered':
    case 'call.joined':
    case 'call.party_changed':
    case 'call.held':
    case 'call.retrieved':
    case 'call.recording_started':
    case 'call.recording_stopped':
    case 'call.recording_paused':
    case 'call.recording_resumed':
    case 'call.transferred':
    case 'call.parked':
    case 'call.left': {
      const said: OfCall = event.data;
      const { direction = NO_ONE.direction, extensions = NO_ONE.extensions } = said;
      const call = calls.get(said.call_id);
      if (call === undefined) return;
      call.direction = direction;
      call.extensions = extensions;
      if (event.type === 'call.answered') call.answered_at ??= event.at;
      const customer = customerIn(event);
      if (customer !== null) call.customer = weightiest([call.customer, customer]);
      if (event.type === 'call.left') call.legs.delete(event.data.leg.leg_id);
      else if (event.type === 'call.transferred') noteJoined(facts, call, event.data);
      else call.legs.set(event.data.leg.leg_id, event.data.leg);
      return;
    }
    case 'call.ended': {
      const { call_id, merged_into } = event.data;
      const call = calls.get(call_id);
      const into = merged_into === null ? undefined : calls.get(merged_into);
      if (call !== undefined && into !== undefined) {
        into.aliases.push(call_id, ...call.aliases);
        for (const [id, leg] of call.legs) into.legs.set(id, leg);
        into.started_at = Math.min(into.started_at, call.started_at);
        into.answered_at ??= call.answered_at;
        into.customer = weightiest([into.customer, call.customer]);
        into.direction = event.data.into?.direction ?? into.direction;
        into.extensions = [...new Set([...into.extensions, ...call.extensions])].toSorted();
      }
      calls.delete(call_id);
      facts.ended.add(call_id);
      if (facts.ended.size > MAX_ENDED) {
        for (const oldest of facts.ended) {
          facts.ended.delete(oldest);
          break;
        }
      }
      return;
    }
    case 'queue.caller_joined': {
      const { queue, leg_id, call_id, caller, position, joined_at } = event.data;
      visits.set(leg_id, {
        queue,
        leg: leg_id,
        call: call_id,
        caller,
        position,
        joined_at: Date.parse(joined_at),
      });
      return;
    }
    case 'queue.caller_left':
    case 'queue.caller_abandoned':
      visits.delete(event.data.leg_id);
      return;
    case 'offer.created': {
      const { offer_id, queue, call_id, extension, member } = event.data;
      offers.set(offer_id, { queue, call: call_id, extension, member, created_at: event.at });
      return;
    }
    case 'offer.accepted':
    case 'offer.timeout':
    case 'offer.rejected':
    case 'offer.canceled':
      offers.delete(event.data.offer_id);
      return;
    case 'agent.logged_in':
    case 'agent.ready':
    case 'agent.not_ready': {
      const { queue, extension } = event.data;
      if (queue == null) return;
      members.set(memberKey(queue, extension), {
        queue,
        extension,
        paused: event.type === 'agent.not_ready',
        reason: event.type === 'agent.not_ready' ? event.data.reason : '',
        since: event.type === 'agent.not_ready' ? Date.parse(event.data.since) : event.at,
      });
      return;
    }
    case 'agent.logged_out':
      members.delete(memberKey(event.data.queue, event.data.extension));
      return;
    case 'parking.slot_occupied':
      facts.parked.set(event.data.slot, event.data);
      return;
    case 'parking.slot_freed':
      facts.parked.delete(event.data.slot);
      return;
    case 'presence.changed':
      presence.set(event.data.extension, event.data);
      return;
    default:
      return;
  }
}

/** What an event tells of how the customer of an outgoing call took it; null where nothing. */
function customerIn({ type, data }: DomainEvent): LegDisposition | null {
  if (type !== 'call.answered' && type !== 'call.joined' && type !== 'call.left') return null;
  if (data.direction !== 'out' || data.leg.extension !== null) return null;
  return type === 'call.left' ? dispositionOfReason(data.reason) : 'answered';
}
/** Every agent event says the whole agent. */
function reduceAgent(facts: OpenFacts, type: string, at: number, summary: AgentSummary): void {
  const { extension, engagement } = summary;
  const before = facts.agents.get(extension);
  const talks = engagement === 'talking' || engagement === 'held';
  const began = type === 'agent.talking';
  const talking_since = began ? at : talks ? (before?.talking_since ?? at) : null;
  const joined = talks && !began && before?.joined === true;
  facts.agents.set(extension, { summary, talking_since, ...(joined ? { joined } : {}) });
}
/** As `callPassedOn` in the model. */
function noteJoined(facts: OpenFacts, call: ToldCall, data: EventData<'call.transferred'>): void {
  if (data.kind !== 'attended' || data.by === null) return;
  for (const [extension, agent] of facts.agents) {
    const { call_id } = agent.summary;
    const here = call_id !== null && (call_id === data.call_id || call.aliases.includes(call_id));
    if (here && agent.talking_since !== null && extension !== data.by)
      facts.agents.set(extension, { ...agent, joined: true });
  }
}

/** As text for the journal's checkpoint. `keep` says which extensions still exist. */
export function writeFacts(facts: OpenFacts, keep: (extension: string) => boolean): string {
  return JSON.stringify({
    version: 1,
    calls: [...facts.calls].map(([id, call]) => [id, { ...call, legs: [...call.legs.values()] }]),
    ended: [...facts.ended],
    visits: [...facts.visits],
    offers: [...facts.offers],
    members: [...facts.members],
    agents: [...facts.agents].filter(([extension]) => keep(extension)),
    presence: [...facts.presence].filter(([extension]) => keep(extension)),
    parked: [...facts.parked],
  });
}
/** One of the first release names neither extensions nor legs. */
function readCall(call: Omit<ToldCall, 'legs'> & { readonly legs?: ToldLeg['leg'][] }): ToldCall {
  return { ...NO_ONE, ...call, legs: new Map(call.legs?.map((leg) => [leg.leg_id, leg])) };
}
/** From a text of `writeFacts`; one that this version does not read counts as nothing told. */
export function readFacts(text: string | null): OpenFacts {
  if (text === null) return noFacts();
  const read = JSON.parse(text) as { version?: unknown; ended: string[] } & {
    [K in Exclude<keyof OpenFacts, 'ended'>]: [string, never][];
  };
  if (read.version !== 1) return noFacts();
  return {
    calls: new Map(read.calls.map(([id, call]) => [id, readCall(call)])),
    ended: new Set(read.ended),
    visits: new Map(read.visits),
    offers: new Map(read.offers),
    members: new Map(read.members),
    // A checkpoint of the first release has none.
    agents: new Map(read.agents ?? []),
    presence: new Map(read.presence),
    // A checkpoint of an earlier version has none.
    parked: new Map(read.parked ?? []),
  };
}
