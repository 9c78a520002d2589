import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { journalContinuityConformance, nextRows } from '../../../test/conformance/journal-continuity.ts';
import { journalRow, journalRows, journalStoreConformance } from '../../../test/conformance/journal-store.ts';
import { journalFolder } from '../../../test/support/journal-file.ts';
import { ServiceError } from '../../core/errors.ts';
import { openSqliteJournal } from './journal.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'offhook-journal-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => path.join(folder, String(++files), 'journal.db');
const unavailable = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'store_unavailable';

journalStoreConformance('sqlite', () => openSqliteJournal(newFile()));
journalContinuityConformance('sqlite', () => journalFolder(path.dirname(newFile())));

test('sqlite journal - a restart keeps epoch, head, tail and rows', () => {
  const file = newFile();
  const first = openSqliteJournal(file);
  first.append(journalRows(1, 5));
  first.trim(6);
  first.close();
  const second = openSqliteJournal(file);
  assert.equal(second.epoch, first.epoch);
  assert.equal(second.head(), 5);
  assert.equal(second.tail(), 6);
  second.append([journalRow(6)]);
  second.close();
  const third = openSqliteJournal(file);
  assert.deepEqual([third.epoch, third.head(), third.tail()], [first.epoch, 6, 6]);
  third.close();
});

test('sqlite journal - a checkpoint of the first release is read', () => {
  const file = newFile();
  const first = openSqliteJournal(file);
  first.append(journalRows(1, 5));
  first.close();
  const db = new DatabaseSync(file);
  const kept = JSON.stringify({ seq: 4, text: '{"version":1}' });
  db.prepare("insert into meta (key, value) values ('checkpoint', ?)").run(kept);
  db.close();
  const second = openSqliteJournal(file);
  assert.deepEqual(second.checkpoint(), { seq: 4, text: '{"version":1}' });
  assert.equal([...second.saveCheckpoint(5, ['new', 'er'])].length, 2);
  second.close();
  const third = openSqliteJournal(file);
  assert.deepEqual({ ...third.checkpoint() }, { seq: 5, text: 'newer' });
  third.append(journalRows(6, 8));
  third.close();
  // 0.1.0 goes on with the journal and saves its own.
  const old = new DatabaseSync(file);
  old.prepare("insert into meta (key, value) values ('checkpoint', ?)").run('7 {"version":1}');
  old.close();
  const fourth = openSqliteJournal(file);
  assert.deepEqual({ ...fourth.checkpoint() }, { seq: 7, text: '{"version":1}' });
  assert.equal([...fourth.saveCheckpoint(8, ['newest'])].length, 1 + 2);
  assert.deepEqual({ ...fourth.checkpoint() }, { seq: 8, text: 'newest' });
  fourth.close();
});

test('sqlite journal - a save of a checkpoint that was cut off leaves the one before and, after the next, no pieces', () => {
  const file = newFile();
  const first = openSqliteJournal(file);
  first.append(journalRows(1, 5));
  assert.equal([...first.saveCheckpoint(4, ['a', 'b', 'c'])].length, 3);
  const cut = first.saveCheckpoint(5, ['d', 'e', 'f']);
  cut.next();
  cut.next();
  first.close();
  const second = openSqliteJournal(file);
  assert.deepEqual({ ...second.checkpoint() }, { seq: 4, text: 'abc' });
  const steps = second.saveCheckpoint(5, ['g']);
  assert.deepEqual([steps.next().value, steps.next().value], [0, 0], 'the pieces that were cut off go first');
  assert.equal([...steps].length, 1 + 3);
  assert.deepEqual({ ...second.checkpoint() }, { seq: 5, text: 'g' });
  second.close();
  const db = new DatabaseSync(file);
  assert.equal(db.prepare('select count(*) as pieces from checkpoint_pieces').get()?.['pieces'], 1);
  db.close();
});

/**
 * A process that appends three rows at a time up to `most` and then waits, killed after it printed a head of 300 or more.
 * With 300, all its commits are sealed.
 */
async function killedWhileAppending(
  file: string,
  most = 330,
): Promise<{ epoch: string; acknowledged: number }> {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { openSqliteJournal } from ${JSON.stringify(import.meta.resolve('./journal.ts'))};
       import { nextRows } from ${JSON.stringify(import.meta.resolve('../../../test/conformance/journal-continuity.ts'))};
       const journal = openSqliteJournal(process.argv[1]);
       process.stdout.write(journal.epoch + '\\n');
       for (;;) {
         journal.append(nextRows(journal, 3));
         process.stdout.write(journal.head() + '\\n');
         // Stops before the write-ahead log restarts, so that its end is the newest commit.
         if (journal.head() >= ${most}) await new Promise(() => setInterval(() => {}, 1_000));
         await new Promise((r) => setImmediate(r));
       }`,
      file,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let epoch = '';
  let acknowledged = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (epoch === '') epoch = line;
    else acknowledged = Number(line);
    if (acknowledged === 300) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.ok(acknowledged >= 300, `${acknowledged} rows before the end`);
  return { epoch, acknowledged };
}

test('sqlite journal - committed groups survive kill -9, under the same epoch', async () => {
  const file = newFile();
  const { epoch, acknowledged } = await killedWhileAppending(file);
  const journal = openSqliteJournal(file);
  assert.equal(journal.epoch, epoch);
  assert.ok(journal.head() >= acknowledged);
  assert.equal(journal.head() % 3, 0, 'a group is whole or not there');
  assert.equal(journal.read(0, 100_000).length, journal.head());
  journal.close();
});

for (const [what, cut] of Object.entries({
  'cut by its last byte': (bytes: Buffer) => bytes.subarray(0, -1),
  'cut by half': (bytes: Buffer) => bytes.subarray(0, bytes.length / 2),
  'cut to nothing': (bytes: Buffer) => bytes.subarray(0, 0),
  'with a flipped byte at its end': (bytes: Buffer) => {
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 100) ^ 4, bytes.length - 100);
    return bytes;
  },
  'with a flipped byte in the middle': (bytes: Buffer) => {
    const middle = Math.floor(bytes.length / 2);
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 4, middle);
    return bytes;
  },
})) {
  test(`sqlite journal - killed, and its write-ahead log ${what}: a new epoch after every assigned number`, async () => {
    const file = newFile();
    const { epoch, acknowledged } = await killedWhileAppending(file, 300);
    const wal = `${file}-wal`;
    writeFileSync(wal, cut(readFileSync(wal)));
    const journal = openSqliteJournal(file);
    assert.notEqual(journal.epoch, epoch);
    assert.ok(journal.began > acknowledged);
    journal.close();
  });
}

test('sqlite journal - the seal is lost or unreadable: a new epoch', () => {
  for (const harm of [
    (seal: string) => rmSync(seal),
    (seal: string) => writeFileSync(seal, ''),
    (seal: string) => writeFileSync(seal, readFileSync(seal).subarray(0, 100)),
    (seal: string) => writeFileSync(seal, 'nonsense'.padEnd(160)),
  ]) {
    const file = newFile();
    const first = openSqliteJournal(file);
    first.append(nextRows(first, 3));
    first.close();
    harm(`${file}.seal`);
    const second = openSqliteJournal(file);
    assert.notEqual(second.epoch, first.epoch);
    assert.ok(second.began > 1_000, 'well beyond what the lost one may have given out');
    second.close();
    const third = openSqliteJournal(file);
    assert.deepEqual([third.epoch, third.began, third.head()], [second.epoch, second.began, second.head()]);
    third.close();
  }
});

test('sqlite journal - a lock or a full disk refuses the group; the same group goes in afterwards', (t) => {
  const file = newFile();
  const { mock } = t.mock.method(DatabaseSync.prototype, 'exec');
  const journal = openSqliteJournal(file);
  mock.restore();
  const writer = mock.calls.at(-1)!.this as DatabaseSync;
  assert.equal(writer.location(), file);
  // SQLite would wait for the lock inside the event loop.
  assert.equal(writer.prepare('pragma busy_timeout').get()!['timeout'], 0);
  journal.append(journalRows(1, 3));
  const other = new DatabaseSync(file);
  other.exec('begin immediate');
  assert.throws(() => journal.append(journalRows(4, 6)), unavailable);
  assert.equal(journal.read(0, 10).length, 3, 'reads go on');
  other.exec('rollback');
  other.close();
  journal.append(journalRows(4, 6));
  assert.equal(journal.head(), 6);
  journal.close();
});

test('sqlite journal - the machine went down without a clean close: a new epoch, since the tail may be lost', () => {
  const file = newFile();
  const first = openSqliteJournal(file);
  first.append(journalRows(1, 3));
  first.close();
  const other = new DatabaseSync(file);
  other.exec("insert into meta (key, value) values ('open_on', 'another-boot')");
  other.close();
  const second = openSqliteJournal(file);
  assert.notEqual(second.epoch, first.epoch);
  assert.deepEqual([second.read(0, 10).length, second.began > 4], [3, true]);
  second.close();
});

test('sqlite journal - a restored copy takes a new epoch', () => {
  const file = newFile();
  const first = openSqliteJournal(file);
  first.append(journalRows(1, 3));
  first.close();
  copyFileSync(file, `${file}.backup`);
  renameSync(`${file}.backup`, file);
  const second = openSqliteJournal(file);
  assert.notEqual(second.epoch, first.epoch);
  second.close();
});

test('sqlite journal - a damaged file is kept aside untouched and a new log begins', () => {
  const file = newFile();
  const first = openSqliteJournal(file);
  first.append(journalRows(1, 3));
  first.close();
  const bytes = readFileSync(file);
  bytes.write('scribbled over');
  writeFileSync(file, bytes);
  const second = openSqliteJournal(file);
  assert.notEqual(second.epoch, first.epoch);
  assert.deepEqual([second.head(), second.began, second.tail()], [4, 5, 5], 'no number a second time');
  assert.deepEqual(second.read(0, 10), []);
  second.append(journalRows(5, 6));
  second.close();
  const aside = readdirSync(path.dirname(file)).filter((f) => f.includes('.damaged-'));
  assert.equal(aside.length, 1);
  assert.deepEqual(readFileSync(path.join(path.dirname(file), aside[0] ?? '')), bytes);
});
