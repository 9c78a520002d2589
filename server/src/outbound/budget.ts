import type { Clock } from '../ports/clock.ts';

/** Request budget of a target. */
export interface Limits {
  /** Requests that may begin within `per_seconds`. */
  readonly requests: number;
  readonly per_seconds: number;
  /** Requests that may wait for their answer at once. */
  readonly at_once: number;
  /** Requests of one day in UTC; null is any number. */
  readonly day: number | null;
}
/** In the order in which waiting requests begin. */
const RANKS = ['lookup', 'entry', 'push', 'sync'] as const;
export type Rank = (typeof RANKS)[number];
interface Waiting {
  readonly start: () => void;
  readonly leave: (reason: Error) => void;
}

const DAY_MS = 86_400_000;
const closed = (): Error => new Error('the connector was changed or the service ends');

/** One budget of requests for all ranks of a target: a lookup for a ringing call begins before other requests. */
export class Budget {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #waiting: Record<Rank, Waiting[]> = { lookup: [], entry: [], push: [], sync: [] };
  /** When the newest requests began, oldest first; at most `requests` of them. */
  #begun: number[] = [];
  #underWay = 0;
  #heldUntil = 0;
  #seen = 0;
  #day = 0;
  #ofDay = 0;
  #timer: AbortController | null = null;
  #isClosed = false;

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Runs `send` once the limits and the earlier ranks allow it. Rejects after an abort or `close` while it waits. */
  async run<R>(rank: Rank, signal: AbortSignal, send: () => Promise<R>): Promise<R> {
    signal.throwIfAborted();
    if (this.#isClosed) throw closed();
    await new Promise<void>((resolve, reject) => {
      const queue = this.#waiting[rank];
      const given = (): void => one.leave(signal.reason as Error);
      const one: Waiting = {
        start: () => {
          signal.removeEventListener('abort', given);
          resolve();
        },
        leave: (reason) => {
          signal.removeEventListener('abort', given);
          queue.splice(queue.indexOf(one), 1);
          reject(reason);
        },
      };
      queue.push(one);
      signal.addEventListener('abort', given, { once: true });
      this.#fill();
    });
    try {
      return await send();
    } finally {
      this.#underWay -= 1;
      this.#fill();
    }
  }
  /** Begins no request for this long, because the target asked for it. */
  hold(seconds: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#clock.now() + seconds * 1_000);
  }

  /** Rejects the requests that wait; those under way go on. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.abort();
    // `leave` removes a request from its queue, so iterate over a copy.
    for (const one of RANKS.flatMap((rank) => this.#waiting[rank])) one.leave(closed());
  }

  /** Milliseconds until the next request may begin; 0 is now. */
  #wait(now: number): number {
    const { requests, per_seconds, day } = this.#limits;
    // After the clock is set back, earlier times would lie in the future and delay every request.
    if (now < this.#seen) [this.#begun, this.#heldUntil] = [[], 0];
    this.#seen = now;
    const today = Math.floor(now / DAY_MS);
    if (today !== this.#day) [this.#day, this.#ofDay] = [today, 0];
    const oldest = this.#begun.length < requests ? undefined : this.#begun[0];
    return Math.max(
      0,
      this.#heldUntil - now,
      oldest === undefined ? 0 : oldest + per_seconds * 1_000 - now,
      day !== null && this.#ofDay >= day ? (today + 1) * DAY_MS - now : 0,
    );
  }
  #fill(): void {
    for (;;) {
      const rank = RANKS.find((name) => this.#waiting[name].length > 0);
      if (rank === undefined || this.#underWay >= this.#limits.at_once) return;
      const now = this.#clock.now();
      const wait = this.#wait(now);
      if (wait > 0) return this.#fillAfter(wait);
      this.#begun.push(now);
      if (this.#begun.length > this.#limits.requests) this.#begun.shift();
      this.#ofDay += 1;
      this.#underWay += 1;
      this.#waiting[rank].shift()!.start();
    }
  }
  #fillAfter(ms: number): void {
    this.#timer?.abort();
    const timer = new AbortController();
    this.#timer = timer;
    this.#clock.sleep(ms, timer.signal).then(
      () => this.#fill(),
      () => undefined,
    );
  }
}
