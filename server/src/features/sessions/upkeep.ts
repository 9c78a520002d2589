import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import type { Person } from '../../ports/directory.ts';
import type { Common } from '../../ports/common.ts';
import type { SessionCache } from './cache.ts';
import type { SessionStore } from './store.ts';

const SAVE_EVERY_MS = 5_000;
const SAVE_AT_ONCE = 500;
const PURGE_EVERY_MS = 6 * 3_600_000;

export interface UpkeepDeps extends Common<'clock' | 'directory' | 'log'> {
  readonly store: SessionStore;
  readonly cache: SessionCache;
  readonly person: (id: number) => Person | undefined;
  /** Ends all sessions of an inactive person. */
  readonly endSessionsOf: (personId: number) => Promise<void>;
}

/** Background work: stores times of last use, deletes old sessions, ends sessions of inactive persons. */
export class Upkeep {
  readonly #deps: UpkeepDeps;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #stopDirectory: () => void;

  constructor(deps: UpkeepDeps) {
    const { store, clock, directory, log } = deps;
    this.#deps = deps;
    const failed = (what: string) => (error: unknown) => log.warn({ error: messageOf(error) }, what);
    const save = onceAtATime(() => this.save(), failed('when sessions were last used could not be written'));
    const purge = onceAtATime(() => store.purge(clock.now()), failed('old sessions could not be deleted'));
    const sweep = onceAtATime(
      () => this.#endInactive(),
      failed('sessions of inactive people could not be ended'),
    );
    this.#timers = [setInterval(save, SAVE_EVERY_MS), setInterval(purge, PURGE_EVERY_MS)];
    for (const timer of this.#timers) timer.unref();
    this.#stopDirectory = directory.onChange(sweep);
    purge();
    sweep();
  }
  /** Stores times of last use that are only in memory. Throws `store_unavailable`. */
  async save(): Promise<void> {
    const { store, cache } = this.#deps;
    for (;;) {
      const changes = cache.takeChanges(SAVE_AT_ONCE);
      if (changes === undefined) return;
      try {
        await store.save(changes);
      } catch (error) {
        cache.giveBack(changes);
        throw error;
      }
      await setImmediate();
    }
  }
  async close(): Promise<void> {
    this.#stopDirectory();
    for (const timer of this.#timers) clearInterval(timer);
    await this.save();
  }
  async #endInactive(): Promise<void> {
    const { store, clock, directory, person, endSessionsOf } = this.#deps;
    // An empty directory is not loaded yet and makes no person inactive.
    if (directory.people().length === 0) return;
    for (const id of await store.peopleWithSessions(clock.now())) {
      if (person(id)?.active !== true) await endSessionsOf(id);
    }
  }
}

/** Runs `work` in the background, one run at a time; all requests during a run are served by one more run. */
function onceAtATime(work: () => Promise<void>, failed: (error: unknown) => void): () => void {
  let running = false;
  let again = false;
  const run = (): void => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    work()
      .catch(failed)
      .finally(() => {
        running = false;
        if (again) {
          again = false;
          run();
        }
      });
  };
  return run;
}
