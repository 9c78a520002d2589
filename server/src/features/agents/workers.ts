import { Backoff } from '../../core/backoff.ts';
import type { BackoffOptions } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { Common } from '../../ports/common.ts';

export interface WorkersOptions extends Common<'clock' | 'log'> {
  readonly retry: BackoffOptions;
  /** Text of the log entry after a failed attempt. */
  readonly failed: string;
  /** True while there is work for this agent. */
  readonly isOpen: (extension: string) => boolean;
  readonly work: (extension: string) => Promise<void>;
  /** Called when the work of an agent has ended; new work may have come meanwhile. */
  readonly ended: (extension: string) => void;
}

/** Repeats the work of each agent with a backoff until none is left; agents do not wait for one another. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }
  start(extension: string): void {
    if (this.#running.has(extension) || !this.#isOpen(extension)) return;
    const worker = this.#run(extension).finally(() => {
      this.#running.delete(extension);
      if (!this.stopped.aborted) this.#options.ended(extension);
    });
    this.#running.set(extension, worker);
  }
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }
  /** Prevents further attempts. */
  stop(): void {
    this.#stopped.abort();
  }
  #isOpen(extension: string): boolean {
    return !this.stopped.aborted && this.#options.isOpen(extension);
  }
  async #run(extension: string): Promise<void> {
    const { clock, log, retry, failed, work } = this.#options;
    for (const backoff = new Backoff(retry); this.#isOpen(extension);) {
      try {
        await work(extension);
        backoff.reset();
      } catch (error) {
        log.warn({ extension, failures: backoff.failures + 1, error: messageOf(error) }, failed);
        await backoff.wait(clock, this.stopped);
      }
    }
  }
}
