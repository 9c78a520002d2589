import { environment } from '@offhook/client/environment.ts';
import type { Environment } from '@offhook/client/environment.ts';

/** An environment with time and randomness set by the test, and real sockets. */
export interface ManualEnvironment extends Environment {
  /** Running waits, in ms. */
  readonly waits: readonly number[];
  /** Value of `random`; 0 at first. */
  chance: number;
  /** Advances time and runs due timers in order. */
  pass(ms: number): void;
  /** Advances time as for a suspended machine: timers run only at the end. */
  sleep(ms: number): void;
  /** Sets the wall clock; running waits are not affected. */
  setClock(ms: number): void;
  /** Reports a lost or restored network. */
  networkChanged(): void;
}
export function manualEnvironment(): ManualEnvironment {
  let now = 1_800_000_000_000;
  let ahead = 0;
  const timers = new Set<{ readonly due: number; readonly run: () => void }>();
  const network = new Set<() => void>();
  const due = (until: number) =>
    [...timers].filter((timer) => timer.due <= until).toSorted((a, b) => a.due - b.due)[0];
  const env: ManualEnvironment = {
    chance: 0,
    get waits() {
      return [...timers].map((timer) => timer.due - now);
    },
    now: () => now + ahead,
    random: () => env.chance,
    after(ms, run) {
      const timer = { due: now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    open: (url, protocol) => environment.open(url, protocol),
    network(run) {
      network.add(run);
      return () => network.delete(run);
    },
    pass(ms) {
      const until = now + ms;
      for (let timer = due(until); timer !== undefined; timer = due(until)) {
        timers.delete(timer);
        now = Math.max(now, timer.due);
        timer.run();
      }
      now = until;
    },
    sleep(ms) {
      now += ms;
      env.pass(0);
    },
    setClock(ms) {
      ahead += ms;
    },
    networkChanged() {
      for (const run of network) run();
    },
  };
  return env;
}
