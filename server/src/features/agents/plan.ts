import { LOGOUT, WRAP_UP } from '../../pbx/agent-reasons.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { QueueMember } from '../../ports/engine-state.ts';
import { changeTo } from './changes.ts';
import type { Change, EngineDeps } from './changes.ts';
import { ABSENT, READY, chosen, joinedAs, pausedWith, rowsOf } from './membership.ts';
import type { Membership } from './membership.ts';
import { queuesOf } from './view.ts';
import type { ViewDeps } from './view.ts';

/** A requested change. `queue` null means all queues of the agent, or those in `within` for a limited caller. */
export type ChangeCommand = { readonly within?: readonly string[] | null } & (
  | { readonly kind: 'pause'; readonly queue: string | null; readonly reason: string }
  | { readonly kind: 'unpause' | 'login'; readonly queue: string | null }
  /** `waits`: during a call the agent stays a member until its end. */
  | { readonly kind: 'logout'; readonly queue: string | null; readonly waits: boolean }
  | { readonly kind: 'cancel_pending' | 'finish_wrap_up'; readonly queue: null }
);
const covers = ({ queue, within }: Pick<ChangeCommand, 'queue' | 'within'>, name: string): boolean =>
  queue === null ? (within ?? null) === null || within!.includes(name) : name === queue;

/** Remaining changes, and the state that each queue shall have; states that no person chose are not in `wanted`. */
export interface Plan {
  readonly changes: readonly Change[];
  readonly wanted: ReadonlyMap<string, Membership>;
}
export interface PlanDeps extends EngineDeps, ViewDeps {
  /** Queues of this agent that are still to be restored. */
  waiting(extension: string): string[];
}

export const list = (names: readonly string[]): string => names.join(', ');
function notIn(extension: string, queue: string | null): ServiceError {
  const detail =
    queue === null
      ? say`${extension} is not a member of any queue`
      : say`${extension} is not a member of ${queue}`;
  return new ServiceError('not_in_queue', detail);
}
const isFor = (row: QueueMember, reason: string): boolean => row.paused && row.paused_reason === reason;
/** While one of these lasts, changes of readiness wait. */
const BUSY = new Set(['talking', 'held', 'offered', 'wrap_up']);

/** Throws `not_in_queue`, `static_member`, `not_in_wrap_up`, `engine_unavailable` (a membership is being restored). */
export function planFor(deps: PlanDeps, extension: string, command: ChangeCommand): Plan {
  switch (command.kind) {
    case 'pause':
      return planPause(deps, extension, command, pausedWith(command.reason));
    case 'unpause':
      return planPause(deps, extension, command, READY);
    case 'login':
      return planLogin(deps, extension, command);
    case 'logout':
      return planLogout(deps, extension, command, command.waits);
    case 'cancel_pending':
      return planCancel(deps, extension, command);
    case 'finish_wrap_up':
      return planFinish(deps, extension);
  }
}

const change = (deps: PlanDeps, extension: string, row: QueueMember, to: Membership): Change[] => {
  const step = changeTo(deps.engine, extension, row.queue, row, to);
  return step === null ? [] : [step];
};

/**
 * Plans a login to the named queue, else to all queues the agent may work in; a pending logout from them is
 * canceled.
 */
function planLogin(deps: PlanDeps, extension: string, of: ChangeCommand): Plan {
  const names = queuesOf(deps, extension).filter((name) => covers(of, name));
  if (names.length === 0) {
    const detail =
      of.queue === null
        ? say`${extension} is not an agent of any queue`
        : say`${extension} is not an agent of ${of.queue}`;
    throw new ServiceError('not_in_queue', detail);
  }
  const rows = rowsOf(deps.live, extension);
  const to = joinedAs(rows, deps.live.agent(extension)?.wrap_up_deadline != null);
  const joining = names.filter((name) => !rows.some((row) => row.queue === name));
  const leaving = rows.filter((row) => isFor(row, LOGOUT) && names.includes(row.queue));
  return {
    changes: [
      ...joining.flatMap((name) => {
        const penalty = deps.directory.queue(name)?.penalties?.get(extension);
        return changeTo(deps.engine, extension, name, undefined, to, penalty) ?? [];
      }),
      ...leaving.flatMap((row) => change(deps, extension, row, to)),
    ],
    wanted: new Map([...joining, ...leaving.map((row) => row.queue)].map((name) => [name, chosen(to)])),
  };
}

function planLogout(deps: PlanDeps, extension: string, of: ChangeCommand, waits: boolean): Plan {
  const { queue } = of;
  if (queue !== null && !queuesOf(deps, extension).includes(queue)) throw notIn(extension, queue);
  const rows = rowsOf(deps.live, extension).filter((row) => covers(of, row.queue));
  const fixed = rows.filter((row) => row.membership !== 'dynamic').map((row) => row.queue);
  if (fixed.length > 0) {
    throw new ServiceError(
      'static_member',
      say`${extension} belongs to ${list(fixed)} by configuration and cannot leave; nothing was changed`,
    );
  }
  const later = waits && BUSY.has(deps.live.agent(extension)?.summary.engagement ?? 'idle');
  const to = later ? pausedWith(LOGOUT) : ABSENT;
  const waiting = queue === null ? deps.waiting(extension).filter((name) => covers(of, name)) : [queue];
  return {
    changes: rows.flatMap((row) => change(deps, extension, row, to)),
    wanted: new Map([...waiting, ...rows.map((row) => row.queue)].map((name) => [name, ABSENT])),
  };
}

function planPause(deps: PlanDeps, extension: string, of: ChangeCommand, to: Membership): Plan {
  const rows = rowsOf(deps.live, extension).filter((row) => covers(of, row.queue));
  const waiting = deps.waiting(extension).filter((name) => covers(of, name));
  if (rows.length === 0 && waiting.length > 0) {
    throw new ServiceError('engine_unavailable', say`the membership in ${list(waiting)} is being restored`, {
      retry_after_seconds: 1,
    });
  }
  if (rows.length === 0) throw notIn(extension, of.queue);
  return {
    changes: rows.flatMap((row) => change(deps, extension, row, to)),
    wanted: new Map([...waiting, ...rows.map((row) => row.queue)].map((name) => [name, to])),
  };
}

/** Restores the effective readiness in the queues where a different one is pending. */
function planCancel(deps: PlanDeps, extension: string, of: ChangeCommand): Plan {
  const summary = deps.live.agent(extension)?.summary;
  if (summary === undefined || summary.pending === null) return { changes: [], wanted: new Map() };
  const { readiness, engagement } = summary;
  const to = !readiness.ready
    ? pausedWith(readiness.reason ?? '')
    : engagement === 'wrap_up'
      ? pausedWith(WRAP_UP)
      : READY;
  const waits = (row: QueueMember): boolean =>
    summary.pending === 'logged_out'
      ? isFor(row, LOGOUT)
      : summary.pending === 'not_ready'
        ? isFor(row, summary.pending_reason ?? '')
        : !row.paused || isFor(row, WRAP_UP);
  const rows = rowsOf(deps.live, extension).filter((row) => covers(of, row.queue) && waits(row));
  return {
    changes: rows.flatMap((row) => change(deps, extension, row, to)),
    wanted: new Map(rows.map((row) => [row.queue, chosen(to)])),
  };
}

/** Ends the wrap-up pauses; a choice made by the agent meanwhile stays. */
function planFinish(deps: PlanDeps, extension: string): Plan {
  if (deps.live.agent(extension)?.wrap_up_deadline == null) {
    throw new ServiceError('not_in_wrap_up', say`${extension} is not in wrap-up`);
  }
  const rows = rowsOf(deps.live, extension).filter((row) => isFor(row, WRAP_UP));
  return { changes: rows.flatMap((row) => change(deps, extension, row, READY)), wanted: new Map() };
}
