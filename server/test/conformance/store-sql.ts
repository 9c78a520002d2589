import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import type { Generated } from 'kysely';
import type { Migration, Store } from '../../src/ports/store.ts';

interface Tables {
  thing: {
    id: Generated<number>;
    name: string;
    count: number;
    big: number | null;
    bytes: Uint8Array | null;
  };
}
const things: Migration = {
  id: '0100-things',
  async up(db) {
    await db.schema
      .createTable('thing')
      .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
      .addColumn('name', 'text', (c) => c.notNull().unique())
      .addColumn('count', 'integer', (c) => c.notNull())
      .addColumn('big', 'bigint')
      .addColumn('bytes', 'blob')
      .execute();
    await db.schema.createIndex('thing_big').on('thing').columns(['big', 'id']).execute();
  },
};
const thing = (name: string, count = 0, big: number | null = null) => ({ name, count, big, bytes: null });

/** Meaning of one statement in every Store, wherever databases differ. */
export function sqlConformance(withEmpty: (work: (store: Store) => Promise<void>) => Promise<void>): void {
  const withThings = (work: (store: Store) => Promise<void>): Promise<void> =>
    withEmpty(async (store) => {
      await store.migrate('things', [things]);
      await work(store);
    });
  const add = (store: Store, ...values: ReturnType<typeof thing>[]) =>
    store.db<Tables>().insertInto('thing').values(values).execute();
  const names = (rows: readonly { name: string }[]): string[] => rows.map((row) => row.name);

  it('store - a table that took over rows with their numbers in a migration counts on after them', () =>
    withThings(async (store) => {
      await add(store, thing('a'), thing('b'), thing('c'));
      const copied: Migration = {
        id: '0101-copied',
        async up(db) {
          await db.schema.alterTable('thing').renameTo('thing_before').execute();
          await db.schema.dropIndex('thing_big').execute();
          await things.up(db);
          await sql`insert into thing select * from thing_before`.execute(db);
          await db.schema.dropTable('thing_before').execute();
        },
      };
      await store.migrate('things', [things, copied]);
      await add(store, thing('d'));
      const rows = await store
        .db<Tables>()
        .selectFrom('thing')
        .select(['id', 'name'])
        .orderBy('id')
        .execute();
      assert.deepEqual(rows.at(-1), { id: 4, name: 'd' });
    }));
  it('store - a row without a key gets a new number, also where the table did not ask for numbers', () =>
    withEmpty(async (store) => {
      const plain: Migration = {
        id: '0100-plain',
        async up(db) {
          await db.schema
            .createTable('plain')
            .addColumn('id', 'integer', (c) => c.primaryKey())
            .addColumn('name', 'text', (c) => c.notNull())
            .execute();
        },
      };
      await store.migrate('plain', [plain]);
      const db = store.db<{ plain: { id: Generated<number>; name: string } }>();
      const added = async (name: string): Promise<number> =>
        (await db.insertInto('plain').values({ name }).returning('id').executeTakeFirstOrThrow()).id;
      const ids = [await added('a'), await added('b')];
      assert.deepEqual(ids, [1, 2]);
      await db.insertInto('plain').values({ id: 90, name: 'given' }).execute();
      assert.equal((await db.selectFrom('plain').selectAll().where('id', '=', 90).execute()).length, 1);
    }));

  it('store - text is compared and ordered by its bytes, whatever the language of the database', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      // By bytes this is the order; no language has it.
      const inOrder = [
        '',
        ' z',
        '10',
        '9',
        'B',
        'Zebra',
        '_',
        'a',
        'a b',
        'a-c',
        'ab',
        'b',
        'ä',
        'İ',
        '\u{1F600}',
      ];
      await add(store, ...inOrder.toReversed().map((name) => thing(name)));
      assert.deepEqual(names(await db.selectFrom('thing').select('name').orderBy('name').execute()), inOrder);
      const above = db.selectFrom('thing').select('name').where('name', '>', 'a').orderBy('name');
      assert.deepEqual(names(await above.execute()), inOrder.slice(inOrder.indexOf('a') + 1));
      const { least, most } = await db
        .selectFrom('thing')
        .select((e) => [e.fn.min('name').as('least'), e.fn.max('name').as('most')])
        .executeTakeFirstOrThrow();
      assert.deepEqual([least, most], [inOrder[0], inOrder.at(-1)]);
    }));

  it('store - like tells large and small letters apart, and has the escape that it names', () =>
    withThings(async (store) => {
      await add(store, ...['Ayşe', 'ayşe', '100%', '100x', 'a_b', 'axb', 'c:\\d'].map((name) => thing(name)));
      const like = async (pattern: string) =>
        names(
          await store
            .db<Tables>()
            .selectFrom('thing')
            .select('name')
            .where(sql<boolean>`name like ${pattern} escape '\\'`)
            .orderBy('name')
            .execute(),
        );
      assert.deepEqual(await like('a%'), ['a_b', 'axb', 'ayşe']);
      assert.deepEqual(await like('%Ş%'), []);
      assert.deepEqual(await like('100\\%'), ['100%']);
      assert.deepEqual(await like('a\\_b'), ['a_b']);
      assert.deepEqual(await like('%\\\\%'), ['c:\\d']);
    }));

  it('store - whole numbers stay numbers: large ones, sums, counts, averages; a division of two cuts', () =>
    withThings(async (store) => {
      const most = Number.MAX_SAFE_INTEGER;
      await add(store, thing('a', 3_000_000_000, most), thing('b', -7, 0), thing('c', 8, null));
      const db = store.db<Tables>();
      const rows = await db.selectFrom('thing').select(['count', 'big']).orderBy('id').execute();
      assert.deepEqual(rows, [
        { count: 3_000_000_000, big: most },
        { count: -7, big: 0 },
        { count: 8, big: null },
      ]);
      const sums = await db
        .selectFrom('thing')
        .select((e) => [
          e.fn.sum('count').as('sum'),
          e.fn.sum('big').as('big'),
          e.fn.countAll().as('all'),
          e.fn.count('big').as('known'),
          e.fn.max('big').as('max'),
          e.fn.avg('count').filterWhere('count', '<', 100).as('avg'),
        ])
        .executeTakeFirstOrThrow();
      assert.deepEqual(sums, { sum: 3_000_000_001, big: most, all: 3, known: 2, max: most, avg: 0.5 });
      const none = await db
        .selectFrom('thing')
        .select((e) => e.fn.sum('count').as('sum'))
        .where('name', '=', 'nobody')
        .executeTakeFirstOrThrow();
      assert.equal(none.sum, null);
      const cut = await db
        .selectFrom('thing')
        .select((e) => [e('count', '/', e.lit(2)).as('half'), e('count', '%', e.lit(4)).as('rest')])
        .where('name', '=', 'b')
        .executeTakeFirstOrThrow();
      assert.deepEqual(cut, { half: -3, rest: -3 });
    }));

  it('store - a number that would lose digits is refused rather than changed', () =>
    withThings(async (store) => {
      await add(store, thing('a', 0, Number.MAX_SAFE_INTEGER));
      const db = store.db<Tables>();
      await db
        .updateTable('thing')
        .set((e) => ({ big: e('big', '+', 2) }))
        .execute();
      await assert.rejects(db.selectFrom('thing').selectAll().execute(), RangeError);
      assert.equal((await db.selectFrom('thing').select('name').execute()).length, 1);
    }));

  it('store - bytes come back as they were, as a plain Uint8Array', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      const every = Uint8Array.from({ length: 256 }, (_, i) => i);
      for (const [i, bytes] of [every, Buffer.from(every), new Uint8Array(0)].entries()) {
        await db
          .insertInto('thing')
          .values({ ...thing(`b${i}`), bytes })
          .execute();
      }
      const rows = await db.selectFrom('thing').select('bytes').orderBy('id').execute();
      assert.deepEqual(rows, [{ bytes: every }, { bytes: every }, { bytes: new Uint8Array(0) }]);
      assert.equal(rows[1]!.bytes!.constructor, Uint8Array);
      const found = await db.selectFrom('thing').select('name').where('bytes', '=', every).execute();
      assert.equal(found.length, 2);
    }));

  it('store - text comes back as it was; what it holds does not matter to equality', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      for (const name of [`'"\\;--`, '\t\r\n', '\u{1F4DE} İı', 'x'.repeat(100_000)]) {
        await add(store, thing(name));
        const found = await db.selectFrom('thing').select('name').where('name', '=', name).execute();
        assert.deepEqual(found, [{ name }]);
      }
      // A call record may hold anything, and none may stop those after it.
      await add(store, thing('a\0b'));
      assert.equal(
        (await db.selectFrom('thing').select('id').where('name', '=', 'a\0b').execute()).length,
        1,
      );
    }));

  it('store - where the place of nulls is said, it is kept', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      await add(store, thing('one', 0, 1), thing('none', 0, null), thing('two', 0, 2));
      const order = async (direction: 'asc' | 'desc', nulls: 'first' | 'last') =>
        names(
          await db
            .selectFrom('thing')
            .select('name')
            .orderBy('big', (o) =>
              nulls === 'first' ? o[direction]().nullsFirst() : o[direction]().nullsLast(),
            )
            .execute(),
        );
      assert.deepEqual(await order('asc', 'first'), ['none', 'one', 'two']);
      assert.deepEqual(await order('asc', 'last'), ['one', 'two', 'none']);
      assert.deepEqual(await order('desc', 'first'), ['none', 'two', 'one']);
      assert.deepEqual(await order('desc', 'last'), ['two', 'one', 'none']);
    }));

  it('store - numbers are given out in order and never again, and an insert returns them', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      const insert = (...some: string[]) =>
        db
          .insertInto('thing')
          .values(some.map((name) => thing(name)))
          .returning(['id', 'name'])
          .execute();
      const [a, b] = await insert('a', 'b');
      assert.deepEqual([a!.name, b!.name], ['a', 'b']);
      assert.ok(b!.id > a!.id);
      await db.deleteFrom('thing').execute();
      const [c] = await insert('c');
      assert.ok(c!.id > b!.id, 'a number that was given out comes again');
      const updated = await db.updateTable('thing').set({ count: 5 }).returningAll().execute();
      assert.deepEqual(updated, [{ ...thing('c', 5), id: c!.id }]);
      const deleted = await db.deleteFrom('thing').where('id', '=', c!.id).executeTakeFirstOrThrow();
      assert.equal(deleted.numDeletedRows, 1n);
    }));

  it('store - an insert that meets a row updates it, adds to it or lets it be', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      await add(store, thing('a', 1));
      await db
        .insertInto('thing')
        .values([thing('a', 10), thing('b', 20)])
        .onConflict((c) =>
          c.column('name').doUpdateSet((e) => ({ count: e('thing.count', '+', e.ref('excluded.count')) })),
        )
        .execute();
      const kept = await db
        .insertInto('thing')
        .values(thing('b', 99))
        .onConflict((c) => c.column('name').doNothing())
        .executeTakeFirstOrThrow();
      assert.equal(kept.numInsertedOrUpdatedRows, 0n);
      const rows = await db.selectFrom('thing').select(['name', 'count']).orderBy('name').execute();
      assert.deepEqual(rows, [
        { name: 'a', count: 11 },
        { name: 'b', count: 20 },
      ]);
    }));

  it('store - a page goes on after a pair of values', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      await add(store, ...[2, 1, 2, 1, 3].map((big, i) => thing(String(i), 0, big)));
      const page = async (big: number, id: number) =>
        names(
          await db
            .selectFrom('thing')
            .select('name')
            .where((e) => e(e.refTuple('big', 'id'), '<', e.tuple(e.val(big), e.val(id))))
            .orderBy('big', 'desc')
            .orderBy('id', 'desc')
            .execute(),
        );
      const [first] = await db.selectFrom('thing').select('id').orderBy('id').execute();
      assert.deepEqual(await page(2, first!.id + 2), ['0', '3', '1']);
    }));

  it('store - a list of no values matches nothing, and its opposite everything', () =>
    withThings(async (store) => {
      await add(store, thing('a'));
      const db = store.db<Tables>();
      assert.deepEqual(await db.selectFrom('thing').selectAll().where('name', 'in', []).execute(), []);
      assert.equal(
        (await db.selectFrom('thing').select('id').where('name', 'not in', []).execute()).length,
        1,
      );
    }));

  it('store - inside a transaction, what is undone to a savepoint is gone and the rest stays', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      const trx = await db.startTransaction().execute();
      await trx.insertInto('thing').values(thing('before')).execute();
      const at = await trx.savepoint('here').execute();
      await at.insertInto('thing').values(thing('undone')).execute();
      // Also after a statement that failed, which ends the transaction of some databases.
      await assert.rejects(at.insertInto('thing').values(thing('before')).execute());
      const back = await at.rollbackToSavepoint('here').execute();
      await back.insertInto('thing').values(thing('after')).execute();
      await back.commit().execute();
      assert.deepEqual(names(await db.selectFrom('thing').select('name').orderBy('id').execute()), [
        'before',
        'after',
      ]);
    }));

  it('store - a reader sees all of a transaction or nothing, also while it streams', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      await add(store, ...Array.from({ length: 300 }, (_, i) => thing(String(i), 1)));
      let wrong = 0;
      let seen = 0;
      let done = false;
      const writing = (async () => {
        // A slow reader gets its four reads too.
        for (let count = 2; count < 12 || (seen < 4 && count < 1_000); count += 1) {
          await store.transaction<Tables, void>(async (trx) => {
            await trx.updateTable('thing').set({ count }).where('id', '<=', 150).execute();
            await trx.updateTable('thing').set({ count }).where('id', '>', 150).execute();
          });
        }
      })().finally(() => {
        done = true;
      });
      while (!done) {
        // A store without a server may answer at once: its disk must get a turn too.
        await new Promise((resolve) => setImmediate(resolve));
        const rows = await db.selectFrom('thing').select('count').distinct().execute();
        if (rows.length !== 1) wrong += 1;
        const counts = new Set<number>();
        for await (const row of db.selectFrom('thing').select('count').stream(50)) counts.add(row.count);
        if (counts.size !== 1) wrong += 1;
        seen += 1;
      }
      await writing;
      assert.ok(seen >= 4, `the reader read ${seen} times only`);
      assert.equal(wrong, 0);
    }));

  it('store - a stream gives every row in order, and may be left early', () =>
    withThings(async (store) => {
      const db = store.db<Tables>();
      await add(store, ...Array.from({ length: 250 }, (_, i) => thing(String(i), i)));
      const all: number[] = [];
      const rows = () => db.selectFrom('thing').select('count').where('count', '>=', 0).orderBy('count');
      for await (const { count } of rows().stream(100)) all.push(count);
      assert.deepEqual(
        all,
        Array.from({ length: 250 }, (_, i) => i),
      );
      for (let i = 0; i < 20; i += 1) {
        for await (const { count } of rows().stream(10)) if (count === 3) break;
      }
      assert.equal((await rows().execute()).length, 250);
    }));
}
