import assert from 'node:assert/strict';
import { test } from 'node:test';
import sax from 'sax';
import { personFixture } from '../../../test/support/directory-fixture.ts';
import { OTHER_KEY, PHONE_KEY, phonebookRig } from '../../../test/support/phonebook-rig.ts';

/** Texts of the elements with these names, in order, of a document that a strict parser accepts. */
function textsOf(xml: string, ...names: string[]): string[] {
  const found: string[] = [];
  const open: string[] = [];
  const parser = sax.parser(true, {});
  parser.onopentag = ({ name }) => void open.push(name);
  parser.onclosetag = () => void open.pop();
  parser.ontext = (text) => {
    if (names.includes(open.at(-1)!)) found.push(text);
  };
  parser.onerror = (error) => {
    throw error;
  };
  parser.write(xml).close();
  return found;
}

test('phonebook - desk phones read the shared customers in the format of their maker', async (t) => {
  const { create, directory, host } = await phonebookRig(t);
  for (const { extension } of directory.people()) directory.change(extension, { active: false });
  const get = async (file: string, q = '', key = PHONE_KEY) => {
    const query = new URLSearchParams({ ...(q !== '' && { q }), mac: '00:15:65:00:00:01' }).toString();
    const url = `/api/v1/phonebook/phones/${key}/${file}?${query}`;
    const { statusCode, body, headers } = await host.app.inject({ method: 'GET', url });
    return { statusCode, body, type: headers['content-type'] };
  };
  const mobile = { number: '+90 532 555 01 01', label: 'mobile' };
  await create({ name: 'Zeynep <Ö> & "Co"', company: null, shared: true, numbers: [mobile] });
  await create({
    shared: true,
    numbers: [
      { number: '030 901820', label: 'office' },
      { ...mobile, number: '0170 1234567' },
    ],
  });
  await create({ name: 'Mine', numbers: [mobile] });
  const listed = ['Anna Müller (Acme, mobile)', '+491701234567', 'Anna Müller (Acme, office)', '+4930901820'];
  const zeynep = ['Zeynep <Ö> & "Co"', '+905325550101'];
  for (const [file, root] of [
    ['yealink.xml', 'YealinkIPPhoneDirectory'],
    ['snom.xml', 'SnomIPPhoneDirectory'],
    ['cisco.xml', 'CiscoIPPhoneDirectory'],
  ] as const) {
    const { statusCode, body, type } = await get(file);
    assert.deepEqual([statusCode, type], [200, 'text/xml; charset=utf-8']);
    assert.match(body, new RegExp(`^<\\?xml version="1.0" encoding="UTF-8"\\?>\\n<${root}>`));
    assert.deepEqual(textsOf(body, 'Name', 'Telephone'), [...listed, ...zeynep]);
  }
  const grandstream = await get('phonebook.xml', 'zeynep');
  assert.deepEqual(textsOf(grandstream.body, 'LastName', 'phonenumber', 'accountindex'), [...zeynep, '0']);
  const names = async (q: string) => textsOf((await get('yealink.xml', q)).body, 'Telephone');
  assert.deepEqual(await names('mull'), ['+491701234567', '+4930901820']);
  assert.deepEqual(await names('+90532'), ['+905325550101']);
  assert.deepEqual(await names('030901'), ['+491701234567', '+4930901820']);
  assert.deepEqual(await names('nobody'), []);

  assert.equal((await get('yealink.xml', '', `ohk_${'x'.repeat(43)}`)).statusCode, 401);
  assert.equal((await get('yealink.xml', '', OTHER_KEY)).statusCode, 403);
  assert.equal((await get('yealink.xml', '', 'short')).statusCode, 400);
  assert.equal((await get('polycom.xml')).statusCode, 400);
  assert.equal((await get('yealink.xml', 'x'.repeat(65))).statusCode, 400);
  const bearer = await host.app.inject({
    method: 'GET',
    url: '/api/v1/phonebook/customers',
    headers: { authorization: `Bearer ${PHONE_KEY}` },
  });
  assert.equal(bearer.statusCode, 403);
});

test('phonebook - a directory of a desk phone is bounded, and a search finds what it leaves out', async (t) => {
  const { phonebook, host } = await phonebookRig(t);
  const at = (n: number) => `+4930${String(1_000_000 + n)}`;
  const all = Array.from({ length: 5_000 }, (_, n) => ({
    external_id: String(n),
    kind: 'person' as const,
    name: `Customer ${n}`,
    company: null,
    numbers: [at(n)],
    emails: [],
    vip: false,
    blocked: false,
    url: null,
  }));
  await phonebook.sources.store('source:1', all);
  const get = async (file: string, q: string) =>
    (await host.app.inject(`/api/v1/phonebook/phones/${PHONE_KEY}/${file}?q=${encodeURIComponent(q)}`)).body;
  for (const [file, most] of [
    ['cisco.xml', 32],
    ['yealink.xml', 1_000],
    ['phonebook.xml', 2_000],
  ] as const)
    assert.equal(textsOf(await get(file, ''), 'Telephone', 'phonenumber').length, most);
  assert.ok((await get('snom.xml', at(4_005).slice(0, -1))).includes(at(4_005)));
});

test('phonebook - desk phones read active colleagues beside customers, and neither list crowds out the other', async (t) => {
  const { create, directory, host } = await phonebookRig(t);
  const get = async (file: string, q = '') =>
    (await host.app.inject(`/api/v1/phonebook/phones/${PHONE_KEY}/${file}?q=${encodeURIComponent(q)}`)).body;
  directory.change('1003', { name: 'Béa <Süd>', department: 'Service & Parts' });
  await create({ name: 'Acme', company: null, shared: true, numbers: [{ number: '+49 30 901820' }] });
  const listed = ['Acme', 'Ada', 'Béa <Süd> (Service & Parts)', 'Cem', 'Dan', 'Eve', 'Sam'];
  for (const file of ['yealink.xml', 'snom.xml', 'cisco.xml', 'phonebook.xml'])
    assert.deepEqual(textsOf(await get(file), 'Name', 'LastName'), listed, file);
  const numbers = async (q: string) => textsOf(await get('yealink.xml', q), 'Telephone');
  assert.deepEqual(await numbers('bea sud'), ['1003']);
  assert.deepEqual(await numbers('parts'), ['1003']);
  assert.deepEqual(await numbers('100'), ['1001', '1003', '1004', '1005', '1006', '1002']);
  assert.deepEqual(await numbers('off'), []);
  directory.change('1003', { active: false });
  assert.deepEqual(await numbers('bea'), []);

  // 32 entries for Cisco: half of them for each where both have more.
  const colleagues = Array.from({ length: 40 }, (_, n) =>
    personFixture(100 + n, String(2_000 + n), `new${n}`),
  );
  for (const one of colleagues) directory.put(one);
  const kinds = async () => {
    const all = textsOf(await get('cisco.xml'), 'Telephone');
    return [all.length, all.filter((number) => number.startsWith('+')).length];
  };
  assert.deepEqual(await kinds(), [32, 1]);
  for (let n = 0; n < 20; n += 1)
    await create({ name: `Customer ${n}`, shared: true, numbers: [{ number: `+49 30 90190${10 + n}` }] });
  assert.deepEqual(await kinds(), [32, 16]);
  for (const { extension } of [...colleagues.slice(5), ...directory.people().slice(0, 7)])
    directory.change(extension, { active: false });
  assert.deepEqual(await kinds(), [26, 21]);
});
