import { Backoff } from './backoff.ts';
import { messageOf } from './errors.ts';
import type { Log } from './log.ts';

/** The longest wait between two tries. */
export const LONGEST_RETRY_MS = 5_000;

interface Pauses {
  readonly clock: { sleep(ms: number, signal: AbortSignal): Promise<void> };
  readonly log: Log;
  readonly signal: AbortSignal;
}
/**
 * Repeats `work`, which the database or the disk may reject, until it succeeds; false when the signal was aborted
 * first: the next start continues from the stored state.
 */
export async function untilDone(
  what: string,
  work: () => Promise<unknown>,
  { clock, log, signal }: Pauses,
): Promise<boolean> {
  for (const backoff = new Backoff({ first_ms: 100, most_ms: LONGEST_RETRY_MS }); !signal.aborted;) {
    try {
      await work();
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      log.warn({ error: messageOf(error), failed: backoff.failures + 1 }, `${what} failed; retrying`);
      await backoff.wait(clock, signal);
    }
  }
  return false;
}

/** Repeats `round` at once and after each pause of `every_ms`, until the signal is aborted; `failure` is logged for one that failed. */
export async function repeat(
  round: () => Promise<unknown>,
  { every_ms, failure, clock, log, signal }: Pauses & { readonly every_ms: number; readonly failure: string },
): Promise<void> {
  while (!signal.aborted) {
    await round().catch((error: unknown) => {
      if (!signal.aborted) log.warn({ error: messageOf(error) }, failure);
    });
    await clock.sleep(every_ms, signal).catch(() => undefined);
  }
}
/** `repeat` until it is disposed of, which waits for the end of the round under way. */
export function repeating(
  round: (signal: AbortSignal) => Promise<unknown>,
  options: Omit<Parameters<typeof repeat>[1], 'signal'>,
): AsyncDisposable {
  const stop = new AbortController();
  const working = repeat(() => round(stop.signal), { ...options, signal: stop.signal });
  return {
    [Symbol.asyncDispose]: () => {
      stop.abort();
      return working;
    },
  };
}
