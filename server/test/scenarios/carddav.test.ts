/** A source of the phonebook beside a real Radicale from Debian's packages. */
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { Customer } from '@offhook/contract/phonebook.ts';
import { phonebookSourcesRig } from '../support/phonebook-sources-rig.ts';
import { startRadicale } from '../support/radicale.ts';

const ANNA = [
  'FN:Anna Müller',
  'N:Müller;Anna;;;',
  'ORG:Acme',
  'TEL;TYPE=CELL:+49 170 1234567',
  'NOTE:private',
];

test('phonebook source - follows a real Radicale: added, changed and deleted cards', async (t) => {
  const radicale = await startRadicale(t);
  const rig = await phonebookSourcesRig(t);
  await radicale.put('anna', ANNA);
  await radicale.put('acme', [
    'FN:Acme GmbH',
    'N:;;;;',
    'ORG:Acme GmbH',
    'X-ABSHOWAS:COMPANY',
    'TEL:030 901820',
  ]);
  await radicale.put('team', ['FN:Team', 'N:Team;;;;', 'X-ADDRESSBOOKSERVER-KIND:group']);
  const source = await rig.follow(radicale.config);
  assert.equal(source.has_password, true);
  assert.ok(!JSON.stringify(source).includes(radicale.config.password));
  assert.equal(await rig.sync(), null);
  assert.deepEqual(await rig.lookup('0170 1234567'), ['Anna Müller']);
  const { customers } = await rig.page();
  assert.deepEqual(customers.map(({ name }) => name).toSorted(), ['Acme GmbH', 'Anna Müller']);
  const anna = customers.find(({ name }) => name === 'Anna Müller')!;
  assert.deepEqual(
    [anna.source, anna.company, anna.note, anna.numbers],
    ['source:1', 'Acme', null, [{ number: '+491701234567', e164: '+491701234567', label: 'mobile' }]],
  );

  // Note and owner are the site's; the rest and the deletion are the address book's.
  const { id, kind, name, company, numbers, emails, vip, blocked } = anna;
  const own = { kind, company, emails, vip, blocked, shared: true, note: 'asks for Ben', owner: '1001' };
  const spelled = numbers.map(({ number, label }) => ({ number, label }));
  const kept = await rig.call('PUT', `customers/${id}`, { ...own, name, numbers: spelled });
  assert.equal(kept.status, 200, JSON.stringify(kept.json));
  const other = await rig.call('PUT', `customers/${id}`, { ...own, name: 'Anna', numbers: spelled });
  assert.equal(other.status, 400);
  assert.equal((await rig.call('DELETE', `customers/${id}`)).status, 409);

  await radicale.put('anna', ['FN:Anna Schmidt', 'N:Schmidt;Anna;;;', 'TEL:+49 170 7654321']);
  await radicale.remove('acme');
  await radicale.put('ben', ['FN:Ben Yılmaz', 'N:Yılmaz;Ben;;;', 'TEL:+90 212 555 0101']);
  assert.equal(await rig.sync(), null);
  assert.deepEqual((await rig.names()).toSorted(), ['Anna Schmidt', 'Ben Yılmaz']);
  assert.deepEqual(await rig.lookup('0170 1234567'), []);
  const now = Customer.parse(
    ((await rig.call('GET', `customers/${id}`)).json as { customer: unknown }).customer,
  );
  assert.deepEqual([now.id, now.name, now.note, now.owner], [id, 'Anna Schmidt', 'asks for Ben', '1001']);
  const { version } = now;
  assert.equal(await rig.sync(), null);
  assert.deepEqual((await rig.page()).customers.find((one) => one.id === id)?.version, version);

  assert.equal((await rig.call('DELETE', 'sources/1')).status, 200);
  assert.deepEqual(await rig.names(), []);
});

test('phonebook source - goes on after a refused token, a killed Radicale and a wrong password', async (t) => {
  const radicale = await startRadicale(t);
  const rig = await phonebookSourcesRig(t);
  await radicale.put('anna', ANNA);
  await radicale.put('ben', ['FN:Ben', 'N:;Ben;;;', 'TEL:+49 30 901821']);
  await rig.follow(radicale.config);
  assert.equal(await rig.sync(), null);

  await radicale.remove('ben');
  await radicale.put('cem', ['FN:Cem', 'N:;Cem;;;', 'TEL:+49 30 901822']);
  const collection = path.join(radicale.folder, 'store', 'collection-root', 'anna', 'contacts');
  await fs.rm(path.join(collection, '.Radicale.cache', 'sync-token'), { recursive: true });
  assert.equal(await rig.sync(), null);
  assert.deepEqual((await rig.names()).toSorted(), ['Anna Müller', 'Cem']);

  await radicale.stop();
  assert.match(String(await rig.sync()), /ECONNREFUSED/);
  assert.match(rig.sources.troubles().join(), /Contacts: /);
  assert.deepEqual((await rig.names()).toSorted(), ['Anna Müller', 'Cem']);
  await radicale.serve();
  await radicale.put('dora', ['FN:Dora', 'N:;Dora;;;', 'TEL:+49 30 901823']);
  assert.equal(await rig.sync(), null);
  assert.deepEqual((await rig.names()).toSorted(), ['Anna Müller', 'Cem', 'Dora']);

  const moved = await rig.call('PATCH', 'sources/1', { address: `${radicale.base}/anna/other/` });
  assert.equal(moved.status, 400);
  assert.match(JSON.stringify(moved.json), /password: is needed again because the address changes/);
  assert.equal((await rig.call('PATCH', 'sources/1', { password: 'wrong' })).status, 200);
  assert.match(String(await rig.sync()), /\(401\)/);
  assert.deepEqual(await rig.lookup('+49 30 901823'), ['Dora']);
  const { password } = radicale.config;
  assert.equal((await rig.call('PATCH', 'sources/1', { password, enabled: false })).status, 200);
  assert.equal((await rig.one()).sync, null);
  assert.equal((await rig.call('POST', 'sources/1/sync')).status, 400);
  assert.equal(
    (await rig.call('PATCH', 'sources/1', { address: `${radicale.base}/anna/`, enabled: true, password }))
      .status,
    200,
  );
  assert.match(String(await rig.sync()), /no address book/);
});
