import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { logRows } from '../../test/conformance/site-log.ts';
import { sharedLog, openMemorySiteLog } from '../../test/support/memory-site-log.ts';
import { sqliteCopyFile } from '../adapters/sqlite/journal-copy.ts';
import { ServiceError } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import { checkOf, firstCheck } from '../core/row-check.ts';
import type { JournalStore } from '../ports/journal-store.ts';
import type { LogState } from '../ports/site-log.ts';
import { attachCopy } from './attach.ts';
import { createSiteRecord } from './site-record.ts';

/** A log in memory and the data folder of its writer. */
async function scene(t: TestContext) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'offhook-attach-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const place = sharedLog();
  const siteLog = openMemorySiteLog(place);
  await siteLog.begin({ epoch: 'first-epoch', began: 1, head: 0, check: firstCheck('first-epoch') });
  const file = path.join(folder, 'journal.db');
  const losses: string[] = [];
  const restored: (number | null)[] = [];
  const s = {
    place,
    siteLog,
    losses,
    restored,
    files: () => readdirSync(folder).filter((name) => /^journal\.db\.(outdated|differs)/.test(name)),
    state: (): LogState => place.state!,
    /** Starts the service on this folder; returns its copy. */
    async start(): Promise<JournalStore> {
      const taken = await siteLog.take({ id: 'a', location: '' }, 60);
      assert.ok(taken.taken);
      const copies = sqliteCopyFile(file, { log: silent, site: 'site' });
      return attachCopy({
        siteLog,
        state: taken.state,
        copyFile: copies,
        log: silent,
        restored: (since) => void restored.push(since),
      });
    },
    /** Commits rows as a running service does. */
    async commit(copy: JournalStore, count: number, word?: string): Promise<void> {
      const rows = logRows({ head: copy.head(), check: copy.check() }, count, word);
      await s.record(copy).append(rows);
      copy.append(rows);
    },
    record: (copy: JournalStore) =>
      createSiteRecord({
        siteLog,
        term: place.state!.term,
        copy,
        log: silent,
        lost: (why) => void losses.push(why),
      }),
    /** The log as a standby without its newest `count` rows has it. */
    cut(count: number): void {
      place.rows = place.rows.slice(0, -count);
      const check = checkOf(place.rows.at(-1)?.json ?? '') || firstCheck(s.state().epoch);
      place.state = { ...s.state(), head: s.state().head - count, check };
    },
    /** Another process appends without this folder. */
    async elsewhere(count: number, word: string): Promise<void> {
      const { term, head } = s.state();
      assert.equal(await siteLog.append(term, head, logRows(s.state(), count, word)), 'appended');
    },
    same(copy: JournalStore): void {
      assert.equal(copy.epoch, s.state().epoch);
      assert.deepEqual([copy.head(), copy.check()], [s.state().head, s.state().check]);
      const rows = (all: readonly object[]) => all.map((row) => ({ ...row }));
      const from = copy.tail() - 1;
      assert.deepEqual(rows(copy.read(from, 10_000)), rows(place.rows.filter((row) => row.seq > from)));
    },
  };
  return s;
}

test('attach - the copy keeps epoch and rows over a restart, and takes what it missed', async (t) => {
  const s = await scene(t);
  let copy = await s.start();
  assert.deepEqual([copy.epoch, copy.head(), copy.tail()], ['first-epoch', 0, 1]);
  await s.commit(copy, 1_200);
  copy.close();
  await s.elsewhere(700, 'one');
  copy = await s.start();
  assert.equal(copy.head(), 1_900);
  assert.equal(copy.tail(), 1);
  s.same(copy);
  await s.commit(copy, 3);
  s.same(copy);
  copy.close();
  assert.deepEqual(s.files(), []);
});

test('attach - a lost tail is put back from the copy, at a start and while the service runs', async (t) => {
  const s = await scene(t);
  let copy = await s.start();
  await s.commit(copy, 600);
  copy.close();
  s.cut(560);
  copy = await s.start();
  assert.deepEqual([copy.epoch, s.state().head], ['first-epoch', 600]);
  assert.deepEqual(s.restored, [1_700_000_000_000 + 41], 'the time of the first row that was lost');
  s.same(copy);
  s.cut(520);
  await s.commit(copy, 2);
  assert.equal(s.state().head, 602);
  s.same(copy);
  assert.deepEqual(s.losses, []);
  s.cut(602);
  copy.close();
  copy = await s.start();
  assert.deepEqual([copy.epoch, s.state().head], ['first-epoch', 602]);
  s.same(copy);
  copy.close();
});

test('attach - a lost tail that was written over gives the log a new epoch after everything known', async (t) => {
  const s = await scene(t);
  let copy = await s.start();
  await s.commit(copy, 10);
  copy.close();
  s.cut(4);
  await s.elsewhere(2, 'other');
  copy = await s.start();
  assert.notEqual(copy.epoch, 'first-epoch');
  assert.deepEqual([copy.began, copy.head(), copy.tail()], [12, 11, 12]);
  assert.deepEqual(s.restored, [null]);
  await s.commit(copy, 2);
  s.same(copy);
  assert.equal(s.files().length, 1);
  copy.close();
  copy = await s.start();
  assert.equal(copy.began, 12);
  s.same(copy);
  copy.close();
});

test('attach - the same while the service runs: it may append no more, and its next start has the new epoch', async (t) => {
  const s = await scene(t);
  const copy = await s.start();
  await s.commit(copy, 10);
  s.cut(4);
  await s.elsewhere(2, 'other');
  const refused = (error: unknown): boolean =>
    error instanceof ServiceError && error.code === 'store_unavailable';
  const record = s.record(copy);
  const rows = logRows({ head: copy.head(), check: copy.check() }, 1);
  await assert.rejects(record.append(rows), refused);
  await assert.rejects(record.append(rows), refused);
  assert.deepEqual(s.losses, ['the log of this site holds other events than it confirmed']);
  copy.close();
  const next = await s.start();
  assert.notEqual(next.epoch, 'first-epoch');
  next.close();
});

test('attach - another process took the log: nothing is appended', async (t) => {
  const s = await scene(t);
  const copy = await s.start();
  await s.commit(copy, 1);
  const record = s.record(copy);
  await s.siteLog.take({ id: 'a', location: 'elsewhere' }, 60);
  await assert.rejects(record.append(logRows({ head: 1, check: copy.check() }, 1)));
  assert.deepEqual(s.losses, ['another process took the log of this site']);
  assert.equal(s.state().head, 1);
  copy.close();
});

test('attach - a folder without a copy, and one that the log has trimmed past, begin at what is kept', async (t) => {
  const s = await scene(t);
  let copy = await s.start();
  await s.commit(copy, 10);
  copy.close();
  await s.elsewhere(20, 'one');
  await s.siteLog.trim(s.state().term, 26);
  copy = await s.start();
  assert.deepEqual([copy.epoch, copy.tail(), copy.head()], ['first-epoch', 26, 30]);
  s.same(copy);
  await s.commit(copy, 1);
  copy.close();
  await s.siteLog.trim(s.state().term, 1_000);
  const other = await scene(t);
  Object.assign(other.place, s.place);
  const fresh = await other.start();
  assert.deepEqual([fresh.epoch, fresh.tail(), fresh.head()], ['first-epoch', 32, 31]);
  await other.commit(fresh, 2);
  other.same(fresh);
  fresh.close();
});
