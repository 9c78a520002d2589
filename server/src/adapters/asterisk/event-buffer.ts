import type { EngineEvent } from '../../ports/engine-events.ts';

/**
 * Events for the single consumer, delivered as one batch of all that arrived since the last call. Where more than `most` are
 * waiting, they are dropped except for changes of the link, and `overflowed` is called once: a gap is allowed only when a
 * snapshot follows it.
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

  /** Number of events dropped since the start. */
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

  /** All waiting events, as soon as there are any; an empty batch when cancelled. */
  async take(signal: AbortSignal): Promise<readonly EngineEvent[]> {
    if (this.#events.length === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          signal.removeEventListener('abort', done);
          this.#wake = null;
          resolve();
        };
        signal.addEventListener('abort', done, { once: true });
        // Waits one turn of the event loop, so that all events of one socket read form one batch.
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
