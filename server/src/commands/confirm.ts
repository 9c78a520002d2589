import { ServiceError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { LiveView } from '../ports/live.ts';

/** What is sent to the engine, and the fact in the live view that confirms it. */
export interface Step {
  readonly send: (operationId: string) => Promise<void>;
  readonly confirmed: (operationId: string) => boolean;
  /** Called while it is not confirmed: the reason why it can no longer be. */
  readonly failed?: (operationId: string) => ServiceError | null;
  readonly waitingFor: string;
}
export interface StepLimits {
  /** Milliseconds in which the fact must come. */
  readonly ms: number;
  /** `sending`: the time runs from when it is sent; `answer`: from when the engine has answered. */
  readonly from: 'sending' | 'answer';
  /** Milliseconds in which facts may still explain a refusal by the engine; 0: the refusal is the reason. */
  readonly refused_ms: number;
}

/** The refusal of a command while the live view is stale: it would be planned from what is no longer so. */
export function ensureLive(live: LiveView): void {
  if (live.live) return;
  throw new ServiceError('engine_unavailable', 'the engine is not connected; nothing was done', {
    retry_after_seconds: 5,
  });
}
const hasCode = (error: unknown, code: ServiceError['code']): boolean =>
  error instanceof ServiceError && error.code === code;
/** Handles the error of an action whose late answer is no failure. */
export function ignoreLate(error: unknown): void {
  if (!hasCode(error, 'engine_timeout')) throw error;
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
 * Sends a step and resolves once the engine answered and the live view shows the fact, in whichever order. An answer that
 * comes too late is no failure: the fact decides.
 */
export async function sendAndConfirm(
  { live, clock }: { readonly live: LiveView; readonly clock: Clock },
  step: Step,
  id: string,
  { ms, from, refused_ms }: StepLimits,
): Promise<void> {
  const until = clock.now() + ms;
  // A fact from before the sending confirms nothing; then only the engine's own answer does.
  const before = step.confirmed(id);
  try {
    await step.send(id);
  } catch (error) {
    if (refused_ms > 0 && hasCode(error, 'engine_refused')) {
      // The engine mostly refuses a leg that ended at that moment, and its facts follow.
      await seen(live, step, id, refused_ms).catch((late: unknown) => {
        throw hasCode(late, 'engine_timeout') ? error : late;
      });
      return;
    }
    if (!hasCode(error, 'engine_timeout') || before) throw error;
  }
  await seen(live, step, id, from === 'answer' ? ms : until - clock.now());
}
