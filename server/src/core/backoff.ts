/** Delays of a backoff, in milliseconds. */
export interface BackoffOptions {
  readonly first_ms: number;
  readonly most_ms: number;
  /** Lower bound after the spread. */
  readonly least_ms?: number;
  /** Range of the random factor of each delay, so that many sites do not retry at the same moment; 1 by default. */
  readonly spread?: readonly [from: number, to: number];
  /** From 0 to below 1. */
  readonly random?: () => number;
}
interface Sleeper {
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The delay before the next attempt doubles with each failure until `most_ms`. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  constructor(options: BackoffOptions) {
    this.#options = options;
  }
  /** Number of failures since the last success. */
  get failures(): number {
    return this.#failures;
  }
  reset(): void {
    this.#failures = 0;
  }
  /** Counts a failure and returns the delay after it, in milliseconds. */
  next(): number {
    const {
      first_ms,
      most_ms,
      least_ms = 0,
      spread: [from, to] = [1, 1],
      random = Math.random,
    } = this.#options;
    const delay = Math.min(most_ms, first_ms * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return Math.max(least_ms, Math.round(delay * (from + random() * (to - from))));
  }
  /** Counts a failure and waits; resolves early when `signal` ends the wait. */
  async wait(clock: Sleeper, signal: AbortSignal): Promise<void> {
    await clock.sleep(this.next(), signal).catch(() => {});
  }
}
