import { ServiceError } from '../core/errors.ts';
import { Queue } from '../core/queue.ts';
import type { Said } from '../core/said.ts';

/** Limit of simultaneous commands of one person or API key. */
const MOST_AT_ONCE = 8;

/** Counts the work under way for each name and rejects more than 8. */
export class AtOnce {
  readonly #underWay = new Map<string | number, number>();
  readonly #refusal: (count: number, name: string | number) => Said;
  constructor(refusal: (count: number, name: string | number) => Said) {
    this.#refusal = refusal;
  }
  /** Returns the function that ends it; a second call has no effect. Throws `too_many_requests`. */
  enter(name: string | number): () => void {
    const count = this.#underWay.get(name) ?? 0;
    if (count >= MOST_AT_ONCE) {
      throw new ServiceError('too_many_requests', this.#refusal(count, name), { retry_after_seconds: 1 });
    }
    this.#underWay.set(name, count + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = (this.#underWay.get(name) ?? 1) - 1;
      if (left > 0) this.#underWay.set(name, left);
      else this.#underWay.delete(name);
    };
  }
}

/** One queue for each name: changes of one agent never overlap, and no agent waits for another. */
export class Lanes {
  readonly #queues = new Map<string, Queue>();
  readonly #most_waiting: number;
  readonly #refusal: (size: number, name: string) => Said;
  constructor(most_waiting: number, refusal: (size: number, name: string) => Said) {
    this.#most_waiting = most_waiting;
    this.#refusal = refusal;
  }
  /** Rejects `too_many_requests` if too many tasks of this name wait; `urgent` tasks are never rejected. */
  async run<T>(name: string, work: () => Promise<T>, options?: { readonly urgent?: boolean }): Promise<T> {
    const queue = this.#queues.get(name) ?? this.#open(name);
    try {
      return await queue.run(work, options);
    } finally {
      if (this.#queues.get(name)?.size === 0) this.#queues.delete(name);
    }
  }
  /** Resolves when no task runs or waits. */
  async idle(): Promise<void> {
    while (this.#queues.size > 0) {
      await Promise.all(
        Array.from(this.#queues.keys(), (name) => this.run(name, async () => {}, { urgent: true })),
      );
    }
  }
  #open(name: string): Queue {
    const queue: Queue = new Queue({
      most_waiting: this.#most_waiting,
      refusal: () =>
        new ServiceError('too_many_requests', this.#refusal(queue.size, name), { retry_after_seconds: 1 }),
    });
    this.#queues.set(name, queue);
    return queue;
  }
}
