/** Emits the events of changed agents. */
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { EventData, EventType } from '@offhook/contract/events.ts';
import { derive, isAtRest, loggedOut } from './agent-state.ts';
import { emit } from './state.ts';
import type { Agent, State, Turn } from './state.ts';

/** Emits one event for each queue change of an agent touched in this step, then those for its changed summary. */
export function tellAgents(s: State, t: Turn): void {
  for (let place = 0; place < t.agents.size; place++) {
    const extension = t.agents.extension(place);
    const agent = s.agents.get(extension);
    if (agent === undefined) continue;
    const notes = t.agents.notes(place);
    const before = agent.summary;
    const next = notes.length === 0 && isAtRest(s, agent) ? before : derive(s, t, agent);
    agent.view = null;
    agent.summary = next;
    const gone = s.synced && agent.members.length === 0 && !s.site.agents.has(extension);
    if (gone) s.agents.delete(extension);
    // An unchanged summary was already published.
    if (next !== before || notes.length > 0) {
      const subject = `agents/${extension}`;
      for (const note of notes) {
        const { type, queue } = note;
        if (type === 'agent.not_ready') {
          emit(t, type, subject, { extension, queue, reason: note.reason, since: note.since, agent: next });
        } else emit(t, type, subject, { extension, queue, agent: next });
      }
      const said = tellDifference(t, agent, next, notes.length > 0);
      if (said || notes.length > 0) agent.published = next;
    }
    if (gone) emit(t, 'agent.removed', `agents/${extension}`, { extension, queue: null, agent: next });
  }
  t.agents.clear();
}

type Kind = Extract<EventType, `agent.${string}`>;
/** Each change of the summary leads to one kind of event, which carries the whole summary. */
function tellDifference(t: Turn, agent: Agent, next: AgentSummary, noted: boolean): boolean {
  const was = agent.published ?? loggedOut(agent.extension, next.name, t.at);
  if (next.session === 'logged_out') return false;
  const { extension } = agent;
  const say = <T extends Kind>(type: T, more: Omit<EventData<T>, 'extension' | 'agent'>): true => {
    emit(t, type, `agents/${extension}`, { extension, ...more, agent: next } as unknown as EventData<T>);
    return true;
  };
  const { queue } = next;
  const sayReadiness = (): true =>
    next.readiness.ready
      ? say('agent.ready', { queue: null })
      : say('agent.not_ready', {
          queue: null,
          reason: next.readiness.reason ?? '',
          since: next.readiness.since ?? next.since,
        });
  const { pending } = next;
  const pendingChanged = pending !== was.pending || next.pending_reason !== was.pending_reason;
  const doesOther =
    next.engagement !== was.engagement ||
    next.call_id !== was.call_id ||
    next.offer_id !== was.offer_id ||
    next.queue !== was.queue ||
    next.direction !== was.direction;
  if (next.not_responding && !was.not_responding) {
    return say('agent.not_responding', { queue: null, missed: agent.missed });
  }
  if (doesOther) {
    const sameCall = next.call_id === was.call_id && queue === was.queue;
    const talked = was.engagement === 'talking' || was.engagement === 'held';
    const call_id = next.call_id ?? '';
    switch (next.engagement) {
      case 'offered':
        return say('agent.offered', { queue: queue ?? '', call_id, offer_id: next.offer_id ?? '' });
      case 'talking':
        if (talked && sameCall) return say('agent.retrieved', { queue });
        return say('agent.talking', { queue: queue ?? '', call_id });
      case 'held':
        if (!talked || !sameCall) say('agent.talking', { queue: queue ?? '', call_id });
        return say('agent.held', { queue });
      case 'wrap_up': {
        const { wrap } = agent;
        if (wrap === null || wrap.published) break;
        agent.wrap = { ...wrap, published: true };
        const { talk_seconds } = wrap;
        return say('agent.wrap_up', {
          queue: wrap.queue,
          call_id,
          deadline: next.deadline ?? '',
          talk_seconds,
        });
      }
      case 'busy_other':
        return say('agent.busy_other', { queue: null, direction: next.direction ?? 'in' });
      case 'unreachable':
        return say('agent.unreachable', { queue: null });
      case 'idle':
        return noted ? false : sayReadiness();
    }
  }
  if (next.engagement === 'wrap_up' && (doesOther || next.deadline !== was.deadline)) {
    return say('agent.wrap_up_extended', { queue, deadline: next.deadline ?? '' });
  }
  if (pendingChanged)
    return say('agent.pending_changed', { queue: null, pending, reason: next.pending_reason });
  if (noted || sameSummary(was, next)) return false;
  return sayReadiness();
}
/** Ignores the name and the longest time: both come from the directory and are no change of the agent. */
const sameSummary = (a: AgentSummary, b: AgentSummary): boolean =>
  a.state === b.state &&
  a.since === b.since &&
  a.session === b.session &&
  a.readiness.ready === b.readiness.ready &&
  a.readiness.reason === b.readiness.reason &&
  a.readiness.since === b.readiness.since &&
  a.readiness.source === b.readiness.source &&
  a.deadline === b.deadline &&
  a.not_responding === b.not_responding;
