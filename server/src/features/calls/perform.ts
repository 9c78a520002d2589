import type { CallOperation } from '@offhook/contract/call-control.ts';
import { sendAndConfirm } from '../../commands/confirm.ts';
import type { Step } from '../../commands/confirm.ts';
import type { Line } from '../../commands/audited.ts';
import type { Command, Performed } from '../../commands/kernel.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ExpectedEvent, LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';

/** Time limit for the engine's confirmation. */
export const CONFIRM_MS = 4_000;
/** Milliseconds in which facts may explain a refusal by the engine. */
const REFUSED_MS = 500;

/** One operation on a call, described before it is sent. */
export interface Plan extends Step {
  readonly action: string;
  /** The call and the leg of the operation; null if it creates them. */
  readonly call_id: string | null;
  readonly leg_id: string | null;
  /** Extension whose leg is concerned; null for an outside leg. */
  readonly extension: string | null;
  readonly expects: readonly ExpectedEvent[];
  readonly confirm_ms?: number;
  /** Work after the confirmation; the operation ends when it resolves or throws. */
  readonly rest?: {
    readonly ms: number;
    readonly done: (signal: AbortSignal, operationId: string) => Promise<void>;
  };
  /** Milliseconds beyond `confirm_ms` and `rest` in which events still count as caused by the operation. */
  readonly follow_ms?: number;
  /** Call that the operation creates in addition to `call_id`. */
  readonly own_call_id?: string;
  /** For the audit trail. */
  readonly detail?: AuditEntry['detail'];
  /** True if the operation must be audited before it is performed. */
  readonly auditFirst?: boolean;
}

/** Name of the actor for limits and the audit trail. */
export const nameOf = ({ caller }: Actor): string => caller.username;
export const lineOf = (actor: Actor, action: string, object: string | null): Line => ({
  action,
  actor: nameOf(actor),
  object,
  ip: actor.ip,
});

/** The command of a plan; `confirm_ms` replaces the plan's own limit, for tests. */
export function commandOf(
  deps: { readonly live: LiveView; readonly clock: Clock; readonly confirm_ms?: number },
  actor: Actor,
  operation_id: string,
  plan: Plan,
): Command<Plan> {
  const { leg_id, extension, rest, expects } = plan;
  const ms = deps.confirm_ms ?? plan.confirm_ms ?? CONFIRM_MS;
  const line: Line = {
    ...lineOf(actor, plan.action, plan.call_id),
    detail: { operation_id, leg_id, extension, ...plan.detail },
  };
  return {
    line,
    failedLine: line,
    causes: { expects, ms: ms + (rest?.ms ?? 0) + (plan.follow_ms ?? 0) },
    async run(id) {
      await sendAndConfirm(deps, plan, id, { ms, from: 'sending', refused_ms: REFUSED_MS });
      return plan;
    },
    audit: plan.auditFirst === true ? 'first' : 'try',
    about: { call_id: plan.call_id, extension },
    ...(rest === undefined ? {} : { rest: rest.done }),
  };
}
export const operationOf = ({ id, pending, value }: Performed<Plan>): CallOperation => ({
  id,
  action: value.action,
  state: pending ? 'pending' : 'succeeded',
  call_id: value.call_id,
  leg_id: value.leg_id,
  own_call_id: value.own_call_id ?? null,
});
