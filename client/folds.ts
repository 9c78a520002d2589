/**
 * Derives the state of a topic from its snapshot and later events. Pure: arguments are not changed, and equal events give equal
 * state.
 */
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { Call, Leg } from '@offhook/contract/calls.ts';
import type { SnapshotData } from '@offhook/contract/snapshots.ts';
import type { ParkedCall, SlotFreed } from '@offhook/contract/parking.ts';
import type { Presence } from '@offhook/contract/extensions.ts';
import type { Queue, QueueCaller } from '@offhook/contract/queues.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import type { EventType } from '@offhook/contract/events.ts';
import type { StreamEvent } from './events.ts';

export type PresenceState = Presence & { readonly extension: string };
/** Members of a queue belong to the topic `agents`; `stats` is null until the first `queue.stats`. */
export type QueueState = Omit<Queue, 'members'> & { readonly stats: QueueStats | null };
/**
 * A leg as events report it: a leg that calls or waits has no peer yet. `client.calls.get` also has its queue and the
 * start of each state.
 */
export interface LegState extends Pick<
  Leg,
  'leg_id' | 'extension' | 'endpoint' | 'number' | 'name' | 'held' | 'slot' | 'recording' | 'recording_paused'
> {
  readonly state: 'calling' | 'ringing' | 'connected' | 'held' | 'parked';
  /** Time of the leg's newest state. */
  readonly since: string;
  /** Time of the leg's first connection. */
  readonly answered_at: string | null;
}
/**
 * A call as known from its events. Where its first event is a ring (`calls/mine`), `started_at` is that time, `dialled` is
 * empty, and the caller's leg has no id until an event contains it.
 */
export type CallState = Pick<
  Call,
  'call_id' | 'direction' | 'dialled' | 'placed' | 'started_at' | 'answered_at' | 'extensions' | 'customer'
> & {
  /** Party of the first leg. */
  readonly caller: { readonly number: string; readonly name: string };
  /** Current legs, the first one first; a leg that is only being dialled appears with its `call.ringing`. */
  readonly legs: readonly LegState[];
};
/** Records of each topic's store, by key. */
export interface StoreRecords {
  readonly presence: PresenceState;
  readonly agents: AgentSummary;
  readonly queues: QueueState;
  readonly calls: CallState;
  /** By slot, or by `node:slot` where the same slot of another engine is occupied already. */
  readonly parking: ParkedCall;
}
export type StoreTopic = keyof StoreRecords;
type Records<T> = ReadonlyMap<string, T>;

/** A record's new state, or its removal. */
export interface Change<T> {
  readonly key: string;
  readonly value: T | undefined;
}
export interface Fold<T> {
  /** The records of a snapshot's `data`, by key. */
  read(data: unknown): Map<string, T>;
  /** Changes made by the event; none if it does not concern these records. */
  after(records: Records<T>, event: StreamEvent): readonly Change<T>[];
}

const NONE: readonly never[] = [];
const by = <T>(list: readonly T[], key: (item: T) => string): Map<string, T> =>
  new Map(list.map((item) => [key(item), item]));

export const presenceFold: Fold<PresenceState> = {
  read: (data) => by((data as SnapshotData<'presence'>).extensions, (one) => one.extension),
  after(_records, event) {
    if (event.type === 'presence.changed') return [{ key: event.data.extension, value: event.data }];
    return event.type === 'presence.removed' ? [{ key: event.data.extension, value: undefined }] : NONE;
  },
};

/** Agents without their queues, because an event reports only one of them; `client.agents.get` has all. */
export const agentsFold: Fold<AgentSummary> = {
  read: (data) =>
    by(
      (data as SnapshotData<'agents'>).agents.map(
        ({ queues: _queues, stale: _stale, ...agent }): AgentSummary => agent,
      ),
      (agent) => agent.extension,
    ),
  after(_records, event) {
    if (!event.type.startsWith('agent.') || !('agent' in event.data)) return NONE;
    const { agent } = event.data;
    return [{ key: agent.extension, value: event.type === 'agent.removed' ? undefined : agent }];
  },
};

const placed = (callers: readonly QueueCaller[]): QueueCaller[] =>
  callers.map((caller, i) => (caller.position === i + 1 ? caller : { ...caller, position: i + 1 }));
const EMPTY = {
  number: '',
  title: '',
  strategy: '',
  ring_seconds: 0,
  wrap_up_seconds: 0,
  max_wait_seconds: 0,
};

export const queuesFold: Fold<QueueState> = {
  read: (data) =>
    by(
      (data as SnapshotData<'queues'>).queues.map(({ members: _members, ...queue }): QueueState => queue),
      (queue) => queue.name,
    ),
  after(records, event) {
    if (!event.type.startsWith('queue.') && !event.type.startsWith('offer.')) return NONE;
    const name = (event.data as { queue: string }).queue;
    if (event.type === 'queue.removed') return [{ key: name, value: undefined }];
    const known = records.get(name);
    if (known === undefined && !BEGINS.has(event.type)) return NONE;
    const queue = known ?? { ...EMPTY, name, callers: [], offers: [], stats: null };
    const changed = queueAfter(queue, event);
    return changed === queue ? NONE : [{ key: name, value: changed }];
  },
};
/** Events that a created queue can have before its `queue.changed`; the others may follow the removal of their queue. */
const BEGINS: ReadonlySet<string> = new Set<EventType>([
  'queue.changed',
  'queue.caller_joined',
  'queue.stats',
]);
function queueAfter(queue: QueueState, event: StreamEvent): QueueState {
  const others = (leg: string): QueueCaller[] => queue.callers.filter(({ id }) => id !== leg);
  const insert = (caller: QueueCaller): QueueState => ({
    ...queue,
    callers: placed(others(caller.id).toSpliced(caller.position - 1, 0, caller)),
  });
  switch (event.type) {
    case 'queue.caller_joined': {
      const { leg_id: id, call_id, position, joined_at, caller, customer } = event.data;
      const joined = { id, call_id, position, priority: null, joined_at, caller };
      return insert({ ...joined, ...(customer === undefined ? {} : { customer }) });
    }
    case 'queue.caller_changed': {
      const { leg_id, call_id, caller, position, priority, customer } = event.data;
      const known = queue.callers.find(({ id }) => id === leg_id);
      if (known === undefined) return queue;
      const { customer: _before, ...stays } = known;
      const now = { ...stays, call_id, caller, position, priority };
      return insert({ ...now, ...(customer === undefined ? {} : { customer }) });
    }
    case 'queue.caller_left':
    case 'queue.caller_abandoned':
      return { ...queue, callers: placed(others(event.data.leg_id)) };
    case 'offer.created': {
      const { offer_id, extension, member, call_id } = event.data;
      const created = Date.parse(event.time);
      const offer = {
        offer_id,
        extension,
        member,
        call_id,
        caller_id: queue.callers.find((caller) => caller.call_id === call_id)?.id ?? '',
        created_at: event.time,
        deadline: new Date(created + queue.ring_seconds * 1000).toISOString(),
      };
      return { ...queue, offers: [...queue.offers.filter((o) => o.offer_id !== offer_id), offer] };
    }
    case 'offer.accepted':
    case 'offer.timeout':
    case 'offer.rejected':
    case 'offer.canceled':
      return { ...queue, offers: queue.offers.filter((o) => o.offer_id !== event.data.offer_id) };
    case 'queue.changed': {
      const { queue: _name, ...settings } = event.data;
      return { ...queue, ...settings };
    }
    case 'queue.stats':
      return { ...queue, stats: event.data };
    default:
      return queue;
  }
}

type LegWord = Pick<LegState, 'state' | 'held' | 'slot'>;
/** `talks` is false for a leg that has no peer yet. */
const legWord = (talks: boolean, held: boolean, slot: string | null): LegWord => ({
  state: slot !== null ? 'parked' : held ? 'held' : talks ? 'connected' : 'calling',
  held,
  slot,
});
function legRead(leg: Leg, answered: boolean): LegState {
  const { leg_id, extension, endpoint, number, name, held, slot } = leg;
  // Older services do not send these fields.
  const { since, recording = false, recording_paused = false, answered_at = null } = leg as Partial<Leg>;
  const shown = {
    leg_id,
    extension,
    endpoint,
    number,
    name,
    recording,
    recording_paused,
    answered_at,
    since: since ?? '',
  };
  if (leg.state === 'alerting') return { ...shown, held, slot, state: 'ringing' };
  if (leg.state === 'parked') return { ...shown, held, slot, state: 'parked' };
  return { ...shown, ...legWord(answered && leg.state !== 'initiated', held, slot) };
}
/** A calling leg talks once the call is answered, and a parked one once it is retrieved. */
const talking = (leg: LegState): LegState =>
  leg.state === 'calling' || leg.state === 'parked' ? { ...leg, ...legWord(true, leg.held, null) } : leg;

type LegNamed = Omit<
  LegState,
  'state' | 'held' | 'slot' | 'recording' | 'recording_paused' | 'since' | 'answered_at'
>;
/** Sets the times of the newest state and of the first connection of `legs`; `before` are the legs before the event. */
const timed = (legs: readonly LegState[], before: readonly LegState[], at: string): readonly LegState[] =>
  legs === before
    ? legs
    : legs.map((leg) => {
        const was = before.find(({ leg_id }) => leg_id === leg.leg_id);
        const since = was?.state === leg.state ? was.since : at;
        const talks = leg.state === 'connected' || leg.state === 'held';
        const answered_at = was?.answered_at ?? leg.answered_at ?? (talks ? at : null);
        return since === leg.since && answered_at === leg.answered_at ? leg : { ...leg, since, answered_at };
      });
const UNRECORDED = { recording: false, recording_paused: false } as const;
function legsAfter(call: CallState, event: StreamEvent): readonly LegState[] {
  if (!('leg' in event.data)) return call.legs;
  const named: LegNamed = event.data.leg;
  const { leg_id } = named;
  const current = call.legs.some((leg) => leg.leg_id === leg_id)
    ? call.legs
    : call.legs.map((leg) => (leg.leg_id === '' && leg.number === named.number ? { ...leg, leg_id } : leg));
  const others = current.filter((leg) => leg.leg_id !== leg_id);
  if (event.type === 'call.left') return others.length === current.length ? call.legs : others;
  const known = current.find((leg) => leg.leg_id === leg_id) ?? {
    state: 'calling' as const,
    held: false,
    slot: null,
    ...UNRECORDED,
    since: event.time,
    answered_at: null,
  };
  const { recording, recording_paused, since, answered_at } = known;
  const put = (word: LegWord & Partial<typeof known>): readonly LegState[] => {
    const next = { ...named, recording, recording_paused, since, answered_at, ...word };
    return others.length === current.length
      ? [...current, next]
      : current.map((leg) => (leg.leg_id === leg_id ? next : leg));
  };
  const { held, slot } = known;
  switch (event.type) {
    case 'call.ringing':
      return put({ state: 'ringing', held, slot });
    case 'call.answered':
    case 'call.joined':
      // The first leg also rang if the service placed the call for a person.
      return put(legWord(true, held, null)).map((leg, i) =>
        i === 0 && leg.state === 'ringing' ? { ...leg, ...legWord(true, leg.held, null) } : talking(leg),
      );
    case 'call.held':
    case 'call.retrieved':
      return put(legWord(call.answered_at !== null, event.type === 'call.held', slot));
    case 'call.parked':
      return put(legWord(true, held, event.data.slot));
    case 'call.recording_started':
      return put({ ...known, recording: true });
    case 'call.recording_stopped':
      return put({ ...known, ...UNRECORDED });
    case 'call.recording_paused':
    case 'call.recording_resumed':
      return put({ ...known, recording: true, recording_paused: event.type === 'call.recording_paused' });
    default:
      return put(known);
  }
}

/** A leg that was never connected. */
const unmet = (since: string) => ({
  ...UNRECORDED,
  ...legWord(false, false, null),
  since,
  answered_at: null,
});

/** A call whose start this client may not receive: it becomes visible when it rings here. */
function rung(event: StreamEvent): CallState | undefined {
  if (event.type !== 'call.ringing') return undefined;
  const { call_id, direction, extensions, caller, customer } = event.data;
  const extension = extensions.includes(caller.number) ? caller.number : null;
  return {
    call_id,
    direction,
    dialled: '',
    started_at: event.time,
    answered_at: null,
    extensions,
    ...(customer === undefined ? {} : { customer }),
    caller,
    legs: [{ leg_id: '', extension, endpoint: null, ...caller, ...unmet(event.time) }],
  };
}
/** A joined call takes the older start time and the legs of both. */
function joined(kept: CallState, other: CallState | undefined, at: string): CallState {
  if (other === undefined) return kept;
  const answered_at = kept.answered_at ?? other.answered_at;
  const both = [...kept.legs, ...other.legs];
  const customer = kept.customer ?? other.customer;
  return {
    ...kept,
    ...(customer === undefined ? {} : { customer }),
    started_at: kept.started_at < other.started_at ? kept.started_at : other.started_at,
    answered_at,
    legs: answered_at === null ? both : timed(both.map(talking), both, at),
  };
}
const callRead = (call: Call): CallState => {
  const { call_id, direction, dialled, placed, started_at, answered_at, extensions, parties, legs } = call;
  const { customer } = call;
  const [first] = parties;
  return {
    call_id,
    direction,
    dialled,
    ...(placed === undefined ? {} : { placed }),
    started_at,
    answered_at,
    extensions,
    ...(customer === undefined ? {} : { customer }),
    caller: { number: first?.number ?? '', name: first?.name ?? '' },
    // No event names a leg before it rings; the first leg is that of the caller.
    legs: legs
      .filter((leg, i) => i === 0 || leg.state !== 'initiated')
      .map((leg) => legRead(leg, answered_at !== null)),
  };
};
export const callsFold: Fold<CallState> = {
  read: (data) => by((data as SnapshotData<'calls'>).calls.map(callRead), (call) => call.call_id),
  after(records, event) {
    if (!event.type.startsWith('call.') || !('direction' in event.data) || !('call_id' in event.data)) {
      return NONE;
    }
    const { call_id, direction } = event.data;
    const { extensions } = event.data as { extensions: string[] };
    if (event.type === 'call.ended') {
      const { merged_into, into } = event.data;
      const kept = records.get(merged_into ?? '');
      const gone = { key: call_id, value: undefined };
      if (kept !== undefined)
        return [gone, { key: kept.call_id, value: joined(kept, records.get(call_id), event.time) }];
      return into === undefined ? [gone] : [gone, { key: into.call_id, value: callRead(into) }];
    }
    if (event.type === 'call.started') {
      const { leg, dialled, placed } = event.data;
      const caller = { number: leg.number, name: leg.name };
      const started = {
        call_id,
        direction,
        dialled,
        ...(placed === undefined ? {} : { placed }),
        started_at: event.time,
        answered_at: null,
        extensions,
        caller,
        legs: [{ ...leg, ...unmet(event.time) }],
      };
      return [{ key: call_id, value: started }];
    }
    const known = records.get(call_id) ?? rung(event);
    if (known === undefined) return NONE;
    if (event.type === 'call.customer') {
      const { customer: _before, ...call } = known;
      const { customer } = event.data;
      return [{ key: call_id, value: { ...call, ...(customer === null ? {} : { customer }) } }];
    }
    const answered_at = known.answered_at ?? (event.type === 'call.answered' ? event.time : null);
    const legs = timed(legsAfter(known, event), known.legs, event.time);
    return [{ key: call_id, value: { ...known, direction, extensions, answered_at, legs } }];
  },
};

const slotKey = (records: Records<ParkedCall>, { slot, node, leg_id }: Omit<SlotFreed, 'reason'>): string => {
  for (const [key, one] of records) if (one.leg_id === leg_id && one.slot === slot) return key;
  const there = records.get(slot);
  return there === undefined || there.node === node ? slot : `${node}:${slot}`;
};
export const parkingFold: Fold<ParkedCall> = {
  read(data) {
    const records = new Map<string, ParkedCall>();
    for (const one of (data as SnapshotData<'parking'>).parked) records.set(slotKey(records, one), one);
    return records;
  },
  after(records, event) {
    if (event.type === 'parking.slot_occupied')
      return [{ key: slotKey(records, event.data), value: event.data }];
    return event.type === 'parking.slot_freed'
      ? [{ key: slotKey(records, event.data), value: undefined }]
      : NONE;
  },
};

export const FOLDS: { readonly [T in StoreTopic]: Fold<StoreRecords[T]> } = {
  presence: presenceFold,
  agents: agentsFold,
  queues: queuesFold,
  calls: callsFold,
  parking: parkingFold,
};
