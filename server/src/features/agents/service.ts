import type { AgentReply, AgentRequest } from '@offhook/contract/agents.ts';
import { ensureLive } from '../../commands/confirm.ts';
import { Commands } from '../../commands/kernel.ts';
import type { Lanes } from '../../commands/lanes.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, markNotBegun } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { createRateLimit } from '../../core/rate-limit.ts';
import type { Rate } from '../../core/rate-limit.ts';
import type { Common } from '../../ports/common.ts';
import { CONFIRM_MS } from './changes.ts';
import type { EngineDeps } from './changes.ts';
import { changeCommand, lineOf } from './command.ts';
import type { By } from './command.ts';
import { list } from './plan.ts';
import type { ChangeCommand } from './plan.ts';
import type { Reconciler } from './reconcile.ts';
import { readCommand } from './request.ts';
import { replyOf } from './view.ts';
import type { ViewDeps } from './view.ts';

/** The caller of agent.php, who always acts on its own extension. */
export interface Actor {
  readonly extension: string;
  readonly username: string;
  readonly ip: string | null;
  readonly supervises?: boolean;
}
export interface AgentService {
  /** Performs one action of agent.php. Throws `ServiceError` with a code of wire.md section 5. */
  act(actor: Actor, request: AgentRequest): Promise<AgentReply>;
  /**
   * Reads and performs one change of one agent; resolves with a sentence for people once the engine has
   * confirmed. Errors of `read` are audited as refused.
   */
  change(by: By, extension: string, read: () => ChangeCommand): Promise<string>;
  /** Extends the wrap-up by `seconds`, up to `WRAP_UP_MOST_SECONDS` in all. Throws `not_in_wrap_up`. */
  extendWrapUp(by: By, extension: string, seconds: number): Promise<string>;
  /** Audits a refusal that happened before the change was read. */
  refused(by: By, extension: string, error: unknown): Promise<void>;
}
export interface ServiceDeps extends EngineDeps, ViewDeps, Common<'audit' | 'log'> {
  readonly lanes: Lanes;
  readonly reconciler: Reconciler;
  readonly rate: Rate;
}
const WRAP_UP_MOST_SECONDS = 3_600;
const EXTEND = { kind: 'extend_wrap_up', queue: null } as const;

/** Rate of audited refusals per agent; more would only fill the disk. */
const AUDITED_REFUSALS: Rate = { burst: 60, per_second: 1 };

function said({ live }: ViewDeps, extension: string, command: ChangeCommand, changed: boolean): string {
  const { queue, within = null } = command;
  const all = queue === null && within === null;
  const which = all ? 'every queue' : (queue ?? list(within!));
  const later =
    command.kind === 'logout' && command.waits && live.agent(extension)?.summary.pending === 'logged_out';
  const what = {
    pause: `Paused in ${which}${command.kind === 'pause' ? `: ${command.reason}` : ''}`,
    unpause: `Ready in ${which}`,
    login: `Signed in to ${which}`,
    logout: later ? `Signs out${all ? '' : ` of ${which}`} when the call is over` : `Signed out of ${which}`,
    cancel_pending: 'Nothing waits for the end of the call',
    finish_wrap_up: 'The wrap-up is over',
  }[command.kind];
  return changed ? what : `${what} (nothing to change)`;
}
/** The wrap-up's deadline moved by `seconds`, in ms since 1970. */
function laterDeadline({ live }: ViewDeps, extension: string, seconds: number): number {
  const { wrap_up_deadline: before = null, summary } = live.agent(extension) ?? {};
  if (before === null || summary?.engagement !== 'wrap_up') {
    throw new ServiceError('not_in_wrap_up', say`${extension} is not in wrap-up`);
  }
  const deadline = before + seconds * 1000;
  if (deadline <= Date.parse(summary.since) + WRAP_UP_MOST_SECONDS * 1000) return deadline;
  throw new ServiceError(
    'invalid_request',
    say`extend_seconds: a wrap-up lasts ${WRAP_UP_MOST_SECONDS} s at most`,
  );
}

export function createAgentService(deps: ServiceDeps): AgentService {
  const { live, tell, clock, directory, lanes, reconciler } = deps;
  const refusals = createRateLimit(clock, AUDITED_REFUSALS);
  const commands = new Commands(deps, {
    prefix: 'agent',
    confirm_ms: CONFIRM_MS,
    ensureReady() {
      ensureLive(live);
      if (!reconciler.restoring()) return;
      throw new ServiceError(
        'engine_unavailable',
        'the engine has just restarted; memberships are being restored',
        { retry_after_seconds: 1 },
      );
    },
    lanes,
    unsent: 'by_code',
    mayAudit: (actor) => refusals.allows(actor ?? ''),
  });
  const planDeps = { ...deps, commands, limit: createRateLimit(clock, deps.rate) };
  const refused = (by: By, extension: string, error: unknown): Promise<void> =>
    commands.refused(lineOf(by, extension, null), error);
  const readOrRefuse = async <T>(by: By, extension: string, read: () => T): Promise<T> => {
    try {
      return read();
    } catch (error) {
      await refused(by, extension, error);
      throw error;
    }
  };
  const perform = async (by: By, extension: string, command: ChangeCommand): Promise<string> => {
    const { value } = await commands.run(
      lineOf(by, extension, command),
      (id) => changeCommand(planDeps, by, extension, command, id),
      { lane: extension },
    );
    return said(deps, extension, command, value);
  };

  return {
    async act({ extension, username, ip, supervises = false }, request) {
      const by: By = { username, ip, source: 'agent', supervises };
      const command = await readOrRefuse(by, extension, () =>
        readCommand(request, directory, live, supervises),
      );
      const message = command.kind === 'read' ? 'Nothing was changed' : await perform(by, extension, command);
      return replyOf(deps, extension, message);
    },
    async change(by, extension, read) {
      return perform(by, extension, await readOrRefuse(by, extension, read));
    },
    async extendWrapUp(by, extension, seconds) {
      const asked = lineOf(by, extension, EXTEND);
      // The agent can end the wrap-up by `*23` while the audit entry is written.
      const deadlineNow = (): number => {
        try {
          return laterDeadline(deps, extension, seconds);
        } catch (error) {
          throw markNotBegun(error);
        }
      };
      const { value } = await lanes.run(extension, () =>
        commands.run(
          asked,
          (operation_id) => {
            laterDeadline(deps, extension, seconds);
            return {
              line: lineOf(by, extension, EXTEND, { operation_id, seconds }),
              causes: { expects: [{ type: 'agent.wrap_up_extended', extension }], ms: CONFIRM_MS },
              async run() {
                const deadline = deadlineNow();
                tell({ type: 'agent.wrap_up', at: clock.now(), extension, deadline });
                return deadline;
              },
              audit: 'first',
            };
          },
          { engine: false },
        ),
      );
      return `The wrap-up lasts until ${rfc3339(value)}`;
    },
    refused,
  };
}
