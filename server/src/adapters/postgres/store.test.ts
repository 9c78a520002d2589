import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Generated } from 'kysely';
import { storeConformance } from '../../../test/conformance/store.ts';
import { cuttable } from '../../../test/support/cuttable.ts';
import { PASSWORD } from '../../../test/support/postgres.ts';
import { GiveUp, until } from '../../../test/support/until.ts';
import { usePostgres } from '../../../test/support/use-site.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Migration, Store } from '../../ports/store.ts';
import { openPostgresStore } from './store.ts';

const server = usePostgres();

interface Tables {
  item: { id: Generated<number>; name: string };
}
const item: Migration = {
  id: '0101',
  up: async (db) => {
    await db.schema
      .createTable('item')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('name', 'text')
      .execute();
  },
};
const unavailable =
  (why: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ServiceError &&
    error.code === 'store_unavailable' &&
    why.test(error.message) &&
    !messageOf(error).includes(PASSWORD);

storeConformance('postgres', async () => openPostgresStore(await server().createDatabase()));

test('postgres store - a second service on the same database may not write, and its error names the first; later it may', async () => {
  const url = await server().createDatabase();
  const [first, second] = [openPostgresStore(url), openPostgresStore(url)];
  const add = (store: typeof first, id: number) =>
    store.db<Tables>().insertInto('item').values({ id, name: 'a' }).execute();
  await first.migrate('test', [item]);
  await add(first, 1);
  await second.migrate('test', [item]);
  await assert.rejects(add(second, 2), unavailable(/another Offhook \(offhook-\d+-\w+, from 127\.0\.0\.1\)/));
  await add(first, 3);
  await first.close();
  await until('the second one to write', () => add(second, 4).then(Boolean, () => false));
  const rows = await second.db<Tables>().selectFrom('item').select('id').orderBy('id').execute();
  assert.deepEqual(rows, [{ id: 1 }, { id: 3 }, { id: 4 }]);
  await second.close();
});

test('postgres store - an unanswered commit is settled before the next write: it happened once or not at all', async () => {
  const store = openPostgresStore(await server().createDatabase());
  await store.migrate('test', [item]);
  /** Stores a row once, as ingestion does. */
  const storeOnce = (id: number) =>
    store.transaction<Tables, void>(async (trx) => {
      const known = await trx.selectFrom('item').select('id').where('id', '=', id).execute();
      if (known.length === 0) await trx.insertInto('item').values({ id, name: 'a' }).execute();
      // The commit meets a frozen server.
      if (id % 2 === 0 && !frozen) server().freeze();
      frozen = true;
    });
  let frozen = false;
  const given = 4;
  for (let id = 0; id < given; id += 1) {
    frozen = false;
    await storeOnce(id).catch((error: unknown) => assert.ok(unavailable(/./)(error), String(error)));
    server().resume();
    await until('it to be stored', () =>
      storeOnce(id).then(
        () => true,
        () => false,
      ),
    );
  }
  const rows = await store.db<Tables>().selectFrom('item').select('id').orderBy('id').execute();
  assert.deepEqual(
    rows,
    Array.from({ length: given }, (_, id) => ({ id })),
  );
  await store.close();
});

test('postgres store - a commit that lost its answer counts: the caller does not repeat what the server has stored', async () => {
  await using relay = await cuttable(await server().createDatabase());
  const store = openPostgresStore(relay.url);
  await store.migrate('test', [item]);
  const add = () =>
    store.transaction<Tables, number>(async (trx) => {
      const { id } = await trx
        .insertInto('item')
        .values({ name: 'a' })
        .returning('id')
        .executeTakeFirstOrThrow();
      return Number(id);
    });
  const ids = [await add()];
  for (let n = 0; n < 3; n += 1) {
    relay.loseAnswer('commit\0');
    ids.push(await add());
  }
  const rows = await store.db<Tables>().selectFrom('item').select('id').orderBy('id').execute();
  assert.deepEqual(
    rows.map((row) => row.id),
    ids,
  );
  // A commit that never reached the server is an error.
  relay.cut();
  await assert.rejects(add(), unavailable(/./));
  relay.mend();
  await until('a write', () => add().then(Boolean, () => false));
  assert.equal((await store.db<Tables>().selectFrom('item').select('id').execute()).length, 5);
  await store.close();
});

test('postgres store - a server that was in recovery takes writes as soon as it leads, also from the sessions of before', async () => {
  const url = new URL(await server().createDatabase());
  const sql = (text: string) => server().run(url.href, text);
  await sql('create table in_recovery ()');
  // As on a standby, which has a promotion before it during a failover.
  await sql(`create function public.pg_current_xact_id() returns xid8 language plpgsql as $$ begin
    if exists (select from in_recovery) then
      raise exception 'cannot execute pg_current_xact_id() during recovery' using errcode = '25006';
    end if;
    return pg_catalog.pg_current_xact_id();
  end $$`);
  const own = new URL(url);
  own.searchParams.set('options', '-c search_path=public,pg_catalog');
  const store = openPostgresStore(own.href);
  await store.migrate('test', [item]);
  const add = (name: string) =>
    store.transaction<Tables, void>(
      async (trx) => void (await trx.insertInto('item').values({ name }).execute()),
    );
  await add('before');
  await sql('insert into in_recovery default values');
  for (const name of ['a', 'b']) await assert.rejects(add(name), unavailable(/during recovery/));
  await sql('delete from in_recovery');
  await add('after');
  await store.db<Tables>().insertInto('item').values({ name: 'alone' }).execute();
  const rows = await store.db<Tables>().selectFrom('item').select('name').orderBy('id').execute();
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['before', 'after', 'alone'],
  );
  await store.close();
});

test('postgres store - a process whose term was given to another one may not write, also under the same number', async () => {
  const url = await server().createDatabase();
  await server().run(url, 'create table offhook_log (term bigint not null, holder text)');
  await server().run(url, `insert into offhook_log values (5, 'first')`);
  const [first, second] = ['first', 'second'].map((holder) =>
    openPostgresStore(url, { term: () => ({ term: 5, holder }) }),
  ) as [Store, Store];
  const add = (store: Store, id: number) =>
    store.db<Tables>().insertInto('item').values({ id, name: 'a' }).execute();
  await first.migrate('test', [item]);
  await add(first, 1);
  // As after a failover to a database that lost the takeover of the first process.
  await server().run(url, `update offhook_log set holder = 'second'`);
  await second.migrate('test', [item]);
  await add(second, 2);
  await assert.rejects(add(first, 3), unavailable(/./));
  await until('the first process to be refused', () =>
    add(first, 3).then(
      () => {
        throw new GiveUp('it has written');
      },
      (error: unknown) => /another process took the log of this site/.test(String(error)),
    ),
  );
  await add(second, 4);
  await Promise.all([first.close(), second.close()]);
});

test('postgres store - a wrong account or database is reported without the password, and the store stays usable', async () => {
  const url = await server().createDatabase();
  const wrong = new URL(url);
  wrong.password = 'wrong';
  for (const [address, why] of [
    [wrong.href, /password authentication failed/],
    [`${url}_gone`, /does not exist/],
    [url.replace(/:\d+\//, ':1/'), /ECONNREFUSED/],
  ] as const) {
    const store = openPostgresStore(address);
    await store.migrate('test', [item]);
    await assert.rejects(store.db<Tables>().selectFrom('item').selectAll().execute(), unavailable(why));
    await store.close();
  }
});

test('postgres store - opened while the server is down: nothing is read before its tables exist, then all works', async () => {
  const url = await server().createDatabase();
  await server().kill();
  const store = openPostgresStore(url);
  await store.migrate('test', [item]);
  const read = () => store.db<Tables>().selectFrom('item').selectAll().execute();
  await assert.rejects(read(), unavailable(/ECONNREFUSED/));
  await server().start();
  assert.deepEqual(await until('an answer', () => read().catch(() => undefined)), []);
  await store.close();
});

test('postgres store - a transaction that continued after a failed statement stores nothing, and fails', async () => {
  const store = openPostgresStore(await server().createDatabase());
  await store.migrate('test', [item]);
  const work = store.transaction<Tables, void>(async (trx) => {
    await trx.insertInto('item').values({ id: 1, name: 'a' }).execute();
    await assert.rejects(trx.insertInto('item').values({ id: 1, name: 'b' }).execute());
  });
  await assert.rejects(work, /the transaction was rolled back/);
  assert.deepEqual(await store.db<Tables>().selectFrom('item').selectAll().execute(), []);
  await store.close();
});

test('postgres store - a feature unknown to the move may not store anything', async () => {
  const store = openPostgresStore(await server().createDatabase(), { features: ['history'] });
  await store.migrate('history', [item]);
  await assert.rejects(store.migrate('guests', [item]), /guests is not in boot\/site-tables/);
  await store.close();
});
