import { compileExpression } from './expressions.ts';
import type { Environments, Expression, Refusal } from './expressions.ts';
import type { Name, Scope } from './names.ts';

const MAX_TEMPLATE = 4_000;
type Part = string | Expression;
/** A text with `{{ expression }}` in it. */
export interface Template {
  readonly parts: readonly Part[];
}
/** A compiled value of a file; returns undefined if an expression has no value. */
export type Filler = (scope: Scope) => unknown;
/** Receives the faults in a text of the file. */
export type Refuse = (refusal: Refusal | { readonly rule: 'text_wrong'; readonly reason: string }) => void;

/** Position of the `}}` that closes an expression; braces and quotes of the expression are not counted. */
function endOf(text: string, from: number): number {
  let depth = 0;
  let quote = '';
  for (let at = from; at < text.length; at++) {
    const sign = text[at]!;
    if (quote !== '') {
      if (sign === '\\') at += 1;
      else if (sign === quote) quote = '';
    } else if (sign === '"' || sign === "'") quote = sign;
    else if (sign === '{') depth += 1;
    else if (sign === '}' && depth > 0) depth -= 1;
    else if (sign === '}' && text[at + 1] === '}') return at;
  }
  return -1;
}
const isRefusal = (made: Expression | Refusal): made is Refusal => typeof made !== 'function';
/** Functions and conversions whose result cannot end a quoted text. */
const SAFE_IN_QUOTES = /^(?:odata|sosl|like|html|json|int|digits|hhmm)\(|^(?:number|call\.id)$/;

/** Compiles a text; passes its faults to `refuse`, and the template must not be used then. */
export function compileTemplate(
  text: string,
  names: readonly Name[],
  environments: Environments,
  refuse: Refuse,
): Template {
  const parts: Part[] = [];
  if (text.length > MAX_TEMPLATE) {
    refuse({ rule: 'expression_limit', reason: `a text must have at most ${MAX_TEMPLATE} characters` });
    return { parts };
  }
  const environment = environments(names);
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    if (open < 0) break;
    if (open > at) parts.push(text.slice(at, open));
    const close = endOf(text, open + 2);
    if (close < 0) {
      refuse({ rule: 'expression_wrong', reason: '{{ without }}' });
      return { parts: [] };
    }
    const expression = text.slice(open + 2, close).trim();
    const made = compileExpression(expression, environment);
    if (isRefusal(made)) refuse(made);
    else parts.push(made);
    at = close + 2;
    const quoted = /['"]/.test(text[open - 1] ?? '') && /['"]/.test(text[at] ?? '');
    if (quoted && !SAFE_IN_QUOTES.test(expression))
      refuse({
        rule: 'text_wrong',
        reason: `${expression} between quotes builds syntax: wrap it in odata(), sosl(), like(), html() or json()`,
      });
  }
  if (at < text.length) parts.push(text.slice(at));
  return { parts };
}

const asText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
/** Text of a template with each value passed through `encode`; undefined if an expression has no value. */
export function fillText(
  { parts }: Template,
  scope: Scope,
  encode: (value: string) => string = (value) => value,
): string | undefined {
  let whole = '';
  for (const part of parts) {
    const text = typeof part === 'string' ? part : asText(part(scope));
    if (text === undefined) return undefined;
    whole += typeof part === 'string' ? text : encode(text);
  }
  return whole;
}
/** Value of a template: the value of its expression if it consists of one, else a text. */
export function fill(template: Template, scope: Scope): unknown {
  const [only] = template.parts;
  return template.parts.length === 1 && typeof only === 'function' ? only(scope) : fillText(template, scope);
}

/** Compiles every text of a value; keys without a value are omitted from the result. */
export function compileValue(
  value: unknown,
  names: readonly Name[],
  environments: Environments,
  refuse: (path: readonly (string | number)[], refusal: Parameters<Refuse>[0]) => void,
  path: readonly (string | number)[] = [],
): Filler {
  if (typeof value === 'string') {
    const template = compileTemplate(value, names, environments, (refusal) => refuse(path, refusal));
    return (scope) => fill(template, scope);
  }
  if (Array.isArray(value)) {
    const items = value.map((item, i) => compileValue(item, names, environments, refuse, [...path, i]));
    // A list that lacks an item would have another meaning, so it has no value at all.
    return (scope) => {
      const filled = items.map((item) => item(scope));
      return filled.includes(undefined) ? undefined : filled;
    };
  }
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(
      ([key, item]) => [key, compileValue(item, names, environments, refuse, [...path, key])] as const,
    );
    return (scope) =>
      Object.fromEntries(
        fields.map(([key, item]) => [key, item(scope)]).filter(([, item]) => item !== undefined),
      );
  }
  return () => value;
}
