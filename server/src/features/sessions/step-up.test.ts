import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Done } from '@offhook/contract/session.ts';
import { z } from 'zod';
import { addOperations } from '../../http/operations.ts';
import type { Person } from '../../ports/directory.ts';
import type { Caller } from '../../ports/http.ts';
import type { Commands } from '../../ports/operations.ts';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import { hostFixture, authenticatorWithKeys } from '../../../test/support/host-fixture.ts';
import { oneOperation } from '../../../test/support/one-operation.ts';
import { fromBase32 } from '../../../test/support/base32.ts';
import { totp } from './totp.ts';

const MINUTE = 60_000;
const shared = { method: 'POST', level: 'admin', tag: 'test', errors: [], reply: Done } as const;
const done = async () => ({ success: true as const });
const operations = () => [
  oneOperation({
    ...shared,
    action: 'test.weighty',
    scope: 'config:write',
    confirm: true,
    path: '/api/v1/test/weighty',
    summary: 'For a test',
    run: done,
  }),
  oneOperation({
    ...shared,
    action: 'test.secret',
    confirm: (body) => typeof body === 'object' && body !== null && 'secret' in body,
    path: '/api/v1/test/secret',
    summary: 'For a test',
    body: z.strictObject({ secret: z.string().optional() }),
    run: done,
  }),
];
async function site(t: TestContext, level: 'off' | 'admin' = 'off') {
  let commands: Commands | undefined;
  const opened: Site = await siteFixture({
    routes: (app) => (commands = addOperations(app, operations())),
    lacksFactor: (caller: Caller) =>
      level === 'admin' && caller.level === 'admin' && !opened.sessions.hasFactor(caller.person_id),
  });
  t.after(() => opened.close());
  const token = await opened.signIn('1001');
  const post = async (url: string, payload: object = {}, as = token) => {
    const answer = await opened.host.app.inject({
      method: 'POST',
      url,
      payload,
      headers: { authorization: `Bearer ${as}` },
    });
    const { code } = answer.json() as { code?: string };
    return code === undefined ? answer.statusCode : `${answer.statusCode} ${code}`;
  };
  return { ...opened, token, post, commands: commands! };
}

test('step-up - a sign-in counts for five minutes, then a confirmation is required and counts as long', async (t) => {
  const { post, clock, token } = await site(t);
  assert.equal(await post('/api/v1/test/weighty'), 200);
  clock.advance(5 * MINUTE);
  assert.equal(await post('/api/v1/test/weighty'), '403 confirmation_required');
  assert.equal(await post('/api/v1/test/secret'), 200, 'nothing secret in it');
  assert.equal(await post('/api/v1/test/secret', { secret: 'x' }), '403 confirmation_required');
  assert.equal(await post('/api/v1/session/confirm', { password: 'wrong' }), '401 invalid_credentials');
  assert.equal(await post('/api/v1/test/weighty'), '403 confirmation_required');
  assert.equal(await post('/api/v1/session/confirm', { password: passwordOf('1001') }), 200);
  assert.equal(await post('/api/v1/test/weighty'), 200);
  assert.equal(await post('/api/v1/test/secret', { secret: 'x' }), 200);
  clock.advance(5 * MINUTE);
  assert.equal(await post('/api/v1/test/weighty'), '403 confirmation_required', token);
});

test('step-up - a renewed session is no new sign-in', async (t) => {
  const { post, clock, sessions, token } = await site(t);
  clock.advance(6 * MINUTE);
  const { token: next } = await sessions.refresh(token, '10.9.0.9');
  assert.equal(await post('/api/v1/test/weighty', {}, next), '403 confirmation_required');
});

test('step-up - a new password confirms a session only of a person without a second factor', async (t) => {
  const { post, clock, sessions, token } = await site(t);
  const ip = '192.0.2.1';
  const callerOf = async (one: string) => (await sessions.authenticate(one))!;
  const first = await sessions.changePassword(await callerOf(token), passwordOf('1001'), 'a new one', ip);
  assert.equal(await post('/api/v1/test/weighty', {}, first.token), 200);
  const me = await callerOf(first.token);
  const { secret } = await sessions.otp.enrol(me, 'a new one', 'Test', ip);
  await sessions.otp.confirm(me, totp(fromBase32(secret), Math.floor(clock.now() / 30_000)), ip);
  const second = await sessions.changePassword(me, 'a new one', passwordOf('1001'), ip);
  assert.equal(await post('/api/v1/test/weighty', {}, second.token), '403 confirmation_required');
});

test('step-up - a command asks as its route does', async (t) => {
  const { commands, clock, sessions, token } = await site(t);
  clock.advance(6 * MINUTE);
  const caller = (await sessions.authenticate(token))!;
  const actor = { caller, ip: null };
  await assert.rejects(commands.run(actor, 'test.weighty', {}), { code: 'confirmation_required' });
  await assert.rejects(commands.run(actor, 'test.secret', { secret: 'x' }), {
    code: 'confirmation_required',
  });
  await commands.run(actor, 'test.secret', {});
  await sessions.confirmation.confirm(caller, { password: passwordOf('1001') }, '192.0.2.1');
  await commands.run(actor, 'test.weighty', {});
  await commands.run(actor, 'test.secret', { secret: 'x' });
});

test('step-up - an API key needs no confirmation', async (t) => {
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({ one: { scopes: ['config:write'] } }),
    confirmed: () => false,
    lacksFactor: () => true,
  });
  t.after(() => host.close());
  addOperations(host.app, operations());
  await host.app.ready();
  const as = async (token: string) =>
    (
      await host.app.inject({
        method: 'POST',
        url: '/api/v1/test/weighty',
        payload: {},
        headers: { authorization: `Bearer ${token}` },
      })
    ).statusCode;
  assert.deepEqual([await as('key-one'), await as('token-admin')], [200, 403]);
});

test('step-up - if a level needs a second factor, a session without one can only set one up', async (t) => {
  const { post, host, token, commands, sessions } = await site(t, 'admin');
  const get = async (url: string, as = token) => {
    const answer = await host.app.inject({ url, headers: { authorization: `Bearer ${as}` } });
    const { code } = answer.json() as { code?: string };
    return code === undefined ? answer.statusCode : `${answer.statusCode} ${code}`;
  };
  assert.equal(await get('/api/v1/people'), '403 second_factor_required');
  assert.equal(await post('/api/v1/test/weighty'), '403 second_factor_required');
  const caller = (await sessions.authenticate(token))!;
  await assert.rejects(commands.run({ caller, ip: null }, 'test.weighty', {}), {
    code: 'second_factor_required',
  });
  assert.deepEqual([await get('/api/v1/session'), await get('/api/v1/session/otp')], [200, 200]);
  assert.equal(await post('/api/v1/session/otp', { current_password: passwordOf('1001') }), 200);
  assert.equal(await post('/api/v1/session/otp/confirm', { otp: '000000' }), '401 otp_required');
});

test('step-up - a second factor is set up with the password, or without it in a confirmed session', async (t) => {
  const { post, clock, sessions, token } = await site(t, 'admin');
  const caller = (await sessions.authenticate(token))!;
  clock.advance(6 * MINUTE);
  assert.equal(await post('/api/v1/session/otp'), '403 confirmation_required');
  assert.equal(
    await post('/api/v1/session/otp', { current_password: 'wrong' }),
    '401 invalid_credentials',
    'the session is not asked for',
  );
  await sessions.confirmByCompany({ id: caller.person_id } as Person, caller.session_id);
  assert.equal(await post('/api/v1/session/otp', { current_password: 'wrong' }), '401 invalid_credentials');
  assert.equal(await post('/api/v1/session/otp'), 200);
});
