import type { Clock } from '../../ports/clock.ts';

/** A clock that moves only by `advance`, for tests: a wait of minutes takes no time and ends in the right order. */
export interface VirtualClock extends Clock {
  /** Moves on by `ms`, waking every sleeper at its time; work of a woken sleeper runs before the next one wakes. Rejects on abort. */
  advance(ms: number, signal?: AbortSignal): Promise<void>;
  /** Number of current sleepers. */
  readonly sleepers: number;
}
interface Sleeper {
  readonly at: number;
  wake(): void;
}
/** Runs every callback that is ready now, however long its chain of promises. */
const callbacks = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `settle` resolves once the work of a moment is done; then the clock advances. */
export function createVirtualClock(
  start = Date.UTC(2026, 10, 21, 9),
  settle: () => Promise<void> = callbacks,
): VirtualClock {
  let now = start;
  const sleeping = new Set<Sleeper>();
  return {
    now: () => now,
    get sleepers() {
      return sleeping.size;
    },
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.reject(signal.reason as Error);
      return new Promise<void>((resolve, reject) => {
        const onAbort = (): void => {
          sleeping.delete(sleeper);
          reject(signal?.reason as Error);
        };
        const sleeper: Sleeper = {
          at: now + Math.max(0, ms),
          wake() {
            sleeping.delete(sleeper);
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
        };
        sleeping.add(sleeper);
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
    async advance(ms, signal) {
      const end = now + ms;
      await settle();
      for (;;) {
        signal?.throwIfAborted();
        const next = [...sleeping].filter((s) => s.at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        now = Math.max(now, next.at);
        next.wake();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}
