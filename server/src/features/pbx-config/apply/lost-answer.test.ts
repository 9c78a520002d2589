import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import { temporaryStore } from '../../../../test/conformance/store-temp.ts';
import { startSite } from '../../../../test/support/applies-rig.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Store } from '../../../ports/store.ts';
import { openObjects } from '../objects.ts';
import type { ObjectTables } from '../tables.ts';

const away = (): ServiceError => new ServiceError('store_unavailable', 'the database is away');
const versions = async (db: Kysely<ObjectTables>): Promise<number> =>
  (await db.selectFrom('config_versions').select('version').execute()).length;

/** A store that becomes unavailable with the commit of the next version, which it has stored or not. */
function leaving(store: Store) {
  const life = { stores: true, leaves: false, refusals: 0 };
  const transaction: Store['transaction'] = async (work) => {
    if (life.refusals > 0) {
      life.refusals -= 1;
      throw away();
    }
    const before = await versions(store.db());
    const result = await store.transaction(async (trx) => {
      const made = await work(trx as never);
      const isVersion = (await versions(trx as unknown as Kysely<ObjectTables>)) > before;
      if (life.leaves && isVersion && !life.stores) throw away();
      return made;
    });
    if (!life.leaves || (await versions(store.db())) === before) return result;
    Object.assign(life, { leaves: false, refusals: 1 });
    throw away();
  };
  return Object.assign(life, { store: { ...store, transaction } });
}

test('applies - a version whose commit lost its answer is the applied one, at the engine and in memory', async () => {
  await using temp = await temporaryStore();
  const life = leaving(temp.store);
  const rig = await startSite(life.store);
  const before = rig.objects.version;
  await rig.rename('1003', 'Zoe Miller');
  life.leaves = true;
  const apply = await rig.applied();
  assert.deepEqual([apply.state, apply.version], ['applied', before + 1], JSON.stringify(apply));
  assert.equal(rig.liveName('1003'), 'Zoe Miller');
  await rig.rename('1004', 'Another');
  assert.equal((await rig.applied()).version, before + 2);
  const reopened = await openObjects(temp.store);
  assert.equal(reopened.version, rig.objects.version);
  for (const extension of ['1003', '1004'])
    assert.deepEqual(
      reopened.applied().of('extension').get(extension),
      rig.objects.applied().of('extension').get(extension),
    );
  await rig.applies.close();
});

test('applies - a version that the store did not take is rolled back', async () => {
  await using temp = await temporaryStore();
  const life = leaving(temp.store);
  const rig = await startSite(life.store);
  const [before, name] = [rig.objects.version, rig.liveName('1003')];
  await rig.rename('1003', 'Zoe Miller');
  Object.assign(life, { leaves: true, stores: false });
  assert.equal((await rig.applied()).state, 'rolled_back');
  assert.deepEqual([rig.objects.version, rig.liveName('1003')], [before, name]);
  assert.equal((await openObjects(temp.store)).version, before);
  await rig.applies.close();
});
