import { setTimeout as wait } from 'node:timers/promises';

/** Milliseconds since 1970 as RFC 3339 UTC with milliseconds. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** The machine's clock. */
export const systemClock = {
  now: (): number => Date.now(),
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    wait(ms, undefined, signal === undefined ? {} : { signal }),
};
