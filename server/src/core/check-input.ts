/** Checks every input by its schema; the refusal names the field, the rule and the accepted values. */
import type { z } from 'zod';
import { ServiceError } from './errors.ts';
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
  const tooMany = countFault(schema, value, where);
  if (tooMany !== null) throw new ServiceError('invalid_request', tooMany);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.slice(0, MAX_FAULTS).flatMap((issue) => faultsOf(issue, value));
  const said = faults.slice(0, MAX_FAULTS).map(({ path, rule }) => say`${path || where}: ${asSaid(rule)}`);
  throw new ServiceError('invalid_request', sayAll(said, '; '));
}
/** Fastify's validator compiler, so that every route reports faults in the same form. */
export const inputValidator =
  ({ schema, httpPart = 'body' }: { readonly schema: unknown; readonly httpPart?: string | undefined }) =>
  (value: unknown): { value: unknown } | { error: Error } => {
    try {
      return { value: checkInput(schema as z.ZodType, value, PLACES[httpPart] ?? httpPart) };
    } catch (error) {
      return { error: error as Error };
    }
  };
const PLACES: Readonly<Record<string, string>> = { querystring: 'query' };

interface Def {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly checks?: readonly { readonly _zod: { readonly def: { check: string; maximum?: number } } }[];
}
const defOf = (schema: z.ZodType): Def => schema._zod.def as unknown as Def;
/**
 * Finds lists of the outermost object that exceed their limit. The schema would first check each element, which takes
 * seconds for millions of them.
 */
function countFault(schema: z.ZodType, value: unknown, where: string): Said | null {
  const { shape } = defOf(schema);
  if (shape === undefined || typeof value !== 'object' || value === null) return null;
  for (const [name, field] of Object.entries(shape)) {
    const list = (value as Record<string, unknown>)[name];
    if (!Array.isArray(list)) continue;
    let def = defOf(field);
    while (def.innerType !== undefined) def = defOf(def.innerType);
    const most = def.checks?.find(({ _zod }) => _zod.def.check === 'max_length')?._zod.def.maximum;
    if (most !== undefined && list.length > most)
      return say`${name || where}: ${say`must have at most ${most} entries, has ${list.length}`}`;
  }
  return null;
}

/** A fault of an input: the field and the rule it breaks. */
export interface Fault {
  readonly path: string;
  readonly rule: Said | string;
}
type Issue = z.core.$ZodIssue;
const pathOf = (parts: readonly PropertyKey[]): string =>
  parts.map((part) => String(part).slice(0, MAX_TEXT)).join('.');
const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], value);

/** The faults of a schema issue in plain words; `value` is the checked input. */
export function faultsOf(issue: Issue, value: unknown): Fault[] {
  const path = pathOf(issue.path);
  if (issue.code === 'unrecognized_keys')
    return issue.keys
      .slice(0, MAX_KEYS)
      .map((key) => ({ path: pathOf([...issue.path, key]), rule: 'unknown field' }));
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // Of several alternatives the one with the fewest faults is reported.
    const nearest = issue.errors.toSorted(
      (a, b) => b[0]!.path.length - a[0]!.path.length || a.length - b.length,
    )[0]!;
    if (nearest[0]!.path.length > 0)
      return nearest.flatMap((inner) =>
        faultsOf({ ...inner, path: [...issue.path, ...inner.path] } as Issue, value),
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
      return /^Invalid (?:string|input)/.test(issue.message)
        ? say`must have the form ${'pattern' in issue ? String(issue.pattern) : issue.format}`
        : issue.message;
    default:
      return issue.message;
  }
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
