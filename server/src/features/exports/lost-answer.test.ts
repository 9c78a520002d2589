import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { until } from '../../../test/support/until.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import type { Actor } from '../../ports/operations.ts';
import { Exports } from './service.ts';

const ADMIN: Actor = {
  caller: {
    session_id: 1,
    person_id: 1,
    extension: '1001',
    username: 'defne',
    level: 'admin',
    key: null,
    expires_at: Infinity,
    cookie: false,
  },
  ip: null,
};

test('exports - an export whose end the database stored without an answer keeps its file', async () => {
  await using temp = await temporaryStore();
  const folder = path.join(temp.folder, 'exports');
  const clock = createVirtualClock();
  let lost = 0;
  const ends = new WeakSet<object>();
  await using exports = await Exports.open({
    store: {
      ...temp.store,
      db: <T>() =>
        temp.store.db<T>().withPlugin({
          transformQuery({ node, queryId }) {
            if (node.kind === 'UpdateQueryNode' && JSON.stringify(node).includes('"done"')) ends.add(queryId);
            return node;
          },
          transformResult({ result, queryId }) {
            if (!ends.has(queryId) || lost > 0) return Promise.resolve(result);
            lost += 1;
            throw new ServiceError('store_unavailable', 'the database did not answer');
          },
        }),
    },
    rows: {
      begin: async () => ({ bound: 1, estimated: 1 }),
      page: async () => ({ lines: [JSON.stringify(EXPORT_COLUMNS.map(() => 'x'))], next: null }),
    },
    audit: { record: async () => {} },
    clock,
    credentials: { onSessionEnded: () => () => {}, onKeyEnded: () => () => {} },
    log: silent,
    folder,
    hours: 24,
    diskFloor: 0,
  });
  const { id } = await exports.create(ADMIN, { format: 'csv', filter: {}, columns: [...EXPORT_COLUMNS] });
  await until('the lost answer', () => lost === 1);
  await until('the next attempt waits', () => clock.sleepers > 0);
  await clock.advance(60_000);
  const next = await exports.create(ADMIN, { format: 'csv', filter: {}, columns: [...EXPORT_COLUMNS] });
  await until('the next one', async () => (await exports.one(ADMIN.caller, next.id)).state === 'done');
  assert.equal((await exports.one(ADMIN.caller, id)).state, 'done');
  assert.deepEqual((await readdir(folder)).toSorted(), ['1.csv', '2.csv']);
});
