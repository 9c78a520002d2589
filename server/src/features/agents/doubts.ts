import type { Clock } from '../../ports/clock.ts';
import { intended } from './intents.ts';
import type { Intents } from './intents.ts';
import { sameMembership } from './membership.ts';
import type { Membership } from './membership.ts';

/** How long after a failed action, or after the link came back, the engine may still perform it; later the change is a new intent. */
const LATE_MS = 10_000;

/** What failed actions asked for. When the engine shows it later, it is the late effect of that action and no new intent. */
export class Doubts {
  readonly #clock: Clock;
  readonly #intents: Intents;
  /** By agent and queue. */
  readonly #doubted = new Map<string, { readonly wanted: Membership; readonly until: number }>();

  constructor(clock: Clock, intents: Intents) {
    this.#clock = clock;
    this.#intents = intents;
  }
  /** Without a link there is no limit until it is back. */
  add(extension: string, wanted: ReadonlyMap<string, Membership>, linked: boolean): void {
    const until = linked ? this.#clock.now() + LATE_MS : Number.POSITIVE_INFINITY;
    for (const [queue, state] of wanted) this.#doubted.set(`${extension}/${queue}`, { wanted: state, until });
  }
  forget(extension: string, queues: Iterable<string>): void {
    for (const queue of queues) this.#doubted.delete(`${extension}/${queue}`);
  }
  clear(): void {
    this.#doubted.clear();
  }
  /** True if this is the late effect of a failed action; true only once. */
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
  /** A connected engine performs within `LATE_MS` what it had already accepted. */
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
