/** The configuration as a set of objects, their differences and references. */
import { createHash } from 'node:crypto';
import { CONFIG_KINDS, KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import { referencesOf } from '@offhook/contract/config-references.ts';
import type { MailboxOwners } from '../../ports/site.ts';

/** One object. `id` is permanent, also over versions without the object; people are identified by it. */
export interface StoredObject<K extends ConfigKind = ConfigKind> {
  readonly id: number;
  readonly kind: K;
  readonly key: string;
  readonly body: ConfigBody<K>;
  /** Changes with every byte of the body, secrets included. */
  readonly etag: string;
}
/** All objects by kind and key. Immutable: `withObjects` returns another one. */
export interface Model {
  of<K extends ConfigKind>(kind: K): ReadonlyMap<string, StoredObject<K>>;
}
export interface ObjectRef {
  readonly kind: ConfigKind;
  readonly key: string;
}
/** An object that is written, or deleted with null. */
export interface ObjectChange extends ObjectRef {
  readonly object: StoredObject | null;
}

type Maps = ReadonlyMap<ConfigKind, ReadonlyMap<string, StoredObject>>;
const EMPTY: ReadonlyMap<string, StoredObject> = new Map();
const maps = new WeakMap<Model, Maps>();
const modelOf = (of: Maps): Model => {
  const model: Model = {
    of: <K extends ConfigKind>(kind: K) =>
      (of.get(kind) ?? EMPTY) as unknown as ReadonlyMap<string, StoredObject<K>>,
  };
  maps.set(model, of);
  return model;
};
export const EMPTY_MODEL: Model = modelOf(new Map());

/** Orders strings of digits as numbers, at any length. */
export const byNumber = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
const plain = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const ORDER: Partial<Record<ConfigKind, (a: string, b: string) => number>> = {
  extension: byNumber,
  mailbox: byNumber,
  service: byNumber,
};

/** Order of the keys of a kind. */
export const byKey = (kind: ConfigKind): ((a: string, b: string) => number) => ORDER[kind] ?? plain;

export function storedObject<K extends ConfigKind>(
  id: number,
  kind: K,
  body: ConfigBody<K>,
): StoredObject<K> {
  const key = (body as Record<string, unknown>)[CONFIG_KINDS[kind].key] as string;
  const etag = createHash('sha256')
    .update(`${kind} ${JSON.stringify(body)}`)
    .digest('hex')
    .slice(0, 32);
  return Object.freeze({ id, kind, key, body, etag });
}
/** Keeps each kind in order of key. O(n log n) in the objects of the changed kinds. */
export function withObjects(model: Model, changes: Iterable<ObjectChange>): Model {
  const before = maps.get(model)!;
  const after = new Map(before);
  const touched = new Map<ConfigKind, Map<string, StoredObject>>();
  for (const { kind, key, object } of changes) {
    let map = touched.get(kind);
    if (map === undefined) touched.set(kind, (map = new Map(before.get(kind))));
    if (object === null) map.delete(key);
    else map.set(key, object);
  }
  for (const [kind, map] of touched) {
    const order = byKey(kind);
    after.set(kind, new Map([...map].sort(([a], [b]) => order(a, b))));
  }
  return modelOf(after);
}
export const toModel = (objects: Iterable<StoredObject>): Model =>
  withObjects(
    EMPTY_MODEL,
    [...objects].map((object) => ({ kind: object.kind, key: object.key, object })),
  );
export function* allObjects(model: Model): Generator<StoredObject> {
  for (const kind of KINDS) yield* model.of(kind).values() as Iterable<StoredObject>;
}
/** Every reference that `wanted` accepts, with the object that holds it. O(objects). */
export function* referencesTo(
  model: Model,
  wanted: (ref: ObjectRef) => boolean,
): Generator<{ readonly object: StoredObject; readonly path: string }> {
  for (const object of allObjects(model))
    for (const reference of referencesOf(object))
      if (wanted(reference)) yield { object, path: reference.path };
}
/** Changes from one model to the other, in order of kind. */
export function difference(from: Model, to: Model): (ObjectChange & { before: StoredObject | null })[] {
  const changes: (ObjectChange & { before: StoredObject | null })[] = [];
  for (const kind of KINDS) {
    const old: ReadonlyMap<string, StoredObject> = from.of(kind);
    const now: ReadonlyMap<string, StoredObject> = to.of(kind);
    if (old === now) continue;
    for (const [key, object] of now) {
      const before = old.get(key) ?? null;
      // A deleted and recreated object is another one, even with an equal body.
      if (before?.etag !== object.etag || before.id !== object.id)
        changes.push({ kind, key, object, before });
    }
    for (const [key, before] of old) if (!now.has(key)) changes.push({ kind, key, object: null, before });
  }
  return changes;
}

/** Ids of the persons whom these changes disable or remove. */
export const disabledBy = (changes: ReturnType<typeof difference>): number[] =>
  changes.flatMap(({ kind, object, before }) =>
    kind === 'extension' &&
    before !== null &&
    (object?.id !== before.id || !(object as StoredObject<'extension'>).body.active)
      ? [before.id]
      : [],
  );

/** Equal for equal models, also in the order of the numbers. O(extensions and mailboxes). */
export const mailboxOwners = (model: Model): MailboxOwners =>
  Object.fromEntries(
    [...model.of('extension').values(), ...model.of('mailbox').values()].map(({ key, id }) => [key, id]),
  );
