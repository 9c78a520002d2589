import { Backoff } from '../core/backoff.ts';
import { hasCode, messageOf } from '../core/errors.ts';
import type { Common } from '../ports/common.ts';

const RETRY = { first_ms: 500, most_ms: 60_000, spread: [0.5, 1] } as const;

export interface EngineCopyOptions extends Common<'clock' | 'log'> {
  /** Makes the part of the engine's store equal to the data of the service. */
  readonly compare: (signal: AbortSignal) => Promise<void>;
  /** Log message after a failure. */
  readonly failed: string;
}
/** Keeps a part of the engine's store equal to data of the service; compares both after each change and connect. */
export class EngineCopy {
  readonly #options: EngineCopyOptions;
  readonly #end = new AbortController();
  readonly #backoff = new Backoff(RETRY);
  #isUp = false;
  #changes = 0;
  #stored = -1;
  #running: Promise<void> | null = null;

  constructor(options: EngineCopyOptions) {
    this.#options = options;
  }
  /** Aborted by `close`. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }
  /** True if the engine has every change. */
  get isCurrent(): boolean {
    return this.#stored === this.#changes;
  }
  /** Call after each connect. */
  again(): void {
    this.#isUp = true;
    this.#backoff.reset();
    this.changed();
  }
  /** Call after each change of the service's data or of the engine's store. */
  changed(): void {
    this.#changes += 1;
    if (!this.#isUp || this.signal.aborted) return;
    this.#running ??= this.#run().finally(() => (this.#running = null));
  }
  async close(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, compare, failed, log } = this.#options;
    while (!this.signal.aborted) {
      const changes = this.#changes;
      try {
        await compare(this.signal);
        this.#backoff.reset();
        this.#stored = changes;
        if (this.isCurrent) return;
      } catch (error) {
        if (this.signal.aborted) return;
        // `again` follows the next connect.
        if (hasCode(error, 'engine_unavailable')) {
          this.#isUp = false;
          return;
        }
        log.warn({ error: messageOf(error) }, failed);
        await clock.sleep(this.#backoff.next(), this.signal).catch(() => {});
      }
    }
  }
}
