import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import type { Store } from '../../ports/store.ts';
import { createDirectory } from './directory.ts';
import { seed } from './seed.ts';
import { toSite } from './site.ts';
import { migrations } from './tables.ts';
import type { Tables } from './tables.ts';
import { putInboundRoute, putOutboundRoute, putTrunk } from './trunks.ts';

async function demo(): Promise<AsyncDisposable & { store: Store }> {
  const temp = await temporaryStore();
  await temp.store.migrate('pbx-config', migrations);
  await seed(temp.store, { empty: false });
  await putTrunk(temp.store, { name: 'north', title: 'North', host: 'sip.example.com' });
  await putTrunk(temp.store, { name: 'south', title: 'South', host: '192.0.2.7' });
  return temp;
}
const siteOf = async (store: Store) => toSite((await createDirectory(store)).config(), []);

test('trunks - what is put is in the directory without its secrets, and in the site with them', async () => {
  await using temp = await demo();
  const { store } = temp;
  const login = { username: 'u', password: 'secret-of-the-trunk' };
  await putTrunk(store, { name: 'north', title: 'North 2', host: '192.0.2.6', login, register: true });
  await putInboundRoute(store, { trunk: 'north', number: '+49305550', to: { number: '500' } });
  await putInboundRoute(store, { trunk: 'north', number: '+49305550', to: { number: '1001' } });
  await putInboundRoute(store, { trunk: 'south', number: '44', prefix: true, to: { trunk: 'north' } });
  await putOutboundRoute(store, { prefix: '0', trunk: 'south', position: 2 });
  await putOutboundRoute(store, { prefix: '0', trunk: 'north', strip: 1, prepend: '+49', position: 1 });
  const directory = await createDirectory(store);
  assert.deepEqual(directory.trunks(), [
    { name: 'north', title: 'North 2', endpoint: 'trunk-north' },
    { name: 'south', title: 'South', endpoint: 'trunk-south' },
  ]);
  assert.equal(directory.trunkByEndpoint('trunk-south')?.name, 'south');
  assert.deepEqual(
    ['01', '0', '1', '+49', '1001'].map((number) => directory.leadsOut(number)),
    [true, false, false, false, false],
  );
  const site = toSite(directory.config(), []);
  assert.deepEqual([site.trunks[0]?.login, site.trunks[0]?.register], [login, true]);
  assert.deepEqual(site.inbound_routes, [
    { trunk: 'north', number: '+49305550', prefix: false, to: { number: '1001' } },
    { trunk: 'south', number: '44', prefix: true, to: { trunk: 'north', strip: 0, prepend: '' } },
  ]);
  assert.deepEqual(
    site.outbound_routes.map((r) => [r.trunk, r.strip, r.prepend]),
    [
      ['north', 1, '+49'],
      ['south', 0, ''],
    ],
  );
});

test('trunks - what the engine could not carry, or leads nowhere, is refused with its field, and nothing is written', async () => {
  await using temp = await demo();
  const { store } = temp;
  const before = JSON.stringify(await siteOf(store));
  const refused = (work: Promise<void>, field: string): Promise<void> =>
    assert.rejects(work, (error: { code?: string; message?: string }) => {
      assert.equal(error.code, 'invalid_request');
      assert.ok(error.message?.startsWith(`${field}:`), error.message);
      return true;
    });
  const trunk = { name: 'west', title: 'West', host: '192.0.2.8' };
  await refused(putTrunk(store, { ...trunk, name: 'West' }), 'name');
  await refused(putTrunk(store, { ...trunk, host: 'a b' }), 'host');
  await refused(putTrunk(store, { ...trunk, host: 'x\nmatch=0.0.0.0/0' }), 'host');
  await refused(putTrunk(store, { ...trunk, register: true }), 'login');
  await refused(putTrunk(store, { ...trunk, login: { username: 'u', password: 'a;b' } }), 'login.password');
  await refused(putTrunk(store, { ...trunk, codecs: [] }), 'codecs');
  await refused(putTrunk(store, { ...trunk, outbound_number: '1,2' }), 'outbound_number');
  const to = { number: '1001' };
  await refused(putInboundRoute(store, { trunk: 'west', number: '1', to }), 'trunk');
  await refused(putInboundRoute(store, { trunk: 'north', number: 's', to }), 'number');
  await refused(putInboundRoute(store, { trunk: 'north', number: '1', to: { number: '1099' } }), 'to.number');
  await refused(putInboundRoute(store, { trunk: 'north', number: '1', to: { number: '*97' } }), 'to.number');
  await refused(putInboundRoute(store, { trunk: 'north', number: '1', to: { trunk: 'west' } }), 'to.trunk');
  await refused(putOutboundRoute(store, { prefix: '', trunk: 'north' }), 'prefix');
  await refused(putOutboundRoute(store, { prefix: '0', trunk: 'north', strip: 2 }), 'strip');
  await refused(putOutboundRoute(store, { prefix: '0', trunk: 'west' }), 'trunk');
  assert.equal(JSON.stringify(await siteOf(store)), before);
});

test('trunks - a number of ours that is no more is no way in, and the engine still gets its files', async () => {
  await using temp = await demo();
  const { store } = temp;
  await putInboundRoute(store, { trunk: 'north', number: '1', to: { number: '1012' } });
  assert.equal((await siteOf(store)).inbound_routes.length, 1);
  await store.db<Tables>().updateTable('people').set({ active: 0 }).where('extension', '=', '1012').execute();
  assert.deepEqual((await siteOf(store)).inbound_routes, []);
});
