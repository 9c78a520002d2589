/** Time, chance and sockets, so that a test can hold them. */
export interface Environment {
  now(): number;
  random(): number;
  /** Returns what calls it off. */
  after(ms: number, run: () => void): () => void;
  open(url: string, protocol: string): WebSocket;
  /** Tells when the network came or went, or somebody looks again, where something knows; returns what ends that. */
  network(run: () => void): () => void;
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
    const told = ['online', 'offline', 'visibilitychange'];
    for (const type of told) addEventListener?.call(globalThis, type, run);
    return () => {
      for (const type of told) removeEventListener?.call(globalThis, type, run);
    };
  },
};
