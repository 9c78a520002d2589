import { isFileBody } from '@offhook/contract/operation.ts';
import type { FileBody } from '@offhook/contract/operation.ts';
import swagger from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from '@fastify/type-provider-zod';
import { ERRORS } from '@offhook/contract/errors.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import type { FastifyContextConfig } from 'fastify';
import type { App } from '../ports/http.ts';
import { exampleOf } from './openapi-examples.ts';
import { HEADERS, PARAMETERS, headerParameters, isRepeatable, replyHeaders } from './openapi-headers.ts';
import { RETRY_AFTER } from './problem.ts';
import type { RouteTable } from './route-table.ts';

/** Areas of the API, in reading order. */
const TAGS: Readonly<Record<string, string>> = {
  sessions: 'Sign-in, second factor and the devices one is signed in on',
  contacts: 'The directory with real-time presence',
  phonebook: 'Customers: people and companies outside',
  push: 'Apps of mobile phones that a call wakes',
  presence: 'What a person says of itself',
  features: 'Do not disturb, forwards and which devices ring',
  calls: 'Calls that are alive: placing, answering, transferring, listening',
  queues: 'Queues, their callers and their figures',
  agents: 'Agents: readiness, pauses, wrap-up and memberships',
  wallboard: 'Figures of a day or a time',
  boards: 'Wallboards as people keep them, and the keys of their displays',
  conversations: 'The record of each conversation',
  callbacks: 'Numbers outside that wait to be called back',
  history: 'The call history of one extension',
  recordings: 'Recorded calls',
  exports: 'The history as a file',
  privacy: 'Export and erasure of what is kept about somebody',
  stream: 'Events by WebSocket, server-sent events and long poll',
  mcp: 'Tools for a language model',
  connectors: 'Other systems that know the customers and hold an entry of each conversation',
  webhooks: 'Addresses that events are posted to',
  config: 'The configuration: a draft, its check and its apply',
  trunks: 'Connections to carriers and other exchanges',
  people: 'Who can sign in, and their sessions',
  'api-keys': 'How machines sign in',
  audit: 'Who did what',
  console: 'Settings of the web console',
  sip: 'SIP over WebSocket for browsers, and networks whose SIP requests are rejected',
  nodes: 'The machines of a site of several',
  health: 'Is the service able to do its work',
};

export interface Operation {
  operationId?: string;
  tags?: string[];
  parameters?: object[];
  summary?: string;
  description?: string;
  security?: object[];
  /** Level a person needs; absent on public operations. */
  'x-level'?: string;
  /** Scope an API key needs, `any` if every key may call it; absent if none may. */
  'x-scope'?: string;
  /** When the session must be confirmed: `always`, or `secrets` for bodies that contain a secret. */
  'x-confirmation'?: 'always' | 'secrets';
  requestBody?: { required?: boolean; content?: Record<string, Media> };
  responses?: Record<string, Response>;
}
interface Response {
  description: string;
  content?: Record<string, Media>;
  headers?: object;
}
interface Media {
  schema?: object;
  example?: unknown;
}
/** The document this module completes; only the parts it reads or writes are typed. */
export interface OpenApiDocument {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  tags?: object[];
  components: {
    schemas?: Record<string, object>;
    securitySchemes?: Record<string, object>;
    parameters?: object;
    headers?: object;
    responses?: Record<string, Response>;
  };
}

/** Must be awaited before the first route. */
export async function addOpenApi(app: App, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Offhook',
        version,
        description:
          'Telephony integration beside Asterisk. Every error is an RFC 9457 problem whose `code` is a row of /docs/errors.',
        license: { name: 'MIT', identifier: 'MIT' },
        contact: { name: 'Offhook', url: 'https://github.com/offhook/offhook' },
      },
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          cookie: { type: 'apiKey', in: 'cookie', name: 'offhook_session' },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
}

const FILE_TYPES: Readonly<Record<FileBody, readonly string[]>> = {
  audio: ['audio/*', 'application/octet-stream'],
  customers: ['text/csv', 'text/vcard'],
  message: ['application/json', 'application/x-www-form-urlencoded'],
};

/** Error codes this route can reply with, those of its own declaration included. */
export function errorsOf(method: string, path: string, config: FastifyContextConfig): ErrorCode[] {
  const level = config.level ?? 'public';
  const codes = new Set<ErrorCode>(config.errors ?? []);
  if (level !== 'public') codes.add('not_authenticated');
  // Only operations of every person and every key refuse nobody (`checkAccess`).
  if (level !== 'public' && (level !== 'user' || config.scope !== 'any')) codes.add('forbidden');
  if ((level !== 'public' || config.upgrade === true) && config.setup !== true)
    codes.add('second_factor_required');
  if (level !== 'public' && method !== 'GET') codes.add('foreign_origin');
  if (config.confirm !== undefined) codes.add('confirmation_required');
  if (config.operation !== undefined) codes.add('too_many_requests');
  if (method !== 'GET') {
    const tooLarge = config.body === 'audio' ? 'sound_too_large' : 'body_too_large';
    for (const code of ['invalid_request', tooLarge, 'unsupported_media_type'] as const) codes.add(code);
    if (config.bodyBytes !== undefined) codes.add('too_many_requests').add('overloaded');
  }
  if (isRepeatable(method, path, config)) codes.add('idempotency_conflict');
  codes.add('token_in_url');
  codes.add('internal');
  return [...codes].toSorted((a, b) => ERRORS[a].status - ERRORS[b].status || (a < b ? -1 : 1));
}

/**
 * OpenAPI 3.1 of every registered route, from the schemas that validate its requests, with its errors. Deterministic:
 * equal routes give equal bytes. The app must be ready.
 */
export function openapiDocument(app: App, table: RouteTable): OpenApiDocument {
  // The plugin keeps its own copy.
  const document = structuredClone(app.swagger()) as unknown as OpenApiDocument;
  nameKeys(document);
  for (const entry of table.entries()) {
    const path = entry.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    for (const [method, config] of entry.methods) {
      const operation = document.paths[path]?.[method.toLowerCase()];
      if (operation === undefined) continue;
      operation.operationId = idOf(method, entry.path, config);
      operation.parameters = [
        ...(operation.parameters ?? []).map(withDeprecation),
        ...headerParameters(method, entry.path, config),
      ];
      // A session is optional on these routes and changes the reply.
      if (config.level === 'public')
        operation.security ??= config.identify === true ? [{}, { bearer: [] }, { cookie: [] }] : [];
      operation.description ??= config.level === 'public' ? 'No session is needed.' : '';
      if (config.level !== undefined && config.level !== 'public') {
        operation['x-level'] = config.level;
        operation.security = [{ bearer: [] }, { cookie: [] }];
        if (config.scope !== undefined) operation['x-scope'] = config.scope;
        const needs = `Level: ${config.level}. API keys: ${keysOf(config.scope)}.`;
        const { confirm } = config;
        if (confirm !== undefined) operation['x-confirmation'] = confirm === true ? 'always' : 'secrets';
        const proof =
          confirm === undefined
            ? ''
            : `A session has to be signed in or confirmed (\`POST /api/v1/session/confirm\`) within the last 5 minutes${confirm === true ? '' : ' where the body sets a secret or an address'}; API keys are not asked.`;
        operation.description = [operation.description, needs, proof].filter(Boolean).join(' ');
      }
      if (config.emptyBody?.() !== undefined && operation.requestBody !== undefined)
        operation.requestBody.required = false;
      const json = operation.requestBody?.content?.['application/json'];
      if (json !== undefined && config.body === 'form') {
        operation.requestBody!.content!['application/x-www-form-urlencoded'] = json;
      }
      if (isFileBody(config.body)) {
        const schema = { type: 'string', format: 'binary' };
        operation.requestBody = {
          required: true,
          content: Object.fromEntries(FILE_TYPES[config.body].map((type) => [type, { schema }])),
        };
      }
      if (json !== undefined && config.body === 'merge_patch') {
        operation.requestBody!.content!['application/merge-patch+json'] = json;
      }
      if (config.etag === 'held')
        (operation.responses ??= {})['304'] = { description: 'What is held is current.' };
      const codes = errorsOf(method, entry.path, config);
      addErrors(operation, codes);
      for (const [status, reply] of Object.entries(operation.responses ?? {})) {
        const retries = codes.some((code) => ERRORS[code].status === Number(status) && code in RETRY_AFTER);
        reply.headers = replyHeaders(Number(status), { method, path: entry.path, config, retries });
      }
    }
  }
  document.paths = Object.fromEntries(
    Object.entries(document.paths).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  document.components.schemas = usedSchemas(document);
  document.components.parameters = PARAMETERS;
  document.components.headers = HEADERS;
  openReplies(document);
  addExamples(document);
  shareRefusals(document);
  return document;
}
/** Generators read `deprecated` of a parameter, not of its schema. */
function withDeprecation<P>(parameter: P): P {
  const { schema } = parameter as { schema?: { deprecated?: boolean } };
  if (schema?.deprecated !== true) return parameter;
  const { deprecated, ...rest } = schema;
  return { ...parameter, deprecated, schema: rest };
}
/** Method name in generated clients: a command's action, else the method and the words of the path. */
function idOf(method: string, path: string, { operation }: FastifyContextConfig): string {
  const words =
    operation === undefined
      ? [
          method.toLowerCase(),
          ...path
            .replace(/^\/api(?:\/v1)?/, '')
            .split(/[^A-Za-z0-9:]+/)
            .map(wordOf),
        ]
      : operation.action.split(/[._-]/);
  return words
    .flatMap((word) => word.split('_'))
    .filter((word) => word !== '')
    .map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('');
}
const wordOf = (part: string): string =>
  part.startsWith(':') ? `by_${part.slice(1)}` : part === 'php' ? '' : part;
/** Lists the fields of an object keyed by an enum, because code generators need them. */
function nameKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const { required, properties, additionalProperties } = value as {
    required?: unknown;
    properties?: object;
    additionalProperties?: unknown;
  };
  if (Array.isArray(required) && properties === undefined && typeof additionalProperties === 'object')
    (value as { properties: object }).properties = Object.fromEntries(
      required.map((name) => [name as string, additionalProperties]),
    );
  Object.values(value).forEach(nameKeys);
}
/** Writes refusals shared by many routes once. */
function shareRefusals(document: OpenApiDocument): void {
  const shared = new Map<string, Response>();
  for (const { responses = {} } of operationsOf(document))
    for (const [status, response] of Object.entries(responses)) {
      const codes = [...response.description.matchAll(/`([a-z_]+)`:/g)].map(([, code]) => pascal(code!));
      if (codes.length === 0 || Object.keys(response.content ?? {}).length !== 1) continue;
      const name = codes.join('Or');
      shared.set(name, response);
      responses[status] = { $ref: `#/components/responses/${name}` } as unknown as Response;
    }
  document.components.responses = Object.fromEntries([...shared].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
const pascal = (code: string): string =>
  code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
const operationsOf = (document: OpenApiDocument): Operation[] =>
  Object.values(document.paths).flatMap((methods) => Object.values(methods));
/** Opens every schema that only replies use: replies gain fields over time. */
function openReplies(document: OpenApiDocument): void {
  const closed = namesFrom(
    document,
    operationsOf(document).map(({ parameters, requestBody }) => [parameters, requestBody]),
  );
  for (const { responses } of operationsOf(document)) open(responses);
  for (const [name, schema] of Object.entries(document.components.schemas ?? {}))
    if (!closed.has(name)) open(schema);
}
function open(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if ((value as { additionalProperties?: unknown }).additionalProperties === false)
    delete (value as { additionalProperties?: unknown }).additionalProperties;
  Object.values(value).forEach(open);
}
/** Examples of the request and of its successful reply. */
function addExamples(document: OpenApiDocument): void {
  const schemas = document.components.schemas ?? {};
  for (const { requestBody, responses = {} } of operationsOf(document)) {
    const good = Object.entries(responses).flatMap(([status, { content }]) =>
      status.startsWith('2') ? [content ?? {}] : [],
    );
    for (const content of [requestBody?.content ?? {}, ...good])
      for (const [type, media] of Object.entries(content)) {
        if (!/json|form/.test(type) || media.schema === undefined) continue;
        const example = exampleOf(media.schema, schemas);
        if (example !== undefined) media.example = example;
      }
  }
}
const keysOf = (scope: FastifyContextConfig['scope']): string =>
  scope === undefined ? 'none' : scope === 'any' ? 'any' : `with the scope \`${scope}\``;
/** Schemas that a path references, sorted by name. */
function usedSchemas(document: OpenApiDocument): Record<string, object> {
  const all = document.components.schemas ?? {};
  const names = [...namesFrom(document, document.paths)].toSorted();
  return Object.fromEntries(names.map((name) => [name, all[name] ?? {}]));
}
/** Names of the schemas that a part of the document references. */
function namesFrom(document: OpenApiDocument, part: unknown): Set<string> {
  const all = document.components.schemas ?? {};
  const used = new Set<string>();
  const follow = (text: string): void => {
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name === undefined || used.has(name)) continue;
      used.add(name);
      follow(JSON.stringify(all[name] ?? {}));
    }
  };
  follow(JSON.stringify(part));
  return used;
}
function addErrors(operation: Operation, codes: readonly ErrorCode[]): void {
  operation.responses ??= {};
  if (operation.responses['200']?.description === 'Default Response') {
    operation.responses['200'].description = 'Success';
  }
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    const rows = codes.filter((code) => ERRORS[code].status === status);
    const existing = operation.responses[String(status)];
    operation.responses[String(status)] = {
      ...existing,
      description: rows.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(' '),
      content: {
        ...existing?.content,
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      },
    };
  }
}
