import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { historyJournal } from '../../../../test/support/history-journal.ts';
import { historyScene, NODE, recorded, recordingFile } from '../../../../test/support/history-scene.ts';
import { forgetfulAudit, noRecordings } from '../../../../test/support/conversations-rig.ts';
import { until } from '../../../../test/support/until.ts';
import { CelReader } from '../../../adapters/asterisk/cel/reader.ts';
import { createVirtualClock } from '../../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../../core/errors.ts';
import { silent } from '../../../core/log.ts';
import type { CallRecords } from '../../../ports/call-records.ts';
import type { Store } from '../../../ports/store.ts';
import { createHistory } from '../feature.ts';

test('history faults - ten minutes without the store: no reading ahead, and all records are stored afterwards', async () => {
  await using scene = await historyScene();
  const file = path.join(scene.folder, 'offhook.csv');
  const clock = createVirtualClock();
  const gone = { is: false };
  const store: Store = {
    ...scene.store,
    async transaction(work) {
      if (gone.is) throw new ServiceError('store_unavailable', 'the database is away');
      return await scene.store.transaction(work);
    },
  };
  let read = 0;
  const counted: CallRecords = {
    async *read(from, signal) {
      // The reader polls the file in real time: only the waits of the feature are virtual.
      const options = { file, node: NODE, log: silent, clock, chunk_bytes: 2_000, poll_ms: 20 };
      for await (const batch of new CelReader(options).read(from, signal)) {
        read += 1;
        yield batch;
      }
    },
  };
  const journal = historyJournal();
  await using history = await createHistory({
    ...journal.deps,
    store,
    clock,
    directory: scene.directory,
    log: silent,
    zone: 'UTC',
    country: 'DE',
    recordings: noRecordings,
    audit: forgetfulAudit,
    records: counted,
  });
  journal.listen(history);
  history.begin();
  await fs.writeFile(file, readFileSync(recordingFile('echo')));
  await until('the first call', async () => (await scene.conversations()).length === 1);
  gone.is = true;
  const before = read;
  const names = ['internal-answered', 'queue-abandoned', 'hold', 'attended-transfer'];
  for (const name of names) await fs.appendFile(file, readFileSync(recordingFile(name)));
  await until('a batch that cannot be stored', () => read > before);
  for (let minute = 0; minute < 10; minute += 1) await clock.advance(60_000);
  assert.equal(read, before + 1, 'the reader waits: the rest stays in the file');
  assert.equal((await scene.conversations()).length, 1);
  gone.is = false;
  await clock.advance(5_000);
  await until('everything', async () => {
    await clock.advance(1_000);
    const stored = await scene.conversations();
    return stored.length === 1 + names.length && stored.every((c) => c.state !== 'open');
  });
  await until('its events', () => {
    const done = journal.conversations().filter((e) => e.type === 'conversation.finalised');
    return new Set(done.map((e) => e.data.conversation.id)).size === 1 + names.length;
  });
});

test('history faults - a clock set back or forward during a call loses no record', async () => {
  for (const hours of [-1, 30]) {
    await using scene = await historyScene();
    const records = recorded('internal-answered');
    const jumped = records.map((r, i) =>
      i < 8 ? r : { ...r, at_us: r.at_us + hours * 3_600_000_000, key: `${r.key}j` },
    );
    for (const record of jumped) await scene.feed(record);
    const [stored, ...others] = await scene.conversations();
    assert.deepEqual(others, []);
    assert.equal(stored!.state, 'final');
    assert.ok(stored!.record.ended >= stored!.record.started);
    for (const leg of stored!.record.legs) {
      assert.ok(leg.to >= leg.from, `${leg.leg_id} ends before it begins`);
      const sum = leg.segments.reduce((ms, s) => ms + s.to - s.from, 0);
      assert.equal(sum, leg.to - leg.from);
    }
  }
});

test('history faults - hostile names are stored literally, and found', async () => {
  const names = [
    "'; drop table conversations; --",
    '=cmd()',
    '<script>',
    '../../etc',
    'a,"b"\n\u{1f642}',
    'x'.repeat(10_240),
    '\0',
  ];
  for (const name of names) {
    await using scene = await historyScene();
    const file = path.join(scene.folder, 'offhook.csv');
    const text = readFileSync(recordingFile('internal-answered')).toString();
    await fs.writeFile(file, text.replaceAll('"Ada"', `"${name.replaceAll('"', '""')}"`));
    scene.directory.remove('1001');
    const stop = new AbortController();
    const clock = createVirtualClock();
    for await (const batch of new CelReader({ file, node: NODE, log: silent, clock }).read(
      null,
      stop.signal,
    )) {
      assert.deepEqual(batch.malformed, []);
      await scene.ingest.store(batch);
      stop.abort();
    }
    const [stored] = await scene.conversations();
    assert.equal(stored!.record.caller!.name, name.slice(0, 1024).replaceAll('\0', '\ufffd'));
  }
});
