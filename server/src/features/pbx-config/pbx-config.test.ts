import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import type { ObjectTables } from './tables.ts';
import type { Store } from '../../ports/store.ts';
import { createDirectory } from './directory.ts';
import { openObjects } from './objects.ts';
import { pickupGroup } from './pickup-group.ts';
import { putObjects } from './put.ts';
import { seed } from './seed.ts';
import { toSite } from './site.ts';
import { migrations } from './tables.ts';
import { withObjects, storedObject } from './model.ts';

async function seeded(options: { empty: boolean }): Promise<AsyncDisposable & { store: Store }> {
  const temp = await temporaryStore();
  await temp.store.migrate('pbx-config', migrations);
  await seed(temp.store, options);
  return temp;
}

test('pbx-config - the demo company has its twelve people, two queues and numbers', async () => {
  await using temp = await seeded({ empty: false });
  const directory = createDirectory(await openObjects(temp.store));
  const people = directory.people();
  assert.deepEqual(
    people.map((p) => p.extension),
    Array.from({ length: 12 }, (_, i) => String(1001 + i)),
  );
  const count = (level: string): number => people.filter((p) => p.level === level).length;
  assert.deepEqual(
    { admin: count('admin'), supervisor: count('supervisor'), agent: count('agent'), user: count('user') },
    { admin: 1, supervisor: 1, agent: 4, user: 6 },
  );
  for (const p of people) {
    assert.match(p.username, /^[a-z]+$/);
    assert.match(p.email ?? '', /^[a-z]+@example\.com$/);
    assert.ok(p.department);
    assert.deepEqual(p.endpoints, [
      { name: p.extension, kind: 'sip' },
      { name: `${p.extension}-web`, kind: 'webrtc' },
      { name: `${p.extension}-mobile`, kind: 'mobile' },
    ]);
  }
  assert.ok(people.filter((p) => /[^\x20-\x7e]/.test(p.name)).length >= 6);
  assert.deepEqual(
    directory.queues().map((q) => [q.name, q.number, q.agents]),
    [
      ['support', '500', ['1003', '1004', '1005', '1006']],
      ['sales', '510', ['1003', '1004', '1005', '1006']],
    ],
  );
  const site = toSite(directory.config(), []);
  assert.deepEqual(
    site.services.map((s) => [s.number, s.kind]),
    [
      ['*97', 'voicemail'],
      ['600', 'echo'],
      ['601', 'music_on_hold'],
    ],
  );
  assert.deepEqual(
    site.parking_lots.map((lot) => [
      lot.name,
      lot.number,
      lot.first_slot,
      lot.last_slot,
      lot.timeout_seconds,
    ]),
    [['default', '700', 701, 720, 120]],
  );
  assert.equal(directory.pauseReasons()[0]?.id, 'break');
});

test('pbx-config - an empty site has one administrator and no queue', async () => {
  await using temp = await seeded({ empty: true });
  const directory = createDirectory(await openObjects(temp.store));
  assert.deepEqual(
    directory.people().map((p) => [p.extension, p.level, p.active]),
    [['1001', 'admin', true]],
  );
  assert.deepEqual(directory.queues(), []);
});

test('pbx-config - secrets are long, of plain characters, and unique', async () => {
  await using one = await seeded({ empty: false });
  await using two = await seeded({ empty: false });
  const secrets: string[] = [];
  for (const { store } of [one, two]) {
    const directory = createDirectory(await openObjects(store));
    secrets.push(...directory.people().map((p) => directory.sipPassword(p.extension)));
    for (const e of toSite(directory.config(), []).extensions) assert.match(e.voicemail_pin, /^\d{6}$/);
  }
  assert.equal(new Set(secrets).size, 24);
  for (const secret of secrets) {
    assert.match(secret, /^[A-Za-z0-9_-]+$/);
    assert.ok(Buffer.from(secret, 'base64url').length * 8 >= 128, secret);
  }
});

test('pbx-config - seeding again, in either way, changes nothing', async () => {
  await using temp = await seeded({ empty: false });
  const directory = createDirectory(await openObjects(temp.store));
  const before = JSON.stringify(directory.config());
  assert.equal(await seed(temp.store, { empty: true }), false);
  assert.equal(await seed(temp.store, { empty: false }), false);
  directory.reload();
  assert.equal(JSON.stringify(directory.config()), before);
  assert.equal(directory.version, 1);
});

test('pbx-config - a failed seeding writes nothing', async () => {
  await using temp = await temporaryStore();
  await temp.store.migrate('pbx-config', migrations);
  const db = temp.store.db<ObjectTables>();
  // The last object of seeding exists already.
  const blocked = { id: 1, kind: 'settings', key: 'site', body: '{}', since_version: 1, until_version: 1 };
  await db.insertInto('config_objects').values(blocked).execute();
  await assert.rejects(seed(temp.store, { empty: false }));
  assert.deepEqual(await db.selectFrom('config_versions').selectAll().execute(), []);
  assert.deepEqual((await db.selectFrom('config_objects').select('key').execute()).length, 1);
  await db.deleteFrom('config_objects').execute();
  assert.equal(await seed(temp.store, { empty: false }), true);
});

test('pbx-config - the directory finds people by extension, user name, endpoint, and their queues', async () => {
  await using temp = await seeded({ empty: false });
  const directory = createDirectory(await openObjects(temp.store));
  const zoe = directory.byExtension('1003');
  assert.equal(zoe?.name, 'Zoë Müller');
  assert.equal(directory.byUsername('zoe'), zoe);
  assert.equal(directory.byUsername('ZOE'), zoe);
  for (const endpoint of ['1003', '1003-web', '1003-mobile'])
    assert.equal(directory.byEndpoint(endpoint), zoe);
  assert.deepEqual(
    directory.queuesOf('1003').map((q) => q.name),
    ['support', 'sales'],
  );
  assert.deepEqual(directory.queuesOf('1001'), []);
  assert.equal(directory.queue('support')?.wrap_up_seconds, 5);
  for (const nobody of ['', '1099', '__proto__', 'constructor', '1003-fax']) {
    assert.equal(directory.byExtension(nobody), undefined);
    assert.equal(directory.byUsername(nobody), undefined);
    assert.equal(directory.byEndpoint(nobody), undefined);
    assert.equal(directory.queue(nobody), undefined);
    assert.throws(() => directory.sipPassword(nobody), { code: 'not_found' });
  }
  assert.ok(
    !JSON.stringify(directory.people()).includes(directory.sipPassword('1003')),
    'a person carries a secret',
  );
});

test('pbx-config - a queue has the penalties of its agents', async () => {
  await using temp = await seeded({ empty: false });
  const members = [{ extension: '1003', penalty: 7 }, { extension: '1004' }];
  await putObjects(temp.store, { queue: [{ name: 'support', members }] });
  const directory = createDirectory(await openObjects(temp.store));
  assert.deepEqual([...directory.queue('support')!.penalties!], [['1003', 7]]);
});

test('pbx-config - a change is visible after reload, counted once and reported to listeners', async () => {
  await using temp = await seeded({ empty: false });
  const objects = await openObjects(temp.store);
  const directory = createDirectory(objects);
  let notified = 0;
  const stop = directory.onChange(() => (notified += 1));
  const by = { author: 'test', comment: null, at: 1 };
  const setActive = async (active: boolean): Promise<void> => {
    const { id, kind, key, body } = objects.applied().of('extension').get('1003')!;
    const object = storedObject(id, kind, { ...body, active });
    await objects.commit(withObjects(objects.applied(), [{ kind, key, object }]), by);
  };
  await setActive(false);
  assert.equal(directory.byExtension('1003')?.active, true);
  directory.reload();
  directory.reload();
  assert.equal(directory.byExtension('1003')?.active, false);
  assert.deepEqual([notified, directory.version], [1, 2]);
  assert.deepEqual(directory.queue('support')?.agents, ['1004', '1005', '1006']);
  assert.deepEqual(directory.queuesOf('1003'), []);
  const site = toSite(directory.config(), []);
  assert.ok(
    !site.extensions.some((e) => e.extension === '1003'),
    'an inactive person has endpoints in the engine',
  );
  stop();
  await setActive(true);
  directory.reload();
  assert.deepEqual([notified, directory.version], [1, 3]);
});

test('pbx-config - extensions of different length are in order of their numbers', async () => {
  await using temp = await seeded({ empty: false });
  await putObjects(temp.store, { extension: [{ extension: '99', username: 'short', name: 'Short' }] });
  const directory = createDirectory(await openObjects(temp.store));
  assert.deepEqual(
    directory.people().map((p) => p.extension),
    ['99', ...Array.from({ length: 12 }, (_, i) => String(1001 + i))],
  );
});

test('pbx-config - every department gives a valid pickup group, and different ones differ', () => {
  assert.equal(pickupGroup('Customer Care'), 'customer-care');
  assert.equal(pickupGroup(null), null);
  assert.equal(pickupGroup('  '), null);
  assert.notEqual(pickupGroup('Büro'), pickupGroup('Buro'));
  assert.notEqual(pickupGroup('経理'), pickupGroup('営業'));
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
      const group = pickupGroup(name);
      assert.ok(
        group === null ? name.trim() === '' : /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/.test(group),
        String(group),
      );
    }),
  );
});
