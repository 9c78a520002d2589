/** Time, chance and sockets, so that a test can hold them. */
export interface Environment {
  now(): number;
  random(): number;
  /** Returns what calls it off. */
  after(ms: number, run: () => void): () => void;
  open(url: string, protocol: string): WebSocket;
  /** Tells when the network is back, where something knows; returns what ends that. */
  online(run: () => void): () => void;
}
export const environment: Environment = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  open: (url, protocol) => new WebSocket(url, protocol),
  online(run) {
    const { addEventListener, removeEventListener } = globalThis as Partial<
      Pick<EventTarget, 'addEventListener' | 'removeEventListener'>
    >;
    addEventListener?.call(globalThis, 'online', run);
    return () => removeEventListener?.call(globalThis, 'online', run);
  },
};
