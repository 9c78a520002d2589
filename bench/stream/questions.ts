/** Questions of a row to the load over IPC, and the answers. */
import type { Topics } from './script.ts';

/**
 * Protocol of a subject. `ws` is that of every peer with bare WebSocket frames; the last four are those of message
 * servers, and with `-log` a client reads the events that it missed.
 */
export type Wire =
  | 'offhook'
  | 'ws'
  | 'socket.io'
  | 'offhook-sse'
  | 'sse'
  | 'redis'
  | 'redis-log'
  | 'nats'
  | 'nats-log';
export interface Site {
  readonly extensions: number;
  readonly queues: number;
}
export type LoadQuestion =
  | {
      readonly ask: 'connect';
      readonly wire: Wire;
      readonly port: number;
      readonly count: number;
      readonly topics: Topics;
      /** Number of first clients with every presence. */
      readonly wideFirst?: number;
      readonly snapshot?: boolean;
      /** Number of missed events before it resumes. */
      readonly behind?: number;
      /** Number of connections opened at once: many for a storm; few otherwise, so that the kernel's backlog is never full. */
      readonly atOnce?: number;
    }
  /** After a `drop`, all clients return at once, with their cursors or for a snapshot. */
  | { readonly ask: 'return'; readonly resume: boolean; readonly atOnce: number }
  | {
      readonly ask: 'play';
      readonly events: number;
      /**
       * Events per second; null: a write follows once all clients have the events of all but the last `window` writes.
       */
      readonly rate: number | null;
      readonly window?: number;
      /** Events in one write of the engine. */
      readonly batch?: number;
      /** Range of participating extensions, and of their queues; by default all. */
      readonly among?: readonly [from: number, to: number];
      readonly callers?: boolean;
    }
  /**
   * Recorded calls at so many frames per second; received events are only counted. Without `settle` it ends with its last frame,
   * and the next flood continues there.
   */
  | { readonly ask: 'flood'; readonly rate: number; readonly seconds: number; readonly settle?: boolean }
  | { readonly ask: 'freeze'; readonly count: number }
  | { readonly ask: 'drop' }
  | { readonly ask: 'close' }
  | { readonly ask: 'actions' };
export interface Connected {
  readonly seconds: number;
  readonly bytes: number;
  readonly received: number;
  readonly wrong: number;
}
export interface Played {
  readonly seconds: number;
  readonly events: number;
  /** Messages due to reading clients. */
  readonly due: number;
  readonly received: number;
  /** Messages with figures of a queue, which follow from the events and are not in `due`. */
  readonly figures: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Events out of order, repeated, with a wrong `prev`, or not subscribed. */
  readonly wrong: number;
  readonly closed: number;
}

export interface Flooded {
  readonly frames: number;
  readonly seconds: number;
  /** Messages of all clients, and the number of those out of order. */
  readonly received: number;
  readonly wrong: number;
  /** Clients whose newest figures of a queue differ from those of the other clients with that queue. */
  readonly different: number;
  /** Milliseconds from the time in an event to its arrival, at some of the clients. */
  readonly lag: { readonly p50: number; readonly p99: number; readonly max: number };
  /**
   * Delay of the load's own event loop, p99 in ms, and its CPU in % of one core. A late load measures too high a lag.
   */
  readonly load: { readonly delay: number; readonly core: number };
  /** `data` of the first client's newest `queue.stats` of each queue. */
  readonly last: Readonly<Record<string, unknown>>;
  readonly stats: number;
}
