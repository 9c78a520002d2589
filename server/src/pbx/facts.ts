import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { CallDirection } from '@offhook/contract/directions.ts';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import type { LegTimes } from './leg-times.ts';
import { dispositionOfReason, weightiest } from '@offhook/contract/ring-ends.ts';

/**
 * Everything open in the journal, reduced from its committed events: enough for the next snapshot to yield
 * only differences.
 */
export interface PublishedCall {
  started_at: number;
  answered_at: number | null;
  direction: CallDirection;
  extensions: readonly string[];
  /** As `LiveCall.numbers`. */
  numbers: readonly string[];
  aliases: string[];
  /** How the customer of an outgoing call answered, by the events so far. */
  customer: LegDisposition | null;
  /** The customer from the phonebook. */
  known: CallCustomer | null;
  /** Extension that picked up its newest ring; absent if none did. */
  picked_up_by?: string;
  /** Legs that an event named and none has reported as left, by id. */
  legs: Map<string, PublishedLeg['leg']>;
}
export type PublishedLeg = Pick<EventData<'call.left'>, 'call_id' | 'leg'>;
export interface PublishedVisit {
  queue: string;
  leg: string;
  call: string;
  caller: { number: string; name: string };
  position: number;
  joined_at: number;
}
export interface PublishedOffer {
  queue: string;
  call: string;
  extension: string | null;
  member: string;
  created_at: number;
}
export interface PublishedMember {
  queue: string;
  extension: string;
  paused: boolean;
  reason: string;
  since: number;
}
export interface PublishedAgent {
  readonly summary: AgentSummary;
  /** Start of its queue call; null outside one. */
  readonly talking_since: number | null;
  /** True when another party joined that call with another one and the agent is still in it. */
  readonly joined?: boolean;
  /** True if it picked up the ring of that call at another agent. */
  readonly picked_up?: boolean;
}
export type PublishedPresence = EventData<'presence.changed'>;
export type PublishedSlot = EventData<'parking.slot_occupied'>;
export type PublishedQueue = EventData<'queue.changed'>;
export interface OpenFacts {
  readonly calls: Map<string, PublishedCall>;
  /** Ended calls, the newest last: an ended id must never start again. */
  readonly ended: Set<string>;
  /** By leg. */
  readonly visits: Map<string, PublishedVisit>;
  readonly offers: Map<string, PublishedOffer>;
  /** By `memberKey`. */
  readonly members: Map<string, PublishedMember>;
  /** By extension. */
  readonly agents: Map<string, PublishedAgent>;
  readonly presence: Map<string, PublishedPresence>;
  /** Newest event of each trunk, by name. */
  readonly trunks: Map<string, EventData<'trunk.up'>>;
  /** People signed in at shared phones, by name of the phone. */
  readonly signed: Map<string, EventData<'phone.signed_in'>>;
  /** Switched time conditions, by name. */
  readonly switches: Map<string, 'open' | 'closed'>;
  /** Settings of each queue, by name; null if an earlier version wrote the checkpoint. */
  queues: Map<string, PublishedQueue> | null;
  /** Occupied slots, by leg: two engines may have slots with the same number. */
  readonly parked: Map<string, PublishedSlot>;
  /** Times of legs by a checkpoint and, in a restore, the events after it; by leg. */
  readonly legTimes: Map<string, LegTimes>;
}
export const memberKey = (queue: string, extension: string): string => `${queue}\n${extension}`;

/** Reference to a call; events of the first release carry only its id. */
/** Numbers of a call and further ones, each once: a call that phones transfer to and fro keeps few. */
export const withNumbers = (numbers: readonly string[], more: readonly string[]): readonly string[] => [
  ...new Set([...numbers, ...more]),
];
type OfCall = Pick<EventData<'call.started'>, 'call_id'> &
  Partial<Pick<EventData<'call.started'>, 'direction' | 'extensions'>>;
/** Defaults for what events and checkpoints of earlier versions lack. */
const NO_ONE: Pick<PublishedCall, 'direction' | 'extensions' | 'numbers' | 'customer' | 'known'> = {
  direction: 'internal',
  extensions: [],
  numbers: [],
  customer: null,
  known: null,
};
/** More than the ended calls that the engine may still report. */
const MAX_ENDED = 1000;

export const noFacts = (): OpenFacts => ({
  calls: new Map(),
  ended: new Set(),
  visits: new Map(),
  offers: new Map(),
  members: new Map(),
  agents: new Map(),
  presence: new Map(),
  trunks: new Map(),
  signed: new Map(),
  switches: new Map(),
  queues: new Map(),
  parked: new Map(),
  legTimes: new Map(),
});

/** Applies one committed event; O(1). */
export function reduceFacts(facts: OpenFacts, event: DomainEvent): void {
  const { visits, offers, members, presence, parked, signed, trunks } = facts;
  // The type is checked first: looking for one property in the data of every kind of event is slow.
  if (event.type.startsWith('agent.')) {
    const { agent } = event.data as { readonly agent?: AgentSummary };
    if (agent !== undefined) reduceAgent(facts, event.type, event.at, agent);
  }
  switch (event.type) {
    case 'call.started':
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
    case 'call.left':
      return reduceCall(facts, event);
    case 'call.customer': {
      const call = facts.calls.get(event.data.call_id);
      if (call !== undefined) call.known = event.data.customer;
      return;
    }
    case 'call.ended':
      return endCall(facts, event.data);
    case 'queue.caller_joined': {
      const { queue, leg_id: leg, call_id: call, caller, position, joined_at } = event.data;
      visits.set(leg, { queue, leg, call, caller, position, joined_at: Date.parse(joined_at) });
      return;
    }
    case 'queue.caller_changed': {
      const { leg_id, call_id: call, caller, position } = event.data;
      const visit = visits.get(leg_id);
      if (visit !== undefined) visits.set(leg_id, { ...visit, call, caller, position });
      return;
    }
    case 'queue.caller_left':
    case 'queue.caller_abandoned':
      visits.delete(event.data.leg_id);
      return;
    case 'queue.changed':
      facts.queues?.set(event.data.queue, event.data);
      return;
    case 'queue.removed':
      facts.queues?.delete(event.data.queue);
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
      const paused = event.type === 'agent.not_ready';
      const reason = paused ? event.data.reason : '';
      const since = paused ? Date.parse(event.data.since) : event.at;
      members.set(memberKey(queue, extension), { queue, extension, paused, reason, since });
      return;
    }
    case 'agent.logged_out':
      members.delete(memberKey(event.data.queue, event.data.extension));
      return;
    case 'parking.slot_occupied':
      parked.set(event.data.leg_id, event.data);
      return;
    case 'parking.slot_freed':
      parked.delete(event.data.leg_id);
      return;
    case 'trunk.up':
    case 'trunk.down':
      trunks.set(event.data.trunk, event.data);
      return;
    case 'phone.signed_in':
      signed.set(event.data.phone, event.data);
      return;
    case 'night_switch.changed': {
      const { name, to } = event.data;
      if (to === null) facts.switches.delete(name);
      else facts.switches.set(name, to);
      return;
    }
    case 'phone.signed_out':
      signed.delete(event.data.phone);
      return;
    case 'presence.changed':
      presence.set(event.data.extension, event.data);
      return;
    case 'presence.removed':
      presence.delete(event.data.extension);
      return;
    case 'agent.removed':
      facts.agents.delete(event.data.extension);
      return;
    default:
      return;
  }
}

/** An event of an ongoing call: it carries the call's direction and extensions, and mostly a leg. */
type CallEvent = Extract<
  DomainEvent,
  { readonly data: { readonly leg: PublishedLeg['leg'] } } | { readonly type: 'call.transferred' }
>;
function reduceCall(facts: OpenFacts, event: CallEvent): void {
  const { calls } = facts;
  const data: OfCall = event.data;
  const { direction = NO_ONE.direction, extensions = NO_ONE.extensions } = data;
  if (event.type === 'call.started') {
    const { leg, dialled } = event.data;
    const legs = new Map([[leg.leg_id, leg]]);
    const fresh = { started_at: event.at, answered_at: null, aliases: [], customer: null, known: null };
    calls.set(data.call_id, { ...fresh, direction, extensions, numbers: [dialled], legs });
    return;
  }
  const call = calls.get(data.call_id);
  if (call === undefined) return;
  call.direction = direction;
  call.extensions = extensions;
  if (event.type === 'call.answered') call.answered_at ??= event.at;
  const customer = customerIn(event);
  if (customer !== null) call.customer = weightiest([call.customer, customer]);
  if (event.type === 'call.left') call.legs.delete(event.data.leg.leg_id);
  else if (event.type === 'call.transferred') {
    if (event.data.kind === 'pickup' && event.data.by !== null) call.picked_up_by = event.data.by;
    call.numbers = withNumbers(call.numbers, [event.data.to]);
    noteJoined(facts, call, event.data);
  } else call.legs.set(event.data.leg.leg_id, event.data.leg);
}
function endCall(
  { calls, ended }: OpenFacts,
  { call_id, merged_into, into: joined }: EventData<'call.ended'>,
): void {
  const call = calls.get(call_id);
  const into = merged_into === null ? undefined : calls.get(merged_into);
  if (call !== undefined && into !== undefined) {
    into.aliases.push(call_id, ...call.aliases);
    into.numbers = withNumbers(into.numbers, call.numbers);
    for (const [id, leg] of call.legs) into.legs.set(id, leg);
    into.started_at = Math.min(into.started_at, call.started_at);
    into.answered_at ??= call.answered_at;
    into.customer = weightiest([into.customer, call.customer]);
    into.known ??= call.known;
    into.direction = joined?.direction ?? into.direction;
    into.extensions = [...new Set([...into.extensions, ...call.extensions])].toSorted();
  }
  calls.delete(call_id);
  ended.add(call_id);
  if (ended.size <= MAX_ENDED) return;
  for (const oldest of ended) {
    ended.delete(oldest);
    break;
  }
}

/** Disposition of the customer of an outgoing call by this event; null if the event does not show it. */
function customerIn({ type, data }: DomainEvent): LegDisposition | null {
  if (type !== 'call.answered' && type !== 'call.joined' && type !== 'call.left') return null;
  if (data.direction !== 'out' || data.leg.extension !== null) return null;
  return type === 'call.left' ? dispositionOfReason(data.reason) : 'answered';
}
/** Every agent event carries the whole agent. */
function reduceAgent(facts: OpenFacts, type: string, at: number, summary: AgentSummary): void {
  const { extension, engagement } = summary;
  const before = facts.agents.get(extension);
  const talks = engagement === 'talking' || engagement === 'held';
  const began = type === 'agent.talking';
  const talking_since = began ? at : talks ? (before?.talking_since ?? at) : null;
  const joined = talks && !began && before?.joined === true;
  const picker = facts.calls.get(summary.call_id ?? '')?.picked_up_by;
  const picked_up = talks && (began ? picker === extension : before?.picked_up === true);
  facts.agents.set(extension, {
    summary,
    talking_since,
    ...(joined ? { joined } : {}),
    ...(picked_up ? { picked_up } : {}),
  });
}
/** Same rule as `callPassedOn` of the model. */
function noteJoined(facts: OpenFacts, call: PublishedCall, data: EventData<'call.transferred'>): void {
  if (data.kind !== 'attended' || data.by === null) return;
  for (const [extension, agent] of facts.agents) {
    const { call_id } = agent.summary;
    const here = call_id !== null && (call_id === data.call_id || call.aliases.includes(call_id));
    if (here && agent.talking_since !== null && extension !== data.by)
      facts.agents.set(extension, { ...agent, joined: true });
  }
}

/** Entries in one piece of text, about 100 kB. */
const WRITTEN_AT_ONCE = 200;
/**
 * Text of the journal's checkpoint, in pieces that are built as they are read, because the text of 5,000 agents takes
 * 40 ms. The pieces hold the facts at the time of the call, also if facts change before the last piece is read. `keep`:
 * whether an extension or trunk still exists.
 */
export function writeFacts(
  facts: OpenFacts,
  keep: Readonly<Record<'extension' | 'trunk', (key: string) => boolean>>,
): Iterable<string> {
  // Copies of the lists: an event replaces an entry and changes none, except those of calls.
  return pieces({
    calls: [...facts.calls].map(([id, { aliases, legs, ...call }]) => [
      id,
      { ...call, aliases: [...aliases], legs: [...legs.values()] },
    ]),
    ended: [...facts.ended],
    visits: [...facts.visits],
    offers: [...facts.offers],
    members: [...facts.members],
    agents: [...facts.agents].filter(([extension]) => keep.extension(extension)),
    presence: [...facts.presence].filter(([extension]) => keep.extension(extension)),
    trunks: [...facts.trunks].filter(([name]) => keep.trunk(name)),
    parked: [...facts.parked],
    legTimes: [...facts.legTimes],
    signed: [...facts.signed],
    switches: [...facts.switches],
    ...(facts.queues === null ? {} : { queues: [...facts.queues] }),
  });
}
function* pieces(lists: Readonly<Record<string, readonly unknown[]>>): Generator<string> {
  let text = '{"version":1';
  for (const [name, list] of Object.entries(lists)) {
    text += `,"${name}":[`;
    for (let at = 0; at < list.length; at += WRITTEN_AT_ONCE) {
      text += `${at === 0 ? '' : ','}${JSON.stringify(list.slice(at, at + WRITTEN_AT_ONCE)).slice(1, -1)}`;
      if (at + WRITTEN_AT_ONCE >= list.length) break;
      yield text;
      text = '';
    }
    text += ']';
  }
  yield `${text}}`;
}
/** A call of the first release has neither extensions nor legs. */
function readCall(
  call: Omit<PublishedCall, 'legs'> & { readonly legs?: PublishedLeg['leg'][] },
): PublishedCall {
  return { ...NO_ONE, ...call, legs: new Map(call.legs?.map((leg) => [leg.leg_id, leg])) };
}
/** Reads a text of `writeFacts`; a text of an unknown version gives empty facts. */
export function readFacts(text: string | null): OpenFacts {
  if (text === null) return noFacts();
  const read = JSON.parse(text) as { version?: unknown; ended: string[]; queues?: [string, never][] } & {
    [K in Exclude<keyof OpenFacts, 'ended' | 'queues'>]: [string, never][];
  };
  if (read.version !== 1) return noFacts();
  return {
    calls: new Map(read.calls.map(([id, call]) => [id, readCall(call)])),
    ended: new Set(read.ended),
    visits: new Map(read.visits),
    offers: new Map(read.offers),
    members: new Map(read.members),
    // Missing in a checkpoint of the first release.
    agents: new Map(read.agents ?? []),
    presence: new Map(read.presence),
    // Missing in a checkpoint of an earlier version.
    parked: new Map((read.parked ?? []).map(([, slot]: [string, PublishedSlot]) => [slot.leg_id, slot])),
    legTimes: new Map(read.legTimes ?? []),
    trunks: new Map(read.trunks ?? []),
    signed: new Map(read.signed ?? []),
    switches: new Map(read.switches ?? []),
    queues: read.queues === undefined ? null : new Map(read.queues),
  };
}
