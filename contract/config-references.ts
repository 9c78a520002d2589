/** References between configuration objects, read from the schemas that declare them (`REFERENCES`). */
import type { ConfigUse } from './config.ts';
import { REFERENCES } from './config-fields.ts';
import { CONFIG_KINDS } from './config-objects.ts';
import type { ConfigKind } from './config-objects.ts';

type Reader = (value: unknown, path: string) => readonly ConfigUse[];
interface Schema {
  readonly _zod: {
    readonly def: {
      readonly type: string;
      readonly innerType?: Schema;
      readonly element?: Schema;
      readonly options?: readonly Schema[];
      readonly shape?: Readonly<Record<string, Schema>>;
      readonly values?: readonly unknown[];
    };
  };
}
const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Selects the option of a union by its literals, else by the names of its fields. */
function fits(option: Schema, value: unknown): boolean {
  const fields = Object.entries(option._zod.def.shape ?? {});
  const literals = fields.filter(([, field]) => field._zod.def.type === 'literal');
  return literals.length > 0
    ? literals.every(([name, field]) => field._zod.def.values?.includes(fieldOf(value, name)))
    : fields.every(([name]) => fieldOf(value, name) !== undefined);
}
/** Null for a schema without references. */
function readerOf(schema: Schema): Reader | null {
  const reference = REFERENCES.get(schema as never);
  if (reference !== undefined) {
    const { kind, by } = reference;
    return (value, path) => {
      const key = by === undefined ? value : fieldOf(value, by);
      return typeof key === 'string' ? [{ kind, key, path }] : [];
    };
  }
  const { innerType, element, options = [], shape = {} } = schema._zod.def;
  if (innerType !== undefined) return readerOf(innerType);
  if (element !== undefined) {
    const item = readerOf(element);
    return item && ((value, path) => (value as unknown[]).flatMap((one, i) => item(one, `${path}.${i}`)));
  }
  const choices = options.flatMap((option) => {
    const read = readerOf(option);
    return read === null ? [] : [{ option, read }];
  });
  if (choices.length > 0)
    return (value, path) => choices.find(({ option }) => fits(option, value))?.read(value, path) ?? [];
  const fields = Object.entries(shape).flatMap(([name, field]) => {
    const read = readerOf(field);
    return read === null ? [] : [{ name, read }];
  });
  if (fields.length === 0) return null;
  return (value, path) =>
    fields.flatMap(({ name, read }) => {
      const own = fieldOf(value, name);
      return own === null || own === undefined ? [] : read(own, path === '' ? name : `${path}.${name}`);
    });
}
const READERS = new Map(
  Object.entries(CONFIG_KINDS).map(([kind, { schema }]) => [kind, readerOf(schema as unknown as Schema)]),
);

/** References of an object, in the order of its fields. O(its references). */
export const referencesOf = (object: {
  readonly kind: ConfigKind;
  readonly body: unknown;
}): readonly ConfigUse[] => READERS.get(object.kind)?.(object.body, '') ?? [];
