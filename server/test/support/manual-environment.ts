import { environment } from '@offhook/client/environment.ts';
import type { Environment } from '@offhook/client/environment.ts';

/** Time that passes when the test says so, chance that falls as the test says, and real sockets. */
export interface ManualEnvironment extends Environment {
  /** Waits that are running, in ms. */
  readonly waits: readonly number[];
  /** What `random` gives from now on; 0 at first. */
  chance: number;
  /** Lets time pass and runs what is due, in order. */
  pass(ms: number): void;
  /** Time passes as for a machine that sleeps: nothing runs until it is over. */
  sleep(ms: number): void;
  /** Somebody sets the machine's clock; what waits is not touched by it. */
  setClock(ms: number): void;
  /** The network went, or is back. */
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
