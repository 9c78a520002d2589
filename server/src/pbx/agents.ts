import { rfc3339 } from '../core/clock.ts';
import type { QueueMember } from '../ports/engine.ts';
import type { LiveAgent } from '../ports/live.ts';
import { memberKey } from './facts.ts';
import { refreshPresence } from './presence.ts';
import { queueOf, touchQueue } from './queues.ts';
import { emit } from './state.ts';
import type { Agent, Channel, Offer, State, Talk, Turn } from './state.ts';

/**
 * An agent is an extension over all its queues. Readiness is what the engine holds of its memberships; the engagement is
 * derived from facts, in this order of precedence:
 *
 *   unreachable (no device can be reached) > talking | held (a queue call) > offered > busy_other > idle
 */
export function agentOf(s: State, t: Turn, extension: string): Agent {
  const known = s.agents.get(extension);
  if (known !== undefined) return known;
  const agent: Agent = {
    extension,
    members: new Map(),
    engagement: 'idle',
    since: t.at,
    readiness: '',
    readiness_since: t.at,
    view: null,
  };
  s.agents.set(extension, agent);
  return agent;
}

function engagementOf(s: State, extension: string): LiveAgent['engagement'] {
  const live = s.extensions.get(extension);
  if (live?.reachability === 'offline') return 'unreachable';
  const talk = s.talks.get(extension);
  if (talk !== undefined) {
    for (const id of s.legsOf.get(extension) ?? []) {
      const leg = s.channels.get(id);
      if (leg?.leg === 'held' && (talk.call === null || leg.call === callOfTalk(s, talk))) return 'held';
    }
    return 'talking';
  }
  if (s.offersOf.has(extension)) return 'offered';
  return live === undefined || live.activity === 'idle' || live.activity === 'ringing'
    ? 'idle'
    : 'busy_other';
}
const callOfTalk = (s: State, talk: Talk) =>
  talk.call === null ? null : (s.aliases.get(talk.call) ?? talk.call);

/** Looks again at what an agent does; O(its legs). No agent, nothing to do. */
export function refreshAgent(s: State, t: Turn, extension: string): void {
  const agent = s.agents.get(extension);
  if (agent === undefined) return;
  const engagement = engagementOf(s, extension);
  if (engagement === agent.engagement) return;
  agent.engagement = engagement;
  agent.since = t.at;
  agent.view = null;
  if (engagement === 'unreachable' && agent.members.size > 0) {
    emit(t, 'agent.unreachable', `agents/${extension}`, { extension });
  }
}

/** Why the agent is not ready, empty while it is ready everywhere; of several reasons that of the first queue by name. */
export function notReadyReason(s: State, extension: string): string {
  let first: QueueMember | undefined;
  for (const member of s.agents.get(extension)?.members.values() ?? []) {
    if (member.paused && (first === undefined || member.queue < first.queue)) first = member;
  }
  if (first === undefined) return '';
  return first.paused_reason === '' ? 'not_ready' : first.paused_reason;
}
function refreshReadiness(s: State, t: Turn, agent: Agent, since: number): void {
  agent.view = null;
  const readiness = notReadyReason(s, agent.extension);
  if (readiness === agent.readiness) return;
  agent.readiness = readiness;
  agent.readiness_since = since;
  refreshPresence(s, t, agent.extension);
}

/**
 * Since when a member is paused: our own event time, since the engine's moves with every repeated pause. Only
 * where a snapshot shows a pause that nobody told us of is the engine's all there is.
 */
function pausedAt(
  t: Turn,
  member: QueueMember,
  before: Pick<Before, 'paused' | 'reason' | 'since'> | undefined,
) {
  if (!member.paused) return member.paused_at;
  if (before?.paused === true && before.reason === member.paused_reason) return before.since;
  return t.observed === 'resync' ? (member.paused_at ?? t.at) : t.at;
}
interface Before {
  readonly paused: boolean;
  readonly reason: string;
  readonly since: number | null;
}

const sameMember = (a: QueueMember, b: QueueMember): boolean =>
  a.state === b.state &&
  a.in_call === b.in_call &&
  a.paused === b.paused &&
  a.paused_reason === b.paused_reason &&
  a.paused_at === b.paused_at &&
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
  const told = known === undefined && extension !== null ? takeTold(s, said.queue, extension) : undefined;
  const before: Before | undefined =
    known === undefined
      ? told
      : { paused: known.paused, reason: known.paused_reason, since: known.paused_at };
  const member: QueueMember = Object.freeze({ ...said, paused_at: pausedAt(t, said, before) });
  if (known !== undefined && sameMember(known, member)) {
    if (t.observed === 'resync') countTalk(s, t, known);
    return;
  }
  if (known !== undefined && known.extension !== extension) forget(s, t, known);
  queue.members.set(member.interface, member);
  touchQueue(s, queue);
  if (extension === null) return;
  const agent = agentOf(s, t, extension);
  agent.members.set(`${member.queue}\n${member.interface}`, member);
  agent.view = null;
  const changed =
    before === undefined ||
    before.paused !== member.paused ||
    (member.paused && before.reason !== member.paused_reason);
  if (changed) {
    const ref = { extension, queue: member.queue };
    const subject = `agents/${extension}`;
    if (before === undefined) emit(t, 'agent.logged_in', subject, ref);
    if (member.paused) {
      const since = rfc3339(member.paused_at ?? t.at);
      emit(t, 'agent.not_ready', subject, { ...ref, reason: member.paused_reason, since });
    } else emit(t, 'agent.ready', subject, ref);
  }
  if (changed || told !== undefined) {
    const since = !changed ? (before?.since ?? t.at) : member.paused ? (member.paused_at ?? t.at) : t.at;
    refreshReadiness(s, t, agent, since);
  }
  if (known === undefined) refreshAgent(s, t, extension);
  countTalk(s, t, member);
}
function takeTold(s: State, queue: string, extension: string): Before | undefined {
  const key = memberKey(queue, extension);
  const told = s.toldMembers.get(key);
  s.toldMembers.delete(key);
  return told;
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
  if (agent?.members.delete(`${queue}\n${member.interface}`) !== true) return;
  emit(t, 'agent.logged_out', `agents/${extension}`, { extension, queue });
  refreshReadiness(s, t, agent, t.at);
  if (agent.members.size === 0 && !s.site.agents.has(extension)) s.agents.delete(extension);
}

export function beginTalk(s: State, t: Turn, offer: Offer): void {
  if (offer.extension === null) return;
  const call = s.channels.get(offer.caller)?.call ?? null;
  const { queue, caller, agent } = offer;
  s.talks.set(offer.extension, {
    queue,
    interface: offer.interface,
    caller,
    agent,
    call,
    counted: s.queues.get(queue)?.members.get(offer.interface)?.in_call ?? false,
  });
  tellTalking(s, t, offer.extension, queue, call);
  refreshAgent(s, t, offer.extension);
}
function tellTalking(s: State, t: Turn, extension: string, queue: string, call: string | null): void {
  if (call === null) return;
  const told = s.toldTalks.get(extension) === call;
  s.toldTalks.delete(extension);
  if (!told) emit(t, 'agent.talking', `agents/${extension}`, { extension, queue, call_id: call });
}
function endTalk(s: State, t: Turn, extension: string): void {
  if (s.talks.delete(extension)) refreshAgent(s, t, extension);
}

/** What the engine counts: a member whose call is over has no talk, and one found in a call has. */
function countTalk(s: State, t: Turn, member: QueueMember): void {
  const { extension } = member;
  if (extension === null) return;
  const talk = s.talks.get(extension);
  const own = talk?.queue === member.queue && talk.interface === member.interface;
  if (member.in_call) {
    if (talk !== undefined && own && !talk.counted) s.talks.set(extension, { ...talk, counted: true });
    if (talk === undefined && t.observed === 'resync') foundTalking(s, t, member, extension);
  } else if (own && (talk.counted || t.observed === 'resync')) endTalk(s, t, extension);
}
/** A snapshot shows a member in a queue call that we did not see begin: the call is where its leg is. */
function foundTalking(s: State, t: Turn, member: QueueMember, extension: string): void {
  let leg: Channel | undefined;
  for (const id of s.legsOf.get(extension) ?? []) {
    const ch = s.channels.get(id);
    if (ch !== undefined && (ch.leg === 'connected' || ch.leg === 'held')) leg ??= ch;
  }
  const call = leg?.call ?? null;
  s.talks.set(extension, {
    queue: member.queue,
    interface: member.interface,
    caller: null,
    agent: leg?.id ?? null,
    call,
    counted: true,
  });
  tellTalking(s, t, extension, member.queue, call);
  refreshAgent(s, t, extension);
}

export function agentReleased(s: State, t: Turn, queue: string, iface: string): void {
  const extension = s.queues.get(queue)?.members.get(iface)?.extension ?? talkerOf(s, queue, iface);
  if (extension === null) return;
  const talk = s.talks.get(extension);
  if (talk?.queue === queue && talk.interface === iface) endTalk(s, t, extension);
}
/** The talk of a member that has left the queue meanwhile. */
function talkerOf(s: State, queue: string, iface: string): string | null {
  for (const [extension, talk] of s.talks) {
    if (talk.queue === queue && talk.interface === iface) return extension;
  }
  return null;
}

/** A channel is gone: the agent whose call that was is free, also where the engine never says so. */
export function releaseChannel(s: State, t: Turn, ch: Channel): void {
  if (s.talks.size === 0) return;
  if (ch.extension !== null) {
    const talk = s.talks.get(ch.extension);
    if (talk !== undefined && !hasLegIn(s, ch.extension, talk)) endTalk(s, t, ch.extension);
    else refreshAgent(s, t, ch.extension);
  }
  if (ch.call === null) return;
  // Where the caller is gone, only agents with a leg in this very call can be concerned.
  for (const id of s.calls.get(ch.call)?.channels ?? []) {
    const extension = s.channels.get(id)?.extension ?? null;
    if (extension !== null && s.talks.get(extension)?.caller === ch.id) endTalk(s, t, extension);
  }
}
function hasLegIn(s: State, extension: string, talk: Talk): boolean {
  const call = callOfTalk(s, talk);
  for (const id of s.legsOf.get(extension) ?? []) {
    const leg = s.channels.get(id);
    if (leg !== undefined && (call === null || leg.call === call)) return true;
  }
  return false;
}

export function agentView(agent: Agent): LiveAgent {
  agent.view ??= Object.freeze({
    extension: agent.extension,
    members: Object.freeze([...agent.members.values()]),
    engagement: agent.engagement,
    readiness_since: agent.readiness_since,
    since: agent.since,
  });
  return agent.view;
}
