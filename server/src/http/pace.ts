import { includesLevel } from '@offhook/contract/ids.ts';
import { createRateLimit } from '../core/rate-limit.ts';
import type { Caller } from '../ports/http.ts';
import type { Paced } from '../ports/operations.ts';

/** More than hands do: 30 at once, and 30 in 10 s for as long as one likes. */
const RATE = { burst: 30, per_second: 3 };

export function createPace(clock: { now(): number }): (caller: Caller, paced: Paced) => void {
  const limit = createRateLimit(clock, RATE);
  return ({ key, level, username }, paced) => {
    if (key !== null || (paced === 'any' && includesLevel(level, 'supervisor'))) return;
    limit.take(username);
  };
}
