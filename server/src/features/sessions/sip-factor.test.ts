import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromBase32 } from '../../../test/support/base32.ts';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import { totp } from './totp.ts';

test('session sip - no phone registers with a password alone where the person has to set up a second factor', async (t) => {
  let required = false;
  const site = await siteFixture({ requiresFactor: (level) => required && level !== 'user' });
  t.after(() => site.close());
  const { sessions } = site;
  const ip = '192.0.2.1';
  const login = (name: string) => sessions.login({ name, password: passwordOf(name), ip });
  const [admin, user] = [await login('1001'), await login('1005')];
  const prove = async ({ person, sip_password }: typeof admin): Promise<boolean> =>
    (await sessions.sip.prove(person.extension, (one) => one === sip_password)) !== null;
  assert.deepEqual([admin.person.level, user.person.level], ['admin', 'user']);
  assert.deepEqual([await prove(admin), await prove(user)], [true, true]);
  required = true;
  assert.deepEqual([await prove(admin), await prove(user)], [false, true]);
  assert.equal(sessions.sip.endsAt(admin.session_id), null, 'an open connection closes');
  assert.ok(sessions.sip.endsAt(user.session_id) !== null);
  assert.equal(await prove(await login('1001')), false, 'nor does a new session of the password');

  const me = (await sessions.authenticate(admin.token))!;
  const { secret } = await sessions.otp.enrol(me, passwordOf('1001'), 'Test', ip);
  assert.equal(await prove(admin), false, 'not confirmed yet');
  await sessions.otp.confirm(me, totp(fromBase32(secret), Math.floor(site.clock.now() / 30_000)), ip);
  assert.equal(await prove(admin), true);
  assert.ok(sessions.sip.endsAt(admin.session_id) !== null);
});
