import type { Clock } from '../../ports/clock.ts';
import type { Caller } from '../../ports/http.ts';
import type { Claim, Proof } from './proof.ts';

const HOLDS_MS = 5 * 60_000;

/** Sessions whose person has confirmed their identity again, as sensitive operations require. */
export interface Confirmation {
  /** Resolves with the expiry in milliseconds since 1970. Throws as a sign-in does. */
  confirm(caller: Caller, given: Pick<Claim, 'password' | 'otp'>, ip: string): Promise<number>;
  /** Marks a session whose person has proven it otherwise; returns the expiry. */
  confirmed(sessionId: number): number;
  holds(sessionId: number): boolean;
  /** Marks a session as just opened, because a sign-in proves as much as a confirmation. */
  opened(sessionId: number): void;
  /** True for a session that was confirmed or opened in the last five minutes. */
  proven(sessionId: number): boolean;
}

/** Kept in memory: after a restart persons confirm again. */
export function createConfirmation(proof: Proof, clock: Clock): Confirmation {
  /** Oldest first; expired entries are removed with the next insertion. */
  const until = new Map<number, number>();
  const fresh = new Map<number, number>();
  const forgetOld = (): void => {
    for (const map of [until, fresh])
      for (const [id, end] of map) {
        if (end > clock.now()) break;
        map.delete(id);
      }
  };
  const confirmed = (sessionId: number): number => {
    forgetOld();
    const end = clock.now() + HOLDS_MS;
    until.delete(sessionId);
    until.set(sessionId, end);
    return end;
  };
  const holds = (map: ReadonlyMap<number, number>, id: number): boolean => (map.get(id) ?? 0) > clock.now();
  return {
    async confirm(caller, given, ip) {
      await proof.wholly(caller, given, ip, 'session.confirm_failed');
      return confirmed(caller.session_id);
    },
    confirmed,
    holds: (sessionId) => holds(until, sessionId),
    opened(sessionId) {
      forgetOld();
      fresh.set(sessionId, clock.now() + HOLDS_MS);
    },
    proven: (sessionId) => holds(until, sessionId) || holds(fresh, sessionId),
  };
}
