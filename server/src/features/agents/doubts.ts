import type { Clock } from '../../ports/clock.ts';
import { intended } from './intents.ts';
import type { Intents } from './intents.ts';
import { sameMembership } from './membership.ts';
import type { Membership } from './membership.ts';

/**
 * Time after a failed action, or after a reconnect, in which the engine may still perform it; a later change
 * is a new intent.
 */
const LATE_MS = 10_000;

/** States that failed actions asked for. Shown later by the engine, they are late effects and no new intents. */
export class Doubts {
  readonly #clock: Clock;
  readonly #intents: Intents;
  /** Key: agent and queue. */
  readonly #doubted = new Map<string, { readonly wanted: Membership; readonly until: number }>();

  constructor(clock: Clock, intents: Intents) {
    this.#clock = clock;
    this.#intents = intents;
  }
  /** Without a link the time limit starts only when the link is back. */
  add(extension: string, wanted: ReadonlyMap<string, Membership>, linked: boolean): void {
    const until = linked ? this.#clock.now() + LATE_MS : Number.POSITIVE_INFINITY;
    for (const [queue, state] of wanted) this.#doubted.set(`${extension}/${queue}`, { wanted: state, until });
  }
  forget(extension: string, queues: Iterable<string>): void {
    for (const queue of queues) this.#doubted.delete(`${extension}/${queue}`);
  }
  /** Forgets the doubts about these agents. */
  clear(concerns: (extension: string) => boolean): void {
    for (const key of this.#doubted.keys())
      if (concerns(key.slice(0, key.indexOf('/')))) this.#doubted.delete(key);
  }
  /** True once, for the late effect of a failed action. */
  isLate(extension: string, queue: string, shown: Membership): boolean {
    const key = `${extension}/${queue}`;
    const doubt = this.#doubted.get(key);
    const intent = intended(this.#intents.get(extension, queue));
    if (doubt === undefined || intent === undefined || sameMembership(intent, shown)) return false;
    this.#doubted.delete(key);
    return doubt.until >= this.#clock.now() && sameMembership(doubt.wanted, shown);
  }
  onLinkDown(): void {
    this.#limit(Number.POSITIVE_INFINITY);
  }
  /** After a reconnect the engine performs what it had accepted within `LATE_MS`. */
  onResynced(): void {
    this.#limit(this.#clock.now() + LATE_MS);
  }
  #limit(until: number): void {
    for (const [key, doubt] of this.#doubted) {
      if (doubt.until < this.#clock.now()) this.#doubted.delete(key);
      else this.#doubted.set(key, { ...doubt, until });
    }
  }
}
