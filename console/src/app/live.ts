/** Live state shared by the whole page: one store of the SDK for each topic, published at most ten times a second. */
import { createContext, useCallback, useContext, useEffect, useSyncExternalStore } from 'react';
import type { Client, Store, StoreRecords, StoreTopic, StreamEvent } from '@offhook/client';

/** Interval at which events are shown together: a hundred events a second must not render a hundred times. */
const FLUSH_MS = 100;
/** Time a store outlives its last user, so that a return to a page finds it as it was. */
const LINGER_MS = 10_000;
/** Topics that are kept while nothing uses them: the own queues of a person are another topic after each change. */
const MOST_IDLE = 20;
/** After this time without a first snapshot the page shows that it is not live. */
const PATIENCE_MS = 5_000;
/** Event of the window: the service answers again. It is independent of the network state that the browser reports. */
export const LIVE_AGAIN = 'offhook-live';
type Listener = () => void;
type EventListener = (event: StreamEvent) => void;

/** `ready`: the first snapshot has arrived. `stale`: the state may be outdated. */
export interface TopicState {
  readonly ready: boolean;
  readonly stale: boolean;
}
export interface Topic<T> {
  /** As of the last notification; a change replaces the Map. */
  readonly records: ReadonlyMap<string, T>;
  readonly state: TopicState;
  readonly subscribe: (listener: Listener) => () => void;
  /** Notified of this record only. */
  readonly subscribeTo: (key: string, listener: Listener) => () => void;
  /**
   * Called at once with each event of the topic's store while the topic is in use: for facts the records do not keep.
   */
  readonly onEvent: (listener: EventListener) => () => void;
}
interface Shared extends Topic<unknown> {
  readonly used: boolean;
  /** Has neither a store nor a listener. */
  readonly idle: () => boolean;
  /** The first snapshot is overdue. */
  readonly overdue: boolean;
  readonly restart: () => void;
}

/** `onChange` runs before listeners are notified, and after one was removed. */
function createTopic(open: () => Store<unknown>, onChange: Listener): Shared {
  let store: Store<unknown> | null = null;
  let records: ReadonlyMap<string, unknown> = new Map();
  let state: TopicState = { ready: false, stale: true };
  let flush: ReturnType<typeof setTimeout> | undefined;
  let linger: ReturnType<typeof setTimeout> | undefined;
  let patience: ReturnType<typeof setTimeout> | undefined;
  let overdue = false;
  /** True once the first snapshot of the store arrived, or the store failed. */
  let loaded = false;
  let changed = new Set<string>();
  let all = false;
  const listeners = new Set<Listener>();
  const byKey = new Map<string, Set<Listener>>();
  const onEvents = new Set<EventListener>();

  function tell(): void {
    flush = undefined;
    if (store === null) return;
    const ready = state.ready || loaded || !store.stale;
    if (ready) {
      clearTimeout(patience);
      overdue = false;
    }
    if (state.stale !== store.stale || state.ready !== ready) state = { ready, stale: store.stale };
    // After a restart the store is empty until its first snapshot: the records shown before remain until then.
    if ((all || changed.size > 0) && (loaded || !store.stale)) records = new Map(store);
    onChange();
    const keys = all ? byKey.keys() : changed.keys();
    for (const key of keys) for (const listener of byKey.get(key) ?? []) listener();
    changed = new Set();
    all = false;
    for (const listener of listeners) listener();
  }
  function start(): void {
    const own = open();
    store = own;
    loaded = false;
    const mark = (): void => void (loaded ||= store === own);
    own.ready.then(mark, mark);
    clearTimeout(patience);
    if (!state.ready) {
      patience = setTimeout(() => {
        overdue = true;
        onChange();
      }, PATIENCE_MS);
    }
    own.subscribe((event, key) => {
      if (event !== null) for (const listener of onEvents) listener(event);
      if (key === null) all = true;
      else changed.add(key);
      // The page shows at once that it is not live any more.
      if (store !== null && store.stale !== state.stale) {
        clearTimeout(flush);
        tell();
      } else flush ??= setTimeout(tell, FLUSH_MS);
    });
  }
  function stop(): void {
    clearTimeout(flush);
    clearTimeout(patience);
    flush = undefined;
    store?.close();
    store = null;
  }
  /** Forgets the state too: a later page would show old records, marked as not live, until its first snapshot. */
  function end(): void {
    stop();
    records = new Map();
    state = { ready: false, stale: true };
    overdue = false;
  }
  const isUsed = (): boolean => listeners.size + byKey.size > 0;
  function retained(undo: () => void): () => void {
    clearTimeout(linger);
    if (store === null) start();
    return () => {
      undo();
      onChange();
      if (!isUsed()) linger = setTimeout(end, LINGER_MS);
    };
  }
  return {
    get records() {
      return records;
    },
    get state() {
      return state;
    },
    get used() {
      return isUsed();
    },
    idle: () => store === null && !isUsed() && onEvents.size === 0,
    get overdue() {
      return overdue;
    },
    subscribe(listener) {
      listeners.add(listener);
      return retained(() => listeners.delete(listener));
    },
    subscribeTo(key, listener) {
      const own = byKey.get(key) ?? new Set();
      byKey.set(key, own.add(listener));
      return retained(() => {
        own.delete(listener);
        if (own.size === 0) byKey.delete(key);
      });
    },
    onEvent(listener) {
      onEvents.add(listener);
      return () => onEvents.delete(listener);
    },
    restart() {
      if (store === null) return;
      stop();
      state = { ...state, stale: true };
      start();
    },
  };
}

export interface Live {
  /** `only`: names of queues, or extensions; without it every accessible one. */
  topic<T extends StoreTopic>(name: T, only?: readonly string[]): Topic<StoreRecords[T]>;
  /** Reloads all shown topics after a new sign-in. */
  restart(): void;
  /** True if any shown topic is stale. */
  readonly stale: boolean;
  readonly onStale: (listener: Listener) => () => void;
}
export function createLive(client: Client): Live {
  const topics = new Map<string, Shared>();
  const listeners = new Set<Listener>();
  let stale = false;
  function look(): void {
    const now = topics
      .values()
      .some(({ used, overdue, state }) => used && state.stale && (state.ready || overdue));
    if (now === stale) return;
    stale = now;
    if (!stale) dispatchEvent(new Event(LIVE_AGAIN));
    for (const listener of listeners) listener();
  }
  function dropIdle(): void {
    const idle = [...topics].filter(([, topic]) => topic.idle());
    for (const [key] of idle.slice(0, -MOST_IDLE)) topics.delete(key);
  }
  return {
    topic<T extends StoreTopic>(name: T, only?: readonly string[]) {
      const key = only === undefined ? name : `${name}/${only.toSorted().join(',')}`;
      let known = topics.get(key);
      if (known === undefined) {
        dropIdle();
        known = createTopic(() => client.store(name, only === undefined ? {} : { only }), look);
        topics.set(key, known);
      }
      return known as Topic<unknown> as Topic<StoreRecords[T]>;
    },
    restart() {
      for (const topic of topics.values()) topic.restart();
    },
    get stale() {
      return stale;
    },
    onStale(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export const LiveContext = createContext<Live | null>(null);
export function useLive(): Live {
  const live = useContext(LiveContext);
  if (live === null) throw new Error('useLive needs the live provider around it');
  return live;
}
/** All records of a topic; any change renders the component. */
export function useTopic<T extends StoreTopic>(
  name: T,
  only?: readonly string[],
): { readonly records: ReadonlyMap<string, StoreRecords[T]>; readonly state: TopicState } {
  const topic = useLive().topic(name, only);
  const records = useSyncExternalStore(topic.subscribe, () => topic.records);
  const state = useSyncExternalStore(topic.subscribe, () => topic.state);
  return { records, state };
}
/** One record; only its changes render the component. */
export function useRecord<T extends StoreTopic>(
  name: T,
  key: string,
  only?: readonly string[],
): StoreRecords[T] | undefined {
  const topic = useLive().topic(name, only);
  const subscribe = useCallback((listener: Listener) => topic.subscribeTo(key, listener), [topic, key]);
  return useSyncExternalStore(subscribe, () => topic.records.get(key));
}
/** True while any shown topic is not live. */
export function useStale(): boolean {
  const live = useLive();
  return useSyncExternalStore(live.onStale, () => live.stale);
}
/** Keeps a topic open while the component is mounted, without rendering it. */
export function useKept(name: StoreTopic, only?: readonly string[]): void {
  const topic = useLive().topic(name, only);
  useEffect(() => topic.subscribe(() => undefined), [topic]);
}
