import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  dying,
  historyScene,
  inPieces,
  recorded,
  recordings,
} from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { e164In } from '../../../numbers/e164.ts';
import { silent } from '../../../core/log.ts';
import type { CallRecord } from '../../../ports/call-records.ts';
import type { Store } from '../../../ports/store.ts';
import { rebuildConversations } from './rebuild.ts';
import type { Tables } from '../store/tables.ts';

const ALL = { from_ms: 0, to_ms: Date.UTC(2100, 0, 1) };
const rebuild = (scene: HistoryScene, range = ALL, store: Store = scene.store) =>
  rebuildConversations(
    { store, directory: scene.directory, log: silent, e164: e164In('DE') },
    range,
    () => {},
    new AbortController().signal,
  );
const aDay = async (): Promise<readonly CallRecord[]> =>
  (await recordings()).flatMap((name) => recorded(name)).sort((a, b) => a.at_us - b.at_us);
const change = async (scene: HistoryScene): Promise<unknown> =>
  await scene.store.db<Tables>().selectFrom('history_counters').select('value').executeTakeFirst();
/** Deletes all built conversations; the call records stay. */
async function forget(scene: HistoryScene): Promise<void> {
  const db = scene.store.db<Tables>();
  for (const table of ['conversations', 'conversation_keys', 'history_rows'] as const) {
    await db.deleteFrom(table).execute();
  }
}

test('rebuild - a day built live and the same day rebuilt are equal, byte by byte', async () => {
  await using scene = await historyScene();
  for (const piece of inPieces(await aDay(), 7)) await scene.feed(...piece);
  await scene.ingest.tidy();
  const live = { rows: await scene.rows(), stored: await scene.conversations() };
  assert.ok(live.stored.length > 30);
  const places = await change(scene);
  const { done, total, changed } = await rebuild(scene);
  assert.deepEqual([done, changed], [total, 0]);
  assert.deepEqual(await change(scene), places, 'what is told as before is no news');
  await forget(scene);
  await rebuild(scene);
  assert.deepEqual(await scene.rows(), live.rows);
  assert.deepEqual(
    (await scene.conversations()).map((c) => ({ ...c, revision: 1, state: 'final' })),
    live.stored.map((c) => ({ ...c, revision: 1, state: 'final' })),
  );
});

test('rebuild - a range only, and notes stay', async () => {
  await using scene = await historyScene();
  const [a, b] = [recorded('internal-answered'), recorded('echo')];
  await scene.feed(...a, ...b);
  const db = scene.store.db<Tables>();
  await db.updateTable('history_rows').set({ hidden: 1 }).where('root', '=', a[0]!.call).execute();
  const note = { call: a[0]!.call, at_ms: 1, by: '1001', text: 'Calls back' };
  await db.insertInto('conversation_notes').values(note).execute();
  const rows = await scene.rows();
  await db.updateTable('conversations').set({ fingerprint: 'other', built_by: 0 }).execute();
  const at = Math.floor(a.at(-1)!.at_us / 1000);
  const { total, changed } = await rebuild(scene, { from_ms: at, to_ms: at + 1 });
  assert.deepEqual([total, changed], [1, 1]);
  const stored = (await scene.conversations()).map((c) => [c.root, c.state, c.revision]);
  assert.deepEqual(
    stored.find(([root]) => root === a[0]!.call),
    [a[0]!.call, 'amended', 2],
  );
  assert.deepEqual(
    stored.find(([root]) => root === b[0]!.call),
    [b[0]!.call, 'final', 1],
  );
  assert.deepEqual(await scene.rows(), rows);
  assert.equal((await db.selectFrom('conversation_notes').selectAll().execute()).length, 1);
});

test('rebuild - newer rules with the same result are stored, and are no change', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('internal-answered'));
  const db = scene.store.db<Tables>();
  const stored = await scene.conversations();
  await db.updateTable('conversations').set({ built_by: 0 }).execute();
  const places = await change(scene);
  await rebuild(scene);
  assert.deepEqual(await change(scene), places);
  assert.deepEqual(await scene.conversations(), stored);
  const { built_by } = await db.selectFrom('conversations').select('built_by').executeTakeFirstOrThrow();
  assert.ok(built_by > 0);
});

test('rebuild - a range begun under older rules is rebuilt from its start', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('internal-answered'));
  const db = scene.store.db<Tables>();
  await db.updateTable('conversations').set({ built_by: 0 }).execute();
  const killed = { ...ALL, rules: '0/0', last_us: Number.MAX_SAFE_INTEGER, root: '', done: 1 };
  await db
    .insertInto('history_facts')
    .values({ key: 'rebuild', value: JSON.stringify(killed) })
    .execute();
  await rebuild(scene);
  const { built_by } = await db.selectFrom('conversations').select('built_by').executeTakeFirstOrThrow();
  assert.ok(built_by > 0);
});

test('rebuild - killed at any statement it continues, with the same result', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('internal-answered'), ...recorded('queue-abandoned'));
  const stored = await scene.conversations();
  for (let n = 1; ; n += 1) {
    await forget(scene);
    const { store, died } = dying(scene.store, n);
    await rebuild(scene, ALL, store).catch(() => {});
    await rebuild(scene);
    assert.deepEqual(await scene.conversations(), stored, `killed at ${n}`);
    if (!died()) {
      assert.ok(n > 8, `only ${n} statements`);
      break;
    }
  }
});
