import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import type { FeatureStore } from './store.ts';

/** Intended settings, in memory and, as soon as the database accepts them, in the store. */
export interface Intents {
  get(extension: string): ExtensionFeatures | undefined;
  extensions(): string[];
  /** Keeps settings that are stored already. */
  put(extension: string, features: ExtensionFeatures): void;
  /** Keeps settings in memory at once and stores them in the background; null deletes them. */
  adopt(extension: string, features: ExtensionFeatures | null): void;
  flushed(): Promise<void>;
  /** Stores the remaining settings, without further retries. */
  close(): Promise<void>;
}
const RETRY = { first_ms: 250, most_ms: 15_000 } as const;

export function createIntents(deps: {
  readonly store: FeatureStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly known: Map<string, ExtensionFeatures>;
}): Intents {
  const { store, clock, log, known } = deps;
  const behind = new Set<string>();
  const stopped = new AbortController();
  let writer: Promise<void> | null = null;
  const writeBehind = async (): Promise<void> => {
    for (const backoff = new Backoff(RETRY); behind.size > 0;) {
      const [extension = ''] = behind;
      behind.delete(extension);
      try {
        await store.save(extension, known.get(extension) ?? null);
        backoff.reset();
      } catch (error) {
        behind.add(extension);
        if (stopped.signal.aborted) break;
        if (backoff.failures === 0)
          log.warn({ error: messageOf(error) }, 'call settings could not be stored yet');
        await backoff.wait(clock, stopped.signal);
      }
    }
    writer = null;
  };
  return {
    get: (extension) => known.get(extension),
    extensions: () => [...known.keys()],
    put(extension, features) {
      behind.delete(extension);
      known.set(extension, features);
    },
    adopt(extension, features) {
      if (features === null) known.delete(extension);
      else known.set(extension, features);
      behind.add(extension);
      writer ??= writeBehind();
    },
    async flushed() {
      while (writer !== null) await writer;
    },
    async close() {
      stopped.abort();
      await writer;
    },
  };
}
