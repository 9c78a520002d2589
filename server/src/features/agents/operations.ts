import {
  AgentChangeReply,
  AgentPath,
  AgentPauseBody,
  AgentQueueBody,
  AgentWrapUpBody,
} from '@offhook/contract/agents.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { agentsOf, reaches } from '../../core/rights.ts';
import type { Actor, AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { ChangeCommand } from './plan.ts';
import { readQueue, readReason } from './request.ts';
import type { AgentService, By } from './service.ts';
import { agentOf } from './view.ts';
import type { ViewDeps } from './view.ts';

const ERRORS: readonly ErrorCode[] = [
  'invalid_request',
  'not_found',
  'no_such_queue',
  'not_in_queue',
  'too_many_requests',
  'engine_refused',
  'engine_unavailable',
  'store_unavailable',
  'engine_timeout',
];

/** What an agent does with itself, and a supervisor with others, the same by REST and on the stream. */
export function agentOperations(
  define: DefineOperation,
  service: AgentService,
  deps: ViewDeps,
): AnyOperation[] {
  const { directory, live } = deps;
  const byOf = ({ caller, ip }: Actor, extension: string): By => ({
    username: caller.username,
    ip,
    source: caller.extension === extension && caller.key === null ? 'agent' : 'supervisor',
    supervises: caller.key !== null || includesLevel(caller.level, 'supervisor'),
  });
  /** Oneself, or any agent for a supervisor. Throws `forbidden` or `not_found`. */
  const ensureMay = async (actor: Actor, by: By, extension: string): Promise<void> => {
    let error: ServiceError | null = null;
    if (!reaches(agentsOf(actor.caller, 'control'), extension)) {
      error = new ServiceError('forbidden', say`you may not change the agent ${extension}`);
    } else if (live.agent(extension) === undefined) {
      error = new ServiceError('not_found', say`${extension} is no agent`);
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
        throw new ServiceError('no_such_queue', say`There is no queue ${command.queue}`);
      }
      return { ...command, within };
    });
    return { success: true as const, message, agent: agentOf(deps, extension) };
  };
  /** A wrap-up is of one queue's call. */
  const ensureOwnWrapUp = async (actor: Actor, by: By, extension: string): Promise<void> => {
    const queues = actor.caller.key?.queues ?? null;
    const queue = live.agent(extension)?.summary.queue ?? null;
    if (queue === null || reaches(queues, queue)) return;
    const error = new ServiceError(
      'not_in_wrap_up',
      say`${extension} is in no wrap-up of a queue of this key`,
    );
    await service.refused(by, extension, error);
    throw error;
  };
  const queueOf = (given: string | undefined): string | null => readQueue(directory, live, given);

  const common = {
    method: 'POST',
    level: 'agent',
    scope: 'agents:control',
    tag: 'agents',
    own: true,
    params: AgentPath,
    reply: AgentChangeReply,
  } as const;
  return [
    define({
      ...common,
      action: 'agents.login',
      alias: 'agent.login',
      path: '/api/v1/agents/:extension/login',
      summary: 'Log an agent in to its queues, or to one',
      errors: ERRORS,
      body: AgentQueueBody,
      run: (actor, { params, body }) =>
        changed(actor, params.extension, () => ({ kind: 'login', queue: queueOf(body.queue) })),
    }),
    define({
      ...common,
      action: 'agents.logout',
      alias: 'agent.logout',
      path: '/api/v1/agents/:extension/logout',
      summary: 'Log an agent out of its queues, or of one; in a call it waits for its end',
      errors: [...ERRORS, 'static_member'],
      body: AgentQueueBody,
      run: (actor, { params, body }) =>
        changed(actor, params.extension, () => ({
          kind: 'logout',
          queue: queueOf(body.queue),
          waits: true,
        })),
    }),
    define({
      ...common,
      action: 'agents.pause',
      alias: 'agent.pause',
      path: '/api/v1/agents/:extension/pause',
      summary: 'Pause an agent; in a call no other is offered, and it counts after the wrap-up',
      errors: [...ERRORS, 'unknown_reason'],
      body: AgentPauseBody,
      run: (actor, { params, body }) =>
        changed(actor, params.extension, ({ supervises }) => ({
          kind: 'pause',
          queue: queueOf(body.queue),
          reason: readReason(directory, body.reason, supervises).id,
        })),
    }),
    define({
      ...common,
      action: 'agents.unpause',
      alias: 'agent.unpause',
      path: '/api/v1/agents/:extension/unpause',
      summary: 'Make an agent ready; ends a wrap-up, and what waits for the end of a call',
      errors: ERRORS,
      body: AgentQueueBody,
      run: (actor, { params, body }) =>
        changed(actor, params.extension, () => ({ kind: 'unpause', queue: queueOf(body.queue) })),
    }),
    define({
      ...common,
      action: 'agents.cancel-pending',
      alias: 'agent.cancel-pending',
      path: '/api/v1/agents/:extension/cancel-pending',
      summary: 'Take back what waits for the end of the call',
      errors: ERRORS,
      body: NoFields,
      run: (actor, { params }) =>
        changed(actor, params.extension, () => ({ kind: 'cancel_pending', queue: null })),
    }),
    define({
      ...common,
      action: 'agents.wrap-up',
      alias: 'agent.wrap-up',
      path: '/api/v1/agents/:extension/wrap-up',
      summary: 'Finish the wrap-up now, or give it a later deadline',
      errors: [...ERRORS, 'not_in_wrap_up'],
      body: AgentWrapUpBody,
      async run(actor, { params: { extension }, body }) {
        const by = byOf(actor, extension);
        await ensureMay(actor, by, extension);
        await ensureOwnWrapUp(actor, by, extension);
        if ('finish' in body) {
          return changed(actor, extension, () => ({ kind: 'finish_wrap_up', queue: null }));
        }
        const message = await service.extendWrapUp(by, extension, body.extend_seconds);
        return { success: true as const, message, agent: agentOf(deps, extension) };
      },
    }),
  ];
}
