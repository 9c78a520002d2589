import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync, backup } from 'node:sqlite';
import { test } from 'node:test';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import type { SqliteStore } from '../../src/adapters/sqlite/store.ts';
import { silent } from '../../src/core/log.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { cutTo, edited, flipped, newFolder, storeWithRows } from '../support/damage.ts';
import type { Items } from '../support/damage.ts';
import { readDatabase } from '../support/journal.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';

/** Rows of `later` in the store, and the number of writes named by each gap. */
async function found(store: SqliteStore): Promise<{ readonly later: string[]; readonly lost: number[] }> {
  const rows = await store
    .db<Items>()
    .selectFrom('item')
    .select('name')
    .where('name', 'like', 'later %')
    .execute();
  return { later: rows.map(({ name }) => name), lost: store.gaps.map(({ writes }) => writes) };
}
async function addLater(store: SqliteStore, count: number): Promise<void> {
  const db = store.db<Items>();
  for (let i = 0; i < count; i += 1)
    await db
      .insertInto('item')
      .values({ name: `later ${i}` })
      .execute();
}
/** Opens the store and closes it again. */
async function lookedAt(file: string): Promise<Awaited<ReturnType<typeof found>>> {
  const store = await openSqliteStore(file);
  try {
    return await found(store);
  } finally {
    await store.close();
  }
}
const copied = (from: string, to: string, parts: readonly string[]): void => {
  for (const part of parts) fs.copyFileSync(from + part, to + part);
};

test('lost writes - the write-ahead log of the store is cut after a kill: the first commits are left, the lost ones are counted', async () => {
  const parts: Readonly<
    Record<string, readonly [part: string, harm: (file: string) => void, isWhole: boolean]>
  > = {
    'as it was left': ['-wal', () => undefined, true],
    'without its index': ['-shm', (file) => fs.rmSync(file), true],
    'an index of zeros': ['-shm', (file) => edited(file, (all) => void all.fill(0)), true],
    'log removed': ['-wal', (file) => fs.rmSync(file), false],
    'log cut by half': ['-wal', cutTo((whole) => Math.floor(whole / 2)), false],
    'log cut by a byte': ['-wal', cutTo((whole) => whole - 1), false],
    'log cut within its header': ['-wal', cutTo(() => 20), false],
    'log flipped in its header': ['-wal', flipped(8, 8), false],
    'log flipped in a frame': ['-wal', flipped(32 + 24 + 100, 4), false],
  };
  const killed = path.join(newFolder(), 'offhook.db');
  const file = await storeWithRows();
  const store = await openSqliteStore(file);
  await addLater(store, 20);
  copied(file, killed, ['', '-wal', '-shm', '.seal']);
  await store.close();
  for (const [what, [part, harm, isWhole]] of Object.entries(parts)) {
    const left = path.join(newFolder(), 'offhook.db');
    copied(killed, left, ['', '-wal', '-shm', '.seal']);
    harm(left + part);
    const { later, lost } = await lookedAt(left);
    assert.deepEqual(
      later,
      Array.from(later, (_, i) => `later ${i}`),
      what,
    );
    assert.equal(later.length === 20, isWhole, what);
    assert.deepEqual(lost, isWhole ? [] : [20 - later.length], what);
    assert.deepEqual((await lookedAt(left)).lost, lost, `${what}, opened again`);
  }
});

test('lost writes - an older copy of the store: the lost writes are counted each time it is restored', async () => {
  const file = await storeWithRows();
  const copy = `${file}.copy`;
  copied(file, copy, ['']);
  const lines: string[] = [];
  const log = { ...silent, error: (_fields: object, message: string) => void lines.push(message) };
  for (const lost of [3, 7]) {
    const later = await openSqliteStore(file);
    await addLater(later, lost);
    await later.close();
    copied(copy, file, ['']);
    const store = await openSqliteStore(file, { log });
    const [gap] = store.gaps;
    assert.ok(gap !== undefined && gap.from <= gap.to && gap.to <= gap.found && !gap.reported);
    await store.gapReported(gap.id);
    await store.close();
    const again = await openSqliteStore(file, { log });
    assert.deepEqual(again.gaps, [{ ...gap, reported: true }]);
    await again.close();
  }
  assert.equal(lines.length, 2, 'said once for each');
  assert.match(lines[0] ?? '', /^the store has lost its newest 3 writes: it holds \d+ of \d+$/);
});

test('lost writes - no report for a store that lost nothing: folder copied, backup, created anew, of another site', async () => {
  const file = await storeWithRows();
  const folder = path.join(newFolder(), 'offhook.db');
  const backedUp = path.join(newFolder(), 'offhook.db');
  copied(file, folder, ['', '.seal']);
  assert.deepEqual((await lookedAt(folder)).lost, [], 'the whole folder');
  const running = await openSqliteStore(file);
  await addLater(running, 3);
  const source = new DatabaseSync(file, { readOnly: true });
  await backup(source, backedUp);
  source.close();
  await addLater(running, 3);
  await running.close();
  const { later, lost } = await lookedAt(backedUp);
  assert.deepEqual([later.length, lost], [3, []], 'the backup of a running store');
  const theirs = await storeWithRows();
  copied(theirs, file, ['']);
  assert.deepEqual((await lookedAt(file)).lost, [], 'the store of another site');
  fs.rmSync(folder);
  const empty = await openSqliteStore(folder);
  assert.deepEqual(empty.gaps, [], 'moved away to begin with an empty one');
  await empty.close();
});

test('lost writes - an unreadable or unwritable seal: the store continues, and nothing is counted', async () => {
  const harms: Readonly<Record<string, (seal: string) => void>> = {
    removed: (seal) => fs.rmSync(seal),
    'cut to nothing': cutTo(() => 0),
    'cut by half': cutTo((whole) => Math.floor(whole / 2)),
    'flipped in its count': flipped(45, 1),
    'a folder'(seal) {
      fs.rmSync(seal);
      fs.mkdirSync(seal);
    },
  };
  for (const [what, harm] of Object.entries(harms)) {
    const file = await storeWithRows();
    harm(`${file}.seal`);
    const store = await openSqliteStore(file);
    await addLater(store, 2);
    assert.deepEqual(await found(store), { later: ['later 0', 'later 1'], lost: [] }, what);
    await store.close();
  }
});

test('lost writes - the seal of the store is never ahead of the disk', async () => {
  const file = await storeWithRows();
  const flushes: PromiseWithResolvers<void>[] = [];
  const flusher = {
    async flush() {
      const flush = Promise.withResolvers<void>();
      flushes.push(flush);
      await flush.promise;
    },
    close: async () => undefined,
  };
  const opening = openSqliteStore(file, { flusher });
  await until('the first flush', () => flushes.length === 1);
  flushes[0]?.resolve();
  const store = await opening;
  const sealed = (): string => fs.readFileSync(`${file}.seal`, 'latin1');
  const before = sealed();
  const refused = assert.rejects(addLater(store, 1), /no flush/);
  await until('a commit', async () => (await found(store)).later.length === 1);
  assert.equal(sealed(), before);
  flushes[1]?.reject(new Error('no flush'));
  await refused;
  assert.equal(sealed(), before);
  const added = addLater(store, 1);
  await until('another commit', () => flushes.length === 3);
  flushes[2]?.resolve();
  await added;
  assert.notEqual(sealed(), before);
  await store.close();
});

/** Events of the type in the journal of a site. */
function journalled(site: Site, type: string): { readonly data: Record<string, unknown> }[] {
  const db = readDatabase(path.join(site.dataDir, 'journal.db'));
  try {
    const rows = db.prepare('select json from journal where type = ?').all(type);
    return rows.map(({ json }) => JSON.parse(String(json)) as { data: Record<string, unknown> });
  } finally {
    db.close();
  }
}
const signedIn = async (site: Site): Promise<Person> => {
  const own = (await site.credentials()).find(({ extension }) => extension === '1003');
  assert.ok(own);
  return signIn(site.base, own.extension, own.password);
};
async function changes(
  site: Site,
  person: Person,
  query: string,
): Promise<{ status: number; cursor?: string }> {
  const response = await fetch(`${site.base}/api/v1/conversations/changes${query}`, {
    headers: { authorization: `Bearer ${person.token}` },
  });
  return { ...((await response.json()) as { cursor?: string }), status: response.status };
}

test('lost writes - the log of the store removed after a kill: log, event, health and the feed of changes report it', async () => {
  await using site = await startSite({ wait: 'answers', env: { OFFHOOK_ASTERISK: '/nonexistent/asterisk' } });
  const store = async (): Promise<unknown> => {
    const response = await fetch(`${site.base}/readyz`);
    return ((await response.json()) as { checks: Record<string, string> }).checks['store'];
  };
  const file = path.join(site.dataDir, 'offhook.db');
  await site.stop();
  await site.start('answers');
  assert.equal(await store(), 'ok');
  const before = await signedIn(site);
  const { cursor = '' } = await changes(site, before, '');
  assert.equal((await changes(site, before, `?cursor=${cursor}`)).status, 200);
  await site.kill('SIGKILL');
  await site.start('answers');
  assert.equal((await changes(site, before, `?cursor=${cursor}`)).status, 200, 'after a kill alone');
  assert.equal((await signedIn(site)).extension, '1003');
  await site.kill('SIGKILL');
  for (const part of ['-wal', '-shm']) fs.rmSync(file + part);
  for (const again of ['first', 'second']) {
    await site.start('answers');
    const [reported, ...others] = await until('the event', () => {
      const events = journalled(site, 'store.gap');
      return events.length > 0 && events;
    });
    assert.deepEqual(others, [], again);
    assert.ok(Number(reported?.data['writes']) > 0);
    assert.equal(await store(), 'failing', again);
    const after = await signedIn(site);
    assert.equal((await changes(site, after, `?cursor=${cursor}`)).status, 409, again);
    const lines = await until('the line in the log', () =>
      fs
        .readFileSync(path.join(site.dataDir, 'logs', 'offhook.log'), 'utf8')
        .match(/the store has lost its newest/g),
    );
    assert.equal(lines.length, 1, again);
    await site.stop();
  }
});
