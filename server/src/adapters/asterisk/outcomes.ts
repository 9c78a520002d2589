import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';

const notYet = (): ServiceError =>
  new ServiceError(
    'engine_unavailable',
    'the result of an earlier command is not known yet; this one was not sent',
    { retry_after_seconds: 2 },
  );

/**
 * Commands that timed out. The engine may still execute them; it reads one action after the other, so a snapshot that was
 * requested after such a command includes its effect.
 */
export class Outcomes {
  readonly #clock: Clock;
  /** Number of commands that timed out, and the number of them whose effect the consumer has seen in a later snapshot. */
  #open = 0;
  #known = 0;
  readonly #waiting = new Map<() => void, (error: ServiceError) => void>();
  constructor(clock: Clock) {
    this.#clock = clock;
  }
  /** Number of timed-out commands that a snapshot requested now includes. */
  get open(): number {
    return this.#open;
  }
  unanswered(): void {
    this.#open += 1;
  }
  /** Call when the consumer has processed a snapshot that was requested after `upTo` commands had timed out. */
  known(upTo: number): void {
    if (upTo <= this.#known) return;
    this.#known = upTo;
    for (const look of this.#waiting.keys()) look();
  }
  /** Rejects every waiter, because a snapshot of the lost link never comes. */
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
