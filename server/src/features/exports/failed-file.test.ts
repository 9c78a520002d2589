/** Files of exports whose end could not be stored, or was stored without an answer. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { ADMIN } from '../../../test/support/applies-rig.ts';
import { until } from '../../../test/support/until.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import type { ExportsDeps } from './service.ts';
import { Exports } from './service.ts';

/** Exports of one row. */
const open = (parts: Pick<ExportsDeps, 'store' | 'audit' | 'clock' | 'folder'>): Promise<Exports> =>
  Exports.open({
    rows: {
      begin: async () => ({ bound: 1, estimated: 1 }),
      page: async () => ({ lines: [JSON.stringify(EXPORT_COLUMNS.map(() => 'x'))], next: null }),
    },
    credentials: { onSessionEnded: () => () => {}, onKeyEnded: () => () => {} },
    log: silent,
    hours: 24,
    diskFloor: 0,
    ...parts,
  });
const create = async (exports: Exports): Promise<number> =>
  (await exports.create(ADMIN, { format: 'csv', filter: {}, columns: [...EXPORT_COLUMNS] })).id;
const stateOf = async (exports: Exports, id: number) => (await exports.one(ADMIN.caller, id)).state;

test('exports - an export that failed after its file was written leaves no file that an erasure would miss', async () => {
  await using temp = await temporaryStore();
  const folder = path.join(temp.folder, 'exports');
  const seen: string[] = [];
  await using exports = await open({
    store: temp.store,
    audit: {
      async record({ action }) {
        if (action !== 'exports.done') return;
        seen.push(...(await readdir(folder)));
        throw new ServiceError('store_unavailable', 'the disk is full');
      },
    },
    clock: createVirtualClock(),
    folder,
  });
  const id = await create(exports);
  await until('its end', async () => (await stateOf(exports, id)) === 'failed');
  assert.deepEqual(seen, ['1.csv']);
  assert.deepEqual(await readdir(folder), []);
});

test('exports - an export whose end the database stored without an answer keeps its file', async () => {
  await using temp = await temporaryStore();
  const folder = path.join(temp.folder, 'exports');
  const clock = createVirtualClock();
  let lost = 0;
  const ends = new WeakSet<object>();
  await using exports = await open({
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
    audit: { record: async () => {} },
    clock,
    folder,
  });
  const id = await create(exports);
  await until('the lost answer', () => lost === 1);
  await until('the next attempt waits beside the sweep', () => clock.sleepers > 1);
  await clock.advance(60_000);
  const next = await create(exports);
  await until('the next one', async () => (await stateOf(exports, next)) === 'done');
  assert.equal(await stateOf(exports, id), 'done');
  assert.deepEqual((await readdir(folder)).toSorted(), ['1.csv', '2.csv']);
});
