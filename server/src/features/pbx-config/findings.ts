/** Findings about objects of the configuration, in translatable texts. */
import type { ConfigFinding } from '@offhook/contract/config.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import type { Language } from '@offhook/contract/errors.ts';
import { asSaid, spoken } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import { textIn } from '../../core/words.ts';
import type { ObjectRef, StoredObject } from './model.ts';

/** One finding: the object, its field, and a sentence for people. */
export interface Finding extends ConfigFinding {
  /** Source of the sentence; only the sentence is sent. */
  readonly said: Said | string;
}
/** An object, its field, and the rule that it breaks. */
export type Found = readonly [StoredObject, path: string, said: Said | string];
export const findingOf = ({ kind, key }: ObjectRef, path: string, said: Said | string): Finding => ({
  kind,
  key,
  path,
  detail: spoken(said),
  said,
});
/** A finding as it is sent. */
export const sentFinding = (
  { kind, key, path, said }: Finding,
  language: Language = 'en',
): ConfigFinding => ({ kind, key, path, detail: textIn(said, language) });
/** The kind in a text: `ring group`. */
export const wordOf = (kind: ConfigKind): Said => asSaid(kind.replaceAll('_', ' '));
