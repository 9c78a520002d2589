/** A source of the phonebook beside a real slapd from Debian's packages. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { phonebookSourcesRig } from '../support/phonebook-sources-rig.ts';
import { startSlapd } from '../support/slapd.ts';

const ANNA = {
  cn: 'Anna Müller',
  o: 'Acme',
  telephoneNumber: '030 901820',
  mobile: '+49 170 1234567',
  mail: 'anna@example.com',
  preferredLanguage: 'fr, en-gb;q=0.8',
};

test('phonebook source - follows a real slapd by pages: added, changed and deleted entries', async (t) => {
  const slapd = await startSlapd(t);
  const rig = await phonebookSourcesRig(t);
  await slapd.add([
    ['anna', ANNA],
    ['nobody', { cn: 'Without Number' }],
  ]);
  await slapd.add(
    Array.from(
      { length: 1_100 },
      (_, n) => [`u${n}`, { cn: `User ${n}`, telephoneNumber: `+4930${5_000_000 + n}` }] as const,
    ),
  );
  const source = await rig.follow(slapd.config);
  assert.deepEqual(source.ldap?.base, 'dc=example,dc=com');
  assert.equal(await rig.sync(), null);
  assert.equal((await rig.one()).sync?.customers, 1_101);
  const [anna] = (await rig.page('?q=anna')).customers;
  assert.deepEqual(
    [
      anna?.source,
      anna?.company,
      anna?.language,
      anna?.emails,
      anna?.numbers.map(({ e164, label }) => [e164, label]),
    ],
    [
      'source:1',
      'Acme',
      'fr',
      ['anna@example.com'],
      [
        ['+4930901820', 'work'],
        ['+491701234567', 'mobile'],
      ],
    ],
  );
  assert.deepEqual(await rig.names('?q=without'), []);

  // Settings that an earlier version stored name fewer attributes.
  const stored = rig.temp.store.db<{ phonebook_sources: { config: string } }>();
  const { config } = await stored.selectFrom('phonebook_sources').select('config').executeTakeFirstOrThrow();
  const older = config.replace(/,"language":"preferredLanguage"/, '');
  assert.notEqual(older, config);
  await stored.updateTable('phonebook_sources').set({ config: older }).execute();
  await slapd.set('anna', 'cn', ['Anna Schmidt']);
  await slapd.remove('u7');
  assert.equal(await rig.sync(), null);
  assert.deepEqual(await rig.lookup('0170 1234567'), ['Anna Schmidt']);
  assert.deepEqual(await rig.lookup('+49305000007'), []);
  assert.equal((await rig.page('?q=anna')).customers[0]?.id, anna?.id);

  await slapd.stop();
  assert.match(String(await rig.sync()), /ECONNREFUSED/);
  assert.deepEqual(await rig.lookup('+49305000008'), ['User 8']);
  await slapd.serve();
  await slapd.remove('u8');
  assert.equal(await rig.sync(), null);
  assert.deepEqual(await rig.lookup('+49305000008'), []);

  // By TLS, only where the certificate is trusted.
  const { ca, address: secure } = slapd.secure;
  const { password: again } = slapd.config;
  const moved = await rig.call('PATCH', 'sources/1', { address: secure, password: again });
  assert.equal(moved.status, 200, JSON.stringify(moved.json));
  assert.match(String(await rig.sync()), /certificate/);
  assert.equal((await rig.call('PATCH', 'sources/1', { ldap: { ...slapd.config.ldap, ca } })).status, 200);
  await slapd.set('anna', 'cn', ['Anna by TLS']);
  assert.equal(await rig.sync(), null);
  assert.deepEqual(await rig.lookup('0170 1234567'), ['Anna by TLS']);

  // A filter of the administrator, other attributes, a wrong password, a base that is not there.
  const { address, ldap, password } = slapd.config;
  const attributes = { name: 'sn', numbers: { mobile: null } };
  const change = (body: object) => rig.call('PATCH', 'sources/1', body);
  assert.equal((await change({ ldap: { ...ldap, ca, filter: '(mobile=*)', attributes } })).status, 200);
  assert.equal(await rig.sync(), null);
  assert.deepEqual(await rig.names('?limit=200'), ['anna']);
  assert.equal((await change({ password: 'wrong' })).status, 200);
  assert.match(String(await rig.sync()), /does not accept user name and password/);
  assert.equal((await change({ password, ldap: { base: 'dc=other', ca } })).status, 200);
  assert.match(String(await rig.sync()), /0x20/);
  assert.deepEqual(await rig.names('?limit=200'), ['anna']);
  for (const wrong of [
    { ldap: { ...ldap, filter: '(cn=*' } },
    { ldap: { ...ldap, attributes: { name: 'cn)(x' } } },
    { address: address.replace('ldap:', 'http:'), password },
    { address: slapd.config.address },
    { address: 'ldap://192.168.1.1', password },
    { address: 'ldaps://cn=admin:secret@ldap.example.com', password },
    { address: `${address}/dc=x`, password },
  ])
    assert.equal((await change(wrong)).status, 400, JSON.stringify(wrong));
});

test('phonebook source - a base that is no name and a CA that is no certificate are refused by their field', async (t) => {
  const rig = await phonebookSourcesRig(t);
  const source = {
    kind: 'ldap',
    title: 'Company',
    address: 'ldaps://ldap.example.com',
    enabled: false,
  } as const;
  const base = 'ou=people,dc=example,dc=com';
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-ldap-'));
  t.after(() => rm(folder, { recursive: true }));
  const { certificate: pem } = await issueCertificate(folder, ['127.0.0.1'], Date.now());
  const create = (ldap: object) => rig.call('POST', 'sources', { ...source, ldap });
  for (const wrong of [
    'people',
    '=people',
    'ou=',
    'ou=people,',
    'ou=people;dc=example',
    'ou=R"D',
    'ou=a\\zz',
    'ou=a\\',
  ]) {
    const { status, json } = await create({ base: wrong });
    assert.deepEqual([status, json.code], [400, 'invalid_request'], wrong);
    assert.match(json.detail!, /^ldap\.base: /, wrong);
  }
  const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
  for (const wrong of [
    '',
    'ldap.pem',
    key,
    pem + key,
    key + pem,
    pem.slice(0, -40),
    pem.replace('MII', 'AAA'),
  ]) {
    const { status, json } = await create({ base, ca: wrong });
    assert.deepEqual([status, json.code], [400, 'invalid_request'], wrong);
    assert.match(json.detail!, /^ldap\.ca: /, wrong);
  }
  assert.deepEqual((await rig.call('GET', 'sources')).json, { success: true, sources: [] });
  const names = [base, 'OU=R\\, D + cn = A\\2b , DC=example', '2.5.4.11=Müller', 'o=#04024869'];
  for (const name of names) assert.equal((await create({ base: name })).status, 201, name);
  assert.equal((await create({ base, ca: `The company\n${pem}\n${pem}` })).status, 201);
  const changed = await rig.call('PATCH', 'sources/1', { ldap: { base, ca: 'no' } });
  assert.match(changed.json.detail!, /^ldap\.ca: /);
});

test('phonebook source - an LDAP server that closes, or sends without end, is named and keeps what is known', async (t) => {
  const rig = await phonebookSourcesRig(t);
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    answer(socket);
  });
  let answer = (socket: net.Socket): void => void socket.destroy();
  server.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  t.after(() => void server.close());
  const address = `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await rig.follow({ kind: 'ldap', title: 'Broken', address, ldap: { base: 'dc=example' } });
  assert.match(String(await rig.sync()), /closed|reset/i);
  // One message of 2 GB, of which the beginning comes again and again.
  answer = (socket) => {
    socket.write(Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]));
    const more = Buffer.alloc(1_048_576);
    const send = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('drain', send);
    send();
  };
  assert.match(String(await rig.sync()), /more than 8388608 bytes/);
});
