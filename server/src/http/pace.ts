import { includesLevel } from '@offhook/contract/ids.ts';
import { ServiceError } from '../core/errors.ts';
import { createRateLimit } from '../core/rate-limit.ts';
import type { Rate, RateLimit } from '../core/rate-limit.ts';
import type { Caller } from '../ports/http.ts';
import type { Paced } from '../ports/operations.ts';

/** More than hands do: 30 at once, and 30 in 10 s for as long as one likes. */
const WRITES: Rate = { burst: 30, per_second: 3 };
/** Refused commands of a person: more than hands make, and as many as have a line each in the audit trail. */
const REFUSALS: Rate = { burst: 60, per_second: 1 };
/** API keys work in bulk, so a share of their commands may be refused. */
const REFUSALS_OF_KEY: Rate = { burst: 300, per_second: 5 };

export interface Pace {
  /** Counts a write that is published to others. Throws `too_many_requests`. */
  take(caller: Caller, paced: Paced): void;
  /**
   * Runs a command and counts it where it is refused. Throws `too_many_requests` instead of running it where this person or
   * key had too many refused, and instead of the refusal where it is one too many itself.
   */
  bounded<T>(caller: Caller, run: () => Promise<T>): Promise<T>;
  /** The headers of draft-ietf-httpapi-ratelimit-headers for this caller: the rules, and what is left of them. */
  headers(caller: Caller | null): Record<'ratelimit-policy' | 'ratelimit', string>;
}
export function createPace(clock: { now(): number }): Pace {
  const writes = createRateLimit(clock, WRITES);
  const ofPersons = createRateLimit(clock, REFUSALS);
  const ofKeys = createRateLimit(clock, REFUSALS_OF_KEY);
  const refusalsOf = ({ key }: Caller): RateLimit => (key === null ? ofPersons : ofKeys);
  return {
    take({ key, level, username }, paced) {
      if (key !== null || (paced === 'any' && includesLevel(level, 'supervisor'))) return;
      writes.take(username);
    },
    async bounded(caller, run) {
      const refusals = refusalsOf(caller);
      if (refusals.left(caller.username).remaining < 1) throw tooMany();
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof ServiceError) || error.status >= 500) throw error;
        // Concurrent commands are counted as they end.
        if (refusals.left(caller.username).remaining < 1) throw tooMany(error);
        refusals.take(caller.username);
        throw error;
      }
    },
    headers(caller) {
      const person = caller === null || caller.key === null;
      const left = caller === null ? null : refusalsOf(caller).left(caller.username);
      const toWrite = caller === null || caller.key !== null ? null : writes.left(caller.username);
      const refusals = person ? REFUSALS : REFUSALS_OF_KEY;
      return {
        'ratelimit-policy': `${policyOf('writes', WRITES)}, ${policyOf('refusals', refusals)}`,
        ratelimit: `${leftOf('writes', WRITES, toWrite)}, ${leftOf('refusals', refusals, left)}`,
      };
    },
  };
}
const tooMany = (cause?: ServiceError): ServiceError =>
  new ServiceError('too_many_requests', 'too many commands were refused; wait a second before the next', {
    retry_after_seconds: 1,
    cause,
  });
const policyOf = (name: string, { burst, per_second }: Rate): string =>
  `"${name}";q=${burst};w=${Math.ceil(burst / per_second)}`;
/** A caller without a limit has the whole burst left. */
const leftOf = (name: string, { burst }: Rate, left: ReturnType<RateLimit['left']> | null): string =>
  `"${name}";r=${left?.remaining ?? burst};t=${left?.reset_seconds ?? 0}`;
