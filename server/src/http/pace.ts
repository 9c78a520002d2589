import { includesLevel } from '@offhook/contract/ids.ts';
import { createRateLimit } from '../core/rate-limit.ts';
import type { Caller } from '../ports/http.ts';
import type { Paced } from '../ports/operations.ts';

/** More than hands do: 30 at once, and 30 in 10 s for as long as one likes. */
const RATE = { burst: 30, per_second: 3 };
/** The headers of draft-ietf-httpapi-ratelimit-headers: the rule, and what is left of it. */
export const RATE_POLICY = `"writes";q=${RATE.burst};w=${Math.ceil(RATE.burst / RATE.per_second)}`;

export interface Pace {
  /** Counts a write that others hear of. Throws `too_many_requests`. */
  take(caller: Caller, paced: Paced): void;
  /** The header `RateLimit` for this caller; who is not held up has all of it left. */
  left(caller: Caller | null): string;
}
export function createPace(clock: { now(): number }): Pace {
  const limit = createRateLimit(clock, RATE);
  return {
    take({ key, level, username }, paced) {
      if (key !== null || (paced === 'any' && includesLevel(level, 'supervisor'))) return;
      limit.take(username);
    },
    left(caller) {
      if (caller === null || caller.key !== null) return ALL_LEFT;
      const { remaining, reset_seconds } = limit.left(caller.username);
      return `"writes";r=${remaining};t=${reset_seconds}`;
    },
  };
}
const ALL_LEFT = `"writes";r=${RATE.burst};t=0`;
