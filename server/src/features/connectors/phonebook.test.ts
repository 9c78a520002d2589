/** Customers of a connected system in the phonebook, and with it on live calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorCustomerMade, ConnectorTested } from '@offhook/contract/connectors.ts';
import { LookupReply } from '@offhook/contract/phonebook.ts';
import { silent } from '../../core/log.ts';
import { createModel } from '../../pbx/model.ts';
import { wireCall } from '../../pbx/wire-call.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { CRM_SYNC, crmCustomer, crmFile } from '../../../test/support/crm.ts';
import type { CrmChange, Mood } from '../../../test/support/crm.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import { Scene, call } from '../../../test/support/model-scene.ts';
import { until } from '../../../test/support/until.ts';
import { CallCustomers } from '../phonebook/call-customers.ts';

type Rig = Awaited<ReturnType<typeof connectorsRig>>;
const NUMBER = '+4930901820';

/** Customers of the phonebook with a number, as a person reads them. */
async function lookup({ call: ask }: Rig, number = NUMBER) {
  const reply = await ask('GET', `phonebook/lookup?number=${encodeURIComponent(number)}`);
  return LookupReply.parse(reply.json).customers;
}
const asked = ({ crm }: Rig) => crm.requests.filter((request) => request === 'GET /customers').length;

test('connectors - a call of an unknown number rings: the name in the CRM is in the live call, and the call waits for nothing', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  const model = createModel();
  const scene = new Scene({ model });
  const step = model.step.bind(model);
  model.step = (input) => {
    const events = step(input);
    model.committed(events);
    for (const event of events) customers.onEvent(event);
    return events;
  };
  const customers = new CallCustomers({
    live: model.view,
    find: (numbers) => rig.phonebook.named(null, numbers),
    tell: (input) => void model.step({ ...input, at: scene.at }),
    pop: (customer, on, number) => rig.connectors.service.pop(customer, on, number),
    unknown: (number) => rig.connectors.service.seek(number),
    clock: rig.clock,
    log: silent,
  });
  rig.hear.each = (events) => events.forEach((event) => customers.onEvent(event));
  t.after(() => customers.close());
  const customerOf = (id: string) => wireCall(model.view.call(call(id))!).customer;
  const comes = (number: string, id: string): void => {
    scene.created(id, { endpoint: 'trunk', dialled: '1001', caller: { number, name: '' } });
    scene.created(`${id}0`, { endpoint: '1001', of: id });
  };

  comes('030 901820', '1');
  await until('the name', () => customerOf('1')?.name === 'Anna Müller');
  const { source, external_id, url } = customerOf('1')!;
  assert.deepEqual([source, external_id], ['connector:1', 'c1']);
  const page = `${rig.crm.url}/calls?of=c1&call=${encodeURIComponent(call('1'))}&number=%2B4930901820`;
  assert.equal(url, page);
  assert.equal((await lookup(rig))[0]!.url, `${rig.crm.url}/customers/c1`);
  assert.equal(asked(rig), 1);
  comes('0301111', '2');
  await until('the question', () => asked(rig) === 2);
  await customers.idle();
  assert.equal(customerOf('2') ?? null, null);

  rig.crm.mood = () => 'silent';
  comes('0302222', '3');
  await until('the question', () => asked(rig) === 3);
  await customers.idle();
  assert.equal(customerOf('3') ?? null, null, 'the call is there without an answer');
  rig.crm.mood = () => 'works';
  assert.equal(rig.events.length, 1, 'nothing else was stored');
});

test('connectors - a customer of the CRM: people change note and owner, the rest is refused; the next call updates it', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.connectors.service.seek(NUMBER);
  await until('the customer', async () => (await lookup(rig)).length === 1);
  const [anna] = await lookup(rig);
  const {
    id,
    version: _v,
    updated_at: _u,
    source: _s,
    source_fields: _f,
    url: _page,
    numbers,
    ...rest
  } = anna!;
  const fields = { ...rest, numbers: numbers.map(({ number, label }) => ({ number, label })) };
  const put = async (change: object) => {
    const { status, json } = await rig.call('PUT', `phonebook/customers/${id}`, { ...fields, ...change });
    return [status, json.detail];
  };
  assert.equal((await put({ note: 'calls back on Monday', owner: '1003' }))[0], 200);
  for (const [field, change] of Object.entries({
    name: { name: 'Anne' },
    numbers: { numbers: [] },
    vip: { vip: true },
    company: { company: 'Acme' },
    language: { language: 'tr' },
  }))
    assert.deepEqual(await put(change), [
      400,
      `${field}: this field comes from the connected system; change it there`,
    ]);
  const removed = await rig.call('DELETE', `phonebook/customers/${id}`);
  assert.deepEqual([removed.status, removed.json.code], [409, 'in_use']);

  rig.crm.names.set('c1', 'Anna Schmidt');
  await rig.clock.advance(601_000);
  rig.connectors.service.seek('030 901820');
  await until('the new name', async () => (await lookup(rig))[0]?.name === 'Anna Schmidt');
  const [now] = await lookup(rig);
  assert.deepEqual([now!.id, now!.note, now!.owner], [id, 'calls back on Monday', '1003']);

  rig.crm.languages.set('c1', 'fr-CH');
  await rig.clock.advance(601_000);
  rig.connectors.service.seek('030 901820');
  await until('the language', async () => (await lookup(rig))[0]?.language === 'fr_CH');
  const found = await rig.call('GET', `connector-lookup?number=${encodeURIComponent(NUMBER)}`);
  assert.match(JSON.stringify(found.json), /"language":"fr_CH"/);
  const named = { name: 'Anna Schmidt', note: null, language: 'de' };
  assert.deepEqual(await put(named), [
    400,
    'language: this field comes from the connected system; change it there',
  ]);
  assert.equal((await put({ ...named, language: 'fr_CH' }))[0], 200, 'the note is the site’s own');
  assert.equal((await put({ name: 'Anna Schmidt' }))[0], 200, 'a client of 0.1.0 sends no language');
  assert.equal((await lookup(rig))[0]?.language, 'fr_CH');

  rig.crm.languages.delete('c1');
  await rig.clock.advance(601_000);
  rig.connectors.service.seek('030 901820');
  await until('no language', async () => (await lookup(rig))[0]?.language === null);
  assert.equal((await put(named))[0], 400, 'the CRM may name one again');

  const source = crmFile().replace("language: '{{ row.lang }}', ", '');
  assert.equal((await rig.call('PATCH', 'connectors/1', { source }, 'token-admin')).status, 200);
  assert.equal((await put(named))[0], 200, 'a file without languages leaves them to the site');
  rig.crm.names.set('c1', 'Anna Weber');
  rig.connectors.service.seek('030 901820');
  await until('the next name', async () => (await lookup(rig))[0]?.name === 'Anna Weber');
  assert.equal((await lookup(rig))[0]?.language, 'de');
});

test('connectors - a line of a file leaves the customers of the CRM; deleting the connector deletes them, and only them', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.connectors.service.seek(NUMBER);
  await until('the customer', async () => (await lookup(rig)).length === 1);
  const shared = async (name: string, uid: string, number: string) => {
    const bytes = Buffer.from(`uid,name,number_1\n${uid},${name},${number}\n`);
    const actor = { caller: (await fixtureAuthenticator.authenticate('token-supervisor'))!, ip: null };
    return rig.phonebook.files.import(actor, bytes, 'csv', {
      list: 'shared',
      dry_run: 'false',
    });
  };
  assert.equal((await shared('Anna Müller', 'other', NUMBER)).unchanged, 1, 'as an export has her');
  assert.equal((await shared('Bert', 'c1', '030111')).created, 1, 'a uid is no id of the CRM');
  assert.deepEqual(
    (await lookup(rig)).map(({ name, source }) => [name, source]),
    [['Anna Müller', 'connector:1']],
  );
  const events = rig.events.length;
  assert.equal((await rig.call('DELETE', 'connectors/1', undefined, 'token-admin')).status, 200);
  assert.deepEqual(await lookup(rig), []);
  assert.equal((await lookup(rig, '030111')).length, 1);
  assert.deepEqual(
    rig.events.slice(events).map(({ type, data }) => [type, (data as { change: string }).change]),
    [['phonebook.changed', 'deleted']],
  );
  rig.connectors.service.seek(NUMBER);
  assert.equal(asked(rig), 1, 'none asks a connector that is gone');
});

test('connectors - one click creates a customer in the CRM, owned by the user with the e-mail, and in the phonebook; never twice', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  const create = async (number: string, token = 'token-agent') => {
    const { status, json } = await rig.call(
      'POST',
      'connectors/1/customers',
      { name: 'Bert Braun', number },
      token,
    );
    return { status, ...json } as Record<string, unknown>;
  };
  const posts = () => rig.crm.requests.filter((request) => request === 'POST /customers').length;
  const made = ConnectorCustomerMade.parse(await create('030 5555'));
  assert.deepEqual([made.outcome, made.customer?.numbers], ['created', ['+49305555']]);
  assert.deepEqual(rig.crm.owners, ['u3']);
  const inBook = async (number: string) =>
    (await lookup(rig, number)).map(({ name, source }) => [name, source]);
  assert.deepEqual(await inBook('+49305555'), [['Bert Braun', 'connector:1']]);
  assert.equal((await create('+49305555'))['outcome'], 'exists');
  assert.equal(posts(), 1);

  rig.crm.mood = (request) => (request.startsWith('POST') ? 'lost' : 'works');
  const lost = ConnectorCustomerMade.parse(await create('030 6666'));
  assert.deepEqual([lost.outcome, lost.customer], ['unknown', null]);
  assert.deepEqual(await inBook('0306666'), [], 'no success that was not seen');
  rig.crm.mood = () => 'works';
  assert.equal((await create('030 6666'))['outcome'], 'exists');
  assert.equal(posts(), 2, 'the lost answer was looked for');
  assert.deepEqual(await inBook('0306666'), [['Bert Braun', 'connector:1']]);

  rig.crm.mood = (request) => (request.startsWith('POST') ? 400 : 'works');
  const refused = await create('030 7777');
  assert.deepEqual(
    [refused['outcome'], refused['status'], refused['words']],
    ['not_created', 400, 'not now'],
  );
  assert.deepEqual(await inBook('0307777'), []);
  assert.equal((await create('anonymous'))['code'], 'invalid_request');
  assert.equal((await create('030 8888', 'key-reads'))['status'], 403);
  const { entries: lines } = await rig.audit.page({ action: 'connector.customer_created', limit: 50 });
  assert.deepEqual(lines.map(({ outcome, detail }) => [outcome, detail?.['result']]).toReversed(), [
    ['ok', 'created'],
    ['ok', 'exists'],
    ['failed', 'unknown'],
    ['ok', 'exists'],
    ['failed', 'not_created'],
  ]);
  assert.doesNotMatch(JSON.stringify(lines), /Bert|555/, 'neither name nor number');
});

test('connectors - a refresh token that the system rotated is used after a restart, and never returned', async (t) => {
  const rig = await connectorsRig(t);
  const oauth =
    "auth: { oauth2: { grant: refresh, token: '{{ set.address }}/token', client_id: offhook, refresh_token: '{{ set.token }}' } }";
  const settings = { address: rig.crm.url, token: 'refresh-0' };
  await rig.create('find', {
    source: crmFile().replace("auth: { bearer: '{{ set.token }}' }", oauth),
    settings,
  });
  const works = async () =>
    ConnectorTested.parse((await rig.call('POST', 'connectors/1/test', undefined, 'token-admin')).json).works;
  assert.equal(await works(), true);
  await rig.restart();
  assert.equal(await works(), true, 'the first token works once only');
  await rig.call('PATCH', 'connectors/1', { title: 'Renamed' }, 'token-admin');
  assert.equal(await works(), true);
  assert.doesNotMatch(JSON.stringify(await rig.list()), /refresh-/);
  await rig.call('PATCH', 'connectors/1', { settings: { token: 'refresh-x' } }, 'token-admin');
  assert.equal(await works(), false, 'the new setting replaces what was kept');
});

test('connectors - a sync brings all customers page by page, then what changed; a failure keeps the cursor before', async (t) => {
  const rig = await connectorsRig(t);
  const { crm } = rig;
  const change = (id: string, rev: string, more: Partial<CrmChange> = {}): void =>
    void crm.changes.push({
      id,
      rev,
      name: `Name ${id}`,
      phone: `03055550${id.padStart(2, '0')}`,
      gone: false,
      ...more,
    });
  // The last row is the first customer again, changed while the pages were read.
  change('1', 'a1');
  change('2', 'a2');
  change('3', 'a3');
  change('1', 'a4', { phone: '0305555099' });
  await rig.create('find', { source: crmFile() + CRM_SYNC });
  const state = async () => (await rig.list())[0]!.sync!;
  const names = async (number: string) => (await lookup(rig, number)).map(({ name }) => name);
  await until('the first sync', async () => (await state()).last_at !== null);
  assert.equal((await state()).customers, 3);
  assert.deepEqual([await names('0305555001'), await names('0305555099')], [[], ['Name 1']], 'the later row');
  const pages = () => crm.requests.filter((request) => request === 'GET /changes').length;
  assert.equal(pages(), 2);

  change('2', 'b1', { gone: true });
  change('3', 'b2', { name: 'Carla' });
  change('4', 'b3');
  crm.mood = (request) => (request === 'GET /changes' && pages() >= 4 ? 500 : 'works');
  await rig.clock.advance(3_600_000);
  await until('the failure', async () => {
    await rig.clock.advance(10_000);
    return (await state()).words === 'not now';
  });
  assert.equal(pages(), 7, 'the page that fails is read four times');
  assert.deepEqual(await names('0305555002'), []);
  crm.mood = () => 'works';
  const reply = await rig.call('POST', 'connectors/1/sync', undefined, 'token-admin');
  assert.equal(reply.status, 202, JSON.stringify(reply.json));
  await until('the sync', async () => (await state()).words === null);
  assert.equal(pages(), 9, 'from the cursor of the last whole one');
  assert.deepEqual(await names('0305555003'), ['Carla']);
  assert.deepEqual(await names('0305555004'), ['Name 4']);
  assert.deepEqual(await names('0305555099'), ['Name 1'], 'one that did not change stays');

  await rig.restart();
  await until('the state', async () => (await state()).last_at !== null);
  assert.equal(pages(), 9, 'a restart begins no other one');
  crm.changes.splice(0, 4);
  await rig.call('PATCH', 'connectors/1', { settings: { token: 'other' } }, 'token-admin');
  await until('a whole sync', async () => pages() === 11 && !(await state()).running);
  await until('the end of those not named', async () => (await names('0305555099')).length === 0);
  assert.deepEqual(await names('0305555004'), ['Name 4']);
});

test('connectors - a page that the system is too busy for is read again, and the sync goes on from there', async (t) => {
  const rig = await connectorsRig(t);
  const { crm } = rig;
  crm.changes.push(...[1, 2, 3, 4, 5].map(crmCustomer));
  const pages = () => crm.requests.filter((request) => request === 'GET /changes').length;
  crm.retryAfter = '60';
  // The second page fails three times, the third one once.
  const faults = new Map<number, Mood>([
    [2, 503],
    [3, 500],
    [4, 'away'],
    [6, 429],
  ]);
  crm.mood = (request) => (request === 'GET /changes' && faults.get(pages())) || 'works';
  const began = rig.clock.now();
  await rig.create('find', { source: crmFile() + CRM_SYNC });
  const state = async () => (await rig.list())[0]!.sync!;
  await until('the sync', async () => {
    await rig.clock.advance(5_000);
    return (await state()).last_at !== null;
  });
  const { words, customers } = await state();
  assert.deepEqual([words, customers, pages()], [null, 5, 7]);
  assert.ok(rig.clock.now() - began >= 120_000, 'not before the system asked for');
});

test('connectors - a sync that is asked for meanwhile does not shorten the wait for a busy page', async (t) => {
  const rig = await connectorsRig(t);
  const { crm } = rig;
  crm.changes.push(...[1, 2, 3, 4, 5].map(crmCustomer));
  const pages = () => crm.requests.filter((request) => request === 'GET /changes').length;
  crm.retryAfter = '60';
  crm.mood = (request) => (request === 'GET /changes' && pages() === 2 ? 503 : 'works');
  await rig.create('find', { source: crmFile() + CRM_SYNC });
  await until('the busy page', async () => pages() === 2);
  await rig.call('POST', 'connectors/1/sync', undefined, 'token-admin');
  await rig.clock.advance(50_000);
  assert.equal(pages(), 2);
  const done = async () => (await rig.list())[0]!.sync!;
  await until('the sync', async () => {
    await rig.clock.advance(5_000);
    return (await done()).last_at !== null;
  });
});

test('connectors - the first sync of a day reads all customers: one that was deleted, merged or renamed leaves the phonebook', async (t) => {
  const rig = await connectorsRig(t);
  const { crm } = rig;
  crm.changes.push(...[1, 2, 3].map(crmCustomer));
  await rig.create('find', { source: crmFile() + CRM_SYNC });
  const state = async () => (await rig.list())[0]!.sync!;
  await until('the first sync', async () => (await state()).last_at !== null);
  const names = async (number: string) => (await lookup(rig, number)).map(({ name }) => name);
  // A merge names neither the customer that is gone nor the old id of the other one.
  crm.changes.splice(0, 1);
  crm.changes[0] = { ...crm.changes[0]!, id: 'two' };
  const syncAfter = async (ms: number) => {
    const { last_at } = await state();
    await rig.clock.advance(ms);
    await until('a sync', async () => !(await state()).running && (await state()).last_at !== last_at);
  };
  await syncAfter(3_600_000);
  assert.deepEqual([await names('0305555001'), await names('0305555002')], [['Name 1'], ['Name 2']]);
  const midnight = Date.UTC(2026, 10, 22) - rig.clock.now();
  await syncAfter(midnight + 3_600_000);
  assert.deepEqual([await names('0305555001'), await names('0305555002')], [[], ['Name 2']]);
  assert.equal((await lookup(rig, '0305555002'))[0]!.url, `${crm.url}/customers/two`);
  assert.deepEqual(await names('0305555003'), ['Name 3']);
});

test('connectors - a customer whose number is written with an extension is found by the number of its calls', async (t) => {
  const rig = await connectorsRig(t);
  const phones = ['030 / 5555001 ext. 4', '+49 30 5555002;ext=12', '0305555003 x7', '0305555004, 0305555009'];
  for (const [n, phone] of phones.entries())
    rig.crm.changes.push({ id: `${n}`, rev: `a${n}`, name: `Name ${n}`, phone, gone: false });
  await rig.create('find', { source: crmFile() + CRM_SYNC });
  await until('the sync', async () => (await rig.list())[0]!.sync!.last_at !== null);
  const found = [1, 2, 3, 4].map(async (n) => (await lookup(rig, `030555500${n}`)).length);
  assert.deepEqual(await Promise.all(found), [1, 1, 1, 1]);
});

test('connectors - a system that lists numbers: each one is added to its customer, whichever is asked or rings; a whole list drops what it no longer has', async (t) => {
  const rig = await connectorsRig(t);
  const { crm } = rig;
  const lists = (...rows: [id: string, phone: string][]): void =>
    void crm.changes.splice(
      0,
      crm.changes.length,
      ...rows.map(([id, phone], n) => ({ id, phone, rev: `r${n}`, name: `Name ${id}`, gone: false })),
    );
  const numbers = CRM_SYNC.replace(/ {2}(?:cursor|gone): .*\n/g, '').replace(
    "numbers: ['{{ row.phone }}']",
    "number: '{{ row.phone }}'",
  );
  // The second number of the first customer is on another page.
  lists(['1', '0305555001'], ['2', '0305555002'], ['1', '0305555099']);
  await rig.create('find', { source: crmFile() + numbers });
  const of = async (number: string) => {
    const [found] = await lookup(rig, number);
    return found?.numbers.map(({ e164 }) => e164) ?? [];
  };
  const synced = async () => {
    const { last_at } = (await rig.list())[0]!.sync!;
    await rig.clock.advance(1_000);
    await rig.call('POST', 'connectors/1/sync', undefined, 'token-admin');
    await until('a sync', async () => (await rig.list())[0]!.sync!.last_at !== last_at);
  };
  await until('the first sync', async () => (await rig.list())[0]!.sync!.last_at !== null);
  assert.deepEqual(await of('0305555001'), ['+49305555001', '+49305555099']);

  crm.customers.set('+49305555003', '2');
  crm.names.set('2', 'Name 2');
  rig.connectors.service.seek('+49305555003');
  await until('the number that was asked', async () => (await of('0305555003')).length > 0);
  assert.deepEqual(await of('0305555002'), ['+49305555002', '+49305555003'], 'the other one stays');

  lists(['1', '0305555099'], ['2', '0305555002'], ['2', '0305555003']);
  await synced();
  assert.deepEqual(await of('0305555099'), ['+49305555099']);
  assert.deepEqual(await of('0305555003'), ['+49305555002', '+49305555003']);
});
