import type { Clock } from '../ports/clock.ts';

/** Wait after a step that threw, so that a store that refuses is not asked in a busy loop. */
const AFTER_TROUBLE_MS = 1_000;

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** Repeats a delivery step from construction until `close`; a step without work waits in `rest`. */
export class DeliveryLoop {
  readonly #step: () => Promise<void>;
  readonly #trouble: (error: unknown) => void;
  readonly #clock: Clock;
  readonly #end: () => Promise<void>;
  readonly #closing = new AbortController();
  #pause = new AbortController();
  readonly #broken = new AbortController();
  readonly #running: Promise<void>;

  /**
   * `trouble` receives the error of a step, which is repeated after a second. `end` runs after the last step and
   * resolves when the work that steps started has ended.
   */
  constructor(parts: {
    readonly step: () => Promise<void>;
    readonly trouble: (error: unknown) => void;
    readonly clock: Clock;
    readonly end?: () => Promise<void>;
  }) {
    this.#step = parts.step;
    this.#trouble = parts.trouble;
    this.#clock = parts.clock;
    this.#end = parts.end ?? (() => Promise.resolve());
    this.#running = this.#run();
  }

  /** True from `close` on: a step begins nothing new. */
  get closed(): boolean {
    return this.#closing.signal.aborted;
  }
  /** Aborted from `close` on: ends a wait in a step, which `wake` does not. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }
  /** Aborted when an attempt in progress has to end. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }
  /** Begins no new step; what is in progress may finish until `grace` is aborted. */
  async close(grace: AbortSignal): Promise<void> {
    this.#closing.abort();
    this.wake();
    const cut = (): void => this.#broken.abort();
    if (grace.aborted) cut();
    else grace.addEventListener('abort', cut, { once: true });
    await this.#running;
    grace.removeEventListener('abort', cut);
  }
  /** Ends the current wait. During a step it ends the next wait, because the step may have read older state. */
  wake(): void {
    this.#pause.abort();
  }
  /** Waits until `wait` resolves, or `wake` or `close` is called. */
  async rest(wait: (signal: AbortSignal) => Promise<void> = untilAborted): Promise<void> {
    const { signal } = this.#pause;
    if (signal.aborted) return;
    await wait(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  async #run(): Promise<void> {
    // Let the owner's constructor return first, because its step may use the loop.
    await Promise.resolve();
    while (!this.closed) {
      if (this.#pause.signal.aborted) this.#pause = new AbortController();
      try {
        await this.#step();
      } catch (error) {
        this.#trouble(error);
        await this.rest((signal) => this.#clock.sleep(AFTER_TROUBLE_MS, signal));
      }
    }
    await this.#end();
  }
}
