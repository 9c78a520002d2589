import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { mock, test } from 'node:test';
import { historyScene, recorded } from '../../../../test/support/history-scene.ts';
import { gapsOf } from '../proof/gaps.ts';
import { packRecords } from './packs.ts';
import type { Tables } from './tables.ts';

test('history - neither packing nor the search for lost calls reads a table as a whole', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered');
  await scene.feed(...records);
  const db = scene.store.db<Tables>();
  const watch = mock.method(DatabaseSync.prototype, 'prepare');
  const [from, to] = [0, Date.now()];
  await gapsOf(db, { from, to }, [], async () => [], [], to);
  await packRecords(scene.store, to * 1000);
  const statements = watch.mock.calls.map((call) => call.arguments[0]);
  watch.mock.restore();
  assert.equal(await scene.loose(), 0);
  const about = statements.filter((sql) => /^(?:select|delete|update)\b.*"history_/s.test(sql));
  assert.ok(about.length >= 8, about.join('\n'));
  using raw = new DatabaseSync(scene.database);
  for (const sql of about)
    for (const { detail } of raw.prepare(`explain query plan ${sql}`).all())
      assert.doesNotMatch(String(detail), /^SCAN/, sql);
});
