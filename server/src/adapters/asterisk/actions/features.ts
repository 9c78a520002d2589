import { ServiceError } from '../../../core/errors.ts';
import type { ExtensionFeatures } from '../../../ports/engine-state.ts';
import type { FeatureVerbs } from '../../../ports/engine-verbs.ts';
import type { CommandOptions } from '../../../ports/engine.ts';
import { FEATURES_OFF } from '../../../ports/engine-state.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { AmiConnection } from '../ami/connection.ts';
import type { ActionFields } from '../ami/codec.ts';
import { DND_OFF, DND_ON, KEYS, STORE, dndState } from '../conf/self-service-contexts.ts';
import { dialled } from '../conf/text.ts';
import { readFeatures, storedKeys } from './features-store.ts';
import { asked, storeNotWritten } from './store-rows.ts';

/*
 * DBPut   Family Key Val
 * DBDel   Family Key              an error where there is no such key
 * Setvar  Variable(a function) Value, without a channel
 */
const NUMBER = /^\+?[0-9]{1,32}$/;
const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};
const number = (text: string): string =>
  text === '' || NUMBER.test(text) ? text : refuse('the number to forward to is not valid');
const whole = (n: number): string =>
  Number.isSafeInteger(n) && n > 0 ? String(n) : refuse('a time of the features is not valid');

/** Each setting as its key and value in the store; an empty value means none. */
function texts(changes: Partial<ExtensionFeatures>): [string, string][] {
  const { dnd, forward, forward_busy, forward_no_answer, ring_seconds, devices } = changes;
  const kept: [string, string][] = [];
  if (dnd !== undefined) kept.push([KEYS.dnd, dnd ? '1' : '']);
  if (forward !== undefined) kept.push([KEYS.forward, number(forward)]);
  if (forward_busy !== undefined) kept.push([KEYS.forward_busy, number(forward_busy)]);
  if (forward_no_answer !== undefined) kept.push([KEYS.forward_no_answer, number(forward_no_answer)]);
  if (ring_seconds !== undefined) kept.push([KEYS.ring_seconds, whole(ring_seconds)]);
  if (devices !== undefined) kept.push([KEYS.devices, devices === 'all' ? '' : devices]);
  return kept;
}

/**
 * The verb for people's own call settings. `report` receives the stored state, and is not called where it could not be read
 * again.
 */
export const featureActions = (
  actions: () => AmiConnection,
  report: (extension: string, features: ExtensionFeatures) => void,
): FeatureVerbs => {
  const run = async (name: string, fields: ActionFields, options: CommandOptions): Promise<boolean> =>
    (await actions().action(name, fields, { ...options, ms: ACTION_MS.member })).ok;
  const must = async (name: string, fields: ActionFields, options: CommandOptions): Promise<void> => {
    if (!(await run(name, fields, options))) throw new ServiceError('engine_refused', `${name} was refused`);
  };
  const put = async (fields: ActionFields, options: CommandOptions): Promise<void> => {
    if (!(await run('DBPut', fields, options))) throw storeNotWritten();
  };
  return {
    async keepFeatures(extension, changes, changed_at, { signal } = {}) {
      // One verb is several actions, so none of them can use the given id.
      const options = signal === undefined ? {} : { signal };
      const who = dialled(extension, 'the extension');
      const kept = texts(changes);
      const Family = `${STORE}/${who}`;
      const time = whole(changed_at);
      const there = await asked(storedKeys(actions(), who, signal));
      for (const [Key, Val] of kept) {
        if (Val !== '') await put({ Family, Key, Val }, options);
        // The engine warns of a missing key; a feature code may delete it meanwhile, which is equally good.
        else if (there.has(Key) && !(await run('DBDel', { Family, Key }, options))) {
          if ((await asked(storedKeys(actions(), who, signal))).has(Key)) throw storeNotWritten();
        }
      }
      if (changes.dnd !== undefined) {
        const Value = changes.dnd ? DND_ON : DND_OFF;
        await must('Setvar', { Variable: `DEVICE_STATE(${dndState(who)})`, Value }, options);
      }
      await put({ Family, Key: KEYS.changed_at, Val: time }, options);
      const stored = (await asked(readFeatures(actions(), who, signal))).get(who) ?? FEATURES_OFF;
      report(who, stored);
      return stored;
    },
  };
};
