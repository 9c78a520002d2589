/** Examples for the OpenAPI document, derived from its schemas: the name of a field selects a plausible value. */
type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, object>>;

const MAX_DEPTH = 8;
const TIME = '2026-11-22T09:30:00.000Z';
/** Values by field name; the first that matches the field's schema is used. */
const BY_NAME: Readonly<Record<string, readonly string[]>> = {
  extension: ['1001'],
  username: ['1001', 'ayse'],
  name: ['Ayşe Yılmaz', 'support', 'care', '9'],
  title: ['Support'],
  password: ['correct-horse-battery'],
  queue: ['support'],
  email: ['ayse@example.com'],
  url: ['https://crm.example.com/hooks/offhook'],
  to: ['+902125550123', 'support', '1002'],
  number: ['+902125550123', '1002'],
  from: [TIME, '+902125550123'],
  cursor: ['1'],
  next_cursor: ['eyJhIjoxfQ', '1'],
  etag: ['7c1f'],
  text: ['Calls back tomorrow'],
  day: ['2026-11-22'],
  reason: ['lunch'],
  time_zone: ['Europe/Istanbul'],
  language: ['tr'],
  mac: ['001565aabbcc'],
  host: ['sip.example.com', '10.0.0.2'],
  node: ['b'],
};
/** Fallback values by type. */
const ANY = [
  '1',
  '1001',
  'support',
  'ast1:1764000000.1',
  '+902125550123',
  TIME,
  '2026-11-22',
  '09:00',
  '*22',
  'https://crm.example.com/hooks/offhook',
  '5f2b1c9e-1f0a-4c59-9d8d-6f4f6a0b7d21',
  'internal',
  'calls',
  '#1a73e8',
  'a.b',
  '01hzy0k6n4p8q2r5s7t9v1w3x5',
  'a'.repeat(64),
  'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  '',
];

/** An example of this schema with its required fields; undefined if none could be built. */
export function exampleOf(schema: unknown, schemas: Schemas, name = '', depth = 0): unknown {
  const own = resolved(schema as Schema, schemas);
  if (depth > MAX_DEPTH) return undefined;
  if (own.const !== undefined) return own.const;
  if (own.default !== undefined) return own.default;
  if (Array.isArray(own.enum)) return own.enum.find((value) => value !== null) as unknown;
  const branches = (own.anyOf ?? own.oneOf) as readonly Schema[] | undefined;
  if (branches !== undefined) return exampleOfBranch(branches, schemas, name, depth);
  const type = Array.isArray(own.type) ? (own.type as string[]).find((t) => t !== 'null') : own.type;
  switch (type) {
    case 'string':
      return textOf(own, name);
    case 'integer':
    case 'number':
      return Math.max(Number(own.minimum ?? 0), Math.min(1, Number(own.maximum ?? 1)));
    case 'boolean':
      return true;
    case 'array': {
      const item = exampleOf(own.items ?? {}, schemas, name.replace(/s$/, ''), depth + 1);
      return item === undefined ? (Number(own.minItems ?? 0) > 0 ? undefined : []) : [item];
    }
    case 'object':
      return objectOf(own, schemas, depth);
    default:
      return own.properties === undefined ? (type === 'null' ? null : {}) : objectOf(own, schemas, depth);
  }
}
function exampleOfBranch(
  branches: readonly Schema[],
  schemas: Schemas,
  name: string,
  depth: number,
): unknown {
  for (const branch of branches) {
    if (branch.type === 'null') continue;
    const value = exampleOf(branch, schemas, name, depth);
    if (value !== undefined) return value;
  }
  return branches.some(({ type }) => type === 'null') ? null : undefined;
}
function objectOf(own: Schema, schemas: Schemas, depth: number): unknown {
  const properties = (own.properties ?? {}) as Record<string, Schema>;
  const made: Record<string, unknown> = {};
  for (const name of (own.required ?? []) as string[]) {
    const value = exampleOf(properties[name] ?? {}, schemas, name, depth + 1);
    if (value === undefined) return undefined;
    made[name] = value;
  }
  return made;
}
function textOf(own: Schema, name: string): string | undefined {
  if (own.format === 'date-time') return TIME;
  const pattern = typeof own.pattern === 'string' ? new RegExp(own.pattern, 'u') : null;
  const fits = (value: string): boolean =>
    value.length >= Number(own.minLength ?? 0) &&
    value.length <= Number(own.maxLength ?? Infinity) &&
    (pattern === null || pattern.test(value));
  const named =
    /(?:_at|since|until|deadline)$/.test(name) && pattern === null ? [TIME] : (BY_NAME[name] ?? []);
  return [...named, ...(pattern === null ? [name === '' ? 'text' : name] : []), ...ANY].find(fits);
}
function resolved(schema: Schema, schemas: Schemas): Schema {
  const { $ref, allOf, ...own } = schema as { $ref?: string; allOf?: readonly Schema[] };
  if ($ref !== undefined) return resolved((schemas[$ref.split('/').at(-1)!] ?? {}) as Schema, schemas);
  if (allOf === undefined) return schema;
  const parts = [...allOf.map((part) => resolved(part, schemas)), own as Schema];
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map((part) => part.properties as object)),
    required: parts.flatMap((part) => (part.required ?? []) as string[]),
  };
}
