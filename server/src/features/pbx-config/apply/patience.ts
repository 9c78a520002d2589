import { ServiceError, hasCode } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { Clock } from '../../../ports/clock.ts';

/** Time limits for the running engine, in milliseconds. */
export interface Patience {
  /** Limit for a reload of its files. */
  readonly reload_ms: number;
  /** Limit for reading its state. */
  readonly verify_ms: number;
  /** Limit for its return after a failure. */
  readonly back_ms: number;
}
export const PATIENCE: Patience = { reload_ms: 60_000, verify_ms: 60_000, back_ms: 60_000 };
const AGAIN_MS = 100;

/** Rejects with `engine_timeout`, even if the work ignores its signal. */
async function within<T>(
  clock: Clock,
  ms: number,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  closing.throwIfAborted();
  const over = new AbortController();
  const late = Promise.withResolvers<never>();
  const stop = (): void => {
    over.abort(closing.reason);
    late.reject(closing.reason);
  };
  closing.addEventListener('abort', stop, { once: true });
  clock.sleep(ms, over.signal).then(
    () => {
      const error = new ServiceError('engine_timeout', say`the engine did not finish within ${ms / 1_000} s`);
      late.reject(error);
      over.abort(error);
    },
    () => undefined,
  );
  try {
    return await Promise.race([work(over.signal), late.promise]);
  } finally {
    closing.removeEventListener('abort', stop);
    over.abort(new Error('done'));
  }
}
/** Retries while no engine is reachable: after a crash, the next one starts soon. */
export async function patiently<T>(
  deps: { readonly clock: Clock; readonly patience: Patience },
  ms: number,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const until = deps.clock.now() + deps.patience.back_ms;
  for (;;) {
    try {
      return await within(deps.clock, ms, closing, work);
    } catch (error) {
      const gone = hasCode(error, 'engine_unavailable');
      if (!gone || deps.clock.now() >= until) throw error;
      await deps.clock.sleep(AGAIN_MS, closing);
    }
  }
}
