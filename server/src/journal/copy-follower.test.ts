import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { logRows } from '../../test/conformance/site-log.ts';
import { sharedLog, openMemorySiteLog } from '../../test/support/memory-site-log.ts';
import { sqliteCopyFile } from '../adapters/sqlite/journal-copy.ts';
import { silent } from '../core/log.ts';
import { checkOf, firstCheck } from '../core/row-check.ts';
import type { JournalStore } from '../ports/journal-store.ts';
import { CopyFollower } from './attach.ts';

/** A log in memory that another node writes, and the follower of a standby. */
async function scene(t: TestContext) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'offhook-follower-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const place = sharedLog();
  const siteLog = openMemorySiteLog(place);
  await siteLog.begin({ epoch: 'first-epoch', began: 1, head: 0, check: firstCheck('first-epoch') });
  const taken = await siteLog.take({ id: 'leader', location: '' }, 60);
  assert.ok(taken.taken);
  const { term } = taken.state;
  const opened: JournalStore[] = [];
  const files = sqliteCopyFile(path.join(folder, 'journal.db'), { log: silent, site: 'site' });
  const follower = new CopyFollower({
    siteLog,
    open: async () => ({
      ...files,
      open(start) {
        const copy = files.open(start);
        opened.push(copy);
        return copy;
      },
    }),
    log: silent,
  });
  t.after(() => follower.close());
  return {
    place,
    siteLog,
    term,
    follower,
    copy: () => opened.at(-1)!,
    append: async (count: number): Promise<void> => {
      const state = place.state!;
      assert.equal(await siteLog.append(term, state.head, logRows(state, count)), 'appended');
    },
  };
}

test('copy of a standby - deletes the events that the log deleted, so that it grows no further than the log', async (t) => {
  const { append, copy, follower, siteLog, term } = await scene(t);
  await append(9_000);
  await follower.follow();
  assert.deepEqual([copy().tail(), copy().head()], [1, 9_000]);
  await siteLog.trim(term, 8_001);
  await append(10);
  // A call deletes a part of many events and appends the new ones nevertheless.
  await follower.follow();
  assert.deepEqual([copy().tail(), copy().head()], [5_001, 9_010]);
  await follower.follow();
  assert.deepEqual([copy().tail(), copy().head()], [8_001, 9_010]);
  assert.deepEqual(follower.finding(), { ok: true, detail: '0 events behind' });
});

test('copy of a standby - goes on once the leading node has put the lost events of the log back', async (t) => {
  const { append, copy, follower, place, siteLog, term } = await scene(t);
  await append(10);
  await follower.follow();
  const lost = place.rows.slice(6);
  place.rows = place.rows.slice(0, 6);
  place.state = { ...place.state!, head: 6, check: checkOf(place.rows.at(-1)!.json) };
  await follower.follow();
  assert.deepEqual([follower.head(), follower.finding().ok], [null, false]);
  assert.equal(await siteLog.append(term, 6, lost), 'appended');
  await append(2);
  await follower.follow();
  assert.deepEqual([copy().head(), follower.finding()], [12, { ok: true, detail: '0 events behind' }]);
});
