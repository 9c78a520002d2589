/** A change of the features of an extension, as a command for the kernel. */
import type { Line } from '../../commands/audited.ts';
import type { Commands, Command } from '../../commands/kernel.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Audit } from '../../ports/audit.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Intents } from './intents.ts';
import { checkChanges } from './rules.ts';
import type { RuleDeps } from './rules.ts';
import type { FeatureStore } from './store.ts';
import { holds, valuesOf } from './view.ts';
import type { FeatureChanges } from './view.ts';

export interface ChangeDeps extends RuleDeps {
  readonly live: Pick<LiveView, 'features'>;
  readonly audit: Audit;
  readonly store: FeatureStore;
  readonly intents: Intents;
  readonly commands: Commands;
  /** Newest settings, changed by the service or by a phone. */
  readonly meant: (extension: string) => ExtensionFeatures;
  /** True for settings of a former holder of the extension. */
  readonly isLeftOver: (extension: string) => boolean;
  readonly nextTime: (extension: string) => number;
  /** Sends the changes; resolves with the settings that the engine then shows. */
  readonly write: (extension: string, changes: FeatureChanges, time: number) => Promise<ExtensionFeatures>;
  /** Makes the reconciler compare this extension with the engine. */
  readonly due: (extension: string) => void;
}

export const lineOf = (actor: Actor | null, extension: string, detail?: FeatureChanges): Line => ({
  action: 'features.change',
  actor: actor?.caller.username ?? null,
  object: extension,
  ip: actor?.ip ?? null,
  ...(detail === undefined ? {} : { detail }),
});
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

/** Throws if the rules refuse the change, after an audit entry; `store_unavailable` if that entry cannot be stored. */
async function check(deps: ChangeDeps, asked: Line, extension: string, changes: FeatureChanges) {
  try {
    checkChanges(deps, extension, changes);
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : 'internal';
    await deps.audit.record({ ...asked, outcome: 'refused', detail: { ...asked.detail, code } });
    throw error;
  }
}
function commandOf(deps: ChangeDeps, asked: Line, extension: string, changes: FeatureChanges): Command<void> {
  const { live, intents, store } = deps;
  const before = deps.meant(extension);
  const shown = live.features.get(extension) ?? FEATURES_OFF;
  if (holds(before, changes) && holds(shown, changes)) {
    return { isSo: true, run: async () => undefined, audit: 'no_line' };
  }
  const time = deps.nextTime(extension);
  // What the engine still has of a former holder must not become a part of the new settings.
  const written = deps.isLeftOver(extension) ? { ...valuesOf(before), ...changes } : changes;
  let now = before;
  return {
    line: { ...asked, detail: { ...changes, ...wasOf(before, changes) } },
    async run() {
      now = await deps.write(extension, written, time);
    },
    async audit(line) {
      await store.save(extension, now, line);
      intents.put(extension, now);
    },
    undo(error) {
      // The engine may have stored a part of the change, or store it later: the former settings become the newer ones.
      intents.adopt(extension, { ...before, changed_at: time + 1 });
      deps.due(extension);
      return error;
    },
  };
}
/** Resolves once the engine shows the changes and they are stored. */
export async function changeFeatures(
  deps: ChangeDeps,
  actor: Actor | null,
  extension: string,
  changes: FeatureChanges,
): Promise<void> {
  const asked = lineOf(actor, extension, changes);
  let checked = false;
  const plan = async (): Promise<Command<void>> => {
    if (!checked) await check(deps, asked, extension, changes);
    checked = true;
    return commandOf(deps, asked, extension, changes);
  };
  await deps.commands.run(asked, plan, { lane: extension });
  deps.due(extension);
}
