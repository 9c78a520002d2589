import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { PhoneConfig } from '@offhook/contract/config-phones.ts';
import { positionIn } from '@offhook/contract/paging.ts';
import { PhonesQuery } from '@offhook/contract/phones.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { hostFixture } from '../../../test/support/host-fixture.ts';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { createAudit } from '../audit/service.ts';
import { phoneRoutes } from './routes.ts';
import { Phones, macOf } from './service.ts';
import type { Phone, PhoneSite } from './service.ts';
import { PhoneStore } from './store.ts';
import { loadVendors } from './vendors.ts';

const [A, B] = ['001565aaaaaa', '001565bbbbbb'];
const TOKEN = 'T'.repeat(43);
const yealink = (mac: string): string => `Yealink SIP-T46S 66.86.0.15 ${mac.replaceAll(/..(?=.)/g, '$&:')}`;
const actor = {
  caller: { extension: '1001', username: 'ada' },
  ip: '127.0.0.1',
} as unknown as Parameters<Phones['assign']>[0];

async function rig(t: TestContext, plain: readonly string[] = []) {
  const { store, ...temp } = await temporaryStore();
  const clock = createVirtualClock();
  const audit = await createAudit(store, clock, silent);
  const phone = (id: number, fields: object): Phone =>
    ({
      id,
      token: TOKEN,
      ...PhoneConfig.parse({ vendor: 'yealink', extensions: ['1001'], ...fields }),
    }) as Phone;
  const site = {
    phones: [
      phone(1, { name: 'desk', token: TOKEN }),
      phone(2, { name: 'door', token: 'U'.repeat(43), vendor: 'snom', mac: '000413aaaaaa' }),
    ],
    name: `O'Neil (R&D) </settings>`,
  };
  const notified: string[] = [];
  const open = async () =>
    Phones.open({
      store: await PhoneStore.open(store),
      vendors: await loadVendors([path.join(REPOSITORY, 'phones')], () => assert.fail()),
      site: (): PhoneSite => ({
        phones: site.phones,
        layout: () => undefined,
        servers: () => [{ host: null, port: 5060 }],
        endpoint: (extension) => extension,
        sharedEndpoint: ({ id }) => `desk_${id}`,
        person: () => ({ name: site.name, password: 'p-a-s-s', srtp: 'off' }),
        queue: () => undefined,
        nightSwitch: () => undefined,
        offset: '+1',
        ldap: null,
        pickup: '**',
      }),
      engine: {
        notifyPhones(endpoint, event) {
          notified.push(`${endpoint} ${event}`);
          return Promise.resolve();
        },
        signOutPhone: () => Promise.resolve(),
        showIdleAtPhone: () => Promise.resolve(),
      },
      live: { device: () => undefined, signed: new Map(), until: () => Promise.resolve() },
      phonebook: (file, q) => Promise.resolve(`<${file} ${q}/>`),
      audit,
      clock,
      log: silent,
    });
  const phones = await open();
  const host = await hostFixture({
    config: { corsOrigins: [], publicUrl: '', trustProxy: ['192.0.2.1'] },
  });
  phoneRoutes(host.app, { phones, plain });
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await phones.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const get = async (url: string, agent: string = yealink(A), from: object = {}) => {
    const headers = { 'user-agent': agent, ...(from as { headers?: object }).headers };
    const reply = await host.app.inject({ method: 'GET', url, remoteAddress: '127.0.0.1', ...from, headers });
    return { status: reply.statusCode, text: reply.body };
  };
  const refused = async () =>
    (await audit.page({ limit: 100 })).entries
      .filter((e) => e.action === 'phone.refused')
      .map((e) => `${e.object ?? '-'} ${String(e.detail['reason'])}`);
  /** As the bytes of the path are: `inject` resolves dots. */
  const raw = async (url: string): Promise<number> => {
    const { port } = await (listening ??= host.listen({ host: '127.0.0.1', port: 0 }));
    const request = httpRequest({ port, path: url, headers: { 'user-agent': yealink(A) } }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode!;
  };
  let listening: ReturnType<typeof host.listen> | undefined;
  return { phones, get, raw, refused, site, clock, notified, open };
}

test('phones - a guessed token, another device and tricks with the path get nothing, and leave a line', async (t) => {
  const { get, raw, phones, refused, open } = await rig(t);
  assert.equal((await get(`/provision/${'X'.repeat(43)}/${A}.cfg`)).status, 404);
  assert.deepEqual(await refused(), ['- token']);
  const first = await get(`/provision/${TOKEN}/${A.toUpperCase()}.cfg`);
  assert.equal(first.status, 200);
  assert.match(first.text, /account\.1\.password = p-a-s-s/);
  assert.deepEqual([phones.one('desk').mac, phones.one('desk').up_to_date], [A, true]);
  for (const [file, agent] of [
    [`${B}.cfg`, yealink(B)],
    [`${A}.cfg`, yealink(B)],
    [`${B}.cfg`, yealink(A)],
    [`${B}.cfg`, 'curl'],
    ['y000000000066.cfg', yealink(B)],
  ] as const) {
    const { status, text } = await get(`/provision/${TOKEN}/${file}`, agent);
    assert.deepEqual([status, text.includes('p-a-s-s')], [404, false], `${file} ${agent}`);
  }
  assert.deepEqual((await refused()).filter((line) => line === 'desk mac').length, 5);
  for (const url of [
    '/provision',
    '/provision/',
    `/provision/${TOKEN}`,
    `/provision/${TOKEN}/`,
    `/provision/${TOKEN}/y000000000066.cfg`,
    `/provision/${TOKEN}/..%2f..%2fetc%2fpasswd`,
    `/provision/${TOKEN}//${A}.cfg`,
    `/provision/${TOKEN}/${A}.cfg/`,
    `/provision/${TOKEN}/%00${A}.cfg`,
    `/provision/${TOKEN}/${A}.cfg%00`,
    `/provision/${TOKEN}/phone.cfg`,
    `/provision/${TOKEN}/${'a'.repeat(200)}`,
    `/Provision/${TOKEN}/${A}.cfg`,
  ]) {
    const { status, text } = await get(url);
    assert.deepEqual([status, text.includes('p-a-s-s')], [404, false], url);
  }
  for (const url of [
    `/provision/${TOKEN}/../${TOKEN}/${A}.cfg`,
    `/provision/${TOKEN}/./${A}.cfg`,
    `/provision/%2e%2e/provision/${TOKEN}/${A}.cfg`,
    `/provision/${TOKEN}/%2e%2e`,
  ])
    assert.equal(await raw(url), 404, url);
  const port = { headers: { host: 'x:99999' } };
  assert.equal((await get(`/provision/${TOKEN}/${A}.cfg`, yealink(A), port)).status, 400, 'no port is 99999');
  assert.equal(await raw(`/provision/${TOKEN}/${A}.cfg`), 200);
  assert.equal((await get(`/provision/${TOKEN}/${A}.cfg`, '<x>"\u00e9 '.repeat(100))).status, 200);
  assert.ok(phones.one('desk').fetched!.user_agent.length <= 200);
  const later = await open();
  assert.equal(later.one('desk').mac, A, 'a service after this one knows the device');
});
test('phones - who guesses is slowed down, and a paired phone of the same address is not', async (t) => {
  const { get, refused, clock } = await rig(t);
  assert.equal((await get(`/provision/${TOKEN}/${A}.cfg`)).status, 200);
  const seen = new Map<number, number>();
  for (let i = 0; i < 200; i += 1) {
    const { status } = await get(`/provision/${String(i).padStart(43, 'g')}/${A}.cfg`);
    seen.set(status, (seen.get(status) ?? 0) + 1);
  }
  assert.deepEqual(
    [...seen],
    [
      [404, 60],
      [429, 140],
    ],
  );
  assert.equal((await refused()).length, 60);
  assert.equal((await get(`/provision/${TOKEN}/${A}.cfg`)).status, 200);
  await clock.advance(60_000);
  assert.equal((await get(`/provision/${'g'.repeat(43)}/${A}.cfg`)).status, 404);
});
test('phones - a paired phone reads the phonebook with its token, in the form of its vendor', async (t) => {
  const { get, refused } = await rig(t);
  const book = `/provision/${TOKEN}/yealink.xml?q=ada`;
  assert.equal((await get(book)).status, 404, 'not before it is paired');
  await get(`/provision/${TOKEN}/${A}.cfg`);
  assert.deepEqual(await get(book), { status: 200, text: '<yealink.xml ada/>' });
  assert.equal((await get(book, yealink(B))).status, 404);
  assert.equal((await get(`/provision/${TOKEN}/snom.xml`)).status, 404);
  assert.deepEqual(await refused(), ['desk mac']);
});
test('phones - names are escaped in the file of a phone', async (t) => {
  const { get } = await rig(t);
  const { status, text } = await get(
    `/provision/${'U'.repeat(43)}/000413aaaaaa.xml`,
    'Mozilla/4.0 (compatible; snomD735-SIP 10.1)',
  );
  assert.equal(status, 200);
  assert.match(text, /O&apos;Neil \(R&amp;D\) &lt;\/settings&gt;/);
  assert.equal(text.split('</settings>').length, 2);
});
test('phones - secrets leave only by TLS, on this machine, or in networks that an administrator allows', async (t) => {
  const { get } = await rig(t, ['10.1.0.0/16', 'fd00::/8']);
  const url = `/provision/${TOKEN}/${A}.cfg`;
  for (const [remoteAddress, headers, status] of [
    ['203.0.113.9', {}, 403],
    ['203.0.113.9', { 'x-forwarded-proto': 'https' }, 403],
    ['127.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, 403],
    ['127.0.0.1', { forwarded: 'for=203.0.113.9' }, 403],
    ['192.0.2.1', { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'http' }, 403],
    ['192.0.2.1', { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }, 200],
    ['10.1.2.3', {}, 200],
    ['::ffff:10.1.2.3', {}, 200],
    ['10.2.2.3', {}, 403],
    ['fd00::5', {}, 200],
    ['127.0.0.1', {}, 200],
  ] as const)
    assert.equal(
      (await get(url, yealink(A), { remoteAddress, headers })).status,
      status,
      `${remoteAddress} ${JSON.stringify(headers)}`,
    );
});
test('phones - a phone at the common address waits until it is assigned, and gets its file once', async (t) => {
  const { get, phones, clock } = await rig(t, ['10.0.0.0/8']);
  const at = (remoteAddress: string, mac = A, agent = yealink(mac)) =>
    get(`/provision/${mac}.cfg`, agent, { remoteAddress });
  assert.equal((await at('10.0.0.5')).status, 404);
  assert.deepEqual(
    phones.page({}).waiting.map((w) => [w.mac, w.vendor, w.address, w.phone]),
    [[A, 'yealink', '10.0.0.5', null]],
  );
  await assert.rejects(phones.assign(actor, 'desk', { mac: B }), { code: 'not_found' });
  await assert.rejects(phones.assign(actor, 'door', { mac: A }), { code: 'name_taken' });
  await phones.assign(actor, 'desk', { mac: A });
  assert.equal((await at('10.0.0.6')).status, 404, 'another address is another device');
  assert.equal((await at('10.0.0.5', A, yealink(B))).status, 404);
  const { status, text } = await at('10.0.0.5');
  assert.equal(status, 200);
  assert.ok(text.includes(`/provision/${TOKEN}/`), 'from now on it asks with its token');
  assert.equal((await at('10.0.0.5')).status, 404, 'once');
  await phones.assign(actor, 'desk', { mac: A });
  await clock.advance(16 * 60_000);
  assert.equal((await at('10.0.0.5')).status, 404, 'an assignment ends');
  for (let i = 0; i < 400; i += 1) await at(`10.0.${i % 200}.9`, `001565${String(i).padStart(6, '0')}`);
  assert.equal(phones.page({}).waiting.length, 200);
});
test('phones - a list of several pages continues after the name of the last phone', async (t) => {
  const { phones } = await rig(t);
  const first = phones.page({ limit: 1 });
  assert.deepEqual([first.phones.map(({ name }) => name), first.next_cursor], [['desk'], 'desk']);
  assert.match(first.next_cursor!, positionIn(PhonesQuery)!);
  const last = phones.page({ limit: 1, cursor: first.next_cursor! });
  assert.deepEqual([last.phones.map(({ name }) => name), last.next_cursor], [['door'], null]);
});
test('phones - who asks with the MAC address of a waiting phone before the click does not become it', async (t) => {
  const { get, phones } = await rig(t, ['10.0.0.0/8']);
  const at = async (remoteAddress: string) =>
    (await get(`/provision/${A}.cfg`, yealink(A), { remoteAddress })).status;
  await at('10.0.0.5');
  const [shown] = phones.page({}).waiting;
  await at('10.0.0.66');
  await assert.rejects(phones.assign(actor, 'desk', { mac: A, address: shown!.address }), {
    code: 'not_found',
  });
  assert.equal(await at('10.0.0.66'), 404);
  await at('10.0.0.5');
  await phones.assign(actor, 'desk', { mac: A, address: shown!.address });
  assert.equal(await at('10.0.0.66'), 404);
  assert.equal(await at('10.0.0.5'), 200);
});
test('phones - a change is asked for until it is fetched; a new token is another device', async (t) => {
  const { get, phones, site, clock, notified } = await rig(t);
  await get(`/provision/${TOKEN}/${A}.cfg`);
  site.name = 'Other';
  phones.changed();
  assert.equal(phones.one('desk').up_to_date, false);
  for (let i = 0; i < 400 && notified.length < 2; i += 1) await clock.advance(100);
  assert.deepEqual(notified, ['1001 check-sync;reboot=false', '1001 check-sync;reboot=false']);
  await get(`/provision/${TOKEN}/${A}.cfg`);
  assert.equal(phones.one('desk').up_to_date, true);
  await clock.advance(60_000);
  assert.equal(notified.length, 2);
  site.phones = [{ ...site.phones[0]!, token: 'N'.repeat(43) }];
  phones.changed();
  assert.equal(phones.one('desk').mac, null);
  assert.equal((await get(`/provision/${TOKEN}/${A}.cfg`)).status, 404, 'the former token is none');
  assert.equal((await get(`/provision/${'N'.repeat(43)}/${B}.cfg`, yealink(B))).status, 200);
});
test('phones - a change while phones are asked is asked for too, also in the last round', async (t) => {
  const { get, phones, site, clock, notified } = await rig(t);
  await get(`/provision/${TOKEN}/${A}.cfg`);
  phones.changed();
  site.name = 'Second';
  // The first comparison found nothing and has not ended yet.
  phones.changed();
  for (let i = 0; i < 400 && notified.length < 3; i += 1) await clock.advance(100);
  assert.equal(notified.length, 3);
  await get(`/provision/${TOKEN}/${A}.cfg`);
  site.name = 'Third';
  phones.changed();
  await clock.advance(60_000);
  assert.equal(notified.length, 6);
});
test('phones - the MAC address is found in what phones say of themselves', () => {
  assert.deepEqual(
    [
      yealink(A),
      'Grandstream Model HW GXP2170 SW 1.0.11.64 DevId 000b82aabbcc',
      'Fanvil X4 2.12.1 0c383eaabbcc',
      'snom370-SIP 8.7.3.25',
      `${'00:'.repeat(5_000)}`,
    ].map(macOf),
    [A, '000b82aabbcc', '0c383eaabbcc', null, '0'.repeat(12)],
  );
});
