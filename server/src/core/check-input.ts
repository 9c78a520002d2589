/** Checks every input by its schema; the refusal names the field, the rule and the accepted values. */
import type { z } from 'zod';
import { ServiceError } from './errors.ts';
import type { Fault } from './errors.ts';
import { asSaid, say, sayAll } from './said.ts';
import type { Said } from './said.ts';

/** Limits of one refusal: faults, characters of a name or value, options. */
const MAX_FAULTS = 5;
const MAX_TEXT = 64;
const MAX_OPTIONS = 12;
/** Limit of unknown fields listed where a caller asks for all faults. */
const MAX_KEYS = 1_000;

/** Returns the parsed value; throws `invalid_request`. `where` names the value in a fault of the whole, e.g. `body`. */
export function checkInput<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const tooMany = countFault(schema, value);
  if (tooMany !== null) throw refusalOf([tooMany]);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.slice(0, MAX_FAULTS).flatMap((issue) => faultsOf(issue, value, schema));
  // The first fault of a field is the plainest one; others often follow from it.
  const first = faults
    .map(({ path, rule }) => ({ path: path || where, rule }))
    .filter(({ path }, i, all) => all.findIndex((one) => one.path === path) === i);
  throw refusalOf(first.slice(0, MAX_FAULTS));
}
/** The refusal of an input with these faults. */
const refusalOf = (faults: readonly Fault[]): ServiceError =>
  new ServiceError(
    'invalid_request',
    sayAll(
      faults.map(({ path, rule }) => say`${path}: ${asSaid(rule)}`),
      '; ',
    ),
    { faults },
  );
/** Fastify's validator compiler, so that every route reports faults in the same form. */
export const inputValidator =
  ({ schema, httpPart = 'body' }: { readonly schema: unknown; readonly httpPart?: string | undefined }) =>
  (value: unknown): { value: unknown } | { error: Error } => {
    try {
      if (httpPart === 'querystring') checkRepeats(value as object);
      return { value: checkInput(schema as z.ZodType, value, PLACES[httpPart] ?? httpPart) };
    } catch (error) {
      return { error: error as Error };
    }
  };
/** Throws `invalid_request` for a parameter that occurs twice: two programs could read it as two different requests. */
function checkRepeats(query: object): void {
  const repeated = Object.entries(query).find(([, value]) => Array.isArray(value));
  if (repeated !== undefined)
    throw refusalOf([{ path: repeated[0].slice(0, MAX_TEXT), rule: 'occurs twice; send it once' }]);
}
const PLACES: Readonly<Record<string, string>> = { querystring: 'query' };

interface Def {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly checks?: readonly { readonly _zod: { readonly def: { check: string; maximum?: number } } }[];
}
const defOf = (schema: z.ZodType): Def => schema._zod.def as unknown as Def;
/**
 * Finds lists of the outermost object that exceed their limit. The schema would first check each element, which takes
 * seconds for millions of them.
 */
function countFault(schema: z.ZodType, value: unknown): Fault | null {
  const { shape } = defOf(schema);
  if (shape === undefined || typeof value !== 'object' || value === null) return null;
  for (const [name, field] of Object.entries(shape)) {
    const list = (value as Record<string, unknown>)[name];
    if (!Array.isArray(list)) continue;
    let def = defOf(field);
    while (def.innerType !== undefined) def = defOf(def.innerType);
    const most = def.checks?.find(({ _zod }) => _zod.def.check === 'max_length')?._zod.def.maximum;
    if (most !== undefined && list.length > most)
      return { path: name, rule: say`must have at most ${most} entries, has ${list.length}` };
  }
  return null;
}

type Issue = z.core.$ZodIssue;
const pathOf = (parts: readonly PropertyKey[]): string =>
  parts.map((part) => String(part).slice(0, MAX_TEXT)).join('.');
const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], value);

/** The faults of a schema issue in plain words; `value` is the checked input, `schema` its schema. */
export function faultsOf(issue: Issue, value: unknown, schema?: z.ZodType): Fault[] {
  const path = pathOf(issue.path);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, MAX_KEYS).map((key) => ({
      path: pathOf([...issue.path, key]),
      rule: unknownField(key, schema === undefined ? [] : fieldsAt(schema, issue.path)),
    }));
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // Of several alternatives the one with the fewest faults is reported.
    const nearest = issue.errors.toSorted(
      (a, b) => b[0]!.path.length - a[0]!.path.length || a.length - b.length,
    )[0]!;
    if (nearest[0]!.path.length > 0)
      return nearest.flatMap((inner) =>
        faultsOf({ ...inner, path: [...issue.path, ...inner.path] } as Issue, value, schema),
      );
    const rules =
      nearest.length === 0
        ? []
        : issue.errors.map((branch) => ruleOf(branch[0]!, valueAt(value, issue.path)));
    const unique = [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
    return [{ path, rule: orElse(unique.slice(0, MAX_FAULTS)) }];
  }
  return [{ path, rule: ruleOf(issue, valueAt(value, issue.path)) }];
}
/** Names of the fields of the object at this path; none if another schema than an object is on the way. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let def = defOf(schema);
  for (const key of [...path, null]) {
    while (def.innerType !== undefined) def = defOf(def.innerType);
    if (key === null) break;
    const next = def.shape?.[String(key)] ?? def.element;
    if (next === undefined) return [];
    def = defOf(next);
  }
  return Object.keys(def.shape ?? {});
}
function unknownField(name: string, known: readonly string[]): Said | string {
  const nearest = known
    .map((other) => ({ other, likeness: likenessOf(name.slice(0, MAX_TEXT), other) }))
    .toSorted((a, b) => b.likeness - a.likeness)[0];
  return nearest === undefined || nearest.likeness < ALIKE
    ? 'unknown field'
    : say`unknown field; did you mean ${nearest.other}?`;
}
/** Least likeness of a name that is suggested. */
const ALIKE = 0.5;
/** Pairs of letters that two names share, from 0 to 1; at least `ALIKE` if one begins with the other. */
function likenessOf(a: string, b: string): number {
  const pairs = (text: string): string[] =>
    Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2).toLowerCase());
  const [own, other] = [pairs(a), pairs(b)];
  const shared = own.filter((pair) => other.includes(pair)).length;
  const likeness = (2 * shared) / Math.max(1, own.length + other.length);
  return a.startsWith(`${b}_`) || b.startsWith(`${a}_`) ? Math.max(ALIKE, likeness) : likeness;
}
const orElse = (rules: readonly (Said | string)[]): Said | string =>
  rules.length < 2
    ? (rules[0] ?? 'matches none of the accepted forms')
    : rules.map(asSaid).reduce((a, b) => say`${a}, or ${b}`);

function ruleOf(issue: Issue, value: unknown): Said | string {
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return 'is missing';
      return say`expected ${asSaid(TYPES[issue.expected] ?? issue.expected)}, received ${asSaid(typeOf(value))}`;
    case 'too_small':
      return few(issue.origin, Number(issue.minimum));
    case 'too_big':
      return many(issue.origin, Number(issue.maximum));
    case 'invalid_value':
      return oneOf(issue.values);
    case 'invalid_union': {
      const { options } = issue as { options?: readonly unknown[] };
      return options === undefined ? 'matches none of the accepted forms' : oneOf(options);
    }
    case 'invalid_format':
      return issue.message.startsWith('Invalid ')
        ? (FORMS[issue.format] ??
            say`must have the form ${'pattern' in issue ? String(issue.pattern) : issue.format}`)
        : issue.message;
    default:
      return rangeOf(issue) ?? issue.message;
  }
}
/** Forms of the formats of zod. */
const FORMS: Readonly<Record<string, string>> = {
  datetime:
    'must be a time such as 2026-11-21T09:00:00Z or 2026-11-21T10:00:00+01:00, with a capital T and Z',
  date: 'must be a date such as 2026-11-21',
  email: 'must be an e-mail address',
  ipv4: 'must be an IPv4 address',
  ipv6: 'must be an IPv6 address',
  cidrv4: 'must be an IPv4 network such as 192.0.2.0/24',
  cidrv6: 'must be an IPv6 network such as 2001:db8::/32',
};
/** The range of a whole number in a query (`wholeNumber` in contract/paging.ts). */
function rangeOf(issue: Issue): Said | null {
  const { least, most } = ('params' in issue ? issue.params : undefined) ?? {};
  if (typeof least !== 'number' || typeof most !== 'number') return null;
  return say`must be a whole number from ${least} to ${most}`;
}
const few = (origin: string, least: number): Said | string => {
  if (origin === 'array') return least === 1 ? 'must not be empty' : say`must have at least ${least} entries`;
  if (origin === 'string')
    return least === 1 ? 'must not be empty' : say`must have at least ${least} characters`;
  return say`must be at least ${least}`;
};
const many = (origin: string, most: number): Said => {
  if (origin === 'array') return say`must have at most ${most} entries`;
  return origin === 'string' ? say`must have at most ${most} characters` : say`must be at most ${most}`;
};
function oneOf(values: readonly unknown[]): Said {
  const named = values.slice(0, MAX_OPTIONS).map((option) => JSON.stringify(option));
  const list = named.join(', ') + (values.length > named.length ? ' …' : '');
  return values.length === 1 ? say`must be ${list}` : say`must be one of ${list}`;
}
const TYPES: Readonly<Record<string, string>> = {
  int: 'an integer',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};
const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return TYPES[typeof value] ?? typeof value;
};
