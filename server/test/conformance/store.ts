import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sql } from 'kysely';
import { StartError } from '../../src/core/errors.ts';
import { insertOf } from '../../src/core/inserts.ts';
import type { Migration, Store } from '../../src/ports/store.ts';
import { sqlConformance } from './store-sql.ts';
import { textConformance } from './store-text.ts';

interface Tables {
  item: { id: number; name: string; on: number | boolean };
  part: { id: number; item: number };
}
const tables: Migration = {
  id: '0101-items',
  async up(db) {
    await db.schema
      .createTable('item')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull().unique())
      .addColumn('on', 'boolean', (c) => c.notNull().defaultTo(false))
      .execute();
    await db.schema
      .createTable('part')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('item', 'integer', (c) => c.notNull().references('item.id'))
      .execute();
  },
};

/** Requirements of every Store. `open` gives an empty store; it is closed by the suite. */
export function storeConformance(adapter: string, open: () => Promise<Store>): void {
  const withStore = async (work: (store: Store) => Promise<void>): Promise<void> => {
    const store = await open();
    try {
      await store.migrate('test', [tables]);
      await work(store);
    } finally {
      await store.close();
    }
  };
  const add = (store: Store, name: string) =>
    store.db<Tables>().insertInto('item').values({ id: nextId++, name, on: true }).execute();
  let nextId = 1;
  const names = async (store: Store) =>
    (await store.db<Tables>().selectFrom('item').select('name').orderBy('name').execute()).map((r) => r.name);

  describe(`store (${adapter})`, () => {
    it('store - a write is read back at once, as a plain object', () =>
      withStore(async (store) => {
        await store.db<Tables>().insertInto('item').values({ id: 1, name: 'a', on: true }).execute();
        const rows = await store.db<Tables>().selectFrom('item').selectAll().execute();
        assert.deepEqual(
          rows.map((r) => ({ ...r, on: Boolean(r.on) })),
          [{ id: 1, name: 'a', on: true }],
        );
        assert.equal(Object.getPrototypeOf(rows[0]), Object.prototype);
      }));

    it('store - inserts of any number of rows, whose text is built once for each number', () =>
      withStore(async (store) => {
        let built = 0;
        const insert = insertOf<Tables, Tables['item']>((db, rows) => {
          built += 1;
          return db.insertInto('item').values(rows);
        });
        let id = 0;
        for (const count of [0, 1, 3, 120, 1]) {
          const rows = Array.from({ length: count }, () => ({ id: ++id, name: `n${id}`, on: true }));
          await store.transaction<Tables, void>((trx) => insert(trx, rows));
        }
        const stored = await store
          .db<Tables>()
          .selectFrom('item')
          .select(['id', 'name'])
          .orderBy('id')
          .execute();
        assert.deepEqual(
          stored.map((row) => ({ ...row })),
          Array.from({ length: 125 }, (_, i) => ({ id: i + 1, name: `n${i + 1}` })),
        );
        // Of 120 rows 50, 50 and 20.
        assert.equal(built, 4);
      }));

    it('store - returning, affected rows and raw statements give what they say', () =>
      withStore(async (store) => {
        const db = store.db<Tables>();
        const made = await db
          .insertInto('item')
          .values({ id: 7, name: 'x', on: false })
          .returning('name')
          .executeTakeFirst();
        assert.equal(made?.name, 'x');
        const updated = await db
          .updateTable('item')
          .set({ name: 'y' })
          .where('id', '=', 7)
          .executeTakeFirst();
        assert.equal(updated.numUpdatedRows, 1n);
        const raw = await sql<{ n: number }>`select count(*) as n from item`.execute(db);
        assert.equal(Number(raw.rows[0]?.n), 1);
        const seen: string[] = [];
        for await (const row of db.selectFrom('item').select('name').stream()) seen.push(row.name);
        assert.deepEqual(seen, ['y']);
      }));

    it('store - a transaction that throws leaves nothing behind, and its error comes out', () =>
      withStore(async (store) => {
        const work = store.transaction<Tables, void>(async (trx) => {
          await trx.insertInto('item').values({ id: 1, name: 'lost', on: true }).execute();
          throw new Error('changed my mind');
        });
        await assert.rejects(work, /changed my mind/);
        assert.deepEqual(await names(store), []);
        await add(store, 'kept');
        assert.deepEqual(await names(store), ['kept']);
      }));

    it('store - while a transaction is open, others read the state before it and write after it', () =>
      withStore(async (store) => {
        await add(store, 'before');
        const gate = Promise.withResolvers<void>();
        const written = Promise.withResolvers<void>();
        const open_ = store.transaction<Tables, void>(async (trx) => {
          await trx.insertInto('item').values({ id: 100, name: 'inside', on: true }).execute();
          written.resolve();
          await gate.promise;
          throw new Error('rolled back');
        });
        await written.promise;
        const other = add(store, 'other');
        assert.deepEqual(await names(store), ['before']);
        gate.resolve();
        await assert.rejects(open_, /rolled back/);
        await other;
        assert.deepEqual(await names(store), ['before', 'other']);
      }));

    it('store - transactions take turns: no update is lost', () =>
      withStore(async (store) => {
        await store.db<Tables>().insertInto('item').values({ id: 1, name: '0', on: true }).execute();
        const increment = () =>
          store.transaction<Tables, void>(async (trx) => {
            const row = await trx
              .selectFrom('item')
              .select('name')
              .where('id', '=', 1)
              .executeTakeFirstOrThrow();
            await trx
              .updateTable('item')
              .set({ name: String(Number(row.name) + 1) })
              .where('id', '=', 1)
              .execute();
          });
        await Promise.all(Array.from({ length: 40 }, increment));
        assert.deepEqual(await names(store), ['40']);
      }));

    it('store - a constraint is kept, and its error is not called unavailable', () =>
      withStore(async (store) => {
        await add(store, 'same');
        await assert.rejects(
          add(store, 'same'),
          (e: Error) => !('code' in e && e.code === 'store_unavailable'),
        );
        await assert.rejects(
          store.db<Tables>().insertInto('part').values({ id: 1, item: 999 }).execute(),
          /foreign key/i,
        );
        assert.deepEqual(await names(store), ['same']);
      }));

    it('store - each migration runs once, a failing one leaves nothing, and the next start goes on from there', async () => {
      const store = await open();
      try {
        const ran: string[] = [];
        const step = (id: string, fails = false): Migration => ({
          id,
          async up(db) {
            ran.push(id);
            await db.schema
              .createTable(`t${id.slice(0, 4)}`)
              .addColumn('a', 'integer')
              .execute();
            if (fails) throw new Error('step broke');
          },
        });
        await assert.rejects(store.migrate('f', [step('0101-a'), step('0102-b', true)]), /step broke/);
        await store.migrate('f', [step('0101-a'), step('0102-b'), step('0103-c')]);
        await store.migrate('f', [step('0101-a'), step('0102-b'), step('0103-c')]);
        assert.deepEqual(ran, ['0101-a', '0102-b', '0102-b', '0103-c']);
        await assert.rejects(store.migrate('f', [step('0101-a'), step('0102-b')]), /newer version.*0103-c/s);
        await assert.rejects(store.migrate('g', [step('0102-b'), step('0101-a')]), /sort/);
        await assert.rejects(store.migrate('g', [step('0001-a')]), /sort/, 'before the first release');
        await store
          .db<{ offhook_migrations: { feature: string; id: string; applied_at: string } }>()
          .insertInto('offhook_migrations')
          .values({ feature: 'g', id: '0001-a', applied_at: '' })
          .execute();
        await assert.rejects(
          store.migrate('g', [step('0101-a')]),
          (error) => error instanceof StartError && error.code === 'store_older',
        );
        assert.deepEqual(ran.length, 4, 'nothing ran on what an older build wrote');
      } finally {
        await store.close();
      }
    });

    sqlConformance(withStore);
    textConformance(withStore);

    it('store - what was deleted can be asked to be gone from its files', async () => {
      await withStore(async (store) => {
        assert.equal(typeof (await store.forget()), 'boolean');
      });
    });
    it('store - tells its free space and closes twice', async () => {
      const store = await open();
      assert.ok((await store.freeBytes()) > 0);
      await store.close();
      await store.close();
    });
  });
}
