import type { AgentReply, AgentRequest } from '@offhook/contract/agents.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import { ChangeFailure, CONFIRM_MS, applyChanges, changeTo, undoChanges } from './changes.ts';
import type { Change, EngineDeps, QueueOutcome } from './changes.ts';
import { createRateLimit } from './lanes.ts';
import type { Lanes, Rate } from './lanes.ts';
import { ABSENT, READY, pausedWith, rowsOf } from './membership.ts';
import type { Membership } from './membership.ts';
import type { Reconciler } from './reconcile.ts';
import { readCommand } from './request.ts';
import type { AgentCommand } from './request.ts';
import { queuesOf, replyOf } from './view.ts';
import type { ViewDeps } from './view.ts';

/** Who acts: always on the own extension. */
export interface Actor {
  readonly extension: string;
  readonly username: string;
  readonly ip: string | null;
}
export interface AgentService {
  /** One action of agent.php. Throws `ServiceError` with a code of wire.md section 5. */
  act(actor: Actor, request: AgentRequest): Promise<AgentReply>;
}
export interface ServiceDeps extends EngineDeps, ViewDeps {
  readonly audit: Audit;
  readonly lanes: Lanes;
  readonly reconciler: Reconciler;
  readonly rate: Rate;
  readonly log: Log;
}

/** Refusals of one agent that are audited; the rest would only fill the disk. */
const AUDITED_REFUSALS: Rate = { burst: 60, per_second: 1 };

type ChangeCommand = Exclude<AgentCommand, { kind: 'read' }>;
/** What an action wants: the steps that are left to do, and the state each queue of it shall have. */
interface Plan {
  readonly changes: readonly Change[];
  readonly wanted: ReadonlyMap<string, Membership>;
}

const list = (names: readonly string[]): string => names.join(', ');
function notIn(extension: string, queue: string | null): ServiceError {
  const where = queue === null ? 'any queue' : queue;
  return new ServiceError('not_in_queue', `${extension} is not a member of ${where}`);
}

export function createAgentService(deps: ServiceDeps): AgentService {
  const { engine, live, clock, directory, audit, lanes, reconciler, log } = deps;
  const limit = createRateLimit(clock, deps.rate);
  const refusals = createRateLimit(clock, AUDITED_REFUSALS);

  const ensureLive = (): void => {
    if (!live.live) {
      throw new ServiceError('engine_unavailable', 'The engine is not connected; nothing was changed', {
        retry_after_seconds: 5,
      });
    }
    if (reconciler.restoring()) {
      throw new ServiceError(
        'engine_unavailable',
        'The engine has just restarted; memberships are being restored',
        {
          retry_after_seconds: 1,
        },
      );
    }
  };

  /** Queues a login means: those named, else all the agent may work in. */
  const planLogin = (extension: string, queue: string | null): Plan => {
    const own = queuesOf(deps, extension);
    if (own.length === 0 || (queue !== null && !own.includes(queue))) throw notIn(extension, queue);
    const rows = rowsOf(live, extension);
    // An agent who is paused wherever it works is not rung by a queue that it joins.
    const pause = rows.length > 0 && rows.every((row) => row.paused) ? rows[0]!.paused_reason : null;
    const to = pause === null ? READY : pausedWith(pause);
    const joining = (queue === null ? own : [queue]).filter(
      (name) => !rows.some((row) => row.queue === name),
    );
    return {
      changes: joining.flatMap((name) => changeTo(engine, extension, name, undefined, to) ?? []),
      wanted: new Map(joining.map((name) => [name, to])),
    };
  };
  const planLogout = (extension: string, queue: string | null): Plan => {
    if (queue !== null && !queuesOf(deps, extension).includes(queue)) throw notIn(extension, queue);
    const rows = rowsOf(live, extension).filter((row) => queue === null || row.queue === queue);
    const fixed = rows.filter((row) => row.membership !== 'dynamic').map((row) => row.queue);
    if (fixed.length > 0) {
      throw new ServiceError(
        'static_member',
        `${extension} belongs to ${list(fixed)} by configuration and cannot leave; nothing was changed`,
      );
    }
    const waiting = queue === null ? reconciler.waiting(extension) : [queue];
    return {
      changes: rows.flatMap((row) => changeTo(engine, extension, row.queue, row, ABSENT) ?? []),
      wanted: new Map([...waiting, ...rows.map((row) => row.queue)].map((name) => [name, ABSENT])),
    };
  };
  const planPause = (extension: string, queue: string | null, to: Membership): Plan => {
    const rows = rowsOf(live, extension).filter((row) => queue === null || row.queue === queue);
    const waiting = reconciler.waiting(extension).filter((name) => queue === null || name === queue);
    if (rows.length === 0 && waiting.length > 0) {
      throw new ServiceError('engine_unavailable', `The membership in ${list(waiting)} is being restored`, {
        retry_after_seconds: 1,
      });
    }
    if (rows.length === 0) throw notIn(extension, queue);
    return {
      changes: rows.flatMap((row) => changeTo(engine, extension, row.queue, row, to) ?? []),
      wanted: new Map([...waiting, ...rows.map((row) => row.queue)].map((name) => [name, to])),
    };
  };
  const planFor = (extension: string, command: ChangeCommand): Plan => {
    switch (command.kind) {
      case 'pause':
        return planPause(extension, command.queue, pausedWith(command.reason));
      case 'unpause':
        return planPause(extension, command.queue, READY);
      case 'login':
        return planLogin(extension, command.queue);
      case 'logout':
        return planLogout(extension, command.queue);
    }
  };

  const line = (
    actor: Actor,
    command: ChangeCommand | null,
    outcome: AuditEntry['outcome'],
    more: AuditEntry['detail'],
  ): AuditEntry => ({
    action: `agent.${command?.kind ?? 'unknown'}`,
    actor: actor.username,
    object: actor.extension,
    outcome,
    ip: actor.ip,
    detail: {
      ...(command === null ? {} : { queue: command.queue }),
      ...(command?.kind === 'pause' ? { reason: command.reason } : {}),
      ...more,
    },
  });
  /** `command` is null where the request was none. What was sent stands in no line: only words of ours do. */
  const auditFailure = async (
    actor: Actor,
    command: ChangeCommand | null,
    thrown: unknown,
  ): Promise<void> => {
    const error = thrown instanceof ServiceError ? thrown : null;
    const refused = error !== null && error.status < 500;
    try {
      if (refused) refusals.take(actor.extension);
    } catch {
      return;
    }
    const entry = line(actor, command, refused ? 'refused' : 'failed', { code: error?.code ?? 'internal' });
    await audit.record(entry).catch((e: unknown) => {
      log.warn({ error: messageOf(e), extension: actor.extension }, 'an agent action was not audited');
    });
  };

  /** A confirmed change counts once it is on disk; where the trail or the intent cannot be written it is taken back. */
  const writeDown = async (actor: Actor, command: ChangeCommand, plan: Plan): Promise<void> => {
    const entry = line(actor, command, 'ok', { queues: list(plan.changes.map((c) => c.queue)) });
    const together = audit.recordIn !== undefined;
    await reconciler.keepShown(actor.extension, plan.wanted, together ? [entry] : []);
    if (!together) await audit.record(entry);
  };

  const takeBack = async (failure: ChangeFailure, extension: string, plan: Plan): Promise<ServiceError> => {
    const { error } = failure;
    const left: QueueOutcome[] | null = await undoChanges(deps, failure);
    if (left === null) return error;
    reconciler.doubt(extension, plan.wanted);
    return new ServiceError(error.code, `${error.message}; not everything could be taken back`, {
      ...error.extras,
      cause: error,
      body: { ...error.extras.body, queues: left },
    });
  };

  const run = async (actor: Actor, command: ChangeCommand): Promise<boolean> => {
    ensureLive();
    const plan = planFor(actor.extension, command);
    if (plan.changes.length === 0) {
      await reconciler.keepShown(actor.extension, plan.wanted);
      return false;
    }
    limit.take(actor.extension);
    reconciler.begin(actor.extension);
    try {
      await applyChanges(deps, plan.changes, CONFIRM_MS);
      try {
        await writeDown(actor, command, plan);
      } catch (error) {
        const outcomes = new Map(plan.changes.map((c) => [c, { state: 'sent', error: null } as const]));
        const cause =
          error instanceof ServiceError
            ? error
            : new ServiceError('store_unavailable', messageOf(error), { cause: error });
        throw new ChangeFailure(cause, outcomes);
      }
      return true;
    } catch (error) {
      throw error instanceof ChangeFailure ? await takeBack(error, actor.extension, plan) : error;
    } finally {
      reconciler.end(actor.extension);
    }
  };

  const said = (command: ChangeCommand, changed: boolean): string => {
    const where = command.queue === null ? 'in every queue' : `in ${command.queue}`;
    const what = {
      pause: `Paused ${where}${command.kind === 'pause' ? `: ${command.reason}` : ''}`,
      unpause: `Ready ${where}`,
      login: `Logged in ${where}`,
      logout: `Logged out ${where}`,
    }[command.kind];
    return changed ? what : `${what} (nothing to change)`;
  };

  return {
    async act(actor, request) {
      let command: AgentCommand | null = null;
      try {
        command = readCommand(request, directory, live);
        if (command.kind === 'read') return replyOf(deps, actor.extension, 'Nothing was changed');
        const change = command;
        const changed = await lanes.run(actor.extension, () => run(actor, change));
        return replyOf(deps, actor.extension, said(change, changed));
      } catch (error) {
        await auditFailure(actor, command as ChangeCommand | null, error);
        throw error;
      }
    },
  };
}
