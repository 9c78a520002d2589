import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryStore } from '../../test/conformance/store-temp.ts';
import { until } from '../../test/support/until.ts';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { silent } from '../core/log.ts';
import { migrations as exports } from '../features/exports/store.ts';
import type { Tables as ExportTables } from '../features/exports/store.ts';
import { migrations as privacy } from '../features/privacy/store.ts';
import type { Tables as PrivacyTables } from '../features/privacy/store.ts';
import { followExports } from './former-exports.ts';

test('former exports - a standby deletes files that expired or were erased, at once and every hour, and keeps the others', async () => {
  await using temp = await temporaryStore();
  const { store, folder: data } = temp;
  await store.migrate('exports', exports);
  await store.migrate('privacy', privacy);
  const clock = createVirtualClock();
  for (const state of ['done', 'expired', 'done'] as const)
    await store
      .db<ExportTables>()
      .insertInto('exports')
      .values({
        person_id: 1,
        by: '1001',
        reader: '{}',
        format: 'csv',
        filter: '{}',
        columns: 'id',
        state,
        rows_done: 0,
        created_ms: 0,
      })
      .execute();
  for (const bytes of [null, 3])
    await store
      .db<PrivacyTables>()
      .insertInto('privacy_jobs')
      .values({
        kind: 'export',
        state: 'done',
        subject_kind: 'number',
        salt: '',
        subject_hash: '',
        by: '1001',
        reason: '',
        erased_places: '{}',
        verified: 0,
        remains: '[]',
        items: 0,
        bytes,
        created_ms: 0,
      })
      .execute();
  const files = { exports: ['1.csv', '2.csv', '3.csv', '3.csv.part'], privacy: ['1.json', '2.json'] };
  for (const [name, names] of Object.entries(files)) {
    await mkdir(path.join(data, name));
    for (const file of names) await writeFile(path.join(data, name, file), 'abc');
  }
  const left = async () => [
    ...(await readdir(path.join(data, 'exports'))),
    ...(await readdir(path.join(data, 'privacy'))),
  ];
  const leaves = (wanted: readonly string[]) =>
    until(`${wanted.join()} to be left`, async () => (await left()).sort().join() === wanted.join(), {
      seen: () => ({ wanted }),
    });
  {
    await using _ = followExports({ store, data, clock, log: silent });
    await leaves(['1.csv', '2.json', '3.csv']);
    await store
      .db<ExportTables>()
      .updateTable('exports')
      .set({ state: 'expired' })
      .where('id', '=', 3)
      .execute();
    await clock.advance(3_600_000);
    await leaves(['1.csv', '2.json']);
  }
  assert.deepEqual((await left()).sort(), ['1.csv', '2.json']);
});
