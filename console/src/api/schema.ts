/** The subset of JSON Schema in the service's OpenAPI document: describes a schema and builds an example body. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly writeOnly?: boolean;
}
/** `components.schemas` of a document. */
export type Schemas = Readonly<Record<string, Schema>>;

const PREFIX = '#/components/schemas/';
export const nameOf = ({ $ref }: Schema): string | null => $ref?.slice(PREFIX.length) ?? null;
/** The referenced schema with the description beside the reference; parts of `allOf` are merged. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = nameOf(schema);
  if (name !== null) {
    const { $ref: _, ...own } = schema;
    return { ...resolved(schemas[name] ?? {}, schemas), ...own };
  }
  if (schema.allOf === undefined) return schema;
  const { allOf, ...own } = schema;
  return allOf
    .map((part) => resolved(part, schemas))
    .reduce(
      (sum, part) => ({
        ...sum,
        ...part,
        properties: { ...sum.properties, ...part.properties },
        required: [...(sum.required ?? []), ...(part.required ?? [])],
      }),
      own,
    );
}
const typesOf = ({ type }: Schema): readonly string[] =>
  type === undefined ? [] : typeof type === 'string' ? [type] : type;
/** Variants of a value: of `anyOf` and `oneOf`, else the schema itself. */
export const waysOf = (schema: Schema): readonly Schema[] => schema.anyOf ?? schema.oneOf ?? [schema];

/** `string or null`, `array of Leg`, `one of "in", "out"`. */
export function typeText(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== null) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const ways = schema.anyOf ?? schema.oneOf;
  if (ways !== undefined) return [...new Set(ways.map((way) => typeText(way)))].join(' or ');
  if (schema.allOf !== undefined) return 'object';
  const own = typesOf(schema).map((type) => {
    if (type === 'array') return schema.items ? `array of ${typeText(schema.items)}` : 'array';
    return type === 'string' && schema.format !== undefined ? schema.format : type;
  });
  return own.length === 0 ? 'any' : own.join(' or ');
}
/** Longer patterns are no help beyond the format. */
const LONGEST_PATTERN = 48;
/** `1–64 characters`, `at most 100`, a pattern. */
export function boundsOf(schema: Schema): string[] {
  const span = (from: number | undefined, to: number | undefined, what: string): string[] => {
    if (from === undefined && to === undefined) return [];
    const text =
      from === undefined
        ? `≤ ${to}`
        : to === undefined
          ? `≥ ${from}`
          : from === to
            ? `${from}`
            : `${from}–${to}`;
    return [what === '' ? text : `${text} ${what}`];
  };
  // The limits of JSON integers are no rule of this field.
  const stated = (limit: number | undefined): number | undefined =>
    limit === undefined || Math.abs(limit) >= Number.MAX_SAFE_INTEGER ? undefined : limit;
  const { pattern, default: usual } = schema;
  return [
    ...span(schema.minLength, schema.maxLength, 'characters'),
    ...span(
      stated(schema.minimum) ??
        (schema.exclusiveMinimum === undefined ? undefined : schema.exclusiveMinimum + 1),
      stated(schema.maximum),
      '',
    ),
    ...span(schema.minItems, schema.maxItems, 'items'),
    ...(pattern !== undefined && pattern.length <= LONGEST_PATTERN ? [`/${pattern}/`] : []),
    ...(usual === undefined ? [] : [`default ${JSON.stringify(usual)}`]),
    ...(schema.writeOnly === true ? ['write-only'] : []),
  ];
}
/** Objects whose fields a schema has: its own, those of its items, or of its variants. Empty without one. */
export function objectsIn(schema: Schema, schemas: Schemas): Schema[] {
  const own = resolved(schema, schemas);
  if (own.properties !== undefined) return [own];
  if (own.items !== undefined) return objectsIn(own.items, schemas);
  if (typeof own.additionalProperties === 'object') return objectsIn(own.additionalProperties, schemas);
  const ways = own.anyOf ?? own.oneOf ?? [];
  return ways.flatMap((way) => objectsIn(way, schemas));
}

/** Texts tried in order for a pattern. */
const TEXTS = [
  'text',
  'support',
  '1001',
  '+12025550143',
  '1',
  '0',
  '123456',
  '09:00',
  '2026-01-31',
  '01-31',
  '2026-01-31T09:00:00Z',
  '001565123456',
  'a'.repeat(64),
  'calls',
  'calls.pickup',
  '*21',
  'ast1:1795219200.1',
  'en',
];
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T09:00:00Z',
  date: '2026-01-31',
  email: 'person@example.com',
  uri: 'https://example.com/',
  ipv4: '192.0.2.10',
  ipv6: '2001:db8::10',
  uuid: '00000000-0000-4000-8000-000000000000',
};
function textOf({ format, pattern, minLength = 0, maxLength = Infinity }: Schema): string {
  const usual = FORMATS[format ?? ''];
  if (usual !== undefined) return usual;
  const fits = (text: string): boolean =>
    text.length >= minLength &&
    text.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text));
  return TEXTS.find(fits) ?? 'text'.padEnd(Math.min(minLength, 200), '-');
}
const DEEPEST = 6;
/** A valid example: `needed` has only the required fields (one optional field if none is required), `all` every field. */
export function sampleOf(schema: Schema, schemas: Schemas, which: 'needed' | 'all', depth = 0): unknown {
  const own = resolved(schema, schemas);
  if (own.const !== undefined) return own.const;
  if (own.default !== undefined) return own.default;
  if (own.enum !== undefined) return own.enum[0];
  const ways = own.anyOf ?? own.oneOf;
  if (ways !== undefined) {
    const way = ways.find((each) => each.type !== 'null');
    return way === undefined ? null : sampleOf(way, schemas, which, depth + 1);
  }
  const type = typesOf(own).find((each) => each !== 'null') ?? (own.properties ? 'object' : 'null');
  switch (type) {
    case 'string':
      return textOf(own);
    case 'integer':
    case 'number':
      return Math.max(own.minimum ?? (own.exclusiveMinimum ?? 0) + 1, Math.min(1, own.maximum ?? 1));
    case 'boolean':
      return true;
    case 'array': {
      const wanted = which === 'all' ? 1 : (own.minItems ?? 0);
      if (own.items === undefined || wanted === 0 || depth >= DEEPEST) return [];
      return [sampleOf(own.items, schemas, which, depth + 1)];
    }
    case 'object': {
      const needed = own.required ?? [];
      const names = [...new Set([...Object.keys(own.properties ?? {}), ...needed])];
      const rest = typeof own.additionalProperties === 'object' ? own.additionalProperties : {};
      const shown = which === 'all' ? names : needed.length > 0 || depth > 0 ? needed : names.slice(0, 1);
      if (depth >= DEEPEST) return {};
      return Object.fromEntries(
        shown.map((name) => [name, sampleOf(own.properties?.[name] ?? rest, schemas, which, depth + 1)]),
      );
    }
    default:
      return null;
  }
}
