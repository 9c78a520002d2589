/** Milliseconds since 1970 as RFC 3339 UTC with milliseconds. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** The machine's clock. */
export const systemClock = {
  now: (): number => Date.now(),
  // Node's own makes an AbortError with its stack for each wait that is not needed to the end, and most are not.
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    }),
};
