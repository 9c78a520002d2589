/** State and engagement of an agent, derived from the engine's facts and the service's decisions. */
import type { AgentState, AgentSummary, ReadinessSource } from '@offhook/contract/agents.ts';
import { LOGIN, LOGOUT, NO_ANSWER, WRAP_UP, isSystemReason } from './agent-reasons.ts';
import { rfc3339, rfc3339OrNull } from '../core/clock.ts';
import type { QueueMember } from '../ports/engine-state.ts';
import type { LiveAgent } from '../ports/live.ts';
import { firstOffer } from './queue-state.ts';
import type { Agent, AgentNote, Channel, Doing, Pauses, State, Talk, Turn } from './state.ts';

/** Marks the agent for review at the end of this step. O(1); an extension that is not an agent costs nothing more. */
export function touchAgent(t: Turn, extension: string): void {
  t.agents.add(extension);
}
export function noteAgent(t: Turn, extension: string, note: AgentNote): void {
  t.agents.note(extension, note);
}

/** A pause that only holds a member back for its wrap-up is not shown as a pause. */
export const isPaused = (member: QueueMember): boolean => member.paused && member.paused_reason !== WRAP_UP;
const reasonOf = (member: QueueMember): string =>
  member.paused_reason === '' ? 'not_ready' : member.paused_reason;
const becomesReady = ({ intended }: Agent, { queue }: QueueMember): boolean => {
  const change = intended.get(queue);
  return change?.together === true && change.reason === '';
};
/** O(memberships) after a membership was paused, unpaused, added or removed, else O(1). */
function pausesOf(agent: Agent): Pauses {
  if (agent.pauses !== null) return agent.pauses;
  // Once one queue confirmed the change to ready, pauses that the same change is about to end no longer count.
  const confirmed = agent.members.some((row) => !row.paused && becomesReady(agent, row));
  let shown: QueueMember | null = null;
  let chosen: QueueMember | null = null;
  let leaves = false;
  let heldBack = false;
  let openSomewhere = false;
  // Of several pauses the first queue by name wins, so neither event order nor a repeated pause changes the result.
  const firstOf = (first: QueueMember | null, row: QueueMember): QueueMember =>
    first === null || row.queue < first.queue ? row : first;
  for (const row of agent.members) {
    const { paused, paused_reason } = row;
    openSomewhere ||= !paused;
    heldBack ||= paused && paused_reason === WRAP_UP;
    leaves ||= paused && paused_reason === LOGOUT;
    if (!isPaused(row) || (confirmed && becomesReady(agent, row))) continue;
    shown = firstOf(shown, row);
    if (paused_reason !== LOGIN && paused_reason !== LOGOUT) chosen = firstOf(chosen, row);
  }
  return (agent.pauses = { shown, chosen, leaves, heldBack, openSomewhere });
}
/** Reason of the agent's shown pause; empty while no queue has it paused. */
export function notReadyReason(s: State, extension: string): string {
  const agent = s.agents.get(extension);
  return agent === undefined ? '' : shownReason(agent);
}
function shownReason(agent: Agent): string {
  const row = pausesOf(agent).shown;
  return row === null ? '' : reasonOf(row);
}

export const callOfTalk = (s: State, talk: Pick<Talk, 'call'>) => s.aliases.get(talk.call) ?? talk.call;
const does = (
  engagement: Doing['engagement'],
  queue: string | null = null,
  call_id: string | null = null,
  deadline: number | null = null,
  offer_id: string | null = null,
  direction: Doing['direction'] = null,
): Doing => ({ engagement, queue, call_id, offer_id, direction, deadline });
const IDLE = does('idle');
const LOGGED_OUT: AgentSummary['readiness'] = Object.freeze({
  ready: false,
  reason: null,
  since: null,
  source: null,
  until: null,
});
export const loggedOut = (extension: string, name: string, since: number): AgentSummary => ({
  extension,
  name,
  state: 'logged_out',
  since: rfc3339(since),
  session: 'logged_out',
  readiness: LOGGED_OUT,
  pending: null,
  pending_reason: null,
  ...IDLE,
  deadline: null,
  not_responding: false,
});

/**
 * Engagement of an agent, in this order of precedence:
 *
 *   talking | held (a queue call; a device that talks is reached) > unreachable > offered > wrap_up > busy_other > idle
 */
function doingOf(s: State, agent: Agent): Doing {
  const { extension } = agent;
  if (agent.members.length === 0) return IDLE;
  const talk = s.talks.get(extension);
  if (talk !== undefined) {
    return does(isHeld(s, extension, talk) ? 'held' : 'talking', talk.queue, talk.call);
  }
  if (agent.away) return does('unreachable');
  const offer = firstOffer(s, extension);
  if (offer !== undefined) {
    const { id, queue, call, created_at } = offer;
    const seconds = s.site.queues.get(queue)?.ring_seconds;
    const deadline = seconds === undefined ? null : created_at + seconds * 1000;
    return does('offered', queue, call, deadline, id);
  }
  if (agent.wrap !== null) {
    return does('wrap_up', agent.wrap.queue, agent.wrap.call, agent.wrap.deadline);
  }
  const other = otherLeg(s, agent);
  if (other === null) return IDLE;
  const call_id = other.call;
  const first = call_id === null ? undefined : s.calls.get(call_id)?.first_leg;
  return does('busy_other', null, call_id, null, null, first === other.id ? 'out' : 'in');
}
function isHeld(s: State, extension: string, talk: Talk): boolean {
  for (const id of s.legsOf.get(extension) ?? []) {
    const leg = s.channels.get(id);
    if (leg?.leg === 'held' && leg.call === callOfTalk(s, talk)) return true;
  }
  return false;
}
/** False for a leg that only rings; the engine creates the channel of a called device before the device rings. */
export const isInCall = ({ leg, state }: Pick<Channel, 'leg' | 'state'>): boolean =>
  leg !== 'alerting' && state !== 'down';
/**
 * Leg that keeps the agent busy; legs that only ring, dial a feature code or remain of the released call do
 * not count.
 */
function otherLeg(s: State, agent: Agent): Channel | null {
  let stays = false;
  let found: Channel | null = null;
  for (const id of s.legsOf.get(agent.extension) ?? []) {
    const leg = s.channels.get(id);
    if (leg === undefined) continue;
    const left = agent.released !== null && leg.call === (s.aliases.get(agent.released) ?? agent.released);
    stays ||= left;
    const code = /^[*#]/.test(leg.dialled) && !s.site.services.has(leg.dialled);
    if (!left && !code && isInCall(leg)) found ??= leg;
  }
  if (!stays) agent.released = null;
  return found;
}

/** Ends a wrap-up that a new call, a logout or the engine itself has ended. */
function settleWrap(s: State, t: Turn, agent: Agent): void {
  const { wrap } = agent;
  if (wrap === null) return;
  const { heldBack: holds, openSomewhere } = pausesOf(agent);
  const freed = wrap.held && !holds && openSomewhere;
  const rings = s.offersOf.has(agent.extension);
  // Memberships lost in a restart of the engine are restored, so only a live event ends the wrap-up of an
  // agent that left.
  const left = agent.members.length === 0 && t.observed === 'live' && agent.summary.session === 'logged_in';
  if (freed || rings || left || s.talks.has(agent.extension)) agent.wrap = null;
  else if (holds && !wrap.held) agent.wrap = { ...wrap, held: true };
}

/** A new choice of the agent takes effect only after the last of these ends. */
const BUSY: ReadonlySet<string> = new Set(['talking', 'held', 'offered', 'wrap_up']);

/** Source of the readiness, from the intended change; a pause without one was set by the agent on a phone. */
function sourceOf(agent: Agent, reason: string, queue: string | undefined): ReadinessSource | null {
  if (isSystemReason(reason)) return 'system';
  const published = queue === undefined ? [...agent.intended.values()][0] : agent.intended.get(queue);
  if (published?.reason === reason) return published.source;
  return reason === '' ? null : 'agent';
}
function settleReadiness(t: Turn, agent: Agent, busy: boolean): void {
  const out = agent.summary.session === 'logged_out';
  if (agent.members.length === 0) {
    // `readiness.since` starts at the login.
    if (!out) agent.readiness = { reason: '', since: t.at, source: null };
    agent.pending = null;
    return;
  }
  if (busy) {
    if (out) agent.readiness = { reason: '', since: t.at, source: null };
    agent.pending = pendingOf(agent);
    return;
  }
  const row = pausesOf(agent).shown;
  const reason = row === null ? '' : reasonOf(row);
  const waited = agent.pending;
  agent.pending = null;
  if (reason === agent.readiness.reason && !out) return;
  const since = row === null || waited !== null ? t.at : (begunAt(agent, reason) ?? t.at);
  const source = (waited?.reason ?? '') === reason ? (waited?.source ?? null) : null;
  agent.readiness = { reason, since, source: source ?? sourceOf(agent, reason, row?.queue) };
}
/** Start of the agent's absence: its earliest pause with this reason, since each queue pauses at its own moment. */
function begunAt(agent: Agent, reason: string): number | null {
  let begun: number | null = null;
  for (const row of agent.members) {
    if (!isPaused(row) || reasonOf(row) !== reason || row.paused_at === null) continue;
    begun = Math.min(begun ?? Infinity, row.paused_at);
  }
  return begun;
}
/** Readiness that the memberships show and that takes effect after the call and the wrap-up. */
function pendingOf(agent: Agent): Agent['pending'] {
  const { pending, readiness } = agent;
  const { leaves, chosen: row } = pausesOf(agent);
  const reason = row === null ? '' : reasonOf(row);
  if (!leaves && reason === readiness.reason) return null;
  const to = leaves ? 'logged_out' : reason === '' ? 'ready' : 'not_ready';
  const why = to === 'not_ready' ? reason : null;
  if (pending?.to === to && pending.reason === why) return pending;
  return { to, reason: why, source: leaves ? null : sourceOf(agent, reason, row?.queue) };
}

function settleResponding(s: State, agent: Agent): void {
  if (agent.not_responding === 'no') return;
  const shown = shownReason(agent);
  if (shown === NO_ANSWER) agent.not_responding = 'held';
  else if (agent.not_responding === 'held' || shown !== '' || agent.members.length === 0) {
    agent.not_responding = 'no';
  }
  if (s.talks.has(agent.extension)) agent.not_responding = 'no';
}

function stateOf(agent: Agent, doing: Doing): AgentState {
  if (agent.members.length === 0) return 'logged_out';
  if (doing.engagement !== 'idle') return doing.engagement;
  if (agent.not_responding !== 'no') return 'not_responding';
  return agent.readiness.reason === '' ? 'available' : 'not_ready';
}

/** True for a logged-out agent with nothing left to report; its calls are not those of an agent. */
export const isAtRest = (s: State, agent: Agent): boolean =>
  agent.members.length === 0 &&
  agent.wrap === null &&
  agent.pending === null &&
  !agent.away &&
  agent.not_responding === 'no' &&
  agent.summary.state === 'logged_out' &&
  agent.summary.pending === null &&
  agent.summary.name === (s.site.names.get(agent.extension) ?? agent.extension);
/**
 * Derives the agent's summary; returns the same object if nothing shown changed. Cost: linear in its legs, plus that of `pausesOf`.
 */
export function derive(s: State, t: Turn, agent: Agent): AgentSummary {
  const before = agent.summary;
  if (agent.away && s.extensions.get(agent.extension)?.reachability !== 'offline') agent.away = false;
  if (agent.wrap !== null) settleWrap(s, t, agent);
  const doing = doingOf(s, agent);
  const was = agent.readiness;
  settleReadiness(t, agent, BUSY.has(doing.engagement));
  settleResponding(s, agent);
  const state = stateOf(agent, doing);
  const { readiness, pending } = agent;
  const fresh = readiness !== was;
  const same =
    state === before.state &&
    doing.call_id === before.call_id &&
    doing.offer_id === before.offer_id &&
    !(fresh && state === 'not_ready');
  const began =
    state === 'wrap_up' && agent.wrap !== null
      ? agent.wrap.since
      : fresh && state === 'not_ready'
        ? readiness.since
        : t.at;
  const since = same ? before.since : rfc3339(began);
  const name = s.site.names.get(agent.extension) ?? agent.extension;
  const session = agent.members.length > 0 ? 'logged_in' : 'logged_out';
  const shown = readinessOf(s, agent, fresh);
  const deadline = rfc3339OrNull(doing.deadline);
  const not_responding = agent.not_responding !== 'no';
  if (
    same &&
    name === before.name &&
    session === before.session &&
    shown === before.readiness &&
    (pending?.to ?? null) === before.pending &&
    (pending?.reason ?? null) === before.pending_reason &&
    doing.engagement === before.engagement &&
    doing.queue === before.queue &&
    doing.direction === before.direction &&
    deadline === before.deadline &&
    not_responding === before.not_responding
  ) {
    return before;
  }
  return {
    extension: agent.extension,
    name,
    state,
    since,
    session,
    readiness: shown,
    pending: pending?.to ?? null,
    pending_reason: pending?.reason ?? null,
    engagement: doing.engagement,
    queue: doing.queue,
    call_id: doing.call_id,
    offer_id: doing.offer_id,
    direction: doing.direction,
    deadline,
    not_responding,
  };
}
function readinessOf(s: State, agent: Agent, fresh: boolean): AgentSummary['readiness'] {
  const { readiness: said } = agent.summary;
  if (agent.members.length === 0) return said.since === null ? said : LOGGED_OUT;
  const { reason, source, since: at } = agent.readiness;
  const longest = s.site.longest.get(reason);
  const since = fresh || said.since === null ? rfc3339(at) : said.since;
  const until = longest === undefined ? null : rfc3339(at + longest * 1000);
  const ready = reason === '';
  if (
    said.ready === ready &&
    said.since === since &&
    said.source === source &&
    said.until === until &&
    (ready || said.reason === reason)
  ) {
    return said;
  }
  return { ready, reason: ready ? null : reason, since, source, until };
}

/** The engine reports only the end of a member's queue call, so `in_call` also follows the talk of the model. */
export function asTalking(s: State, member: QueueMember): QueueMember {
  const talk = member.extension === null ? undefined : s.talks.get(member.extension);
  const in_call = member.in_call || (talk?.queue === member.queue && talk.interface === member.interface);
  return in_call === member.in_call ? member : Object.freeze({ ...member, in_call });
}
export function agentView(s: State, agent: Agent): LiveAgent {
  agent.view ??= Object.freeze({
    extension: agent.extension,
    members: Object.freeze(agent.members.map((member) => asTalking(s, member))),
    summary: agent.summary,
    wrap_up_deadline: agent.wrap?.deadline ?? null,
  });
  return agent.view;
}
