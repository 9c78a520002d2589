import type { DomainEvent } from '@offhook/contract/events.ts';
import type { CallOperation } from '@offhook/contract/call-control.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ExpectedEvent, LiveView, ModelInput } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import { newOperationId } from './ids.ts';

/** How long the engine may take to confirm. */
export const CONFIRM_MS = 4_000;
/** After these nobody knows whether the engine did it: it was sent, and no fact came. */
const UNKNOWN: ReadonlySet<string> = new Set(['engine_timeout', 'engine_unavailable']);
/** How long after a refusal its reason may take to be told. */
const REFUSED_MS = 500;
/** Operations that one person or key may have under way at once. */
const MOST_AT_ONCE = 8;

export interface PerformDeps {
  readonly live: LiveView;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  /** In order with the engine's facts. */
  readonly tell: (input: ModelInput) => void;
  readonly publish: (events: readonly DomainEvent[]) => void;
  /** How long the engine may take to confirm, whatever the operation; for tests. */
  readonly confirm_ms?: number;
}
/** One operation, described before it is sent. */
export interface Plan {
  readonly action: string;
  /** The call and the leg it is about; null where it makes one. */
  readonly call_id: string | null;
  readonly leg_id: string | null;
  /** Whose part of the call it is; null where it is nobody's of ours. */
  readonly extension: string | null;
  readonly expects: readonly ExpectedEvent[];
  readonly send: (operationId: string) => Promise<void>;
  /** The fact that confirms it. */
  readonly confirmed: (operationId: string) => boolean;
  /** Looked at where it is not confirmed yet: the error that it can no longer be. */
  readonly failed?: (operationId: string) => ServiceError | null;
  readonly waitingFor: string;
  readonly confirm_ms?: number;
  /** What goes on after the confirmation; the operation is over when it resolves or throws. */
  readonly rest?: {
    readonly ms: number;
    readonly done: (signal: AbortSignal, operationId: string) => Promise<void>;
  };
  /** How long after it events are still its doing, in ms. */
  readonly follow_ms?: number;
  /** The call it makes for itself, where it makes one beside the call it is about. */
  readonly own_call_id?: string;
  /** For the audit trail. */
  readonly detail?: AuditEntry['detail'];
  /** True where it may not be done without its line in the trail. */
  readonly auditFirst?: boolean;
}
export interface Performer {
  /** Resolves once the engine confirmed. Throws what the engine or the guard says; nothing is ever sent twice. */
  perform(actor: Actor, plan: Plan): Promise<CallOperation>;
  /** One line of the trail for something that was refused before it came to be an operation. */
  refused(actor: Actor, action: string, object: string | null, error: unknown): Promise<void>;
  /** What still goes on is told as unknown. */
  close(): Promise<void>;
}

export const engineDown = (): ServiceError =>
  new ServiceError('engine_unavailable', 'the engine is not connected; nothing was done', {
    retry_after_seconds: 5,
  });
/** Who acts, as limits and the trail name them. */
export const nameOf = ({ caller }: Actor): string => caller.username;

export function createPerformer(deps: PerformDeps): Performer {
  const { live, audit, clock, log, tell, publish } = deps;
  const underWay = new Map<string, number>();
  const confirmMs = (plan: Plan): number => deps.confirm_ms ?? plan.confirm_ms ?? CONFIRM_MS;
  const going = new Set<Promise<void>>();
  const stop = new AbortController();

  const enter = (who: string): void => {
    const n = underWay.get(who) ?? 0;
    if (n >= MOST_AT_ONCE) {
      throw new ServiceError('too_many_requests', say`${n} operations of ${who} are under way`, {
        retry_after_seconds: 1,
      });
    }
    underWay.set(who, n + 1);
  };
  const leave = (who: string): void => {
    const n = (underWay.get(who) ?? 1) - 1;
    if (n > 0) underWay.set(who, n);
    else underWay.delete(who);
  };

  const completed = (id: string, plan: Plan, error: ServiceError | null): void => {
    const state = error === null ? 'succeeded' : UNKNOWN.has(error.code) ? 'unknown' : 'failed';
    publish([
      {
        type: 'operation.completed',
        subject: `operations/${id}`,
        at: clock.now(),
        observed: 'live',
        caused_by: id,
        data: {
          operation_id: id,
          action: plan.action,
          state,
          code: error?.code ?? null,
          detail: error?.message ?? null,
          call_id: plan.call_id,
          extension: plan.extension,
        },
      },
    ]);
  };
  const line = (actor: Actor, id: string, plan: Plan, error: ServiceError | null): AuditEntry => ({
    action: plan.action,
    actor: nameOf(actor),
    object: plan.call_id,
    outcome: error === null ? 'ok' : error.status < 500 ? 'refused' : 'failed',
    ip: actor.ip,
    detail: {
      operation_id: id,
      leg_id: plan.leg_id,
      extension: plan.extension,
      ...plan.detail,
      ...(error === null ? {} : { code: error.code }),
    },
  });
  const write = async (entry: AuditEntry): Promise<void> => {
    await audit.record(entry).catch((error: unknown) => {
      log.warn({ error: messageOf(error), action: entry.action }, 'an operation on a call was not audited');
    });
  };

  /** Waits for the confirming fact; throws why it can no longer come. */
  const confirm = async (id: string, plan: Plan, ms: number): Promise<void> => {
    let failure: ServiceError | null = null as ServiceError | null;
    await live.until(
      () => {
        if (plan.confirmed(id)) return true;
        failure = plan.failed?.(id) ?? null;
        return failure !== null;
      },
      { ms: Math.max(1, ms), waitingFor: plan.waitingFor },
    );
    if (failure !== null) throw failure;
  };
  /** The engine's answer and the confirming fact, whichever order they come in; a late answer is no failure. */
  const sendAndConfirm = async (id: string, plan: Plan): Promise<void> => {
    const until = clock.now() + confirmMs(plan);
    // What was so before it was sent confirms nothing: then only the engine's own answer does.
    const before = plan.confirmed(id);
    try {
      await plan.send(id);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === 'engine_refused') {
        // What it refuses is mostly a leg that ended at that moment, which its facts are about to tell.
        await confirm(id, plan, REFUSED_MS).catch((late: unknown) => {
          throw late instanceof ServiceError && late.code === 'engine_timeout' ? error : late;
        });
        return;
      }
      if (error.code !== 'engine_timeout' || before) throw error;
    }
    await confirm(id, plan, until - clock.now());
  };
  const asServiceError = (error: unknown): ServiceError =>
    error instanceof ServiceError
      ? error
      : new ServiceError('internal', 'the operation failed', { cause: error });

  return {
    async perform(actor, plan) {
      if (!live.live) throw engineDown();
      const who = nameOf(actor);
      enter(who);
      const id = newOperationId();
      let after: Promise<void> | null = null;
      try {
        if (plan.auditFirst) await audit.record(line(actor, id, plan, null));
        const at = clock.now();
        const ms = confirmMs(plan) + (plan.rest?.ms ?? 0) + (plan.follow_ms ?? 0);
        tell({ type: 'operation.sent', at, operation_id: id, until: at + ms, expects: plan.expects });
        try {
          await sendAndConfirm(id, plan);
        } catch (error) {
          const failure = asServiceError(error);
          completed(id, plan, failure);
          await write(line(actor, id, plan, failure));
          throw error;
        }
        if (!plan.auditFirst) await write(line(actor, id, plan, null));
        if (plan.rest === undefined) completed(id, plan, null);
        else {
          after = plan.rest.done(stop.signal, id).then(
            () => completed(id, plan, null),
            (error: unknown) => completed(id, plan, asServiceError(error)),
          );
          going.add(after);
          void after.finally(() => {
            leave(who);
            going.delete(after!);
          });
        }
      } finally {
        if (after === null) leave(who);
      }
      return {
        id,
        action: plan.action,
        state: after === null ? 'succeeded' : 'pending',
        call_id: plan.call_id,
        leg_id: plan.leg_id,
        own_call_id: plan.own_call_id ?? null,
      };
    },
    async refused(actor, action, object, error) {
      const code = error instanceof ServiceError ? error.code : 'internal';
      await write({
        action,
        actor: nameOf(actor),
        object,
        outcome: 'refused',
        ip: actor.ip,
        detail: { code },
      });
    },
    async close() {
      stop.abort(new ServiceError('engine_timeout', 'the service stopped before the outcome was known'));
      await Promise.allSettled(going);
    },
  };
}
