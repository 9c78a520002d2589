import type { Features, FeaturesChange } from '@offhook/contract/features.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import type { Principal } from '../../rights/rights.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Engine, ExtensionFeatures, FeatureVerbs } from '../../ports/engine.ts';
import { FEATURES_OFF } from '../../ports/engine.ts';
import type { DoNotDisturb } from '../../ports/do-not-disturb.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { createIntents } from './intents.ts';
import { Lanes } from '../../commands/lanes.ts';
import { reconciler } from './reconcile.ts';
import type { RuleDeps } from './rules.ts';
import { checkChanges } from './rules.ts';
import { createFeatureStore } from './store.ts';
import { changesOf, featuresOf, holds } from './view.ts';
import type { FeatureChanges } from './view.ts';

export interface SelfServiceDeps extends RuleDeps {
  readonly engine: FeatureVerbs & Pick<Engine, 'settled' | 'roundTrip'>;
  readonly live: LiveView;
  readonly directory: Directory;
  readonly store: Store;
  readonly audit: Required<Audit>;
  readonly clock: Clock;
  readonly log: Log;
}
export interface SelfService {
  /** From memory. Throws `forbidden`, `not_found`. */
  read(who: Principal, extension: string): Features;
  /**
   * Resolves once the engine shows the change and it is written down. Throws what `read` does, `invalid_request`, `no_route`,
   * `destination_not_allowed`, `too_many_requests`, `store_unavailable` or what the engine throws; then nothing is changed, or it is put back
   * as soon as the engine can be reached.
   */
  change(actor: Actor, extension: string, change: FeaturesChange): Promise<Features>;
  readonly doNotDisturb: DoNotDisturb;
  /** To be called after every batch of facts: what a phone changed is taken over, what the engine lost is put back. */
  onStepped(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const CONFIRM_MS = 3_000;
/** Changes of one extension that may wait. */
const MOST_WAITING = 10;

/** Runs the migrations and reads what was meant. */
export async function createSelfService(deps: SelfServiceDeps): Promise<SelfService> {
  const { engine, live, directory, clock, log, audit } = deps;
  const store = await createFeatureStore(deps.store, audit);
  const intents = createIntents({ store, clock, log, known: await store.load() });
  const lanes = new Lanes(
    MOST_WAITING,
    (size, extension) => say`${size} changes of ${extension} are waiting`,
  );

  /** What was changed last, be it by us or by a phone whose change was not taken over yet. */
  const meant = (extension: string): ExtensionFeatures => {
    const [ours, theirs] = [intents.get(extension), live.features.get(extension)];
    if (ours === undefined || theirs === undefined) return ours ?? theirs ?? FEATURES_OFF;
    return theirs.changed_at > ours.changed_at ? theirs : ours;
  };
  const nextTime = (extension: string): number =>
    Math.max(
      clock.now(),
      1 + (intents.get(extension)?.changed_at ?? 0),
      1 + (live.features.get(extension)?.changed_at ?? 0),
    );
  /** Resolves with what the engine then shows: beside the changes what a phone changed meanwhile. */
  const write = async (
    extension: string,
    changes: FeatureChanges,
    time: number,
  ): Promise<ExtensionFeatures> => {
    await engine.keepFeatures(extension, changes, time);
    const shown = (): ExtensionFeatures => live.features.get(extension) ?? FEATURES_OFF;
    const ms = CONFIRM_MS;
    await live.until(() => shown().changed_at >= time, { ms, waitingFor: `the features of ${extension}` });
    return shown();
  };
  const follower = reconciler({ ...deps, intents, lanes, write, nextTime });

  const ensureMay = (who: Principal, extension: string): void => {
    const supervises = who.key === null && includesLevel(who.level, 'supervisor');
    if (!supervises && (extension === '' || who.extension !== extension)) {
      throw new ServiceError('forbidden', say`the features of ${extension || 'nobody'} are not yours`);
    }
    if (directory.byExtension(extension)?.active !== true) {
      throw new ServiceError('not_found', say`${extension} is nobody's extension`);
    }
  };
  const changeIn = async (actor: Actor | null, extension: string, changes: FeatureChanges): Promise<void> => {
    await engine.settled(CONFIRM_MS);
    const isSo = (): boolean =>
      holds(meant(extension), changes) && holds(live.features.get(extension) ?? FEATURES_OFF, changes);
    const before = meant(extension);
    const line = (outcome: AuditEntry['outcome'], code: string | null): AuditEntry => ({
      action: 'features.change',
      actor: actor?.caller.username ?? null,
      object: extension,
      outcome,
      ip: actor?.ip ?? null,
      detail: {
        ...changes,
        ...(code === null ? wasOf(before, changes) : { code }),
      },
    });
    const codeOf = (error: unknown): string => (error instanceof ServiceError ? error.code : 'internal');
    try {
      checkChanges(deps, extension, changes);
    } catch (error) {
      await audit.record(line('refused', codeOf(error)));
      throw error;
    }
    if (isSo()) {
      await engine.roundTrip(CONFIRM_MS);
      if (isSo()) return;
    }
    const time = nextTime(extension);
    try {
      const now = await write(extension, changes, time);
      await store.save(extension, now, line('ok', null));
      intents.put(extension, now);
    } catch (error) {
      // The engine may hold a part of it, or come to hold it: what was before is newer from now on.
      intents.adopt(extension, { ...before, changed_at: time + 1 });
      follower.due(extension);
      await audit.record(line('failed', codeOf(error))).catch((unwritten: unknown) => {
        log.warn({ error: messageOf(unwritten) }, 'a failed change of features is not in the audit trail');
      });
      throw error;
    }
  };

  const run = async (actor: Actor | null, extension: string, changes: FeatureChanges): Promise<void> => {
    await lanes.run(extension, () => changeIn(actor, extension, changes));
    follower.due(extension);
  };

  const forgetGone = directory.onChange(() => {
    for (const extension of intents.extensions()) {
      if (directory.byExtension(extension) === undefined) follower.due(extension);
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
        const { username } = actor.caller;
        const refused = { actor: username, object: extension, outcome: 'refused', ip: actor.ip } as const;
        await audit.record({ action: 'features.change', ...refused });
        throw error;
      }
      await run(actor, extension, changesOf(change));
      return featuresOf(extension, meant(extension));
    },
    doNotDisturb: {
      isOn: (extension) => meant(extension).dnd,
      set: (by, extension, dnd) => run(by, extension, { dnd }),
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
/** Former values of the changed fields, as `was_<name>`. */
const wasOf = (
  before: ExtensionFeatures,
  changes: FeatureChanges,
): Record<string, string | number | boolean> =>
  Object.fromEntries(
    (Object.keys(changes) as (keyof FeatureChanges)[])
      .filter((key) => before[key] !== changes[key])
      .map((key) => [`was_${key}`, before[key]]),
  );
