import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openSqliteJournal } from '../../src/adapters/sqlite/journal.ts';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import { ServiceError, StartError } from '../../src/core/errors.ts';
import { siteId, storeFile } from '../../src/boot/site-id.ts';
import { nextRows } from '../conformance/journal-continuity.ts';
import { PAGE, ROWS, cutTo, edited, flipped, newFolder, storeWithRows } from '../support/damage.ts';
import { startSite } from '../support/site.ts';

const NOBODY = 65_534;

/** Damages that make a database file unreadable. */
const DAMAGE: Readonly<Record<string, (file: string) => void>> = {
  'cut to nothing': cutTo(() => 0),
  'cut within its header': cutTo(() => 50),
  'cut behind its header': cutTo(() => 100),
  'cut within its first page': cutTo(() => 512),
  'cut to its first page': cutTo(() => PAGE),
  'cut by half': cutTo((whole) => Math.floor(whole / 2)),
  'cut by a page': cutTo((whole) => whole - PAGE),
  'cut by a byte': cutTo((whole) => whole - 1),
  'flipped in the name of its format': flipped(0, 8),
  'flipped in its page size': flipped(16, 2),
  'flipped in its format': flipped(18, 2),
  'flipped in its schema version and format': flipped(40, 8),
  'flipped in its encoding': flipped(56, 4),
  'flipped in the head of the schema page': flipped(100, 16),
  'flipped in the text of the schema': flipped(PAGE - 60, 40),
  'flipped in the head of a leaf page': flipped(PAGE * 3, 8),
  'zeroed in a page': (file) => edited(file, (all) => void all.fill(0, PAGE * 4, PAGE * 5)),
  'another kind of file': (file) => fs.writeFileSync(file, 'not a database '.repeat(1_000)),
  'a folder': (file) => {
    fs.rmSync(file);
    fs.mkdirSync(file);
  },
};
/** The content of a file; null for a folder. */
const contentOf = (file: string): Buffer | null =>
  fs.statSync(file).isFile() ? fs.readFileSync(file) : null;

function journalWithRows(file = path.join(newFolder(), 'journal.db'), site = 'site-one'): string {
  const journal = openSqliteJournal(file, { site });
  journal.append(nextRows(journal, ROWS));
  journal.close();
  return file;
}
const aside = (file: string, why: string): string[] =>
  fs
    .readdirSync(path.dirname(file))
    .filter((name) => name.startsWith(`${path.basename(file)}.${why}-`) && !/-(wal|shm)$/.test(name))
    .map((name) => path.join(path.dirname(file), name));

test('damaged files - the store: each damage is refused by its code, in one sentence, and the file left unchanged', async () => {
  for (const [what, harm] of Object.entries(DAMAGE)) {
    const file = await storeWithRows();
    harm(file);
    const before = contentOf(file);
    await assert.rejects(
      openSqliteStore(file),
      (error) => {
        assert.ok(error instanceof StartError, what);
        assert.equal(error.code, 'store_damaged', what);
        assert.match(error.message, /^[ -~]+$/, `${what}: one line of plain text`);
        assert.ok(error.message.includes(file) && error.message.includes('restore a backup'), what);
        return true;
      },
      what,
    );
    assert.deepEqual(contentOf(file), before, what);
  }
});

test('damaged files - the journal: each damaged file is kept aside, and a new epoch begins beyond every number', () => {
  for (const [what, harm] of Object.entries(DAMAGE)) {
    const file = journalWithRows();
    const before = openSqliteJournal(file);
    const { epoch } = before;
    before.close();
    harm(file);
    const bytes = contentOf(file);
    const journal = openSqliteJournal(file);
    assert.notEqual(journal.epoch, epoch, what);
    assert.ok(journal.began > ROWS, what);
    assert.deepEqual(journal.read(0, 10), [], what);
    journal.append(nextRows(journal, 1));
    journal.close();
    const kept = aside(file, 'damaged');
    assert.equal(kept.length, 1, what);
    assert.deepEqual(contentOf(kept[0] ?? ''), bytes, what);
  }
});

test('damaged files - unreadable store and journal: refused, and nothing is changed', async (t) => {
  const [store, journal] = [await storeWithRows(), journalWithRows()];
  for (const file of [store, journal]) {
    fs.chmodSync(path.dirname(file), 0o755);
    fs.chmodSync(file, 0o000);
  }
  // Root ignores permissions.
  if (process.geteuid?.() === 0) {
    process.seteuid?.(NOBODY);
    t.after(() => process.seteuid?.(0));
  }
  const refused = (error: unknown): boolean =>
    error instanceof ServiceError && error.code === 'store_unavailable';
  await assert.rejects(openSqliteStore(store), refused);
  assert.throws(() => openSqliteJournal(journal), refused);
  assert.deepEqual(aside(journal, 'damaged'), []);
});

test('damaged files - a store of a newer version is refused by its code and names the unknown migration', async () => {
  const file = await storeWithRows();
  const db = new DatabaseSync(file);
  db.exec("insert into offhook_migrations values ('site', '0109-later', '2027-01-01T00:00:00Z')");
  db.close();
  const store = await openSqliteStore(file);
  await assert.rejects(
    siteId(store),
    (error) =>
      error instanceof StartError && error.code === 'store_newer' && /0109-later/.test(error.message),
  );
  await store.close();
});

test('damaged files - a journal of a newer version is kept aside, and a new epoch begins', () => {
  const file = journalWithRows();
  const db = new DatabaseSync(file);
  db.exec('pragma user_version=2');
  db.close();
  const journal = openSqliteJournal(file);
  assert.ok(journal.began > ROWS);
  journal.close();
  assert.equal(aside(file, 'newer').length, 1);
});

test('damaged files - a journal of another site, with its seal: kept aside, none of its events is read', () => {
  const [ours, theirs] = [journalWithRows(), journalWithRows(undefined, 'site-two')];
  for (const part of ['', '.seal']) fs.copyFileSync(theirs + part, ours + part);
  const journal = openSqliteJournal(ours, { site: 'site-one' });
  assert.deepEqual(journal.read(0, 10), []);
  assert.ok(journal.began > ROWS);
  journal.close();
  assert.equal(aside(ours, 'foreign').length, 1);
  const again = openSqliteJournal(ours, { site: 'site-one' });
  assert.equal(again.epoch, journal.epoch, 'the new one is ours');
  again.close();
});

test('damaged files - an older copy of the journal: a new epoch, its events are kept', () => {
  const file = journalWithRows();
  const copy = `${file}.copy`;
  fs.copyFileSync(file, copy);
  const later = journalWithRows(file);
  fs.copyFileSync(copy, later);
  const journal = openSqliteJournal(file, { site: 'site-one' });
  assert.ok(journal.began > ROWS * 2);
  assert.equal(journal.read(0, 10_000).length, ROWS);
  journal.close();
});

test('damaged files - the store of another site: its own people, and our journal is kept aside', async () => {
  const [ours, theirs] = [await storeWithRows(), await storeWithRows()];
  const ids: string[] = [];
  for (const file of [ours, theirs]) {
    const store = await openSqliteStore(file);
    ids.push(await siteId(store));
    await store.close();
  }
  assert.notEqual(ids[0], ids[1]);
  const journalFile = journalWithRows(path.join(path.dirname(ours), 'journal.db'), ids[0]);
  const journal = openSqliteJournal(journalFile, { site: ids[1]! });
  assert.ok(journal.began > ROWS);
  assert.deepEqual(journal.read(0, 10), []);
  journal.close();
  assert.equal(aside(journalFile, 'foreign').length, 1);
});

test('damaged files - the service names the code of a file it cannot start from, with no stack', async () => {
  await using site = await startSite({ wait: 'answers', env: { OFFHOOK_ASTERISK: '/nonexistent/asterisk' } });
  await site.stop();
  const file = path.join(site.dataDir, 'offhook.db');
  const whole = fs.readFileSync(file);
  const refusals: Readonly<Record<string, () => void>> = {
    store_damaged: () => fs.truncateSync(file, whole.length - PAGE),
    store_missing: () => fs.rmSync(file),
    store_newer() {
      const db = new DatabaseSync(file);
      db.exec("insert into offhook_migrations values ('sessions', '9999-later', '2027-01-01T00:00:00Z')");
      db.close();
    },
  };
  assert.equal(storeFile(site.dataDir), file);
  for (const [code, harm] of Object.entries(refusals)) {
    harm();
    await assert.rejects(site.start('answers'), code);
    assert.equal(site.exitCode, 1, code);
    const said = site.tail(5);
    assert.match(said, new RegExp(`Offhook could not start \\(${code}\\): `));
    assert.doesNotMatch(said, /^\s+at /m, 'no stack');
    for (const part of ['-wal', '-shm']) fs.rmSync(file + part, { force: true });
    fs.writeFileSync(file, whole);
  }
  await site.start('answers');
});
