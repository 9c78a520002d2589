import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { PeopleReply, PersonReply, PersonSessions, SessionsEnded } from '@offhook/contract/people.ts';
import type { SignInPerson } from '@offhook/contract/people.ts';
import { personFixture } from '../../../test/support/directory-fixture.ts';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import { rfc3339 } from '../../core/clock.ts';
import { totp } from './totp.ts';

let site: Site;
let admin: string;
const ended: (readonly [number, string])[] = [];
before(async () => {
  site = await siteFixture();
  site.sessions.onSessionEnded((id, why) => void ended.push([id, why]));
  admin = await site.signIn('1001');
});
after(() => site.close());

const ask = async (method: 'GET' | 'POST' | 'DELETE', url: string, token = admin) => {
  const options: InjectOptions = { method, url: `/api/v1/people${url}` };
  const reply = await site.host.app.inject({ ...options, headers: { authorization: `Bearer ${token}` } });
  return { status: reply.statusCode, body: reply.json<{ code?: string; detail?: string }>() };
};
const list = async (query = '') => PeopleReply.parse((await ask('GET', query)).body);
const one = async (extension: string): Promise<SignInPerson> =>
  (await list(`?q=${extension}`)).people.find((p) => p.extension === extension)!;
const works = async (token: string): Promise<boolean> => (await site.sessions.authenticate(token)) !== null;
const idOf = async (token: string): Promise<number> => (await site.sessions.authenticate(token))!.session_id;
const trail = async (n: number) =>
  (await site.audit.page({ limit: n })).entries.map((e) => [
    e.action,
    e.actor,
    e.object,
    e.outcome,
    e.detail['session'] ?? null,
  ]);

test('people - for administrators only, by every door', async () => {
  for (const extension of ['1002', '1003', '1005']) {
    const token = await site.signIn(extension);
    for (const [method, url] of [
      ['GET', ''],
      ['GET', '/1005'],
      ['GET', '/1005/sessions'],
      ['DELETE', '/1005/sessions'],
      ['DELETE', '/1005/sessions/1'],
      ['POST', '/1005/otp/disable'],
    ] as const) {
      assert.equal((await ask(method, url, token)).status, 403, `${extension} ${method} ${url}`);
    }
    assert.equal(await works(token), true);
  }
});
test('people - each with level, sessions and the last sign-in, in order, in pages, found by words', async () => {
  const never = await one('1006');
  assert.deepEqual(never, {
    extension: '1006',
    username: 'eve',
    name: 'Eve',
    level: 'user',
    active: true,
    second_factor: false,
    sessions: 0,
    last_sign_in: null,
  });
  await site.signIn('1006');
  site.clock.advance(60_000);
  const at = rfc3339(site.clock.now());
  const token = await site.signIn('1006');
  site.clock.advance(60_000);
  assert.deepEqual(await one('1006'), { ...never, sessions: 2, last_sign_in: at });
  await site.sessions.logout((await site.sessions.authenticate(token))!, '192.0.2.1');
  assert.deepEqual(await one('1006'), { ...never, sessions: 1, last_sign_in: at });
  assert.equal((await one('1007')).active, false);
  const alone = PersonReply.parse((await ask('GET', '/1006')).body);
  assert.deepEqual(alone.person, await one('1006'));
  assert.equal((await ask('GET', '/9999')).status, 404);

  const all = await list();
  const extensions = ['1001', '1002', '1003', '1004', '1005', '1006', '1007'];
  assert.deepEqual([all.people.map((p) => p.extension), all.total, all.next_cursor], [extensions, 7, null]);
  const pages: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: PeopleReply = await list(`?limit=3${cursor && `&cursor=${cursor}`}`);
    assert.ok(page.people.length <= 3);
    assert.equal(page.total, 7);
    pages.push(...page.people.map((p) => p.extension));
    cursor = page.next_cursor;
  }
  assert.deepEqual(pages, extensions);
  site.directory.put(personFixture(8, '90', 'şule', 'user', { name: 'Şule <b>Öz</b>' }));
  const find = async (q: string) =>
    (await list(`?q=${encodeURIComponent(q)}`)).people.map((p) => p.extension);
  assert.deepEqual(await find('oz sule'), ['90']);
  assert.deepEqual(await find('100 A'), ['1001', '1002', '1003', '1005']);
  assert.deepEqual(await find('nobody'), []);
  assert.equal((await list()).people[0]?.extension, '90', 'shorter extensions come first');
  site.directory.remove('90');
  for (const bad of ['?limit=0', '?limit=201', '?cursor=x', '?q=a&q=b', '?more=1', `?q=${'x'.repeat(129)}`]) {
    assert.equal((await ask('GET', bad)).status, 400, bad);
  }
});
test('people - their devices are seen, and ended one or all, at once and with a line each', async () => {
  const [first, second, third] = [
    await site.signIn('1005'),
    await site.signIn('1005'),
    await site.signIn('1005'),
  ];
  const ids = [await idOf(first), await idOf(second), await idOf(third)];
  const stranger = await idOf(await site.signIn('1004'));
  const { sessions } = PersonSessions.parse((await ask('GET', '/1005/sessions')).body);
  const live = sessions.map((s) => s.id);
  for (const id of ids) assert.ok(live.includes(id));
  ended.length = 0;
  const reply = await ask('DELETE', `/1005/sessions/${ids[0]}`);
  assert.deepEqual([reply.status, SessionsEnded.parse(reply.body).ended], [200, 1]);
  assert.deepEqual(ended, [[ids[0], 'ended']]);
  assert.deepEqual([await works(first), await works(second)], [false, true]);
  assert.deepEqual(await trail(1), [['session.ended', '1001', '1005', 'ok', ids[0]]]);
  for (const [url, code] of [
    [`/1005/sessions/${ids[0]}`, 404],
    [`/1005/sessions/${stranger}`, 404],
    ['/1005/sessions/0', 400],
    ['/1005/sessions/x', 400],
    ['/9999/sessions/1', 404],
    ['/9999/sessions', 404],
    ['/x/sessions', 400],
  ] as const) {
    assert.equal((await ask('DELETE', url)).status, code, url);
  }
  assert.equal((await ask('GET', '/9999/sessions')).status, 404);
  const all = SessionsEnded.parse((await ask('DELETE', '/1005/sessions')).body);
  assert.equal(all.ended, live.length - 1);
  assert.deepEqual([await works(second), await works(third)], [false, false]);
  assert.equal(ended.length, live.length);
  assert.deepEqual(
    (await trail(all.ended)).map((l) => l.slice(0, 4)),
    Array.from({ length: all.ended }, () => ['session.ended', '1001', '1005', 'ok']),
  );
  assert.equal(SessionsEnded.parse((await ask('DELETE', '/1005/sessions')).body).ended, 0);
  assert.equal(await works(await site.signIn('1005')), true);
});
test('people - a second factor that was lost is switched off by an administrator, never the own one', async () => {
  const token = await site.signIn('1004');
  const me = (await site.sessions.authenticate(token))!;
  await site.sessions.otp.enrol(me, passwordOf('1004'), 'Test', '192.0.2.2');
  assert.equal((await one('1004')).second_factor, false, 'not on before it is confirmed');
  const { secret } = await site.store
    .db<{ otp: { person_id: number; secret: string } }>()
    .selectFrom('otp')
    .select('secret')
    .where('person_id', '=', 4)
    .executeTakeFirstOrThrow();
  await site.sessions.otp.confirm(
    me,
    totp(Buffer.from(secret, 'hex'), Math.floor(site.clock.now() / 30_000)),
    '192.0.2.2',
  );
  assert.equal((await one('1004')).second_factor, true);
  await assert.rejects(site.signIn('1004'), { code: 'otp_required' });
  assert.equal((await ask('POST', '/1004/otp/disable')).status, 200);
  assert.deepEqual(await trail(1), [['session.otp_off', '1001', '1004', 'ok', null]]);
  assert.equal((await one('1004')).second_factor, false);
  assert.equal(await works(await site.signIn('1004')), true);
  const own = await ask('POST', '/1001/otp/disable');
  assert.deepEqual([own.status, own.body.code], [403, 'forbidden']);
  assert.equal((await ask('POST', '/9999/otp/disable')).status, 404);
});
