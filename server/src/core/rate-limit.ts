import { ServiceError } from './errors.ts';
import { say } from './said.ts';

export interface Rate {
  readonly burst: number;
  readonly per_second: number;
}
export interface RateLimit {
  take(who: string): void;
  /** Remaining tokens, and seconds until the bucket is full. */
  left(who: string): { readonly remaining: number; readonly reset_seconds: number };
}
/**
 * A token bucket for each name. `take` throws `too_many_requests` when it is empty. A name whose bucket is full again is
 * forgotten, so it holds only those who were active lately.
 */
export function createRateLimit(clock: { now(): number }, { burst, per_second }: Rate): RateLimit {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const refilled = (b: { tokens: number; at: number }, now: number): number =>
    Math.min(burst, b.tokens + (Math.max(0, now - b.at) / 1000) * per_second);
  return {
    take(who) {
      const now = clock.now();
      if (buckets.size > 1_000) {
        for (const [key, bucket] of buckets) if (refilled(bucket, now) >= burst) buckets.delete(key);
      }
      const bucket = buckets.get(who) ?? { tokens: burst, at: now };
      const tokens = refilled(bucket, now);
      if (tokens < 1) {
        throw new ServiceError(
          'too_many_requests',
          say`${who} acts faster than ${per_second} times a second`,
          {
            retry_after_seconds: 1,
          },
        );
      }
      buckets.set(who, { tokens: tokens - 1, at: now });
    },
    left(who) {
      const bucket = buckets.get(who);
      const tokens = bucket === undefined ? burst : refilled(bucket, clock.now());
      return { remaining: Math.floor(tokens), reset_seconds: Math.ceil((burst - tokens) / per_second) };
    },
  };
}
