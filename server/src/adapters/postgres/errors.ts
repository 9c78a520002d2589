import { DatabaseError } from 'pg';
import { ServiceError, messageOf } from '../../core/errors.ts';

/**
 * SQLSTATEs, or their first two letters, of temporary refusals: connection, resources, an administrator's stop, system
 * errors, a lock or deadlock, a read-only server, and a missing account or database.
 */
const NOT_NOW = /^(?:08|28|53|57|58|25006|3D000|3F000|40001|40P01|42501|55P03|XX00)/;
/** States that end the connection. */
const LOST = /^(?:08|57P)/;

const stateOf = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? (error.code ?? '') : undefined;

/** True where the server is unreachable, so that an immediate retry would only wait again. */
export function isLost(error: unknown): boolean {
  const state = stateOf(error);
  if (state !== undefined) return LOST.test(state);
  // Errors of the driver itself concern its connection, unless a value was invalid.
  return (
    error instanceof Error &&
    !(error instanceof TypeError || error instanceof RangeError || error instanceof ServiceError)
  );
}

/** Converts a temporary refusal of the database to `store_unavailable`; returns every other error unchanged. */
export function unavailable(error: unknown, place: string): unknown {
  const state = stateOf(error);
  if (!isLost(error) && (state === undefined || !NOT_NOW.test(state))) return error;
  return refusal(`${place}: ${messageOf(error) || 'no answer'}`, error);
}
export const refusal = (why: string, cause?: unknown): ServiceError =>
  new ServiceError('store_unavailable', why, {
    retry_after_seconds: 5,
    ...(cause === undefined ? {} : { cause }),
  });
