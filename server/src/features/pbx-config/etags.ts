import { createHmac, randomBytes } from 'node:crypto';
import { difference } from './model.ts';
import type { Model, StoredObject } from './model.ts';

export interface Etags {
  readonly of: (object: StoredObject) => string;
  /** Etag of the draft's differences. O(objects) once for each draft. */
  ofDraft(applied: Model, draft: Model): string;
}
/**
 * Public etags of objects. Their key lives as long as the process: with a plain hash, a reader of an object could find
 * its PIN by trying all PINs.
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
