import net from 'node:net';
import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';

const WINDOW_MS = 15 * 60_000;
/** Failures in 15 minutes after which a sign-in is refused unseen (wire.md section 2). */
const LIMITS = { pair: 5, network: 20, account: 50 } as const;
const MAX_KEYS = 50_000;
const MAX_WAITING = 512;

/** One sign-in that is being computed. Exactly one of its ways out must be taken. */
export interface Attempt {
  failed(): void;
  /** Forgets the failures of this account from this network. */
  succeeded(): void;
  /** Neither right nor wrong: it was not looked at to the end. */
  abandoned(): void;
}
export interface Throttle {
  /**
   * Waits while as many guesses are being computed as failures are left: so a thousand guesses sent at once are counted
   * like a thousand sent one after another. Throws `too_many_attempts`, or `overloaded` when too many wait.
   */
  enter(account: string, ip: string): Promise<Attempt>;
}

/** The network an address belongs to: /24 of IPv4, /64 of IPv6. */
export function networkOf(ip: string): string {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(ip)?.[1];
  if (v4 !== undefined) return v4;
  if (net.isIPv6(ip)) {
    const [head = '', tail = ''] = ip.split('%')[0]!.split('::', 2) as [string?, string?];
    const front = head === '' ? [] : head.split(':');
    const back = tail === '' ? [] : tail.split(':');
    const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => '0');
    const groups = ip.includes('::') ? [...front, ...zeros, ...back] : front;
    return groups
      .slice(0, 4)
      .map((g) => Number.parseInt(g, 16).toString(16))
      .join(':');
  }
  return 'unknown';
}

interface Counter {
  /** Times of failures, oldest first, no more than the limit. */
  failures: number[];
  running: number;
}
/** Bounded: beyond 50,000 keys of a kind the one that failed longest ago is forgotten. */
class Counters {
  readonly limit: number;
  readonly #byKey = new Map<string, Counter>();
  constructor(limit: number) {
    this.limit = limit;
  }
  get size(): number {
    return this.#byKey.size;
  }
  failures(key: string, now: number): readonly number[] {
    const counter = this.#byKey.get(key);
    if (counter === undefined) return [];
    counter.failures = counter.failures.filter((at) => at > now - WINDOW_MS);
    return counter.failures;
  }
  running(key: string): number {
    return this.#byKey.get(key)?.running ?? 0;
  }
  begin(key: string): void {
    const counter = this.#byKey.get(key);
    if (counter !== undefined) counter.running += 1;
    else {
      if (this.#byKey.size >= MAX_KEYS) this.#forgetOne();
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

export function createThrottle(clock: Clock): Throttle & { readonly size: number } {
  const pairs = new Counters(LIMITS.pair);
  const networks = new Counters(LIMITS.network);
  const accounts = new Counters(LIMITS.account);
  const waiting = new Set<() => void>();

  /** The three counters one attempt is held against. */
  const places = (account: string, network: string): [Counters, string][] => [
    [pairs, `${account}|${network}`],
    [networks, network],
    [accounts, account],
  ];
  function refuse(all: [Counters, string][]): void {
    const now = clock.now();
    const waits = all.flatMap(([counters, key]) => {
      const failures = counters.failures(key, now);
      return failures.length >= counters.limit ? [failures.at(-counters.limit)! + WINDOW_MS - now] : [];
    });
    if (waits.length === 0) return;
    throw new ServiceError('too_many_attempts', 'too many failed attempts; try again later', {
      retry_after_seconds: Math.max(...waits) / 1000,
    });
  }
  const isFull = (all: [Counters, string][]): boolean => {
    const now = clock.now();
    return all.some(
      ([counters, key]) => counters.failures(key, now).length + counters.running(key) >= counters.limit,
    );
  };
  return {
    get size() {
      return pairs.size + networks.size + accounts.size;
    },
    async enter(account, ip) {
      const all = places(account, networkOf(ip));
      refuse(all);
      while (isFull(all)) {
        if (waiting.size >= MAX_WAITING) {
          throw new ServiceError('overloaded', 'too many sign-ins at once; try again in a moment', {
            retry_after_seconds: 5,
          });
        }
        // oxlint-disable-next-line no-await-in-loop -- each turn looks anew at what others' outcomes left
        await new Promise<void>((resolve) => waiting.add(resolve));
        refuse(all);
      }
      for (const [counters, key] of all) counters.begin(key);
      let open = true;
      const leave = (outcome: 'failed' | 'succeeded' | 'abandoned'): void => {
        if (!open) return;
        open = false;
        const now = clock.now();
        for (const [counters, key] of all) {
          const own = counters === pairs ? 'clear' : 'nothing';
          counters.end(key, outcome === 'failed' ? 'failed' : outcome === 'succeeded' ? own : 'nothing', now);
        }
        const woken = [...waiting];
        waiting.clear();
        for (const wake of woken) wake();
      };
      return {
        failed: () => leave('failed'),
        succeeded: () => leave('succeeded'),
        abandoned: () => leave('abandoned'),
      };
    },
  };
}
