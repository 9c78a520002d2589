import { agents as operations } from '@offhook/contract/operations/agents.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { shownTo } from '../../rights/display.ts';
import { agentsOf, reaches } from '../../rights/rights.ts';
import type { Actor, Served } from '../../ports/operations.ts';
import type { Agents } from './feature.ts';
import type { ChangeCommand } from './plan.ts';
import { readQueue, readReason } from './request.ts';
import type { By } from './command.ts';
import type { AgentService } from './service.ts';
import { agentOf } from './view.ts';
import type { ViewDeps } from './view.ts';

/** Operations to read agents (an agent reads itself), to change oneself, and to change others as a supervisor. */
export function agentOperations(
  agents: Pick<Agents, 'list' | 'one' | 'reasons' | 'act'>,
  service: AgentService,
  deps: ViewDeps,
): Served<typeof operations> {
  const { directory, live } = deps;
  const byOf = ({ caller, ip }: Actor, extension: string): By => ({
    username: caller.username,
    ip,
    source: caller.extension === extension && caller.key === null ? 'agent' : 'supervisor',
    supervises: caller.key !== null || includesLevel(caller.level, 'supervisor'),
  });
  /** Allows oneself, and a supervisor every agent. Throws `forbidden` or `not_found`. */
  const ensureMay = async (actor: Actor, by: By, extension: string): Promise<void> => {
    let error: ServiceError | null = null;
    if (!reaches(agentsOf(actor.caller, 'control'), extension)) {
      error = new ServiceError('forbidden', say`you may not change the agent ${extension}`);
    } else if (live.agent(extension) === undefined) {
      error = new ServiceError('not_found', say`${extension} is not an agent`);
    }
    if (error === null) return;
    await service.refused(by, extension, error);
    throw error;
  };
  const changed = async (actor: Actor, extension: string, read: (by: By) => ChangeCommand) => {
    const by = byOf(actor, extension);
    await ensureMay(actor, by, extension);
    const within = actor.caller.key?.queues ?? null;
    const message = await service.change(by, extension, () => {
      const command = read(by);
      if (command.queue !== null && !reaches(within, command.queue)) {
        throw new ServiceError('no_such_queue', say`there is no queue ${command.queue}`);
      }
      return { ...command, within };
    });
    return shownTo(actor.caller, { success: true as const, message, agent: agentOf(deps, extension) });
  };
  /** Rejects a key without access to the queue whose call the wrap-up follows. */
  const ensureOwnWrapUp = async (actor: Actor, by: By, extension: string): Promise<void> => {
    const queues = actor.caller.key?.queues ?? null;
    const queue = live.agent(extension)?.summary.queue ?? null;
    if (queue === null || reaches(queues, queue)) return;
    const error = new ServiceError(
      'not_in_wrap_up',
      say`${extension} is not in wrap-up in a queue of this API key`,
    );
    await service.refused(by, extension, error);
    throw error;
  };
  const queueOf = (given: string | undefined): string | null => readQueue(directory, live, given);

  return {
    operations,
    handlers: {
      list: ({ caller }, { query }) => agents.list(caller, query),
      get: ({ caller }, { params }) => agents.one(caller, params.extension),
      pauseReasons: () => ({ pause_reasons: [...agents.reasons()] }),
      login: (actor, { params, body }) =>
        changed(actor, params.extension, () => ({ kind: 'login', queue: queueOf(body.queue) })),
      logout: (actor, { params, body }) =>
        changed(actor, params.extension, () => ({ kind: 'logout', queue: queueOf(body.queue), waits: true })),
      pause: (actor, { params, body }) =>
        changed(actor, params.extension, ({ supervises }) => ({
          kind: 'pause',
          queue: queueOf(body.queue),
          reason: readReason(directory, body.reason, supervises).id,
        })),
      unpause: (actor, { params, body }) =>
        changed(actor, params.extension, () => ({ kind: 'unpause', queue: queueOf(body.queue) })),
      cancelPending: (actor, { params }) =>
        changed(actor, params.extension, () => ({ kind: 'cancel_pending', queue: null })),
      async wrapUp(actor, { params: { extension }, body }) {
        const by = byOf(actor, extension);
        await ensureMay(actor, by, extension);
        await ensureOwnWrapUp(actor, by, extension);
        if ('finish' in body)
          return changed(actor, extension, () => ({ kind: 'finish_wrap_up', queue: null }));
        const message = await service.extendWrapUp(by, extension, body.extend_seconds);
        return shownTo(actor.caller, { message, agent: agentOf(deps, extension) });
      },
      /** POST /api/cc_actions/agent.php (wire.md section 5). */
      act({ caller: { extension, username, level }, ip }, { body }) {
        const supervises = includesLevel(level, 'supervisor');
        return agents.act({ extension, username, ip, supervises }, body);
      },
    },
  };
}
