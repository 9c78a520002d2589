import { ServiceError, hasCode } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { LiveView } from '../ports/live.ts';

/** A request to the engine, and the fact in the live view that confirms it. */
export interface Step {
  readonly send: (operationId: string) => Promise<void>;
  readonly confirmed: (operationId: string) => boolean;
  /** Called while unconfirmed; returns the reason why it can no longer be confirmed. */
  readonly failed?: (operationId: string) => ServiceError | null;
  readonly waitingFor: string;
}
export interface StepLimits {
  /** Time limit for the fact, in milliseconds. */
  readonly ms: number;
  /** `sending`: the time counts from the sending; `answer`: from the engine's answer. */
  readonly from: 'sending' | 'answer';
  /** Milliseconds in which facts may still explain a refusal by the engine; 0: the refusal itself is reported. */
  readonly refused_ms: number;
}

/** Rejects a command while the live view is stale: its plan would be outdated. */
export function ensureLive(live: LiveView): void {
  if (live.live) return;
  throw new ServiceError('engine_unavailable', 'the engine is not connected; nothing was done', {
    retry_after_seconds: 5,
  });
}
/** Ignores a late answer, which is no failure of the action; throws every other error. */
export function ignoreLate(error: unknown): void {
  if (!hasCode(error, 'engine_timeout')) throw error;
}
/** Ignores the refusal of a hang-up, because a leg that ended by itself is the wanted result; throws every other error. */
export function ignoreEnded(error: unknown): void {
  if (!hasCode(error, 'engine_refused')) throw error;
}

/** Waits until the live view shows the fact. Throws `failed`, `engine_timeout` or `engine_unavailable`. */
async function seen(live: LiveView, step: Step, id: string, ms: number): Promise<void> {
  let failure: ServiceError | null = null as ServiceError | null;
  await live.until(
    () => {
      if (step.confirmed(id)) return true;
      failure = step.failed?.(id) ?? null;
      return failure !== null;
    },
    { ms: Math.max(1, ms), waitingFor: step.waitingFor },
  );
  if (failure !== null) throw failure;
}

/**
 * Sends a step and resolves once the engine answered and the live view shows the fact, in either order. A
 * late answer is no failure: the fact decides.
 */
export async function sendAndConfirm(
  { live, clock }: { readonly live: LiveView; readonly clock: Clock },
  step: Step,
  id: string,
  { ms, from, refused_ms }: StepLimits,
): Promise<void> {
  const until = clock.now() + ms;
  // A fact from before the sending confirms nothing; then only the engine's own answer counts.
  const before = step.confirmed(id);
  try {
    await step.send(id);
  } catch (error) {
    if (refused_ms > 0 && hasCode(error, 'engine_refused')) {
      // The engine mostly refuses because a leg ended at that moment; the facts about it follow.
      await seen(live, step, id, refused_ms).catch((late: unknown) => {
        throw hasCode(late, 'engine_timeout') ? error : late;
      });
      return;
    }
    if (!hasCode(error, 'engine_timeout') || before) throw error;
  }
  await seen(live, step, id, from === 'answer' ? ms : until - clock.now());
}
