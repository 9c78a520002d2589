/** What the files say of each phone, so that what is as it was need not be looked at again. */
import { createHash } from 'node:crypto';
import type { EngineFiles } from '../../../ports/engine-config.ts';
import { FILE_OF } from './meant.ts';

const PHONES: readonly string[] = [FILE_OF.endpoint, FILE_OF.auth, FILE_OF.aor];
/** What every phone is made of beside its own sections: change one, and all are others. */
const SHARED = ['pjsip.conf', 'pjsip_shared.conf', 'sorcery.conf', 'modules.conf', 'custom/pjsip.conf'];

/** Each section of a file by its name, with what stands before the first as the empty name. */
export const sectionsOf = (text: string): Map<string, string> =>
  new Map(text.split(/^(?=\[)/m).map((part) => [/^\[([^\]]+)\]/.exec(part)?.[1] ?? '', part.trim()]));

export interface PhoneSections {
  readonly shared: string;
  readonly files: readonly ReadonlyMap<string, string>[];
}
export function phoneSections(files: EngineFiles): PhoneSections {
  const parts = PHONES.map((name) => sectionsOf(files.get(name) ?? ''));
  const hash = createHash('sha256');
  for (const name of SHARED) hash.update(`${files.get(name) ?? ''}\0`);
  for (const part of parts) hash.update(`${part.get('') ?? ''}\0`);
  return { shared: hash.digest('base64url'), files: parts };
}
/** True where nothing that makes this phone what it is differs between the two. */
export const isSamePhone = (name: string, a: PhoneSections, b: PhoneSections): boolean =>
  a.shared === b.shared &&
  a.files.every((file, i) => file.has(name) && file.get(name) === b.files[i]!.get(name));
