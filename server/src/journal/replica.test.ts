import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { NodeId } from '@offhook/contract/ids.ts';
import { logRows } from '../../test/conformance/site-log.ts';
import { PATIENCE_MS, until } from '../../test/support/until.ts';
import { sharedLog, openMemorySiteLog } from '../../test/support/memory-site-log.ts';
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
    /** Answers to reads wait for it where it is set. */
    slow: null as Promise<void> | null,
    /** Reads so far. */
    reads: 0,
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
        read(after: number, limit: number) {
          s.reads += 1;
          return reached(async () => {
            const rows = await writer.read(after, limit);
            await s.slow;
            return rows;
          })();
        },
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

/** Pauses of the replica between two reads of its own. */
const PAUSES_MS: readonly unknown[] = [50, 250];
/** From here on a pause of the replica ends by `end` or by its news alone: the time of the machine does not count. */
function ownPace(t: TestContext): { end: () => void } {
  const start = globalThis.setTimeout;
  let end = (): void => {};
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms?: number) => {
    if (!PAUSES_MS.includes(ms)) return start(work, ms);
    end = work;
    return undefined;
  });
  return { end: () => end() };
}
const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) await turn();
};

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
  const now = performance.now();
  // The clock of its pauses stands, so that a slow machine ends none of them.
  const { mock } = t.mock.method(performance, 'now', () => now);
  replica.hold();
  await s.write(6);
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(journal.head, 1);
  s.heads.length = s.next.length = 0;
  replica.meet(4);
  await until('its stop there', () => s.next.length > 0);
  mock.restore();
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
test('replica - news of the leading node wakes it, and while it is heard the log is read less often', async (t) => {
  const s = await scene(t);
  await s.write(1);
  const { replica, journal } = await s.open();
  await replica.reach(1);
  const epoch = 'first-epoch';
  assert.equal(replica.hears(), false);
  replica.hear({ epoch, head: 1 });
  assert.equal(replica.hears(), true);
  // The pause that began before it was heard ends first.
  await until('a longer pause', async () => {
    replica.hear({ epoch, head: 1 });
    const { reads } = s;
    await wait(150);
    return s.reads === reads;
  });
  ownPace(t);
  for (let head = 2; head <= 20; head += 1) {
    await s.write(1);
    replica.hear({ epoch, head });
    await until(`event ${head} without its own pace`, () => journal.head === head, { every: 1 });
  }
});
test('replica - news that comes while the log is read is not missed', async (t) => {
  const s = await scene(t);
  const { replica, journal } = await s.open();
  replica.hear({ epoch: 'first-epoch', head: 0 });
  const pace = ownPace(t);
  for (let head = 1; head <= 9; head += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    s.slow = promise;
    const { reads } = s;
    await until('a read under way', () => (pace.end(), s.reads > reads));
    await s.write(1);
    replica.hear({ epoch: 'first-epoch', head });
    s.slow = null;
    resolve();
    await until(`event ${head} without its own pace`, () => journal.head === head, { every: 1 });
  }
});
test('replica - a cursor that is sought while the log is read waits for the next read only', async (t) => {
  const s = await scene(t);
  const { replica } = await s.open();
  replica.hear({ epoch: 'first-epoch', head: 0 });
  const pace = ownPace(t);
  for (let head = 1; head <= 9; head += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    s.slow = promise;
    const { reads } = s;
    await until('a read under way', () => (pace.end(), s.reads > reads));
    await s.write(1);
    const reached = replica.reach(head, PATIENCE_MS);
    s.slow = null;
    resolve();
    await reached;
  }
});
test('replica - doubled, late and forged news cost at most one read between two of its own', async (t) => {
  const s = await scene(t);
  await s.write(5);
  const pace = ownPace(t);
  const { replica, journal } = await s.open();
  await replica.reach(5);
  /** Reads while news come, after the end of a pause of its own. */
  const readsWith = async (news: () => void): Promise<number> => {
    await turns(5);
    const { reads } = s;
    pace.end();
    await until('a read of its own', () => s.reads > reads);
    for (let n = 0; n < 50; n += 1) {
      news();
      await turns(5);
    }
    return s.reads - reads;
  };
  for (let n = 0; n < 4; n += 1) {
    const reads = await readsWith(() => {
      for (const head of [5, 2, 0, Number.MAX_SAFE_INTEGER]) replica.hear({ epoch: 'first-epoch', head });
      replica.hear({ epoch: 'another-epoch', head: 99 });
    });
    assert.ok(reads <= 2, `${reads} reads`);
  }
  assert.equal(journal.head, 5);
  await s.write(1);
  await replica.reach(6);
  s.away = true;
  for (let n = 0; n < 4; n += 1) {
    const reads = await readsWith(() => replica.hear({ epoch: 'first-epoch', head: 1_000 }));
    assert.ok(reads <= 2, `${reads} reads of a database that is away`);
  }
});
