import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Done } from '@offhook/contract/session.ts';
import { z } from 'zod';
import { fixtureAuthenticator, hostFixture } from '../../test/support/host-fixture.ts';
import { addOperations, operation } from './operations.ts';

test('operations - what is wrong with a command names the field, wherever it is', async (t) => {
  const host = await hostFixture();
  t.after(() => host.close());
  const commands = addOperations(host.app, [
    operation({
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
    [[], 'data: expected an object'],
  ];
  for (const [data, detail] of cases) {
    // oxlint-disable-next-line no-await-in-loop -- each is a case of its own
    await assert.rejects(commands.run({ caller, ip: null }, 'things.write', data), (error: Error) => {
      assert.equal(error.message, detail);
      return true;
    });
  }
});
