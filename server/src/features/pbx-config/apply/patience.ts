import { ServiceError } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { Clock } from '../../../ports/clock.ts';

/** How long the live engine is waited for, in milliseconds. */
export interface Patience {
  /** To read its files again. */
  readonly reload_ms: number;
  /** To tell what it holds. */
  readonly verify_ms: number;
  /** To be there again after it went away. */
  readonly back_ms: number;
}
export const PATIENCE: Patience = { reload_ms: 60_000, verify_ms: 60_000, back_ms: 60_000 };
const AGAIN_MS = 100;

/** Gives up on work that hears no signal either: `engine_timeout`. */
async function within<T>(
  clock: Clock,
  ms: number,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
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
/** Does it again while no engine is there to do it, as after one that died: the next one is started soon. */
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
      const gone = error instanceof ServiceError && error.code === 'engine_unavailable';
      if (!gone || deps.clock.now() >= until) throw error;
      await deps.clock.sleep(AGAIN_MS, closing);
    }
  }
}
