import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ERRORS, LANGUAGES } from '@offhook/contract/errors.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { hostFixture, rawExchange } from '../../test/support/host-fixture.ts';
import { say } from '../core/said.ts';
import { errorTexts, languageOf } from '../core/words.ts';

async function rig(t: TestContext) {
  const host = await hostFixture({ clock: { now: () => 0 } });
  t.after(() => host.close());
  host.app.get('/here', { config: { level: 'public' } }, () => 'yes');
  host.app.get('/held', { config: { level: 'public' } }, (_request, reply) => {
    reply.notModified('"1"');
  });
  host.app.post('/api/v1/write', { config: { level: 'user' }, schema: { body: NoFields } }, (request) => {
    host.app.permit(request.person(), 'own');
    return { ok: true };
  });
  await host.app.ready();
  return host;
}
const bearer = { authorization: 'Bearer token-user' };

test('edge headers - every answer carries id, version and the remaining rate', async (t) => {
  const host = await rig(t);
  const { app } = host;
  const answers = [
    await app.inject('/here'),
    await app.inject('/held'),
    await app.inject('/nowhere'),
    await app.inject({ method: 'POST', url: '/here' }),
    await app.inject({ method: 'POST', url: '/api/v1/write' }),
    await app.inject({ method: 'POST', url: '/api/v1/write', headers: bearer, payload: { a: 1 } }),
    await app.inject('/api/v1/openapi.json'),
  ];
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [200, 304, 404, 405, 401, 400, 200],
  );
  const ids = answers.map(({ headers }) => String(headers['x-request-id']));
  assert.equal(new Set(ids).size, ids.length);
  for (const { headers, statusCode } of answers) {
    assert.equal(headers['offhook-version'], '0.0.0-test', `${statusCode}`);
    assert.equal(headers['ratelimit-policy'], '"writes";q=30;w=10, "refusals";q=60;w=60');
    assert.equal(headers.ratelimit, '"writes";r=30;t=0, "refusals";r=60;t=0');
  }
  assert.equal(answers[2]!.json<{ request_id: string }>().request_id, ids[2]);
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  for (const bytes of ['nonsense\r\n\r\n', 'BREW /here HTTP/1.1\r\nHost: x\r\n\r\n']) {
    const { text } = await rawExchange(port, bytes);
    assert.match(text, /\r\nx-request-id: [0-9a-f]{8}-/);
    assert.match(text, /\r\noffhook-version: 0\.0\.0-test\r\n/);
    assert.match(text, /\r\nratelimit: "writes";r=30;t=0, "refusals";r=60;t=0\r\n/);
  }
});
test('edge headers - a sane id of the client is kept, any other is not', async (t) => {
  const { app } = await rig(t);
  const idFor = async (id: string) =>
    (await app.inject({ url: '/nowhere', headers: { 'x-request-id': id } })).headers['x-request-id'];
  assert.equal(await idFor('crm-7f3a90.A_1'), 'crm-7f3a90.A_1');
  for (const id of ['', 'a b', 'x'.repeat(65), 'é', '<script>'])
    assert.match(String(await idFor(id)), /^[0-9a-f]{8}-/, id);
});
test('edge headers - the remaining rate falls with each write and is given at zero', async (t) => {
  const { app } = await rig(t);
  const left: unknown[] = [];
  for (let i = 0; i < 31; i += 1) {
    const { headers, statusCode } = await app.inject({
      method: 'POST',
      url: '/api/v1/write',
      headers: bearer,
      payload: {},
    });
    left.push([statusCode, headers.ratelimit]);
  }
  assert.deepEqual(left[0], [200, '"writes";r=29;t=1, "refusals";r=60;t=0']);
  assert.deepEqual(left[29], [200, '"writes";r=0;t=10, "refusals";r=60;t=0']);
  assert.deepEqual(left[30], [429, '"writes";r=0;t=10, "refusals";r=60;t=0']);
});

test('languages - a refusal is in the language of the app, else of the browser; codes never change', async (t) => {
  const { app } = await rig(t);
  const refused = async (headers: Record<string, string>) => {
    const reply = await app.inject({ method: 'POST', url: '/api/v1/write', headers });
    return [
      reply.headers['content-language'],
      reply.json<{ code: string; title: string; detail: string; error: string }>(),
    ] as const;
  };
  const [language, tr] = await refused({ 'accept-language': 'zxx, tr-TR;q=0.8, de;q=0.4' });
  assert.deepEqual(
    [language, tr.code, tr.title, tr.detail, tr.error],
    ['tr', 'not_authenticated', 'Önce oturum açın', 'önce oturum açın', 'önce oturum açın'],
  );
  const [app_, de] = await refused({ 'accept-language': 'tr', 'x-app-language': 'de_DE' });
  assert.deepEqual(
    [app_, de.title, de.detail],
    ['de', 'Melden Sie sich zuerst an', 'melden Sie sich zuerst an'],
  );
  const [plain, en] = await refused({});
  assert.deepEqual([plain, en.title, en.detail], ['en', 'Sign in first', 'sign in first']);
  const wrong = await app.inject({
    method: 'POST',
    url: '/api/v1/write',
    headers: { ...bearer, 'x-app-language': 'tr' },
    payload: { a: 1 },
  });
  assert.equal(wrong.json<{ detail: string }>().detail, 'a: bilinmeyen alan');
});
test('languages - every title exists in each language, with English for missing texts', () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[])
    for (const language of LANGUAGES.filter((one) => one !== 'en'))
      assert.notEqual(
        errorTexts(code, 'x', language).title,
        ERRORS[code].title,
        `the title of ${code} in ${language} is the English one`,
      );
  assert.deepEqual(errorTexts('forbidden', 'only on Sundays', 'de'), {
    title: 'Ihre Stufe erlaubt das nicht',
    detail: 'Ihre Stufe erlaubt das nicht (only on Sundays)',
  });
  assert.equal(
    errorTexts('forbidden', say`this needs the level ${'admin'}; yours is ${'user'}`, 'tr').detail,
    'bunun için admin düzeyi gerekir; sizinki user',
  );
});
test('languages - strange headers ask for English', () => {
  for (const header of ['', '*', ';;;', 'en;q=abc', 'xx-'.repeat(1_000), 'tr;q=0', ','.repeat(5_000)])
    assert.equal(languageOf({ 'accept-language': header }), 'en', header.slice(0, 20));
  assert.equal(languageOf({ 'accept-language': 'de;q=0.5, tr' }), 'tr');
});
