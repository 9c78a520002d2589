import { isIPv6 } from 'node:net';
import { ServiceError } from '../../core/errors.ts';
import { networkOf } from '../../core/networks.ts';
import type { Clock } from '../../ports/clock.ts';

const WINDOW_MS = 15 * 60_000;
/**
 * Failures in 15 minutes after which a sign-in is refused without a check (wire.md section 2). `device`: of a
 * device with an earlier sign-in, which failures elsewhere do not block. `wide`: of an IPv6 /48.
 */
const LIMITS = { device: 5, pair: 5, network: 20, wide: 60, account: 50 } as const;
/**
 * Interval at which an account over its limit accepts one attempt from unknown networks, so that no attacker can
 * lock it.
 */
const SPACING_MS = 18_000;
/**
 * Wrong digits of the second factor after a right password: by account, and of each known network and device by itself, so that
 * failures elsewhere do not block them. At the intervals above, a guesser with the password would find the digits of an account
 * within months, because three of a million are right at any moment.
 */
const DIGITS = { limit: 10, window: 86_400_000, spacing: 15 * 60_000 } as const;
const MAX_KEYS = 50_000;
const MAX_WAITING = 128;

/** One sign-in under computation. Exactly one of its methods must be called. */
export interface Attempt {
  /** `digits`: the password was right, the second factor was not. */
  failed(what?: 'digits'): void;
  /** Resets the failures of this account from this network. */
  succeeded(): void;
  /** Ends an attempt without a result. */
  abandoned(): void;
}
/** Facts about the client besides its address. */
export interface Known {
  /** A device with an earlier sign-in; only its own failures block it. */
  readonly device?: string | null;
  /** True for a network from which the account has signed in; failures of other networks do not block it. */
  readonly network?: boolean;
}
export interface Throttle {
  /**
   * Waits while as many guesses are computed as failures are left, so that simultaneous guesses count like
   * consecutive ones. Throws `too_many_attempts`, or `overloaded` if too many wait.
   */
  enter(account: string, ip: string, known?: Known): Promise<Attempt>;
}

interface Counter {
  /** Times of failures, oldest first, no more than the limit. */
  failures: number[];
  running: number;
}
/** Bounded: beyond `maxKeys` the key with the oldest last failure is dropped. */
class Counters {
  readonly limit: number;
  /** Interval at which one attempt passes beyond the limit; null blocks all until the window ends. */
  readonly spacing: number | null;
  readonly #window: number;
  readonly #maxKeys: number;
  readonly #byKey = new Map<string, Counter>();
  constructor(limit: number, maxKeys: number, spacing: number | null = null, window = WINDOW_MS) {
    this.limit = limit;
    this.spacing = spacing;
    this.#window = window;
    this.#maxKeys = maxKeys;
  }
  get size(): number {
    return this.#byKey.size;
  }
  failures(key: string, now: number): readonly number[] {
    const counter = this.#byKey.get(key);
    if (counter === undefined) return [];
    counter.failures = counter.failures.filter((at) => at > now - this.#window);
    return counter.failures;
  }
  /** Milliseconds until an attempt may be made; 0 for now. */
  wait(key: string, now: number): number {
    const failures = this.failures(key, now);
    if (failures.length < this.limit) return 0;
    const free =
      this.spacing === null ? failures.at(-this.limit)! + this.#window : failures.at(-1)! + this.spacing;
    return Math.max(0, free - now);
  }
  /** True while the number of running attempts is at its limit. */
  isFull(key: string, now: number): boolean {
    const room = Math.max(this.limit - this.failures(key, now).length, this.spacing === null ? 0 : 1);
    return this.running(key) >= room;
  }
  running(key: string): number {
    return this.#byKey.get(key)?.running ?? 0;
  }
  begin(key: string): void {
    const counter = this.#byKey.get(key);
    if (counter !== undefined) counter.running += 1;
    else {
      if (this.#byKey.size >= this.#maxKeys) this.#forgetOne();
      this.#byKey.set(key, { failures: [], running: 1 });
    }
  }
  end(key: string, outcome: 'failed' | 'clear' | 'nothing', now: number): void {
    const counter = this.#byKey.get(key);
    if (counter === undefined) return;
    counter.running = Math.max(0, counter.running - 1);
    if (outcome === 'clear') counter.failures = [];
    if (outcome === 'failed') {
      counter.failures = [...counter.failures, now].slice(-this.limit);
      this.#byKey.delete(key);
      this.#byKey.set(key, counter);
    }
    if (counter.failures.length === 0 && counter.running === 0) this.#byKey.delete(key);
  }
  #forgetOne(): void {
    for (const [key, counter] of this.#byKey) {
      if (counter.running === 0) {
        this.#byKey.delete(key);
        return;
      }
    }
  }
}

/** A sign-in that waits until one of its counters has room. */
interface Waiter {
  readonly all: readonly Place[];
  readonly admit: (attempt: Attempt) => void;
  readonly refuse: (error: ServiceError) => void;
}
/** A counter that an attempt counts against; `id` is unique over all kinds. */
interface Place {
  readonly counters: Counters;
  readonly key: string;
  readonly id: string;
  /** False for a counter that only counts failures and does not block this attempt. */
  readonly gate: boolean;
}

export function createThrottle(clock: Clock, maxKeys = MAX_KEYS): Throttle & { readonly size: number } {
  const pairs = new Counters(LIMITS.pair, maxKeys);
  const networks = new Counters(LIMITS.network, maxKeys);
  const accounts = new Counters(LIMITS.account, maxKeys, SPACING_MS);
  const devices = new Counters(LIMITS.device, maxKeys);
  const wides = new Counters(LIMITS.wide, maxKeys);
  const digits = new Counters(DIGITS.limit, maxKeys, DIGITS.spacing, DIGITS.window);
  /** Waiting sign-ins in order, by the counter that is full. */
  const queues = new Map<string, Waiter[]>();
  let waiting = 0;

  const placesOf = (account: string, ip: string, known: Known): Place[] => {
    const counted = (kind: string, counters: Counters, key: string): Place => ({
      counters,
      key,
      id: `${kind} ${key}`,
      gate: true,
    });
    const network = networkOf(ip);
    const places = [counted('pair', pairs, `${account}|${network}`), counted('network', networks, network)];
    if (isIPv6(ip) && network.includes(':')) places.push(counted('wide', wides, networkOf(ip, 24, 48)));
    const byAccount = [counted('account', accounts, account), counted('digits', digits, account)];
    const ungated = (some: readonly Place[]): Place[] => some.map((other) => ({ ...other, gate: false }));
    if (typeof known.device === 'string') {
      const device = `${account}|${known.device}`;
      const own = [counted('device', devices, device), counted('digits', digits, device)];
      return [...own, ...ungated([...places, ...byAccount])];
    }
    if (known.network !== true) return [...places, ...byAccount];
    return [...places, counted('digits', digits, `${account}|${network}`), ...ungated(byAccount)];
  };
  function refusal(all: readonly Place[]): ServiceError | undefined {
    const now = clock.now();
    const wait = Math.max(...all.map(({ counters, key, gate }) => (gate ? counters.wait(key, now) : 0)));
    return wait === 0
      ? undefined
      : new ServiceError('too_many_attempts', 'too many failed attempts; try again later', {
          retry_after_seconds: wait / 1000,
        });
  }
  const fullPlace = (all: readonly Place[]): Place | undefined =>
    all.find(({ counters, key, gate }) => gate && counters.isFull(key, clock.now()));

  function begin(all: readonly Place[]): Attempt {
    for (const { counters, key } of all) counters.begin(key);
    let open = true;
    const leave = (outcome: 'failed' | 'digits' | 'succeeded' | 'abandoned'): void => {
      if (!open) return;
      open = false;
      const now = clock.now();
      for (const { counters, key } of all) {
        const cleared = outcome === 'succeeded' && (counters === pairs || counters === devices);
        const failed = outcome === 'digits' || (outcome === 'failed' && counters !== digits);
        counters.end(key, failed ? 'failed' : cleared ? 'clear' : 'nothing', now);
      }
      for (const { id } of all) letIn(id);
    };
    return {
      failed: (what) => leave(what ?? 'failed'),
      succeeded: () => leave('succeeded'),
      abandoned: () => leave('abandoned'),
    };
  }
  function wait(waiter: Waiter, place: Place): void {
    const queue = queues.get(place.id);
    if (queue === undefined) queues.set(place.id, [waiter]);
    else queue.push(waiter);
  }
  /** Admits waiting sign-ins of this counter in order, until one of them must still wait for it. */
  function letIn(id: string): void {
    const queue = queues.get(id);
    if (queue === undefined) return;
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      const error = refusal(head.all);
      const full = error === undefined ? fullPlace(head.all) : undefined;
      if (full?.id === id) return;
      queue.shift();
      if (full !== undefined) wait(head, full);
      else {
        waiting -= 1;
        if (error === undefined) head.admit(begin(head.all));
        else head.refuse(error);
      }
    }
    queues.delete(id);
  }

  return {
    get size() {
      return [pairs, networks, accounts, devices, wides, digits].reduce((sum, { size }) => sum + size, 0);
    },
    async enter(account, ip, known = {}) {
      const all = placesOf(account, ip, known);
      const error = refusal(all);
      if (error !== undefined) throw error;
      const full = fullPlace(all);
      if (full === undefined) return begin(all);
      if (waiting >= MAX_WAITING) {
        throw new ServiceError('overloaded', 'too many sign-ins at once; try again in a moment', {
          retry_after_seconds: 5,
        });
      }
      waiting += 1;
      return new Promise<Attempt>((admit, refuse) => wait({ all, admit, refuse }, full));
    },
  };
}
