import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { fromBase32 } from '../../../test/support/base32.ts';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import { totp } from './totp.ts';
import { LIFE_MS, MAX_OF_PERSON, MAX_OPEN, SignInCodes } from './sign-in-codes.ts';

let site: Site;
let network = 0;
before(async () => {
  site = await siteFixture({ confirmed: (caller) => site.sessions.confirmation.proven(caller.session_id) });
});
after(() => site.close());
beforeEach(() => {
  network += 1;
});
interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly token?: string;
  readonly uri?: string;
  readonly expires_at?: string;
}
async function post(path: string, token: string | null, body: object = {}): Promise<Answer> {
  const reply = await site.host.app.inject({
    method: 'POST',
    url: path,
    remoteAddress: `10.7.${network}.1`,
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    payload: body,
  });
  assert.equal(reply.headers['set-cookie'], undefined, 'an app gets no cookie');
  return { status: reply.statusCode, ...reply.json<Omit<Answer, 'status'>>() };
}
const make = (token: string) => post('/api/v1/session/sign-in-code', token);
const exchange = (code: string | undefined) =>
  post('/api/auth/code', null, { code, device_name: 'Phone of Dan', platform: 'android' });
const refused = async (code: string | undefined) => {
  const { status, code: error } = await exchange(code);
  assert.deepEqual([status, error], [401, 'sign_in_code_invalid']);
};
const trail = (action: string) =>
  site.store
    .db<Record<string, { action: string; id: number; actor: string; object: string; detail: string }>>()
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', action)
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow();

test('sign-in codes - a code opens one session of the person, which the trail names and which counts as not confirmed', async () => {
  const made = await make(await site.signIn('1005'));
  assert.equal(made.status, 200);
  assert.equal(Date.parse(made.expires_at!), site.clock.now() + LIFE_MS);
  const uri = new URL(made.uri!);
  assert.deepEqual(
    [uri.protocol, uri.host, uri.searchParams.get('code')],
    ['offhook:', 'sign-in', made.code],
  );
  assert.match(uri.searchParams.get('site')!, /^http:\/\//);
  const { actor, object, detail } = await trail('session.code_created');
  assert.deepEqual([actor, object], ['1005', '1005']);
  assert.ok(!detail.includes(made.code!));
  const issued = await exchange(made.code);
  assert.equal(issued.status, 200);
  const caller = await site.sessions.authenticate(issued.token!);
  assert.equal(caller?.extension, '1005');
  const [device] = (await site.sessions.devices(caller!.person_id)).filter(
    ({ id }) => id === caller!.session_id,
  );
  assert.deepEqual([device?.device_name, device?.platform], ['Phone of Dan', 'android']);
  const login = await trail('session.login');
  assert.equal((JSON.parse(login.detail) as { code_of?: string }).code_of, '1005');
  // Otherwise each code could make the next one, without a password.
  assert.deepEqual(
    [(await make(issued.token!)).status, (await make(issued.token!)).code],
    [403, 'confirmation_required'],
  );
  await refused(made.code);
  assert.equal((await trail('session.login_failed')).detail, '{"reason":"code"}');
});

test('sign-in codes - a code ends after two minutes, with its session, and with a change of the password', async () => {
  const token = await site.signIn('1005');
  const late = await make(token);
  site.clock.advance(LIFE_MS);
  await refused(late.code);
  const closed = await make(token);
  await site.sessions.logout((await site.sessions.authenticate(token))!, '10.7.0.1');
  await refused(closed.code);
  const admin = await site.signIn('1001');
  const given = await post('/api/v1/people/1005/sign-in-code', admin);
  assert.equal(given.status, 200);
  await site.sessions.setPassword(site.directory.byExtension('1005')!.id, 'another password');
  const { status, code } = await exchange(given.code);
  assert.deepEqual([status, code], [401, 'invalid_credentials']);
  await site.sessions.setPassword(site.directory.byExtension('1005')!.id, passwordOf('1005'));
});

test('sign-in codes - a code that is created while its session ends opens none', async (t) => {
  const token = await site.signIn('1005');
  const caller = (await site.sessions.authenticate(token))!;
  const { record } = site.audit;
  const recording = t.mock.method(site.audit, 'record', async (entry: AuditEntry) => {
    recording.mock.restore();
    await record.call(site.audit, entry);
    await site.sessions.logout(caller, '10.7.0.1');
  });
  const late = await make(token);
  assert.equal(late.status, 200);
  await refused(late.code);
});

test('sign-in codes - an administrator makes one for a person; others do not', async () => {
  const [admin, user] = [await site.signIn('1001'), await site.signIn('1005')];
  assert.equal((await post('/api/v1/people/1001/sign-in-code', user)).code, 'forbidden');
  assert.equal((await post('/api/v1/people/9999/sign-in-code', admin)).code, 'not_found');
  const { token } = await exchange((await post('/api/v1/people/1005/sign-in-code', admin)).code);
  assert.equal((await site.sessions.authenticate(token!))?.extension, '1005');
  const { actor, object } = await trail('session.code_created');
  assert.deepEqual([actor, object], ['1001', '1005']);
});

test('sign-in codes - a person with a second factor creates the code alone, and an administrator gets none', async () => {
  const [admin, user] = [await site.signIn('1001'), await site.signIn('1004')];
  const current_password = passwordOf('1004');
  const { secret } = (await post('/api/v1/session/otp', user, { current_password })) as { secret?: string };
  const otp = totp(fromBase32(secret!), Math.floor(site.clock.now() / 30_000));
  assert.equal((await post('/api/v1/session/otp/confirm', user, { otp })).status, 200);
  const { status, code } = await post('/api/v1/people/1004/sign-in-code', admin);
  assert.deepEqual([status, code], [409, 'otp_already_on']);
  assert.equal((await exchange((await make(user)).code)).status, 200);
});

test('sign-in codes - guesses of a network are throttled, and a fourth code of a person replaces the oldest', async () => {
  const token = await site.signIn('1005');
  const codes: string[] = [];
  for (let i = 0; i <= MAX_OF_PERSON; i += 1) codes.push((await make(token)).code!);
  await refused(codes[0]);
  assert.equal((await exchange(codes[1])).status, 200);
  network += 1;
  for (let i = 0; i < 20; i += 1) await refused(String(i).padStart(43, 'A'));
  const { status, code } = await exchange(codes[2]);
  assert.deepEqual([status, code], [429, 'too_many_attempts']);
  network += 1;
  assert.equal((await exchange(codes[2])).status, 200, 'other networks are not held up');
});

test('sign-in codes - all open codes are bounded until they expire', async () => {
  const person = site.directory.byExtension('1005')!;
  const codes = new SignInCodes({
    store: { password: () => Promise.resolve('hash') },
    otp: { isOn: () => Promise.resolve(false) },
    proof: { code: () => Promise.reject(new Error('no code is used here')) },
    directory: { byExtension: (extension) => ({ ...person, id: Number(extension), extension }) },
    person: () => undefined,
    audit: site.audit,
    clock: site.clock,
  });
  const caller = (await site.sessions.authenticate(await site.signIn('1001')))!;
  const add = (extension: number) => codes.make({ caller, ip: '10.7.0.1' }, String(extension));
  for (let i = 1; i <= MAX_OPEN; i += 1) await add(i);
  await assert.rejects(add(MAX_OPEN + 1), { code: 'limit_reached' });
  site.clock.advance(LIFE_MS);
  await add(MAX_OPEN + 1);
});
