import { ServiceError } from './errors.ts';
import { say } from './said.ts';

export interface Rate {
  readonly burst: number;
  readonly per_second: number;
}
/** A token bucket; there may be ten thousand of them, so it holds two numbers and shares its rate. Times are in ms. */
export class Bucket {
  readonly #rate: Rate;
  #tokens: number;
  #at: number;
  constructor(rate: Rate, now = performance.now()) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#at = now;
  }
  /** Tokens at this time, fractions included. */
  left(now = performance.now()): number {
    const { burst, per_second } = this.#rate;
    return Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * per_second);
  }
  /** False when it is empty. */
  take(now = performance.now()): boolean {
    this.#tokens = this.left(now);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Limit of names with a bucket; beyond it the bucket with the oldest `take` is dropped. */
const MAX_NAMES = 10_000;

export interface RateLimit {
  take(who: string): void;
  /** As `take`, but false instead of an error. */
  allows(who: string): boolean;
  /** False where this name has no bucket, because it took nothing or its bucket was dropped: it has the whole burst. */
  has(who: string): boolean;
  /** Remaining tokens, and seconds until the bucket is full. */
  left(who: string): { readonly remaining: number; readonly reset_seconds: number };
}
/** A token bucket for each name; `take` throws `too_many_requests` when it is empty. */
export function createRateLimit(clock: { now(): number }, rate: Rate): RateLimit {
  const { burst, per_second } = rate;
  /** In the order of the last `take`, so that buckets that are full again come first. */
  const buckets = new Map<string, Bucket>();
  function forget(now: number): void {
    for (const [name, bucket] of buckets) {
      if (bucket.left(now) < burst && buckets.size < MAX_NAMES) return;
      buckets.delete(name);
    }
  }
  function allows(who: string): boolean {
    const now = clock.now();
    const bucket = buckets.get(who) ?? new Bucket(rate, now);
    buckets.delete(who);
    forget(now);
    buckets.set(who, bucket);
    return bucket.take(now);
  }
  return {
    allows,
    has: (who) => buckets.has(who),
    take(who) {
      if (allows(who)) return;
      throw new ServiceError(
        'too_many_requests',
        say`${who} sends more than ${per_second} requests a second; wait a moment`,
        {
          retry_after_seconds: 1,
        },
      );
    },
    left(who) {
      const tokens = buckets.get(who)?.left(clock.now()) ?? burst;
      return { remaining: Math.floor(tokens), reset_seconds: Math.ceil((burst - tokens) / per_second) };
    },
  };
}
