/** The service's OpenAPI document for the page. */
import { sampleOf } from './schema.ts';
import type { Schema, Schemas } from './schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
interface Response {
  readonly description: string;
  readonly content?: Content;
}
/** Reference to an entry of `components`. */
interface Named {
  readonly $ref: string;
}
interface DocumentOperation {
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly (Parameter | Named)[];
  readonly requestBody?: { readonly required?: boolean; readonly content?: Content };
  readonly responses?: Readonly<Record<string, Response | Named>>;
  readonly 'x-level'?: string;
  readonly 'x-scope'?: string;
}
export interface OpenApi {
  readonly info: { readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly components: {
    readonly schemas?: Schemas;
    readonly responses?: Readonly<Record<string, Response>>;
  };
}
export interface Reply {
  readonly status: string;
  readonly text: string;
  readonly schema: Schema | null;
  /** Media type, e.g. `audio/wav`; null if there is none, or the document has none. */
  readonly type: string | null;
}
export interface ApiError {
  readonly status: string;
  readonly code: string;
  readonly title: string;
}
export interface Body {
  readonly type: string;
  readonly schema: Schema;
  readonly required: boolean;
  /** True: the file itself, not JSON. */
  readonly file: boolean;
}
export interface Operation {
  /** `get-/api/v1/calls`: its anchor in the address of the page. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly group: string;
  /** Kind of object within the group of the configuration; empty elsewhere. */
  readonly part: string;
  readonly summary: string;
  readonly description: string;
  /** Null: no session is needed. */
  readonly level: string | null;
  /** `any`, a scope, or null if API keys may not use it. */
  readonly scope: string | null;
  readonly parameters: readonly Parameter[];
  readonly body: Body | null;
  readonly replies: readonly Reply[];
  readonly errors: readonly ApiError[];
  /** WebSocket: a request of the page cannot try it. */
  readonly upgrade: boolean;
  readonly changes: boolean;
  /** Text that a search matches. */
  readonly text: string;
}

/** Sentence of the description that repeats level and scope; the page shows both elsewhere. */
const NEEDS = /\s*Level: \w+\. API keys: [^.]*\.$/;
const CODES = /`([a-z_]+)`: ([^`]*?)\.(?= `|$)/g;
export const normal = (text: string): string =>
  text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();

function bodyOf({ requestBody }: DocumentOperation): Body | null {
  const content = requestBody?.content ?? {};
  const json = content['application/json'];
  const required = requestBody?.required === true;
  if (json?.schema !== undefined)
    return { type: 'application/json', schema: json.schema, required, file: false };
  if (Object.keys(content).length === 0) return null;
  return { type: 'application/octet-stream', schema: {}, required, file: true };
}
function operationOf(
  method: string,
  path: string,
  own: DocumentOperation,
  named: OpenApi['components']['responses'] = {},
): Operation {
  const answers = Object.entries(own.responses ?? {}).flatMap(([status, answer]) => {
    const response = '$ref' in answer ? named[answer.$ref.split('/').at(-1) ?? ''] : answer;
    return response === undefined ? [] : [[status, response] as const];
  });
  const replies = answers
    .filter(([status]) => Number(status) < 400)
    .map(([status, { description, content = {} }]) => {
      const [type = null] = Object.keys(content);
      const text = description === 'Default Response' ? '' : description;
      return { status, text, type, schema: type === null ? null : (content[type]?.schema ?? null) };
    });
  const errors = answers.flatMap(([status, { description }]) =>
    [...description.matchAll(CODES)].map(([, code = '', title = '']) => ({ status, code, title })),
  );
  const group = own.tags?.[0] ?? 'service';
  const [, part = ''] = group === 'config' ? (/^\/api\/v1\/config\/([a-z-]+)/.exec(path) ?? []) : [];
  const summary = own.summary ?? '';
  const description = (own.description ?? '').replace(NEEDS, '');
  return {
    id: `${method}-${path}`,
    method: method.toUpperCase(),
    path,
    group,
    part,
    summary,
    description,
    level: own['x-level'] ?? null,
    scope: own['x-scope'] ?? null,
    // Headers are the same for all operations and of no use on this page.
    parameters: (own.parameters ?? []).filter(
      (one): one is Parameter => !('$ref' in one) && one.in !== 'header',
    ),
    body: bodyOf(own),
    replies,
    errors,
    upgrade: errors.some(({ code }) => code === 'upgrade_required'),
    changes: method !== 'get',
    text: normal(`${method} ${path} ${group} ${summary} ${description}`),
  };
}
/** Every operation, by group, then by path. */
export function operationsOf({ paths, components }: OpenApi): Operation[] {
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, own]) => operationOf(method, path, own, components.responses)),
    )
    .toSorted((a, b) => (a.group === b.group ? 0 : a.group < b.group ? -1 : 1));
}
/** Operations that match every word, in any order. */
export function found<T extends { readonly text: string }>(all: readonly T[], query: string): readonly T[] {
  const words = normal(query).split(/\s+/).filter(Boolean);
  return words.length === 0 ? all : all.filter(({ text }) => words.every((word) => text.includes(word)));
}

/** Form values of one request. */
export interface Filled {
  /** Parameters by name; empty ones are left out of the query. */
  readonly values: Readonly<Record<string, string>>;
  readonly body: string;
}
/** Initial form values: samples for required parameters, nothing for the others. */
export function filledFirst({ parameters, body }: Operation, schemas: Schemas): Filled {
  const needed = parameters.filter((parameter) => parameter.required === true);
  return {
    values: Object.fromEntries(
      needed.map(({ name, schema }) => [name, String(sampleOf(schema, schemas, 'needed'))]),
    ),
    body: body === null || body.file ? '' : JSON.stringify(sampleOf(body.schema, schemas, 'needed'), null, 2),
  };
}
/** Path and query; values are encoded, so that none can change another part of the URL. */
export function addressOf({ path, parameters }: Operation, values: Filled['values']): string {
  const filled = path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? ''),
  );
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) {
    const value = values[name] ?? '';
    if (place === 'query' && value !== '') query.set(name, value);
  }
  return query.size === 0 ? filled : `${filled}?${query.toString()}`;
}
/** Quotes text as one word of a shell. */
const word = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
/** The same request as a curl command, with `$TOKEN` in place of the reader's token. */
export function curlOf(operation: Operation, { values, body }: Filled, origin: string): string {
  const parts = [`curl ${word(origin + addressOf(operation, values))}`];
  if (operation.method !== 'GET') parts[0] += ` -X ${operation.method}`;
  if (operation.level !== null) parts.push('-H "Authorization: Bearer $TOKEN"');
  if (operation.body?.file === true) {
    parts.push(`-H 'Content-Type: ${operation.body.type}'`, '--data-binary @sound.wav');
  } else if (operation.body !== null && body.trim() !== '') {
    parts.push("-H 'Content-Type: application/json'", `-d ${word(compact(body))}`);
  }
  return parts.join(' \\\n  ');
}
function compact(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}
