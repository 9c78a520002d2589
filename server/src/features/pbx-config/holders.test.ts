import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { storedObject } from './model.ts';
import { newIdentity, openObjects, writeVersion } from './objects.ts';
import { seed } from './seed.ts';
import { migrations } from './tables.ts';
import type { ObjectTables } from './tables.ts';

test('holders - an upgrade keeps the order of the holders of an extension also if their versions have equal or earlier times', async () => {
  const kind = 'extension';
  const key = '1001';
  for (const third of [300, 250]) {
    await using temp = await temporaryStore();
    await temp.store.migrate(
      'pbx-config',
      migrations.filter(({ id }) => id < '0230-pbx-config-holders'),
    );
    await seed(temp.store, { empty: true, at: 100 });
    const db = temp.store.db<ObjectTables>();
    // A first start of an earlier version stored no holders.
    await db.deleteFrom('config_holders').execute();
    const row = await db
      .selectFrom('config_objects')
      .selectAll()
      .where('key', '=', key)
      .executeTakeFirstOrThrow();
    const body = JSON.parse(row.body) as ConfigBody<'extension'>;
    const people = [Number(row.id)];
    await temp.store.transaction<ObjectTables, void>(async (trx) => {
      for (const at of [300, third]) {
        const by = { author: 'defne', comment: null, at };
        await writeVersion(trx, [{ kind, key, object: null }], by);
        const id = await newIdentity(trx, kind, key);
        await writeVersion(trx, [{ kind, key, object: storedObject(id, kind, body) }], by);
        people.push(id);
      }
    });
    await temp.store.migrate('pbx-config', migrations);
    const holders = await db
      .selectFrom('config_holders')
      .selectAll()
      .where('extension', '=', key)
      .orderBy('since_ms')
      .execute();
    assert.deepEqual(
      holders.map(({ person }) => Number(person)),
      people,
    );
    assert.equal((await openObjects(temp.store)).heldSince(key), third);
  }
});
