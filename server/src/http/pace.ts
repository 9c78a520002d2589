import { includesLevel } from '@offhook/contract/ids.ts';
import { ServiceError } from '../core/errors.ts';
import { createRateLimit } from '../core/rate-limit.ts';
import type { Rate, RateLimit } from '../core/rate-limit.ts';
import type { Caller } from '../ports/http.ts';
import type { Paced } from '../ports/operations.ts';

/** More than a person does by hand: 30 at once, then 30 in 10 s. */
const WRITES: Rate = { burst: 30, per_second: 3 };
/** Rejected commands of a person: more than one causes by hand, and few enough to write each to the audit trail. */
const REFUSALS: Rate = { burst: 60, per_second: 1 };
/** API keys work in bulk, so more of their commands may be rejected. */
const REFUSALS_OF_KEY: Rate = { burst: 300, per_second: 5 };

export interface Pace {
  /**
   * Throws `too_many_requests` if too many commands of this person or key were rejected. With `paced` the
   * command also counts as a write that others receive, and throws if those are too many.
   */
  permit(caller: Caller, paced?: Paced): void;
  /** Runs a permitted command and counts its rejection; one rejection too many becomes `too_many_requests`. */
  bounded<T>(caller: Caller, run: () => Promise<T>): Promise<T>;
  /** Headers of draft-ietf-httpapi-ratelimit-headers for this caller: the limits and their remainders. */
  headers(caller: Caller | null): PaceHeaders;
}
type PaceHeaders = Readonly<Record<'ratelimit-policy' | 'ratelimit', string>>;
const policyOf = (name: string, { burst, per_second }: Rate): string =>
  `"${name}";q=${burst};w=${Math.ceil(burst / per_second)}`;
/** An unlimited caller always has the whole burst left. */
const leftOf = (name: string, { burst }: Rate, left: ReturnType<RateLimit['left']> | null): string =>
  `"${name}";r=${left?.remaining ?? burst};t=${left?.reset_seconds ?? 0}`;
const POLICY = `${policyOf('writes', WRITES)}, ${policyOf('refusals', REFUSALS)}`;
const POLICY_OF_KEY = `${policyOf('writes', WRITES)}, ${policyOf('refusals', REFUSALS_OF_KEY)}`;
const FULL = `${leftOf('writes', WRITES, null)}, ${leftOf('refusals', REFUSALS, null)}`;
const FULL_OF_KEY = `${leftOf('writes', WRITES, null)}, ${leftOf('refusals', REFUSALS_OF_KEY, null)}`;
/** Headers of a caller without recent writes and refusals; most callers get these. */
const HEADERS: PaceHeaders = { 'ratelimit-policy': POLICY, ratelimit: FULL };
const HEADERS_OF_KEY: PaceHeaders = { 'ratelimit-policy': POLICY_OF_KEY, ratelimit: FULL_OF_KEY };
export function createPace(clock: { now(): number }): Pace {
  const writes = createRateLimit(clock, WRITES);
  const ofPersons = createRateLimit(clock, REFUSALS);
  const ofKeys = createRateLimit(clock, REFUSALS_OF_KEY);
  const refusalsOf = ({ key }: Caller): RateLimit => (key === null ? ofPersons : ofKeys);
  return {
    permit(caller, paced) {
      const { key, level, username } = caller;
      if (refusalsOf(caller).left(username).remaining < 1) throw tooMany();
      if (paced === undefined || key !== null) return;
      if (paced === 'own' || !includesLevel(level, 'supervisor')) writes.take(username);
    },
    async bounded(caller, run) {
      const refusals = refusalsOf(caller);
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof ServiceError) || error.status >= 500) throw error;
        // Concurrent commands are counted when they end.
        if (refusals.left(caller.username).remaining < 1) throw tooMany(error);
        refusals.take(caller.username);
        throw error;
      }
    },
    headers(caller) {
      if (caller === null) return HEADERS;
      const { key, username } = caller;
      const past = refusalsOf(caller).has(username) || (key === null && writes.has(username));
      if (!past) return key === null ? HEADERS : HEADERS_OF_KEY;
      const toWrite = key === null ? writes.left(username) : null;
      const left = refusalsOf(caller).left(username);
      return {
        'ratelimit-policy': key === null ? POLICY : POLICY_OF_KEY,
        ratelimit: `${leftOf('writes', WRITES, toWrite)}, ${leftOf('refusals', key === null ? REFUSALS : REFUSALS_OF_KEY, left)}`,
      };
    },
  };
}
const tooMany = (cause?: ServiceError): ServiceError =>
  new ServiceError('too_many_requests', 'too many commands were refused; wait a second before the next', {
    retry_after_seconds: 1,
    cause,
  });
