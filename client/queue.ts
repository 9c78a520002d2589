/** A queue with a single waiting reader. */
export interface Queue<T> {
  readonly size: number;
  /** True while the reader waits for the next item. */
  readonly waiting: boolean;
  push(item: T): void;
  /** Resolves with null at the end, or rejects with the error that ended the queue. */
  take(): Promise<T | null>;
  /** With an error, queued items are delivered before it; without one they are dropped. */
  end(error: Error | null): void;
}
export function createQueue<T>(): Queue<T> {
  let items: T[] = [];
  // Removing from the front of an array costs its length; an index costs nothing.
  let head = 0;
  let reader: PromiseWithResolvers<T | null> | null = null;
  let ended: { readonly error: Error | null } | null = null;

  function settle(): void {
    if (reader === null) return;
    const { resolve, reject } = reader;
    if (head < items.length) {
      reader = null;
      const item = items[head]!;
      head += 1;
      if (head > 512 || head === items.length) {
        items = items.slice(head);
        head = 0;
      }
      resolve(item);
    } else if (ended !== null) {
      reader = null;
      if (ended.error === null) resolve(null);
      else reject(ended.error);
    }
  }
  return {
    get size() {
      return items.length - head;
    },
    get waiting() {
      return reader !== null;
    },
    push(item) {
      if (ended !== null) return;
      items.push(item);
      settle();
    },
    take() {
      reader = Promise.withResolvers();
      const { promise } = reader;
      settle();
      return promise;
    },
    end(error) {
      if (ended !== null) return;
      ended = { error };
      if (error === null) {
        items = [];
        head = 0;
      }
      settle();
    },
  };
}
