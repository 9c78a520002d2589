import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import type { SchemaModule } from 'kysely';
import { countTurns } from '../../../test/support/turns.ts';
import { until } from '../../../test/support/until.ts';
import { storeConformance } from '../../../test/conformance/store.ts';
import { ServiceError } from '../../core/errors.ts';
import { createTextIndex } from '../../core/text-index.ts';
import { DamagedDatabaseError } from './database.ts';
import { openSqliteStore } from './store.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'offhook-sqlite-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => path.join(folder, String(++files), 'offhook.db');
interface Tables {
  item: { id: number; name: string };
}
const item = {
  id: '0101',
  up: async (db: { schema: SchemaModule }) => {
    await db.schema
      .createTable('item')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('name', 'text')
      .execute();
  },
};
const unavailable = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'store_unavailable';

storeConformance('sqlite', () => openSqliteStore(newFile()));

test('sqlite store - a write waits for the lock of another program without blocking, then fails', async () => {
  const file = newFile();
  const store = await openSqliteStore(file);
  await store.migrate('test', [item]);
  const db = store.db<Tables>();
  const other = new DatabaseSync(file);
  const waits = async (work: () => Promise<unknown>): Promise<void> => {
    using loop = countTurns();
    await assert.rejects(work, unavailable);
    assert.ok(loop.turns > 100, `${loop.turns} turns of the event loop during the wait`);
  };
  try {
    other.exec('begin immediate');
    const refused = waits(() => db.insertInto('item').values({ id: 1, name: 'a' }).execute());
    assert.deepEqual(await db.selectFrom('item').selectAll().execute(), [], 'reads go on');
    await refused;
    await waits(() => store.transaction<Tables, void>(async () => assert.fail('began without the lock')));
    const waited = db.insertInto('item').values({ id: 2, name: 'b' }).execute();
    setImmediate(() => other.exec('rollback'));
    await waited;
    assert.deepEqual(await db.selectFrom('item').select('name').execute(), [{ name: 'b' }]);
  } finally {
    other.close();
    await store.close();
  }
});

test('sqlite store - an invalid write fails at once: retries are for locks only', async () => {
  const store = await openSqliteStore(newFile());
  await store.migrate('test', [item]);
  const add = () => store.db<Tables>().insertInto('item').values({ id: 1, name: 'a' }).execute();
  await add();
  using loop = countTurns();
  await assert.rejects(add(), /UNIQUE/);
  assert.ok(loop.turns < 50, `${loop.turns} turns of the event loop`);
  await store.close();
});

test('sqlite store - a full disk refuses writes, keeps reads and data, and accepts writes again', async () => {
  const store = await openSqliteStore(newFile());
  await store.migrate('test', [item]);
  const db = store.db<Tables>();
  await db.insertInto('item').values({ id: 1, name: 'kept' }).execute();
  const pages = await sql<{ page_count: number }>`pragma page_count`.execute(db);
  await sql`pragma max_page_count = ${sql.lit(pages.rows[0]?.page_count ?? 0)}`.execute(db);
  const big = 'x'.repeat(100_000);
  await assert.rejects(db.insertInto('item').values({ id: 2, name: big }).execute(), unavailable);
  await assert.rejects(
    store.transaction<Tables, void>(async (trx) => {
      await trx.insertInto('item').values({ id: 3, name: 'small' }).execute();
      await trx.insertInto('item').values({ id: 4, name: big }).execute();
    }),
    unavailable,
  );
  assert.deepEqual(await db.selectFrom('item').select('name').execute(), [{ name: 'kept' }]);
  await sql`pragma max_page_count = 1000000`.execute(db);
  await db.insertInto('item').values({ id: 5, name: big }).execute();
  assert.equal((await db.selectFrom('item').select('id').execute()).length, 2);
  await store.close();
});

test('sqlite store - concurrent writes share their flushes, and each has its own result', async (t) => {
  const store = await openSqliteStore(newFile());
  await store.migrate('test', [item]);
  const db = store.db<Tables>();
  const add = (id: number) => db.insertInto('item').values({ id, name: 'alone' }).execute();
  const addTwo = (id: number, then: () => void = () => {}) =>
    store.transaction<Tables, number>(async (trx) => {
      await trx.insertInto('item').values({ id, name: 'first' }).execute();
      await new Promise((resolve) => setImmediate(resolve));
      await trx
        .insertInto('item')
        .values({ id: id + 1, name: 'second' })
        .execute();
      then();
      return id;
    });
  const { mock } = t.mock.method(fs, 'fdatasync');
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) => {
      if (i % 10 === 3) return addTwo(i * 10, () => assert.fail('thought better of it'));
      // The number of the previous one.
      if (i % 10 === 7) return addTwo((i - 1) * 10);
      return i % 2 === 0 ? addTwo(i * 10) : add(i * 10);
    }),
  );
  const flushes = mock.callCount();
  const committed = results.filter(({ status }) => status === 'fulfilled').length;
  assert.ok(flushes > 0 && flushes < committed, `${flushes} flushes of ${committed}`);
  const expected: number[] = [];
  for (const [i, { status }] of results.entries()) {
    const fails = i % 10 === 3 || i % 10 === 7;
    assert.equal(status, fails ? 'rejected' : 'fulfilled', String(i));
    if (!fails) expected.push(i * 10, ...(i % 2 === 0 ? [i * 10 + 1] : []));
  }
  const rows = await db.selectFrom('item').select('id').orderBy('id').execute();
  assert.deepEqual(
    rows.map((row) => row.id),
    expected,
  );
  await store.close();
});

test('sqlite store - a write is acknowledged only after its flush', async (t) => {
  const store = await openSqliteStore(newFile());
  await store.migrate('test', [item]);
  const flushes: (() => void)[] = [];
  t.mock.method(fs, 'fdatasync', (_fd: number, done: (error: Error | null) => void) => {
    flushes.push(() => done(null));
  });
  const acknowledged: number[] = [];
  const add = (id: number) =>
    store
      .transaction<Tables, void>(async (trx) => {
        await trx.insertInto('item').values({ id, name: 'a' }).execute();
      })
      .then(() => acknowledged.push(id));
  const first = add(1);
  await until('the first flush', () => flushes.length === 1);
  const others = [add(2), add(3)];
  const db = store.db<Tables>();
  await until('three rows', async () => (await db.selectFrom('item').selectAll().execute()).length === 3);
  assert.deepEqual(acknowledged, []);
  flushes[0]!();
  await first;
  assert.deepEqual(acknowledged, [1], 'what came during a flush waits for the next one');
  await until('the second flush', () => flushes.length === 2);
  flushes[1]!();
  await Promise.all(others);
  assert.equal(flushes.length, 2);
  t.mock.restoreAll();
  await store.close();
});

test('sqlite store - a failed flush is reported to all waiting writes, and retried', async (t) => {
  const store = await openSqliteStore(newFile());
  await store.migrate('test', [item]);
  const add = (id: number) => store.db<Tables>().insertInto('item').values({ id, name: 'a' }).execute();
  t.mock.method(fs, 'fdatasync', (_fd: number, done: (error: Error | null) => void) => {
    setImmediate(done, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }));
  });
  await Promise.all([1, 2, 3].map((id) => assert.rejects(add(id), unavailable)));
  t.mock.restoreAll();
  await add(4);
  await store.close();
});

test('sqlite store - acknowledged writes survive kill -9', async () => {
  const file = newFile();
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { openSqliteStore } from ${JSON.stringify(import.meta.resolve('./store.ts'))};
       const store = await openSqliteStore(process.argv[1]);
       await store.migrate('test', [{ id: '0101', up: async (db) => {
         await db.schema.createTable('item').addColumn('id', 'integer', (c) => c.primaryKey()).addColumn('name', 'text').execute();
       } }]);
       for (let id = 1; ; id++) {
         await store.transaction(async (trx) => { await trx.insertInto('item').values({ id, name: 'n' }).execute(); });
         process.stdout.write(id + '\\n');
         await new Promise((r) => setImmediate(r));
       }`,
      file,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let acknowledged = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Number(line);
    if (acknowledged === 50) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL');
  const store = await openSqliteStore(file);
  const rows = await store.db<Tables>().selectFrom('item').select('id').orderBy('id').execute();
  assert.ok(rows.length >= acknowledged, `${acknowledged} acknowledged, ${rows.length} found`);
  assert.deepEqual(
    rows.map((r) => r.id),
    Array.from(rows, (_, i) => i + 1),
  );
  await store.close();
});

test('sqlite store - a damaged file is refused by name and left unchanged', async () => {
  for (const damage of ['header', 'middle'] as const) {
    const file = newFile();
    const store = await openSqliteStore(file);
    await store.migrate('test', [item]);
    const db = store.db<Tables>();
    for (let id = 1; id < 200; id++)
      await db
        .insertInto('item')
        .values({ id, name: 'n'.repeat(500) })
        .execute();
    await store.close();
    const bytes = readFileSync(file);
    if (damage === 'header') bytes.write('not a database at all');
    else bytes.fill(0xa5, 4096 * 4, 4096 * 6);
    writeFileSync(file, bytes);
    await assert.rejects(
      openSqliteStore(file),
      (e) => e instanceof DamagedDatabaseError && e.message.includes(file) && e.file === file,
    );
    assert.deepEqual(readFileSync(file), bytes, damage);
  }
});

test('sqlite - deleted or changed data is nowhere in the files after forget', async () => {
  const file = newFile();
  await using closing = new AsyncDisposableStack();
  const store = await openSqliteStore(file);
  closing.defer(() => store.close());
  await store.migrate('test', [item]);
  const db = store.db<Tables>();
  const secret = (id: number): string => `+49309018${id}`.padEnd(600, '+4930901820 ');
  for (let id = 1; id <= 60; id += 1)
    await db
      .insertInto('item')
      .values({ id, name: secret(id) })
      .execute();
  await store.forget();
  const found = (): boolean =>
    fs
      .readdirSync(path.dirname(file))
      .some((name) => readFileSync(path.join(path.dirname(file), name)).includes('+4930901820'));
  assert.ok(found());
  await db.deleteFrom('item').where('id', '<', 50).execute();
  await db.updateTable('item').set({ name: 'erased-1' }).execute();
  await store.forget();
  assert.ok(!found());
  const other = new DatabaseSync(file, { readOnly: true });
  other.exec('begin');
  other.prepare('select * from item').all();
  await db
    .updateTable('item')
    .set({ name: secret(1) })
    .where('id', '=', 50)
    .execute();
  await db.updateTable('item').set({ name: 'erased-1' }).execute();
  assert.equal(await store.forget(), false, 'somebody else reads what was before');
  other.close();
  assert.equal(await store.forget(), true);
  assert.ok(!found());
});

test('sqlite store - the text index contains nothing of a deleted text', async () => {
  const file = newFile();
  const store = await openSqliteStore(file);
  const db = store.db<{ word: { id: number; text: string } }>();
  await store.migrate('words', [
    {
      id: '0101',
      async up(trx) {
        await sql`create table word (id integer primary key, text text not null)`.execute(trx);
        await createTextIndex(trx, 'word');
      },
    },
  ]);
  const values = Array.from({ length: 500 }, (_, id) => ({ id, text: `caller ${id}` }));
  await db
    .insertInto('word')
    .values([...values, { id: 900, text: 'xyzzy' }])
    .execute();
  await db.deleteFrom('word').where('id', '=', 900).execute();
  await store.close();
  using bare = new DatabaseSync(file);
  bare.exec('create virtual table temp.parts using fts5vocab(main, word_text, row)');
  const parts = bare
    .prepare('select term from parts')
    .all()
    .map((row) => String(row['term']));
  assert.ok(parts.includes('cal'));
  assert.deepEqual(
    parts.filter((part) => part.includes('z')),
    [],
  );
});
