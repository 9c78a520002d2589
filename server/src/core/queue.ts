import { ServiceError } from './errors.ts';

/** Limits of a queue; by default one task runs, and any number of others wait for any time. */
export interface QueueOptions {
  /** Number of tasks that run at once; 1 by default. */
  readonly places?: number;
  /** Number of tasks that may wait; the next one is rejected with `refusal`. */
  readonly most_waiting?: number;
  /** Milliseconds after which a waiting task is rejected with `refusal`. */
  readonly patience_ms?: number;
  readonly refusal?: (why: 'full' | 'late') => Error;
}

/** Runs tasks in the order in which they came, a fixed number of them at once. */
export class Queue {
  readonly #options: Required<QueueOptions>;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  constructor(options: QueueOptions = {}) {
    this.#options = {
      places: 1,
      most_waiting: Infinity,
      patience_ms: Infinity,
      refusal: (why) => new Error(`the queue is ${why}`),
      ...options,
    };
  }
  get waiting(): number {
    return this.#waiting.length;
  }
  /** Number of tasks that run or wait. */
  get size(): number {
    return this.#running + this.#waiting.length;
  }
  /** `urgent` tasks wait even where the queue is full. */
  async run<T>(work: () => Promise<T>, { urgent = false } = {}): Promise<T> {
    if (!this.#enter()) await this.#wait(urgent);
    try {
      return await work();
    } finally {
      this.give();
    }
  }
  /** Begins a task that spans several calls, as soon as the queue permits; each `take` needs one `give`. */
  async take(): Promise<void> {
    if (!this.#enter()) await this.#wait(false);
  }
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
  /** Resolves when the tasks so far have ended. */
  async idle(): Promise<void> {
    await this.run(async () => {}, { urgent: true });
  }
  #enter(): boolean {
    if (this.#running >= this.#options.places) return false;
    this.#running += 1;
    return true;
  }
  #wait(urgent: boolean): Promise<void> {
    const { most_waiting, patience_ms, refusal } = this.#options;
    if (!urgent && this.#waiting.length >= most_waiting) return Promise.reject(refusal('full'));
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      if (patience_ms < Infinity) {
        timer = setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(start), 1);
          reject(refusal('late'));
        }, patience_ms);
      }
      this.#waiting.push(start);
    });
  }
}

/** A queue of writes: a task that finds it full, or waits longer than `patience_ms`, gets `store_unavailable`. */
export const writeQueue = (patience_ms: number): Queue =>
  new Queue({
    most_waiting: 10_000,
    patience_ms,
    refusal: (why) =>
      new ServiceError(
        'store_unavailable',
        why === 'full' ? 'too many writes are waiting' : 'the earlier writes did not finish',
        { retry_after_seconds: 5 },
      ),
  });
