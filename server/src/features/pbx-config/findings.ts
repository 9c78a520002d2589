/** What is wrong with an object of the configuration, in words that can be translated. */
import type { ConfigFinding } from '@offhook/contract/config.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { asSaid, spoken } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import type { ObjectRef } from './model.ts';

/** One thing that is wrong: the object, the field in it, and a sentence for people. */
export interface Finding extends ConfigFinding {
  /** What the sentence is made of; the wire has the sentence. */
  readonly said: Said | string;
}
export const findingOf = ({ kind, key }: ObjectRef, path: string, said: Said | string): Finding => ({
  kind,
  key,
  path,
  detail: spoken(said),
  said,
});
/** A finding as it is sent. */
export const sentFinding = ({ kind, key, path, detail }: Finding): ConfigFinding => ({
  kind,
  key,
  path,
  detail,
});
/** The kind as a text has it: `ring group`. */
export const wordOf = (kind: ConfigKind): Said => asSaid(kind.replaceAll('_', ' '));
