import { ServiceError } from './errors.ts';

export interface Rate {
  readonly burst: number;
  readonly per_second: number;
}
/**
 * A token bucket for each name. `take` throws `too_many_requests` when it is empty. A name whose bucket is full again is
 * forgotten, so it holds only those who were active lately.
 */
export function createRateLimit(
  clock: { now(): number },
  { burst, per_second }: Rate,
): { take(who: string): void } {
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
        throw new ServiceError('too_many_requests', `${who} acts faster than ${per_second} times a second`, {
          retry_after_seconds: 1,
        });
      }
      buckets.set(who, { tokens: tokens - 1, at: now });
    },
  };
}
