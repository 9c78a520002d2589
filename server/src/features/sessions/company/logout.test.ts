import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SignJWT, generateKeyPair } from 'jose';
import { rig } from '../../../../test/support/company-rig.ts';
import { LOGOUT, startProvider } from '../../../../test/support/openid-provider.ts';

/** Sends a logout token as the provider does; status and code of the answer. */
async function send(
  { provider }: Pick<Awaited<ReturnType<typeof rig>>, 'provider'>,
  token: string,
): Promise<readonly [status: number, code: unknown]> {
  const answer = await fetch(provider.logoutAt, {
    method: 'POST',
    body: new URLSearchParams({ logout_token: token, other: 'ignored' }),
  });
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const { code, success } = (await answer.json()) as { code?: string; success: boolean };
  return [answer.status, code ?? success];
}
const OK = [200, true] as const;
const REFUSED = [400, 'invalid_request'] as const;

test('company logout - signing out at the provider ends the session that it opened, and no other', async (t) => {
  const r = await rig(t);
  const { provider, site, jars, signIn, signOutAtProvider, whoIs } = r;
  provider.accounts.set('anna', { email: 'bea@example.test' });
  const ended: unknown[] = [];
  t.after(site.sessions.onSessionEnded((id, reason) => ended.push([id, reason])));
  await signIn('anna');
  const elsewhere = new Map(jars.site);
  jars.site.clear();
  await signIn('anna');
  const byPassword = await site.signIn('1003');
  const [, second] = await site.sessions.devices(3);
  assert.equal(await whoIs(), '1003');

  await signOutAtProvider();
  assert.deepEqual(provider.logouts, ['ok']);
  assert.equal(await whoIs(), 401);
  assert.deepEqual(ended, [[second!.id, 'company_logout']]);
  assert.ok(await site.sessions.authenticate(byPassword), 'a session by password is none of the provider');
  jars.site = elsewhere;
  assert.equal(await whoIs(), '1003', 'another browser has a session of its own at the provider');
  const [entry] = (await site.audit.page({ limit: 1 })).entries;
  assert.deepEqual(
    [entry?.action, entry?.actor, entry?.object, entry?.detail],
    ['session.ended', null, '1003', { session: second!.id, by: 'company' }],
  );
});

test('company logout - a provider that names no session ends all sessions of the account, also those by its codes', async (t) => {
  const r = await rig(t);
  const { provider, site, signIn, jars, signOutAtProvider } = r;
  provider.namesSession = false;
  provider.accounts.set('anna', { email: 'bea@example.test' });
  provider.accounts.set('ada', { email: 'ada@example.test' });
  await signIn('ada');
  jars.site.clear();
  await signIn('anna');
  jars.site.clear();
  await signIn('anna');
  const [, creator] = await site.sessions.devices(3);
  const caller = { session_id: creator!.id, person_id: 3, extension: '1003' } as never;
  const made = await site.sessions.codes.make({ caller, ip: '192.0.2.1' }, '1003');
  const phone = await site.sessions.loginByCode(made.code, { ip: '192.0.2.1' });
  const byPassword = await site.signIn('1003');
  const other = await site.sessions.codes.make(
    { caller: (await site.sessions.authenticate(byPassword))!, ip: '192.0.2.1' },
    '1003',
  );
  const otherPhone = await site.sessions.loginByCode(other.code, { ip: '192.0.2.1' });
  assert.equal((await site.sessions.devices(3)).length, 5);

  await signOutAtProvider();
  assert.deepEqual(provider.logouts, ['ok']);
  assert.equal(await site.sessions.authenticate(phone.token), null);
  assert.ok(await site.sessions.authenticate(byPassword));
  assert.ok(await site.sessions.authenticate(otherPhone.token), 'by a code of the session by password');
  assert.equal((await site.sessions.devices(3)).length, 2);
  assert.equal((await site.sessions.devices(1)).length + (await site.sessions.devices(2)).length, 1);
});

test('company logout - a code keeps its phone signed in when only the browser that showed it signs out', async (t) => {
  const { provider, site, signIn, signOutAtProvider, whoIs } = await rig(t);
  provider.accounts.set('anna', { email: 'bea@example.test' });
  await signIn('anna');
  const [creator] = await site.sessions.devices(3);
  const caller = { session_id: creator!.id, person_id: 3, extension: '1003' } as never;
  const { code } = await site.sessions.codes.make({ caller, ip: '192.0.2.1' }, '1003');
  const phone = await site.sessions.loginByCode(code, { ip: '192.0.2.1' });
  const made = await site.sessions.codes.make({ caller, ip: '192.0.2.1' }, '1006');
  const colleague = await site.sessions.loginByCode(made.code, { ip: '192.0.2.1' });
  await signOutAtProvider();
  assert.equal(await whoIs(), 401);
  assert.ok(await site.sessions.authenticate(phone.token));
  assert.deepEqual(await send({ provider }, await provider.logoutToken({ sub: 'anna' })), OK);
  assert.equal(await site.sessions.authenticate(phone.token), null, 'all sessions of the account');
  assert.ok(await site.sessions.authenticate(colleague.token), 'a code for another person');
});

test('company logout - only a valid logout token of this provider for this site is carried out', async (t) => {
  const r = await rig(t);
  const { provider, signIn, whoIs, problems, wait } = r;
  provider.accounts.set('anna', { email: 'bea@example.test' });
  await signIn('anna');
  const now = Math.floor(Date.now() / 1000);
  const stranger = await startProvider();
  t.after(() => stranger[Symbol.asyncDispose]());
  const { privateKey } = await generateKeyPair('RS256');
  const whole = { iss: provider.issuer, aud: 'offhook', iat: now, exp: now + 60, jti: 'x', events: LOGOUT };
  const forged = (alg: string): SignJWT =>
    new SignJWT({ ...whole, sub: 'anna' }).setProtectedHeader({ alg, kid: 'test' });
  const plain = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const tokens: Readonly<Record<string, string>> = {
    'no token': 'x',
    'without a signature': `${plain({ alg: 'none' })}.${plain({ ...whole, sub: 'anna' })}.`,
    'another key': await forged('RS256').sign(privateKey),
    'the secret as a key': await forged('HS256').sign(Buffer.from('very-secret-of-the-client')),
    'another provider': await stranger.logoutToken({ sub: 'anna' }),
    'the key of this provider in the name of another': await provider.logoutToken({
      sub: 'anna',
      iss: stranger.issuer,
    }),
    'another site': await provider.logoutToken({ sub: 'anna', aud: 'intranet' }),
    'an ID token': await provider.logoutToken({ sub: 'anna', events: undefined, nonce: 'x' }),
    'another event': await provider.logoutToken({ sub: 'anna', events: { other: {} } }),
    'an event without an object': await provider.logoutToken({
      sub: 'anna',
      events: { 'http://schemas.openid.net/event/backchannel-logout': true },
    }),
    'with a nonce': await provider.logoutToken({ sub: 'anna', nonce: 'x' }),
    'of nobody': await provider.logoutToken(),
    'without a number': await provider.logoutToken({ sub: 'anna', jti: undefined }),
    'without a time': await provider.logoutToken({ sub: 'anna', iat: undefined }),
    'from the future': await provider.logoutToken({ sub: 'anna', iat: now + 120 }),
    'over an hour old': await provider.logoutToken({ sub: 'anna', iat: now - 3600, exp: now + 60 }),
    expired: await provider.logoutToken({ sub: 'anna', exp: now - 120 }),
  };
  for (const [what, token] of Object.entries(tokens)) assert.deepEqual(await send(r, token), REFUSED, what);
  assert.equal(problems.length, Object.keys(tokens).length);
  assert.equal(await whoIs(), '1003');

  assert.deepEqual(await send(r, await provider.logoutToken({ sub: 'ada' })), OK, 'nobody here');
  assert.deepEqual(await send(r, await provider.logoutToken({ sub: 'anna', sid: 'elsewhere' })), OK);
  assert.equal(await whoIs(), '1003');
  const token = await provider.logoutToken({ sub: 'anna', exp: undefined });
  assert.deepEqual(await send(r, token), OK, 'the end may be missing');
  assert.equal(await whoIs(), 401);

  await signIn('anna');
  assert.deepEqual(await send(r, token), REFUSED, 'once more');
  assert.equal(await whoIs(), '1003');
  wait(660_000);
  assert.deepEqual(await send(r, token), REFUSED, 'too old by now');
});

test('company logout - the store keeps a token only while it would be accepted', async (t) => {
  const { provider, site } = await rig(t);
  const kept = async (): Promise<number> => {
    const { n } = await site.store
      .db<{ company_logouts: { id: string } }>()
      .selectFrom('company_logouts')
      .select((e) => e.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    return Number(n);
  };
  const r = { provider };
  for (let i = 0; i < 3; i += 1)
    assert.deepEqual(await send(r, await provider.logoutToken({ sub: 'anna' })), OK);
  assert.equal(await kept(), 3);
  site.clock.advance(661_000);
  assert.deepEqual(await send(r, await provider.logoutToken({ sub: 'anna' })), OK);
  assert.equal(await kept(), 1);
});

test('company logout - refused tokens of a network are limited, those of the provider are not; bodies are', async (t) => {
  const r = await rig(t);
  const { provider } = r;
  for (let i = 0; i < 40; i += 1)
    assert.deepEqual(await send(r, await provider.logoutToken({ sub: 'anna' })), OK);
  const refused: unknown[] = [];
  // The limit refills with the time that a slow machine needs for these.
  while (refused.length < 90 && refused.at(-1) !== 429) refused.push((await send(r, 'x'))[0]);
  assert.deepEqual(new Set(refused.slice(0, 30)), new Set([400]));
  assert.equal(refused.at(-1), 429);
  r.wait(60_000);
  const again = await provider.logoutToken({ sub: 'anna' });
  assert.deepEqual(await send(r, again), OK);
  const repeated: unknown[] = [];
  while (repeated.length < 90 && repeated.at(-1) !== 429) repeated.push((await send(r, again))[0]);
  assert.equal(repeated.at(-1), 429, 'a token once more is a refused one');
  r.wait(60_000);
  assert.deepEqual(await send(r, 'x'.repeat(9_000)), REFUSED);
  assert.deepEqual(await send(r, 'x'.repeat(20_000)), [413, 'body_too_large']);
});
