import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import type { CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { LiveAgent, LiveModel, ModelInput, ModelView } from '../ports/live.ts';
import { tellAgents } from './agent-events.ts';
import { agentView } from './agent-state.ts';
import { agentDecided, agentReleased, callPassedOn, memberRemoved, memberSeen } from './agents.ts';
import { callById, callList, legById } from './call-view.ts';
import { sideOf } from './leg-beside.ts';
import { customerEvent, customerFound, joinByHand, relink, transferred } from './calls.ts';
import {
  bridgeEntered,
  bridgeLeft,
  channelEnding,
  channelGone,
  channelHeld,
  channelParty,
  channelRecording,
  channelRecordingPaused,
  channelRenamed,
  channelState,
  createChannel,
  patchChannel,
} from './channels.ts';
import { noFacts, readFacts, reduceFacts, writeFacts } from './facts.ts';
import type { PublishedQueue } from './facts.ts';
import { legDialEnded } from './legs.ts';
import { legTimes, noteLegTimes } from './leg-times.ts';
import { NO_EVENTS, attribute, operationSent } from './operations.ts';
import { channelParked, channelUnparked } from './parking.ts';
import {
  changedSince,
  deviceState,
  featuresSeen,
  followHolds,
  presenceSaid,
  wakeableChanged,
} from './presence.ts';
import {
  callerAbandoned,
  callerJoined,
  callerLeft,
  callerReplaced,
  callerTaken,
  callersOf,
  offerAccepted,
  offerCreated,
  offerDialEnded,
  offerPickedUp,
  offerTimeout,
  tellPlace,
} from './queues.ts';
import { queueList, queueView } from './queue-view.ts';
import { applySite } from './site.ts';
import { parkedList } from './slots.ts';
import { applySnapshot } from './snapshot.ts';
import { phoneSigned, pinRefused } from './shared-phones.ts';
import { emit, emptyState } from './state.ts';
import type { State, Turn } from './state.ts';
import { switchChanged } from './switches.ts';
import { Touched } from './touched.ts';
import { trunkContact, trunkRegistration } from './trunks.ts';
import { begin } from './restore.ts';

const NO_FEATURES: ModelView['features'] = new Map();
const NOTHING: readonly DomainEvent[] = Object.freeze([]);
/** Inputs without a fact of the engine; they do not advance `as_of`. */
const NO_FACTS: ReadonlySet<ModelInput['type']> = new Set([
  'site.changed',
  'engine.link',
  'operation.sent',
  'caller.taken',
  'call.customer',
  'agent.intended',
  'agent.not_responding',
  'agent.absent',
  'agent.wrap_up',
  'presence.said',
  'push.wakeable',
]);

export interface PbxModel extends LiveModel {
  /** Internal state, for tests and metrics. */
  readonly state: Readonly<State>;
  /** Settings of each queue by its newest event in the journal; null if an earlier version wrote the checkpoint, without them. */
  readonly publishedQueues: ReadonlyMap<string, PublishedQueue> | null;
  /** Stores the settings of all queues as if events had published them. */
  readonly adoptQueues: (queues: ReadonlyMap<string, PublishedQueue>) => void;
}

/**
 * Live model of one engine: deterministic, synchronous, without a clock of its own. Equal inputs give equal
 * domain events; entities that an input does not touch cost nothing.
 */
export function createModel(): PbxModel {
  let s = emptyState();
  let facts = noFacts();
  const agents = new Touched();
  const view: ModelView = {
    get live() {
      return s.live;
    },
    get as_of() {
      return s.as_of;
    },
    get presence_version() {
      return s.presence_version;
    },
    extension: (extension) => s.extensions.get(extension),
    device: (endpoint) => s.devices.get(endpoint),
    trunk: (name) => s.trunks.get(name),
    changedSince: (version) => changedSince(s, version),
    get features() {
      return s.features ?? NO_FEATURES;
    },
    get switched() {
      return s.switched;
    },
    get signed() {
      return s.signed;
    },
    agent(extension) {
      const agent = s.agents.get(extension);
      return agent === undefined ? undefined : agentView(s, agent);
    },
    agents: () => agentList(s),
    queue(name) {
      const queue = s.queues.get(name);
      return queue === undefined ? undefined : queueView(s, queue);
    },
    queues: () => queueList(s),
    calls: () => callList(s),
    parked: () => parkedList(s),
    call: (id) => callById(s, id as CallId),
    leg: (id) => legById(s, id as ChannelId),
    gone: (channel) => s.gone.has(channel as ChannelId),
    beside: (leg) => sideOf(s, leg as ChannelId),
    ledTo: (operationId) => s.operations.get(operationId)?.led ?? NO_EVENTS,
  };
  return {
    view,
    get state() {
      return s;
    },
    get publishedQueues() {
      return facts.queues;
    },
    adoptQueues(queues) {
      facts.queues = new Map(queues);
    },
    step(event) {
      const observed = event.type === 'engine.snapshot' ? 'resync' : 'live';
      const t: Turn = { at: event.at, observed, out: [], agents };
      agents.clear();
      const isFact = !NO_FACTS.has(event.type);
      if (isFact && event.at > s.as_of) s.as_of = event.at;
      apply(s, t, event);
      for (let i = 0, made = t.out.length; i < made; i += 1) {
        const one = t.out[i]!;
        if (one.type !== 'call.customer') continue;
        for (const waiting of callersOf(s, one.data.call_id as CallId)) tellPlace(s, t, ...waiting);
      }
      followHolds(s, t);
      // Before the first snapshot, agents are known only from the journal: an input without a fact changes none.
      if (isFact || s.synced) tellAgents(s, t);
      attribute(s, t.out);
      const fresh = event.type === 'engine.snapshot' ? resyncedBy(t.out, event) : null;
      if (fresh !== null) emit(t, 'engine.resynced', `engine/${fresh.node}`, fresh);
      return t.out.length === 0 ? NOTHING : t.out;
    },
    committed(events) {
      for (const event of events) reduceFacts(facts, event);
    },
    checkpoint: () =>
      writeFacts(
        { ...facts, legTimes: legTimes(s) },
        {
          extension: (extension) => s.site.names.size === 0 || s.site.names.has(extension),
          trunk: (name) => s.site.names.size === 0 || s.publishedTrunks.has(name),
        },
      ),
    restore(checkpoint, after) {
      facts = readFacts(checkpoint);
      for (const event of after) {
        noteLegTimes(facts, event);
        reduceFacts(facts, event);
      }
      s = begin(s, facts);
    },
  };
}

function agentList(s: State): readonly LiveAgent[] {
  return [...s.agents.values()]
    .toSorted((a, b) => a.extension.length - b.extension.length || (a.extension < b.extension ? -1 : 1))
    .map((agent) => agentView(s, agent));
}

function apply(s: State, t: Turn, event: ModelInput): void {
  switch (event.type) {
    case 'site.changed':
      return applySite(s, t, event);
    case 'operation.sent':
      return operationSent(s, event);
    case 'agent.intended':
    case 'agent.not_responding':
    case 'agent.absent':
    case 'agent.wrap_up':
      return agentDecided(s, t, event);
    case 'presence.said':
      return presenceSaid(s, t, event.people);
    case 'push.wakeable':
      return wakeableChanged(s, t, event.extensions);
    case 'engine.link':
      return linkChanged(s, t, event);
    case 'engine.snapshot':
      return snapshotTaken(s, t, event);
    case 'channel.created':
      return createChannel(s, t, event.channel);
    case 'channel.state':
      return channelState(s, t, event.id, event);
    case 'channel.party':
      return channelParty(s, t, event.id, event);
    case 'channel.linked': {
      const ch = s.channels.get(event.id);
      return ch === undefined ? undefined : relink(s, t, ch, event.call);
    }
    case 'channel.renamed':
      return channelRenamed(s, t, event.id, event.channel);
    case 'channel.held':
      return channelHeld(s, t, event.id, event.held, event.by);
    case 'channel.recording':
      return channelRecording(s, t, event.id, event.on);
    case 'channel.recording_paused':
      return channelRecordingPaused(s, t, event.id, event.on);
    case 'channel.digit':
      return patchChannel(s, t, event.id, ({ digits }) => ({
        digits: { ...digits, [event.direction]: digits[event.direction] + 1 },
      }));
    case 'channel.listening':
      return patchChannel(s, t, event.id, ({ listenings }) => ({
        listens_to: event.to,
        listenings: listenings + 1,
      }));
    case 'channel.ending':
      return channelEnding(s, event.id);
    case 'channel.hungup':
      return channelGone(s, t, event.id, event.cause, event.cause_text);
    case 'dial.begun':
      return undefined;
    case 'dial.ended':
      legDialEnded(s, event);
      return offerDialEnded(s, t, event);
    case 'bridge.entered':
      return bridgeEntered(s, t, event.bridge, event.id, event.holding);
    case 'bridge.left':
      return bridgeLeft(s, t, event.bridge, event.id);
    case 'transfer.blind':
      return blindTransfer(s, t, event);
    case 'transfer.attended':
      return attendedTransfer(s, t, event);
    case 'channel.picked_up':
      return pickedUp(s, t, event);
    case 'channel.parked':
      return channelParked(s, t, { ...event, channel: event.id, since: event.at });
    case 'channel.unparked':
      return channelUnparked(s, t, event);
    case 'queue.caller_joined':
      return callerJoined(s, t, event.caller);
    case 'queue.caller_left':
      return callerLeft(s, t, event.queue, event.channel);
    case 'call.customer': {
      const call = customerFound(s, event);
      return call === undefined ? undefined : emit(t, ...customerEvent(call));
    }
    case 'caller.taken':
      return callerTaken(s, t, event.channel, event.why);
    case 'queue.caller_abandoned':
      return callerAbandoned(s, t, event);
    case 'queue.member':
      return memberSeen(s, t, event.member);
    case 'queue.member_removed':
      return memberRemoved(s, t, event.queue, event.interface);
    case 'offer.created':
      offerCreated(s, t, event);
      return undefined;
    case 'offer.accepted':
      return offerAccepted(s, t, event);
    case 'offer.timeout':
      return offerTimeout(s, t, event);
    case 'agent.released':
      return agentReleased(s, t, event);
    case 'device.state':
      return deviceState(s, t, event.endpoint, event.state);
    case 'trunk.contact':
      return trunkContact(s, t, event);
    case 'trunk.registration':
      return trunkRegistration(s, t, event);
    case 'night_switch.changed':
      return switchChanged(s, t, event);
    case 'phone.signed':
      return phoneSigned(s, t, event);
    case 'phone.pin_refused':
      return pinRefused(s, t, event);
    case 'extension.features':
      return featuresSeen(s, t, new Map([...(s.features ?? []), [event.extension, event.features]]));
    default:
      return event satisfies never;
  }
}

function linkChanged(s: State, t: Turn, event: EngineEventOf<'engine.link'>): void {
  const link = event.up ? 'up' : 'down';
  const { node, boot_id, reason } = event;
  // The engine of the leading node connects first; engines of other nodes may connect and disconnect later.
  s.first ??= node;
  if (node === s.first) s.live = false;
  if (s.links.get(node) === link) return;
  s.links.set(node, link);
  if (event.up) emit(t, 'engine.link_up', `engine/${node}`, { node, boot_id });
  else emit(t, 'engine.link_down', `engine/${node}`, { node, reason });
}
function snapshotTaken(s: State, t: Turn, event: EngineEventOf<'engine.snapshot'>): void {
  const { node, restarted } = event.snapshot;
  // A wrap-up outlives the engine, which may have lost the member's pause for it.
  if (restarted === true) {
    for (const agent of s.agents.values())
      if (agent.wrap !== null) agent.wrap = { ...agent.wrap, held: false };
  }
  applySnapshot(s, t, event);
  tellAgents(s, t);
  s.first ??= node;
  if (node === s.first) s.live = true;
}
/** Data of `engine.resynced`; null for a snapshot without a connect and without a difference that no command caused. */
function resyncedBy(
  out: readonly DomainEvent[],
  { why, snapshot: { node, boot_id, restarted } }: EngineEventOf<'engine.snapshot'>,
): EventData<'engine.resynced'> | null {
  const differences = out.filter((one) => one.caused_by === undefined).length;
  if (why === 'resync' && differences === 0) return null;
  return { node, boot_id, restarted: restarted === true, differences };
}

function blindTransfer(s: State, t: Turn, event: EngineEventOf<'transfer.blind'>): void {
  const by = s.channels.get(event.by);
  const moved = event.transferee === null ? by : (s.channels.get(event.transferee) ?? by);
  if (!event.succeeded || moved === undefined || moved.call === null) return;
  if (by !== undefined) s.leaving.set(by.id, { how: 'transferred' });
  callPassedOn(s, t, moved.call, by?.extension ?? null, 'blind');
  transferred(s, t, moved.call, 'blind', by, event.to, null);
}
function attendedTransfer(s: State, t: Turn, event: EngineEventOf<'transfer.attended'>): void {
  if (!event.succeeded) return;
  const by = s.channels.get(event.first) ?? s.channels.get(event.second);
  for (const id of [event.first, event.second]) {
    if (s.channels.has(id)) s.leaving.set(id, { how: 'transferred' });
  }
  const { id, merged } = joinByHand(s, t, event.first_call, event.second_call);
  callPassedOn(s, t, id, by?.extension ?? null, 'attended');
  transferred(s, t, id, 'attended', by, event.to, merged);
  if (event.transferee !== undefined) callerReplaced(s, t, event.second, event.transferee);
}
function pickedUp(s: State, t: Turn, event: EngineEventOf<'channel.picked_up'>): void {
  const by = s.channels.get(event.by);
  const target = s.channels.get(event.target);
  if (by === undefined || target === undefined || by.call === null || target.call === null) return;
  offerPickedUp(s, target, by);
  const { id, merged } = joinByHand(s, t, target.call, by.call);
  transferred(s, t, id, 'pickup', by, target.extension ?? target.caller.number, merged);
}
