/** Questions for the password: one dialog serves all requests that wait for it. */
export interface Asking {
  /** Resolves with true once the person has confirmed the session. */
  ask(): Promise<boolean>;
  readonly isAsked: () => boolean;
  settle(proven: boolean): void;
  subscribe(listener: () => void): () => void;
}
export function createAsking(): Asking {
  const listeners = new Set<() => void>();
  let waiting: PromiseWithResolvers<boolean> | null = null;
  const tell = (): void => listeners.forEach((listener) => listener());
  return {
    ask() {
      waiting ??= Promise.withResolvers<boolean>();
      tell();
      return waiting.promise;
    },
    isAsked: () => waiting !== null,
    settle(proven) {
      waiting?.resolve(proven);
      waiting = null;
      tell();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
