import { Backoff } from './backoff.ts';
import { messageOf } from './errors.ts';
import type { Log } from './log.ts';

/** The longest wait between two tries. */
export const LONGEST_RETRY_MS = 5_000;

/**
 * Repeats `work`, which the database or the disk may reject, until it succeeds; false when the signal was aborted
 * first: the next start continues from the stored state.
 */
export async function untilDone(
  what: string,
  work: () => Promise<unknown>,
  {
    clock,
    log,
    signal,
  }: {
    readonly clock: { sleep(ms: number, signal: AbortSignal): Promise<void> };
    readonly log: Log;
    readonly signal: AbortSignal;
  },
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
