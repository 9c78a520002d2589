import type { Clock } from '../../ports/clock.ts';

export interface Timers<K> {
  /** Calls `then` after `ms` unless `key` is cancelled; a second timer of the same key and name replaces the first. */
  after(ms: number, key: K, then: () => void, name?: string): void;
  /** Cancels every timer of the key. */
  cancel(key: K): void;
  close(): void;
}

/** Timers by the site's clock, so that virtual time moves them. */
export function createTimers<K extends object>(clock: Clock): Timers<K> {
  const running = new Map<K, Map<string, AbortController>>();
  const cancel = (key: K): void => {
    for (const stop of running.get(key)?.values() ?? []) stop.abort();
    running.delete(key);
  };
  return {
    after(ms, key, then, name = '') {
      const own = running.get(key) ?? new Map<string, AbortController>();
      running.set(key, own);
      own.get(name)?.abort();
      const stop = new AbortController();
      own.set(name, stop);
      void clock.sleep(ms, stop.signal).then(
        () => {
          if (!stop.signal.aborted) then();
        },
        () => undefined,
      );
    },
    cancel,
    close() {
      for (const key of running.keys()) cancel(key);
    },
  };
}
