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
import { Exports } from './service.ts';

test('exports - an export that failed after its file was written leaves no file that an erasure would miss', async () => {
  await using temp = await temporaryStore();
  const folder = path.join(temp.folder, 'exports');
  const seen: string[] = [];
  await using exports = await Exports.open({
    store: temp.store,
    rows: {
      begin: async () => ({ bound: 1, estimated: 1 }),
      page: async () => ({ lines: [JSON.stringify(EXPORT_COLUMNS.map(() => 'x'))], next: null }),
    },
    audit: {
      async record({ action }) {
        if (action !== 'exports.done') return;
        seen.push(...(await readdir(folder)));
        throw new ServiceError('store_unavailable', 'the disk is full');
      },
    },
    clock: createVirtualClock(),
    credentials: { onSessionEnded: () => () => {}, onKeyEnded: () => () => {} },
    log: silent,
    folder,
    hours: 24,
    diskFloor: 0,
  });
  const { id } = await exports.create(ADMIN, { format: 'csv', filter: {}, columns: [...EXPORT_COLUMNS] });
  await until('its end', async () => (await exports.one(ADMIN.caller, id)).state === 'failed');
  assert.deepEqual(seen, ['1.csv']);
  assert.deepEqual(await readdir(folder), []);
});
