import swagger from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from '@fastify/type-provider-zod';
import { ERRORS } from '@offhook/contract/errors.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import type { FastifyContextConfig } from 'fastify';
import type { App } from '../ports/http.ts';
import type { RouteTable } from './route-table.ts';

interface Operation {
  tags?: string[];
  summary?: string;
  description?: string;
  security?: object[];
  /** The level a person needs; none on what is public. */
  'x-level'?: string;
  /** The scope an API key needs, `any` where each key may; none where no key may. */
  'x-scope'?: string;
  /** Whether a session has to be confirmed first: `always`, or `secrets` where the body has any. */
  'x-confirmation'?: 'always' | 'secrets';
  requestBody?: { required?: boolean; content?: Record<string, object> };
  responses?: Record<string, { description: string; content?: object; headers?: object }>;
}
/** The document this module completes; only the parts it touches are typed. */
export interface OpenApiDocument {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas?: Record<string, object>; securitySchemes?: Record<string, object> };
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
      },
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

/** Codes every route of this configuration can answer, its own ones included. */
export function errorsOf(method: string, path: string, config: FastifyContextConfig): ErrorCode[] {
  const level = config.level ?? 'public';
  const codes = new Set<ErrorCode>(config.errors ?? []);
  if (level !== 'public') codes.add('not_authenticated');
  if (level !== 'public' && level !== 'user') codes.add('forbidden');
  if (level !== 'public' && method !== 'GET') codes.add('foreign_origin');
  if (config.confirm !== undefined) codes.add('confirmation_required');
  if (config.operation?.paced !== undefined) codes.add('too_many_requests');
  if (method !== 'GET') {
    const tooLarge = config.body === 'audio' ? 'sound_too_large' : 'body_too_large';
    for (const code of ['invalid_request', tooLarge, 'unsupported_media_type'] as const) codes.add(code);
  }
  if (method === 'POST' && path.startsWith('/api/v1/') && config.body !== 'audio' && !config.proves)
    codes.add('idempotency_conflict');
  codes.add('internal');
  return [...codes].toSorted((a, b) => ERRORS[a].status - ERRORS[b].status || (a < b ? -1 : 1));
}

/**
 * OpenAPI 3.1 of every registered route, from the same schemas that check the requests, with the errors of each.
 * Deterministic: the same routes give the same bytes. The app must be ready.
 */
export function openapiDocument(app: App, table: RouteTable): OpenApiDocument {
  const document = unbounded(app.swagger()) as OpenApiDocument;
  for (const entry of table.entries()) {
    const path = entry.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    for (const [method, config] of entry.methods) {
      const operation = document.paths[path]?.[method.toLowerCase()];
      if (operation === undefined) continue;
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
      const json = operation.requestBody?.content?.['application/json'];
      if (json !== undefined && config.body === 'form') {
        operation.requestBody!.content!['application/x-www-form-urlencoded'] = json;
      }
      if (config.body === 'audio') {
        const schema = { type: 'string', format: 'binary' };
        operation.requestBody = {
          required: true,
          content: { 'audio/*': { schema }, 'application/octet-stream': { schema } },
        };
      }
      if (json !== undefined && config.body === 'merge_patch') {
        operation.requestBody!.content!['application/merge-patch+json'] = json;
      }
      addErrors(operation, errorsOf(method, entry.path, config));
    }
  }
  document.paths = Object.fromEntries(
    Object.entries(document.paths).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  document.components.schemas = usedSchemas(document);
  return document;
}
const keysOf = (scope: FastifyContextConfig['scope']): string =>
  scope === undefined ? 'none' : scope === 'any' ? 'any' : `with the scope \`${scope}\``;
/** Without the bounds that every integer of JSON has: they say nothing, and samples are made of them. */
function unbounded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unbounded);
  if (typeof value !== 'object' || value === null) return value;
  const says = ([key, limit]: [string, unknown]): boolean =>
    !(key === 'minimum' && limit === Number.MIN_SAFE_INTEGER) &&
    !(key === 'maximum' && limit === Number.MAX_SAFE_INTEGER);
  return Object.fromEntries(
    Object.entries(value)
      .filter(says)
      .map(([key, item]) => [key, unbounded(item)]),
  );
}
/** Named schemas that a path leads to, in order of name. */
function usedSchemas(document: OpenApiDocument): Record<string, object> {
  const all = document.components.schemas ?? {};
  const used = new Set<string>();
  const follow = (text: string): void => {
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name === undefined || used.has(name)) continue;
      used.add(name);
      follow(JSON.stringify(all[name] ?? {}));
    }
  };
  follow(JSON.stringify(document.paths));
  return Object.fromEntries([...used].toSorted().map((name) => [name, all[name] ?? {}]));
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
