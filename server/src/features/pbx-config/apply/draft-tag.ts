import { createHash } from 'node:crypto';
import { difference } from '../model.ts';
import type { ObjectStore } from '../objects.ts';

/** What the draft is known by: another one for every other draft, or what it would be applied to. O(what differs). */
export function draftTag(objects: Pick<ObjectStore, 'version' | 'applied' | 'draft'>): string {
  const changes = difference(objects.applied(), objects.draft());
  const said = changes.map((c) => `${c.kind} ${c.key} ${c.object?.etag ?? ''}`);
  return createHash('sha256')
    .update([objects.version, ...said].join('\n'))
    .digest('hex')
    .slice(0, 32);
}
