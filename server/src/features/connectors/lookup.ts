import type { ConnectorMatches } from '@offhook/contract/connectors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ConnectorCustomer } from './format/customers.ts';
import type { ConnectorResult } from './format/requests.ts';
import { rankedWithin } from './ranked.ts';
import type { Running } from './running.ts';

/** Limit of a lookup; slower systems are omitted, because the phone rings meanwhile. */
const LOOKUP_MS = 1_500;
/** Times for which answers with and without a customer are reused. */
const FOUND_MS = 600_000;
const NONE_MS = 60_000;
/** Limit of the answers that are kept, in characters of their JSON: the system decides how long each one is. */
const MAX_KEPT = 8_000_000;
/** Characters that stand for the memory of an answer without customers. */
const EMPTY_SIZE = 500;

type Found = ConnectorResult<readonly ConnectorCustomer[]>;
interface Kept {
  asked: Promise<Found>;
  until: number;
  size: number;
}

/** Looks up customers by number in connected systems; concurrent lookups of the same number share one request. */
export class Lookups {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  #size = 0;
  #generation = 0;
  constructor(clock: Clock) {
    this.#clock = clock;
  }
  /** Results of all connectors with a lookup for a number within `LOOKUP_MS`. */
  find(all: readonly Running[], e164: string): Promise<{ running: Running; found: Found }[]> {
    const able = all.filter(({ row, session }) => row.enabled && session?.lookup != null);
    return Promise.all(able.map(async (running) => ({ running, found: await this.#ask(running, e164) })));
  }
  /** First customer that a connector returns for a number in E.164; null if it returns none in time. */
  async first(running: Running | undefined, number: string): Promise<ConnectorCustomer | null> {
    if (running === undefined || !number.startsWith('+')) return null;
    const [answer] = await this.find([running], number);
    return answer?.found.kind === 'done' ? (answer.found.value[0] ?? null) : null;
  }
  /** Number of calls of `forgetAll`; answers to requests of an older generation must not be stored. */
  get generation(): number {
    return this.#generation;
  }
  /** Call after an erasure, because an answer contains all numbers of its customers. */
  forgetAll(): void {
    this.#generation += 1;
    for (const key of this.#kept.keys()) this.#drop(key);
  }
  /** Call after a change of a connector or of its customers. */
  forget(connector: number): void {
    for (const key of this.#kept.keys()) if (key.startsWith(`${connector}:`)) this.#drop(key);
  }
  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }

  async #ask({ row, session }: Running, e164: string): Promise<Found> {
    const key = `${row.id}:${e164}`;
    const now = this.#clock.now();
    const known = this.#kept.get(key);
    // A remaining time above the maximum means that the clock was set back.
    if (known !== undefined && now < known.until && known.until - now <= FOUND_MS) return known.asked;
    const kept: Kept = {
      asked: rankedWithin(this.#clock, 'lookup', LOOKUP_MS, (signal) => session!.lookup!(e164, signal)),
      until: now + LOOKUP_MS,
      size: EMPTY_SIZE,
    };
    this.#drop(key);
    this.#kept.set(key, kept);
    this.#size += kept.size;
    const found = await kept.asked;
    if (this.#kept.get(key) !== kept) return found;
    if (found.kind === 'done') this.#keep(kept, found.value);
    else this.#drop(key);
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= MAX_KEPT) break;
      this.#drop(oldest);
    }
    return found;
  }
  #keep(kept: Kept, value: readonly ConnectorCustomer[]): void {
    // A copy, because a text that was cut refers to the whole text of the answer.
    const text = JSON.stringify(value);
    kept.asked = Promise.resolve({ kind: 'done', value: JSON.parse(text) as ConnectorCustomer[] });
    kept.until = this.#clock.now() + (value.length > 0 ? FOUND_MS : NONE_MS);
    kept.size += text.length;
    this.#size += text.length;
  }
}

/** Result of a lookup as the operation replies. */
export function matchesOf({ running, found }: { running: Running; found: Found }): ConnectorMatches {
  const { id: connector, title } = running.row;
  if (found.kind === 'done') return { connector, title, customers: found.value.map(shown), words: null };
  return { connector, title, customers: [], words: found.words };
}
export const shown = ({
  numbers,
  emails,
  language,
  owner: _owner,
  adds_numbers: _adds,
  ...customer
}: ConnectorCustomer) => ({
  ...customer,
  numbers: [...numbers],
  emails: [...emails],
  language: language ?? null,
});
