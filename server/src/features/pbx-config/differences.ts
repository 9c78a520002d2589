import { MAX_NAMED } from '@offhook/contract/config.ts';
import type { ConfigDifference } from '@offhook/contract/config.ts';
import { difference } from './model.ts';
import type { Model, ObjectChange, StoredObject } from './model.ts';

type Row = ObjectChange & { readonly before: StoredObject | null };
/** Names of changed fields, secrets included. */
function changedFields({ before, object }: Row): string[] {
  if (before === null || object === null) return [];
  const [old, now] = [before.body, object.body] as unknown as Record<string, unknown>[];
  return Object.keys({ ...old, ...now }).filter(
    (name) => JSON.stringify(old![name]) !== JSON.stringify(now![name]),
  );
}
export const toDifference = (row: Row): ConfigDifference => ({
  kind: row.kind,
  key: row.key,
  pending: row.before === null ? 'added' : row.object === null ? 'removed' : 'changed',
  fields: changedFields(row),
});
/** Differences of two models: their number, and the names of the first ones. O(objects). */
export function countDifferences(from: Model, to: Model) {
  const rows = difference(from, to);
  const count = (is: (row: Row) => boolean): number => rows.filter(is).length;
  return {
    added: count((r) => r.before === null),
    changed: count((r) => r.before !== null && r.object !== null),
    removed: count((r) => r.object === null),
    named: rows.slice(0, MAX_NAMED).map(toDifference),
  };
}
