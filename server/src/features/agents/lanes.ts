import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';

export interface Lanes {
  /**
   * Runs `work` after everything this agent asked before; other agents are not held up. Rejects `too_many_requests`
   * when too many wait already; `internal` work is always taken.
   */
  run<T>(agent: string, work: () => Promise<T>, options?: { internal?: boolean }): Promise<T>;
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>;
}

/** One line per agent, with at most `waiting` requests in it behind the one that runs. */
export function createLanes(waiting: number): Lanes {
  const lanes = new Map<string, { tail: Promise<unknown>; depth: number }>();
  return {
    run(agent, work, options = {}) {
      const lane = lanes.get(agent) ?? { tail: Promise.resolve(), depth: 0 };
      if (!options.internal && lane.depth > waiting) {
        return Promise.reject(
          new ServiceError('too_many_requests', `${lane.depth} actions of ${agent} are still under way`, {
            retry_after_seconds: 1,
          }),
        );
      }
      lanes.set(agent, lane);
      lane.depth += 1;
      const result = lane.tail.then(work);
      lane.tail = result
        .catch(() => {})
        .finally(() => {
          lane.depth -= 1;
          if (lane.depth === 0) lanes.delete(agent);
        });
      return result;
    },
    async idle() {
      while (lanes.size > 0) await Promise.all([...lanes.values()].map((lane) => lane.tail));
    },
  };
}

export interface Rate {
  readonly burst: number;
  readonly per_second: number;
}
/**
 * A token bucket per agent. `take` throws `too_many_requests` when it is empty. An agent whose bucket is full again is
 * forgotten, so it holds only those who were active lately.
 */
export function createRateLimit(clock: Clock, { burst, per_second }: Rate): { take(agent: string): void } {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const refilled = (b: { tokens: number; at: number }, now: number): number =>
    Math.min(burst, b.tokens + (Math.max(0, now - b.at) / 1000) * per_second);
  return {
    take(agent) {
      const now = clock.now();
      if (buckets.size > 1_000) {
        for (const [key, bucket] of buckets) if (refilled(bucket, now) >= burst) buckets.delete(key);
      }
      const bucket = buckets.get(agent) ?? { tokens: burst, at: now };
      const tokens = refilled(bucket, now);
      if (tokens < 1) {
        throw new ServiceError(
          'too_many_requests',
          `${agent} acts faster than ${per_second} times a second`,
          {
            retry_after_seconds: 1,
          },
        );
      }
      buckets.set(agent, { tokens: tokens - 1, at: now });
    },
  };
}
