import assert from 'node:assert/strict';
import { test } from 'node:test';
import { historyScene, later, recorded, recordings } from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { e164In } from '../../../numbers/e164.ts';
import { silent } from '../../../core/log.ts';
import { extensionSubject, numberSubject } from '../../../numbers/subject.ts';
import type { Subject } from '../../../numbers/subject.ts';
import type { CallRecord } from '../../../ports/call-records.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import { packRecords, unpack } from '../store/packs.ts';
import type { ConversationRecord } from '../record/record.ts';
import type { Tables } from '../store/tables.ts';
import { createHistoryData } from './personal-data.ts';

const { signal } = new AbortController();
const e164 = e164In('DE');
const PLACEHOLDER = 'erased-7';
const CALLER = '+4930901820';
const NAME = 'Wilhelmina Öztürk "W"';

function dataOf(scene: HistoryScene) {
  const erased: string[] = [];
  const index = {
    ofCalls: () => Promise.resolve(new Map()),
    withRecording: () => Promise.resolve(new Set<string>()),
    erase: (calls: readonly string[]) => {
      erased.push(...calls);
      return Promise.resolve({ erased: 1, bytes: 0 });
    },
  } as RecordingIndex;
  const { store, directory } = scene;
  return { data: createHistoryData({ store, directory, recordings: index, log: silent, e164 }), erased };
}
/** Moves the calls outside, with a number in three spellings and a name. */
function fromOutside(records: readonly CallRecord[]): readonly CallRecord[] {
  const spellings = ['+4930901820', '030901820', '004930901820'];
  const first = records[0]!.caller_number;
  return records.map((r, i) =>
    r.caller_number === first && first !== ''
      ? {
          ...r,
          caller_number: spellings[i % 3]!,
          caller_name: NAME,
          app_data: `x,${spellings[i % 3]!},${NAME}`,
        }
      : r,
  );
}
const asRecorded = (records: readonly CallRecord[]): readonly CallRecord[] => records;
/** Counts and times of a record, without its parties. */
const shapeOf = ({ legs, transfers, visits, ...r }: ConversationRecord) => ({
  ...r,
  dialled: 0,
  dialled_e164: 0,
  caller: 0,
  parties: r.parties.length,
  extensions: r.extensions.length,
  agents: r.agents.length,
  legs: legs.map((leg) => ({ ...leg, participant: 0, endpoint: 0, dialled: 0 })),
  transfers: transfers.map((t) => ({ ...t, to: 0 })),
  visits: visits.map((v) => ({ ...v, agent: 0, offers: v.offers.map((o) => ({ ...o, extension: 0 })) })),
});
const sumsOf = async (scene: HistoryScene) => {
  const rows = await scene.store.db<Tables>().selectFrom('history_rows').selectAll().execute();
  return ['in', 'out', 'missed'].map((direction) =>
    rows
      .filter((row) => row.direction === direction)
      .reduce((n, row) => [n[0]! + 1, n[1]! + row.talk_seconds], [0, 0]),
  );
};
const shapesOf = async (scene: HistoryScene) =>
  (await scene.conversations()).map((c) => [c.root, shapeOf(c.record)]);

const dump = async (scene: HistoryScene): Promise<string> => {
  const db = scene.store.db<Tables>();
  const tables = [
    'history_rows',
    'history_terms',
    'conversation_terms',
    'conversation_keys',
    'conversation_notes',
  ] as const;
  const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()));
  const shown = await db.selectFrom('conversations').select(['search', 'cells']).execute();
  const loose = await db.selectFrom('history_loose').select('records').execute();
  const records = loose.map((row) => unpack<unknown>(row.records));
  return JSON.stringify([rows, records, shown, await scene.conversations()]);
};

for (const [what, subject, prepare] of [
  ['a number', numberSubject(CALLER, 'DE')!, fromOutside],
  ['a number of a trunk', numberSubject('0151 12345678', 'DE')!, asRecorded],
  ['an extension', extensionSubject('1001'), asRecorded],
] as const) {
  test(`erasure - ${what} is erased from every recorded call, and legs, times and totals stay`, async () => {
    await using scene = await historyScene();
    const { data } = dataOf(scene);
    const fed = (await recordings()).flatMap((name, i) => prepare(later(recorded(name), i * 100_000)));
    await scene.feed(...fed);
    const before = { shapes: await shapesOf(scene), sums: await sumsOf(scene) };
    const counted = await data.count(subject, signal);
    assert.ok(counted['conversations']! > 2 && counted['conversation_keys']! > 2, JSON.stringify(counted));
    await data.erase(subject, PLACEHOLDER, signal);
    assert.deepEqual(await data.count(subject, signal), {});
    assert.deepEqual(await shapesOf(scene), before.shapes);
    assert.deepEqual(await sumsOf(scene), before.sums);
    const left = await dump(scene);
    assert.ok(!/901820|Wilhelmina.Öztürk/.test(left) && (subject.kind !== 'number' || !subject.isIn(left)));
    // Reading the engine's file again brings nothing back and changes no conversation.
    const stored = await scene.conversations();
    await scene.feed(...fed);
    assert.deepEqual(await scene.conversations(), stored);
    assert.deepEqual(await data.erase(subject, PLACEHOLDER, signal), {}, 'there is nothing left to erase');
  });
}

const outside = (): readonly CallRecord[] => fromOutside(recorded('internal-answered'));
const subject: Subject = numberSubject('030 901820', 'DE')!;

test('erasure - the conversation is amended once, marked as erased, and loses its notes and recordings', async () => {
  await using scene = await historyScene();
  const { data, erased } = dataOf(scene);
  const records = outside();
  const call = records[0]!.call as string;
  await scene.feed(...records);
  const db = scene.store.db<Tables>();
  const note = { call, at_ms: 1, by: '1002', text: 'Wilhelmina wants her money back' };
  await db.insertInto('conversation_notes').values(note).execute();
  const before = await db.selectFrom('conversations').selectAll().executeTakeFirstOrThrow();
  await data.erase(subject, PLACEHOLDER, signal);
  const after = await db.selectFrom('conversations').selectAll().executeTakeFirstOrThrow();
  assert.deepEqual([before.state, before.revision, before.erased], ['final', 1, 0]);
  assert.deepEqual([after.state, after.revision, after.erased], ['amended', 2, 1]);
  assert.ok(after.change > before.change);
  assert.deepEqual(erased, [call]);
  assert.equal((await db.selectFrom('conversation_notes').select('text').executeTakeFirst())?.text, '');
  const [stored] = await scene.conversations();
  assert.doesNotMatch(JSON.stringify(stored!.record), /901820|Wilhelmina/);
});

test('erasure - call quality stays, without the extension and device of the phone', async () => {
  await using scene = await historyScene();
  const { data } = dataOf(scene);
  const records = recorded('internal-answered');
  await scene.feed(...records);
  const db = scene.store.db<Tables>();
  const call = records[0]!.call as string;
  const report = { call, leg_id: '', at_ms: 1, figures: '{"mos":4.2}', device: 'Firefox 145' };
  for (const extension of ['1001', '1002'])
    await db
      .insertInto('conversation_quality')
      .values({ ...report, extension })
      .execute();
  assert.equal((await data.count(extensionSubject('1001'), signal))['conversation_quality'], 1);
  const gone = await data.erase(extensionSubject('1001'), PLACEHOLDER, signal);
  assert.equal(gone['conversation_quality'], 1);
  assert.deepEqual(await data.count(extensionSubject('1001'), signal), {});
  const left = await db.selectFrom('conversation_quality').selectAll().orderBy('extension').execute();
  assert.deepEqual(left, [
    { ...report, extension: '1002' },
    { ...report, extension: PLACEHOLDER, device: '' },
  ]);
});

test('erasure - packed records are erased too, and late records when they are stored', async () => {
  await using scene = await historyScene();
  const { data } = dataOf(scene);
  const records = outside();
  const late = records.filter((r) => r.caller_number !== '').at(-1)!;
  await scene.feed(...records);
  await packRecords(scene.store, Number.MAX_SAFE_INTEGER);
  assert.equal((await data.count(subject, signal))['history_packs'], 1);
  await data.erase(subject, PLACEHOLDER, signal);
  assert.deepEqual(await data.count(subject, signal), {});
  for (const [i, caller_number] of ['+49 30 901820', '030901820', '(030) 90-18-20'].entries()) {
    await scene.feed({
      ...late,
      key: `late-${i}`,
      at_us: late.at_us + i + 1,
      caller_number,
      caller_name: NAME,
    });
  }
  assert.deepEqual(await data.count(subject, signal), {});
  assert.ok(!(await dump(scene)).includes('Wilhelmina'));
});

test('erasure - after an interruption it continues and ends in the same state', async () => {
  await using scene = await historyScene();
  const { data } = dataOf(scene);
  for (let i = 0; i < 5; i += 1) await scene.feed(...later(outside(), i * 1_000));
  const stop = new AbortController();
  let steps = 0;
  const { store } = scene;
  const failing = createHistoryData({
    store: {
      ...store,
      transaction: (work) => (++steps > 2 ? Promise.reject(new Error('killed')) : store.transaction(work)),
    },
    directory: scene.directory,
    recordings: { erase: () => Promise.resolve({ erased: 0, bytes: 0 }) } as unknown as RecordingIndex,
    log: silent,
    e164,
  });
  await assert.rejects(failing.erase(subject, PLACEHOLDER, stop.signal), /killed/);
  const half = await scene.conversations();
  assert.equal(half.filter((c) => c.state === 'amended').length, 2);
  await data.erase(subject, PLACEHOLDER, signal);
  const all = await scene.conversations();
  assert.deepEqual(
    all.map((c) => [c.state, c.revision]),
    Array.from({ length: 5 }, () => ['amended', 2]),
  );
  assert.deepEqual(await data.count(subject, signal), {});
});

test('erasure - a malformed line is erased whole', async () => {
  await using scene = await historyScene();
  const { data } = dataOf(scene);
  const db = scene.store.db<Tables>();
  const lines = ['"CHAN_START","030901820",', '"CHAN_START","030901821",'];
  await db
    .insertInto('history_malformed')
    .values(lines.map((line) => ({ seen_at: 0, line })))
    .execute();
  assert.deepEqual(await data.erase(subject, PLACEHOLDER, signal), { history_malformed: 1 });
  assert.deepEqual(
    (await db.selectFrom('history_malformed').select('line').execute()).map((r) => r.line),
    lines.slice(1),
  );
});

test('erasure - an extension like a time, a port or a word in a note erases no conversation of others', async () => {
  await using scene = await historyScene();
  const { data, erased } = dataOf(scene);
  const records = recorded('attended-after-answer');
  await scene.feed(...records);
  assert.ok(
    records.some((r) => r.app_data.includes(',30,')),
    'the engine dials for 30 seconds',
  );
  const db = scene.store.db<Tables>();
  const note = { call: records[0]!.call as string, at_ms: 1, by: '1002', text: 'call back at 17 sharp' };
  await db.insertInto('conversation_notes').values(note).execute();
  const before = await dump(scene);
  for (const extension of ['30', '17', '127']) {
    assert.deepEqual(await data.count(extensionSubject(extension), signal), {}, extension);
    await data.erase(extensionSubject(extension), PLACEHOLDER, signal);
  }
  assert.deepEqual([erased, await dump(scene)], [[], before]);
});
