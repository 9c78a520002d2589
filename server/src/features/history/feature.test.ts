import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { HistoryQuery } from '@offhook/contract/history.ts';
import { recordedIn } from '../../../test/support/call-records.ts';
import { historyJournal } from '../../../test/support/history-journal.ts';
import { batchOf, historyScene, NODE, recorded, recordingFile } from '../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../test/support/history-scene.ts';
import { until } from '../../../test/support/until.ts';
import { CelReader } from '../../adapters/asterisk/cel/reader.ts';
import { systemClock } from '../../core/clock.ts';
import { silent } from '../../core/log.ts';
import type { Log } from '../../core/log.ts';
import type { CallRecords } from '../../ports/call-records.ts';
import { forgetfulAudit, noRecordings } from '../../../test/support/conversations-rig.ts';
import { createHistory } from './feature.ts';
import type { History } from './feature.ts';
import { readFact, writeFact } from './store/store.ts';
import type { Tables } from './store/tables.ts';

const everything = HistoryQuery.parse({ limit: '100' });
const PLAIN = { zone: 'UTC', country: '', recordings: noRecordings, audit: forgetfulAudit };
const linked = (boot_id: string, at: number, node: string = NODE): DomainEvent => ({
  type: 'engine.link_up',
  subject: `engine/${node}`,
  at,
  observed: 'live',
  data: { node, boot_id },
});
async function open(scene: HistoryScene, file: string, log: Log = silent): Promise<History> {
  const journal = historyJournal();
  const history = await createHistory({
    store: scene.store,
    clock: systemClock,
    directory: scene.directory,
    log,
    ...journal.deps,
    ...PLAIN,
    records: new CelReader({ file, node: NODE, log, clock: systemClock, poll_ms: 50 }),
  });
  journal.listen(history);
  history.begin();
  return history;
}
const count = async (history: History, extension: string): Promise<number> =>
  (await history.list({ extension, level: 'user', key: null }, everything)).stats.total_calls;

test('history - a row exists soon after the last record', async () => {
  await using scene = await historyScene();
  const file = path.join(scene.folder, 'offhook.csv');
  await using history = await open(scene, file);
  await fs.writeFile(file, readFileSync(recordingFile('echo')));
  await until('the first call', async () => (await count(history, '1001')) === 1);
  await fs.appendFile(file, readFileSync(recordingFile('internal-answered')));
  await until('the second call', async () => (await count(history, '1001')) === 2, { every: 5 });
});

test('history - closed and reopened during a call: one row, no duplicates', async () => {
  await using scene = await historyScene();
  const file = path.join(scene.folder, 'offhook.csv');
  const bytes = readFileSync(recordingFile('queue-answered'));
  for (const [i, end] of [3000, 3001, 7000, bytes.length].entries()) {
    await fs.writeFile(file, bytes.subarray(0, end));
    await using history = await open(scene, file);
    const lines = bytes.subarray(0, end).toString().split('\n').length - 1;
    await until(`the records of part ${i}`, async () => (await scene.loose()) >= lines, {
      seen: () => ({ lines }),
    });
    await history.close();
    assert.equal(await scene.loose(), lines);
  }
  assert.deepEqual(
    ((await scene.rows()) as readonly { extension: string }[]).map((r) => r.extension),
    ['1001', '1004'],
  );
});

test('history - while the database is locked records wait, and reads continue', async () => {
  await using scene = await historyScene();
  const file = path.join(scene.folder, 'offhook.csv');
  const warnings: string[] = [];
  const log: Log = { ...silent, warn: (_fields, message) => void warnings.push(message), child: () => log };
  await using history = await open(scene, file, log);
  await fs.writeFile(file, readFileSync(recordingFile('echo')));
  await until('the first call', async () => (await count(history, '1001')) === 1);
  const other = new DatabaseSync(scene.database);
  other.exec('begin immediate');
  try {
    await fs.appendFile(file, readFileSync(recordingFile('internal-answered')));
    await until('a refused write', () => warnings.some((w) => w.startsWith('storing call records failed')));
    assert.equal(await count(history, '1001'), 1);
    await assert.rejects(history.act({ extension: '1001', level: 'user', key: null }, { action: 'clear' }), {
      code: 'store_unavailable',
    });
  } finally {
    other.exec('rollback');
    other.close();
  }
  await until('the second call', async () => (await count(history, '1001')) === 2);
});

test('history - a new start of the engine ends the open conversations of the previous one', async () => {
  await using scene = await historyScene();
  const file = path.join(scene.folder, 'offhook.csv');
  const records = recorded('internal-answered');
  const ended = records.at(-1)!.at_us / 1000;
  const lines = readFileSync(recordingFile('internal-answered')).toString().split('\n');
  await fs.writeFile(file, `${lines.slice(0, 8).join('\n')}\n`);
  {
    await using history = await open(scene, file);
    history.onDomainEvent(linked('one', ended - 60_000));
    await until('the records', async () => (await scene.loose()) === 8);
    assert.equal(await count(history, '1001'), 0);
  }
  // The engine restarted while the service was away.
  await using history = await open(scene, file);
  history.onDomainEvent(linked('two', ended + 60_000));
  await until('the conversation is closed', async () => (await count(history, '1001')) === 1);
  await setImmediate();
  assert.equal(await count(history, '1002'), 1);
});

test('history - a failover is no restart of an engine of another node', async () => {
  // The second one is of an earlier version, under the leading node a.
  for (const before of ['x', 'a x']) {
    await using scene = await historyScene();
    const { store, directory } = scene;
    const db = store.db<Tables>();
    const there = recordedIn(nodeId('h'), recordingFile('internal-answered')).slice(0, 8);
    const after = there.at(-1)!.at_us / 1000 + 1000;
    await writeFact(db, 'boot:h', before);
    await scene.feed(...there);
    const records: CallRecords = { read: async function* () {} };
    await using history = await createHistory({
      store,
      directory,
      clock: systemClock,
      log: silent,
      node: 'b',
      records,
      others: new Map([['h', records]]),
      ...historyJournal().deps,
      ...PLAIN,
    });
    history.onDomainEvent(linked('x', after, 'h'));
    history.onDomainEvent(linked('y', after));
    await until('both starts', async () => (await readFact(db, 'boot')) === 'b y');
    assert.deepEqual(await scene.rows(), [], `stored: ${before}`);
    history.onDomainEvent(linked('z', after, 'h'));
    await until('the end of its calls', async () => (await scene.rows()).length === 2);
    assert.equal(await readFact(db, 'boot:h'), 'z');
  }
});

test('history - closing stops everything, also while the source cannot be read', async () => {
  await using scene = await historyScene();
  await using history = await open(scene, path.join(scene.folder, 'nowhere', 'offhook.csv'));
  await history.close();
});

test('history - after an error the source is read again from the last checkpoint', async () => {
  await using scene = await historyScene();
  const asked: (number | null)[] = [];
  const records: CallRecords = {
    async *read(from, signal) {
      asked.push(from?.offset ?? null);
      if (asked.length > 1) return void (await once(signal, 'abort'));
      yield batchOf(recorded('echo'), 7);
      throw new Error('the source broke');
    },
  };
  const clock = { ...systemClock, sleep: (ms: number, s?: AbortSignal) => systemClock.sleep(ms / 100, s) };
  const { store, directory } = scene;
  const journal = historyJournal();
  const rest = { clock, log: silent, ...journal.deps, ...PLAIN };
  await using history = await createHistory({ store, directory, records, ...rest });
  journal.listen(history);
  history.begin();
  await until('the second reading', () => asked.length === 2);
  assert.deepEqual(asked, [null, 7]);
  assert.equal(await count(history, '1001'), 1);
  await history.close();
});
