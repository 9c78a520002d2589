import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import { Done } from '@offhook/contract/session.ts';
import { authenticatorWithKeys, fixtureAuthenticator, hostFixture } from '../../test/support/host-fixture.ts';
import { oneOperation } from '../../test/support/one-operation.ts';
import { ServiceError } from '../core/errors.ts';
import { addOperations } from './operations.ts';

async function rig(t: TestContext) {
  let now = 0;
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({ crm: { scopes: ['history:write'] } }),
    clock: { now: () => now },
  });
  t.after(() => host.close());
  let heard = 0;
  let asked = 0;
  const write = (action: string, paced: 'own' | 'any') =>
    oneOperation({
      action,
      method: 'PUT',
      path: `/api/v1/${action}`,
      level: 'user',
      scope: 'history:write',
      paced,
      errors: [],
      summary: action,
      tag: 'test',
      reply: Done,
      run: async () => {
        heard += 1;
        return { success: true };
      },
    });
  const choose = oneOperation({
    action: 'choose',
    method: 'PUT',
    path: '/api/v1/choose',
    level: 'user',
    scope: 'history:write',
    errors: ['wrong_call_state', 'engine_refused'],
    summary: 'choose',
    tag: 'test',
    body: z.strictObject({ fails: z.enum(['wrong_call_state', 'engine_refused']).optional() }),
    reply: Done,
    run: async (_actor, { body }) => {
      asked += 1;
      await turn();
      if (body.fails !== undefined) throw new ServiceError(body.fails, 'as asked for');
      return { success: true };
    },
  });
  const commands = addOperations(host.app, [write('own', 'own'), write('any', 'any'), choose]);
  await host.app.ready();
  const put = (action: string, token: string, payload: object = {}) =>
    host.app.inject({
      method: 'PUT',
      url: `/api/v1/${action}`,
      headers: { authorization: `Bearer ${token}` },
      payload,
    });
  const command = async (action: string, token: string, data: object = {}): Promise<string> => {
    const caller = (await fixtureAuthenticator.authenticate(token))!;
    return commands.run({ caller, ip: null }, action, data).then(
      () => 'ok',
      (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
    );
  };
  return { put, command, heard: () => heard, asked: () => asked, pass: (ms: number) => void (now += ms) };
}

test('pace - of 50 simultaneous writes of one person 30 are published, by REST and by command together, then 3 a second', async (t) => {
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
  assert.equal((await put('own', 'token-agent')).statusCode, 200, 'another person is not limited');
  pass(1_000);
  assert.equal((await fifty()).length, 47);
  pass(10_000);
  assert.equal((await fifty()).length, 20);
});

test('pace - supervisors are bounded in their own status, but neither they nor keys in bulk work', async (t) => {
  const { put } = await rig(t);
  const statuses = async (action: string, token: string) =>
    new Set(
      (await Promise.all(Array.from({ length: 50 }, () => put(action, token)))).map((r) => r.statusCode),
    );
  assert.deepEqual(await statuses('any', 'token-supervisor'), new Set([200]));
  assert.deepEqual(await statuses('own', 'token-supervisor'), new Set([200, 429]));
  assert.deepEqual(await statuses('own', 'key-crm'), new Set([200]));
});

const REFUSED = { fails: 'wrong_call_state' };

test('pace - refused commands of one person beyond 60 are answered 429 by both doors and not run, then one a second', async (t) => {
  const { put, command, asked, pass } = await rig(t);
  const replies = await Promise.all(Array.from({ length: 50 }, () => put('choose', 'token-user', REFUSED)));
  assert.deepEqual(new Set(replies.map((r) => r.statusCode)), new Set([409]));
  const frames = await Promise.all(
    Array.from({ length: 50 }, () => command('choose', 'token-user', REFUSED)),
  );
  assert.equal(frames.filter((code) => code === 'wrong_call_state').length, 10);
  assert.equal(frames.filter((code) => code === 'too_many_requests').length, 40);
  const before = asked();
  const late = await put('choose', 'token-user', REFUSED);
  assert.equal(late.statusCode, 429);
  assert.equal(late.headers['retry-after'], '1');
  assert.equal(late.headers['ratelimit-policy'], '"writes";q=30;w=10, "refusals";q=60;w=60');
  assert.equal(late.headers.ratelimit, '"writes";r=30;t=0, "refusals";r=0;t=60');
  assert.equal(asked(), before, 'nothing was run');
  assert.equal(
    (await put('choose', 'token-agent', REFUSED)).statusCode,
    409,
    'another person is not limited',
  );
  pass(1_000);
  assert.equal(await command('choose', 'token-user', REFUSED), 'wrong_call_state');
  assert.equal(await command('choose', 'token-user', REFUSED), 'too_many_requests');
  pass(1_000);
  assert.equal((await put('choose', 'token-user')).statusCode, 200, 'an accepted command does not count');
  assert.equal((await put('choose', 'token-user')).statusCode, 200);
});

test('pace - good commands between a few refused ones, and failures of the engine, are never rejected', async (t) => {
  const { put } = await rig(t);
  const statuses: number[] = [];
  for (let i = 0; i < 50; i += 1) {
    const three = [REFUSED, {}, { fails: 'engine_refused' }].map((data) => put('choose', 'token-user', data));
    statuses.push(...(await Promise.all(three)).map((r) => r.statusCode));
  }
  assert.deepEqual(statuses, Array.from({ length: 50 }, () => [409, 200, 502]).flat());
});

test('pace - an API key works in bulk: 300 of its commands may be refused at once', async (t) => {
  const { put } = await rig(t);
  const replies = await Promise.all(Array.from({ length: 310 }, () => put('choose', 'key-crm', REFUSED)));
  const refused = replies.filter((r) => r.statusCode === 409);
  assert.equal(refused.length, 300);
  assert.equal(replies.filter((r) => r.statusCode === 429).length, 10);
  assert.match(String(refused[0]?.headers['ratelimit-policy']), /"refusals";q=300;w=60$/);
});
