import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NUMBERS } from '@offhook/contract/phonebook.ts';
import type { Customer, PhonebookChange } from '@offhook/contract/phonebook.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import { topicsOf } from '../../rights/topics.ts';
import type { SourceCustomer } from '../../ports/customers.ts';
import type { Store } from '../../ports/store.ts';
import { createPhonebookStore } from './store.ts';
import { authenticatorWithKeys } from '../../../test/support/host-fixture.ts';
import { ANNA, phonebookRig as rig } from '../../../test/support/phonebook-rig.ts';

const answer = ({ status, json }: { status: number; json: { code?: string } }) => [status, json.code];

const rowsOf = async (store: Store) => (await createPhonebookStore(store)).after(0, 1_000);

test('phonebook - a customer is stored as it was given, over a restart, with its numbers in E.164', async (t) => {
  const { create, call, open } = await rig(t);
  const made = await create({
    emails: ['anna@acme.example'],
    note: 'a\nb',
    owner: '1003',
    language: 'pt_BR',
    vip: true,
  });
  const { id, version, updated_at, ...fields } = made;
  assert.deepEqual(fields, {
    kind: 'person',
    name: 'Anna Müller',
    company: 'Acme',
    numbers: [{ number: '030901820', label: 'office', e164: '+4930901820' }],
    emails: ['anna@acme.example'],
    note: 'a\nb',
    owner: '1003',
    language: 'pt_BR',
    vip: true,
    blocked: false,
    shared: false,
    source: 'manual',
    source_fields: [],
    url: null,
  });
  const read = await call('GET', `customers/${id}`);
  assert.deepEqual([read.etag, version], ['"1"', 1]);
  const again = await open();
  const who = (await authenticatorWithKeys({}).authenticate('token-supervisor'))!;
  assert.deepEqual(await again.one(who, id), made);
  assert.ok(updated_at.endsWith('Z'));
});

test('phonebook - shared customers are changed by supervisors, personal ones seen by their person alone', async (t) => {
  const { create, call, names, lookup } = await rig(t);
  const shared = await create({ name: 'Shared', shared: true });
  const own = await create({ name: 'Own' }, 'token-user');
  await create({ name: 'Secret' }, 'token-admin');
  assert.deepEqual(await names('', 'token-user'), ['Own', 'Shared']);
  assert.deepEqual(await names('?q=own', 'token-admin'), []);
  assert.deepEqual(await lookup('030901820', 'token-user'), ['Own', 'Shared']);
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const body = method === 'PUT' ? { ...ANNA, shared: true } : undefined;
    assert.deepEqual(
      answer(await call(method, `customers/${own.id}`, body, 'token-admin')),
      [404, 'not_found'],
      method,
    );
  }
  const share = { ...ANNA, shared: true };
  assert.deepEqual(answer(await call('POST', 'customers', share, 'token-agent')), [403, 'forbidden']);
  assert.deepEqual(answer(await call('PUT', `customers/${own.id}`, share, 'token-user')), [403, 'forbidden']);
  assert.deepEqual(answer(await call('PUT', `customers/${shared.id}`, share, 'token-user')), [
    403,
    'forbidden',
  ]);
  assert.deepEqual(answer(await call('DELETE', `customers/${shared.id}`, undefined, 'token-user')), [
    403,
    'forbidden',
  ]);
  const unshared = await call('PUT', `customers/${shared.id}`, ANNA);
  assert.deepEqual(answer(unshared), [400, 'invalid_request']);
  const mine = await create({ name: 'Mine' });
  assert.equal((await call('PUT', `customers/${mine.id}`, { ...share, name: 'Given' })).status, 200);
  assert.deepEqual(await names('', 'token-user'), ['Given', 'Own', 'Shared']);
  assert.equal((await call('DELETE', `customers/${own.id}`, undefined, 'token-user')).status, 200);
  assert.deepEqual(await lookup('030901820', 'token-user'), ['Given', 'Shared']);
});

test('phonebook - API keys reach shared customers by their scope, and not at all where they are limited', async (t) => {
  const { create, call, names } = await rig(t);
  await create({ name: 'Own' });
  const made = await create({ name: 'Of the CRM', shared: true }, 'key-writes');
  assert.deepEqual(await names('', 'key-reads'), ['Of the CRM']);
  assert.deepEqual(answer(await call('POST', 'customers', { ...ANNA, shared: true }, 'key-reads')), [
    403,
    'forbidden',
  ]);
  const personal = await call('POST', 'customers', ANNA, 'key-writes');
  assert.deepEqual(answer(personal), [400, 'invalid_request']);
  for (const url of ['customers', `customers/${made.id}`, 'lookup?number=1'])
    assert.deepEqual(answer(await call('GET', url, undefined, 'key-limited')), [403, 'forbidden'], url);
});

test('phonebook - If-Match keeps one change from writing over another, and the trail holds no name', async (t) => {
  const { create, call, audit, lookup } = await rig(t);
  const { id } = await create({ shared: true });
  const put = (tag: string, number: string) =>
    call('PUT', `customers/${id}`, { ...ANNA, numbers: [{ number }], shared: true }, undefined, {
      'if-match': tag,
    });
  const done = await put('"1"', '030 901821');
  assert.deepEqual([done.status, done.etag], [200, '"2"']);
  const late = await put('"1"', '030 901822');
  assert.deepEqual([...answer(late), late.json.etag], [412, 'precondition_failed', '2']);
  assert.deepEqual([await lookup('030901820'), await lookup('030901821')], [[], ['Anna Müller']]);
  const remove = (tag: string) =>
    call('DELETE', `customers/${id}`, undefined, undefined, { 'if-match': tag });
  assert.equal((await remove('"1"')).status, 412);
  assert.equal((await remove('"2"')).status, 200);
  assert.deepEqual(await lookup('030901821'), []);
  const { entries } = await audit.page({});
  assert.deepEqual(
    entries.map(({ action, object }) => [action, object]),
    ['deleted', 'changed', 'created'].map((verb) => [`customer.${verb}`, `customer:${id}`]),
  );
  assert.doesNotMatch(JSON.stringify(entries), /Anna|90182/);
});

test('phonebook - what cannot be stored is refused with its place named', async (t) => {
  const { call } = await rig(t);
  const refused = async (fields: object, says: RegExp) => {
    const reply = await call('POST', 'customers', { ...ANNA, ...fields });
    assert.deepEqual(answer(reply), [400, 'invalid_request'], JSON.stringify(fields));
    assert.match(reply.json.detail!, says);
  };
  const numbers = (...all: string[]) => ({ numbers: all.map((number) => ({ number })) });
  await refused({ name: ' ' }, /name/);
  await refused({ name: 'a\u202eb' }, /name/);
  await refused({ name: 'x'.repeat(121) }, /name/);
  await refused({ company: 'a\nb' }, /company/);
  await refused({ note: 'a\u0000b' }, /note/);
  await refused({ colour: 'red' }, /colour/);
  await refused({ emails: ['nobody'] }, /emails\.0/);
  await refused({ owner: '4711' }, /owner: there is no extension 4711/);
  await refused(numbers('anonymous'), /numbers\.0/);
  await refused(numbers('030 901820', '+49 (0)30 90 18 20'), /numbers\.1: this number is listed twice/);
  await refused(numbers(...Array.from({ length: MAX_NUMBERS + 1 }, (_, i) => `03090182${i}`)), /numbers/);
});

test('phonebook - pages are stable while customers are added, in a list and in a search', async (t) => {
  const { create, page } = await rig(t);
  for (let i = 1; i <= 5; i += 1) await create({ name: `Kunde ${i}`, shared: i % 2 === 0 });
  for (const query of ['', 'q=kunde&']) {
    const first = await page(`?${query}limit=2`);
    await create({ name: 'Kunde 6' });
    const rest = await page(`?${query}limit=2&cursor=${first.next_cursor}`);
    const last = await page(`?${query}limit=2&cursor=${rest.next_cursor}`);
    assert.equal(last.next_cursor, null);
    assert.deepEqual(
      [first, rest, last].flatMap(({ customers }) => customers.map(({ name }) => name)).slice(-5),
      ['Kunde 5', 'Kunde 4', 'Kunde 3', 'Kunde 2', 'Kunde 1'],
    );
  }
});

test('phonebook - an erased number leaves its customers, who go with their last one; an export names them', async (t) => {
  const { create, names, phonebook, page } = await rig(t);
  const { signal } = new AbortController();
  await create({ name: 'One number', note: 'or 030/901821' });
  await create({ name: 'Two', numbers: [{ number: '0049 30 901820' }, { number: '030901821' }] });
  await create({ name: 'Noted', numbers: [], note: 'call +49 30 901820', shared: true });
  await create({ name: 'Other', numbers: [{ number: '030901822' }], owner: '1003', shared: true });
  await create({ name: 'Of Bea', numbers: [] }, 'token-agent');
  const number = numberSubject('030 901820', 'DE')!;
  const about: string[] = [];
  for await (const { kind, value } of phonebook.data.collect!(number, [], signal))
    about.push(`${kind} ${(value as Customer).name}`);
  assert.deepEqual(about, ['customer One number', 'customer Two', 'customer Noted']);
  assert.deepEqual(await phonebook.data.count(number, signal), { customers: 3 });
  assert.deepEqual(await phonebook.data.erase(number, 'erased-1', signal), { customers: 3 });
  assert.deepEqual(await phonebook.data.count(number, signal), {});
  assert.deepEqual(await names(), ['Other', 'Noted', 'Two']);
  const [, noted, two] = (await page()).customers;
  assert.equal(noted!.note, 'call erased-1');
  assert.deepEqual(
    two!.numbers.map((one) => one.number),
    ['030901821'],
  );
  const bea = extensionSubject('1003');
  assert.deepEqual(await phonebook.data.count(bea, signal), { customers: 2 });
  assert.deepEqual(await phonebook.data.erase(bea, 'erased-2', signal), { customers: 2 });
  assert.deepEqual(await names('', 'token-agent'), ['Other', 'Noted']);
  assert.equal((await page()).customers[0]!.owner, null);
});

test('phonebook - an erased number leaves the labels and the uid of a customer too', async (t) => {
  const { phonebook, temp } = await rig(t);
  const { signal } = new AbortController();
  const caller = (await authenticatorWithKeys({}).authenticate('token-supervisor'))!;
  const file = 'uid,name,number_1,label_1\ntel:+4930901820,Anna,030901821,at night 030 901820\n';
  const query = { list: 'mine', dry_run: 'false' } as const;
  await phonebook.files.import({ caller, ip: null }, Buffer.from(file), 'csv', query);
  const number = numberSubject('030 901820', 'DE')!;
  assert.deepEqual(await phonebook.data.erase(number, 'erased-1', signal), { customers: 1 });
  const [anna] = await rowsOf(temp.store);
  assert.deepEqual([anna!.external_id, anna!.numbers[0]!.label], ['tel:erased-1', 'at night erased-1']);
  assert.deepEqual(await phonebook.data.count(number, signal), {});
});

const SOURCED: SourceCustomer = {
  external_id: '7',
  kind: 'person',
  name: 'Anna',
  company: null,
  numbers: ['030 901820'],
  emails: [],
  vip: false,
  blocked: false,
  url: null,
};
test('phonebook - a customer of a system outside whose name is cut inside an emoji stays unchanged', async (t) => {
  const { phonebook, temp } = await rig(t);
  const sourced = {
    ...SOURCED,
    name: `${'x'.repeat(119)}\u{1F600}`,
    company: `${'y'.repeat(119)}\u{1F600}`,
  };
  for (const _ of [1, 2]) await phonebook.sources.store('connector:1', [sourced]);
  const [row] = await rowsOf(temp.store);
  assert.deepEqual([row!.version, row!.name, row!.company], [1, 'x'.repeat(119), 'y'.repeat(119)]);
});

test('phonebook - the language of a customer belongs to its source before each update, and to the site where the source names none', async (t) => {
  const { phonebook, call, page } = await rig(t);
  const update = () => phonebook.sources.store('connector:1', [SOURCED]);
  const read = async () => (await page()).customers[0]!;
  await update();
  const { id, source_fields } = await read();
  const put = async (language: string | null) => {
    const fields = { name: 'Anna', numbers: [{ number: '030 901820' }], shared: true, language };
    const { status, json } = await call('PUT', `customers/${id}`, fields);
    return [status, json.detail];
  };
  const refused = [400, 'language: this field comes from the connected system; change it there'];
  assert.ok(source_fields.includes('language'));
  assert.deepEqual(await put('tr'), refused, 'the next update may name one');

  phonebook.sources.namesLanguages('connector:1', false);
  assert.equal((await put('tr'))[0], 200);
  await update();
  const own = await read();
  assert.deepEqual([own.language, own.source_fields.includes('language')], ['tr', false]);
  assert.ok(own.source_fields.includes('name'));

  phonebook.sources.namesLanguages('connector:1', true);
  assert.deepEqual(await put('de'), refused);
  await update();
  assert.equal((await read()).language, null, 'the source names none for her');
});

test('phonebook - a source stores many customers in parts: new ones, changed ones and further numbers', async (t) => {
  const { phonebook, temp, lookup, names } = await rig(t);
  const many = 600;
  const one = (n: number, more: Partial<SourceCustomer> = {}): SourceCustomer => ({
    external_id: `c${n}`,
    kind: 'person',
    name: `Person ${n}`,
    company: null,
    numbers: [`+4930${5_000_000 + n}`, `030 ${5_000_000 + n}`],
    emails: [],
    vip: false,
    blocked: false,
    url: null,
    ...more,
  });
  const all = Array.from({ length: many }, (_, n) => one(n));
  await phonebook.sources.store('connector:1', all.slice(0, 300));
  // A connector and a file may use the same ids.
  await phonebook.sources.store('connector:2', [one(7, { name: 'Other' })]);
  await phonebook.sources.store(
    'connector:1',
    all.map((of, n) =>
      n % 3 === 0 ? { ...of, numbers: [`+4940${5_000_000 + n}`], adds_numbers: n % 2 === 0 } : of,
    ),
  );
  const rows = (await rowsOf(temp.store)).filter(({ source }) => source === 'connector:1');
  assert.equal(rows.length, many);
  for (const row of rows) {
    const n = Number(row.external_id!.slice(1));
    const [berlin, hamburg] = [`+4930${5_000_000 + n}`, `+4940${5_000_000 + n}`];
    const isAdded = n % 2 === 0 && n < 300;
    const wanted = n % 3 !== 0 ? [berlin] : isAdded ? [berlin, hamburg] : [hamburg];
    assert.deepEqual(
      row.numbers.map(({ number }) => number),
      wanted,
      row.name,
    );
    assert.equal(row.version, n % 3 === 0 && n < 300 ? 2 : 1, row.name);
  }
  assert.deepEqual(await lookup(`+4940${5_000_297}`), ['Person 297']);
  assert.deepEqual(await lookup(`+4930${5_000_297}`), []);
  assert.deepEqual(await lookup(`+4930${5_000_294}`), ['Person 294']);
  assert.deepEqual(await names('?q=Person%20597'), ['Person 597']);
  await phonebook.sources.removeSome('connector:1', ({ external_id }) => external_id !== 'c294', null);
  assert.deepEqual((await rowsOf(temp.store)).map(({ name }) => name).toSorted(), ['Other', 'Person 294']);
  assert.deepEqual(await lookup(`+4940${5_000_297}`), []);
});

test('phonebook - a sync learns the row of each customer: new, unchanged, no longer usable, never usable', async (t) => {
  const { phonebook, temp } = await rig(t);
  const one = (external_id: string, name: string): SourceCustomer => ({
    external_id,
    kind: 'person',
    name,
    company: '',
    numbers: ['+493090182000'],
    emails: [],
    vip: false,
    blocked: false,
    url: null,
  });
  await phonebook.sources.store('connector:1', [one('same', 'Anna'), one('broken', 'Zoë')]);
  await phonebook.sources.store('connector:2', [one('same', 'Other')]);
  const named: [string, number | null][] = [];
  await phonebook.sources.store(
    'connector:1',
    [one('same', 'Anna'), one('broken', ''), one('nameless', ''), one('new', 'Ben')],
    { named: (id, row) => void named.push([id, row]), keepsNumbers: () => false },
  );
  const rows = (await rowsOf(temp.store)).filter(({ source }) => source === 'connector:1');
  const rowOf = (id: string): number => rows.find(({ external_id }) => external_id === id)!.id;
  assert.deepEqual(named, [
    ['same', rowOf('same')],
    ['broken', rowOf('broken')],
    ['nameless', null],
    ['new', rowOf('new')],
  ]);
});

test('phonebook - every change is published to those who see the customer, without name and number', async (t) => {
  const { create, call, events, phonebook } = await rig(t);
  const own = await create({ name: 'Own' }, 'token-supervisor');
  assert.equal((await call('PUT', `customers/${own.id}`, { ...ANNA, note: 'x' })).status, 200);
  assert.equal((await call('PUT', `customers/${own.id}`, { ...ANNA, shared: true })).status, 200);
  assert.equal((await call('DELETE', `customers/${own.id}`)).status, 200);
  const gone = await create({}, 'token-user');
  await phonebook.data.erase(numberSubject('030 901820', 'DE')!, 'x', new AbortController().signal);
  const mine = events[0]!.subject;
  assert.match(mine, /^phonebook\/mine\/\d+$/);
  const id = (one: Customer) => ({ ids: [one.id], count: 1 });
  const published = events.map(({ subject, data }) => ({ subject, ...(data as PhonebookChange) }));
  assert.deepEqual(
    published.map(({ subject, change, ids, count }) => [subject, change, { ids, count }]),
    [
      [mine, 'created', id(own)],
      [mine, 'updated', id(own)],
      [mine, 'deleted', id(own)],
      ['phonebook/shared', 'created', id(own)],
      ['phonebook/shared', 'deleted', id(own)],
      ['phonebook/mine/1005', 'created', id(gone)],
      ['phonebook/mine/1005', 'deleted', id(gone)],
    ],
  );
  for (const event of events) assert.deepEqual(topicsOf(event), [event.subject]);
  assert.doesNotMatch(JSON.stringify(events), /Anna|Own|90182/);
});

test('phonebook - personal customers of a person who is gone are deleted, at a start too; shared ones stay', async (t) => {
  const { create, directory, phonebook, open, names, temp } = await rig(t);
  await create({ name: 'Shared', shared: true, owner: '1005' });
  const caller = (await authenticatorWithKeys({}).authenticate('token-user'))!;
  const file = `name,number\n${Array.from({ length: 101 }, (_, i) => `Own ${i},4${i}`).join('\n')}\n`;
  await phonebook.files.import({ caller, ip: null }, Buffer.from(file), 'csv', {
    list: 'mine',
    dry_run: 'false',
  });
  await create({ name: 'Of Bea' }, 'token-agent');
  directory.change('1005', { name: 'Renamed' });
  await phonebook.departed.idle();
  assert.equal((await names('?limit=100', 'token-user')).length, 100);
  directory.remove('1005');
  await phonebook.departed.idle();
  const left = async () => (await rowsOf(temp.store)).map(({ name }) => name);
  assert.deepEqual(await left(), ['Shared', 'Of Bea']);
  assert.deepEqual(await names('', 'token-supervisor'), ['Shared']);
  await phonebook.departed.close();
  directory.remove('1003');
  assert.deepEqual(await left(), ['Shared', 'Of Bea']);
  const again = await open();
  await again.departed.idle();
  assert.deepEqual(await left(), ['Shared']);
});
