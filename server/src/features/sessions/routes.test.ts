import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { InjectOptions } from 'fastify';
import { ERRORS } from '@offhook/contract/errors.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { LoginReply } from '@offhook/contract/session.ts';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';

let site: Site;
let network = 0;
before(async () => {
  // On a loaded machine a flood delays the headers of a request.
  site = await siteFixture({ limits: { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000 } });
});
after(() => site.close());
beforeEach(() => {
  network += 1;
});

const inject = (options: InjectOptions) =>
  site.host.app.inject({ remoteAddress: `10.7.${network}.1`, ...options });
const PATHS = ['/api/auth/login', '/api/mobile/login.php'];
const signIn = (payload: unknown, url = PATHS[0]!, headers: Record<string, string> = {}) =>
  inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  });
const withToken = (token: string) => ({ authorization: `Bearer ${token}` });
async function token(extension = '1005'): Promise<string> {
  const response = await signIn({ username: extension, password: passwordOf(extension) });
  assert.equal(response.statusCode, 200, response.body);
  return LoginReply.parse(response.json()).token;
}
type Response = Awaited<ReturnType<typeof inject>>;
function refused(response: Response, code: ErrorCode): Response {
  assert.equal(response.statusCode, ERRORS[code].status, response.body);
  const body = response.json<Record<string, unknown>>();
  assert.equal(body.code, code, response.body);
  assert.equal(body.success, false);
  assert.equal(typeof body.error, 'string');
  return response;
}

test('login - both paths, as JSON and as a form, by every name of the name', async () => {
  const password = passwordOf('1005');
  for (const url of PATHS) {
    for (const body of [
      { username: '1005', password },
      { username: 'dan', password },
      { extension: '1005', password },
      { username: '', extension: '1005', password },
      { username: null, extension: '1005', password, otp: null, device_name: null, platform: null },
      { username: '1005', password, otp: '123456', device_name: 'x', platform: 'y', unknown: [1] },
    ]) {
      LoginReply.parse((await signIn(body, url)).json());
    }
    const form = await inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ username: '1005', password, pad: '1' }).toString(),
    });
    LoginReply.parse(form.json());
  }
});
test('login - 400 if the name or the password is missing, empty or no string', async () => {
  const password = passwordOf('1005');
  for (const body of [
    {},
    { username: '1005' },
    { username: '1005', password: '' },
    { username: '1005', password: null },
    { username: '1005', password: 12345678 },
    { username: '1005', password: [password] },
    { username: '1005', password: { $ne: '' } },
    { password },
    { username: '', password },
    { username: null, password },
    { username: 1005, password },
    { username: ['1005'], password },
    { username: 'x'.repeat(129), password },
    { username: '1005', password: 'x'.repeat(1025) },
    { username: '1005', password: 'nul\0inside' },
    { username: '1005', password, otp: 123456 },
    [],
    [{ username: '1005', password }],
    'null',
    '5',
    '"1005"',
    '',
    '{"username":"1005","password":"a","password":"b"}',
  ]) {
    refused(await signIn(body), 'invalid_request');
  }
  refused(await signIn({ username: '1005', password: 'x'.repeat(10_000_000) }), 'body_too_large');
  refused(await signIn({ username: '1005', password: '😀'.repeat(64) }), 'invalid_credentials');
});
test('login - unknown and wrong get the same body; inactive needs the right password', async () => {
  const bodies = new Set<string>();
  for (const username of ['1005', '9999', '1007', "' or 1=1--", '../x', '1005\r\nX: y']) {
    const response = refused(await signIn({ username, password: 'wrong password' }), 'invalid_credentials');
    bodies.add(JSON.stringify({ ...response.json<object>(), request_id: '' }));
    network += 1;
  }
  assert.equal(bodies.size, 1);
  refused(await signIn({ username: '1007', password: passwordOf('1007') }), 'account_disabled');
});
test('login - the sixth try is 429 with Retry-After, even with the right password; others may', async () => {
  for (let i = 0; i < 5; i += 1)
    refused(await signIn({ username: '1005', password: 'wrong password' }), 'invalid_credentials');
  const stopped = refused(
    await signIn({ username: 'dan', password: passwordOf('1005') }),
    'too_many_attempts',
  );
  assert.equal(stopped.headers['retry-after'], '900');
  await token('1006');
  network += 1;
  await token('1005');
});
test('login - a page of ours gets a cookie, which is a new one each time and ends the one before', async () => {
  const own = { host: 'pbx.example.com', origin: 'http://pbx.example.com' };
  const body = { username: '1005', password: passwordOf('1005') };
  const first = await signIn(body, PATHS[0], { ...own, cookie: 'offhook_session=fixated-by-somebody' });
  const [cookie = '', device = ''] = [first.headers['set-cookie']].flat() as string[];
  assert.match(device, /^offhook_device=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=34560000$/);
  assert.match(
    cookie,
    /^offhook_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/,
  );
  const value = cookie.split(';')[0]!;
  assert.equal((await inject({ url: '/api/v1/session', headers: { cookie: value } })).statusCode, 200);
  const second = await signIn(body, PATHS[0], { ...own, cookie: value });
  assert.notEqual(String(second.headers['set-cookie']).split(';')[0], value);
  refused(await inject({ url: '/api/v1/session', headers: { cookie: value } }), 'not_authenticated');
  for (const origin of ['http://evil.example.com', 'https://crm.example.com', 'null']) {
    const other = await signIn(body, PATHS[0], { host: 'pbx.example.com', origin });
    assert.equal(other.statusCode, 200);
    assert.equal(other.headers['set-cookie'], undefined, origin);
  }
});
test('login - behind TLS the cookie is Secure and phones get wss', async () => {
  const tls = await siteFixture({ config: { publicUrl: 'https://pbx.example.com' } });
  const response = await tls.host.app.inject({
    method: 'POST',
    url: '/api/auth/login',
    headers: { origin: 'https://pbx.example.com' },
    payload: { username: '1005', password: passwordOf('1005') },
  });
  const [cookie = '', device = ''] = [response.headers['set-cookie']].flat() as string[];
  for (const one of [cookie, device]) assert.match(one, /^__Host-offhook_.*; Path=\/; .*; Secure$/);
  // The service reads both cookies and prefers `__Host-`, which no neighbour can set; a sign-in leaves one of them.
  const me = (value: string) => tls.host.app.inject({ url: '/api/v1/session', headers: { cookie: value } });
  const value = cookie.split(';')[0]!;
  assert.equal((await me(value)).statusCode, 200);
  assert.equal((await me(value.replace('__Host-', ''))).statusCode, 200);
  assert.equal((await me(`offhook_session=other; ${value}`)).statusCode, 200);
  assert.equal((await me(`${value}; ${value.replace(/=.*/, '=second')}`)).statusCode, 401);
  const again = await tls.host.app.inject({
    method: 'POST',
    url: '/api/auth/login',
    headers: { origin: 'https://pbx.example.com', cookie: value.replace('__Host-', '') },
    payload: { username: '1005', password: passwordOf('1005') },
  });
  assert.match(String(again.headers['set-cookie']), /,offhook_session=; Path=\/; .*Max-Age=0,/);
  assert.equal((await me(value)).statusCode, 401, 'the session of before is over');
  const { sip } = LoginReply.parse(response.json());
  assert.deepEqual([sip.ws_url, sip.domain], ['wss://pbx.example.com/ws', 'pbx.example.com']);
  assert.match(String(response.headers['strict-transport-security']), /max-age/);
  await tls.close();
});
test('refresh - the login body with a new token, for a bearer and for a cookie', async () => {
  const old = await token();
  const url = '/api/mobile/refresh.php';
  const response = await inject({ url, headers: withToken(old) });
  const body = LoginReply.parse(response.json());
  assert.notEqual(body.token, old);
  assert.equal(response.headers['set-cookie'], undefined);
  assert.equal((await inject({ url: '/api/v1/session', headers: withToken(body.token) })).statusCode, 200);
  const cookie = await inject({ url, headers: { cookie: `offhook_session=${body.token}` } });
  assert.match(String(cookie.headers['set-cookie']), /^offhook_session=[A-Za-z0-9_-]{43}; /);
  const fresh = /offhook_session=([^;]+)/.exec(String(cookie.headers['set-cookie']))![1]!;
  const asked = { host: 'a.example', cookie: `offhook_session=${fresh}` };
  for (const from of [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    { origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
  ]) {
    const foreign = await inject({ url, headers: { ...asked, ...from } });
    refused(foreign, 'foreign_origin');
    assert.equal(foreign.headers['set-cookie'], undefined);
  }
  const bearer = { ...withToken(fresh), origin: 'https://evil.example' };
  assert.equal((await inject({ url, headers: bearer })).statusCode, 200, 'a bearer is nobody’s by accident');
  for (const from of [{ origin: 'http://a.example' }, { 'sec-fetch-site': 'same-origin' }]) {
    assert.equal((await inject({ url, headers: { ...asked, ...from } })).statusCode, 200);
  }
  for (const headers of [{}, withToken('x'), withToken('A'.repeat(43)), { authorization: 'Basic x' }]) {
    refused(await inject({ url, headers }), 'not_authenticated');
  }
});
test('session - the caller, the devices, and the end of one of them', async () => {
  const mine = await token();
  const other = await token();
  const foreign = await token('1006');
  const me = await inject({ url: '/api/v1/session', headers: withToken(mine) });
  assert.equal(me.json<{ user: { extension: string } }>().user.extension, '1005');
  const list = async () => {
    const response = await inject({ url: '/api/v1/sessions', headers: withToken(mine) });
    return response.json<{ sessions: { id: number; current: boolean }[] }>().sessions;
  };
  const before = await list();
  assert.equal(before.filter((s) => s.current).length, 1);
  const current = before.find((s) => s.current)!;
  const last = before.at(-1)!;
  assert.notEqual(last.id, current.id);
  const end = (id: number | string) =>
    inject({ method: 'DELETE', url: `/api/v1/sessions/${id}`, headers: withToken(mine) });
  const theirs = await inject({ url: '/api/v1/sessions', headers: withToken(foreign) });
  for (const { id } of theirs.json<{ sessions: { id: number }[] }>().sessions)
    refused(await end(id), 'not_found');
  for (const id of ['0', '-1', '1e3', 'x', '9'.repeat(20)]) refused(await end(id), 'invalid_request');
  assert.deepEqual((await end(last.id)).json(), { success: true });
  refused(await end(last.id), 'not_found');
  assert.equal((await list()).length, before.length - 1);
  refused(await inject({ url: '/api/v1/session', headers: withToken(other) }), 'not_authenticated');
});
test('session - a reloaded page reads the SIP settings of its phone again', async () => {
  const signedIn = await signIn({ username: '1005', password: passwordOf('1005') });
  const { token: mine, sip } = LoginReply.parse(signedIn.json());
  const again = await inject({ url: '/api/v1/session/sip', headers: withToken(mine) });
  assert.deepEqual([again.json(), again.headers['cache-control']], [{ success: true, sip }, 'no-store']);
  refused(await inject({ url: '/api/v1/session/sip' }), 'not_authenticated');
});
test('session - log-out ends it, and takes the cookie back', async () => {
  const value = await token();
  const headers = { host: 'a.example', origin: 'http://a.example', cookie: `offhook_session=${value}` };
  const post = (extra: Record<string, string>) =>
    inject({ method: 'POST', url: '/api/v1/session/logout', headers: { ...headers, ...extra } });
  refused(await post({ origin: 'http://evil.example' }), 'foreign_origin');
  const response = await post({});
  assert.equal(response.statusCode, 200, response.body);
  assert.match(String(response.headers['set-cookie']), /^offhook_session=; .*Max-Age=0/);
  refused(await post({}), 'not_authenticated');
  refused(await inject({ url: '/api/mobile/refresh.php', headers: withToken(value) }), 'not_authenticated');
});
test('password - changed over HTTP: weak ones are named, and the answer is a new session', async () => {
  const old = await token('1006');
  const change = (payload: object, auth = old) =>
    inject({ method: 'POST', url: '/api/v1/session/password', headers: withToken(auth), payload });
  const current_password = passwordOf('1006');
  for (const [new_password, why] of [
    ['kurz', /new_password: must have at least 8 bytes/],
    ['x'.repeat(1025), /new_password: must have at most 1024 bytes/],
    ['tab\tinside it', /new_password: must not contain control characters/],
  ] as const) {
    const response = refused(await change({ current_password, new_password }), 'invalid_request');
    assert.match(response.body, why);
    assert.equal(response.body.includes(new_password), false, 'an answer repeats the password');
  }
  refused(await change({ current_password, new_password: 'long enough', role: 'admin' }), 'invalid_request');
  refused(
    await change({ current_password: 'wrong password', new_password: 'long enough' }),
    'invalid_credentials',
  );
  const changed = LoginReply.parse((await change({ current_password, new_password: 'long enough' })).json());
  refused(await change({ current_password, new_password: 'long enough' }), 'not_authenticated');
  assert.equal((await inject({ url: '/api/v1/session', headers: withToken(changed.token) })).statusCode, 200);
});
test('login - ten thousand at once block no other request, and the excess is rejected with a time to retry', async () => {
  const { port } = await site.host.listen({ host: '127.0.0.1', port: 0 });
  const before = await token('1003');
  const statuses = new Map<number, number>();
  let answered = 0;
  const attempt = async (i: number): Promise<void> => {
    const response = await inject({
      method: 'POST',
      url: '/api/auth/login',
      remoteAddress: `10.${i % 200}.${i % 250}.1`,
      payload: { username: '1004', password: passwordOf('1004') },
    });
    statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1);
    answered += 1;
    if (response.statusCode === 503) assert.ok(Number(response.headers['retry-after']) > 0);
  };
  // Timers that are due together leave no turn to the sockets of others, as connections of a flood do.
  const flood = async (from: number): Promise<void> => {
    if (from === 10_000) return;
    const group = Array.from({ length: 50 }, (_, i) => attempt(from + i));
    await turn();
    await Promise.all([...group, flood(from + 50)]);
  };
  let done = false;
  const all = flood(0).finally(() => (done = true));
  /** Sign-ins that were answered while another request waited. */
  const waits: number[] = [];
  while (!done) {
    const since = answered;
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/session`, { headers: withToken(before) });
    assert.equal(response.status, 200);
    await response.arrayBuffer();
    waits.push(answered - since);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await all;
  assert.deepEqual(
    [...statuses.keys()].toSorted((a, b) => a - b),
    [200, 503],
  );
  assert.ok((statuses.get(200) ?? 0) >= 100, `only ${statuses.get(200)} got in`);
  const median = waits.toSorted((a, b) => a - b)[waits.length >> 1]!;
  assert.ok(median < 1_000, `others waited for ${median} sign-ins`);
});
