import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES } from '@offhook/contract/keys.ts';
import { Done } from '@offhook/contract/session.ts';
import { z } from 'zod';
import type { ServiceError } from '../core/errors.ts';
import { fixtureAuthenticator, hostFixture } from '../../test/support/host-fixture.ts';
import { oneOperation } from '../../test/support/one-operation.ts';
import { until } from '../../test/support/until.ts';
import { addOperations, checkAccess } from './operations.ts';

test('operations - an invalid command is refused with the name of the field, wherever it is', async (t) => {
  const host = await hostFixture();
  t.after(() => host.close());
  const commands = addOperations(host.app, [
    oneOperation({
      action: 'things.write',
      method: 'PUT',
      path: '/api/v1/things/:id',
      level: 'user',
      errors: [],
      summary: 'Write',
      tag: 'test',
      params: z.strictObject({ id: z.string().regex(/^\d{1,4}$/) }),
      body: z.strictObject({ name: z.string().max(4) }),
      reply: Done,
      run: async () => ({ success: true }),
    }),
  ]);
  const caller = (await fixtureAuthenticator.authenticate('token-user'))!;
  const cases: [object, string][] = [
    [{ id: 1, name: 'a', other: 1 }, 'other: unknown field'],
    [{ id: 1 }, 'name: is missing'],
    [{ name: 'a' }, 'id: is missing'],
    [{ id: 1, name: 5 }, 'name: expected a string, received a number'],
    [[], 'data: must be an object'],
  ];
  for (const [data, detail] of cases) {
    await assert.rejects(commands.run({ caller, ip: null }, 'things.write', data), (error: Error) => {
      assert.equal(error.message, detail);
      return true;
    });
  }
});

test('operations - a POST without a required field takes no body; one with a required field and a PUT need theirs', async (t) => {
  const host = await hostFixture();
  t.after(() => host.close());
  const seen: unknown[] = [];
  const shared = { level: 'user', errors: [], summary: 'Do', tag: 'test', reply: Done } as const;
  const run = async (_actor: unknown, { body }: { readonly body: unknown }) => {
    seen.push(body);
    return { success: true as const };
  };
  const bare = z.strictObject({ note: z.string().optional(), times: z.int().default(1) });
  const full = z.strictObject({ note: z.string() });
  const made = (action: string, method: 'POST' | 'PUT', body: typeof bare | typeof full) =>
    oneOperation({ ...shared, action, method, path: `/api/v1/${action}`, body, run });
  addOperations(host.app, [
    made('bare', 'POST', bare),
    made('full', 'POST', full),
    made('put', 'PUT', bare),
    oneOperation({
      ...shared,
      action: 'none',
      method: 'POST',
      path: '/api/v1/none',
      run,
    }),
  ]);
  await host.app.ready();
  const ask = async (
    path: string,
    payload: string | undefined,
    headers: object,
    method: 'POST' | 'PUT' = 'POST',
  ) => {
    const reply = await host.app.inject({
      method,
      url: `/api/v1/${path}`,
      headers: { authorization: 'Bearer token-user', ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    return reply.statusCode;
  };
  const json = { 'content-type': 'application/json' };
  assert.equal(await ask('bare', undefined, {}), 200);
  assert.equal(await ask('bare', undefined, json), 200);
  assert.equal(await ask('bare', '', json), 200);
  assert.equal(await ask('bare', '{}', json), 200);
  assert.equal(await ask('none', undefined, {}), 200);
  assert.equal(await ask('none', '', json), 200);
  const empty = { times: 1 };
  assert.deepEqual(seen, [empty, empty, empty, empty, null, null]);
  assert.equal(await ask('bare', '{"note":"x"}', json), 200);
  assert.deepEqual(seen.at(-1), { note: 'x', times: 1 });
  assert.equal(await ask('bare', 'null', json), 400);
  assert.equal(await ask('bare', '{"other":1}', json), 400);
  assert.equal(await ask('bare', '{}', {}), 415, 'a body still needs its type');
  assert.equal(await ask('full', undefined, {}), 400);
  assert.equal(await ask('full', '', json), 400);
  assert.equal(await ask('put', undefined, {}, 'PUT'), 400);
  const { paths } = host.openapi();
  const required = ['bare', 'none', 'full'].map(
    (path) => paths[`/api/v1/${path}`]?.['post']?.requestBody?.required,
  );
  assert.deepEqual(required, [false, false, true]);
  assert.equal(paths['/api/v1/put']?.['put']?.requestBody?.required, true);
});

test('operations - a write is answered once its events are recorded, by REST and as a command; a read is not kept waiting', async (t) => {
  const waits: (() => void)[] = [];
  const host = await hostFixture({
    recorded: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waits.push(resolve);
      return promise;
    },
  });
  t.after(() => host.close());
  const shared = { level: 'user', errors: [], summary: 'Do', tag: 'test', reply: Done } as const;
  const run = async () => ({ success: true as const });
  const commands = addOperations(host.app, [
    oneOperation({ ...shared, action: 'write', method: 'POST', path: '/api/v1/write', run }),
    oneOperation({ ...shared, method: 'GET', path: '/api/v1/read', run }),
  ]);
  const headers = { authorization: 'Bearer token-user' };
  const caller = (await fixtureAuthenticator.authenticate('token-user'))!;
  for (const write of [
    async () => (await host.app.inject({ method: 'POST', url: '/api/v1/write', headers })).statusCode,
    () => commands.run({ caller, ip: null }, 'write', {}),
  ]) {
    let over = false;
    const written = write().finally(() => (over = true));
    await until('the wait for the record', () => waits.length === 1);
    const read = await host.app.inject({ method: 'GET', url: '/api/v1/read', headers });
    assert.deepEqual([read.statusCode, over, waits.length], [200, false, 1]);
    waits.pop()!();
    await written;
  }
});

test('operations - a key limited to a queue has no access by a scope of the whole site', async () => {
  const caller = (await fixtureAuthenticator.authenticate('token-user'))!;
  const refused = (limit: { queues: string[] | null }): readonly string[] =>
    SCOPES.filter((scope) => {
      const key = { id: 1, name: 'erp', extensions: null, scopes: SCOPES, ...limit };
      try {
        checkAccess({ ...caller, key } as never, { level: 'admin', scope });
        return false;
      } catch (error) {
        assert.equal((error as ServiceError).code, 'forbidden');
        return true;
      }
    });
  assert.deepEqual(refused({ queues: null }), []);
  assert.deepEqual(
    refused({ queues: ['sales'] }),
    SCOPES.filter((scope) => /^(phonebook|config):/.test(scope)),
  );
});
