/** Changes that a model requested and that wait for the confirmation of a person. */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Arguments } from './call.ts';

/** Time in which a person can confirm a change. */
export const CONFIRM_SECONDS = 300;
/** Limit of waiting changes of one API key; beyond it the oldest is dropped. */
const MOST_WAITING = 16;

/** `person`: the program shows a form and sends the answer; `program`: it repeats the call with the token. */
export type Way = 'person' | 'program';
/** The one change that a token confirms. */
export interface Change {
  /** Id of the API key. */
  readonly key: number;
  readonly tool: string;
  readonly args: Arguments;
  readonly way: Way;
}
interface Waiting {
  readonly key: number;
  readonly digest: string;
  readonly until: number;
}

export class Confirmations {
  readonly #clock: Pick<Clock, 'now'>;
  /** By token, oldest first. */
  readonly #waiting = new Map<string, Waiting>();
  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }
  /** Returns the token that allows exactly this change once. */
  ask(change: Change): string {
    const now = this.#clock.now();
    for (const [token, { until }] of this.#waiting) if (until <= now) this.#waiting.delete(token);
    const own = [...this.#waiting].filter(([, { key }]) => key === change.key);
    if (own.length >= MOST_WAITING) this.#waiting.delete(own[0]![0]);
    const token = randomBytes(24).toString('base64url');
    this.#waiting.set(token, {
      key: change.key,
      digest: digestOf(change),
      until: now + CONFIRM_SECONDS * 1_000,
    });
    return token;
  }
  /** True for the token of this change; each token can be tried once. */
  take(token: string, change: Change): boolean {
    const found = this.#waiting.get(token);
    this.#waiting.delete(token);
    return found !== undefined && found.until > this.#clock.now() && found.digest === digestOf(change);
  }
}
const digestOf = ({ key, tool, args, way }: Change): string =>
  createHash('sha256')
    .update(JSON.stringify([key, tool, way, sorted(args)]))
    .digest('base64');
/** Sorts the names of arguments, so that their order does not change the digest. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => [name, sorted(one)]);
}
