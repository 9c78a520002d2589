import type { Agent, AgentQueue, AgentReply, StatusKey } from '@offhook/contract/agents.ts';
import type { z } from 'zod';
import { rfc3339OrNull } from '../../core/clock.ts';
import { isPaused, loggedOut } from '../../pbx/agent-state.ts';
import type { QueueMember } from '../../ports/engine-state.ts';
import type { LiveExtension } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';
import { rowsOf } from './membership.ts';

type Status = z.infer<typeof StatusKey>;
export type ViewDeps = Common<'directory' | 'live'>;

/** Queues of an agent: those it may work in, in the directory's order, then others it is a member of. */
export function queuesOf({ directory, live }: ViewDeps, extension: string): string[] {
  const names = directory.queuesOf(extension).map((queue) => queue.name);
  return [...new Set([...names, ...rowsOf(live, extension).map((row) => row.queue)])];
}

const queueOf = (queue: string, row: QueueMember | undefined): AgentQueue => {
  // A wrap-up pause by the system is not shown as a pause.
  const paused = row !== undefined && isPaused(row);
  return {
    queue,
    member: row !== undefined,
    membership: row?.membership ?? null,
    paused,
    pause_reason: paused ? row.paused_reason : null,
    paused_since: paused ? rfc3339OrNull(row.paused_at) : null,
    in_call: row?.in_call ?? false,
    last_call_at: rfc3339OrNull(row?.last_call_at ?? null),
  };
};

/** The full agent of domain.md section 2, from memory. */
export function agentOf(deps: ViewDeps, extension: string): Agent {
  const { live, directory } = deps;
  const rows = rowsOf(live, extension);
  const summary = live.agent(extension)?.summary ?? loggedOut(extension, extension, live.as_of);
  return {
    ...summary,
    name: directory.byExtension(extension)?.name ?? summary.name,
    stale: !live.live,
    queues: queuesOf(deps, extension).map((queue) =>
      queueOf(
        queue,
        rows.find((row) => row.queue === queue),
      ),
    ),
  };
}

const RINGING = new Set(['ringing', 'in_call_and_ringing']);
const ENGAGED = new Set(['in_call', 'on_hold', 'in_call_and_ringing', 'busy']);
/**
 * A call outranks a pause, because the tile shows what the agent does; a pause outranks a missing device,
 * because the person chose it and can end it.
 */
function statusOf(agent: Agent, paused: boolean, extension: LiveExtension | undefined): Status {
  if (agent.session === 'logged_out') return 'OFFLINE';
  const { engagement } = agent;
  const activity = extension?.activity ?? 'idle';
  if (engagement === 'talking' || engagement === 'held' || engagement === 'busy_other') return 'BUSY';
  if (ENGAGED.has(activity)) return 'BUSY';
  if (engagement === 'offered' || RINGING.has(activity)) return 'RINGING';
  if (paused) return 'PAUSED';
  return engagement === 'unreachable' || extension?.reachability === 'offline' ? 'OFFLINE' : 'READY';
}

/** Reply of every action of agent.php. `message` is one sentence for people. */
export function replyOf(deps: ViewDeps, extension: string, message: string): AgentReply {
  const agent = agentOf(deps, extension);
  const catalogue = deps.directory.pauseReasons();
  const newest = agent.queues
    .filter((q) => q.paused)
    .reduce<AgentQueue | null>(
      (best, q) => (best === null || (q.paused_since ?? '') > (best.paused_since ?? '') ? q : best),
      null,
    );
  return {
    success: true,
    message,
    agent_extension: extension,
    in_queue: agent.session === 'logged_in',
    is_paused: newest !== null,
    pause_reason: newest?.pause_reason ?? '',
    // The agent's effective reason began with its first queue, not with the newest pause.
    pause_start:
      newest !== null && newest.pause_reason === agent.readiness.reason
        ? agent.readiness.since
        : (newest?.paused_since ?? null),
    reasons: catalogue.map((reason) => reason.id),
    pause_reasons: catalogue.map(({ id, name }) => ({ id, name })),
    status_key: statusOf(agent, newest !== null, deps.live.extension(extension)),
    agent,
  };
}
