import type { EngineEvent } from '../../ports/engine.ts';

/**
 * Events on their way to the one consumer, handed over as one batch for all that came since it asked last. Where the
 * consumer lags behind by more than `most`, what waits is dropped but for the link's changes, and `overflowed` is
 * called once: a gap is allowed only when a fresh snapshot follows it.
 */
export class EventBuffer {
  readonly #most: number;
  readonly #overflowed: () => void;
  #events: EngineEvent[] = [];
  #wake: (() => void) | null = null;
  #dropped = 0;

  constructor(most: number, overflowed: () => void) {
    this.#most = most;
    this.#overflowed = overflowed;
  }

  /** How many events were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }
  get size(): number {
    return this.#events.length;
  }

  push(event: EngineEvent): void {
    this.#events.push(event);
    this.#wake?.();
    if (this.#events.length <= this.#most) return;
    const kept = this.#events.filter((e) => e.type === 'engine.link');
    this.#dropped += this.#events.length - kept.length;
    this.#events = kept;
    this.#overflowed();
  }

  /** Everything that waits, as soon as there is anything; an empty batch when cancelled. */
  async take(signal: AbortSignal): Promise<readonly EngineEvent[]> {
    if (this.#events.length === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          signal.removeEventListener('abort', done);
          this.#wake = null;
          resolve();
        };
        signal.addEventListener('abort', done, { once: true });
        // One turn of the loop is waited out, so that everything one read of the socket brought makes one batch.
        this.#wake = () => {
          this.#wake = null;
          setImmediate(done);
        };
      });
    }
    if (signal.aborted) return [];
    const batch = this.#events;
    this.#events = [];
    return batch;
  }
}
