/** Notifies this page and the other tabs of a change in `localStorage`. */
export interface StoredChanges {
  /** The `subscribe` of `useSyncExternalStore`. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Notifies this page; the browser notifies the other tabs by itself. */
  notify(): void;
}
export function storedChanges(): StoredChanges {
  const listeners = new Set<() => void>();
  return {
    subscribe(listener) {
      listeners.add(listener);
      addEventListener('storage', listener);
      return () => {
        listeners.delete(listener);
        removeEventListener('storage', listener);
      };
    },
    notify() {
      for (const listener of listeners) listener();
    },
  };
}
