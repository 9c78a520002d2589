import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { NodeId } from '@offhook/contract/ids.ts';
import { logRows } from '../../test/conformance/site-log.ts';
import { until } from '../../test/support/until.ts';
import { sharedLog, openMemorySiteLog } from '../adapters/memory/site-log.ts';
import { sqliteCopyFile } from '../adapters/sqlite/journal-copy.ts';
import { ServiceError } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import { checkOf, firstCheck } from '../core/row-check.ts';
import { openFollowed } from './attach.ts';
import { openJournal } from './journal.ts';
import { Replica } from './replica.ts';

/** A log in memory that another node writes, and a copy that follows it. */
async function scene(t: TestContext) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'offhook-replica-'));
  const shared = sharedLog();
  const writer = openMemorySiteLog(shared);
  await writer.begin({ epoch: 'first-epoch', began: 1, head: 0, check: firstCheck('first-epoch') });
  await writer.take({ id: 'a', location: '' }, 60);
  const s = {
    /** Reads wait for it where it is set. */
    gate: null as Promise<void> | null,
    /** Reads that began while it was set. */
    gated: 0,
    away: false,
    reload: async (): Promise<void> => {},
    /** Heads at which the readers were called. */
    heads: [] as number[],
    /** Heads one turn of the event loop later. */
    next: [] as number[],
    replaced: [] as string[],
    shared,
    async write(count: number, word?: string): Promise<void> {
      const { head, check, term } = shared.state!;
      const rows = logRows({ head, check }, count, word);
      assert.equal(await writer.append(term, head, rows), 'appended');
    },
    async open() {
      const reached =
        <R>(work: () => Promise<R>) =>
        async (): Promise<R> => {
          if (s.gate !== null) s.gated += 1;
          await s.gate;
          if (s.away) throw new ServiceError('store_unavailable', 'away');
          return work();
        };
      const siteLog = {
        state: () => reached(() => writer.state())(),
        read: (after: number, limit: number) => reached(() => writer.read(after, limit))(),
      };
      const copyFile = sqliteCopyFile(path.join(folder, 'journal.db'), { log: silent, site: 'site' });
      const store = (await openFollowed({ siteLog, state: shared.state!, copyFile }))!;
      const journal = openJournal({ store, node: 'w1' as NodeId });
      const replica = new Replica({
        siteLog,
        store,
        journal,
        log: silent,
        committed() {
          s.heads.push(journal.head);
          setImmediate(() => s.next.push(journal.head));
        },
        changesRights: ({ seq }) => seq % 10 === 0,
        reload: () => s.reload(),
        replaced: (why) => void s.replaced.push(why),
      });
      replica.begin();
      t.after(async () => {
        s.gate = null;
        await replica.close();
        journal.close();
        rmSync(folder, { recursive: true, force: true });
      });
      return { replica, journal };
    },
  };
  return s;
}

test('replica - it takes in what the log has, and what follows', async (t) => {
  const s = await scene(t);
  await s.write(3);
  const { replica, journal } = await s.open();
  await replica.reach(3);
  assert.equal(journal.head, 3);
  await s.write(600);
  await replica.reach(603);
  assert.equal(replica.behind(), 0);
  assert.equal(journal.head, 603);
});
test('replica - a cursor ahead of the copy waits for it', async (t) => {
  const s = await scene(t);
  const { replica, journal } = await s.open();
  await until('the first read', () => replica.age() < 1_000);
  const gate = Promise.withResolvers<void>();
  s.gate = gate.promise;
  await s.write(2);
  let done = false;
  const reached = replica.reach(2).then(() => (done = true));
  await until('a read that waits', () => s.gated > 0);
  assert.equal(done, false);
  s.gate = null;
  gate.resolve();
  await reached;
  assert.equal(journal.head, 2);
});
test('replica - a cursor ahead of the log is known as one, and one that cannot be compared is refused', async (t) => {
  const s = await scene(t);
  await s.write(1);
  const { replica, journal } = await s.open();
  await replica.reach(99);
  assert.equal(journal.head, 1, 'it waited for the read that proves it');
  s.away = true;
  await assert.rejects(replica.reach(99, 150), { code: 'store_unavailable' });
});
test('replica - the event after one that changes rights is not visible before they were read', async (t) => {
  const s = await scene(t);
  const gate = Promise.withResolvers<void>();
  const at: number[] = [];
  const { replica, journal } = await s.open();
  s.reload = () => {
    at.push(journal.head);
    return gate.promise;
  };
  await s.write(15);
  await until('the reload', () => at.length > 0);
  assert.deepEqual([at, journal.head], [[10], 10]);
  gate.reject(new ServiceError('store_unavailable', 'away'));
  await until('another attempt', () => at.length > 2);
  assert.equal(journal.head, 10);
  s.reload = async () => {};
  await replica.reach(15);
});
test('replica - it stops at the position of a snapshot, and takes nothing in while one is asked for', async (t) => {
  const s = await scene(t);
  await s.write(1);
  const { replica, journal } = await s.open();
  await replica.reach(1);
  replica.hold();
  await s.write(6);
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(journal.head, 1);
  s.heads.length = s.next.length = 0;
  replica.meet(4);
  await replica.reach(7);
  assert.deepEqual(s.heads, [4, 7]);
  assert.equal(s.next[0], 4, 'readers have time to get there');
});
test('replica - a log of another epoch, or with another event, replaces the copy', async (t) => {
  const s = await scene(t);
  await s.write(3);
  const { replica } = await s.open();
  await replica.reach(3);
  // Another copy of the database, which lost the last event and got another one.
  s.shared.rows.pop();
  const newest = s.shared.rows.at(-1)!;
  s.shared.state = { ...s.shared.state!, head: 2, check: checkOf(newest.json) };
  await s.write(2, 'other');
  await until('the end', () => s.replaced.length > 0);
  assert.match(s.replaced.join(), /event 3 is another one/);
  const again = await s.open();
  await again.replica.reach(4);
  assert.equal(again.journal.head, 4);
});
