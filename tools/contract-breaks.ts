/**
 * Lists what a client of an earlier contract would lose in a later one. Everything may grow, nothing may shrink: no path,
 * method, message, field, type or enum value disappears, no reply field becomes optional or null, and no input is newly
 * rejected or required.
 */
import { LEVELS } from '@offhook/contract/ids.ts';
import type { Level } from '@offhook/contract/ids.ts';

type Json = Readonly<Record<string, unknown>>;
export type Document = Json;
/** `sent` by the service: clients read it. `received` by the service: clients write it. */
type Direction = 'sent' | 'received';
interface Sides {
  readonly before: Json;
  readonly after: Json;
}
interface Comparison extends Sides {
  readonly direction: Direction;
  /** Pairs of named schemas under comparison, to end recursion. */
  readonly seen: Set<string>;
  readonly found: string[];
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const object = (value: unknown): Json => (isObject(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const names = (value: unknown): readonly string[] => list(value).filter((v) => typeof v === 'string');

function resolve(schema: unknown, document: Json): Json {
  const own = object(schema);
  if (typeof own.$ref !== 'string') return own;
  let target: unknown = document;
  for (const part of own.$ref.slice(2).split('/')) target = object(target)[part.replaceAll('~1', '/')];
  return resolve(target, document);
}
/** Alternatives of a schema with one type each, by a key that matches the same alternative in another version. */
function alternatives(schema: unknown, document: Json): Map<string, Json> {
  const found = new Map<string, Json>();
  const add = (one: Json): void => {
    const properties = object(one.properties);
    const fixed = Object.entries(properties)
      .map(([name, field]) => [name, resolve(field, document).const] as const)
      .filter(([, value]) => value !== undefined);
    const key = [
      (one.type as string | undefined) ?? 'any',
      ...fixed.map(([name, value]) => `${name}=${String(value)}`),
    ].join(' ');
    let free = key;
    for (let n = 2; found.has(free); n++) free = `${key} (${n})`;
    found.set(free, one);
  };
  const visit = (one: unknown): void => {
    const { anyOf, oneOf, allOf, ...own } = resolve(one, document);
    const branches = [...list(anyOf), ...list(oneOf)];
    if (branches.length > 0) return branches.forEach(visit);
    if (Array.isArray(allOf)) {
      const parts = allOf.map((part) => [...alternatives(part, document).values()][0] ?? {});
      return visit(parts.reduce<Json>(merged, own));
    }
    if (Array.isArray(own.type)) return own.type.forEach((type) => add({ ...own, type }));
    add(own.type === undefined && isObject(own.properties) ? { ...own, type: 'object' } : own);
  };
  visit(schema);
  return found;
}
const merged = (a: Json, b: Json): Json => ({
  ...a,
  ...b,
  properties: { ...object(a.properties), ...object(b.properties) },
  required: [...names(a.required), ...names(b.required)],
});

function compare(at: string, before: unknown, after: unknown, c: Comparison): void {
  const pair = `${c.direction} ${String(object(before).$ref)} ${String(object(after).$ref)}`;
  if (!pair.includes('undefined')) {
    if (c.seen.has(pair)) return;
    c.seen.add(pair);
  }
  const old = alternatives(before, c.before);
  const now = alternatives(after, c.after);
  // An input that accepted anything may name types a client reads only.
  if (old.has('any') && Object.keys(old.get('any')!).every((key) => key === 'description')) {
    if (c.direction === 'received' && !now.has('any')) c.found.push(`${at}: takes no longer just anything`);
    return;
  }
  for (const [key, schema] of old) {
    const same = now.get(key) ?? widened(key, now, c.direction);
    if (same === undefined)
      c.found.push(`${at}: was ${words(key)}, now ${[...now.keys()].map(words).join(' or ')}`);
    else compareOne(at, schema, same, c);
  }
  if (c.direction === 'received') return;
  for (const key of now.keys()) {
    const known = old.has(key) || key.startsWith('object ') || (key === 'integer' && old.has('number'));
    if (!known) c.found.push(`${at}: can now be ${words(key)} too`);
  }
}
const words = (key: string): string => key.replace(/^any\b/, 'anything');
/**
 * Every integer is a number: a wider type does not break a writer of integers, a narrower one does not break a reader of
 * numbers.
 */
function widened(key: string, now: ReadonlyMap<string, Json>, direction: Direction): Json | undefined {
  if (direction === 'sent') return key === 'number' ? now.get('integer') : undefined;
  return now.get('any') ?? (key === 'integer' ? now.get('number') : undefined);
}

function compareOne(at: string, before: Json, after: Json, c: Comparison): void {
  const values = (schema: Json): readonly unknown[] | undefined =>
    schema.const === undefined ? (schema.enum as unknown[] | undefined) : [schema.const];
  const old = values(before);
  const now = values(after);
  if (old !== undefined && now !== undefined) {
    for (const value of old)
      if (!now.includes(value)) c.found.push(`${at}: the value ${JSON.stringify(value)} is gone`);
  } else if (old === undefined && now !== undefined && c.direction === 'received') {
    c.found.push(`${at}: takes only ${JSON.stringify(now)} now`);
  }
  if (c.direction === 'received') compareBounds(at, before, after, c.found);
  compareFields(at, before, after, c);
  if (isObject(before.items)) compare(`${at}[]`, before.items, after.items, c);
  if (isObject(before.additionalProperties) && isObject(after.additionalProperties)) {
    compare(`${at}.*`, before.additionalProperties, after.additionalProperties, c);
  }
}
function compareFields(at: string, before: Json, after: Json, c: Comparison): void {
  const oldFields = object(before.properties);
  const fields = object(after.properties);
  const wasRequired = names(before.required);
  const isRequired = names(after.required);
  for (const [name, field] of Object.entries(oldFields)) {
    if (fields[name] === undefined) {
      c.found.push(`${at}.${name}: the field is gone`);
      continue;
    }
    if (c.direction === 'sent' && wasRequired.includes(name) && !isRequired.includes(name)) {
      c.found.push(`${at}.${name}: is not always there any more`);
    }
    compare(`${at}.${name}`, field, fields[name], c);
  }
  // A closed reply and an open one with the same fields are equal for a client, because replies may always gain fields. So a
  // reply may be opened; a request may not be closed.
  if (c.direction === 'sent') return;
  for (const name of isRequired) {
    if (!wasRequired.includes(name)) c.found.push(`${at}.${name}: is required now`);
  }
  if (
    after.additionalProperties === false &&
    before.additionalProperties !== false &&
    before.type === 'object'
  ) {
    c.found.push(`${at}: refuses fields it does not know now`);
  }
}
const UPPER = ['maxLength', 'maximum', 'exclusiveMaximum', 'maxItems'];
const LOWER = ['minLength', 'minimum', 'exclusiveMinimum', 'minItems'];
function compareBounds(at: string, before: Json, after: Json, found: string[]): void {
  // JSON integers end there anyway, so naming this bound takes nothing away.
  const limit = (schema: Json, name: string, open: number): number => {
    const value = (schema[name] as number | undefined) ?? open;
    return Math.abs(value) >= Number.MAX_SAFE_INTEGER ? open : value;
  };
  for (const name of UPPER) {
    if (limit(after, name, Infinity) < limit(before, name, Infinity))
      found.push(`${at}: ${name} is lower now`);
  }
  for (const name of LOWER) {
    if (limit(after, name, -Infinity) > limit(before, name, -Infinity))
      found.push(`${at}: ${name} is higher now`);
  }
  for (const name of ['pattern', 'format']) {
    if (after[name] === undefined || after[name] === before[name] || takesMore(before[name], after[name]))
      continue;
    found.push(`${at}: has another ${name} now`);
  }
}
/** Alternatives of a pattern `^(a|b)$`, split outside groups and classes; null for another form. */
function alternativesOf(pattern: unknown): readonly string[] | null {
  const inner = typeof pattern === 'string' ? /^\^\((.*)\)\$$/s.exec(pattern)?.[1] : undefined;
  if (inner === undefined) return null;
  const found = [''];
  let depth = 0;
  for (const [part] of inner.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|./gs)) {
    if (part === '(') depth += 1;
    if (part === ')') depth -= 1;
    if (depth < 0) return null;
    if (part === '|' && depth === 0) found.push('');
    else found[found.length - 1] += part;
  }
  return found;
}
/** True where a pattern keeps all its alternatives and adds others. */
function takesMore(before: unknown, after: unknown): boolean {
  const [was, now] = [alternativesOf(before), alternativesOf(after)];
  return was !== null && now !== null && was.every((one) => now.includes(one));
}
/** A comparison in each direction, collected in one list. */
const comparer = (sides: Sides): { readonly found: string[]; readonly of: (d: Direction) => Comparison } => {
  const found: string[] = [];
  const make = (direction: Direction): Comparison => ({ ...sides, direction, seen: new Set(), found });
  const both = { sent: make('sent'), received: make('received') };
  return { found, of: (direction) => both[direction] };
};

export function openapiBreaks(before: Document, after: Document): string[] {
  const { found, of } = comparer({ before, after });
  for (const [path, methods] of Object.entries(object(before.paths))) {
    const now = object(object(after.paths)[path]);
    for (const [method, operation] of Object.entries(object(methods))) {
      const at = `${method.toUpperCase()} ${path}`;
      if (isObject(now[method])) compareOperation(at, object(operation), now[method], found, of);
      else found.push(`${at}: is gone`);
    }
  }
  return found;
}
function compareOperation(
  at: string,
  before: Json,
  after: Json,
  found: string[],
  of: (d: Direction) => Comparison,
): void {
  const rank = (operation: Json): number => LEVELS.indexOf((operation['x-level'] ?? 'public') as Level);
  if (rank(after) > rank(before)) found.push(`${at}: needs the level ${String(after['x-level'])} now`);

  // Headers are defined once in the components; those of the baseline must remain.
  const parameters = (operation: Json, document: Json): Map<string, Json> =>
    new Map(
      list(operation.parameters)
        .map((p) => resolve(p, document))
        .map((p) => [`${String(p.in)} ${String(p.name)}`, p]),
    );
  const old = parameters(before, of('sent').before);
  const now = parameters(after, of('sent').after);
  for (const [name, parameter] of now) {
    if (parameter.required === true && old.get(name)?.required !== true)
      found.push(`${at} ${name}: is required now`);
  }
  for (const [name, parameter] of old) {
    const same = now.get(name);
    if (same === undefined) found.push(`${at} ${name}: is gone`);
    else compare(`${at} ${name}`, parameter.schema, same.schema, of('received'));
  }

  const oldBody = object(before.requestBody);
  const body = object(after.requestBody);
  if (body.required === true && oldBody.required !== true) found.push(`${at} body: is required now`);
  compareContent(`${at} body`, oldBody.content, body.content, of('received'));
  for (const [status, reply] of Object.entries(object(before.responses))) {
    if (!status.startsWith('2')) continue;
    const now = object(after.responses)[status];
    if (now === undefined) found.push(`${at}: answers no longer with ${status}`);
    else compareContent(`${at} ${status}`, object(reply).content, object(now).content, of('sent'));
  }
}
function compareContent(at: string, before: unknown, after: unknown, c: Comparison): void {
  for (const [type, content] of Object.entries(object(before))) {
    const now = object(after)[type];
    if (now === undefined) c.found.push(`${at}: ${type} is gone`);
    else compare(at, object(content).schema, object(now).schema, c);
  }
}

export function asyncapiBreaks(before: Document, after: Document): string[] {
  const { found, of } = comparer({ before, after });
  for (const [key, channel] of Object.entries(object(before.channels))) {
    const now = object(after.channels)[key];
    const at = `channel ${key}`;
    if (now === undefined) {
      found.push(`${at}: is gone`);
      continue;
    }
    const address = object(channel).address;
    if (object(now).address !== address) found.push(`${at}: is not at ${String(address)} any more`);
    for (const name of Object.keys(object(object(channel).messages))) {
      if (object(object(now).messages)[name] === undefined) found.push(`${at}: ${name} is gone`);
    }
  }
  const directions = new Map<string, Direction>();
  for (const [key, operation] of Object.entries(object(before.operations))) {
    if (object(after.operations)[key] === undefined) found.push(`operation ${key}: is gone`);
    const { action, messages, reply } = object(operation);
    const note = (references: unknown, direction: Direction): void => {
      for (const reference of list(references)) directions.set(nameIn(reference), direction);
    };
    note(messages, action === 'receive' ? 'received' : 'sent');
    note(object(reply).messages, 'sent');
  }
  const messages = object(object(after.components).messages);
  for (const [name, message] of Object.entries(object(object(before.components).messages))) {
    const direction = directions.get(name);
    // A removed message was reported with its channel.
    if (direction === undefined || messages[name] === undefined) continue;
    compare(name, object(message).payload, object(messages[name]).payload, of(direction));
  }
  return found;
}
/** Last part of a reference: the name of a message. */
const nameIn = (reference: unknown): string => String(object(reference).$ref).split('/').at(-1) ?? '';
