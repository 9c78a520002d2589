import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  batchOf,
  dying,
  historyScene,
  inPieces,
  later,
  recorded,
  recordings,
} from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import type { ServiceError } from '../../../core/errors.ts';
import type { CallRecord } from '../../../ports/call-records.ts';
import type { Store } from '../../../ports/store.ts';
import { clearCalls } from '../query/hide.ts';
import { SILENT_US } from './ingest.ts';
import { buildConversation } from '../record/build.ts';
import { peopleIn } from '../record/people.ts';
import { withDirectory } from '../record/records.ts';
import type { Tables } from '../store/tables.ts';

const everything = async (): Promise<readonly CallRecord[]> =>
  (await recordings()).flatMap((name) => recorded(name)).sort((a, b) => a.at_us - b.at_us);
async function assertSame(scene: HistoryScene, rows: readonly object[], said = ''): Promise<void> {
  assert.deepEqual(await scene.rows(), rows, said);
}

const rowsOf = (name: string, scene: HistoryScene) => {
  const records = recorded(name).map((r) => withDirectory(r, scene.directory));
  const built = buildConversation(records, { e164: () => null });
  return { call_key: records[0]!.call, people: built ? peopleIn(built) : [] };
};

test('history - all recordings at once: one row for each conversation and extension', async () => {
  await using scene = await historyScene();
  await scene.feed(...(await everything()));
  const rows = (await scene.rows()) as readonly { root: string; extension: string }[];
  assert.equal(new Set(rows.map((r) => `${r.root} ${r.extension}`)).size, rows.length);
  // Every recording is one conversation, `call-waiting` is two; a conversation without a person has no row.
  const parties = (name: string): readonly object[] => rowsOf(name, scene).people;
  const silent = (await recordings()).filter((name) => parties(name).length === 0);
  assert.deepEqual(silent, ['listen', 'trunk-to-trunk']);
  assert.equal(new Set(rows.map((r) => r.root)).size, (await recordings()).length + 1 - silent.length);
  await assertSame(scene, rows);
  const call = rows.find((r) => r.root === 'ast1:1795228606.2' && r.extension === '1001');
  const { party_name } = call as unknown as { party_name: string };
  assert.equal(party_name, 'Sam', "the directory's name, not the one on the phone");
});

test('history - the stored record equals the one built from all its call records', async () => {
  await using scene = await historyScene();
  for (const name of (await recordings()).filter((n) => n !== 'call-waiting')) {
    await scene.clear();
    for (const piece of inPieces(recorded(name), 5)) await scene.feed(...piece);
    const { call_key, people } = rowsOf(name, scene);
    const rows = (await scene.rows()) as readonly { root: string; extension: string; talk_seconds: number }[];
    assert.deepEqual(
      rows.map((r) => [r.root, r.extension, r.talk_seconds]),
      people.map((p) => [call_key, p.extension, p.talk_seconds]),
      name,
    );
    const db = scene.store.db<Tables>();
    const all = await db.selectFrom('history_conversations').select('root').execute();
    assert.deepEqual(all, [{ root: call_key }], `${name} is one conversation`);
  }
});

test('history - killed at any statement while storing: no loss and no duplicates', async () => {
  await using scene = await historyScene();
  const records = [...recorded('pickup'), ...recorded('queue-second-round')];
  const pieces = inPieces(records, 17);
  for (const [i, piece] of pieces.entries()) await scene.ingest.store(batchOf(piece, i + 1));
  const rows = await scene.rows();
  assert.equal(rows.length, 4);
  const conversations = await scene.conversations();
  assert.deepEqual(
    conversations.map((c) => c.state),
    ['final', 'final'],
  );
  for (let n = 1; ; n += 1) {
    await scene.clear();
    const { store, died } = dying(scene.store, n);
    const before = scene.restart(store);
    try {
      for (const [i, piece] of pieces.entries()) await before.store(batchOf(piece, i + 1));
    } catch (error) {
      assert.equal((error as ServiceError).code, 'store_unavailable');
    }
    const after = scene.restart();
    const from = (await after.checkpoint())?.offset ?? 0;
    for (const [i, piece] of pieces.entries()) if (i >= from) await after.store(batchOf(piece, i + 1));
    await assertSame(scene, rows, `killed at statement ${n}`);
    assert.deepEqual(await scene.conversations(), conversations, `killed at statement ${n}`);
    if (!died()) {
      assert.ok(n > 20, `only ${n} statements: the failure was never injected`);
      break;
    }
  }
});

test('history - records in any order and batches, and repeated ones, give the same rows', async () => {
  await using scene = await historyScene();
  const all = await everything();
  await scene.feed(...all);
  const rows = await scene.rows();
  const merging = ['attended-transfer', 'pickup', 'park', 'call-waiting', 'blind-transfer'].flatMap((n) =>
    recorded(n),
  );
  const roots = new Set(
    (rows as readonly { root: string }[])
      .map((r) => r.root)
      .filter((root) => merging.some((r) => r.call === root)),
  );
  const expected = (rows as readonly { root: string }[]).filter((r) => roots.has(r.root));
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...merging], { minLength: merging.length }),
      fc.array(fc.constantFrom(...merging), { maxLength: 20 }),
      fc.integer({ min: 1, max: 60 }),
      async (shuffled, again, size) => {
        await scene.clear();
        for (const piece of inPieces([...shuffled, ...again], size)) await scene.feed(...piece);
        await assertSame(scene, expected);
      },
    ),
    { numRuns: 12 },
  );
});

test('history - a row keeps its id and stays hidden when its conversation is rebuilt', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered');
  const late = records.filter((r) => r.type === 'bridge_exit');
  await scene.feed(...records.filter((r) => r.type !== 'bridge_exit'));
  const db = scene.store.db<Tables>();
  await db.updateTable('history_rows').set({ hidden: 1 }).where('extension', '=', '1001').execute();
  const before = await db.selectFrom('history_rows').selectAll().orderBy('id').execute();
  await scene.feed(...late);
  const after = await db.selectFrom('history_rows').selectAll().orderBy('id').execute();
  assert.deepEqual(
    after.map((r) => [r.id, r.extension, r.hidden]),
    before.map((r) => [r.id, r.extension, r.hidden]),
  );
  assert.equal(after.length, 2);
});

test('history - a call in progress has no row; if the engine died, its next start closes the call', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered');
  const cut = records.filter((r) => r.at_us < records.at(-1)!.at_us - 1_000_000);
  await scene.ingest.engineBooted('first life', records[0]!.at_us / 1000 - 60_000);
  await scene.feed(...cut);
  assert.deepEqual(await scene.rows(), []);
  await scene.ingest.engineBooted('first life', records.at(-1)!.at_us / 1000 + 1000);
  assert.deepEqual(await scene.rows(), [], 'the same life again: our link was away, the call was not');
  await scene.ingest.engineBooted('second life', records.at(-1)!.at_us / 1000 + 1000);
  const rows = (await scene.rows()) as readonly {
    direction: string;
    ended_us: number;
    disposition: string;
  }[];
  const ended_us = Math.floor(cut.at(-1)!.at_us / 1000) * 1000;
  assert.deepEqual(
    rows.map((r) => [r.direction, r.disposition, r.ended_us]),
    [
      ['out', 'ANSWERED', ended_us],
      ['in', 'ANSWERED', ended_us],
    ],
  );
});

test('history - killed between noticing the new start and closing: the next start of the service closes', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered').slice(0, 8);
  const at = records.at(-1)!.at_us / 1000 + 1000;
  await scene.feed(...records);
  await scene.ingest.engineBooted('first', at - 60_000);
  for (let n = 1; ; n += 1) {
    const { store, died } = dying(scene.store, n);
    await scene
      .restart(store)
      .engineBooted('second', at)
      .catch(() => {});
    if (!died()) break;
    await scene.restart().engineBooted('second', at);
    assert.equal((await scene.rows()).length, 2, `killed at statement ${n}`);
    const db = scene.store.db<Tables>();
    await db.updateTable('history_conversations').set({ built: 0 }).execute();
    await db.updateTable('history_facts').set({ value: 'first' }).where('key', '=', 'boot').execute();
    await db.deleteFrom('history_rows').execute();
  }
});

test('history - records of a dead engine that are read after its next start still close', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered').slice(0, 8);
  await scene.ingest.engineBooted('first', records[0]!.at_us / 1000 - 60_000);
  await scene.ingest.engineBooted('second', records.at(-1)!.at_us / 1000 + 60_000);
  await scene.feed(...records);
  assert.equal((await scene.rows()).length, 2);
});

test('history - records of a dead engine are built once all are read, and not before', async () => {
  await using scene = await historyScene();
  const { ingest } = scene;
  const records = recorded('internal-answered');
  const lost = later(recorded('internal-answered').slice(0, 8), 60);
  const [first, second] = [records.slice(0, 5), records.slice(5, 9)];
  await ingest.engineBooted('first', records[0]!.at_us / 1000 - 60_000);
  await ingest.store({ ...batchOf([...first, ...lost], 1), live: false });
  await ingest.engineBooted('second', lost.at(-1)!.at_us / 1000 + 60_000);
  await ingest.store({ ...batchOf(second, 2), live: false });
  assert.deepEqual(await scene.conversations(), []);
  await ingest.store(batchOf(records.slice(9), 3));
  const stored = (await scene.conversations()).map((c) => [c.root, c.state, c.revision, c.record.ended_by]);
  assert.deepEqual(stored, [
    [records[0]!.call, 'final', 1, 'caller'],
    [lost[0]!.call, 'final', 1, 'engine_lost'],
  ]);
});

test('history - a conversation without an end is closed after a silence, an active one is not', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered').filter(
    (r) => r.type !== 'hangup' && r.type !== 'channel_end',
  );
  const shift = (by_us: number): readonly CallRecord[] =>
    records.map((r) => ({ ...r, at_us: r.at_us + by_us, key: `${r.key}${by_us}` }));
  const now_us = Date.now() * 1000;
  await scene.feed(...shift(now_us - SILENT_US + 60_000_000 - records.at(-1)!.at_us));
  await scene.ingest.tidy();
  assert.equal((await scene.rows()).length, 0);
  await scene.clear();
  await scene.feed(...shift(now_us - SILENT_US - 60_000_000 - records.at(-1)!.at_us));
  assert.equal((await scene.rows()).length, 0);
  await scene.ingest.tidy();
  assert.equal((await scene.rows()).length, 2);
});

test('history - malformed lines are kept for support, up to a limit', async () => {
  await using scene = await historyScene();
  const lines = Array.from({ length: 700 }, (_, i) => `line ${i}`);
  for (const offset of [1, 2]) {
    const { checkpoint } = batchOf([], offset);
    await scene.ingest.store({ records: [], malformed: lines, checkpoint, live: true });
  }
  const db = scene.store.db<Tables>();
  const kept = await db.selectFrom('history_malformed').select('line').orderBy('id').execute();
  assert.equal(kept.length, 1000);
  assert.equal(kept.at(-1)!.line, 'line 699');
  assert.equal((await scene.ingest.checkpoint())?.offset, 2);
});

test('history - records of old conversations are packed, and later records are built together with them', async () => {
  await using scene = await historyScene();
  const db = scene.store.db<Tables>();
  const all = ['pickup', 'attended-transfer', 'queue-abandoned'].flatMap((n) => recorded(n));
  const ago = Math.floor(Date.now() / 1000) - 50 * 3600 - all.at(-1)!.at_us / 1_000_000;
  const old = later(all, Math.floor(ago));
  await scene.feed(...old);
  const rows = await scene.rows();
  assert.equal(rows.length, 8);
  const left = old.filter((r) => r.type === 'bridge_exit');
  await scene.clear();
  await scene.feed(...old.filter((r) => r.type !== 'bridge_exit'));
  const echo = recorded('echo');
  const fresh = later(echo, Math.floor(Date.now() / 1000 - echo[0]!.at_us / 1_000_000));
  await scene.feed(...fresh);
  await scene.ingest.tidy();
  const packs = await db.selectFrom('history_packs').selectAll().execute();
  assert.equal(packs.length, 3);
  assert.ok(packs.reduce((n, p) => n + p.records.length, 0) * 5 < JSON.stringify(old).length);
  assert.equal(await scene.loose(), echo.length, 'what is new stays as it is');
  for (const record of left) await scene.feed(record);
  await scene.feed(...old);
  const stored = ((await scene.rows()) as readonly { root: string }[]).filter((r) =>
    (rows as readonly { root: string }[]).some((o) => o.root === r.root),
  );
  assert.deepEqual(stored, rows);
  await scene.ingest.tidy();
  await scene.ingest.tidy();
  assert.equal((await db.selectFrom('history_packs').selectAll().execute()).length, 3);
  assert.equal(await scene.loose(), echo.length);
});

test('history - the owner of a channel is fixed when its record is stored', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered');
  await scene.feed(...records.slice(0, -1));
  scene.directory.remove('1002');
  await scene.feed(...records.slice(-1));
  const rows = (await scene.rows()) as readonly { extension: string; party_name: string }[];
  assert.deepEqual(
    rows.map((r) => r.extension),
    ['1001', '1002'],
  );
});

test('history - a conversation stored while a history is cleared stays visible', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('internal-answered'));
  const slow: Store = {
    ...scene.store,
    async transaction(work) {
      await scene.feed(...later(recorded('internal-answered'), 60));
      return await scene.store.transaction(work);
    },
  };
  await clearCalls(slow, '1001');
  const rows = (await scene.rows()) as readonly { extension: string; hidden: number }[];
  assert.deepEqual(
    rows.filter((r) => r.extension === '1001').map((r) => r.hidden),
    [1, 0],
  );
});
