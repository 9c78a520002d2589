import { Backoff } from '../../core/backoff.ts';
import { hasCode, messageOf } from '../../core/errors.ts';
import type { Common } from '../../ports/common.ts';
import type { Directory } from '../../ports/directory.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Intents } from './intents.ts';
import type { Lanes } from '../../commands/lanes.ts';
import { FORWARDS, checkForward } from './rules.ts';
import type { RuleDeps } from './rules.ts';
import { holds, isSame, valuesOf } from './view.ts';
import type { FeatureChanges } from './view.ts';

export interface ReconcilerDeps extends RuleDeps, Common<'clock' | 'live' | 'log'> {
  readonly directory: Directory;
  readonly intents: Intents;
  readonly lanes: Lanes;
  readonly write: (extension: string, changes: FeatureChanges, time: number) => Promise<ExtensionFeatures>;
  readonly nextTime: (extension: string) => number;
  /** True for settings of a former holder of the extension. */
  readonly isLeftOver: (extension: string) => boolean;
}
export interface Reconciler {
  /** Compares all extensions if the engine's settings changed: O(people), else O(1). */
  look(): void;
  /** Compares this extension. */
  due(extension: string): void;
  idle(): Promise<void>;
  close(): void;
}
const RETRY = { first_ms: 500, most_ms: 15_000 } as const;

/**
 * Makes the settings of service and engine equal. The newest change wins: that of a phone while the service was away,
 * or that of the service if the engine lost a change it had not stored. The time of a change is written last, so other
 * settings with the same or an older time come from an interrupted write.
 */
export function reconciler(deps: ReconcilerDeps): Reconciler {
  const { live, intents, lanes, clock, log, write, nextTime, isLeftOver } = deps;
  const waiting = new Set<string>();
  const stopped = new AbortController();
  let seen: LiveView['features'] | null = null;
  let running: Promise<void> | null = null;

  const settle = async (extension: string): Promise<void> => {
    const ours = intents.get(extension);
    const theirs = live.features.get(extension) ?? FEATURES_OFF;
    if (isLeftOver(extension)) {
      // The next holder of this extension must not inherit its settings.
      const off = valuesOf(FEATURES_OFF);
      if (!holds(theirs, off)) await write(extension, off, nextTime(extension));
      if (ours !== undefined) intents.adopt(extension, null);
      return;
    }
    if (ours === undefined ? theirs !== FEATURES_OFF : theirs.changed_at > ours.changed_at) {
      const taken = refusedIn(extension, theirs);
      if (taken === null) return intents.adopt(extension, theirs);
      const now = await write(extension, taken, nextTime(extension));
      log.warn({ extension }, 'a forward set by phone has a target that is not allowed; it is removed');
      return intents.adopt(extension, now);
    }
    if (ours === undefined) return;
    // Written again even if only the time differs, because the lamp of these settings may be lost too.
    if (isSame(theirs, ours)) return;
    const now = await write(extension, valuesOf(ours), nextTime(extension));
    log.info({ extension }, 'call settings were restored in the engine');
    intents.adopt(extension, now);
  };
  /** Changes that clear forwards to destinations of a forbidden class, which the dialplan ignores; null for none. */
  const refusedIn = (extension: string, features: ExtensionFeatures): FeatureChanges | null => {
    const refused = FORWARDS.filter((key) => {
      try {
        checkForward(deps, extension, features[key]);
        return false;
      } catch (error) {
        return hasCode(error, 'destination_not_allowed');
      }
    });
    return refused.length === 0 ? null : Object.fromEntries(refused.map((key) => [key, '']));
  };

  const run = async (): Promise<void> => {
    for (const backoff = new Backoff(RETRY); waiting.size > 0 && live.live && !stopped.signal.aborted;) {
      const [extension = ''] = waiting;
      waiting.delete(extension);
      try {
        await lanes.run(extension, () => settle(extension));
        backoff.reset();
      } catch (error) {
        waiting.add(extension);
        log.warn({ extension, error: messageOf(error) }, 'call settings could not be restored yet');
        await backoff.wait(clock, stopped.signal);
      }
    }
    running = null;
  };
  const start = (): void => {
    if (running === null && waiting.size > 0 && live.live) running = run();
  };
  return {
    look() {
      if (!live.live) return;
      if (live.features !== seen) {
        seen = live.features;
        for (const extension of new Set([...seen.keys(), ...intents.extensions()])) {
          if (differs(intents.get(extension), seen.get(extension)) || isLeftOver(extension))
            waiting.add(extension);
        }
      }
      start();
    },
    due(extension) {
      waiting.add(extension);
      start();
    },
    async idle() {
      while (running !== null) await running;
    },
    close: () => stopped.abort(),
  };
}
const differs = (ours: ExtensionFeatures | undefined, theirs: ExtensionFeatures | undefined): boolean =>
  ours === undefined || theirs === undefined || !isSame(theirs, ours);
