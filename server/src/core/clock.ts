const DAY_MS = 86_400_000;
const YEAR_10000 = Date.UTC(10_000, 0, 1);
const two = (n: number): string => String(n).padStart(2, '0');
const MINUTES = Array.from({ length: 1_440 }, (_, n) => `${two(Math.floor(n / 60))}:${two(n % 60)}:`);
const SECONDS = Array.from({ length: 60 }, (_, n) => `${two(n)}.`);
const MILLIS = Array.from({ length: 1_000 }, (_, n) => `${String(n).padStart(3, '0')}Z`);
let day = Number.NaN;
let date = '';
let lastMs = Number.NaN;
let lastText = '';
/**
 * Milliseconds since 1970 as RFC 3339 UTC with milliseconds. Every event has several such times, and a `Date` for each
 * would cost as much as the rest of the event: only the date of the newest day asked for is taken from one.
 * All events of one fact have the same time, whose text is shared.
 */
export function rfc3339(ms: number): string {
  if (ms === lastMs) return lastText;
  if (!(ms >= 0 && ms < YEAR_10000)) return new Date(ms).toISOString();
  const of = Math.floor(ms / DAY_MS);
  if (of !== day) {
    date = new Date(of * DAY_MS).toISOString().slice(0, 11);
    day = of;
  }
  const rest = Math.floor(ms - of * DAY_MS);
  const seconds = Math.floor(rest / 1_000);
  const minutes = Math.floor(seconds / 60);
  lastMs = ms;
  lastText = date + MINUTES[minutes] + SECONDS[seconds - minutes * 60] + MILLIS[rest - seconds * 1_000];
  return lastText;
}

/** `rfc3339` of a time; null for null. */
export const rfc3339OrNull = (ms: number | null): string | null => (ms === null ? null : rfc3339(ms));

/** A longer timer of Node fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;
/** The machine's clock; one wait lasts at most 24 days. */
export const systemClock = {
  now: (): number => Date.now(),
  // Node's own timer creates an AbortError with a stack for each aborted wait, and most waits are aborted.
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', stop);
          resolve();
          // A timer of Node fires up to 1 ms early, and its caller would find that the deadline has not passed yet.
        },
        Math.min(Math.ceil(ms) + 1, LONGEST_TIMER_MS),
      );
      signal?.addEventListener('abort', stop, { once: true });
    }),
};

/**
 * Resolves once this clock shows `at`, ms since 1970. It may take several waits, because the clock can be set back and
 * a wait is limited to the longest timer. Rejects with the signal's reason when aborted.
 */
export async function sleepUntil(
  clock: { now(): number; sleep(ms: number, signal: AbortSignal): Promise<void> },
  at: number,
  signal: AbortSignal,
): Promise<void> {
  do await clock.sleep(Math.max(0, at - clock.now()), signal);
  while (clock.now() < at);
}
