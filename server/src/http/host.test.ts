import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { ERRORS } from '@offhook/contract/errors.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import { hostFixture } from '../../test/support/host-fixture.ts';
import { ServiceError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Host } from './host.ts';

const lines: { level: string; fields: object; message: string }[] = [];
const log: Log = {
  debug: (fields, message) => void lines.push({ level: 'debug', fields, message }),
  info: (fields, message) => void lines.push({ level: 'info', fields, message }),
  warn: (fields, message) => void lines.push({ level: 'warn', fields, message }),
  error: (fields, message) => void lines.push({ level: 'error', fields, message }),
  child: () => log,
};
const Note = z.object({ note: z.string().max(16), deep: z.unknown().optional() });
const StrictNote = z.strictObject({ note: z.string().max(16), list: z.array(z.int()).optional() });
let host: Host;

before(async () => {
  host = await hostFixture({ log });
  const { app } = host;
  const reply = { 200: z.object({ note: z.string() }) };
  app.get('/public', { config: { level: 'public' } }, () => ({ note: 'seen' }));
  app.get('/identify', { config: { level: 'public', identify: true } }, (r) => ({
    note: r.caller?.level ?? 'nobody',
  }));
  for (const level of ['user', 'agent', 'supervisor', 'admin'] as const) {
    app.get(`/api/v1/${level}`, { config: { level } }, (r) => ({ note: r.person().level }));
  }
  app.post(
    '/api/mobile/note.php',
    { config: { level: 'public', body: 'form' }, schema: { body: Note, response: reply } },
    (r) => ({ note: r.body.note }),
  );
  app.post(
    '/api/v1/note',
    { config: { level: 'user' }, schema: { body: StrictNote, response: reply } },
    (r) => ({ note: r.body.note }),
  );
  app.put('/api/v1/note', { config: { level: 'user' }, schema: { body: StrictNote } }, () => ({
    note: 'put',
  }));
  app.post('/api/v1/nothing', { config: { level: 'user' }, schema: { body: NoFields } }, () => ({
    ok: true,
  }));
  app.get(
    '/api/v1/things/:id',
    { config: { level: 'user' }, schema: { params: z.object({ id: z.string().regex(/^\d+$/) }) } },
    (r) => ({ note: r.params.id }),
  );
  app.get('/api/v1/broken', { config: { level: 'public' } }, () => {
    throw new Error('the password is hunter2');
  });
  app.get('/api/v1/refused', { config: { level: 'public' } }, () => {
    throw new ServiceError('engine_refused', 'no', {
      cause: new Error('secret cause'),
      body: { queues: [] },
    });
  });
  app.get('/api/v1/wrong-reply', { config: { level: 'public' }, schema: { response: reply } }, () => ({
    note: 5 as unknown as string,
  }));
  app.get('/api/v1/bytes', { config: { level: 'public' }, schema: { response: reply } }, async (_r, answer) =>
    answer.type('application/json; charset=utf-8').send(Buffer.from('{"note":"bytes"}') as never),
  );
  await app.ready();
});
after(() => host.close());

const bearer = (level: string) => ({ authorization: `Bearer token-${level}` });
async function call(options: InjectOptions) {
  const response = await host.app.inject(options);
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    json: () => response.json() as Record<string, unknown>,
  };
}
/** Asserts the whole form of an error answer. */
async function refuses(
  options: InjectOptions,
  code: ErrorCode,
  detail = /./,
): Promise<Awaited<ReturnType<typeof call>>> {
  const response = await call(options);
  const what = `${JSON.stringify(options).slice(0, 120)} → ${response.status} ${response.text.slice(0, 200)}`;
  assert.equal(response.status, ERRORS[code].status, what);
  assert.equal(response.headers['content-type'], 'application/problem+json', what);
  const body = response.json();
  assert.equal(body.code, code, what);
  assert.equal(body.status, response.status);
  assert.equal(body.title, ERRORS[code].title);
  assert.equal(body.type, `/docs/errors#${code}`);
  assert.equal(body.success, false);
  assert.equal(body.error, body.detail);
  assert.match(String(body.detail), detail, what);
  assert.match(String(body.request_id), /^[0-9a-f]{8}-/);
  assert.equal(/\bat .*\.(ts|js):\d+/.test(response.text), false, 'an answer shows a stack');
  return response;
}

test('host - every path with every method it does not take is 405 with Allow, signed in or not', async () => {
  const methods = http.METHODS.filter((m) => m !== 'CONNECT');
  let looked = 0;
  for (const entry of host.table.entries()) {
    const url = entry.path.replace(':id', '7');
    for (const method of methods.filter((m) => !entry.methods.has(m))) {
      for (const headers of [{}, bearer('admin'), { authorization: 'Bearer wrong' }]) {
        const response = await call({ method: method as 'GET', url, headers });
        assert.equal(response.status, 405, `${method} ${url}`);
        assert.equal(
          response.headers.allow,
          [...entry.methods.keys()].toSorted().join(', '),
          `${method} ${url}`,
        );
        looked += 1;
      }
    }
  }
  assert.ok(looked > 800, `only ${looked} were tried`);
});
test('host - an unknown path is 404 for every method, signed in or not, whatever its body', async () => {
  for (const method of http.METHODS.filter((m) => m !== 'CONNECT')) {
    for (const headers of [{}, bearer('admin'), { origin: 'https://crm.example.com' }]) {
      const { status } = await call({ method: method as 'GET', url: '/api/v1/nowhere', headers });
      assert.equal(status, 404, method);
    }
  }
  const nonsense = { 'content-type': 'text/nonsense' };
  await refuses({ method: 'POST', url: '/nowhere', headers: nonsense, payload: 'x' }, 'not_found');
  await refuses({ method: 'POST', url: '/nowhere', payload: '{'.repeat(200_000) }, 'not_found');
  await refuses({ url: '/nowhere?token=1' }, 'not_found');
});
test('host - an invalid parameter is rejected with its name', async () => {
  const wrong = { url: '/api/v1/things/x', headers: bearer('user') };
  await refuses(wrong, 'invalid_request', /^id: /);
  assert.equal((await call({ url: '/api/v1/things/7', headers: bearer('user') })).json().note, '7');
});
test('host - levels: 401 without a good session, 403 below the level, 200 from it on', async () => {
  const levels = ['user', 'agent', 'supervisor', 'admin'];
  for (const [needs, level] of levels.entries()) {
    const missing = await refuses({ url: `/api/v1/${level}` }, 'not_authenticated');
    assert.equal(missing.headers['www-authenticate'], 'Bearer');
    await refuses(
      { url: `/api/v1/${level}`, headers: { authorization: 'Bearer nobody' } },
      'not_authenticated',
    );
    for (const [has, mine] of levels.entries()) {
      const options = { url: `/api/v1/${level}`, headers: bearer(mine) };
      if (has < needs) await refuses(options, 'forbidden');
      else assert.equal((await call(options)).status, 200, `${mine} at ${level}`);
    }
  }
});
test('host - the session is known before the body is read, and the body before the handler', async () => {
  const bad = { 'content-type': 'application/json' };
  await refuses({ method: 'POST', url: '/api/v1/note', headers: bad, payload: '{' }, 'not_authenticated');
  const headers = { ...bad, ...bearer('user') };
  await refuses({ method: 'POST', url: '/api/v1/note', headers, payload: '{' }, 'invalid_request');
});
test('host - only one plain bearer token is one', async () => {
  const url = '/api/v1/user';
  for (const authorization of ['bearer token-user', 'BEARER token-user', 'Bearer  token-user']) {
    assert.equal((await call({ url, headers: { authorization } })).status, 200, authorization);
  }
  for (const authorization of [
    'token-user',
    'Bearer',
    'Bearer ',
    'Basic dG9rZW4tdXNlcg==',
    'Bearer token-user x',
    'Bearer token-user,token-user',
    'Bearer "token-user"',
    'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMDAxIn0.',
    `Bearer ${'a'.repeat(600)}`,
  ]) {
    await refuses({ url, headers: { authorization } }, 'not_authenticated');
  }
});
test('host - a cookie is a session, for changes from its own origin only', async () => {
  const cookie = 'other=1; offhook_session=token-user';
  assert.equal((await call({ url: '/api/v1/user', headers: { cookie } })).status, 200);
  await refuses(
    { url: '/api/v1/user', headers: { cookie: 'offhook_session=token-user; offhook_session=token-admin' } },
    'not_authenticated',
  );
  const post = (origin?: string): InjectOptions => ({
    method: 'POST',
    url: '/api/v1/note',
    headers: {
      cookie,
      host: 'pbx.example.com',
      'content-type': 'application/json',
      ...(origin === undefined ? {} : { origin }),
    },
    payload: '{"note":"x"}',
  });
  assert.equal((await call(post('http://pbx.example.com'))).status, 200);
  for (const origin of [
    undefined,
    'null',
    'http://evil.example.com',
    'https://pbx.example.com',
    'http://pbx.example.com:81',
    'https://crm.example.com',
  ]) {
    await refuses(post(origin), 'foreign_origin');
  }
  // Browsers send no bearer tokens on their own, so no origin is required.
  const withToken = post('http://evil.example.com');
  assert.equal(
    (await call({ ...withToken, headers: { ...withToken.headers, ...bearer('user') } })).status,
    200,
  );
});
test('host - a public route may read an optional session', async () => {
  assert.equal((await call({ url: '/identify' })).json().note, 'nobody');
  assert.equal((await call({ url: '/identify', headers: bearer('admin') })).json().note, 'admin');
  assert.equal(
    (await call({ url: '/identify', headers: { authorization: 'Bearer wrong' } })).json().note,
    'nobody',
  );
});
test('host - a secret in the address is refused on every path and never logged', async () => {
  lines.length = 0;
  for (const name of [
    'token',
    'access_token',
    'ACCESS_TOKEN',
    'api_key',
    'api-key',
    'Authorization',
    'password',
    'jwt',
    'token[]',
    'tok%65n',
    'offhook_session',
  ]) {
    await refuses({ url: `/public?x=1&${name}=s3cr3t`, headers: bearer('user') }, 'token_in_url');
    await refuses({ url: `/api/v1/user?${name}=s3cr3t` }, 'token_in_url');
  }
  assert.equal((await call({ url: '/public?q=token' })).status, 200);
  assert.ok(lines.length > 20);
  assert.equal(JSON.stringify(lines).includes('s3cr3t'), false);
});
test('host - only JSON in UTF-8 is read, and forms on routes that take them', async () => {
  const post = (url: string, type: string | undefined, payload = '{"note":"x"}'): InjectOptions => ({
    method: 'POST',
    url,
    headers: { ...bearer('user'), ...(type === undefined ? {} : { 'content-type': type }) },
    payload: Buffer.from(payload),
  });
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;charset="UTF-8"',
    'application/json ; charset = utf-8',
  ]) {
    assert.equal((await call(post('/api/v1/note', type))).status, 200, type);
    assert.equal((await call(post('/api/mobile/note.php', type))).status, 200, type);
  }
  for (const type of [
    undefined,
    'application/json garbage',
    'application/json; charset=utf-7',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; x=y',
    'application/json, text/plain',
    'text/plain',
    'text/plain; charset=utf-8',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/problem+json',
    'nonsense',
    '',
  ]) {
    await refuses(post('/api/v1/note', type), 'unsupported_media_type');
    await refuses(post('/api/mobile/note.php', type), 'unsupported_media_type');
  }
  const form = 'application/x-www-form-urlencoded';
  await refuses(post('/api/v1/note', form, 'note=x'), 'unsupported_media_type');
  assert.equal((await call(post('/api/mobile/note.php', form, 'note=a+b%21&unknown=1'))).json().note, 'a b!');
  const zipped = post('/api/v1/note', 'application/json');
  await refuses(
    { ...zipped, headers: { ...zipped.headers, 'content-encoding': 'gzip' } },
    'unsupported_media_type',
  );
});
test('host - a body is at most 64 KiB', async () => {
  const post = (bytes: number): InjectOptions => ({
    method: 'POST',
    url: '/api/mobile/note.php',
    headers: { 'content-type': 'application/json' },
    payload: `{"note":"x","pad":"${'p'.repeat(bytes - 21)}"}`,
  });
  assert.equal((await call(post(65_536))).status, 200);
  await refuses(post(65_537), 'body_too_large');
  await refuses(post(1_000_000), 'body_too_large');
});
test('host - an invalid body is 400 with the path of the error', async () => {
  const cases: [string | Buffer, RegExp][] = [
    ['', /send at least \{\}/],
    ['{', /must be valid JSON/],
    ['{"note":"x"} x', /must be valid JSON/],
    ["{'note':'x'}", /must be valid JSON/],
    ['[]', /body: expected an object, received /],
    ['5', /body: expected an object, received /],
    ['"x"', /body: expected an object, received /],
    ['null', /body: expected an object, received /],
    ['true', /body: expected an object, received /],
    ['{}', /note: /],
    ['{"note":null}', /note: .*null/],
    ['{"note":5}', /note: .*number/],
    ['{"note":["x"]}', /note: .*array/],
    ['{"note":"12345678901234567"}', /note: /],
    ['{"note":"x","note":"y"}', /"note" occurs twice/],
    ['{"note":"x","deep":' + '['.repeat(40) + ']'.repeat(40) + '}', /at most 32 levels deep/],
    ['['.repeat(60_000), /at most 32 levels deep/],
    ['{"__proto__":{"note":"x"}}', /the field __proto__ is not allowed/],
    ['{"\\u005f_proto__":{"note":"x"}}', /the field __proto__ is not allowed/],
    ['{"note":"x","constructor":{"prototype":{"a":1}}}', /the field constructor.prototype is not allowed/],
    ['{"note":"x","constructor":{"prototype":{"a":1}}', /must be valid JSON/],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
    [Buffer.from('{"note":"\xe9"}', 'latin1'), /UTF-8/],
    [Buffer.from('{"note":"x"}', 'utf16le'), /./],
  ];
  for (const [payload, detail] of cases) {
    const headers = { 'content-type': 'application/json', ...bearer('user') };
    await refuses(
      { method: 'POST', url: '/api/mobile/note.php', headers, payload },
      'invalid_request',
      detail,
    );
    await refuses({ method: 'POST', url: '/api/v1/note', headers, payload }, 'invalid_request', /./);
  }
  assert.equal(({} as { note?: string }).note, undefined);
});
test('host - unknown fields are ignored for real clients and refused with their path on /api/v1', async () => {
  const headers = { 'content-type': 'application/json', ...bearer('user') };
  const payload = '{"note":"x","role":"admin","tenant":1}';
  assert.equal((await call({ method: 'POST', url: '/api/mobile/note.php', headers, payload })).status, 200);
  await refuses(
    { method: 'POST', url: '/api/v1/note', headers, payload },
    'invalid_request',
    /role: unknown field; tenant: unknown field/,
  );
  await refuses(
    { method: 'POST', url: '/api/v1/note', headers, payload: '{"note":"x","list":[1,"2"]}' },
    'invalid_request',
    /^list\.1: /,
  );
  await refuses(
    { method: 'POST', url: '/api/v1/nothing', headers, payload: '{"a":1}' },
    'invalid_request',
    /^a: unknown field/,
  );
  assert.equal((await call({ method: 'POST', url: '/api/v1/nothing', headers, payload: '{}' })).status, 200);
  assert.equal((await call({ method: 'POST', url: '/api/v1/nothing', headers: bearer('user') })).status, 200);
});
test('host - an internal error is not shown, but has an id that finds it in the log', async () => {
  lines.length = 0;
  const broken = await refuses({ url: '/api/v1/broken' }, 'internal');
  assert.equal(broken.text.includes('hunter2'), false);
  const line = lines.find((l) => l.level === 'error');
  assert.ok(line);
  assert.equal((line.fields as { request_id: string }).request_id, broken.json().request_id);
  assert.match(JSON.stringify(line), /hunter2/);
  const refused = await refuses({ url: '/api/v1/refused' }, 'engine_refused');
  assert.equal(refused.text.includes('secret cause'), false);
  assert.deepEqual(refused.json().queues, []);
  await refuses({ url: '/api/v1/wrong-reply' }, 'internal');
});
test('host - a handler may send bytes it has ready', async () => {
  const response = await call({ url: '/api/v1/bytes' });
  assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
  assert.deepEqual(response.json(), { note: 'bytes' });
});
test('host - CORS answers listed origins only, and never with credentials', async () => {
  const ask = { 'access-control-request-method': 'POST' };
  const listed = await call({
    method: 'OPTIONS',
    url: '/api/v1/note',
    headers: { ...ask, origin: 'https://crm.example.com' },
  });
  assert.equal(listed.status, 204);
  assert.equal(listed.headers['access-control-allow-origin'], 'https://crm.example.com');
  assert.match(String(listed.headers['access-control-allow-headers']), /Authorization/);
  assert.equal(listed.headers['access-control-allow-credentials'], undefined);
  assert.equal(listed.headers.vary, 'Origin');
  for (const origin of [
    undefined,
    'https://evil.example.com',
    'null',
    'https://crm.example.com.evil.com',
    'http://crm.example.com',
  ]) {
    const headers = origin === undefined ? ask : { ...ask, origin };
    const other = await refuses({ method: 'OPTIONS', url: '/api/v1/note', headers }, 'method_not_allowed');
    assert.equal(other.headers['access-control-allow-origin'], undefined);
    assert.equal((await call({ url: '/public', headers })).headers['access-control-allow-origin'], undefined);
  }
  const error = await call({ url: '/api/v1/user', headers: { origin: 'https://crm.example.com' } });
  assert.equal(error.status, 401);
  assert.equal(
    error.headers['access-control-allow-origin'],
    'https://crm.example.com',
    'a page must be able to read its error',
  );
});
test('host - headers: no-store below /api, a policy without scripts, nothing sniffed or framed', async () => {
  for (const url of ['/api/v1/user', '/api/v1/nowhere', '/public', '/api/v1/bytes']) {
    const { headers } = await call({ url });
    assert.equal(headers['cache-control'], url.startsWith('/api/') ? 'no-store' : undefined, url);
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/, url);
    assert.equal(headers['x-content-type-options'], 'nosniff', url);
    assert.equal(headers['x-frame-options'], 'DENY', url);
    assert.equal(headers['strict-transport-security'], undefined);
  }
});
test('host - a log line stays one line, whatever a client sends', async () => {
  lines.length = 0;
  await call({ url: `/${'x'.repeat(5_000)}`, headers: { 'user-agent': 'x\u001b[31m"},{"level":"error"' } });
  await call({
    url: '/%0a%7b%22level%22:%22error%22%7d',
    headers: { ...bearer('user'), cookie: 'offhook_session=s3cr3t' },
  });
  assert.equal(lines.length, 2);
  for (const { fields, message } of lines) {
    const text = JSON.stringify({ ...fields, message });
    assert.equal(/\p{Cc}/u.test(text), false, text);
    assert.equal(/s3cr3t|token-user/.test(text), false, text);
    assert.ok(text.length < 600);
  }
});
test('host - a route that breaks a rule is refused while the service starts', async () => {
  const fresh = await hostFixture();
  const { app } = fresh;
  const nothing = (): object => ({});
  assert.throws(() => app.get('/a', nothing), /level is missing/);
  assert.throws(() => app.get('/b', { config: { level: 'boss' as never } }, nothing), /level is missing/);
  assert.throws(() => app.get('/c/*', { config: { level: 'public' } }, nothing), /cannot be a route/);
  assert.throws(() => app.get('/d/', { config: { level: 'public' } }, nothing), /cannot be a route/);
  assert.throws(
    () => app.post('/api/v1/e', { config: { level: 'user' }, schema: { body: z.object({}) } }, nothing),
    /strict object/,
  );
  assert.throws(() => app.post('/api/v1/f', { config: { level: 'user' } }, nothing), /strict object/);
  assert.throws(
    () =>
      app.post('/api/v1/g', { config: { level: 'user', body: 'form' }, schema: { body: NoFields } }, nothing),
    /forms are for/,
  );
  await fresh.close();
});
test('host - a node that may not lead refuses the API, while health still answers', async () => {
  let leads = false;
  const fence = (): void => {
    if (!leads) throw new ServiceError('node_not_active', 'another one may lead');
  };
  const fresh = await hostFixture({ fence });
  fresh.app.get('/api/v1/fenced', { config: { level: 'public' } }, () => ({ ok: true }));
  fresh.app.get('/healthz', { config: { level: 'public' } }, () => ({ ok: true }));
  await fresh.app.ready();
  const refused = await fresh.app.inject('/api/v1/fenced');
  assert.deepEqual([refused.statusCode, refused.json().code], [503, 'node_not_active']);
  assert.equal((await fresh.app.inject('/healthz')).statusCode, 200);
  leads = true;
  assert.equal((await fresh.app.inject('/api/v1/fenced')).statusCode, 200);
  await fresh.close();
});

test('host - draining refuses the API with 503 and closes, while health still answers', async () => {
  const fresh = await hostFixture();
  fresh.app.get('/api/v1/x', { config: { level: 'public' } }, () => ({}));
  fresh.app.get('/healthz', { config: { level: 'public' } }, () => ({}));
  await fresh.app.ready();
  assert.equal((await fresh.app.inject('/api/v1/x')).statusCode, 200);
  fresh.drain();
  const refused = await fresh.app.inject('/api/v1/x');
  assert.equal(refused.statusCode, 503);
  assert.equal(refused.headers.connection, 'close');
  assert.equal(refused.headers['retry-after'], '5');
  assert.equal((await fresh.app.inject('/healthz')).statusCode, 200);
  await fresh.close();
});
test('host - behind a trusted proxy its forwarded names count, from elsewhere they do not', async () => {
  const origin = async (trustProxy: string[], publicUrl = '') => {
    const fresh = await hostFixture({ config: { corsOrigins: [], publicUrl, trustProxy } });
    fresh.app.get('/o', { config: { level: 'public' } }, (r) => ({ origin: r.ownOrigin(), ip: r.ip }));
    await fresh.app.ready();
    const headers = {
      host: 'inner:8080',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'pbx.example.com',
      'x-forwarded-for': '203.0.113.9',
    };
    const response = await fresh.app.inject({ url: '/o', headers });
    await fresh.close();
    return response.json() as { origin: string; ip: string };
  };
  assert.deepEqual(await origin([]), { origin: 'http://inner:8080', ip: '127.0.0.1' });
  assert.deepEqual(await origin(['127.0.0.1']), { origin: 'https://pbx.example.com', ip: '203.0.113.9' });
  assert.deepEqual(await origin(['10.0.0.0/8']), { origin: 'http://inner:8080', ip: '127.0.0.1' });
  assert.equal((await origin([], 'https://front.example.com')).origin, 'https://front.example.com');
});
