import type { ChannelId } from '@offhook/contract/ids.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { DeviceState, EngineChannel, EngineSnapshot } from '../ports/engine-state.ts';
import { noteAgent, touchAgent } from './agent-state.ts';
import { agentOf, closeResumed, memberRemoved, memberSeen } from './agents.ts';
import { legBeside } from './leg-beside.ts';
import { endCall, relink } from './calls.ts';
import {
  bridgeEntered,
  bridgeLeft,
  channelGone,
  channelHeld,
  channelRenamed,
  createChannel,
  stateReached,
} from './channels.ts';
import { setChannel } from './leg-state.ts';
import { resumeLegTimes } from './leg-times.ts';
import { closePublishedLegs } from './legs.ts';
import { seeParked } from './parking.ts';
import { deviceSeen, featuresSeen, followHolds, refreshPresence, tellPresence } from './presence.ts';
import {
  callerJoined,
  closeOffer,
  closePublished,
  closeVisit,
  leftForPlace,
  offerPassedOn,
  orderCallers,
  takenFor,
} from './queues.ts';
import { queueOf, touchQueue } from './queue-state.ts';
import type { Queue, State, Turn } from './state.ts';
import { seeSigned } from './shared-phones.ts';
import { seeSwitches } from './switches.ts';
import { seeTrunks } from './trunks.ts';

/**
 * Replaces the model's state by the engine's and emits the differences as `resync`. Present channels are
 * applied before missing ones, so that a call that went on during the gap never ends.
 */
export function applySnapshot(s: State, t: Turn, { snapshot, why }: EngineEventOf<'engine.snapshot'>): void {
  // Before the channels, because a leg at a shared phone belongs to the person who is signed in there when it begins.
  seeSigned(s, t, snapshot.signed);
  const present = new Set(snapshot.channels.map((c) => c.id));
  for (const channel of snapshot.channels) seeChannel(s, t, channel);
  const bridged = new Map(snapshot.bridged.map((b) => [b.channel, b]));
  for (const ch of s.channels.values()) {
    if (ch.bridge !== null && bridged.get(ch.id)?.bridge !== ch.bridge) bridgeLeft(s, t, ch.bridge, ch.id);
  }
  seeQueues(s, t, snapshot, present);
  // After a restart, an agent of the former site is known only from the journal.
  for (const { extension, members } of s.agents.values())
    if (members.length === 0 && !s.site.agents.has(extension)) touchAgent(t, extension);
  for (const ch of s.channels.values()) {
    if (!present.has(ch.id)) channelGone(s, t, ch.id, null, '');
  }
  for (const { bridge, channel, holding } of snapshot.bridged) {
    const ch = s.channels.get(channel);
    if (ch !== undefined && (ch.bridge !== bridge || ch.holding !== holding)) {
      bridgeEntered(s, t, bridge, channel, holding);
    }
  }
  if (snapshot.features !== undefined) featuresSeen(s, t, snapshot.features);
  seeSwitches(s, t, snapshot.switches);
  seeDevices(s, t, snapshot);
  seeTrunks(s, t, snapshot.trunks);
  // While the link was up, each hold was an event, and newer than a device state.
  if (why === 'connect') seeHolders(s, t);
  seeHeldHere(s, t, snapshot.held_here ?? []);
  seeParked(s, t, snapshot.parked);
  for (const call of s.calls.values()) {
    if (call.channels.length === 0) endCall(s, t, call.id, 'engine_lost');
  }
  closePublishedLegs(s, t);
  resumeLegTimes(s);
  closeAllPublished(s, t);
  followHolds(s, t);
  s.synced = true;
  for (const live of s.extensions.values()) tellPresence(s, t, live);
}

function seeChannel(s: State, t: Turn, described: EngineChannel): void {
  s.gone.delete(described.id);
  const known = s.channels.get(described.id);
  if (known === undefined) {
    createChannel(s, t, described);
    return;
  }
  relink(s, t, known, described.call);
  const ch = s.channels.get(described.id) ?? known;
  if (ch.name !== described.name || ch.kind !== described.kind || ch.pair !== described.pair) {
    channelRenamed(s, t, ch.id, described);
    return;
  }
  const { state, caller, connected, dialled } = described;
  const samePeople =
    ch.caller.number === caller.number &&
    ch.caller.name === caller.name &&
    ch.connected.number === connected.number &&
    ch.connected.name === connected.name;
  if (samePeople && ch.state === state && ch.dialled === dialled) return;
  const next = setChannel(s, t, ch, { state, caller, connected, dialled });
  if (ch.state !== state) stateReached(s, t, next);
}

function seeQueues(s: State, t: Turn, snapshot: EngineSnapshot, present: ReadonlySet<ChannelId>): void {
  const where = new Map<ChannelId, string>();
  for (const queue of snapshot.queues) for (const c of queue.callers) where.set(c.channel, queue.name);
  const talking = new Set(snapshot.bridged.filter((b) => !b.holding).map((b) => b.channel));
  for (const visit of s.visits.values()) {
    const now = where.get(visit.channel);
    if (now === visit.queue) continue;
    const here = present.has(visit.channel) && !talking.has(visit.channel);
    if (here && now === undefined && leftForPlace(s, visit)) continue;
    const reason = !present.has(visit.channel)
      ? 'engine_lost'
      : talking.has(visit.channel)
        ? 'answered'
        : (takenFor(visit) ?? 'other');
    closeVisit(s, t, visit, reason);
  }
  for (const described of snapshot.queues) {
    const queue = queueOf(s, described.name);
    if (queue.strategy !== described.strategy) {
      queue.strategy = described.strategy;
      touchQueue(s, queue);
    }
    const interfaces = new Set(described.members.map((m) => m.interface));
    dropMembers(s, t, queue, (iface) => !interfaces.has(iface));
    for (const member of described.members) memberSeen(s, t, member);
    for (const caller of described.callers) callerJoined(s, t, caller);
    orderCallers(s, t, queue, described.callers);
  }
  const names = new Set(snapshot.queues.map((q) => q.name));
  for (const queue of s.queues.values()) {
    if (names.has(queue.name)) continue;
    dropMembers(s, t, queue, () => true);
    s.queues.delete(queue.name);
    s.queueList = null;
  }
  for (const offer of s.offers.values()) {
    const rings =
      present.has(offer.agent) && (where.get(offer.caller) === offer.queue || offerPassedOn(s, offer));
    if (!rings) closeOffer(s, t, offer, 'canceled');
  }
}
function dropMembers(s: State, t: Turn, queue: Queue, gone: (iface: string) => boolean): void {
  for (const iface of queue.members.keys()) {
    if (gone(iface)) memberRemoved(s, t, queue.name, iface);
  }
}
function seeDevices(s: State, t: Turn, snapshot: EngineSnapshot): void {
  const states = new Map<string, DeviceState>();
  // The engine does not list phones that have not registered since it started.
  for (const endpoint of s.site.endpoints.keys()) states.set(endpoint, 'UNAVAILABLE');
  for (const { endpoint, state } of snapshot.devices) states.set(endpoint, state);
  const changed = new Set<string>();
  const note = (endpoint: string): void => {
    const owner = s.site.endpoints.get(endpoint);
    if (owner !== undefined) changed.add(owner.extension);
  };
  for (const endpoint of s.devices.keys()) {
    if (states.has(endpoint)) continue;
    s.devices.delete(endpoint);
    note(endpoint);
  }
  for (const [endpoint, state] of states) {
    if (deviceSeen(s, t.at, endpoint, state)) note(endpoint);
  }
  for (const extension of changed) refreshPresence(s, t, extension);
}

/**
 * A snapshot does not show which channel holds its other side. The engine reports `ONHOLD` for the device of that other
 * side, which identifies the channel if the device has only one channel.
 */
function seeHolders(s: State, t: Turn): void {
  const legs = new Map<string, number>();
  for (const { endpoint } of s.channels.values())
    if (endpoint !== null) legs.set(endpoint, (legs.get(endpoint) ?? 0) + 1);
  for (const ch of s.channels.values()) {
    if (ch.kind !== 'endpoint') continue;
    const other = legBeside(s, ch);
    const endpoint = other !== null && legBeside(s, other) === ch ? other.endpoint : null;
    const device = endpoint !== null && legs.get(endpoint) === 1 ? s.devices.get(endpoint) : undefined;
    const held = device?.state === 'ONHOLD';
    // A hold from before the restart was already published.
    if (s.synced) channelHeld(s, t, ch.id, held);
    else if (ch.held !== held) setChannel(s, t, ch, { held });
  }
}
/** Applies the holds by commands of the service, which a snapshot lists. */
function seeHeldHere(s: State, t: Turn, here: readonly ChannelId[]): void {
  const heldHere = new Set(here);
  for (const ch of s.channels.values()) {
    if (ch.kind !== 'endpoint' || ch.endpoint === null) continue;
    const held_here = heldHere.has(ch.id);
    if (s.synced) channelHeld(s, t, ch.id, held_here, 'operation');
    else if (held_here) setChannel(s, t, ch, { held_here });
  }
}

/** Closes visits, memberships and talks that the journal has open and the engine no longer reports. */
function closeAllPublished(s: State, t: Turn): void {
  for (const visit of s.publishedVisits.values()) {
    const leg = s.channels.get(visit.leg as ChannelId);
    const talks = leg !== undefined && legBeside(s, leg) !== null;
    closePublished(s, t, visit, leg === undefined ? 'engine_lost' : talks ? 'answered' : 'other');
  }
  for (const { extension, queue } of s.publishedMembers.values()) {
    agentOf(s, t, extension);
    noteAgent(t, extension, { type: 'agent.logged_out', queue });
  }
  s.publishedMembers.clear();
  closeResumed(s, t);
}
