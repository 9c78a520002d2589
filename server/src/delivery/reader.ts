import type { Framing } from './batch.ts';
import type { Feed } from './hub.ts';
import { NO_BOUNDS } from '../rights/hearing.ts';
import type { Bounds } from '../rights/hearing.ts';

/** Rows that a living subscription asks for from before: heard by `only`, apart from those that `had` says were sent. */
export interface Backlog {
  at: number;
  readonly to: number;
  readonly only: ReadonlySet<string>;
  /** Since which seq each name was heard until now. */
  readonly had: ReadonlyMap<string, number>;
}

/**
 * One subscription as the hub sees it: a place in the journal, never a queue of events. The hub alone changes the fields.
 * A class, because there are ten thousand of them: methods are shared, closures would not be.
 */
export abstract class Reader {
  abstract readonly framing: Framing;
  feed: Feed | null = null;
  /** `live` hears each commit; `behind` reads the journal as fast as it takes it. */
  mode: 'idle' | 'live' | 'behind' = 'idle';
  /** Every row up to here was looked at; of a live reader at least. */
  scanned = 0;
  /** Seq of the event it was sent last, or where it began. */
  last = 0;
  /** It fell behind by itself: states are left out where a newer one follows, and what it may miss is bounded. */
  slow = false;
  /** Bytes of facts of its feed that it has behind it. */
  factsRead = 0;
  backlog: Backlog | null = null;

  /** Time from which it may hear a name. */
  get bounds(): Bounds {
    return NO_BOUNDS;
  }

  /** True while it takes no more; it then calls `hub.takes(reader)` when it does. */
  abstract get full(): boolean;
  abstract send(bytes: Buffer): void;
  /** It has everything up to the journal's head and is live from here on. */
  abstract caughtUp(): void;
  /** Rows after `from` up to `to` are no longer there. */
  abstract missed(from: number, to: number): void;
  /** More than the bound is waiting for it. */
  abstract tooSlow(): void;
}
