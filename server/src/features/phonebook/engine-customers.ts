import type { DomainEvent } from '@offhook/contract/events.ts';
import { cutText } from '../../core/cut-text.ts';
import { Backoff } from '../../core/backoff.ts';
import { hasCode, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { spellingsOf } from '../../numbers/e164.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomerVerbs, StoredCustomer } from '../../ports/engine-verbs.ts';
import type { Gauges } from '../../ports/metrics.ts';
import type { CustomerRow } from './rows.ts';
import type { PhonebookStore } from './store.ts';
import { EVERYONE } from './tables.ts';

/** Limit of number spellings in the engine's store: a search of so many takes 90 ms, and blocks reads by calls. */
const MAX_KEPT = 100_000;
/** Customers, or keys of numbers, of one query. */
const AT_ONCE = 500;
/** Touched keys that are remembered; beyond it everything is compared. */
const MAX_TOUCHED = 20_000;
/** Interval of full comparisons, because the engine's store can be changed or lost without an event. */
const COMPARE_MS = 3_600_000;
const RETRY = { first_ms: 500, most_ms: 60_000, spread: [0.5, 1] } as const;
/** Limit of a name in characters; phones show fewer. */
const MAX_LETTERS = 80;
/** Characters that the engine cannot store: control characters, line ends of any script and halves of letters. */
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

export interface EngineCustomersOptions {
  readonly store: Pick<PhonebookStore, 'onTouched' | 'page' | 'blocked' | 'newestWith'>;
  readonly engine: CustomerVerbs;
  /** Country of the site; its numbers also arrive in national spellings. */
  readonly country: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Spellings of numbers that the engine keeps at most; 100,000. */
  readonly most?: number;
}
/** Form of an extension: other owners have no phone. */
const EXTENSION = /^[1-9][0-9]{1,9}$/;
/** Null for a customer with a name that the engine cannot be given: the phone then shows the number alone. */
function storedOf({ name, owner, blocked, language }: CustomerRow): StoredCustomer | null {
  if (UNFIT.test(name)) return null;
  return {
    name: cutText(name, MAX_LETTERS).trim(),
    owner: owner !== null && EXTENSION.test(owner) ? owner : null,
    blocked,
    ...(language === null ? {} : { language }),
  };
}
const isSame = (a: StoredCustomer | undefined, b: StoredCustomer | null): boolean =>
  a !== undefined &&
  a.name === b?.name &&
  a.owner === b.owner &&
  a.blocked === b.blocked &&
  a.language === b.language;

/**
 * Copies names, owners and marks of shared customers into the engine's own store, so that phones show names before they
 * ring, and owners are rung, while the service is down. A change of the phonebook updates the numbers of its customers;
 * after each connect, and once an hour, the whole store is compared. Of several customers with a number the newest is
 * stored, as for a live call.
 */
export class EngineCustomers {
  readonly #deps: EngineCustomersOptions;
  readonly #most: number;
  readonly #end = new AbortController();
  readonly #backoff = new Backoff(RETRY);
  readonly #touched = new Set<string>();
  /** Numbers that the engine's store has, as far as known. */
  readonly #kept = new Set<string>();
  #isWhole = false;
  #wake: () => void = () => {};
  #running: Promise<void> | null = null;

  constructor(deps: EngineCustomersOptions) {
    this.#deps = deps;
    this.#most = deps.most ?? MAX_KEPT;
    deps.store.onTouched((keys) => this.#touch(keys));
  }
  onEvent(event: DomainEvent): void {
    if (event.type !== 'engine.link_up') return;
    this.#isWhole = true;
    this.#backoff.reset();
    this.#wake();
    this.#running ??= this.#run();
  }
  gauges(to: Gauges): void {
    to.gauge(
      'offhook_engine_customer_numbers',
      'Numbers of customers in the store of the engine.',
      () => this.#kept.size,
    );
    to.gauge(
      'offhook_engine_customer_numbers_behind',
      'Numbers of customers that the store of the engine does not have yet; 1 where it is to be compared.',
      () => this.#touched.size + Number(this.#isWhole),
    );
  }
  async close(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  #touch(keys: ReadonlySet<string>): void {
    // Before the first connect everything is compared in any case.
    if (this.#running === null || this.#isWhole) return;
    for (const key of keys) this.#touched.add(key);
    if (this.#touched.size > MAX_TOUCHED) this.#isWhole = true;
    this.#wake();
  }
  async #run(): Promise<void> {
    const { log } = this.#deps;
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        if (this.#isWhole) await this.#compare();
        else if (this.#touched.size > 0) await this.#follow();
        else if (await this.#nap(COMPARE_MS)) this.#isWhole = true;
        this.#backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        // The result of writes in progress is unknown.
        this.#isWhole = true;
        // An engine that is away is compared when it is back.
        const isAway = hasCode(error, 'engine_unavailable');
        if (!isAway) log.warn({ error: messageOf(error) }, 'customers could not be stored in the engine');
        await this.#nap(this.#backoff.next());
      }
    }
  }
  /** Waits `ms` milliseconds, or less if work arrives or the service stops; true after the full time. */
  async #nap(ms: number): Promise<boolean> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    let isOver = false;
    await this.#deps.clock.sleep(ms, AbortSignal.any([woken.signal, this.#end.signal])).then(
      () => (isOver = true),
      () => {},
    );
    this.#wake = () => {};
    return isOver;
  }
  /** Makes the engine's store match the phonebook. */
  async #compare(): Promise<void> {
    const { engine } = this.#deps;
    const { signal } = this.#end;
    // Changes from here on are stored by `#follow`.
    this.#isWhole = false;
    this.#touched.clear();
    const wanted = await this.#wanted();
    const changes = new Map<string, StoredCustomer | null>();
    this.#kept.clear();
    await engine.storedCustomers(
      (number, customer) => {
        this.#kept.add(number);
        if (isSame(wanted.get(number), customer)) wanted.delete(number);
        else if (!wanted.has(number)) changes.set(number, null);
      },
      { signal },
    );
    for (const [number, customer] of wanted) changes.set(number, customer);
    await this.#keep(changes);
  }
  /** Content of the store by spelling: blocked customers first, then the newest, up to the limit. */
  async #wanted(): Promise<Map<string, StoredCustomer>> {
    const { store, log } = this.#deps;
    const wanted = new Map<string, StoredCustomer>();
    const seen = new Set<string>();
    /** False when the store is full. */
    const add = (e164: string | null, row: CustomerRow): boolean => {
      // Of several customers the newest decides, with or without a name that can be shown.
      if (e164 === null || seen.has(e164)) return true;
      seen.add(e164);
      const stored = storedOf(row);
      if (stored !== null) for (const number of this.#spellings(e164)) wanted.set(number, stored);
      return wanted.size < this.#most - 1;
    };
    const fill = async (
      page: (before: number | null) => ReturnType<typeof store.page>,
      take: (rows: readonly CustomerRow[]) => boolean | Promise<boolean>,
    ): Promise<boolean> => {
      for (let before: number | null = null; !this.#end.signal.aborted;) {
        const { rows, next } = await page(before);
        if (!(await take(rows))) return false;
        if (next === null) return true;
        before = next;
      }
      return true;
    };
    const numbersOf = ({ numbers }: CustomerRow) => numbers.flatMap(({ e164 }) => e164 ?? []);
    // The engine must refuse a blocked caller also where it has no room for every name.
    const hasRoom =
      (await fill(
        (before) => store.blocked(EVERYONE, before, AT_ONCE),
        async (rows) => {
          const newest = await store.newestWith(EVERYONE, rows.flatMap(numbersOf));
          return [...newest].every(([key, { row }]) => !row.blocked || add(key, row));
        },
      )) &&
      (await fill(
        (before) => store.page(EVERYONE, before, AT_ONCE),
        (rows) => rows.every((row) => row.numbers.every(({ e164 }) => add(e164, row))),
      ));
    if (!hasRoom) log.warn({ numbers: wanted.size }, 'the engine keeps the newest customers only');
    return wanted;
  }
  /** Stores what changed of the touched numbers. */
  async #follow(): Promise<void> {
    const keys = [...this.#touched].slice(0, AT_ONCE);
    for (const key of keys) this.#touched.delete(key);
    const found = await this.#deps.store.newestWith(EVERYONE, keys);
    const changes = new Map<string, StoredCustomer | null>();
    for (const key of keys) {
      const row = found.get(key)?.row;
      const stored = row === undefined ? null : storedOf(row);
      for (const number of this.#spellings(key))
        if (this.#hasRoom(number, stored !== null)) changes.set(number, stored);
        // The full comparison stores blocked customers first, so it makes room for this one.
        else if (stored?.blocked === true) this.#isWhole = true;
    }
    await this.#keep(changes);
  }
  #hasRoom(number: string, isNew: boolean): boolean {
    if (this.#kept.has(number)) return true;
    if (!isNew) return false;
    if (this.#kept.size >= this.#most) return false;
    this.#kept.add(number);
    return true;
  }
  async #keep(changes: ReadonlyMap<string, StoredCustomer | null>): Promise<void> {
    await this.#deps.engine.keepCustomers(changes, { signal: this.#end.signal });
    for (const [number, stored] of changes)
      if (stored === null) this.#kept.delete(number);
      else this.#kept.add(number);
  }
  #spellings(e164: string): readonly string[] {
    return e164.startsWith('+') ? spellingsOf(e164, this.#deps.country) : [];
  }
}
