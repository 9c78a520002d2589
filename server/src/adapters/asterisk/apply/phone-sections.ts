/** Sections of each phone in the files, so that unchanged phones need no check. */
import { createHash } from 'node:crypto';
import type { EngineFiles } from '../../../ports/engine-config.ts';
import { FILE_OF } from './meant.ts';

export const PHONE_FILES: readonly string[] = [FILE_OF.endpoint, FILE_OF.auth, FILE_OF.aor];
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
  const parts = PHONE_FILES.map((name) => sectionsOf(files.get(name) ?? ''));
  const hash = createHash('sha256');
  for (const name of SHARED) hash.update(`${files.get(name) ?? ''}\0`);
  for (const part of parts) hash.update(`${part.get('') ?? ''}\0`);
  return { shared: hash.digest('base64url'), files: parts };
}
/** True where no section of this phone differs between the two. */
export const isSamePhone = (name: string, a: PhoneSections, b: PhoneSections): boolean =>
  a.shared === b.shared &&
  a.files.every((file, i) => file.has(name) && file.get(name) === b.files[i]!.get(name));

/**
 * Names of sections that a reload may have lost or changed, where `before` was loaded: those that differ, the one before and
 * the one after each of them, the first and the last.
 */
export function changedAndBeside(now: string, before: string): ReadonlySet<string> {
  const [a, b] = [sectionsOf(now), sectionsOf(before)];
  const differs = (name: string): boolean => a.get(name) !== b.get(name);
  const found = new Set<string>();
  for (const part of [a, b]) {
    const names = [...part.keys()].filter((name) => name !== '');
    for (const [i, name] of names.entries())
      if (differs(name)) for (const near of names.slice(Math.max(0, i - 1), i + 2)) found.add(near);
    for (const end of [names[0], names.at(-1)]) if (end !== undefined) found.add(end);
  }
  return found;
}
/** Names of the endpoints that are desk phones. */
export const deskPhones = (endpoints: string): ReadonlySet<string> =>
  new Set([...endpoints.matchAll(/^\[([\w-]+)\]\(sip\)$/gm)].map(([, name = '']) => name));
