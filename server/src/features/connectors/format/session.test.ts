import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileOf, openForTest, startSystem } from '../../../../test/support/connector-rig.ts';
import type { AskedOfSystem, SystemAnswer } from '../../../../test/support/connector-rig.ts';
import { systemClock } from '../../../core/clock.ts';
import { laterCursor, openConnector } from './session.ts';
import { SAMPLE_CALL } from './verbs.ts';

const FILE = `
connector: 1
name: Small CRM
settings: { address: { text: Address, url: true }, token: { text: Token, secret: true } }
base: '{{ set.address }}'
auth: { bearer: '{{ set.token }}' }
fails: '{{ answer.error }}'
check: { get: /me, holds: '{{ answer.ok }}' }
users: { get: /users, rows: '{{ answer.users }}', when: '{{ row.active }}', id: '{{ string(row.id) }}', email: '{{ row.mail }}' }
customer:
  id: '{{ string(row.id) }}'
  name: '{{ row.name }}'
  numbers: '{{ row.phones.map(p, p.number) }}'
  owner: '{{ string(row.owner.id) }}'
  url: '{{ set.address }}/people/{{ row.id }}'
lookup:
  number: { get: /people, query: { phone: '{{ number }}' }, formats: [e164, national, '00'], compare: 8, rows: '{{ answer.people }}' }
  text: { get: /people, query: { q: '{{ text }}' }, rows: '{{ answer.people }}' }
create: { post: /people, body: { name: '{{ new.name }}', phones: [{ number: '{{ new.e164 }}' }], owner: '{{ user.id }}' }, row: '{{ answer.person }}' }
entry:
  when: '{{ call.direction != "internal" }}'
  once: find
  create: { post: /notes, body: { person: '{{ int(customer.id) }}', text: '{{ call.text }}', key: '{{ call.id }}' }, id: '{{ string(answer.id) }}' }
  update: { put: '/notes/{{ entry.id }}', body: { text: '{{ call.text }}' } }
  remove: { delete: '/notes/{{ entry.id }}', ok: [404] }
  find: { get: /notes, query: { key: '{{ call.id }}' }, id: '{{ string(answer.notes[0].id) }}' }
push:
  post: /cti/{{ set.token }}
  body: { id: '{{ call.id }}' }
  ringing: { body: { event: new, to: '{{ person.name }}' }, reply: { reject: '{{ answer.action == "reject" }}' } }
sync:
  get: /people
  query: { since: '{{ cursor }}', page: '{{ page }}' }
  rows: '{{ answer.people }}'
  gone: '{{ row.deleted }}'
  page: '{{ answer.next }}'
  cursor: '{{ row.changed }}'
`;
const SECRET = 'very-secret-token';
const ANNA = { id: 7, name: 'Anna', phones: [{ number: '030 / 901820 ext. 4' }], owner: { id: 3 } };
const CUSTOMER = {
  id: '7',
  kind: 'person',
  name: 'Anna',
  company: null,
  numbers: [],
  emails: [],
  owner: null,
  url: null,
  blocked: false,
  vip: false,
} as const;
async function rig(
  t: Parameters<typeof openForTest>[0],
  answer: (asked: AskedOfSystem) => SystemAnswer | null,
) {
  const system = await startSystem(t, answer);
  return { system, ...openForTest(t, FILE, { address: system.url, token: SECRET }) };
}

test('connector - check expects what the file expects of the answer', async (t) => {
  const answers: SystemAnswer[] = [{ json: { ok: true } }, { json: { ok: false } }, { json: {} }];
  const { session, signal, system } = await rig(t, () => answers.shift()!);
  assert.deepEqual(await session.check(signal), { kind: 'done', value: null });
  assert.equal(system.asked[0]!.headers.authorization, `Bearer ${SECRET}`);
  assert.equal((await session.check(signal)).kind, 'refused');
  assert.equal((await session.check(signal)).kind, 'refused');
});

test('connector - a lookup asks each form of the number until one is found, and drops numbers that end otherwise', async (t) => {
  const found: Record<string, unknown[]> = {
    '+4930901820': [{ ...ANNA, phones: [{ number: '+49 89 1' }] }],
    '030901820': [ANNA, ANNA, { name: 'no id' }],
  };
  const { session, signal, system, missed } = await rig(t, ({ path }) => ({
    json: { people: found[new URL(path, 'http://x').searchParams.get('phone')!] ?? [] },
  }));
  assert.deepEqual(await session.lookup!('+4930901820', signal), {
    kind: 'done',
    value: [
      {
        id: '7',
        name: 'Anna',
        kind: 'person',
        company: null,
        numbers: ['030 / 901820 ext. 4'],
        emails: [],
        owner: '3',
        url: `${system.url}/people/7`,
        blocked: false,
        vip: false,
      },
    ],
  });
  assert.deepEqual(
    system.asked.map(({ path }) => path),
    ['/people?phone=%2B4930901820', '/people?phone=030901820'],
  );
  assert.match(missed.join(), /row\.id/);
  assert.deepEqual(await session.lookup!('+12025550123', signal), { kind: 'done', value: [] });
});

test('connector - an id or name that ends in half a character is the same before and after it is stored', async (t) => {
  const people = [{ ...ANNA, id: 'a\uD83D', name: `${'x'.repeat(299)}\u{1F600}` }];
  const { session, signal } = await rig(t, () => ({ json: { people } }));
  const found = await session.lookupText!('Anna', signal);
  assert.ok(found.kind === 'done');
  const texts = [found.value[0]!.id, found.value[0]!.name];
  assert.deepEqual(Buffer.from(texts.join()).toString(), texts.join());
});

test('connector - rows with one id are one customer with a limited list of numbers; of changes the later row counts', async (t) => {
  const people = Array.from({ length: 5_000 }, (_, i) => ({ ...ANNA, phones: [{ number: `030 ${i}` }] }));
  const system = await startSystem(t, () => ({ json: { people } }));
  const listed = async (file: string) => {
    const { session, signal } = openForTest(t, file, { address: system.url, token: SECRET });
    const page = await session.sync!({ cursor: null, page: null }, signal);
    assert.ok(page.kind === 'done');
    return page.value.customers.map(({ numbers }) => [numbers.length, numbers.at(-1)]);
  };
  const whole = FILE.replace("\n  cursor: '{{ row.changed }}'", '');
  assert.deepEqual([await listed(whole), await listed(FILE)], [[[20, '030 19']], [[1, '030 4999']]]);
});

test('connector - text is found, a customer made, users listed by the file', async (t) => {
  const { session, signal, system } = await rig(t, ({ method, path }) => {
    if (path === '/users')
      return {
        json: {
          users: [
            { id: 1, mail: 'a@x.example', active: true },
            { id: 2, active: false },
          ],
        },
      };
    return { json: method === 'POST' ? { person: { id: 9 } } : { people: [ANNA] } };
  });
  const byText = await session.lookupText!('Anna & Co', signal);
  assert.equal(byText.kind === 'done' && byText.value[0]!.name, 'Anna');
  assert.equal(system.asked[0]!.path, '/people?q=Anna+%26+Co');
  const made = await session.createCustomer!({ name: 'Bea', e164: '+4930901821' }, signal);
  assert.deepEqual(made.kind === 'done' && [made.value.id, made.value.name, made.value.numbers], [
    '9',
    'Bea',
    ['+4930901821'],
  ]);
  assert.deepEqual(
    JSON.parse(system.asked[1]!.body),
    { name: 'Bea', phones: [{ number: '+4930901821' }] },
    'no user, no owner',
  );
  assert.deepEqual(await session.users!(signal), {
    kind: 'done',
    value: [{ id: '1', email: 'a@x.example', name: null }],
  });
});

test('connector - users are listed page after page, and a list that breaks off is no list', async (t) => {
  const all = Array.from({ length: 5 }, (_, n) => ({ id: n + 1, mail: `u${n + 1}@x.example`, active: true }));
  let fault: (page: string) => SystemAnswer | null = () => null;
  const system = await startSystem(t, ({ path }) => {
    const query = new URL(path, 'http://x').searchParams;
    const page = query.get('page') ?? '';
    const from = query.has('offset') ? Number(query.get('offset')) : Number(page);
    const users = query.has('offset')
      ? all.slice(from, from + 2)
      : all.filter(({ id }) => id > from).slice(0, 2);
    return fault(page) ?? { json: { users } };
  });
  const listed = async (request: string, pages: string) => {
    const file = FILE.replace('{ get: /users,', `{ get: /users, query: ${request}, ${pages},`);
    const { session, signal } = openForTest(t, file, { address: system.url, token: SECRET });
    const users = await session.users!(signal);
    return users.kind === 'done' ? users.value.map(({ id }) => id) : users.words;
  };
  const byKey = () =>
    listed(
      `{ page: '{{ first_page ? "0" : string(page) }}' }`,
      `page: '{{ answer.users.size() > 0 ? answer.users[answer.users.size() - 1].id : null }}'`,
    );
  const ids = ['1', '2', '3', '4', '5'];
  assert.deepEqual(await byKey(), ids);
  assert.deepEqual(await listed(`{ offset: '{{ page }}' }`, 'pages: { first: 0, step: 2, full: 2 }'), ids);
  fault = (page) => (page === '4' ? { status: 500, json: { message: 'broken' } } : null);
  assert.equal(await byKey(), 'broken');
  fault = (page) => (page === '4' ? { json: { ok: true } } : null);
  assert.match(String(await byKey()), /no list of rows/);
  fault = () => ({ json: { users: all.slice(0, 2) } });
  assert.deepEqual(await byKey(), ['1', '2'], 'a system that knows no pages');
  let n = 0;
  fault = () => ({ json: { users: [{ id: (n += 1), mail: 'u@x.example', active: true }] } });
  assert.match(String(await byKey()), /more than 200 pages/);
});

test('connector - an entry is made, updated, found and removed', async (t) => {
  const { session, signal, system } = await rig(t, ({ method }) => {
    if (method === 'POST') return { json: { id: 41 } };
    if (method === 'GET') return { json: { notes: [{ id: 41 }] } };
    return method === 'DELETE' ? { status: 404, json: {} } : { status: 204 };
  });
  const entry = session.entry!;
  const subject = { call: SAMPLE_CALL, customer: CUSTOMER };
  assert.equal(entry.wanted(subject), true);
  assert.equal(entry.wanted({ call: { ...SAMPLE_CALL, direction: 'internal' } }), false);
  assert.deepEqual(await entry.create(subject, signal), {
    kind: 'done',
    value: { id: '41', existed: false },
  });
  assert.deepEqual(JSON.parse(system.asked[0]!.body), {
    person: 7,
    text: SAMPLE_CALL.text,
    key: SAMPLE_CALL.id,
  });
  assert.deepEqual(await entry.update('41', subject, signal), {
    kind: 'done',
    value: { id: '41', existed: true },
  });
  assert.deepEqual(await entry.find(subject, signal), { kind: 'done', value: { id: '41', existed: true } });
  assert.deepEqual(await entry.remove('41', subject, signal), { kind: 'done', value: null });
  for (const id of ['', '..', '.'])
    assert.equal((await entry.remove(id, subject, signal)).kind, 'refused', id);
  await entry.remove('a/../../x?y', subject, signal);
  assert.equal(system.asked.at(-1)!.path, '/notes/a%2F..%2F..%2Fx%3Fy');
});

test('connector - an id of an entry that is too long to be kept is a doubt, and no reason to send it again', async (t) => {
  const id = 'x'.repeat(400);
  const { session, signal } = await rig(t, () => ({ json: { id, notes: [{ id }] } }));
  const subject = { call: SAMPLE_CALL, customer: CUSTOMER };
  const words = 'the id of the entry has more than 300 characters';
  for (const [result, kind] of [
    [await session.entry!.create(subject, signal), 'unknown'],
    [await session.entry!.find(subject, signal), 'refused'],
  ] as const)
    assert.deepEqual([result.kind, result.kind !== 'done' && result.words], [kind, words]);
});

test('connector - a push carries the event and reads the reply', async (t) => {
  const { session, signal, system } = await rig(t, () => ({ json: { action: 'reject' } }));
  const subject = {
    call: SAMPLE_CALL,
    person: { extension: '1001', name: 'Anna Muster', email: 'anna@x.example' },
  };
  assert.deepEqual(await session.push('ringing', subject, signal), {
    kind: 'done',
    value: { reject: true, id: null },
  });
  assert.deepEqual(JSON.parse(system.asked[0]!.body), {
    id: SAMPLE_CALL.id,
    event: 'new',
    to: 'Anna Muster',
  });
  assert.equal(await session.push('ended', subject, signal), null);
});

test('connector - a sync reads page after page with those that are gone', async (t) => {
  const { session, signal, system } = await rig(t, ({ path }) => {
    const second = path.includes('page=2');
    const people = second
      ? [{ id: 8, deleted: true, changed: '2026-01-03' }]
      : [{ ...ANNA, changed: '2026-01-04' }];
    return { json: { people, ...(!second && { next: 2 }) } };
  });
  const first = await session.sync!({ cursor: null, page: null }, signal);
  assert.ok(first.kind === 'done');
  assert.deepEqual(
    [first.value.customers.length, first.value.page, first.value.cursor],
    [1, 2, '2026-01-04'],
  );
  const second = await session.sync!({ cursor: '2026-01-01', page: first.value.page }, signal);
  assert.deepEqual(second, {
    kind: 'done',
    value: { customers: [], gone: ['8'], page: null, cursor: '2026-01-03' },
  });
  assert.deepEqual(
    system.asked.map(({ path }) => path),
    ['/people', '/people?since=2026-01-01&page=2'],
  );
});

test('connector - of two rows of a customer the later one counts, also where one says that the customer is gone', async (t) => {
  const deleted = { ...ANNA, deleted: true };
  let people: object[] = [];
  const { session, signal } = await rig(t, () => ({ json: { people } }));
  const read = async (...rows: object[]) => {
    people = rows;
    const page = await session.sync!({ cursor: null, page: null }, signal);
    assert.ok(page.kind === 'done');
    return page.value.gone;
  };
  assert.deepEqual(await read(deleted, ANNA), [], 'it came back');
  assert.deepEqual(await read(ANNA, deleted), ['7']);
  assert.deepEqual(await read(deleted, ANNA, deleted), ['7']);
});

test('connector - a sync does not end at a page that lacks its list, nor drop the rows that a page has too many', async (t) => {
  let json: unknown = { ok: true };
  const { session, signal } = await rig(t, () => ({ json }));
  const sync = (page: unknown) => session.sync!({ cursor: null, page }, signal);
  const later = await sync(2);
  assert.ok(later.kind === 'refused' && /no list of rows/.test(later.words), JSON.stringify(later));
  assert.equal((await sync(null)).kind, 'done', 'some systems leave an empty list out');
  json = { people: null };
  assert.equal((await sync(2)).kind, 'done', 'others write null');
  json = { people: Array.from({ length: 5_001 }, (_, id) => ({ id })) };
  const long = await sync(null);
  assert.ok(long.kind === 'refused' && /more than 5000 rows/.test(long.words), JSON.stringify(long));
});

test('connector - a page of 5,000 rows that lack most fields leaves other work its turns', async () => {
  const people = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `Person ${id}` }));
  const body = Buffer.from(JSON.stringify({ people }));
  const session = openConnector(
    fileOf(FILE),
    { address: 'https://crm.example', token: SECRET },
    {
      send: () =>
        Promise.resolve({
          kind: 'answered',
          status: 200,
          error: null,
          body,
          whole: true,
          retry_after_seconds: null,
          latency_ms: 0,
        }),
      clock: systemClock,
    },
  );
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const read = await session.sync!({ cursor: null, page: null }, new AbortController().signal);
  over = true;
  assert.ok(read.kind === 'done' && read.value.customers.length === 5_000);
  assert.ok(turns >= 30, `${turns} turns`);
});

test('connector - each kind of failure: lies, limits, HTML, redirects, 50 MB, silence', async (t) => {
  let answer: SystemAnswer | null = null;
  const { session, signal, traced } = await rig(t, () => answer);
  const create = async () => {
    const result = await session.entry!.create({ call: SAMPLE_CALL }, signal);
    assert.ok(result.kind !== 'done');
    return result;
  };
  const lookup = async () => {
    const result = await session.lookup!('+4930901820', signal);
    assert.ok(result.kind !== 'done');
    return result;
  };
  answer = { json: { error: `no right for ${SECRET}` } };
  assert.deepEqual(await create(), {
    kind: 'refused',
    status: 200,
    words: 'no right for …',
    retry_after_seconds: null,
  });
  answer = { status: 429, headers: { 'retry-after': '30' }, json: { message: 'slow down' } };
  assert.deepEqual(await lookup(), {
    kind: 'unsent',
    status: 429,
    words: 'slow down',
    retry_after_seconds: 30,
  });
  answer = { text: '<html>Please sign in</html>' };
  assert.match((await lookup()).words, /HTML/);
  assert.equal((await create()).kind, 'unknown', 'a success that cannot be read may be one');
  answer = { status: 302, headers: { location: 'http://169.254.169.254/' } };
  assert.match((await lookup()).words, /redirect/);
  answer = { text: `"${'x'.repeat(5_000_000)}"` };
  assert.match((await lookup()).words, /2097152 bytes/);
  answer = { text: '['.repeat(1_000_000) };
  assert.match((await lookup()).words, /not JSON/);
  for (const status of [500, 400, 200]) {
    answer = { status, text: '['.repeat(900_000) + ']'.repeat(900_000) };
    assert.match((await lookup()).words, /nested deeper than 100 levels/);
  }
  answer = { json: { people: [], note: `"\\${'['.repeat(200)}` } };
  assert.deepEqual(await session.lookup!('+4930901820', signal), { kind: 'done', value: [] });
  answer = { status: 500, json: { message: 'broken' } };
  assert.equal((await create()).kind, 'unknown');
  answer = { status: 422, json: { message: 'no such person' } };
  assert.deepEqual([(await create()).kind, (await create()).words], ['refused', 'no such person']);
  answer = { status: 401, json: { message: `token ${SECRET}` } };
  assert.equal((await create()).kind, 'disconnected');
  answer = null;
  assert.equal((await create()).kind, 'unknown');
  answer = { json: {} };
  assert.match((await create()).words, /no id of the entry/);
  assert.ok(!JSON.stringify(traced).includes(SECRET));
});

test('connector - the later cursor is the greater number, else the later text', () => {
  const last = (...all: string[]) => all.reduce<string | null>((a, b) => laterCursor(a, b), null);
  assert.equal(last('9', '1763900000', '10.5'), '1763900000');
  assert.equal(last('9007199254740993', '9007199254740992'), '9007199254740993');
  assert.equal(last('2026-09-30', '2026-10-01', '2026-01-01'), '2026-10-01');
});
