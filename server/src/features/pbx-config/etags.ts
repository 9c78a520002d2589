import { createHmac, randomBytes } from 'node:crypto';
import { difference } from './model.ts';
import type { Model, StoredObject } from './model.ts';

export interface Etags {
  readonly of: (object: StoredObject) => string;
  /** Of all that the draft differs in. O(objects) once for each draft. */
  ofDraft(applied: Model, draft: Model): string;
}
/**
 * What the outside knows a state by. The key lives as long as the process: a plain hash over an object would let everybody
 * who may see it find its PIN by trying all there are.
 */
export function createEtags(): Etags {
  const key = randomBytes(32);
  const sign = (text: string): string =>
    createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
  const drafts = new WeakMap<Model, { readonly applied: Model; readonly etag: string }>();
  return {
    of: (object) => sign(`${object.id} ${object.etag}`),
    ofDraft(applied, draft) {
      const known = drafts.get(draft);
      if (known?.applied === applied) return known.etag;
      const rows = difference(applied, draft).map((d) => [d.kind, d.key, d.object?.etag ?? null]);
      const etag = sign(JSON.stringify(rows));
      drafts.set(draft, { applied, etag });
      return etag;
    },
  };
}
