/** Forms of all kinds of objects, derived from their schemas: types and initial values of fields. */
import {
  Destination,
  Language,
  REFERENCES,
  ROUTE_CLASSES,
  SoundRef,
} from '@offhook/contract/config-fields.ts';
import { CONFIG_KINDS, CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { equal, merged } from '../app/merge.ts';

export type Fields = Readonly<Record<string, unknown>>;
/** Type of a field; `most` is the limit of a list. */
export type Shape =
  | { readonly is: 'text' }
  | { readonly is: 'number'; readonly min: number | null; readonly max: number | null }
  | { readonly is: 'switch' }
  | { readonly is: 'choice'; readonly options: readonly string[] }
  | { readonly is: 'choices'; readonly options: readonly string[]; readonly ordered: boolean }
  | { readonly is: 'reference'; readonly kind: ConfigKind }
  | { readonly is: 'destination' }
  | { readonly is: 'sound' }
  | { readonly is: 'language' }
  | { readonly is: 'upload' }
  | { readonly is: 'secret' }
  | { readonly is: 'list'; readonly item: Shape; readonly most: number | null }
  | { readonly is: 'object'; readonly fields: readonly Field[] };
export interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly nullable: boolean;
  /** True for a required field. */
  readonly required: boolean;
  /** Value in a new object; undefined without a default. */
  readonly initial: unknown;
}

/** Lists of choices with a meaningful order. */
const ORDERED = new Set(['trunk.codecs']);

/** Used part of a zod schema. */
interface Schema {
  readonly _zod: { readonly def: Def };
  readonly options?: readonly string[];
  readonly minValue?: number | null;
  readonly maxValue?: number | null;
  readonly shape?: Readonly<Record<string, Schema>>;
}
interface Def {
  readonly type: string;
  readonly innerType?: Schema;
  readonly element?: Schema;
  readonly defaultValue?: unknown;
  readonly checks?: readonly { readonly _zod: { readonly def: { check: string; maximum?: number } } }[];
}
const same = (schema: Schema, known: unknown): boolean => schema._zod.def === (known as Schema)._zod.def;
const bound = (value: number | null | undefined): number | null =>
  value === null || value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? null : value;

function unwrapped(schema: Schema): {
  inner: Schema;
  nullable: boolean;
  optional: boolean;
  initial: unknown;
} {
  let [inner, nullable, optional] = [schema, false, false];
  let initial: unknown;
  for (;;) {
    const { type, innerType, defaultValue } = inner._zod.def;
    if (innerType === undefined) return { inner, nullable, optional, initial };
    if (type === 'default') [optional, initial] = [true, defaultValue];
    if (type === 'optional') optional = true;
    if (type === 'nullable') nullable = true;
    inner = innerType;
  }
}
function shapeOf(path: string, schema: Schema): Shape {
  const reference = REFERENCES.get(schema as never);
  if (reference !== undefined) return { is: 'reference', kind: reference.kind };
  if (same(schema, Destination)) return { is: 'destination' };
  if (same(schema, SoundRef)) return { is: 'sound' };
  if (same(schema, Language)) return { is: 'language' };
  if (path === 'prompt.sound') return { is: 'upload' };
  switch (schema._zod.def.type) {
    case 'number':
      return { is: 'number', min: bound(schema.minValue), max: bound(schema.maxValue) };
    case 'boolean':
      return { is: 'switch' };
    case 'enum':
      return { is: 'choice', options: schema.options! };
    case 'object':
      return { is: 'object', fields: fieldsOf(path, schema) };
    case 'array': {
      const { element, checks = [] } = schema._zod.def;
      const item = shapeOf(path, unwrapped(element!).inner);
      if (item.is === 'choice') return { is: 'choices', options: item.options, ordered: ORDERED.has(path) };
      const most = checks.find((c) => c._zod.def.check === 'max_length')?._zod.def.maximum ?? null;
      return { is: 'list', item, most };
    }
    default:
      return { is: 'text' };
  }
}
const fieldsOf = (path: string, schema: Schema): readonly Field[] =>
  Object.entries(schema.shape!)
    // A literal is the key of the only object of its kind; the service sets it.
    .filter(([, field]) => unwrapped(field).inner._zod.def.type !== 'literal')
    .map(([name, field]) => {
      const { inner, nullable, optional, initial } = unwrapped(field);
      const shape = shapeOf(`${path}.${name}`, inner);
      const empty = nullable ? null : shape.is === 'list' || shape.is === 'choices' ? [] : undefined;
      return { name, shape, nullable, required: !optional, initial: initial ?? empty };
    });

/** Fields of a kind, secrets included, in the order of its schema. */
export const formOf: (kind: ConfigKind) => readonly Field[] = (() => {
  const known = new Map<ConfigKind, readonly Field[]>();
  return (kind) => {
    const made =
      known.get(kind) ??
      fieldsOf(kind, CONFIG_KINDS[kind].schema as unknown as Schema).map((field): Field =>
        CONFIG_SECRETS[kind].includes(field.name) ? { ...field, shape: { is: 'secret' } } : field,
      );
    known.set(kind, made);
    return made;
  };
})();
/** Initial values of a form. */
export function initialOf(fields: readonly Field[]): Fields {
  return Object.fromEntries(
    fields.flatMap(({ name, shape, initial }) =>
      shape.is === 'secret' || initial === undefined ? [] : [[name, structuredClone(initial)] as const],
    ),
  );
}
/**
 * Initial values of a new object: the defaults, without the right to expensive calls. A route has no class until one is
 * chosen: the service derives it from the patterns.
 */
export function newOf(kind: ConfigKind): Fields {
  const fields = initialOf(formOf(kind));
  if (kind === 'outbound_route')
    return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== 'class'));
  if (kind !== 'extension') return fields;
  const classes = ROUTE_CLASSES.filter((one) => one !== 'international' && one !== 'premium');
  return { ...fields, call_permission: classes };
}
/** Initial value of a new list line. */
export function newItem(shape: Shape): unknown {
  if (shape.is === 'object') return initialOf(shape.fields);
  return '';
}

/** An error of one field. `text` is a key of this area's words; `detail` is the service's text, else the rule's English one. */
export interface Mistake {
  readonly path: string;
  readonly text: 'missing' | 'between' | 'wrong_form' | 'refused' | 'taken';
  readonly values?: Readonly<Record<string, number>>;
  readonly detail: string;
}
interface Issue {
  readonly code: string;
  readonly message: string;
  readonly path: readonly PropertyKey[];
  readonly [more: string]: unknown;
}
const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';
const at = (values: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce((value, name) => (value as Record<PropertyKey, unknown> | null | undefined)?.[name], values);

/** Errors by the schema, before anything is sent. */
export function mistakesOf(kind: ConfigKind, object: Fields): readonly Mistake[] {
  const { success, error } = CONFIG_KINDS[kind].schema.safeParse(object);
  if (success) return [];
  return (error.issues as unknown as readonly Issue[]).map(({ code, message, path, ...more }): Mistake => {
    const field = path.join('.');
    if (isEmpty(at(object, path))) return { path: field, text: 'missing', detail: '' };
    const range = code === 'too_small' || code === 'too_big' ? rangeOf(kind, path) : null;
    if (range !== null) return { path: field, text: 'between', values: range, detail: '' };
    const detail = more['code'] === 'custom' || !message.startsWith('Invalid') ? message : '';
    return { path: field, text: 'wrong_form', detail };
  });
}
/** The same mistakes, with the texts of the service's findings about their fields. */
export const inWordsOf = (
  own: readonly Mistake[],
  findings: readonly { readonly path: string; readonly detail: string }[],
): readonly Mistake[] =>
  own.map((mistake) => {
    const found = findings.find(({ path }) => path === mistake.path);
    return mistake.detail === '' || found === undefined ? mistake : { ...mistake, detail: found.detail };
  });
function rangeOf(kind: ConfigKind, path: readonly PropertyKey[]): { min: number; max: number } | null {
  let fields: readonly Field[] = formOf(kind);
  let shape: Shape | undefined;
  for (const part of path) {
    if (typeof part === 'number') shape = shape?.is === 'list' ? shape.item : undefined;
    else shape = fields.find((f) => f.name === part)?.shape;
    fields = shape?.is === 'object' ? shape.fields : [];
  }
  return shape?.is === 'number' && shape.min !== null && shape.max !== null
    ? { min: shape.min, max: shape.max }
    : null;
}

/** Fields changed differently on both sides since `base`, and the merge of mine over theirs. */
export function rebased(
  base: Fields,
  mine: Fields,
  theirs: Fields,
): { readonly values: Fields; readonly theirs: readonly string[]; readonly both: readonly string[] } {
  const names = [...new Set([...Object.keys(base), ...Object.keys(mine), ...Object.keys(theirs)])];
  const changed = (other: Fields): string[] => names.filter((name) => !equal(base[name], other[name]));
  const own = changed(mine);
  const foreign = changed(theirs);
  return {
    values: merged(base, mine, theirs),
    theirs: foreign.filter((name) => !own.includes(name)),
    both: own.filter((name) => foreign.includes(name) && !equal(mine[name], theirs[name])),
  };
}
