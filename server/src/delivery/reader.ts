import type { Framing } from './batch.ts';
import type { Audience } from './audiences.ts';
import { NO_BOUNDS } from '../rights/hearing.ts';
import type { Bounds } from '../rights/hearing.ts';

/**
 * Older rows that a live subscription requests: those of the names `only`, without those that `had` marks as sent.
 */
export interface Backlog {
  at: number;
  readonly to: number;
  readonly only: ReadonlySet<string>;
  /** Seq since which each name was received until now. */
  readonly had: ReadonlyMap<string, number>;
}

/**
 * One subscription: a position in the journal, never a queue of events. Only the hub changes the fields. It is a class
 * because ten thousand readers share its methods, while each would need closures of its own.
 */
export abstract class Reader {
  abstract readonly framing: Framing;
  audience: Audience | null = null;
  /** `live` receives each commit; `behind` reads the journal as fast as the client takes it. */
  mode: 'idle' | 'live' | 'behind' = 'idle';
  /** Every row up to here was examined; a lower bound for a live reader. */
  scanned = 0;
  /** Seq of the event sent last, or of the start. */
  last = 0;
  /** The client became slow: outdated states are skipped, and its waiting essential events are bounded. */
  slow = false;
  /** Essential bytes of its audience that it has passed. */
  essentialRead = 0;
  backlog: Backlog | null = null;

  /** Time from which each name may be received. */
  get bounds(): Bounds {
    return NO_BOUNDS;
  }

  /** True while the reader accepts no bytes; it calls `hub.takes(reader)` once it accepts them again. */
  abstract get full(): boolean;
  abstract send(bytes: Buffer): void;
  /** Called when it has everything up to the journal's head and is live. */
  abstract caughtUp(): void;
  /** Called when the rows after `from` up to `to` are no longer kept. */
  abstract missed(from: number, to: number): void;
  /** Called when more essential bytes than the limit wait for this reader. */
  abstract tooSlow(): void;
}
