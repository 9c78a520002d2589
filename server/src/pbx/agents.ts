import { rfc3339 } from '../core/clock.ts';
import type { CallId } from '@offhook/contract/ids.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { QueueMember } from '../ports/engine-state.ts';
import type { AgentInput } from '../ports/live.ts';
import { callOfTalk, isPaused, loggedOut, noteAgent, notReadyReason, touchAgent } from './agent-state.ts';
import { memberKey } from './facts.ts';
import { legOf } from './leg-beside.ts';
import { refreshPresence } from './presence.ts';
import { queueOf, touchQueue } from './queue-state.ts';
import { secondsBetween } from './state.ts';
import type { Agent, Channel, Offer, State, Talk, Turn } from './state.ts';

/**
 * An agent is an extension over all its queues. This file applies the engine's facts on memberships and queue
 * calls and the service's decisions; agent-state.ts derives the agent's state from them at the end of the
 * step.
 */
export function agentOf(s: State, t: Turn, extension: string): Agent {
  const known = s.agents.get(extension);
  if (known !== undefined) return known;
  const agent = newAgent(s, extension, t.at);
  s.agents.set(extension, agent);
  touchAgent(t, extension);
  return agent;
}
export const newAgent = (s: State, extension: string, at: number): Agent => ({
  extension,
  members: [],
  pauses: null,
  shown: '',
  readiness: { reason: '', since: at, source: null },
  pending: null,
  wrap: null,
  released: null,
  resumed: null,
  away: false,
  not_responding: 'no',
  missed: 0,
  intended: new Map(),
  summary: loggedOut(extension, s.site.names.get(extension) ?? extension, at),
  published: null,
  view: null,
});

/** Presence follows, because the directory shows why an agent is not ready. */
function refreshShown(s: State, t: Turn, agent: Agent): void {
  const shown = notReadyReason(s, agent.extension);
  if (shown === agent.shown) return;
  agent.shown = shown;
  refreshPresence(s, t, agent.extension);
}

/**
 * Start of a member's pause: the time that the service set, else the time of the event, since the engine's time moves
 * with every repeated pause. The engine's time is used only for a pause first seen in a snapshot.
 */
function pausedAt(s: State, t: Turn, member: QueueMember, before: Before | undefined): number | null {
  if (!member.paused) return member.paused_at;
  if (before?.paused === true && before.reason === member.paused_reason) return before.since;
  const { extension, queue } = member;
  const intended = extension === null ? undefined : s.agents.get(extension)?.intended.get(queue);
  if (intended?.reason === member.paused_reason && intended.since !== null) return intended.since;
  return t.observed === 'resync' ? (member.paused_at ?? t.at) : t.at;
}
interface Before {
  readonly paused: boolean;
  readonly reason: string;
  readonly since: number | null;
}

/** Ignores `paused_at`, which the engine moves with every repeated pause. */
const sameMember = (a: QueueMember, b: QueueMember): boolean =>
  a.state === b.state &&
  a.in_call === b.in_call &&
  a.paused === b.paused &&
  a.paused_reason === b.paused_reason &&
  a.last_call_at === b.last_call_at &&
  a.penalty === b.penalty &&
  a.login_at === b.login_at &&
  a.name === b.name &&
  a.membership === b.membership &&
  a.extension === b.extension;

export function memberSeen(s: State, t: Turn, said: QueueMember): void {
  const queue = queueOf(s, said.queue);
  const known = queue.members.get(said.interface);
  const { extension } = said;
  const published =
    known === undefined && extension !== null ? takePublished(s, said.queue, extension) : undefined;
  const before: Before | undefined =
    known === undefined
      ? published
      : { paused: known.paused, reason: known.paused_reason, since: known.paused_at };
  const paused_at = pausedAt(s, t, said, before);
  if (known !== undefined && known.paused_at === paused_at && sameMember(known, said)) {
    if (t.observed === 'resync') countTalk(s, t, known);
    return;
  }
  const member: QueueMember = said.paused_at === paused_at ? said : { ...said, paused_at };
  if (known !== undefined && known.extension !== extension) forget(s, t, known);
  queue.members.set(member.interface, member);
  touchQueue(s, queue);
  if (extension === null) return;
  const agent = agentOf(s, t, extension);
  const samePause =
    known?.extension === extension &&
    known.paused === member.paused &&
    known.paused_reason === member.paused_reason &&
    known.paused_at === member.paused_at;
  if (!samePause) agent.pauses = null;
  const place = known === undefined ? -1 : agent.members.indexOf(known);
  if (place < 0) agent.members.push(member);
  else agent.members[place] = member;
  touchAgent(t, extension);
  const again = before === undefined && isIn(agent, member.queue, member);
  noteMember(t, extension, member, before, known ?? published, again);
  refreshShown(s, t, agent);
  countTalk(s, t, member);
}
const isIn = ({ members }: Agent, queue: string, but: QueueMember): boolean =>
  members.some((row) => row !== but && row.queue === queue);
/** Notes the changes of a queue member since its previous row. */
function noteMember(
  t: Turn,
  extension: string,
  member: QueueMember,
  before: Before | undefined,
  known: QueueMember | Before | undefined,
  /** True if the agent has another row in this queue, as by a second interface. */
  again: boolean,
): void {
  const { queue } = member;
  const paused = isPaused(member);
  const wasPaused = known !== undefined && ('queue' in known ? isPaused(known) : known.paused);
  if (before === undefined && !again) noteAgent(t, extension, { type: 'agent.logged_in', queue });
  else if (paused === wasPaused && (!paused || before?.reason === member.paused_reason)) return;
  if (!paused) {
    noteAgent(t, extension, { type: 'agent.ready', queue });
    return;
  }
  const since = rfc3339(member.paused_at ?? t.at);
  noteAgent(t, extension, { type: 'agent.not_ready', queue, reason: member.paused_reason, since });
}
function takePublished(s: State, queue: string, extension: string): Before | undefined {
  const key = memberKey(queue, extension);
  const published = s.publishedMembers.get(key);
  s.publishedMembers.delete(key);
  return published;
}
export function memberRemoved(s: State, t: Turn, queue: string, iface: string): void {
  const known = s.queues.get(queue);
  const member = known?.members.get(iface);
  if (known === undefined || member === undefined) return;
  known.members.delete(iface);
  touchQueue(s, known);
  forget(s, t, member);
}
function forget(s: State, t: Turn, member: QueueMember): void {
  const { extension, queue } = member;
  if (extension === null) return;
  const agent = s.agents.get(extension);
  const place = agent?.members.indexOf(member) ?? -1;
  if (agent === undefined || place < 0) return;
  agent.members.splice(place, 1);
  agent.pauses = null;
  if (!isIn(agent, queue, member)) noteAgent(t, extension, { type: 'agent.logged_out', queue });
  refreshShown(s, t, agent);
}

/** The agent's own member row in this queue. */
export const memberIn = (agent: Pick<Agent, 'members'>, queue: string): QueueMember | undefined =>
  agent.members.find((row) => row.queue === queue);
/** The offer's extension is connected: the offered member, or a member of the queue that picked up the ring. */
export function beginTalk(s: State, t: Turn, offer: Offer): void {
  const { extension, queue, caller, agent } = offer;
  if (extension === null) return;
  const call = s.channels.get(caller)?.call ?? (offer.call as Talk['call']);
  const counted = s.queues.get(queue)?.members.get(offer.interface)?.in_call ?? false;
  const picked_up = offer.picked_up_by !== null;
  const place = { queue, interface: offer.interface, picked_up, caller, agent, call };
  const open = s.talks.get(extension);
  const goesOn = open !== undefined && callOfTalk(s, open) !== call && hasLegIn(s, extension, open);
  const before = goesOn ? open : null;
  s.talks.set(extension, { ...place, since: t.at, counted, uncounted: false, transfer: null, before });
  touchAgent(t, extension);
}
/** Talks of the agent, the present one first. */
function* talksOf(s: State, extension: string): Generator<Talk> {
  for (let talk = s.talks.get(extension) ?? null; talk !== null; talk = talk.before) yield talk;
}
/** Replaces a talk of the agent, also one that another one interrupted. */
function replaceTalk(s: State, extension: string, talk: Talk, by: Talk | null): void {
  const replaced = (one: Talk | null): Talk | null =>
    one === null ? null : one === talk ? by : { ...one, before: replaced(one.before) };
  const present = replaced(s.talks.get(extension) ?? null);
  if (present !== null) s.talks.set(extension, present);
}
/** `stays`: the agent's leg goes on without the queue call, after a transfer. */
function endOrRemove(s: State, t: Turn, extension: string, talk: Talk, stays: boolean): void {
  if (s.talks.get(extension) === talk) endTalk(s, t, extension, stays);
  else replaceTalk(s, extension, talk, talk.before);
}
/** `stays`: the agent's leg goes on without the queue call, after a transfer. */
function endTalk(s: State, t: Turn, extension: string, stays = false): void {
  const talk = s.talks.get(extension);
  if (talk === undefined) return;
  s.talks.delete(extension);
  const queue = s.queues.get(talk.queue);
  if (queue !== undefined) touchQueue(s, queue);
  touchAgent(t, extension);
  const agent = s.agents.get(extension);
  if (agent === undefined) return;
  agent.released = stays ? null : callOfTalk(s, talk);
  // The agent goes on with the call that this one interrupted; its wrap-up follows the last of them.
  for (let { before } = talk; before !== null; before = before.before) {
    if (!hasLegIn(s, extension, before)) continue;
    s.talks.set(extension, before);
    return;
  }
  beginWrapUp(s, t, agent, talk);
}
/** Starts the wrap-up; a talk whose end was missed ended at the engine's `last_call_at`. */
function beginWrapUp(
  s: State,
  t: Turn,
  agent: Agent,
  talk: Pick<Talk, 'queue' | 'call' | 'since' | 'transfer'>,
): void {
  const seconds = s.site.queues.get(talk.queue)?.wrap_up_seconds ?? 0;
  const row = memberIn(agent, talk.queue);
  const said = t.observed === 'resync' && talk.transfer !== 'joined' ? (row?.last_call_at ?? null) : null;
  const since = said !== null && said >= talk.since ? Math.min(said, t.at) : t.at;
  const deadline = since + seconds * 1000;
  if (agent.members.length === 0 || deadline <= t.at) return;
  const talk_seconds = secondsBetween(talk.since, since);
  const { queue, call } = talk;
  agent.wrap = { queue, call, since, deadline, talk_seconds, published: false, held: false };
}

/** True while the talk outlives the queue call that the engine has ended. */
export const talksOn = ({ transfer }: Talk): boolean => transfer === 'unknown' || transfer === 'joined';
/**
 * Follows the engine's count: a member out of its call ends its talk, a member in a call begins one on a resync.
 * The engine counts a call only after it reported the connection, so the first snapshot without it proves
 * nothing; and it stops counting when the device is reported idle by mistake, so a talk whose legs are together
 * goes on.
 */
function countTalk(s: State, t: Turn, member: QueueMember): void {
  const { extension } = member;
  if (extension === null) return;
  const talk = s.talks.get(extension);
  const own = talk?.queue === member.queue && talk.interface === member.interface;
  if (member.in_call) {
    if (talk !== undefined && own && !talk.counted) s.talks.set(extension, { ...talk, counted: true });
    if (talk === undefined && t.observed === 'resync') foundTalking(s, t, member, extension);
  } else if (own && !talk.picked_up && !talksOn(talk) && companyOf(s, extension, talk) !== 'caller') {
    if (talk.counted || (talk.uncounted && t.observed === 'resync')) endTalk(s, t, extension);
    else if (t.observed === 'resync') s.talks.set(extension, { ...talk, uncounted: true });
  }
}
/**
 * `by` transferred a call. The engine releases every agent in it before or after it reports the transfer: the
 * agent who transferred is free; an agent whose call another party joined with a second one talks until its
 * own leg ends.
 */
export function callPassedOn(
  s: State,
  t: Turn,
  call: CallId,
  by: string | null,
  kind: 'blind' | 'attended',
): void {
  for (const extension of s.talks.keys()) {
    for (const talk of talksOf(s, extension)) {
      if (callOfTalk(s, talk) !== call) continue;
      if (kind === 'attended' && by !== null && by !== extension)
        replaceTalk(s, extension, talk, { ...talk, caller: null, transfer: 'joined' });
      else if (talk.transfer === 'unknown') endOrRemove(s, t, extension, talk, true);
      else if (talk.transfer === null) replaceTalk(s, extension, talk, { ...talk, transfer: 'own' });
    }
  }
}
/** Leg with which the extension talks, preferably in `call`. */
function talkingLeg(s: State, extension: string, call: CallId | null): Channel | undefined {
  let leg: Channel | undefined;
  for (const id of s.legsOf.get(extension) ?? []) {
    const ch = s.channels.get(id);
    if (ch === undefined || ch.call === null || (ch.leg !== 'connected' && ch.leg !== 'held')) continue;
    if (leg === undefined || ch.call === call) leg = ch;
  }
  return leg;
}
/** Adds a talk that only a snapshot shows; its call is that of the agent's leg. */
function foundTalking(s: State, t: Turn, at: Pick<Talk, 'queue' | 'interface'>, extension: string): void {
  const resumed = s.agents.get(extension)?.resumed ?? null;
  const call = resumed === null ? null : callOfTalk(s, resumed);
  const leg = talkingLeg(s, extension, call);
  if (leg?.call == null) return;
  const known = leg.call === call ? resumed : null;
  s.talks.set(extension, {
    queue: at.queue,
    interface: at.interface,
    picked_up: known?.picked_up ?? false,
    caller: null,
    agent: leg.id,
    call: known?.call ?? leg.call,
    since: known?.since ?? t.at,
    counted: true,
    uncounted: false,
    transfer: known?.transfer ?? null,
    before: null,
  });
  touchAgent(t, extension);
}
/** Closes talks that the journal has open and the engine no longer reports. */
export function closeResumed(s: State, t: Turn): void {
  for (const agent of s.agents.values()) {
    const { extension, resumed } = agent;
    if (resumed !== null && !s.talks.has(extension)) {
      const { queue, transfer, picked_up } = resumed;
      const call = callOfTalk(s, resumed);
      const row = memberIn(agent, queue);
      // The engine counts no queue call for an agent whose call was joined with another or that picked it up at another
      // agent, even while it talks.
      if ((transfer === 'joined' || picked_up) && talkingLeg(s, extension, call)?.call === call)
        foundTalking(s, t, { queue, interface: row?.interface ?? '' }, extension);
      else beginWrapUp(s, t, agent, resumed);
    }
    // After a snapshot every existing leg keeps its agent busy, also one that remains of a released call.
    if (resumed !== null || agent.released !== null) touchAgent(t, extension);
    agent.resumed = null;
    agent.released = null;
  }
}

export function agentReleased(s: State, t: Turn, event: EngineEventOf<'agent.released'>): void {
  const stays = event.reason === 'transfer';
  const found = releasedTalk(s, event);
  if (found === undefined || talksOn(found.talk)) return;
  const { extension, talk } = found;
  if (talk.transfer === null && (stays || companyOf(s, extension, talk) === 'other'))
    replaceTalk(s, extension, talk, { ...talk, transfer: 'unknown' });
  else endOrRemove(s, t, extension, talk, stays);
}
/** The engine names the offered member, also where another one picked up the ring and talked. */
function releasedTalk(
  s: State,
  { queue, interface: iface, caller, agent }: EngineEventOf<'agent.released'>,
): { readonly extension: string; readonly talk: Talk } | undefined {
  const isIt = (one: Talk): boolean => one.caller === caller || one.agent === agent;
  const isIn = (one: Talk | undefined): boolean => one?.queue === queue && one.interface === iface;
  const member = s.queues.get(queue)?.members.get(iface)?.extension ?? talkerOf(s, queue, iface);
  const own = member === null ? [] : [...talksOf(s, member)];
  const known = own.find(isIt);
  if (member !== null && known !== undefined)
    return isIn(known) ? { extension: member, talk: known } : undefined;
  const channel = s.channels.get(agent);
  const picker = channel === undefined ? null : (legOf(s, channel)?.extension ?? null);
  if (picker !== null && picker !== member) {
    const talk = [...talksOf(s, picker)].find((one) => one.queue === queue && isIt(one));
    if (talk !== undefined) return { extension: picker, talk };
  }
  // After a transfer, the engine names another caller than the talk, but one of the same call.
  const [talk] = own;
  const call = s.channels.get(caller)?.call ?? null;
  if (member === null || talk === undefined || !isIn(talk)) return undefined;
  return call === null || call === callOfTalk(s, talk) ? { extension: member, talk } : undefined;
}
/** Party that the agent talks to; `other` means that a transfer happened before the engine reported it. */
function companyOf(s: State, extension: string, talk: Talk): 'caller' | 'other' | null {
  const local = talk.agent === null ? undefined : s.channels.get(talk.agent);
  const own = local?.pair == null ? [] : (s.pairs.get(local.pair) ?? []);
  const call = callOfTalk(s, talk);
  const legs = [...(s.legsOf.get(extension) ?? [])].filter((id) => s.channels.get(id)?.call === call);
  const expected = new Set([...legs, ...own, talk.caller]);
  let company: 'caller' | null = null;
  for (const id of [...legs, ...own]) {
    const { bridge = null, holding = true } = s.channels.get(id) ?? {};
    if (bridge === null || holding) continue;
    const there = [...(s.bridges.get(bridge) ?? [])];
    if (there.some((one) => !expected.has(one))) return 'other';
    if (there.length > 1) company = 'caller';
  }
  return company;
}
/** Extension with a talk for a member that has left the queue since. */
function talkerOf(s: State, queue: string, iface: string): string | null {
  for (const [extension, talk] of s.talks) {
    if (talk.queue === queue && talk.interface === iface) return extension;
  }
  return null;
}

/** A channel is gone: frees the agent whose call it was, also where the engine never reports the release. */
export function releaseChannel(s: State, t: Turn, ch: Channel): void {
  if (ch.extension !== null) touchAgent(t, ch.extension);
  if (s.talks.size === 0) return;
  if (ch.extension !== null) {
    const talk = s.talks.get(ch.extension);
    if (talk !== undefined && !hasLegIn(s, ch.extension, talk)) endTalk(s, t, ch.extension);
  }
  if (ch.call === null) return;
  // A gone caller concerns only agents with a leg in the same call.
  for (const id of s.calls.get(ch.call)?.channels ?? []) {
    const extension = s.channels.get(id)?.extension ?? null;
    const talk = extension === null ? undefined : s.talks.get(extension);
    if (extension !== null && talk?.caller === ch.id && !talksOn(talk)) endTalk(s, t, extension);
  }
}
function hasLegIn(s: State, extension: string, talk: Talk): boolean {
  const call = callOfTalk(s, talk);
  for (const id of s.legsOf.get(extension) ?? []) {
    if (s.channels.get(id)?.call === call) return true;
  }
  return false;
}

/** Applies a decision of the service; ignored for an extension that is not an agent. */
export function agentDecided(s: State, t: Turn, input: AgentInput): void {
  const agent = s.agents.get(input.extension);
  if (agent === undefined) return;
  touchAgent(t, input.extension);
  switch (input.type) {
    case 'agent.intended': {
      const { reason, source, since, together = false } = input;
      for (const queue of input.queues) {
        if (source === null) agent.intended.delete(queue);
        else agent.intended.set(queue, { reason, source, since, together });
      }
      agent.pauses = null;
      refreshShown(s, t, agent);
      return;
    }
    case 'agent.not_responding':
      if (agent.members.length === 0) return;
      agent.not_responding = 'published';
      agent.missed = input.missed;
      return;
    case 'agent.absent':
      agent.away = s.extensions.get(input.extension)?.reachability === 'offline';
      return;
    case 'agent.wrap_up':
      if (agent.wrap === null) return;
      agent.wrap = input.deadline === null ? null : { ...agent.wrap, deadline: input.deadline };
      return;
    default:
      return input satisfies never;
  }
}
