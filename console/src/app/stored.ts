/** Tells this page and the other tabs of the browser that something kept in `localStorage` has changed. */
export interface StoredChanges {
  /** As `useSyncExternalStore` takes it. */
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
