import { ServiceError } from './errors.ts';
import { say } from './said.ts';

/** The tags of a header `If-Match` or `If-None-Match`; `*` is no tag. Throws `invalid_request`. */
export function entityTags(
  given: string | undefined,
  name: 'if-match' | 'if-none-match',
): readonly string[] | '*' {
  if (given === undefined) return [];
  // A proxy that compresses an answer makes its tag weak, which also shows that nothing changed.
  const text = (name === 'if-none-match' ? given.replaceAll('W/"', '"') : given).trim();
  if (text === '*') return '*';
  if (!/^"[^"]*"(\s*,\s*"[^"]*")*$/.test(text))
    throw new ServiceError('invalid_request', say`${name}: must be * or a list of tags in quotes`);
  return [...text.matchAll(/"([^"]*)"/g)].map((m) => m[1]!);
}
/** The tags of a header `If-Match`; null where any version will do. Throws `invalid_request`. */
export function versionsOf(given: string | undefined): readonly string[] | null {
  const wanted = entityTags(given, 'if-match');
  return wanted === '*' || wanted.length === 0 ? null : wanted;
}
/** True when the header `If-None-Match` names the tag; a proxy that compresses may have weakened it. */
export const matchesTag = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header === etag ||
    header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*'));
