import { nodeOf } from '@offhook/contract/ids.ts';
import type { BridgeId, ChannelId } from '@offhook/contract/ids.ts';
import type { EngineChannel } from '../ports/engine-state.ts';
import { touchAgent } from './agent-state.ts';
import { releaseChannel } from './agents.ts';
import {
  answerCall,
  callFor,
  checkAnswered,
  checkPeers,
  joinCall,
  leaveCall,
  mergeByAge,
  mergeCalls,
  ownerChanged,
  relink,
} from './calls.ts';
import { legBeside } from './leg-beside.ts';
import { isConnected, isHeld, legState, setChannel } from './leg-state.ts';
import { legLeft, tellLeg } from './legs.ts';
import { cancelOffersOf, closeVisitOf } from './queues.ts';
import { freeSlot } from './slots.ts';
import { addTo, takeFrom } from './state.ts';
import type { Call, Channel, State, Turn } from './state.ts';

const NO_DIGITS: Channel['digits'] = Object.freeze({ in: 0, out: 0 });
export function createChannel(s: State, t: Turn, described: EngineChannel): void {
  const known = s.channels.get(described.id);
  if (known !== undefined) {
    relink(s, t, known, described.call);
    return;
  }
  if (s.gone.has(described.id)) return;
  const call = described.kind === 'other' ? null : callFor(s, t, described.call, described.id, t.at);
  const ch: { -readonly [K in keyof Channel]: Channel[K] } = {
    ...described,
    call: call?.id ?? null,
    extension: personAt(s, described) ?? extensionOf(s, described),
    bridge: null,
    holding: false,
    held: false,
    held_in: null,
    held_here: false,
    recordings: 0,
    recording_paused: false,
    digits: NO_DIGITS,
    listens_to: null,
    listenings: 0,
    met: false,
    slot: null,
    queued: null,
    waited: null,
    ending: false,
    rang: false,
    leg: 'initiated',
    leg_since: t.at,
    leg_answered_at: null,
  };
  ch.leg = legState(ch);
  if (isConnected(ch.leg)) ch.leg_answered_at = t.at;
  s.channels.set(ch.id, ch);
  if (call !== null) joinCall(s, t, call, ch);
  if (ch.pair !== null) pair(s, t, ch, ch.pair);
  if (ch.extension !== null) {
    addTo(s.legsOf, ch.extension, ch.id);
    touchAgent(t, ch.extension);
  }
  stateReached(s, t, ch);
}

export function patchChannel(
  s: State,
  t: Turn,
  id: ChannelId,
  patch: (ch: Channel) => Partial<Channel>,
): void {
  const ch = s.channels.get(id);
  if (ch !== undefined) setChannel(s, t, ch, patch(ch));
}

export const extensionOf = (s: State, ch: Pick<EngineChannel, 'kind' | 'endpoint'>): string | null =>
  ch.kind === 'endpoint' && ch.endpoint !== null
    ? (s.site.endpoints.get(ch.endpoint)?.extension ?? null)
    : null;

/** The person of a leg at a shared phone by the journal, after a restart of the service. */
const personAt = (s: State, { id, endpoint }: EngineChannel): string | null =>
  endpoint !== null && s.site.shared.has(endpoint) ? (s.publishedLegs.get(id)?.leg.extension ?? null) : null;
/** A leg at a shared phone belongs to the person who was signed in when it began. */
export const keepsPerson = (s: State, ch: Channel): boolean =>
  ch.extension !== null && ch.endpoint !== null && s.site.shared.has(ch.endpoint);

/**
 * Merges the calls of both halves of an internal pair: of two engines into the call of the calling half, whose id is the pair, as the
 * history does; else into the older call. The events of either engine may come first.
 */
function pair(s: State, t: Turn, ch: Channel, key: string): void {
  const others = s.pairs.get(key) ?? [];
  s.pairs.set(key, [...others, ch.id]);
  const other = others[0] === undefined ? undefined : s.channels.get(others[0]);
  if (other === undefined || other.call === null || ch.call === null) return;
  if ((ch.id as string) === key) mergeCalls(s, t, other.call, ch.call);
  else if ((other.id as string) === key) mergeCalls(s, t, ch.call, other.call);
  else mergeByAge(s, t, other.call, ch.call);
}
function unpair(s: State, ch: Channel): void {
  if (ch.pair === null) return;
  const left = (s.pairs.get(ch.pair) ?? []).filter((id) => id !== ch.id);
  if (left.length === 0) s.pairs.delete(ch.pair);
  else s.pairs.set(ch.pair, left);
}

export function channelState(
  s: State,
  t: Turn,
  id: ChannelId,
  said: Pick<EngineChannel, 'state' | 'caller' | 'connected'>,
): void {
  const ch = s.channels.get(id);
  if (ch === undefined) return;
  const next = setChannel(s, t, ch, { state: said.state, caller: said.caller, connected: said.connected });
  if (said.state !== ch.state) stateReached(s, t, next);
}

/** Emits what the channel's state alone decides: its leg rings, or the engine answered it as a service. */
export function stateReached(s: State, t: Turn, ch: Channel): void {
  if (ch.kind !== 'endpoint' || ch.call === null) return;
  if (ch.state === 'ringing' && !ch.rang) {
    const leg = setChannel(s, t, ch, { rang: true });
    const call = s.calls.get(ch.call);
    // No channel of the call waits in a queue any more, so this ring is not one of a queue.
    if (call !== undefined && call.ring !== null && !call.channels.some((id) => s.visits.has(id)))
      s.calls.set(call.id, { ...call, ring: null });
    tellLeg(s, t, 'call.ringing', leg);
  } else if (ch.state === 'up' && ch.queued === null && s.site.services.has(ch.dialled)) {
    answerCall(s, t, ch);
  }
}

export function channelParty(
  s: State,
  t: Turn,
  id: ChannelId,
  said: Pick<EngineChannel, 'caller' | 'connected'>,
): void {
  const ch = s.channels.get(id);
  if (ch !== undefined) setChannel(s, t, ch, { caller: said.caller, connected: said.connected });
}

/** A channel took over the part of another channel (pickup, transfer): same id, another device. */
export function channelRenamed(s: State, t: Turn, id: ChannelId, described: EngineChannel): void {
  const ch = s.channels.get(id);
  if (ch === undefined) return;
  const extension = extensionOf(s, described);
  if (ch.extension !== extension) {
    if (ch.extension !== null) takeFrom(s.legsOf, ch.extension, id);
    if (extension !== null) addTo(s.legsOf, extension, id);
  }
  if (ch.pair !== described.pair) unpair(s, ch);
  const { name, kind, endpoint, pair: key, state, caller, connected } = described;
  const next = setChannel(s, t, ch, { name, kind, endpoint, extension, pair: key, state, caller, connected });
  const from = ch.call === null ? undefined : s.calls.get(ch.call);
  if (kind !== 'endpoint' && from !== undefined && from.channels.length > 1) legLeft(s, t, from, ch, null);
  if (ch.kind !== kind) changeKind(s, t, next);
  if (ch.extension !== extension) ownerChanged(s, next);
  const call = next.call === null ? undefined : s.calls.get(next.call);
  if (call !== undefined && ch.kind !== 'endpoint' && kind === 'endpoint') joinCall(s, t, call, next);
  if (key !== null && ch.pair !== key) {
    pair(s, t, next, key);
    // Both halves may already be in a bridge if the events of the other engine arrived first.
    const paired = s.channels.get(id);
    if (paired !== undefined && paired.bridge !== null && !paired.holding) checkAnswered(s, t, paired);
  }
  if (ch.extension !== null && ch.extension !== extension) touchAgent(t, ch.extension);
}
/** A helper that becomes a real channel joins the call of its id; a channel that becomes a helper leaves its call. */
function changeKind(s: State, t: Turn, ch: Channel): void {
  if (ch.kind === 'other') {
    leaveCall(s, t, ch, null, '');
    s.channels.set(ch.id, { ...ch, call: null });
  } else if (ch.call === null) {
    const call = callFor(s, t, ch.id as string as NonNullable<Channel['call']>, ch.id, t.at);
    const joined = { ...ch, call: call.id };
    s.channels.set(ch.id, joined);
    joinCall(s, t, call, joined);
  }
}

export function channelHeld(s: State, t: Turn, id: ChannelId, held: boolean, by?: 'operation'): void {
  const ch = s.channels.get(id);
  const field = by === 'operation' ? 'held_here' : 'held';
  if (ch === undefined || ch[field] === held) return;
  const held_in = field === 'held' ? { held_in: held ? ch.bridge : null } : {};
  const next = setChannel(s, t, ch, { [field]: held, ...held_in });
  if (next.kind !== 'endpoint' || isHeld(next) === isHeld(ch)) return;
  tellLeg(s, t, held ? 'call.held' : 'call.retrieved', next);
}
/**
 * Ends a hold whose held side is gone. The engine does not report this end: after the hold it moved the holder into another
 * bridge, for an attended transfer, and the holder talks on to the consulted person.
 */
function endHoldsOfNobody(s: State, t: Turn, call: Call): void {
  for (const id of call.channels) {
    const ch = s.channels.get(id);
    if (ch?.held !== true || ch.held_in === null || ch.held_in === ch.bridge) continue;
    if (!s.bridges.has(ch.held_in) && legBeside(s, ch) !== null) channelHeld(s, t, id, false);
  }
}
export function channelRecording(s: State, t: Turn, id: ChannelId, on: boolean): void {
  const ch = s.channels.get(id);
  if (ch === undefined) return;
  const recordings = Math.max(0, ch.recordings + (on ? 1 : -1));
  const next = setChannel(s, t, ch, { recordings, recording_paused: recordings > 0 && ch.recording_paused });
  if (next.kind === 'endpoint' && next.recordings > 0 !== ch.recordings > 0) {
    tellLeg(s, t, on ? 'call.recording_started' : 'call.recording_stopped', next);
  }
}
export function channelRecordingPaused(s: State, t: Turn, id: ChannelId, on: boolean): void {
  const ch = s.channels.get(id);
  if (ch === undefined || ch.recordings === 0 || ch.recording_paused === on) return;
  const next = setChannel(s, t, ch, { recording_paused: on });
  if (next.kind === 'endpoint') {
    tellLeg(s, t, on ? 'call.recording_paused' : 'call.recording_resumed', next);
  }
}

/** Marks who hung up: a waiting caller that gave up, or a device that ended its own ring. */
export function channelEnding(s: State, id: ChannelId): void {
  const ch = s.channels.get(id);
  if (ch === undefined || (ch.queued === null && (ch.kind !== 'endpoint' || ch.state === 'up'))) return;
  s.channels.set(id, { ...ch, ending: true });
}

/** Removes an ended channel; later facts under its id are ignored. */
export function channelGone(s: State, t: Turn, id: ChannelId, code: number | null, text: string): void {
  s.gone.add(id, t.at);
  const ch = s.channels.get(id);
  if (ch === undefined) return;
  closeVisitOf(s, t, ch);
  cancelOffersOf(s, t, id);
  unbridge(s, ch);
  unpair(s, ch);
  s.channels.delete(id);
  if (ch.extension !== null) takeFrom(s.legsOf, ch.extension, id);
  if (ch.slot !== null)
    freeSlot(s, t, nodeOf(id), ch.slot, t.observed === 'resync' ? 'engine_lost' : 'hung_up');
  leaveCall(s, t, ch, code, text);
  const call = ch.call === null ? undefined : s.calls.get(ch.call);
  if (call !== undefined && ch.kind === 'endpoint') endHoldsOfNobody(s, t, call);
  s.leaving.delete(id);
  s.peers.delete(id);
  releaseChannel(s, t, ch);
}

export function bridgeEntered(s: State, t: Turn, bridge: BridgeId, id: ChannelId, holding: boolean): void {
  const ch = s.channels.get(id);
  if (ch === undefined) return;
  if (ch.bridge !== bridge) unbridge(s, ch);
  addTo(s.bridges, bridge, id);
  const next = setChannel(s, t, ch, { bridge, holding, ...(holding ? {} : { slot: null }) });
  if (!holding && ch.slot !== null) freeSlot(s, t, nodeOf(id), ch.slot, 'picked_up');
  if (!holding && next.call !== null) checkAnswered(s, t, next);
}
export function bridgeLeft(s: State, t: Turn, bridge: BridgeId, id: ChannelId): void {
  const ch = s.channels.get(id);
  if (ch === undefined || ch.bridge !== bridge) return;
  unbridge(s, ch);
  setChannel(s, t, ch, { bridge: null, holding: false });
  // In a transfer the old party leaves the bridge after the new one entered.
  const [left] = s.bridges.get(bridge) ?? [];
  const there = left === undefined ? undefined : s.channels.get(left);
  if (there !== undefined) checkPeers(s, t, there);
}
function unbridge(s: State, ch: Channel): void {
  if (ch.bridge !== null) takeFrom(s.bridges, ch.bridge, ch.id);
}
