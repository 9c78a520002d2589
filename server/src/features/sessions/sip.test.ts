import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';

let site: Site;
let network = 0;
before(async () => {
  site = await siteFixture();
});
after(() => site.close());

const login = (extension: string) =>
  site.sessions.login({ name: extension, password: passwordOf(extension), ip: `10.3.${(network += 1)}.1` });
const prove = async (device: string, password: string) =>
  site.sessions.sip.prove(device, (candidate) => candidate === password);
const hours = (n: number): number => n * 3_600_000;

test('session sip - the password of a session proves its own devices and no others', async () => {
  const [one, two] = [await login('1005'), await login('1005')];
  assert.notEqual(one.sip_password, two.sip_password);
  assert.deepEqual(await prove('1005', one.sip_password), {
    session_id: one.session_id,
    secret: site.directory.sipPassword('1005'),
  });
  assert.equal((await prove('1005', two.sip_password))?.session_id, two.session_id);
  assert.equal(await prove('1004', one.sip_password), null, 'another person');
  assert.equal(await prove('nobody', one.sip_password), null);
  assert.equal(await prove('1005', site.directory.sipPassword('1005')), null, 'what desk phones have');
  assert.equal(await site.sessions.sipPassword(one.session_id), one.sip_password);
});
test('session sip - refresh keeps it; it holds over a restart', async () => {
  const issued = await login('1005');
  const refreshed = await site.sessions.refresh(issued.token, '10.9.0.9');
  assert.equal(refreshed.sip_password, issued.sip_password);
  site = await site.reopen();
  assert.equal((await prove('1005', issued.sip_password))?.session_id, issued.session_id);
});
test('session sip - with the session it ends: log-out, ended elsewhere, a new password, a disabled person', async () => {
  const [out, ended, changed] = [await login('1005'), await login('1005'), await login('1005')];
  const caller = async (token: string) => {
    const found = await site.sessions.authenticate(token);
    assert.ok(found);
    return found;
  };
  for (const { sip_password } of [out, ended, changed]) assert.ok(await prove('1005', sip_password));
  await site.sessions.logout(await caller(out.token), '10.3.0.1');
  assert.equal(await prove('1005', out.sip_password), null);
  assert.equal(site.sessions.sip.endsAt(out.session_id), null);
  await site.sessions.end(await caller(changed.token), ended.session_id, '10.3.0.1');
  assert.equal(await prove('1005', ended.sip_password), null);
  assert.ok(await prove('1005', changed.sip_password));
  await site.sessions.setPassword(5, passwordOf('1005'));
  assert.equal(await prove('1005', changed.sip_password), null);
  await assert.rejects(site.sessions.sipPassword(changed.session_id), { code: 'not_authenticated' });
});
test('session sip - it keeps the session alive, and ends with its idle and its absolute life', async () => {
  const issued = await login('1005');
  for (let i = 0; i < 3; i += 1) {
    site.clock.advance(hours(11));
    assert.ok(await prove('1005', issued.sip_password), `after ${(i + 1) * 11} hours`);
  }
  assert.ok(await site.sessions.authenticate(issued.token), 'a phone that registers is a session in use');
  const asked = await login('1005');
  await prove('1005', asked.sip_password);
  site.clock.advance(hours(11));
  assert.ok(await site.sessions.authenticate(asked.token));
  site.clock.advance(hours(11));
  assert.ok(await prove('1005', asked.sip_password), 'its use by other doors counts');
  site.clock.advance(hours(13));
  assert.equal(site.sessions.sip.endsAt(asked.session_id), null);
  assert.equal(await prove('1005', asked.sip_password), null, 'idle');
  const old = await login('1005');
  for (let day = 0; day < 60; day += 1) {
    site.clock.advance(hours(11.9));
    assert.ok(await prove('1005', old.sip_password), `half day ${day}`);
  }
  site.clock.advance(hours(11));
  assert.equal(await prove('1005', old.sip_password), null, 'the absolute life is over');
});
test('session sip - sessions opened and ended while the first proof is read count as they are', async () => {
  const first = await login('1004');
  site = await site.reopen();
  const proving = prove('1004', first.sip_password);
  await site.sessions.setPassword(4, passwordOf('1004'));
  const found = await proving;
  assert.equal(found === null || site.sessions.sip.endsAt(found.session_id) === null, true);
  assert.equal(await prove('1004', first.sip_password), null);
});
