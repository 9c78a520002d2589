import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { historyScene, later, recorded, recordings } from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { readPage, readStats } from './list.ts';
import type { ListQuery } from './list.ts';
import { findRows, readFound, statsOfFound } from './list.ts';
import type { Tables } from '../store/tables.ts';

async function terms(scene: HistoryScene) {
  const db = scene.store.db<Tables>();
  const kept = await db.selectFrom('history_terms').select('text').execute();
  const shown = await db.selectFrom('history_rows').select('search').distinct().execute();
  return { kept: kept.map((t) => t.text).sort(), shown: shown.map((r) => r.search).sort() };
}
const everyRecording = async () =>
  (await recordings()).flatMap((name, i) => later(recorded(name), i * 100_000));

test('history search - results and stats equal those of reading every row', async () => {
  await using scene = await historyScene();
  scene.directory.change('1002', { name: 'Şule %_ (Ops)' });
  await scene.feed(...(await everyRecording()));
  const db = scene.store.db<Tables>();
  await db.updateTable('history_rows').set({ hidden: 1 }).where('root', 'like', '%7.%').execute();
  const rows = await db.selectFrom('history_rows').selectAll().execute();
  const moments = rows.map((row) => row.started_us);
  const moment = fc.option(fc.constantFrom(...moments));
  const part = fc
    .tuple(fc.constantFrom(...rows.map((row) => row.search)), fc.nat(20), fc.integer({ min: 1, max: 9 }))
    .map(([text, from, length]) => text.slice(from, from + length))
    .filter((text) => text !== '');
  let hits = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        extension: fc.constantFrom(...new Set(rows.map((row) => row.extension))),
        own: fc.boolean(),
        filter: fc.constantFrom('all', 'all', 'in', 'out', 'missed'),
        q: fc.oneof(part, part, fc.constantFrom('10', '%', '_', 'nobody', ' ')),
        from_us: moment,
        to_us: moment,
      }) as fc.Arbitrary<ListQuery>,
      fc.record({
        limit: fc.integer({ min: 1, max: 9 }),
        offset: fc.nat(3),
        after: fc.option(fc.constantFrom(...rows.map((row) => ({ at: row.started_us, id: row.id })))),
      }),
      async (list, page) => {
        const found = (await findRows(db, list))!;
        hits += found.length;
        assert.deepEqual(await readFound(db, found, page), await readPage(db, list, page));
        assert.deepEqual(statsOfFound(found), await readStats(db, list));
      },
    ),
    { numRuns: 300 },
  );
  assert.ok(hits > 0, 'nothing was found in any run');
});

test('history search - every text of a row is searched, and no text without a row', async () => {
  await using scene = await historyScene();
  // One record of every recording at a time: each conversation is built again with each of its records.
  const calls = (await recordings()).map((name, i) => later(recorded(name), i * 100_000));
  for (let i = 0; i < Math.max(...calls.map((records) => records.length)); i += 1)
    await scene.feed(...calls.flatMap((records) => records.slice(i, i + 1)));
  const { kept, shown } = await terms(scene);
  assert.deepEqual(kept, shown);
  assert.ok(kept.length > 5);

  const list: ListQuery = {
    extension: '1001',
    own: false,
    filter: 'all',
    q: 'zuleyha',
    from_us: null,
    to_us: null,
  };
  assert.deepEqual(await findRows(scene.store.db<Tables>(), list), []);
  scene.directory.change('1002', { name: 'Züleyha' });
  await scene.feed(...later(recorded('internal-answered'), 9_000_000));
  assert.equal((await findRows(scene.store.db<Tables>(), list))!.length, 1, 'a name from the directory');
  assert.deepEqual(new Set((await terms(scene)).kept), new Set((await terms(scene)).shown));
});

test('history search - above the limit of matches the list is read instead', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('internal-answered'));
  const db = scene.store.db<Tables>();
  const { id: _id, ...row } = await db.selectFrom('history_rows').selectAll().executeTakeFirstOrThrow();
  await scene.store.transaction<Tables, void>(async (trx) => {
    for (let n = 0; n < 5_000; n += 500)
      await trx
        .insertInto('history_rows')
        .values(Array.from({ length: 500 }, (_, i) => ({ ...row, root: `ast1:${n + i}.9` })))
        .execute();
  });
  const list = { extension: row.extension, own: true, filter: 'all', from_us: null, to_us: null } as const;
  assert.equal(await findRows(scene.store.db<Tables>(), { ...list, q: row.party }), null);
  assert.deepEqual(await findRows(scene.store.db<Tables>(), { ...list, q: 'nobody' }), []);
});
