import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { fromBase32 } from '../../../test/support/base32.ts';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import { totp } from './totp.ts';

let site: Site;
let network = 0;
before(async () => {
  site = await siteFixture();
});
after(() => site.close());
beforeEach(() => {
  network += 1;
});
const password = passwordOf('1002');
const confirm = async (token: string | null, payload: unknown) => {
  const reply = await site.host.app.inject({
    method: 'POST',
    url: '/api/v1/session/confirm',
    remoteAddress: `10.6.${network}.1`,
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    payload: JSON.stringify(payload),
  });
  return { status: reply.statusCode, ...reply.json<{ code?: string; confirmed_until?: string }>() };
};
const idOf = async (token: string): Promise<number> => (await site.sessions.authenticate(token))!.session_id;

test('confirmation - by the password, for this session and five minutes only', async () => {
  const [here, there] = [await site.signIn('1002'), await site.signIn('1002')];
  const [mine, other] = [await idOf(here), await idOf(there)];
  assert.equal(site.sessions.confirmation.holds(mine), false);
  const reply = await confirm(here, { password });
  assert.equal(reply.status, 200);
  assert.equal(Date.parse(reply.confirmed_until!), site.clock.now() + 300_000);
  assert.equal(site.sessions.confirmation.holds(mine), true);
  assert.equal(site.sessions.confirmation.holds(other), false);
  assert.equal(site.sessions.confirmation.holds(0), false);
  site.clock.advance(299_999);
  assert.equal(site.sessions.confirmation.holds(mine), true);
  site.clock.advance(1);
  assert.equal(site.sessions.confirmation.holds(mine), false);
});
test('confirmation - a repeat is proven anew: no answer kept for one session is given to another, and nothing of a password is kept', async () => {
  const [here, there] = [await site.signIn('1003'), await site.signIn('1003')];
  const send = (token: string, url: string, payload: object) =>
    site.host.app.inject({
      method: 'POST',
      url: `/api/v1/session/${url}`,
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'once' },
      payload,
    });
  assert.equal((await send(here, 'confirm', { password: passwordOf('1003') })).statusCode, 200);
  assert.equal(
    (await send(there, 'confirm', { password: passwordOf('1003') })).headers['idempotency-replayed'],
    undefined,
  );
  assert.equal(site.sessions.confirmation.holds(await idOf(there)), true);
  for (const url of ['password', 'otp', 'otp/disable']) {
    const body = {
      current_password: 'wrong',
      ...(url === 'password' ? { new_password: 'a long new one' } : {}),
    };
    await send(here, url, url === 'otp/disable' ? { ...body, otp: '123456' } : body);
  }
  const kept = await site.store
    .db<Record<string, object>>()
    .selectFrom('http_idempotency')
    .selectAll()
    .execute();
  assert.deepEqual(kept, []);
});
test('confirmation - a malformed or anonymous request gets nothing and does not count', async () => {
  const token = await site.signIn('1002');
  for (const body of [{}, { password: '' }, { password, more: 1 }, { password, otp: 7 }, [], null, 'x']) {
    assert.equal((await confirm(token, body)).status, 400, JSON.stringify(body));
  }
  assert.equal((await confirm(null, { password })).status, 401);
  assert.equal((await confirm('x'.repeat(43), { password })).status, 401);
  assert.equal(site.sessions.confirmation.holds(await idOf(token)), false);
});
test('confirmation - wrong passwords are in the trail, and count for sign-ins from there too', async () => {
  const token = await site.signIn('1002');
  for (let i = 0; i < 5; i += 1) {
    assert.equal((await confirm(token, { password: `wrong ${i}` })).code, 'invalid_credentials');
  }
  const { entries } = await site.audit.page({ limit: 4 });
  for (const { action, actor, object, outcome, detail } of entries) {
    assert.deepEqual(
      [action, actor, object, outcome, detail],
      ['session.confirm_failed', '1002', '1002', 'refused', { reason: 'password' }],
    );
  }
  await assert.rejects(
    site.sessions.login({ name: '1002', password, ip: `10.6.${network}.9` }),
    /too many failed attempts/,
  );
  assert.deepEqual(
    [(await confirm(token, { password })).code, site.sessions.confirmation.holds(await idOf(token))],
    ['too_many_attempts', false],
  );
});
test('confirmation - with the second factor on it is required, wrong digits count, and digits work once', async () => {
  const token = await site.signIn('1002');
  const me = (await site.sessions.authenticate(token))!;
  const { uri } = await site.sessions.otp.enrol(me, password, 'Test', `10.6.${network}.1`);
  const row = await site.store
    .db<{ otp: { person_id: number; secret: string } }>()
    .selectFrom('otp')
    .select('secret')
    .where('person_id', '=', me.person_id)
    .executeTakeFirstOrThrow();
  assert.match(uri, /^otpauth:/);
  const digits = (): string => {
    site.clock.advance(30_000);
    return totp(Buffer.from(row.secret, 'hex'), Math.floor(site.clock.now() / 30_000));
  };
  await site.sessions.otp.confirm(me, digits(), `10.6.${network}.1`);
  const id = await idOf(token);
  assert.deepEqual([(await confirm(token, { password })).code], ['otp_required']);
  assert.equal((await confirm(token, { password, otp: '000000' })).code, 'otp_required');
  assert.equal((await site.audit.page({ limit: 1 })).entries[0]?.detail['reason'], 'otp');
  assert.equal(site.sessions.confirmation.holds(id), false);
  const good = digits();
  assert.equal((await confirm(token, { password, otp: good })).status, 200);
  assert.equal(site.sessions.confirmation.holds(id), true);
  assert.equal((await confirm(token, { password, otp: good })).code, 'otp_required');
});
test('confirmation - a change of the password allows no more guesses of the digits', async () => {
  const current = passwordOf('1004');
  let me = (await site.sessions.authenticate(await site.signIn('1004')))!;
  const ip = `10.6.${network}.1`;
  const { secret } = await site.sessions.otp.enrol(me, current, 'Test', ip);
  await site.sessions.otp.confirm(me, totp(fromBase32(secret), Math.floor(site.clock.now() / 30_000)), ip);
  const guess = () => site.sessions.confirmation.confirm(me, { password: current, otp: '000000' }, ip);
  const changed = async () => {
    const { token } = await site.sessions.changePassword(me, current, current, ip);
    me = (await site.sessions.authenticate(token))!;
  };
  for (const guesses of [2, 2, 1]) {
    await changed();
    for (let n = 0; n < guesses; n += 1) await assert.rejects(guess(), { code: 'otp_required' });
  }
  await assert.rejects(guess(), { code: 'too_many_attempts' });
  await assert.rejects(changed(), { code: 'too_many_attempts' });
});
