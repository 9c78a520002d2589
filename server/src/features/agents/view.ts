import type { Agent, AgentQueue, AgentReply, StatusKey } from '@offhook/contract/agents.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { QueueMember } from '../../ports/engine.ts';
import type { LiveAgent, LiveExtension, LiveView } from '../../ports/live.ts';
import type { Intents } from './intents.ts';
import { carriable, rowsOf } from './membership.ts';

type Status = z.infer<typeof StatusKey>;
export interface ViewDeps {
  readonly live: LiveView;
  readonly directory: Directory;
  readonly intents: Intents;
}

/** Names of the queues of an agent: those it may work in, in the directory's order, then those it is in besides. */
export function queuesOf({ directory, live }: ViewDeps, extension: string): string[] {
  const names = directory.queuesOf(extension).map((queue) => queue.name);
  return [...new Set([...names, ...rowsOf(live, extension).map((row) => row.queue)])];
}

const time = (ms: number | null): string | null => (ms === null ? null : rfc3339(ms));
interface Pause {
  readonly reason: string;
  readonly since: number;
}
/** The newest pause of an agent; the engine forgets when a pause began, so the intent's own time goes first. */
function pauseIn(deps: ViewDeps, agent: LiveAgent, row: QueueMember): Pause | null {
  if (!row.paused) return null;
  const intent = deps.intents.get(agent.extension, row.queue);
  const known = intent?.paused && intent.reason === carriable(row.paused_reason) ? intent.since : null;
  return { reason: row.paused_reason, since: known ?? row.paused_at ?? agent.readiness_since };
}
const newest = (pauses: readonly Pause[]): Pause | null =>
  pauses.reduce<Pause | null>((best, p) => (best === null || p.since > best.since ? p : best), null);

function stateOf(agent: LiveAgent | undefined, paused: boolean): Agent['state'] {
  if (agent === undefined || agent.members.length === 0) return 'logged_out';
  if (agent.engagement !== 'idle') return agent.engagement;
  return paused ? 'not_ready' : 'available';
}
const RINGING = new Set(['ringing', 'in_call_and_ringing']);
const ENGAGED = new Set(['in_call', 'on_hold', 'in_call_and_ringing', 'busy']);

/**
 * A call counts before a pause, because the tile shows what the agent does; a pause counts before a missing device, because it
 * is what the person said and can take back.
 */
function statusOf(agent: Agent, activity: LiveExtension['activity'] | undefined): Status {
  if (agent.session === 'logged_out') return 'OFFLINE';
  const { engagement } = agent;
  if (engagement === 'talking' || engagement === 'held' || engagement === 'busy_other') return 'BUSY';
  if (activity !== undefined && ENGAGED.has(activity)) return 'BUSY';
  if (engagement === 'offered' || (activity !== undefined && RINGING.has(activity))) return 'RINGING';
  if (!agent.readiness.ready) return 'PAUSED';
  return engagement === 'unreachable' ? 'OFFLINE' : 'READY';
}

/** The full agent of domain.md section 2, from memory. */
export function agentOf(deps: ViewDeps, extension: string): Agent {
  const { live, directory, intents } = deps;
  const agent = live.agent(extension);
  const members = agent?.members ?? [];
  const pauses = agent ? members.flatMap((row) => pauseIn(deps, agent, row) ?? []) : [];
  const pause = newest(pauses);
  const queues = queuesOf(deps, extension).map((queue): AgentQueue => {
    const row = members.find((m) => m.queue === queue);
    const paused = row && agent ? pauseIn(deps, agent, row) : null;
    return {
      queue,
      member: row !== undefined,
      membership: row?.membership ?? null,
      paused: paused !== null,
      pause_reason: paused?.reason ?? null,
      paused_since: time(paused?.since ?? null),
      in_call: row?.in_call ?? false,
      last_call_at: time(row?.last_call_at ?? null),
    };
  });
  const state = stateOf(agent, pause !== null);
  const loggedOutAt = Math.max(0, ...intents.of(extension).map((i) => i.since));
  const since =
    state === 'logged_out'
      ? loggedOutAt || live.as_of
      : state === 'not_ready'
        ? pause!.since
        : state === 'available'
          ? Math.max(agent!.since, agent!.readiness_since)
          : agent!.since;
  return {
    extension,
    name: directory.byExtension(extension)?.name ?? extension,
    state,
    since: rfc3339(since),
    session: members.length > 0 ? 'logged_in' : 'logged_out',
    readiness: {
      ready: members.length > 0 && pause === null,
      reason: pause?.reason ?? null,
      since: members.length > 0 ? time(pause?.since ?? agent!.readiness_since) : null,
      source: null,
    },
    pending: null,
    pending_reason: null,
    engagement: agent?.engagement ?? 'idle',
    queue: null,
    call_id: null,
    offer_id: null,
    deadline: null,
    direction: null,
    not_responding: false,
    stale: !live.live,
    queues,
  };
}

/** The reply of every action. `message` is one sentence for people. */
export function replyOf(deps: ViewDeps, extension: string, message: string): AgentReply {
  const agent = agentOf(deps, extension);
  const catalogue = deps.directory.pauseReasons();
  const paused = agent.queues.some((q) => q.paused);
  return {
    success: true,
    message,
    agent_extension: extension,
    in_queue: agent.session === 'logged_in',
    is_paused: paused,
    pause_reason: paused ? (agent.readiness.reason ?? '') : '',
    pause_start: paused ? agent.readiness.since : null,
    reasons: catalogue.map((reason) => reason.id),
    pause_reasons: catalogue.map(({ id, name }) => ({ id, name })),
    status_key: statusOf(agent, deps.live.extension(extension)?.activity),
    agent,
  };
}
