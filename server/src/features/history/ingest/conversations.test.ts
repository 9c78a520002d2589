import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchOf, historyScene, recorded } from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { createVirtualClock } from '../../../adapters/memory/virtual-clock.ts';
import { e164In } from '../../../numbers/e164.ts';
import { silent } from '../../../core/log.ts';
import { Ingest } from './ingest.ts';
import type { Tables } from '../store/tables.ts';

const storedIn = async (scene: HistoryScene) =>
  (await scene.conversations()).map((c) => [c.root, c.state, c.revision]);
const places = async (scene: HistoryScene): Promise<readonly number[]> => {
  const db = scene.store.db<Tables>();
  const rows = await db.selectFrom('conversations').select('change').orderBy('change').execute();
  return rows.map((row) => row.change);
};

test('conversations - open while it lasts, final at its end, amended after late records', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered');
  const id = records[0]!.call;
  await scene.feed(...records.slice(0, 4));
  assert.deepEqual(await storedIn(scene), [[id, 'open', 0]]);
  assert.deepEqual(await places(scene), [1]);
  await scene.feed(...records.slice(4));
  assert.deepEqual(await storedIn(scene), [[id, 'final', 1]]);
  const [final] = await places(scene);
  await scene.feed(...records);
  assert.deepEqual(await storedIn(scene), [[id, 'final', 1]], 'the same again is no news');
  assert.deepEqual(await places(scene), [final]);
  const last = records.at(-1)!;
  await scene.feed({ ...last, at_us: last.at_us + 5_000_000, key: 'late' });
  assert.deepEqual(await storedIn(scene), [[id, 'amended', 2]]);
  assert.deepEqual(await places(scene), [final! + 1]);
});

test('conversations - a merged one is deleted, and the feed reports it', async () => {
  await using scene = await historyScene();
  const records = recorded('attended-transfer');
  const calls = [...new Set(records.map((r) => r.call))];
  assert.equal(calls.length, 2);
  const joins = records.findIndex((r) => r.type === 'attended_transfer');
  await scene.feed(...records.slice(0, joins));
  assert.deepEqual(
    (await storedIn(scene)).map(([, state]) => state),
    ['open', 'open'],
  );
  await scene.feed(...records.slice(joins));
  assert.deepEqual(await storedIn(scene), [[calls[0], 'final', 1]]);
  const db = scene.store.db<Tables>();
  const merged = await db.selectFrom('conversation_merged').selectAll().execute();
  assert.deepEqual(
    merged.map((m) => m.root),
    [calls[1]],
  );
  const [final] = await places(scene);
  assert.notEqual(merged[0]!.change, final);
  const keys = await db.selectFrom('conversation_keys').select('conversation').distinct().execute();
  assert.equal(keys.length, 1, 'nothing is left of the other');
});

test('conversations - a merged one is found in the other at once, even if it was built a moment ago', async () => {
  const records = recorded('queue-attended-transfer');
  const [first, second] = [...new Set(records.map((r) => r.call))];
  for (const live of [true, false]) {
    await using scene = await historyScene();
    const joins = records.findIndex((r, i) =>
      records.slice(0, i).some((old) => old.channel === r.channel && old.call !== r.call),
    );
    await scene.feed(...records.slice(0, joins));
    assert.deepEqual(await storedIn(scene), [
      [first, 'open', 0],
      [second, 'open', 0],
    ]);
    await scene.ingest.store({ ...batchOf([records[joins]!], 1_000), live });
    assert.deepEqual(await storedIn(scene), [[first, 'open', 0]]);
    const [whole] = await scene.conversations();
    assert.deepEqual(whole!.record.merged_from, [second], `live: ${live}`);
  }
});

test('conversations - none is built as open while the reader catches up; afterwards all are', async () => {
  await using scene = await historyScene();
  const clock = createVirtualClock();
  const { store, directory } = scene;
  const ingest = new Ingest({ store, directory, clock, log: silent, e164: e164In('DE') });
  const [one, two] = [recorded('internal-answered').slice(0, 5), recorded('echo').slice(0, 3)];
  await ingest.store({ ...batchOf(one, 1), live: false });
  await ingest.tellDue();
  assert.deepEqual(await storedIn(scene), []);
  await ingest.store(batchOf(two, 2));
  assert.deepEqual(await storedIn(scene), [[two[0]!.call, 'open', 0]]);
  await ingest.tellDue();
  assert.equal((await storedIn(scene)).length, 2);
  // Records stored by another process that has not built the conversations.
  await store.db<Tables>().deleteFrom('conversations').execute();
  const after = new Ingest({ store, directory, clock, log: silent, e164: e164In('DE') });
  await after.store(batchOf([], 3));
  await after.tellDue();
  assert.equal((await storedIn(scene)).length, 2);
});

test('conversations - one that continues after a part was closed is built once a second too', async () => {
  await using scene = await historyScene();
  const clock = createVirtualClock();
  const { store, directory } = scene;
  const ingest = new Ingest({ store, directory, clock, log: silent, e164: e164In('DE') });
  const [first, ...rest] = recorded('internal-answered').slice(0, 8);
  const closed = { ...first!, type: 'linked_end', key: 'closed' } as const;
  await ingest.store(batchOf([first!, closed], 1));
  const [before] = await places(scene);
  for (const [i, record] of rest.entries()) await ingest.store(batchOf([record], i + 2));
  assert.deepEqual(await places(scene), [before]);
  await clock.advance(1000);
  await ingest.tellDue();
  const [whole] = await scene.conversations();
  assert.equal(whole!.record.ended, Math.floor(rest.at(-1)!.at_us / 1000));
});

test('conversations - one with many records is built once a second, and its newest record is included', async () => {
  await using scene = await historyScene();
  const clock = createVirtualClock();
  const { store, directory } = scene;
  const ingest = new Ingest({ store, directory, clock, log: silent, e164: e164In('DE') });
  const records = recorded('hold-and-consult').slice(0, 20);
  const seen = new Set<number>();
  for (const [i, record] of records.entries()) {
    await ingest.store(batchOf([record], i + 1));
    await ingest.tellDue();
    seen.add((await places(scene))[0]!);
    await clock.advance(100);
  }
  assert.deepEqual([...seen], [1, 2], 'twenty records in two seconds');
  await clock.advance(1000);
  await ingest.tellDue();
  const [before] = await scene.conversations();
  assert.equal(before!.record.ended, Math.floor(records.at(-1)!.at_us / 1000));
  await clock.advance(5000);
  await ingest.tellDue();
  assert.deepEqual(await places(scene), [3], 'what is not due is not told again');
});
