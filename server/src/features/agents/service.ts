import { randomUUID } from 'node:crypto';
import type { AgentReply, AgentRequest, ReadinessSource } from '@offhook/contract/agents.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { asSaid, say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { ExpectedEvent } from '../../ports/live.ts';
import { ChangeFailure, CONFIRM_MS, applyChanges, eventsOf, undoChanges } from './changes.ts';
import type { EngineDeps, QueueOutcome } from './changes.ts';
import { createRateLimit } from '../../core/rate-limit.ts';
import type { Rate } from '../../core/rate-limit.ts';
import type { Lanes } from '../../commands/lanes.ts';
import { list, planFor } from './plan.ts';
import type { ChangeCommand, Plan } from './plan.ts';
import type { Reconciler } from './reconcile.ts';
import { readCommand } from './request.ts';
import { replyOf } from './view.ts';
import type { ViewDeps } from './view.ts';

/** Who asks, and from where. */
export interface By {
  readonly username: string;
  readonly ip: string | null;
  readonly source: ReadinessSource;
  /** May give the reasons that are a supervisor's alone. */
  readonly supervises: boolean;
}
/** Who acts by agent.php: always on the own extension. */
export interface Actor {
  readonly extension: string;
  readonly username: string;
  readonly ip: string | null;
  readonly supervises?: boolean;
}
export interface AgentService {
  /** One action of agent.php. Throws `ServiceError` with a code of wire.md section 5. */
  act(actor: Actor, request: AgentRequest): Promise<AgentReply>;
  /**
   * Reads and does one change of one agent; answers with one sentence for people once the engine has confirmed. What `read` throws
   * is audited as refused.
   */
  change(by: By, extension: string, read: () => ChangeCommand): Promise<string>;
  /** Another deadline for the wrap-up, `seconds` later; at most `WRAP_UP_MOST_SECONDS` in all. Throws `not_in_wrap_up`. */
  extendWrapUp(by: By, extension: string, seconds: number): Promise<string>;
  /** Writes down that this was refused before it could be looked at. */
  refused(by: By, extension: string, error: unknown): Promise<void>;
}
export interface ServiceDeps extends EngineDeps, ViewDeps {
  readonly audit: Audit;
  readonly lanes: Lanes;
  readonly reconciler: Reconciler;
  readonly rate: Rate;
  readonly log: Log;
}
export const WRAP_UP_MOST_SECONDS = 3_600;
const EXTEND = { kind: 'extend_wrap_up', queue: null } as const;

/** Refusals of one agent that are audited; the rest would only fill the disk. */
const AUDITED_REFUSALS: Rate = { burst: 60, per_second: 1 };

export function createAgentService(deps: ServiceDeps): AgentService {
  const { live, tell, clock, directory, audit, lanes, reconciler, log } = deps;
  const limit = createRateLimit(clock, deps.rate);
  const refusals = createRateLimit(clock, AUDITED_REFUSALS);
  const planDeps = { ...deps, waiting: (extension: string) => reconciler.waiting(extension) };

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

  type Audited = ChangeCommand | typeof EXTEND;
  interface Asked {
    readonly by: By;
    readonly extension: string;
    /** Events that it leads to carry it as `caused_by`. */
    readonly operation_id: string;
  }
  const ask = (by: By, extension: string): Asked => ({
    by,
    extension,
    operation_id: `agent-${randomUUID()}`,
  });
  const begin = ({ operation_id }: Asked, expects: readonly ExpectedEvent[]): void => {
    const at = clock.now();
    tell({ type: 'operation.sent', at, operation_id, until: at + CONFIRM_MS, expects });
  };
  const line = (
    { by, extension, operation_id }: Asked,
    command: Audited | null,
    outcome: AuditEntry['outcome'],
    more: AuditEntry['detail'],
  ): AuditEntry => ({
    action: `agent.${command?.kind ?? 'unknown'}`,
    actor: by.username,
    object: extension,
    outcome,
    ip: by.ip,
    detail: {
      ...(outcome === 'ok' ? { operation_id } : {}),
      ...(command === null ? {} : { queue: command.queue }),
      ...(command?.kind === 'pause' ? { reason: command.reason } : {}),
      ...more,
    },
  });
  /** `command` is null where the request was none. What was sent stands in no line: only words of ours do. */
  const auditFailure = async (asked: Asked, command: Audited | null, thrown: unknown): Promise<void> => {
    const error = thrown instanceof ServiceError ? thrown : null;
    const refused = error !== null && error.status < 500;
    try {
      if (refused) refusals.take(asked.by.username);
    } catch {
      return;
    }
    const entry = line(asked, command, refused ? 'refused' : 'failed', { code: error?.code ?? 'internal' });
    await audit.record(entry).catch((e: unknown) => {
      log.warn({ error: messageOf(e), extension: asked.extension }, 'an agent action was not audited');
    });
  };

  /** A confirmed change counts once it is on disk; where the trail or the intent cannot be written it is taken back. */
  const writeDown = async (asked: Asked, command: ChangeCommand, plan: Plan): Promise<void> => {
    const entry = line(asked, command, 'ok', { queues: list(plan.changes.map((c) => c.queue)) });
    const together = audit.recordIn !== undefined;
    await reconciler.keepShown(asked.extension, plan.wanted, together ? [entry] : []);
    if (!together) await audit.record(entry);
  };

  const takeBack = async (failure: ChangeFailure, extension: string, plan: Plan): Promise<ServiceError> => {
    const { error } = failure;
    const left: QueueOutcome[] | null = await undoChanges(deps, failure);
    if (left === null) return error;
    reconciler.doubt(extension, plan.wanted);
    return new ServiceError(error.code, say`${asSaid(error.detail)}; not everything could be taken back`, {
      ...error.extras,
      cause: error,
      body: { ...error.extras.body, queues: left },
    });
  };

  /** The facts that confirm the change carry whose it is. */
  const intend = (extension: string, plan: Plan, source: ReadinessSource | null): void => {
    for (const change of plan.changes) {
      const reason = change.kind === 'remove' ? '' : change.to.reason;
      const queues = [change.queue];
      const together = change.kind !== 'remove';
      tell({
        type: 'agent.intended',
        at: clock.now(),
        extension,
        queues,
        reason,
        source,
        since: null,
        together,
      });
    }
  };
  const endWrapUp = (asked: Asked): void => {
    const { extension } = asked;
    const ready = live.agent(extension)?.summary.readiness.ready === true;
    begin(asked, [{ type: ready ? 'agent.ready' : 'agent.not_ready', extension }]);
    tell({ type: 'agent.wrap_up', at: clock.now(), extension, deadline: null });
  };
  const run = async (asked: Asked, command: ChangeCommand): Promise<boolean> => {
    ensureLive();
    await deps.engine.settled(CONFIRM_MS);
    ensureLive();
    const { extension } = asked;
    let plan = planFor(planDeps, extension, command);
    if (plan.changes.length === 0) {
      await deps.engine.roundTrip(CONFIRM_MS);
      ensureLive();
      plan = planFor(planDeps, extension, command);
    }
    if (plan.changes.length === 0) {
      if (command.kind === 'finish_wrap_up') {
        endWrapUp(asked);
        await writeDown(asked, command, plan);
        return true;
      }
      await reconciler.keepShown(extension, plan.wanted);
      return false;
    }
    limit.take(extension);
    reconciler.begin(extension);
    intend(extension, plan, asked.by.source);
    begin(asked, plan.changes.flatMap(eventsOf));
    try {
      await applyChanges(deps, plan.changes, CONFIRM_MS);
      try {
        await writeDown(asked, command, plan);
      } catch (error) {
        const outcomes = new Map(plan.changes.map((c) => [c, { state: 'sent', error: null } as const]));
        const cause =
          error instanceof ServiceError
            ? error
            : new ServiceError('store_unavailable', messageOf(error), { cause: error });
        throw new ChangeFailure(cause, outcomes);
      }
      if (command.kind === 'finish_wrap_up' && live.agent(extension)?.wrap_up_deadline != null) {
        endWrapUp(asked);
      }
      return true;
    } catch (error) {
      throw error instanceof ChangeFailure ? await takeBack(error, extension, plan) : error;
    } finally {
      intend(extension, plan, null);
      reconciler.end(extension);
    }
  };

  const said = (extension: string, command: ChangeCommand, changed: boolean): string => {
    const { queue, within = null } = command;
    const all = queue === null && within === null;
    const where = all ? 'in every queue' : `in ${queue ?? list(within!)}`;
    const later =
      command.kind === 'logout' && command.waits && live.agent(extension)?.summary.pending === 'logged_out';
    const what = {
      pause: `Paused ${where}${command.kind === 'pause' ? `: ${command.reason}` : ''}`,
      unpause: `Ready ${where}`,
      login: `Logged in ${where}`,
      logout: later ? `Logs out${all ? '' : ` ${where}`} when the call is over` : `Logged out ${where}`,
      cancel_pending: 'Nothing waits for the end of the call',
      finish_wrap_up: 'The wrap-up is over',
    }[command.kind];
    return changed ? what : `${what} (nothing to change)`;
  };
  const change: AgentService['change'] = async (by, extension, read) => {
    const asked = ask(by, extension);
    let command: ChangeCommand | null = null;
    try {
      const read_ = read();
      command = read_;
      const changed = await lanes.run(extension, () => run(asked, read_));
      return said(extension, command, changed);
    } catch (error) {
      await auditFailure(asked, command, error);
      throw error;
    }
  };

  return {
    async act({ extension, username, ip, supervises = false }, request) {
      const by: By = { username, ip, source: 'agent', supervises };
      const asked = ask(by, extension);
      let command: ReturnType<typeof readCommand>;
      try {
        command = readCommand(request, directory, live, supervises);
      } catch (error) {
        await auditFailure(asked, null, error);
        throw error;
      }
      if (command.kind === 'read') return replyOf(deps, extension, 'Nothing was changed');
      const wanted = command;
      return replyOf(deps, extension, await change(by, extension, () => wanted));
    },
    change,
    extendWrapUp(by, extension, seconds) {
      const asked = ask(by, extension);
      return lanes.run(extension, async () => {
        try {
          ensureLive();
          const { wrap_up_deadline: before = null, summary } = live.agent(extension) ?? {};
          if (before === null || summary?.engagement !== 'wrap_up') {
            throw new ServiceError('not_in_wrap_up', say`${extension} is not in wrap-up`);
          }
          const deadline = before + seconds * 1000;
          if (deadline > Date.parse(summary.since) + WRAP_UP_MOST_SECONDS * 1000) {
            throw new ServiceError(
              'invalid_request',
              say`extend_seconds: a wrap-up lasts ${WRAP_UP_MOST_SECONDS} s at most`,
            );
          }
          await audit.record(line(asked, EXTEND, 'ok', { seconds }));
          begin(asked, [{ type: 'agent.wrap_up_extended', extension }]);
          tell({ type: 'agent.wrap_up', at: clock.now(), extension, deadline });
          return `The wrap-up lasts until ${rfc3339(deadline)}`;
        } catch (error) {
          await auditFailure(asked, EXTEND, error);
          throw error;
        }
      });
    },
    refused: (by, extension, error) => auditFailure(ask(by, extension), null, error),
  };
}
