import type { ReadinessSource } from '@offhook/contract/agents.ts';
import { WRAP_UP } from '../../pbx/agent-reasons.ts';
import { isPaused } from '../../pbx/agent-state.ts';
import type { Line } from '../../commands/audited.ts';
import type { Command, Commands } from '../../commands/kernel.ts';
import { ServiceError, markUncertain, messageOf } from '../../core/errors.ts';
import { asSaid, say } from '../../core/said.ts';
import type { RateLimit } from '../../core/rate-limit.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { QueueMember } from '../../ports/engine-state.ts';
import type { ExpectedEvent } from '../../ports/live.ts';
import { ChangeFailure, CONFIRM_MS, applyChanges, eventsOf, undoChanges } from './changes.ts';
import type { EngineDeps } from './changes.ts';
import { rowsOf } from './membership.ts';
import { list, planFor } from './plan.ts';
import type { ChangeCommand, Plan } from './plan.ts';
import type { Reconciler } from './reconcile.ts';
import type { ViewDeps } from './view.ts';

/** The caller of a change. */
export interface By {
  readonly username: string;
  readonly ip: string | null;
  readonly source: ReadinessSource;
  /** May use the pause reasons that only supervisors may give. */
  readonly supervises: boolean;
}
export interface CommandDeps extends EngineDeps, ViewDeps {
  readonly audit: Audit;
  readonly reconciler: Reconciler;
  readonly commands: Pick<Commands, 'expect'>;
  /** Limit of the changes of each agent that reach the engine. */
  readonly limit: RateLimit;
}
type Audited = { readonly kind: ChangeCommand['kind'] | 'extend_wrap_up'; readonly queue: string | null };

/** Entry of the audit trail; `command` is null for an invalid request, whose own text is never stored. */
export const lineOf = (
  by: By,
  extension: string,
  command: Audited | ChangeCommand | null,
  more: AuditEntry['detail'] = {},
): Line => ({
  action: `agent.${command?.kind ?? 'unknown'}`,
  actor: by.username,
  object: extension,
  ip: by.ip,
  detail: {
    ...(command === null ? {} : { queue: command.queue }),
    ...(command !== null && 'reason' in command ? { reason: command.reason } : {}),
    ...more,
  },
});

/** Plans a change of one agent from the engine's state; the command resolves to whether anything changed. */
export function changeCommand(
  deps: CommandDeps,
  by: By,
  extension: string,
  command: ChangeCommand,
  operation_id: string,
): Command<boolean> {
  const { reconciler, live } = deps;
  const waiting = (whose: string): string[] => reconciler.waiting(whose);
  const plan = planFor({ ...deps, waiting }, extension, command);
  const line = lineOf(by, extension, command, {
    operation_id,
    queues: list(plan.changes.map((change) => change.queue)),
  });
  const audit = (entry: AuditEntry): Promise<void> => writeDown(deps, extension, plan, entry);
  if (plan.changes.length === 0 && command.kind === 'finish_wrap_up') {
    const run = async (): Promise<boolean> => endWrapUp(deps, extension);
    const causes = { expects: [endOfWrapUp(deps, extension, plan)], ms: CONFIRM_MS };
    return { isSo: true, line, causes, run, audit };
  }
  if (plan.changes.length === 0) {
    const run = async (): Promise<boolean> => {
      await reconciler.keepShown(extension, plan.wanted);
      return false;
    };
    return { isSo: true, run, audit: 'no_line' };
  }
  deps.limit.take(extension);
  return {
    line,
    causes: { expects: expectsOf(deps, extension, plan), ms: CONFIRM_MS },
    enter() {
      reconciler.begin(extension);
      intend(deps, extension, plan, by.source);
      return () => {
        intend(deps, extension, plan, null);
        reconciler.end(extension);
      };
    },
    async run() {
      await applyChanges(deps, plan.changes, CONFIRM_MS);
      return true;
    },
    async audit(entry) {
      await audit(entry);
      if (command.kind !== 'finish_wrap_up' || live.agent(extension)?.wrap_up_deadline == null) return;
      deps.commands.expect(operation_id, [endOfWrapUp(deps, extension, plan)], CONFIRM_MS);
      endWrapUp(deps, extension);
    },
    undo: (error) => takeBack(deps, extension, plan, error),
  };
}

/** Records the source that the confirming facts will carry; a `source` of null removes it. */
function intend(
  { tell, clock }: CommandDeps,
  extension: string,
  { changes }: Plan,
  source: ReadinessSource | null,
): void {
  const at = clock.now();
  for (const [reason, of] of Map.groupBy(changes, (c) => (c.kind === 'remove' ? null : c.to.reason))) {
    const queues = of.map(({ queue }) => queue);
    const together = reason !== null;
    tell({
      type: 'agent.intended',
      at,
      extension,
      queues,
      reason: reason ?? '',
      source,
      since: null,
      together,
    });
  }
}
/** Events of each queue, and of the end of a wrap-up if these changes end its last pause. */
function expectsOf(deps: CommandDeps, extension: string, plan: Plan): ExpectedEvent[] {
  const expects = plan.changes.flatMap(eventsOf);
  const held = rowsOf(deps.live, extension).filter((row) => row.paused && row.paused_reason === WRAP_UP);
  const ends = ({ queue }: QueueMember): boolean =>
    plan.changes.some((c) => c.queue === queue && c.kind === 'pause' && !c.to.paused);
  return held.length > 0 && held.every(ends) ? [...expects, endOfWrapUp(deps, extension, plan)] : expects;
}
/** The event of the end of a wrap-up: pauses that these changes leave then take effect. */
function endOfWrapUp({ live }: CommandDeps, extension: string, { changes }: Plan): ExpectedEvent {
  const away = rowsOf(live, extension).some(
    (row) => isPaused(row) && !changes.some(({ queue }) => queue === row.queue),
  );
  return { type: away ? 'agent.not_ready' : 'agent.ready', extension, queue: null };
}
function endWrapUp({ tell, clock }: CommandDeps, extension: string): true {
  tell({ type: 'agent.wrap_up', at: clock.now(), extension, deadline: null });
  return true;
}
/**
 * A confirmed change counts once it is stored, in one transaction with its audit entry where the trail
 * supports that.
 */
async function writeDown(
  { audit, reconciler }: CommandDeps,
  extension: string,
  { wanted }: Plan,
  entry: AuditEntry,
): Promise<void> {
  const together = audit.recordIn !== undefined;
  await reconciler.keepShown(extension, wanted, together ? [entry] : []);
  if (!together) await audit.record(entry);
}
/** Failure of a confirmed change that could not be stored: all of it is to be undone. */
function unwritten({ changes }: Plan, error: unknown): ChangeFailure {
  const cause =
    error instanceof ServiceError
      ? error
      : new ServiceError('store_unavailable', messageOf(error), { cause: error });
  return new ChangeFailure(
    cause,
    new Map(changes.map((change) => [change, { state: 'sent', error: null } as const])),
  );
}
/** Undoes a failed change; resolves with the error to answer, which names the queues where the undo failed too. */
async function takeBack(
  deps: CommandDeps,
  extension: string,
  plan: Plan,
  thrown: unknown,
): Promise<ServiceError> {
  const failure = thrown instanceof ChangeFailure ? thrown : unwritten(plan, thrown);
  const { error } = failure;
  const left = await undoChanges(deps, failure);
  if (left === null) return error;
  deps.reconciler.doubt(extension, plan.wanted);
  const partly = new ServiceError(error.code, say`${asSaid(error.detail)}; not all changes could be undone`, {
    ...error.extras,
    cause: error,
    body: { ...error.extras.body, queues: left },
  });
  markUncertain(partly);
  return partly;
}
