import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { MAX_CUSTOMERS_OF_A_PERSON, MAX_MATCHES } from '@offhook/contract/phonebook.ts';
import type { PhonebookChange } from '@offhook/contract/phonebook.ts';
import { ImportReply, MAX_IMPORT_ROWS } from '@offhook/contract/phonebook-files.ts';
import type { ImportFinding } from '@offhook/contract/phonebook-files.ts';
import { SAME_READ_MS } from '../../commands/audited-reads.ts';
import { phonebookRig } from '../../../test/support/phonebook-rig.ts';
import { csvLines } from './csv.ts';
import type { Lines } from './line.ts';
import { vcardLines } from './vcard.ts';

const CSV = `name;company;Mobile Phone;number_1;label_1;email_1;vip;colour
Anna Müller;Acme;0171 1234567;030 901820;office;anna@acme.example;true;red
"Bea ""B"" Öz";;;+90 212 555 1234;;;;
`;
const card = (version: string, ...lines: string[]): string =>
  ['BEGIN:VCARD', `VERSION:${version}`, ...lines, 'END:VCARD', ''].join('\r\n');

async function rig(t: TestContext) {
  const base = await phonebookRig(t);
  const send = async (
    file: string | Buffer,
    query = 'list=shared',
    type = 'text/csv',
    token = 'token-supervisor',
  ) => {
    const reply = await base.host.app.inject({
      method: 'POST',
      url: `/api/v1/phonebook/import?${query}`,
      headers: { 'content-type': type, authorization: `Bearer ${token}` },
      payload: file,
    });
    return { status: reply.statusCode, json: reply.json() as { code?: string; detail?: string } };
  };
  const load = async (...args: Parameters<typeof send>) => {
    const { status, json } = await send(...args);
    assert.equal(status, 200, JSON.stringify(json));
    return ImportReply.parse(json);
  };
  const download = async (query: string, token = 'token-supervisor') => {
    const { statusCode, headers, body } = await base.host.app.inject({
      method: 'GET',
      url: `/api/v1/phonebook/export?${query}`,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: statusCode, type: headers['content-type'], text: body };
  };
  return { ...base, send, load, download };
}
const figures = ({ rows, created, updated, unchanged, left_out }: ImportReply) => ({
  rows,
  created,
  updated,
  unchanged,
  left_out,
});
const FIGURES = { rows: 2, created: 0, updated: 0, unchanged: 0, left_out: 0 };
const placed = ({ line, field, rule, left_out }: ImportFinding) => [line, field, rule, left_out];

test('phonebook files - a shared list may be larger than a personal one', async (t) => {
  const { load, send } = await rig(t);
  const rows = Array.from(
    { length: MAX_CUSTOMERS_OF_A_PERSON + 1 },
    (_, i) => `Row ${i},+4930${1_000_000 + i}\n`,
  );
  const file = `name,mobile\n${rows.join('')}`;
  const { created } = await load(file, 'list=shared&dry_run=true');
  assert.equal(created, rows.length);
  const { status, json } = await send(file, 'list=mine&dry_run=true');
  assert.deepEqual([status, json.code], [409, 'limit_reached']);
});

test('phonebook files - a dry run stores nothing and replies what the import then stores; a repeat changes nothing', async (t) => {
  const { load, page, names, events, audit } = await rig(t);
  const dry = await load(CSV, 'list=shared&dry_run=true');
  assert.deepEqual([figures(dry), dry.ignored, dry.findings], [{ ...FIGURES, created: 2 }, ['colour'], []]);
  assert.deepEqual([await names(), events], [[], []]);
  assert.deepEqual(figures(await load(CSV)), { ...FIGURES, created: 2 });
  const [bea, anna] = (await page()).customers;
  assert.deepEqual([bea!.name, anna!.shared, anna!.vip, anna!.source], ['Bea "B" Öz', true, true, 'import']);
  assert.deepEqual(
    anna!.numbers.map(({ e164, label }) => [e164, label]),
    [
      ['+491711234567', 'mobile'],
      ['+4930901820', 'office'],
    ],
  );
  assert.deepEqual(figures(await load(CSV)), { ...FIGURES, unchanged: 2 });
  const changed = CSV.replace('Acme', 'Acme AG').replace('0171 1234567', '');
  assert.deepEqual(figures(await load(changed)), { ...FIGURES, updated: 1, unchanged: 1 });
  assert.equal((await page()).customers[1]!.company, 'Acme AG');
  assert.deepEqual(
    events.map(({ data }) => [(data as PhonebookChange).change, (data as PhonebookChange).ids]),
    [
      ['imported', [anna!.id, bea!.id]],
      ['imported', [anna!.id]],
    ],
  );
  const { entries } = await audit.page({});
  assert.deepEqual([entries.length, entries[0]!.action], [3, 'phonebook.imported']);
});

test('phonebook files - a customer keeps what the file does not name, and is found by uid, else by name and number', async (t) => {
  const { create, load, page } = await rig(t);
  await create({ shared: true, vip: true, owner: '1003', note: 'kept' });
  const file = (name: string, uid: string) => `uid,name,number\n${uid},${name},+49 30 901820\n`;
  const one = { ...FIGURES, rows: 1 };
  assert.deepEqual(figures(await load(file('anna  mueller', 'u1'))), { ...one, created: 1 });
  assert.deepEqual(figures(await load(file('ANNA MULLER', 'u2'))), { ...one, updated: 1 });
  assert.deepEqual(figures(await load(file('Anna Berg', 'u2'))), { ...one, updated: 1 });
  const found = (await page('?q=berg')).customers[0]!;
  assert.deepEqual(
    [found.vip, found.owner, found.note, found.company, found.source],
    [true, '1003', 'kept', 'Acme', 'manual'],
  );
  assert.deepEqual(figures(await load(file('Anna Berg', 'u3'))), { ...one, created: 1 });
});

test('phonebook files - numbers without a country are stored, and counted', async (t) => {
  const { load } = await rig(t);
  const reply = await load('name,number_1,number_2\nAnna,030901821,1234\nBen,+4930901822,\n,4711,\n');
  assert.deepEqual([reply.created, reply.left_out, reply.without_e164], [2, 1, 1]);
});

test('phonebook files - values and lines that cannot be stored are named, with line, field and rule', async (t) => {
  const { load } = await rig(t);
  const rows = [
    'name,number,email,owner,vip,note',
    'Ok,030901821,,,,',
    ',030901822,,,,',
    '"Two\nlines",030901823,,,,',
    'No number,,a@b.example,,,',
    'Half,anonymous,nobody,4711,maybe,',
    'Half,030901824,nobody,4711,maybe,',
    `Long,030901825,,,,${'x'.repeat(2_001)}`,
    'OK,030 90 18 21,,,,',
  ];
  const reply = await load(`${rows.join('\n')}\n`);
  assert.deepEqual(figures(reply), { rows: 8, created: 3, updated: 0, unchanged: 0, left_out: 5 });
  assert.deepEqual(reply.findings.map(placed), [
    [3, 'name', 'missing', 'line'],
    [4, 'name', 'not_valid', 'line'],
    [6, 'number', 'missing', 'line'],
    [7, 'number', 'not_a_number', 'value'],
    [7, 'email', 'not_an_email', 'value'],
    [7, 'number', 'missing', 'line'],
    [8, 'email', 'not_an_email', 'value'],
    [8, 'owner', 'unknown_owner', 'value'],
    [8, 'vip', 'not_valid', 'value'],
    [9, 'note', 'too_long', 'value'],
    [10, 'name', 'duplicate', 'line'],
  ]);
});

test('phonebook files - a file that cannot be read is refused whole', async (t) => {
  const { send, names } = await rig(t);
  const refused = async (file: string | Buffer, says: RegExp, type?: string, query?: string) => {
    const { status, json } = await send(file, query, type);
    assert.deepEqual([status, json.code], [400, 'invalid_request'], String(says));
    assert.match(json.detail!, says);
  };
  await refused('', /empty/);
  await refused(
    Buffer.from('name,number\nM\xfcller,030901820\n', 'latin1'),
    /not in utf-8; save it as UTF-8/,
  );
  await refused('name,number\nA\0,030901820\n', /NUL/);
  await refused('colour,number\nred,030901820\n', /has no column for names/);
  await refused('name,number\n"Anna,030901820\n', /line 2 has a quote that is not closed/);
  await refused(`name,number\n"Anna,${'x\n'.repeat(40_000)}`, /longer than 32768 characters/);
  for (const empty of ['"",', ','])
    for (const before of ['', 'name,number\n'])
      await refused(before + empty.repeat(400_000), /longer than 32768 characters/);
  await refused('Hello\nthere\n', /BEGIN:VCARD/, 'text/vcard');
  const many = `name,number\n${Array.from({ length: MAX_IMPORT_ROWS + 1 }, (_, i) => `A,${10_000_000 + i}`).join('\n')}\n`;
  await refused(many, /at most 50000 rows/);
  assert.deepEqual(await names(), []);
  assert.equal((await send('x', 'list=shared', 'application/json')).status, 415);
  assert.equal((await send(Buffer.alloc(20_971_521, 'a'))).status, 413);
});

/** Turns of the event loop that other work gets meanwhile. */
async function turnsDuring(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  const each = (): void => {
    turns += 1;
    turning = setImmediate(each);
  };
  let turning = setImmediate(each);
  await work().finally(() => clearImmediate(turning));
  return turns;
}
test('phonebook files - other work runs while a long file is read', async () => {
  const count = async (lines: Lines): Promise<number> => {
    let found = 0;
    for await (const _line of lines) found += 1;
    return found;
  };
  const heading = ['name', ...Array.from({ length: 199 }, (_, i) => `other ${i}`)].join();
  const rows = `Anna${','.repeat(199)}\n`.repeat(2_000);
  const ofRows = await turnsDuring(async () =>
    assert.equal(await count(await csvLines(`${heading}\n${rows}`)), 2_000),
  );
  assert.ok(ofRows > 20, `${ofRows} turns`);
  // A card of lines that nobody wants, and one of lines that continue.
  for (const lines of ['\n', ' x\n']) {
    const card = `BEGIN:VCARD\nVERSION:4.0\nFN:Anna\nX-OTHER:a\n${lines.repeat(700_000)}END:VCARD\n`;
    const ofCard = await turnsDuring(async () => assert.equal(await count(await vcardLines(card)), 1));
    assert.ok(ofCard > 20, `${ofCard} turns`);
  }
  const none = await turnsDuring(() => assert.rejects(vcardLines('\n'.repeat(700_000)), /no BEGIN:VCARD/));
  assert.ok(none > 20, `${none} turns`);
});

test('phonebook files - character sets are read by their mark or their name', async (t) => {
  const { load, names } = await rig(t);
  const text = 'name\tnumber\r\nJürgen 1\t030901821\r\n';
  await load(Buffer.from(`\uFEFF${text}`));
  await load(Buffer.from(`\uFEFF${text.replace('1', '2')}`, 'utf16le'));
  await load(Buffer.from(`\uFEFF${text.replace('1', '3')}`, 'utf16le').swap16());
  await load(Buffer.from(text.replace('1', '4'), 'latin1'), 'list=shared&encoding=windows-1252');
  assert.deepEqual(await names(), ['Jürgen 4', 'Jürgen 3', 'Jürgen 2', 'Jürgen 1']);
});

test('phonebook files - cards of both versions are read: groups, types, folded lines, companies; 2.1 is a finding', async (t) => {
  const { load, page } = await rig(t);
  const photo = `PHOTO;ENCODING=b;TYPE=JPEG:${'A'.repeat(200_000)}`;
  const file =
    card(
      '3.0',
      'N:Müller;Anna;;;',
      'FN:Anna Mül',
      ' ler',
      'ORG:Acme\\, Inc;Sales',
      photo,
      'UID:u1',
      'NOTE:a\\nb',
      'item1.TEL;type=CELL;type=VOICE;type=pref:+49 171 1234567',
      'item2.TEL:030 901820',
      'item2.X-ABLabel:_$!<Reception>!$_',
      'EMAIL;type=INTERNET:anna@acme.example',
    ) +
    card('4.0', 'KIND:org', 'FN:Beta GmbH', 'TEL;TYPE="voice,work";VALUE=uri:tel:+49-30-901822;ext=5') +
    card('2.1', 'FN:Old', 'TEL;WORK:030901823') +
    card('3.0', 'FN:Half', 'TEL;WORK:030901824', 'TEL:030901825') +
    'BEGIN:VCARD\nVERSION:3.0\nFN:Cut';
  const reply = await load(file, 'list=mine', 'text/vcard; charset=utf-8');
  assert.deepEqual(figures(reply), { rows: 5, created: 3, updated: 0, unchanged: 0, left_out: 2 });
  assert.deepEqual(
    reply.findings.map(({ field, rule, left_out }) => [field, rule, left_out]),
    [
      ['VERSION', 'unreadable', 'line'],
      ['TEL', 'unreadable', 'value'],
      ['END', 'unreadable', 'line'],
    ],
  );
  const [half, beta, anna] = (await page()).customers;
  assert.deepEqual([half!.numbers.length, beta!.kind, beta!.name], [1, 'company', 'Beta GmbH']);
  assert.deepEqual([beta!.numbers[0]!.e164, beta!.numbers[0]!.label], ['+4930901822', 'work']);
  assert.deepEqual(
    [anna!.name, anna!.company, anna!.note, anna!.emails, anna!.shared],
    ['Anna Müller', 'Acme, Inc', 'a\nb', ['anna@acme.example'], false],
  );
  assert.deepEqual(
    anna!.numbers.map(({ e164, label }) => [e164, label]),
    [
      ['+491711234567', 'mobile'],
      ['+4930901820', 'Reception'],
    ],
  );
});

test('phonebook files - what is exported is imported again without a change, and no cell is a formula', async (t) => {
  const { create, load, download, names, audit } = await rig(t);
  await create({
    shared: true,
    name: '=1+2',
    note: 'a\n"b"',
    emails: ['a@b.example'],
    vip: true,
    language: 'pt_BR',
  });
  await create({
    shared: true,
    kind: 'company',
    name: 'Acme; Söhne, AG',
    company: null,
    numbers: [
      { number: '1234567890123', label: 'Büro, 2' },
      { number: '030901822', label: 'mobile' },
    ],
  });
  await create({ name: 'Own' });
  for (const [format, type] of [
    ['csv', 'text/csv'],
    ['vcard', 'text/vcard'],
    ['vcard_4', 'text/vcard'],
  ] as const) {
    const file = await download(`list=shared&format=${format}`);
    assert.deepEqual([file.status, file.type], [200, `${type}; charset=utf-8`]);
    assert.doesNotMatch(file.text, /Own/);
    if (format === 'csv') assert.doesNotMatch(file.text, /(?:^|[,"\n])[=+@-]/m);
    assert.equal(/pt[-_]BR/.test(file.text), format !== 'vcard', format);
    assert.deepEqual(
      figures(await load(file.text, 'list=shared', type)),
      { ...FIGURES, unchanged: 2 },
      format,
    );
  }
  assert.deepEqual((await names()).length, 3);
  assert.match((await download('list=mine')).text, /Own/);
  assert.ok((await audit.page({})).entries.some(({ action }) => action === 'phonebook.exported'));
});

test('phonebook files - repeated exports of a list and format within five minutes have one entry', async (t) => {
  const { download, audit, clock } = await rig(t);
  const count = async (query: string, token = 'token-user') => {
    assert.equal((await download(query, token)).status, 200);
    const { entries } = await audit.page({ action: 'phonebook.exported' });
    return entries.length;
  };
  assert.equal(await count('list=mine'), 1);
  for (let i = 0; i < 10; i += 1) assert.equal(await count('list=mine'), 1);
  assert.equal(await count('list=mine&format=vcard'), 2);
  assert.equal(await count('list=shared'), 3);
  assert.equal(await count('list=shared', 'token-agent'), 4);
  await clock.advance(SAME_READ_MS + 1);
  assert.equal(await count('list=mine'), 5);
});

test('phonebook files - shared ones are imported by supervisors and keys that write, and a key has no personal ones', async (t) => {
  const { send, download, load } = await rig(t);
  const status = async (query: string, token: string) => (await send(CSV, query, 'text/csv', token)).status;
  assert.equal(await status('list=shared', 'token-user'), 403);
  assert.equal(await status('list=shared', 'key-reads'), 403);
  assert.equal(await status('list=shared', 'key-limited'), 403);
  assert.equal(await status('list=mine', 'key-writes'), 400);
  assert.equal(await status('list=shared', 'key-writes'), 200);
  assert.equal((await load(CSV, 'list=mine', 'text/csv', 'token-user')).created, 2);
  assert.equal((await download('list=mine', 'key-reads')).status, 400);
  assert.equal((await download('list=shared', 'key-limited')).status, 403);
  assert.equal((await download('list=shared', 'token-user')).status, 200);
});

test('phonebook files - of a cell with thousands of values no more than a customer can have is checked', async (t) => {
  const { load, page } = await rig(t);
  const many = Array.from({ length: 5_000 }, () => 'x').join(' ::: ');
  const reply = await load(`name,number_1,email_1\nAnna,030 901820,${many}\nBea,${many},\n`);
  assert.deepEqual(figures(reply), { ...FIGURES, created: 1, left_out: 1 });
  assert.equal(reply.findings_total, 41 + 41 + 1);
  assert.deepEqual(placed(reply.findings[0]!), [2, 'email_1', 'too_many', 'value']);
  assert.equal((await page()).customers.length, 1);
});

test('phonebook files - an emoji is kept wherever the text is cut for the parser', async (t) => {
  const { load, page } = await rig(t);
  const heading = 'name,number,note\n';
  const rows = Array.from({ length: 32 }, (_, i) => `Row ${i},0309018${100 + i},${'x'.repeat(1_990)}\n`);
  const before = `${heading}${rows.join('')}Anna,030901820,`;
  await load(`${before}${'z'.repeat(65_535 - before.length)}\u{1F600}\n`, 'list=mine');
  assert.equal((await page('?q=anna')).customers[0]?.note?.slice(-3), 'z\u{1F600}');
});

test('phonebook files - a customer is found again among more with the same number than a lookup returns', async (t) => {
  const { load } = await rig(t);
  const switchboard = (names: readonly string[]): string =>
    `name,number\n${names.map((name) => `${name},030 901820\n`).join('')}`;
  const names = Array.from({ length: MAX_MATCHES + 10 }, (_, i) => `Colleague ${i}`);
  await load(switchboard(names));
  const again = await load(switchboard(names.slice(-1)));
  assert.deepEqual(figures(again), { ...FIGURES, rows: 1, unchanged: 1 });
});
