import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import { Done, NoFields } from '@offhook/contract/session.ts';
import { authenticatorWithKeys, fixtureAuthenticator, hostFixture } from '../../test/support/host-fixture.ts';
import { ServiceError } from '../core/errors.ts';
import { addOperations, operation } from './operations.ts';

async function rig(t: TestContext) {
  let now = 0;
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({ crm: { scopes: ['history:write'] } }),
    clock: { now: () => now },
  });
  t.after(() => host.close());
  let heard = 0;
  const write = (action: string, paced: 'own' | 'any') =>
    operation({
      action,
      method: 'PUT',
      path: `/api/v1/${action}`,
      level: 'user',
      scope: 'history:write',
      paced,
      errors: [],
      summary: action,
      tag: 'test',
      params: z.strictObject({}),
      body: NoFields,
      reply: Done,
      run: async () => {
        heard += 1;
        return { success: true };
      },
    });
  const commands = addOperations(host.app, [write('own', 'own'), write('any', 'any')]);
  await host.app.ready();
  const put = (action: string, token: string) =>
    host.app.inject({
      method: 'PUT',
      url: `/api/v1/${action}`,
      headers: { authorization: `Bearer ${token}` },
      payload: {},
    });
  const command = async (action: string, token: string): Promise<string> => {
    const caller = (await fixtureAuthenticator.authenticate(token))!;
    return commands.run({ caller, ip: null }, action, {}).then(
      () => 'ok',
      (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
    );
  };
  return { put, command, heard: () => heard, pass: (ms: number) => void (now += ms) };
}

test('pace - 50 writes at once of one person are 30 that others hear of, by both doors together, and 3 more a second', async (t) => {
  const { put, command, heard, pass } = await rig(t);
  const fifty = async (): Promise<unknown[]> => {
    const replies = await Promise.all(Array.from({ length: 25 }, () => put('own', 'token-user')));
    const codes = replies.map((reply) =>
      reply.statusCode === 200 ? 'ok' : reply.json<{ code: string }>().code,
    );
    for (let i = 0; i < 25; i += 1) codes.push(await command('any', 'token-user'));
    return codes.filter((code) => code !== 'ok');
  };
  assert.deepEqual(
    await fifty(),
    Array.from({ length: 20 }, () => 'too_many_requests'),
  );
  assert.equal(heard(), 30);
  const late = await put('own', 'token-user');
  assert.deepEqual([late.statusCode, late.headers['retry-after']], [429, '1']);
  assert.equal((await put('own', 'token-agent')).statusCode, 200, 'somebody else is not held up');
  pass(1_000);
  assert.equal((await fifty()).length, 47);
  pass(10_000);
  assert.equal((await fifty()).length, 20);
});

test('pace - supervisors are bounded in what they say of themselves, and neither they nor keys in bulk work', async (t) => {
  const { put } = await rig(t);
  const statuses = async (action: string, token: string) =>
    new Set(
      (await Promise.all(Array.from({ length: 50 }, () => put(action, token)))).map((r) => r.statusCode),
    );
  assert.deepEqual(await statuses('any', 'token-supervisor'), new Set([200]));
  assert.deepEqual(await statuses('own', 'token-supervisor'), new Set([200, 429]));
  assert.deepEqual(await statuses('own', 'key-crm'), new Set([200]));
});
