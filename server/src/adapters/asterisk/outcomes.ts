import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';

const notYet = (): ServiceError =>
  new ServiceError(
    'engine_unavailable',
    'the engine has not yet shown what became of an earlier command; nothing was done',
    { retry_after_seconds: 2 },
  );

/**
 * Commands whose answer nobody waits for any more. The engine may still do them: a session reads one action after the
 * other, so what a snapshot says that was asked for later, and what was told before it, holds what became of them.
 */
export class Outcomes {
  readonly #clock: Clock;
  /** How many there were, and up to which of them the consumer has taken in a later snapshot. */
  #open = 0;
  #known = 0;
  readonly #waiting = new Map<() => void, (error: ServiceError) => void>();
  constructor(clock: Clock) {
    this.#clock = clock;
  }
  /** Up to where a snapshot answers that is asked for now. */
  get open(): number {
    return this.#open;
  }
  unanswered(): void {
    this.#open += 1;
  }
  /** The consumer has taken in a snapshot that was asked for when so many were open. */
  known(upTo: number): void {
    if (upTo <= this.#known) return;
    this.#known = upTo;
    for (const look of this.#waiting.keys()) look();
  }
  /** The link is gone: who waits is refused now, and asks again of what comes. */
  lost(): void {
    for (const reject of this.#waiting.values()) reject(notYet());
  }
  /** Resolves once nothing is open; rejects `engine_unavailable` after `ms`, or when the link is lost. */
  async settled(ms: number): Promise<void> {
    if (this.#known >= this.#open) return;
    const upTo = this.#open;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#known >= upTo) resolve();
    };
    const over = new AbortController();
    this.#waiting.set(look, reject);
    this.#clock.sleep(ms, over.signal).then(
      () => reject(notYet()),
      () => undefined,
    );
    try {
      await promise;
    } finally {
      over.abort();
      this.#waiting.delete(look);
    }
  }
}
