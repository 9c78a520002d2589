/** The objects of an earlier version that an apply restores, and the draft that they replace. */
import type { Transaction } from 'kysely';
import { ServiceError } from '../../../core/errors.ts';
import { allObjects, difference, storedObject, toModel } from '../model.ts';
import type { Model } from '../model.ts';
import type { ObjectStore } from '../objects.ts';
import { restoredBody } from '../secrets.ts';
import type { ObjectTables } from '../tables.ts';

export interface Restored {
  readonly target: Model;
  readonly discard_draft: boolean;
  readonly author: string;
  readonly at: number;
  /** Stores the apply; resolves with its id. */
  readonly begin: (trx: Transaction<ObjectTables>) => Promise<number>;
}

/** Objects of a former version with the current secrets and rights. */
export const restoredModel = (then: Model, now: Model): Model =>
  toModel(
    [...allObjects(then)].map((object) => {
      const today = now.of(object.kind).get(object.key);
      // An object with the same key and another id is another object.
      const same = today?.id === object.id ? (today.body as Record<string, unknown>) : null;
      const body = restoredBody(object.kind, object.body as Record<string, unknown>, same);
      return storedObject(object.id, object.kind, body);
    }),
  );
/**
 * Replaces the draft in the transaction that begins the apply, so that an apply that cannot begin keeps the draft.
 * Resolves with the id of the apply. Throws `draft_not_empty`.
 */
export async function beginRestored(
  objects: ObjectStore,
  { target, discard_draft, author, at, begin }: Restored,
): Promise<number> {
  let id = 0;
  await objects.setDraft(target, { author, at }, async (trx) => {
    // Checked here, because the draft may change while the apply waits for another engine.
    if (!discard_draft && difference(objects.applied(), objects.draft()).length > 0)
      throw new ServiceError(
        'draft_not_empty',
        'the draft has changes that are not applied; send discard_draft to discard them',
      );
    id = await begin(trx);
  });
  return id;
}
