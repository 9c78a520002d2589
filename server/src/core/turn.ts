import { ServiceError } from './errors.ts';
import type { Said } from './said.ts';

const MAX_WAITING = 10_000;
const refused = (why: Said | string): ServiceError =>
  new ServiceError('store_unavailable', why, { retry_after_seconds: 5 });

/**
 * One holder at a time, first come first served; both the number of waiters and their patience are bounded: who waits longer
 * gets `store_unavailable`.
 */
export class Turn {
  #held = false;
  readonly #waiting: { take: () => void }[] = [];
  readonly #patience_ms: number;
  constructor(patience_ms: number) {
    this.#patience_ms = patience_ms;
  }
  async take(): Promise<void> {
    if (!this.#held) {
      this.#held = true;
      return;
    }
    if (this.#waiting.length >= MAX_WAITING) throw refused('too many writes are waiting');
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        reject(refused('the writes before this one did not end'));
      }, this.#patience_ms);
      const entry = {
        take: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting.push(entry);
    });
  }
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#held = false;
    else next.take();
  }
  /** Does `work` while nobody else has the turn. */
  async during<R>(work: () => Promise<R>): Promise<R> {
    await this.take();
    try {
      return await work();
    } finally {
      this.give();
    }
  }
}
