/** The longest that a target can ask us to wait. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/**
 * Milliseconds to wait after `attempts` failed attempts; null after the last one. `waits`: seconds between attempts.
 * `chance`, from 0 to 1, varies the wait by up to a tenth, so that retries do not coincide. `retryAfterSeconds` of the
 * target can only lengthen it.
 */
export function retryDelay(
  waits: readonly number[],
  attempts: number,
  retryAfterSeconds: number | null,
  chance: number,
): number | null {
  const seconds = waits[attempts - 1];
  if (seconds === undefined) return null;
  const asked = Math.min(retryAfterSeconds ?? 0, MAX_RETRY_AFTER_SECONDS) * 1_000;
  return Math.max(Math.round(seconds * 1_000 * (0.9 + 0.2 * chance)), asked);
}

/** Seconds that a `Retry-After` header asks for, as a number or a date, at most a day; null without a valid one. */
export function readRetryAfter(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Math.min(Number(header), MAX_RETRY_AFTER_SECONDS);
  const at = /^[A-Z][a-z]{2,8}[, ].*\d$|GMT$/.test(header) ? Date.parse(header) : NaN;
  if (!Number.isFinite(at)) return null;
  return Math.min(Math.max(0, Math.ceil((at - now) / 1_000)), MAX_RETRY_AFTER_SECONDS);
}
