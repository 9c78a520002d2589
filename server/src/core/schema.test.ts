import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { createIndex, createTable } from './schema.ts';

function recorder(): { schema: Kysely<unknown>['schema']; statements: string[] } {
  const statements: string[] = [];
  const db = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (of) => new SqliteIntrospector(of),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql),
  });
  return { schema: db.schema, statements };
}

test('schema - a table and its indexes become one statement each', async () => {
  const { schema, statements } = recorder();
  await createTable(schema)`item (
    id integer primary key autoincrement, at bigint not null, name text not null unique, note text not null default '',
    body blob, constraint item_once unique (at, note), constraint item_key primary key (at))`;
  await createIndex(schema)`unique item_at on item (at, note)`;
  await createIndex(schema)`item_name on item (name)`;
  assert.deepEqual(statements, [
    'create table "item" ("id" integer primary key autoincrement, "at" bigint not null, "name" text not null unique, ' +
      '"note" text default \'\' not null, "body" blob, constraint "item_once" unique ("at", "note"), ' +
      'constraint "item_key" primary key ("at"))',
    'create unique index "item_at" on "item" ("at", "note")',
    'create index "item_name" on "item" ("name")',
  ]);
});

test('schema - a text that is not understood as a whole creates nothing', async () => {
  const { schema, statements } = recorder();
  await assert.rejects(createTable(schema)`item (id integer, at date)`, /"at date" does not describe/);
  await assert.rejects(createTable(schema)`item (id integer not  nul)`, /"id integer not nul" does not/);
  await assert.rejects(
    createTable(schema)`item (id integer, constraint a foreign key (id))`,
    /"constraint a/,
  );
  await assert.rejects(createTable(schema)`item id integer`, /"item id integer" does not/);
  await assert.rejects(createIndex(schema)`a on item`, /"a on item" does not/);
  assert.deepEqual(statements, []);
});
