import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { contractDocument } from '../../tools/contract-documents.ts';
import { postmanCollection } from '../../tools/postman.ts';
import { checkAccess } from '../src/http/operations.ts';
import type { Caller } from '../src/ports/http.ts';
import type { KeyRights } from '../src/rights/rights.ts';
import type { OpenApiDocument, Operation } from '../src/http/openapi.ts';

/** Properties of the document that client generators need. */
const document = await contractDocument<OpenApiDocument>('openapi');
const all: { name: string; method: string; path: string; own: Operation }[] = Object.entries(
  document.paths,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, own]) => ({ name: `${method} ${path}`, method, path, own })),
);
const follow = (value: unknown): Record<string, unknown> => {
  const { $ref } = value as { $ref?: string };
  if ($ref === undefined) return value as Record<string, unknown>;
  return $ref
    .slice(2)
    .split('/')
    .reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, { ...document });
};
const namesOf = (own: Operation): string[] =>
  (own.parameters ?? []).map(follow).map(({ name }) => String(name));

test('openapi - every operation has an id of its own, a known tag, its security and a description', () => {
  assert.ok(all.length > 270);
  const ids = all.map(({ own }) => own.operationId ?? '');
  assert.deepEqual(
    ids.filter((id) => !/^[a-z][A-Za-z0-9]+$/.test(id)),
    [],
  );
  assert.deepEqual(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    [],
  );
  const tags = new Set(document.tags?.map((tag) => (tag as { name: string }).name));
  for (const { name, own } of all) {
    assert.deepEqual(
      own.tags?.map((tag) => tags.has(tag)),
      [true],
      `${name}: one \`tag\`, which has a row of TAGS in server/src/http/openapi.ts`,
    );
    assert.ok(own.security, name);
    assert.ok(own.description, name);
  }
});
test('openapi - every limit of a page has its range and its default in words', () => {
  const limits = all.flatMap(({ name, own }) =>
    (own.parameters ?? []).flatMap((one) => {
      const parameter = follow(one);
      return parameter['name'] === 'limit' ? [`${name}: ${String(parameter['description'])}`] : [];
    }),
  );
  assert.ok(limits.length > 30);
  assert.deepEqual(
    limits.filter((text) => !/from 1 to [\d,]+; .+ by default\.$/.test(text)),
    [],
  );
});
test('openapi - 403 is listed wherever a person or an API key may be refused', () => {
  const key: KeyRights = { id: 1, name: 'key', scopes: [], queues: null, extensions: null };
  const callers = [
    { key: null, level: 'user' },
    { key, level: 'supervisor' },
  ] as Caller[];
  let refusing = 0;
  for (const { name, own } of all) {
    const { 'x-level': level, 'x-scope': scope } = own;
    if (level === undefined) continue;
    const refusal = follow(own.responses?.['403'] ?? {})['description'] as string | undefined;
    const refuses = (caller: Caller): boolean => {
      try {
        checkAccess(caller, { level, scope } as Parameters<typeof checkAccess>[1]);
        return false;
      } catch {
        return true;
      }
    };
    if (!callers.some(refuses)) continue;
    refusing += 1;
    assert.match(refusal ?? '', /`forbidden`/, name);
  }
  assert.ok(refusing > 250);
  const refusals = (path: string) =>
    String(follow(document.paths[path]?.['get']?.responses?.['403'])['description']);
  assert.match(refusals('/api/v1/recordings'), /`second_factor_required`/);
  assert.doesNotMatch(refusals('/api/v1/session'), /`second_factor_required`/);
});
test('openapi - a path within the template of another takes all methods of the template', () => {
  // The router would answer a method that the path lacks by the operation of the template.
  const paths = Object.entries(document.paths).map(
    ([path, methods]) => [path, path.split('/'), Object.keys(methods)] as const,
  );
  for (const [template, segments, methods] of paths)
    for (const [path, own, ownMethods] of paths) {
      const within =
        path !== template &&
        own.length === segments.length &&
        own.every((segment, i) => segment === segments[i] || segments[i]?.startsWith('{'));
      if (within)
        assert.deepEqual(
          methods.filter((method) => !ownMethods.includes(method)),
          [],
          path,
        );
    }
});
test('openapi - headers of requests and of every reply are named', () => {
  for (const { name, method, path, own } of all) {
    const headers = namesOf(own);
    assert.ok(headers.includes('X-Request-Id') && headers.includes('X-App-Language'), name);
    for (const [status, reply] of Object.entries(own.responses ?? {})) {
      const sent = Object.keys((follow(reply).headers ?? {}) as object);
      for (const header of ['X-Request-Id', 'Offhook-Version', 'RateLimit', 'RateLimit-Policy'])
        assert.ok(sent.includes(header), `${name} ${status} ${header}`);
      // A service that is not ready answers 503 with its report.
      if (['429', '503'].includes(status) && path !== '/readyz')
        assert.ok(sent.includes('Retry-After'), `${name} ${status}`);
    }
    if (method === 'put' && path.startsWith('/api/v1/config/') && path.endsWith('{key}')) {
      assert.ok(headers.includes('If-Match') && headers.includes('If-None-Match'), name);
      assert.ok('ETag' in (follow(own.responses?.['200']).headers as object), name);
    }
  }
  const placed = all.find(
    ({ own }) => own.operationId === 'callsOriginate' || own.operationId === 'callsPlace',
  );
  assert.ok(placed, 'no operation places a call');
  assert.ok(namesOf(placed.own).includes('Idempotency-Key'));
});
test('openapi - every list that has pages takes limit and cursor, and what cursors took the place of is deprecated', () => {
  const paged: string[] = [];
  for (const { name, method, path, own } of all) {
    if (method !== 'get' || path.startsWith('/api/v1/events')) continue;
    const queries = (own.parameters ?? []).map(follow).filter((one) => one['in'] === 'query');
    const names = queries.map((one) => String(one['name']));
    for (const { name: query, deprecated } of queries)
      if (['offset', 'since', 'epoch', 'page', 'after', 'before'].includes(String(query)))
        assert.equal(deprecated, true, `${name} ${String(query)}`);
    if (!names.includes('limit')) continue;
    paged.push(name);
    assert.ok(names.includes('cursor'), name);
    const reply = follow(own.responses?.['200']?.content?.['application/json']?.schema);
    const fields = Object.keys(reply['properties'] as object);
    assert.ok(fields.includes('next_cursor') || (fields.includes('cursor') && fields.includes('more')), name);
  }
  assert.ok(paged.length > 25, paged.join());
});
test('openapi - replies are open, integers bounded, and no list of values mixes types', () => {
  const walk = (
    value: unknown,
    at: string,
    see: (schema: Record<string, unknown>, at: string) => void,
  ): void => {
    if (typeof value !== 'object' || value === null) return;
    see(value as Record<string, unknown>, at);
    for (const [key, inner] of Object.entries(value)) if (key !== 'example') walk(inner, `${at}/${key}`, see);
  };
  for (const { name, own } of all)
    walk(own.responses, name, ({ additionalProperties }, at) =>
      assert.notEqual(additionalProperties, false, at),
    );
  for (const [name, schema] of Object.entries(document.components.schemas ?? {}))
    if (!name.endsWith('Input'))
      walk(schema, name, ({ additionalProperties }, at) => assert.notEqual(additionalProperties, false, at));
  walk(document, '', (schema, at) => {
    if (schema.type === 'integer' && schema.const === undefined && schema.enum === undefined) {
      assert.ok('maximum' in schema || 'exclusiveMaximum' in schema, at);
      assert.ok('minimum' in schema || 'exclusiveMinimum' in schema, at);
    }
    if (Array.isArray(schema.enum))
      assert.equal(
        new Set(schema.enum.map((one) => typeof one)).size,
        1,
        `${at} ${JSON.stringify(schema.enum)}`,
      );
  });
});
test('openapi - every body and every good reply in JSON has an example that its schema takes', () => {
  const ajv = new Ajv2020({ strict: false, unicodeRegExp: true });
  addFormats.default(ajv);
  // Names of zod that are in no standard.
  for (const name of ['cidrv4', 'cidrv6']) ajv.addFormat(name, true);
  ajv.addSchema({ $id: 'doc', components: document.components });
  const checked = new Map<string, ReturnType<Ajv2020['compile']>>();
  const fits = (schema: object, example: unknown): boolean => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"doc#/components/');
    const known = checked.get(text) ?? ajv.compile(JSON.parse(text));
    checked.set(text, known);
    return known(example) === true;
  };
  let examples = 0;
  const without: string[] = [];
  for (const { name, own } of all) {
    const good = Object.entries(own.responses ?? {}).filter(([status]) => status.startsWith('2'));
    const contents = [own.requestBody?.content, ...good.map(([, reply]) => reply.content)];
    for (const [type, media] of contents.flatMap((content) => Object.entries(content ?? {}))) {
      if (!/json|form/.test(type) || media.schema === undefined) continue;
      if (!('example' in media)) without.push(`${name} ${type}`);
      else assert.ok(fits(media.schema, media.example), `${name} ${JSON.stringify(media.example)}`);
      examples += 1;
    }
  }
  assert.ok(examples > 350, `${examples}`);
  assert.deepEqual(without, []);
});

test('postman - the collection has each operation once, with its path, its parameters and the example of its body', () => {
  interface Collected {
    readonly method: string;
    readonly url: { raw: string; path: string[]; variable: { key: string }[] };
    readonly body?: { raw: string };
  }
  const { item } = JSON.parse(postmanCollection(document, '1.2.3')) as {
    item: { item: { request: Collected }[] }[];
  };
  const collected = item.flatMap((folder) => folder.item.map(({ request }) => request));
  assert.deepEqual(
    collected
      .map(({ method, url }) => `${method.toLowerCase()} ${url.raw.replace('{{base}}', '')}`)
      .toSorted(),
    all.map(({ name }) => name).toSorted(),
  );
  for (const { method, url, body } of collected) {
    const name = `${method.toLowerCase()} ${url.raw.replace('{{base}}', '')}`;
    const variables = url.path.filter((part) => part.startsWith(':')).map((part) => part.slice(1));
    assert.deepEqual(url.variable.map(({ key }) => key).toSorted(), variables.toSorted(), name);
    const json = all.find((one) => one.name === name)!.own.requestBody?.content?.['application/json'];
    assert.deepEqual(body === undefined ? undefined : JSON.parse(body.raw), json?.example, name);
  }
});
test('openapi - the refusals of the Model Context Protocol itself have their own form beside that of a problem', () => {
  const { responses = {} } = document.paths['/mcp']!['post']!;
  assert.deepEqual(
    Object.entries(responses).flatMap(([status, response]) => {
      const { content = {} } = follow(response) as { content?: Record<string, unknown> };
      return 'application/json' in content ? [status] : [];
    }),
    ['200', '400', '406'],
  );
  assert.ok('202' in responses);
});
