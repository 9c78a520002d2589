import { messageOf } from './errors.ts';
import type { Log } from './log.ts';

const RETRY_MS = [100, 300, 1_000, 3_000, 5_000] as const;
/** The longest wait between two tries. */
export const LONGEST_RETRY_MS = RETRY_MS.at(-1)!;

/**
 * Repeats what the database or the disk refused until it is done; false when the signal ended it first: the next start goes
 * on from what is stored.
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
  for (let failed = 0; !signal.aborted; failed += 1) {
    try {
      await work();
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      log.warn({ error: messageOf(error), failed: failed + 1 }, `${what} failed; it is tried again`);
      await clock.sleep(RETRY_MS[Math.min(failed, RETRY_MS.length - 1)]!, signal).catch(() => {});
    }
  }
  return false;
}
