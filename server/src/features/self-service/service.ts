import type { Features, FeaturesChange } from '@offhook/contract/features.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { Commands } from '../../commands/kernel.ts';
import { Lanes } from '../../commands/lanes.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Principal } from '../../rights/rights.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Common } from '../../ports/common.ts';
import type { Directory } from '../../ports/directory.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import type { FeatureVerbs } from '../../ports/engine-verbs.ts';
import type { Engine } from '../../ports/engine.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { DoNotDisturb } from '../../ports/do-not-disturb.ts';
import type { Actor } from '../../ports/operations.ts';
import { changeFeatures, lineOf } from './change.ts';
import type { ChangeDeps } from './change.ts';
import { createIntents } from './intents.ts';
import { reconciler } from './reconcile.ts';
import type { RuleDeps } from './rules.ts';
import { createFeatureStore } from './store.ts';
import { changesOf, featuresOf, isSame } from './view.ts';
import type { FeatureChanges } from './view.ts';

export interface SelfServiceDeps extends RuleDeps, Common<'clock' | 'live' | 'log' | 'store'> {
  readonly directory: Directory;
  readonly engine: FeatureVerbs & Pick<Engine, 'settled' | 'roundTrip'>;
  readonly audit: Required<Audit>;
}
export interface SelfService {
  /** From memory. Throws `forbidden`, `not_found`. */
  read(who: Principal, extension: string): Features;
  /**
   * Resolves once the engine shows the change and it is stored. Throws the errors of `read` and of the engine,
   * `invalid_request`, `no_route`, `destination_not_allowed`, `too_many_requests` and `store_unavailable`; then nothing
   * is changed, or the change is undone as soon as the engine can be reached.
   */
  change(actor: Actor, extension: string, change: FeaturesChange): Promise<Features>;
  readonly doNotDisturb: DoNotDisturb;
  /** Call after every batch of facts: adopts changes made by phones, and restores settings that the engine lost. */
  onStepped(): void;
  /** Resolves when no change and no write is in progress. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const CONFIRM_MS = 3_000;
/** Limit of waiting changes of one extension. */
const MOST_WAITING = 10;

/** Runs the migrations and loads the intended settings. */
export async function createSelfService(deps: SelfServiceDeps): Promise<SelfService> {
  const { engine, live, directory, clock, log, audit } = deps;
  const store = await createFeatureStore(deps.store, audit);
  const intents = createIntents({ store, clock, log, known: await store.load() });
  const lanes = new Lanes(
    MOST_WAITING,
    (size, extension) => say`${size} changes of ${extension} are already waiting; try again later`,
  );

  /** Newest settings, changed by the service or by a phone whose change is not stored yet. */
  const newest = (extension: string): ExtensionFeatures => {
    const [ours, theirs] = [intents.get(extension), live.features.get(extension)];
    if (ours === undefined || theirs === undefined) return ours ?? theirs ?? FEATURES_OFF;
    return theirs.changed_at > ours.changed_at ? theirs : ours;
  };
  /** True for settings that no holder has, and for those made before the current holder received the extension. */
  const isLeftOver = (extension: string): boolean =>
    directory.byExtension(extension) === undefined ||
    newest(extension).changed_at < (directory.heldSince?.(extension) ?? 0);
  const meant = (extension: string): ExtensionFeatures =>
    isLeftOver(extension) ? FEATURES_OFF : newest(extension);
  const nextTime = (extension: string): number =>
    Math.max(
      clock.now(),
      1 + (intents.get(extension)?.changed_at ?? 0),
      1 + (live.features.get(extension)?.changed_at ?? 0),
      // The clock may be behind that of the node which gave the extension to its holder.
      directory.heldSince?.(extension) ?? 0,
    );
  /** Resolves with the settings that the engine then shows, including changes that a phone made meanwhile. */
  const write = async (
    extension: string,
    changes: FeatureChanges,
    time: number,
  ): Promise<ExtensionFeatures> => {
    const stored = await engine.keepFeatures(extension, changes, time);
    const shown = (): ExtensionFeatures => live.features.get(extension) ?? FEATURES_OFF;
    // A change by phone may have a later time and may have been read before this change was written.
    const before = shown();
    const isShown = (): boolean =>
      isSame(shown(), stored) || (!isSame(shown(), before) && shown().changed_at >= stored.changed_at);
    await live.until(isShown, { ms: CONFIRM_MS, waitingFor: `the features of ${extension}` });
    return shown();
  };
  const follower = reconciler({ ...deps, intents, lanes, write, nextTime, isLeftOver });

  const ensureMay = (who: Principal, extension: string): void => {
    const supervises = who.key === null && includesLevel(who.level, 'supervisor');
    if (extension === '') throw new ServiceError('forbidden', 'you have no extension');
    if (!supervises && who.extension !== extension) {
      throw new ServiceError('forbidden', say`you may not change the features of ${extension}`);
    }
    if (directory.byExtension(extension)?.active !== true) {
      throw new ServiceError('not_found', say`no person has the extension ${extension}`);
    }
  };
  const commands = new Commands(
    // The facts of a change carry no operation id.
    { ...deps, tell: () => undefined },
    { prefix: 'features', confirm_ms: CONFIRM_MS, lanes, unsent: 'no_line' },
  );
  const changing: ChangeDeps = {
    ...deps,
    store,
    intents,
    commands,
    meant,
    isLeftOver,
    nextTime,
    write,
    due: (extension) => follower.due(extension),
  };
  const forgetGone = directory.onChange(() => {
    for (const extension of new Set([...intents.extensions(), ...live.features.keys()])) {
      if (isLeftOver(extension)) follower.due(extension);
    }
  });
  return {
    read(who, extension) {
      ensureMay(who, extension);
      return featuresOf(extension, meant(extension));
    },
    async change(actor, extension, change) {
      try {
        ensureMay(actor.caller, extension);
      } catch (error) {
        await audit.record({ ...lineOf(actor, extension), outcome: 'refused' });
        throw error;
      }
      await changeFeatures(changing, actor, extension, changesOf(change));
      return featuresOf(extension, meant(extension));
    },
    doNotDisturb: {
      isOn: (extension) => meant(extension).dnd,
      set: (by, extension, dnd) => changeFeatures(changing, by, extension, { dnd }),
    },
    onStepped: () => follower.look(),
    async idle() {
      await follower.idle();
      await lanes.idle();
      await intents.flushed();
    },
    async close() {
      forgetGone();
      follower.close();
      await intents.close();
    },
  };
}
