/** Changes of several versions together: the first `before` and the last `after` of every field. */
import type { ObjectChange } from '@offhook/contract/config-applies.ts';
import { equal } from '../app/merge.ts';

type FieldChange = ObjectChange['fields'][number];
/** `versions`: the changes of each, the oldest first. */
export function foldVersions(versions: readonly (readonly ObjectChange[])[]): readonly ObjectChange[] {
  const all = new Map<
    string,
    { first: ObjectChange; last: ObjectChange; fields: Map<string, FieldChange> }
  >();
  for (const change of versions.flat()) {
    const name = `${change.kind} ${change.key}`;
    const known = all.get(name);
    const entry = known ?? { first: change, last: change, fields: new Map<string, FieldChange>() };
    entry.last = change;
    for (const field of change.fields) {
      const before = entry.fields.get(field.field);
      entry.fields.set(field.field, before === undefined ? field : { ...field, before: before.before });
    }
    all.set(name, entry);
  }
  return [...all.values()].flatMap(({ first, last, fields }): ObjectChange[] => {
    const [was, is] = [first.change !== 'added', last.change !== 'removed'];
    if (!was && !is) return [];
    const change = was ? (is ? 'changed' : 'removed') : 'added';
    const left = [...fields.values()].filter((f) => f.secret || !equal(f.before ?? null, f.after ?? null));
    if (change === 'changed' && left.length === 0) return [];
    return [{ kind: last.kind, key: last.key, change, fields: left }];
  });
}
