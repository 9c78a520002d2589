/** Clock, randomness and sockets, replaceable in tests. */
export interface Environment {
  now(): number;
  random(): number;
  /** Returns the function that cancels it. */
  after(ms: number, run: () => void): () => void;
  open(url: string, protocol: string): WebSocket;
  /**
   * Calls `run` when the network comes or goes or the page becomes visible or hidden, where the platform reports it;
   * returns the function that stops these calls.
   */
  network(run: () => void): () => void;
}
/**
 * Runs a callback of the application. Its error is reported as that of an event listener: it would otherwise end the work of
 * the client, e.g. its reconnects.
 */
export function unharmed(run: () => void): void {
  try {
    run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
export const environment: Environment = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  open: (url, protocol) => new WebSocket(url, protocol),
  network(run) {
    const { addEventListener, removeEventListener } = globalThis as Partial<
      Pick<EventTarget, 'addEventListener' | 'removeEventListener'>
    >;
    const types = ['online', 'offline', 'visibilitychange'];
    for (const type of types) addEventListener?.call(globalThis, type, run);
    return () => {
      for (const type of types) removeEventListener?.call(globalThis, type, run);
    };
  },
};
