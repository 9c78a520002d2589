/** The state of a topic, kept current by its events: a read-only Map with change notifications. */
import type { EventStream, StreamState } from './stream.ts';
import type { StreamEvent, StreamItem } from './events.ts';
import { unharmed } from './environment.ts';
import { FOLDS } from './folds.ts';
import type { Fold, StoreRecords, StoreTopic } from './folds.ts';

/**
 * `key` is the record that `event` has changed; both are null for a snapshot and for a change of the connection. The result of a
 * command (`operation.completed`) changes no record.
 */
export type StoreListener = (event: StreamEvent | null, key: string | null) => void;
export interface Store<T> extends Iterable<[string, T]> {
  readonly size: number;
  /** A record is replaced by another object if and only if it has changed. */
  get(key: string): T | undefined;
  has(key: string): boolean;
  keys(): Iterable<string>;
  values(): Iterable<T>;
  readonly state: StreamState;
  /** True before the first snapshot, between a gap and the snapshots after it, and while the connection or the engine is lost. */
  readonly stale: boolean;
  /** Resolves with the first snapshot; rejects when the stream ends before it. */
  readonly ready: Promise<void>;
  /** Returns the unsubscribe function. */
  subscribe(listener: StoreListener): () => void;
  close(): void;
}

export interface StoreOptions {
  /** Only these queues, or extensions; all accessible ones by default. */
  readonly only?: readonly string[];
  /** Called with the error that ends the store for good. */
  readonly onError?: (error: Error) => void;
}
type Open = (how: { topics: string[]; snapshot: true; onState: () => void }) => EventStream;

export function createStore<K extends StoreTopic>(
  topic: K,
  { only, onError }: StoreOptions,
  open: Open,
): Store<StoreRecords[K]> {
  type Record = StoreRecords[K];
  const fold = FOLDS[topic] as unknown as Fold<Record>;
  const listeners = new Set<StoreListener>();
  const ready = Promise.withResolvers<void>();
  // A caller that does not await `ready` gets the error by `onError`.
  ready.promise.catch(() => undefined);
  let records: Map<string, Record> = new Map();
  let engineDown = false;
  const topics = only === undefined ? [topic as string] : only.map((name) => `${topic}/${name}`);
  const waitFor = new Set(topics);

  const tell = (event: StreamEvent | null = null, key: string | null = null): void => {
    for (const listener of listeners) unharmed(() => listener(event, key));
  };
  function take(item: StreamItem): void {
    switch (item.type) {
      case 'snapshot': {
        const own = fold.read(item.data);
        engineDown = (item.data as { stale?: boolean } | null)?.stale ?? engineDown;
        // With several topics, each snapshot contains the record of its own topic.
        const name = item.topic.slice(topic.length + 1);
        const others = name === '' || name === 'mine' ? [] : [...records].filter(([key]) => key !== name);
        records = new Map([...others, ...own]);
        waitFor.delete(item.topic);
        if (waitFor.size === 0) ready.resolve();
        return tell();
      }
      case 'gap':
        for (const one of topics) waitFor.add(one);
        return tell();
      case 'engine.link_down':
      case 'engine.link_up':
      case 'engine.resynced':
        engineDown = item.type !== 'engine.resynced';
        return tell(item);
      case 'operation.completed':
        return tell(item);
      default: {
        for (const { key, value } of fold.after(records, item)) {
          if (value === undefined) records.delete(key);
          else records.set(key, value);
          tell(item, key);
        }
      }
    }
  }
  const stream = open({ topics, snapshot: true, onState: () => tell() });
  void (async () => {
    for await (const item of stream) take(item);
  })().then(
    // Its owner closed it, which is no error.
    () => ready.reject(new Error('the store is closed')),
    (error: Error) => {
      ready.reject(error);
      onError?.(error);
    },
  );

  return {
    get size() {
      return records.size;
    },
    get: (key) => records.get(key),
    has: (key) => records.has(key),
    keys: () => records.keys(),
    values: () => records.values(),
    [Symbol.iterator]: () => records[Symbol.iterator](),
    get state() {
      return stream.state;
    },
    get stale() {
      return engineDown || stream.state !== 'live' || waitFor.size > 0;
    },
    ready: ready.promise,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => stream.close(),
  };
}
