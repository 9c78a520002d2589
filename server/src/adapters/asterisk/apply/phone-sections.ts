/** Sections of each phone in the files, so that unchanged phones need no check. */
import { createHash } from 'node:crypto';
import type { EngineFiles } from '../../../ports/engine-config.ts';
import { FILE_OF } from './meant.ts';

const PHONES: readonly string[] = [FILE_OF.endpoint, FILE_OF.auth, FILE_OF.aor];
/** Files all phones depend on: a change in one changes every phone. */
const SHARED = ['pjsip.conf', 'pjsip_shared.conf', 'sorcery.conf', 'modules.conf', 'custom/pjsip.conf'];

/** Sections of a file by name; text before the first has the empty name. */
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
/** True where no section of this phone differs between the two. */
export const isSamePhone = (name: string, a: PhoneSections, b: PhoneSections): boolean =>
  a.shared === b.shared &&
  a.files.every((file, i) => file.has(name) && file.get(name) === b.files[i]!.get(name));
