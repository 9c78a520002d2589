import { ServiceError, messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { SiteLog } from '../ports/site-log.ts';

/** Length of the lease, and interval at which it is renewed. */
export const LEASE_SECONDS = 10;
const RENEW_MS = 3_000;
/** Interval at which the end of the lease is checked. */
const LOOK_MS = 200;
/** Part of the lease that is not used, so that the last command reaches the engine before another node may act. */
const MARGIN_MS = 1_000;

export interface LeaseOptions {
  readonly siteLog: Pick<SiteLog, 'renew'>;
  /** From `SiteLog.take`. */
  readonly term: number;
  /** Time before `take` was called, from `momentNow`. */
  readonly taken: Moment;
  readonly log: Log;
  /** Called once another process took the log. */
  readonly lost: (why: string) => void;
  readonly now?: () => Moment;
}
/**
 * A moment by both clocks of the machine: the steady clock stops while a virtual machine is suspended, and the wall
 * clock can be set to another time.
 */
export interface Moment {
  readonly steady: number;
  readonly wall: number;
}
export const momentNow = (): Moment => ({ steady: performance.now(), wall: Date.now() });
/** Milliseconds between both moments, by the clock that went further. */
const between = (from: Moment, to: Moment): number => Math.max(to.steady - from.steady, to.wall - from.wall);

/**
 * Holds the lease of a site's log, and the time by which this process must stop acting. The lease counts from before
 * the request that renewed it, so that it ends here before it ends in the database.
 */
export class Lease {
  readonly term: number;
  readonly #options: LeaseOptions;
  readonly #now: () => Moment;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #ended = new Set<() => void>();
  #wasHeld = true;
  #from: Moment;
  #asking: Promise<void> | null = null;
  #failing = false;
  #lost = false;
  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#now = options.now ?? momentNow;
    this.term = options.term;
    this.#from = options.taken;
    this.#timers = [setInterval(() => void this.renew(), RENEW_MS), setInterval(() => this.#look(), LOOK_MS)];
  }
  /** True once another process took the log. */
  get lost(): boolean {
    return this.#lost;
  }
  /** Seconds since the request that last took or renewed the log. */
  age(): number {
    return Math.max(0, between(this.#from, this.#now()) / 1000);
  }
  /** True while no other process can have taken the log. */
  held(): boolean {
    const ms = LEASE_SECONDS * 1000 - MARGIN_MS;
    return !this.#lost && between(this.#from, this.#now()) < ms;
  }
  /** Throws `node_not_active` while another process may act for the site. */
  readonly fence = (): void => {
    if (this.held()) return;
    throw new ServiceError('node_not_active', 'this node cannot tell whether another one leads the site now');
  };
  /** Renews the lease now. Never rejects. */
  renew(): Promise<void> {
    return (this.#asking ??= this.#renew().finally(() => (this.#asking = null)));
  }
  /** Calls `listener` each time another process may begin to act for the site. Returns the function that removes it. */
  onEnd(listener: () => void): () => void {
    this.#ended.add(listener);
    return () => void this.#ended.delete(listener);
  }
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }
  #look(): void {
    const held = this.held();
    if (this.#wasHeld && !held) for (const listener of this.#ended) listener();
    this.#wasHeld = held;
  }
  async #renew(): Promise<void> {
    if (this.#lost) return;
    const { siteLog, log, lost } = this.#options;
    const from = this.#now();
    try {
      if (await siteLog.renew(this.term, LEASE_SECONDS)) {
        this.#from = from;
        this.#failing = false;
        this.#look();
      } else {
        this.#lost = true;
        this.#look();
        lost('another process took the log of this site');
      }
    } catch (error) {
      if (!this.#failing)
        log.warn({ error: messageOf(error) }, 'the lease of the site could not be renewed; retrying');
      this.#failing = true;
    }
  }
}
