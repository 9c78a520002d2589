import { Environment } from '@marcbachmann/cel-js';
import type { ASTNode } from '@marcbachmann/cel-js';
import { messageOf } from '../../../core/errors.ts';
import { FUNCTIONS } from './functions.ts';
import { NAMES, UNTYPED } from './names.ts';
import type { Name, Scope } from './names.ts';

/** Limits that keep the cost of every expression linear in the size of the answer. */
const MAX_EXPRESSION = 500;
const LIMITS = {
  maxAstNodes: 200,
  maxDepth: 16,
  maxListElements: 40,
  maxMapEntries: 40,
  maxCallArguments: 8,
} as const;
const MACROS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter', 'sortBy']);
/** Searches in a text; the cost is quadratic if both texts come from an answer. */
const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf', 'split', 'startsWith']);

/** Functions whose result is longer than their input; alternating with `split`, the text would grow in each step. */
const GROWING: ReadonlySet<string> = new Set(['join', 'json', 'base64', 'html', 'odata', 'sosl', 'like']);
const MAX_SEPARATOR = 20;
/** Limits of characters in an argument of our own functions, and of values in a result; an answer has at most 2 MB. */
const MAX_TEXT = 4_194_304;
const MAX_VALUES = 2_000_000;

/** Reason for refusing an expression; the values of `rule` never change. */
export interface Refusal {
  readonly rule: 'expression_wrong' | 'expression_name' | 'expression_forbidden' | 'expression_limit';
  readonly reason: string;
}
/** Computes a value from the names of `scope`; undefined if the answer lacks a field that is read. */
export type Expression = (scope: Scope) => unknown;
/** Returns the environment for a list of names; cached, because a file uses few lists for all its expressions. */
export type Environments = (names: readonly Name[]) => Environment;

/** `settings`: names of the file's settings, which are the fields of `set`. */
export function createEnvironments(settings: readonly string[]): Environments {
  const made = new Map<string, Environment>();
  return (names) => {
    const key = names.join(' ');
    const known = made.get(key);
    if (known) return known;
    const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
    for (const name of names) {
      if (name === 'set') {
        const schema = Object.fromEntries(settings.map((setting) => [setting, 'string']));
        environment.registerVariable({ name, schema });
      } else {
        const type = NAMES[name];
        if (typeof type === 'string') environment.registerVariable(name, type);
        else environment.registerVariable({ name, schema: type });
      }
    }
    for (const { signature, run } of FUNCTIONS) environment.registerFunction(signature, bounded(run));
    made.set(key, environment);
    return environment;
  };
}

/** Wraps a function so that it throws for texts longer than `MAX_TEXT`, because nested functions can double a text. */
const bounded =
  (run: (...args: never[]) => unknown) =>
  (...args: readonly unknown[]): unknown => {
    for (const one of args)
      if (typeof one === 'string' && one.length > MAX_TEXT) throw new Error('the text is too long');
    return run(...(args.map((one) => (typeof one === 'object' ? plain(one) : one)) as never[]));
  };
/** Children of a node in the syntax tree. */
function childrenOf({ args }: ASTNode): readonly ASTNode[] {
  const found: ASTNode[] = [];
  const walk = (part: unknown): void => {
    if (Array.isArray(part)) part.forEach(walk);
    else if (typeof part === 'object' && part !== null && 'op' in part) found.push(part as ASTNode);
  };
  walk(args);
  return found;
}
const names = (node: ASTNode): readonly string[] =>
  node.op === 'id' ? [node.args] : childrenOf(node).flatMap(names);
/** True if the tree calls one of these functions. */
const calls = (node: ASTNode, functions: ReadonlySet<string>): boolean =>
  ((node.op === 'call' || node.op === 'rcall') && functions.has(node.args[0])) ||
  childrenOf(node).some((one) => calls(one, functions));
const MAP: ReadonlySet<string> = new Set(['map']);
/** Reason why the result of a call could exceed a fixed multiple of its input; null if it cannot. */
function excess(name: string, target: ASTNode, [first]: readonly ASTNode[]): string | null {
  if (name === 'map' && calls(target, MAP)) return 'map() of what map() gave is not allowed: write one map()';
  if (name === 'split' && calls(target, GROWING))
    return 'split() reads a text as it came, not what another function made of it';
  if (name !== 'join' || first === undefined) return null;
  const isShort =
    first.op === 'value' && typeof first.args === 'string' && first.args.length <= MAX_SEPARATOR;
  return isShort ? null : `join() has a text of the file between, of ${MAX_SEPARATOR} characters at most`;
}
const readsAnswer = (node: ASTNode): boolean => names(node).some((name) => UNTYPED.has(name));

/** Reason why a syntax tree is not allowed; null if it is allowed. `within`: enclosing macro. */
function forbidden(node: ASTNode, within: string | null = null): string | null {
  if (node.op === 'id' && within !== null && UNTYPED.has(node.args))
    return `inside ${within}() only its own item is read, not ${node.args}: the cost would be quadratic`;
  if (node.op === 'call' && node.args[0] === 'bytes') return 'bytes() is not part of the language here';
  if (node.op !== 'rcall') return firstForbidden(childrenOf(node), within);
  const [name, target, args] = node.args;
  if (name === 'matches') return 'matches() is not allowed: a regular expression can take unbounded time';
  if (name === 'bind') return 'bind() is not allowed';
  const growth = excess(name, target, args);
  if (growth !== null) return growth;
  if (SEARCHES.has(name) && args.some(readsAnswer))
    return `${name}() searches for a text of the file or of ours, not for one of the answer`;
  if (!MACROS.has(name)) return firstForbidden([target, ...args], within);
  if (within !== null) return `${name}() inside ${within}() is not allowed: the cost would be quadratic`;
  const [item, ...body] = args;
  if (item?.op !== 'id' || item.args in NAMES) return `${name}() needs a new name for its item`;
  return forbidden(target, within) ?? firstForbidden(body, name);
}
function firstForbidden(nodes: readonly ASTNode[], within: string | null): string | null {
  for (const node of nodes) {
    const reason = forbidden(node, within);
    if (reason !== null) return reason;
  }
  return null;
}

/** Converts a CEL value for JSON and text: integers are BigInt in CEL; those beyond 2^53 become strings of digits. */
function plain(whole: unknown): unknown {
  let values = 0;
  const read = (value: unknown): unknown => {
    if (++values > MAX_VALUES) throw new Error('the value is too large');
    if (typeof value === 'bigint')
      return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
    if (Array.isArray(value)) return value.map(read);
    if (value instanceof Date) return value.toISOString();
    if (value instanceof Map)
      return Object.fromEntries([...value].map(([key, one]) => [String(key), read(one)]));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, read(one)]));
    return value;
  };
  return read(whole);
}
const firstLine = (error: unknown): string => messageOf(error).split('\n')[0]!.slice(0, 200);
const LIMIT_CODES = /limit|exceed/i;

/** Parses and checks an expression once. When it runs, a missing field of an answer results in undefined. */
export function compileExpression(text: string, environment: Environment): Expression | Refusal {
  if (text.length > MAX_EXPRESSION)
    return {
      rule: 'expression_limit',
      reason: `an expression must have at most ${MAX_EXPRESSION} characters; this one has ${text.length}`,
    };
  try {
    const parsed = environment.parse(text);
    const reason = forbidden(parsed.ast);
    if (reason !== null) return { rule: 'expression_forbidden', reason };
    const checked = parsed.check();
    if (!checked.valid) {
      const { code = '' } = checked.error ?? {};
      const rule = /unknown_variable|no_such_key/.test(code) ? 'expression_name' : 'expression_wrong';
      return { rule, reason: firstLine(checked.error) };
    }
    return (scope) => {
      const { stackTraceLimit } = Error;
      // Records of a system often lack a field, and a trace of the library, which nobody reads, costs more than the expression.
      Error.stackTraceLimit = 0;
      try {
        return plain(parsed(scope));
      } catch (error) {
        scope.missed?.(`${text}: ${firstLine(error)}`);
        return undefined;
      } finally {
        Error.stackTraceLimit = stackTraceLimit;
      }
    };
  } catch (error) {
    const reason = firstLine(error);
    return { rule: LIMIT_CODES.test(reason) ? 'expression_limit' : 'expression_wrong', reason };
  }
}
