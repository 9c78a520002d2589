import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configRig } from '../../../../test/support/config-rig.ts';
import { ServiceError } from '../../../core/errors.ts';
import { addOperations } from '../../../http/operations.ts';
import { applyOperations } from './operations.ts';
import type { ConfigApplies } from './service.ts';

const reached = async (): Promise<never> => {
  throw new ServiceError('not_found', 'reached');
};
const applies = new Proxy({}, { get: () => reached }) as ConfigApplies;

test('config applies - a key limited to some objects may not use operations on the whole configuration', async (t) => {
  const scopes = ['config:read', 'config:write'] as const;
  const { ask } = await configRig(t, {
    keys: { all: { scopes }, queue: { scopes, queues: ['support'] }, one: { scopes, extensions: ['1003'] } },
    routes(app) {
      addOperations(app, [applyOperations(applies)]);
    },
  });
  const requests = [
    ['GET', 'plan'],
    ['GET', 'applies'],
    ['GET', 'applies/1'],
    ['GET', 'versions'],
    ['GET', 'versions/1'],
    ['GET', 'versions/1/extensions/1001'],
    ['GET', 'drift'],
    ['POST', 'applies'],
    ['POST', 'applies/1/cancel'],
  ] as const;
  for (const [method, path] of requests)
    for (const [as, status] of [
      ['key-all', 404],
      ['key-queue', 403],
      ['key-one', 403],
    ] as const) {
      const answer = await ask(method, path, method === 'POST' ? {} : undefined, { as });
      assert.equal(answer.status, status, `${as} ${method} ${path}: ${answer.text}`);
    }
});
