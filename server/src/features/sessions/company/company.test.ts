import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLOW, ORIGIN, rig } from '../../../../test/support/company-rig.ts';
import { personFixture } from '../../../../test/support/directory-fixture.ts';

test('company sign-in - a person is found by the e-mail address and gets a session; the page is shown that was wanted', async (t) => {
  const { provider, site, jars, signIn, whoIs } = await rig(t);
  provider.accounts.set('anna', { email: 'BEA@example.test', email_verified: true });
  assert.equal(
    await signIn('anna', '/sign-in/company?to=/desk&device_name=Console%2C%20Firefox&platform=Linux'),
    '/desk',
  );
  const [device] = await site.sessions.devices(3);
  assert.deepEqual([device?.device_name, device?.platform], ['Console, Firefox', 'Linux']);
  assert.equal(await whoIs(), '1003');
  assert.ok(jars.site.has('__Host-offhook_session') && jars.site.has('__Host-offhook_device'));
  assert.equal(jars.site.has(FLOW), false);
  const [entry] = (await site.audit.page({ limit: 1 })).entries;
  assert.deepEqual(
    [entry?.action, entry?.actor, entry?.detail?.['by']],
    ['session.login', '1003', 'company'],
  );
  for (const to of [
    '//evil.example.com',
    'https://evil.example.com',
    '/\\evil.example.com',
    `/${'x'.repeat(300)}`,
  ])
    assert.equal(await signIn('anna', `/sign-in/company?to=${encodeURIComponent(to)}`), '/', to);
});

test('company sign-in - a page of another site begins none: its visitor sees the sign-in page', async (t) => {
  const { site, visit } = await rig(t);
  for (const [from, begins] of [
    ['cross-site', false],
    ['same-site', false],
    ['same-origin', true],
    ['none', true],
  ] as const) {
    const { headers } = await site.host.app.inject({
      url: '/sign-in/company',
      headers: { host: 'pbx.example.com', 'sec-fetch-site': from },
    });
    assert.equal(headers.location !== '/', begins, from);
    assert.equal(headers['set-cookie'] !== undefined, begins, from);
  }
  assert.notEqual(await visit('/sign-in/company'), '/', 'a browser that does not say');
});

test('company sign-in - a person can be found by the user name', async (t) => {
  const { provider, signIn, whoIs } = await rig(t, 'preferred_username');
  provider.accounts.set('anna', { preferred_username: 'Sam', email: 'ada@example.test' });
  assert.equal(await signIn('anna'), '/');
  assert.equal(await whoIs(), '1002');
});

test('company sign-in - an account of nobody, an unverified address, an inactive person and two persons are refused and audited', async (t) => {
  const { provider, site, signIn, whoIs, refusals } = await rig(t);
  site.directory.put(personFixture(20, '1020', 'bea2', 'user', { email: 'bea@example.test' }));
  for (const [login, claims, code] of [
    ['nobody', { email: 'nobody@example.test' }, 'company_account_unknown'],
    ['none', {}, 'company_account_unknown'],
    ['claimed', { email: 'ada@example.test', email_verified: false }, 'company_account_unknown'],
    ['said', { email: 'ada@example.test', email_verified: 'false' }, 'company_account_unknown'],
    ['off', { email: 'off@example.test' }, 'account_disabled'],
    ['two', { email: 'bea@example.test' }, 'company_account_unknown'],
  ] as const) {
    provider.accounts.set(login, claims);
    assert.equal(await signIn(login), `/?sign_in_error=${code}`, login);
    assert.equal(await whoIs(), 401, login);
  }
  assert.equal((await refusals()).filter(([action]) => action === 'session.login_failed').length, 6);
});

test('company sign-in - an answer counts once, in the browser that began it, for ten minutes', async (t) => {
  const { provider, jars, visit, signInAt, whoIs, wait, problems } = await rig(t);
  provider.accounts.set('anna', { email: 'bea@example.test' });
  const failed = '/?sign_in_error=company_sign_in_failed';
  const flowOf = (): string => jars.site.get(FLOW) ?? '';

  const stolen = await signInAt(await visit('/sign-in/company'), 'anna');
  const flow = flowOf();
  jars.site.clear();
  assert.equal(await visit(stolen), failed, 'another browser');
  await visit('/sign-in/company');
  assert.equal(await visit(stolen), failed, 'another sign-in of this browser');
  jars.site.set(FLOW, `${flow.slice(0, -2)}${flow.endsWith('AA') ? 'BB' : 'AA'}`);
  assert.equal(await visit(stolen), failed, 'a changed cookie');
  assert.equal(await whoIs(), 401);

  const answer = await signInAt(await visit('/sign-in/company'), 'anna');
  const again = flowOf();
  assert.equal(await visit(answer), '/');
  jars.site.clear();
  jars.site.set(FLOW, again);
  assert.equal(await visit(answer), failed, 'the same answer once more');
  assert.equal(await whoIs(), 401);

  jars.provider.clear();
  const refused = await signInAt(await visit('/sign-in/company'), 'anna', false);
  assert.match(refused, /error=access_denied/);
  assert.equal(await visit(refused), failed);

  const late = await signInAt(await visit('/sign-in/company'), 'anna');
  wait(601_000);
  assert.equal(await visit(late), failed, 'after ten minutes');
  assert.equal(problems.length, 3, 'a stranger’s visits are not logged');
});

test('company sign-in - a provider that is down is a failure, and no longer one once it is up again', async (t) => {
  const { provider, visit, signIn, whoIs } = await rig(t);
  provider.accounts.set('anna', { email: 'bea@example.test' });
  provider.up = false;
  assert.equal(await visit('/sign-in/company'), '/?sign_in_error=company_sign_in_failed');
  provider.up = true;
  assert.equal(await signIn('anna'), '/');
  assert.equal(await whoIs(), '1003');
});

test('company sign-in - a new sign-in at the provider confirms the session of the same person alone, and keeps it', async (t) => {
  const { provider, site, signIn, visit, signInAt, whoIs, refusals } = await rig(t);
  provider.accounts.set('anna', { email: 'bea@example.test' });
  provider.accounts.set('ada', { email: 'ada@example.test' });
  await signIn('anna');
  const [session] = await site.sessions.devices(3);
  const isProven = (): boolean => site.sessions.confirmation.proven(session!.id);
  assert.equal(isProven(), false, 'the provider may know the person from a sign-in of last week');
  assert.equal(
    await signIn('ada', '/sign-in/company?window=1&again=1'),
    '/?sign_in_error=company_sign_in_failed&window',
  );
  assert.deepEqual(await refusals(), [['session.confirm_failed', 'company_sign_in_failed']]);
  assert.equal(isProven(), false);
  assert.equal(await whoIs(), '1003');
  // The provider knows this person already, and asks nevertheless.
  assert.equal(await signIn('anna'), '/');
  const answer = await visit('/sign-in/company?window=1&again=1');
  assert.equal(await visit(await signInAt(answer, 'anna')), '/?signed_in');
  const [now, ...more] = await site.sessions.devices(3);
  assert.equal(more.length, 0, 'a sign-in replaces the session of the browser');
  assert.equal(site.sessions.confirmation.holds(now!.id), true);
});

test('company sign-in - a page whose session ended lets its own person in alone', async (t) => {
  const { provider, signIn, whoIs } = await rig(t);
  provider.accounts.set('anna', { email: 'bea@example.test' });
  provider.accounts.set('ada', { email: 'ada@example.test' });
  const path = '/sign-in/company?window=1&only=bea';
  assert.equal(await signIn('ada', path), '/?sign_in_error=company_sign_in_failed&window');
  assert.equal(await whoIs(), 401);
  assert.equal(await signIn('anna', path), '/?signed_in');
  assert.equal(await whoIs(), '1003');
});

test('company sign-in - the answers of one network are limited, and the log has at most 300 characters of each', async (t) => {
  const { visit, problems } = await rig(t);
  const answers: string[] = [];
  for (let i = 0; i < 32; i += 1) {
    const state = new URL(await visit('/sign-in/company')).searchParams.get('state')!;
    const more = new URLSearchParams({ state, error: 'x', error_description: 'y'.repeat(2_000) });
    answers.push(await visit(`/sign-in/company/callback?${more.toString()}`));
  }
  const failed = '/?sign_in_error=company_sign_in_failed';
  assert.deepEqual(new Set(answers.slice(0, 30)), new Set([failed]));
  assert.equal(answers.at(-1), '/?sign_in_error=too_many_requests');
  assert.ok(problems.length >= 30 && problems.length < 32);
  for (const problem of problems) assert.ok(JSON.stringify(problem).length < 450, JSON.stringify(problem));
});

test('company sign-in - a console under another name than the public one is shown at the public one, with the reason', async (t) => {
  const { site } = await rig(t);
  const begin = async (query: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
    const { headers } = await site.host.app.inject({
      url: `/sign-in/company?${new URLSearchParams(query).toString()}`,
      headers: { host: 'phone.local', 'sec-fetch-site': 'same-origin' },
    });
    return [headers.location, headers['set-cookie']];
  };
  const at = 'https://phone.local';
  const why = '?sign_in_error=company_sign_in_elsewhere';
  assert.deepEqual(await begin({ at, to: '/desk' }), [`${ORIGIN}/desk${why}`, undefined]);
  assert.deepEqual(await begin({ at, to: '//evil.example.com' }), [`${ORIGIN}/${why}`, undefined]);
  assert.deepEqual(await begin({ at, window: '1', again: '1' }), [`${ORIGIN}/${why}&window`, undefined]);
  const [address] = await begin({ at: ORIGIN });
  assert.match(String(address), /^http:\/\/127\.0\.0\.1/, 'a proxy may give the service another name');
});
