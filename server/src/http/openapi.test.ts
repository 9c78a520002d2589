import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { ERRORS } from '@offhook/contract/errors.ts';
import { siteFixture } from '../../test/support/sessions-fixture.ts';
import type { Site } from '../../test/support/sessions-fixture.ts';
import { errorsOf } from './openapi.ts';
import type { OpenApiDocument, Operation } from './openapi.ts';

const responseOf = (operation: Operation, status: string) => {
  const response = operation.responses?.[status] as { $ref?: string; description: string } | undefined;
  return response?.$ref === undefined
    ? response
    : document.components.responses?.[response.$ref.split('/').at(-1)!];
};
let site: Site;
let document: OpenApiDocument;
before(async () => {
  site = await siteFixture();
  const response = await site.host.app.inject('/api/v1/openapi.json');
  assert.equal(response.statusCode, 200);
  document = response.json();
});
after(() => site.close());

test('openapi - version 3.1, the same bytes every time, public', () => {
  assert.equal(document.openapi, '3.1.0');
  assert.equal(JSON.stringify(site.host.openapi()), JSON.stringify(site.host.openapi()));
  assert.deepEqual(document, JSON.parse(JSON.stringify(site.host.openapi())));
});
test('openapi - every route of the API is in it, with the method it takes and nothing else', () => {
  const pages = new Set([
    '/docs/errors',
    '/docs/events',
    '/api/v1/openapi.json',
    '/api/v1/asyncapi.json',
    '/favicon.ico',
    '/favicon.svg',
    '/front-door.css',
  ]);
  const expected = site.host.table
    .entries()
    .filter((e) => !pages.has(e.path))
    .map((e) => [
      e.path.replaceAll(/:([a-z_]+)/g, '{$1}'),
      [...e.methods.keys()].map((m) => m.toLowerCase()).toSorted(),
    ]);
  const described = Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.keys(methods).toSorted(),
  ]);
  assert.deepEqual(Object.fromEntries(described), Object.fromEntries(expected));
});
test('openapi - each error of a route is listed under its status, and every reference resolves', () => {
  for (const entry of site.host.table.entries()) {
    for (const [method, config] of entry.methods) {
      const operation = document.paths[entry.path.replaceAll(/:([a-z_]+)/g, '{$1}')]?.[method.toLowerCase()];
      if (operation === undefined) continue;
      for (const code of errorsOf(method, entry.path, config)) {
        const response = responseOf(operation, String(ERRORS[code].status));
        assert.ok(response?.description.includes(`\`${code}\``), `${method} ${entry.path} ${code}`);
      }
      assert.ok(operation.security, `${method} ${entry.path}`);
      const open =
        operation.security.length === 0 || operation.security.some((way) => Object.keys(way).length === 0);
      assert.equal(
        open,
        config.level === 'public' && !entry.path.includes('refresh'),
        `${method} ${entry.path}`,
      );
      assert.equal(operation['x-scope'], config.level === 'public' ? undefined : config.scope);
      assert.ok(operation.summary, `${method} ${entry.path} has no summary`);
    }
  }
  const names = new Set(Object.keys(document.components.schemas ?? {}));
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
    (m) => m[1]!,
  );
  assert.ok(references.length > 20);
  for (const name of references) assert.ok(names.has(name), name);
  assert.ok(names.has('LoginReply') && names.has('Problem'));
});
test('openapi - login takes a form too', () => {
  const body = document.paths['/api/auth/login']?.post?.requestBody;
  assert.deepEqual(Object.keys(body?.content ?? {}), [
    'application/json',
    'application/x-www-form-urlencoded',
  ]);
});
test('openapi - the document is compressed once, and unchanged is 304', async () => {
  const { app } = site.host;
  const whole = await app.inject('/api/v1/openapi.json');
  const packed = await app.inject({
    url: '/api/v1/openapi.json',
    headers: { 'accept-encoding': 'gzip, br' },
  });
  assert.equal(packed.headers['content-encoding'], 'br');
  assert.equal(packed.headers.vary, 'Accept-Encoding');
  assert.ok(packed.rawPayload.length * 5 < whole.rawPayload.length, `${packed.rawPayload.length} bytes`);
  assert.deepEqual(JSON.parse(brotliDecompressSync(packed.rawPayload).toString()), document);
  const zipped = await app.inject({ url: '/api/v1/asyncapi.json', headers: { 'accept-encoding': 'gzip' } });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.equal(JSON.parse(gunzipSync(zipped.rawPayload).toString()).asyncapi, '3.0.0');
  const held = await app.inject({
    url: '/api/v1/openapi.json',
    headers: { 'if-none-match': String(whole.headers.etag) },
  });
  assert.deepEqual([held.statusCode, held.body], [304, '']);
});
