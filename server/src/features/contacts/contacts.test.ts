import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Contacts } from '@offhook/contract/extensions.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import type { LiveExtension } from '../../ports/live.ts';
import { demoPeople, directoryFixture, personFixture } from '../../../test/support/directory-fixture.ts';
import { createFakePbx } from '../../../test/support/fake-engine.ts';
import { hostFixture } from '../../../test/support/host-fixture.ts';
import { statusOf } from './contact.ts';
import { createContacts } from './feature.ts';
import { addOperations } from '../../http/operations.ts';
import { contactOperations } from './operations.ts';

const PATH = '/api/mobile/contacts.php';
async function rig(t: TestContext, people = demoPeople()) {
  const clock = createVirtualClock();
  const pbx = createFakePbx(clock);
  const directory = directoryFixture(people);
  const contacts = createContacts({ directory, live: pbx.live, clock });
  const host = await hostFixture();
  addOperations(host.app, [contactOperations(contacts)]);
  await host.app.ready();
  t.after(() => host.close());
  pbx.linkUp();
  const get = (query = '', headers: Record<string, string> = {}) =>
    host.app.inject({
      method: 'GET',
      url: PATH + query,
      headers: { authorization: 'Bearer token-user', ...headers },
    });
  const list = async (query = '') => {
    const reply = await get(query);
    assert.equal(reply.statusCode, 200, reply.body);
    return Contacts.parse(reply.json());
  };
  const extensions = async (query = '') => (await list(query)).contacts.map((c) => c.extension);
  return { clock, pbx, directory, host, get, list, extensions };
}

test('contacts - every active extension is listed in order, the caller included', async (t) => {
  const { list, get } = await rig(t, [personFixture(9, '20', 'zoe'), ...demoPeople()]);
  const reply = await list();
  assert.deepEqual(
    reply.contacts.map((c) => c.extension),
    ['20', '1001', '1002', '1003', '1004', '1005', '1006'],
  );
  assert.equal(reply.total, 7);
  const raw = await get();
  assert.equal(raw.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(raw.headers['cache-control'], 'no-store');
  assert.deepEqual(reply.contacts[1], {
    extension: '1001',
    name: 'Ada',
    role: 'admin',
    role_name: 'Administrator',
    status: 'offline',
    presence: {
      reachability: 'unknown',
      activity: 'idle',
      personal: 'not_set',
      note: null,
      expires_at: null,
      summary: 'offline',
      since: '2026-11-21T09:00:00.000Z',
    },
    sip_status: 'UNKNOWN',
    webrtc_status: 'UNKNOWN',
    mob_webrtc_status: 'UNKNOWN',
    email: 'ada@example.test',
    mobile: null,
    department: null,
  });
});

test('contacts - presence is what the live model says, at once', async (t) => {
  const { pbx, clock, list } = await rig(t);
  await list();
  await clock.advance(5_000);
  pbx.device('1005', {
    devices: { sip: 'UNAVAILABLE', webrtc: 'NOT_INUSE', mobile: 'UNKNOWN' },
    reachability: 'online',
    note: 'back at five',
    personal: 'away',
    summary: 'away',
  });
  const reply = await list();
  const eve = reply.contacts.find((c) => c.extension === '1005')!;
  assert.deepEqual(
    [eve.status, eve.sip_status, eve.webrtc_status, eve.mob_webrtc_status],
    ['online', 'UNAVAILABLE', 'NOT_INUSE', 'UNKNOWN'],
  );
  assert.deepEqual(eve.presence, {
    reachability: 'online',
    activity: 'idle',
    personal: 'away',
    note: 'back at five',
    expires_at: null,
    summary: 'away',
    since: '2026-11-21T09:00:05.000Z',
  });
  assert.equal(reply.as_of, '2026-11-21T09:00:05.000Z');
  assert.equal(reply.contacts.filter((c) => c.status !== 'offline').length, 1);
});

test('contacts - the status word: whatever rings, talks or does not want calls is busy', () => {
  const idle: LiveExtension = {
    extension: '1005',
    devices: { sip: 'NOT_INUSE', webrtc: 'UNAVAILABLE', mobile: 'UNAVAILABLE' },
    reachability: 'online',
    activity: 'idle',
    personal: 'not_set',
    note: null,
    expires_at: null,
    summary: 'available',
    since: 0,
  };
  assert.equal(statusOf(idle), 'online');
  assert.equal(statusOf({ ...idle, reachability: 'push_only' }), 'online');
  assert.equal(statusOf({ ...idle, reachability: 'offline' }), 'offline');
  assert.equal(statusOf({ ...idle, reachability: 'unknown' }), 'offline');
  assert.equal(statusOf(undefined), 'offline');
  for (const activity of ['ringing', 'in_call', 'on_hold', 'in_call_and_ringing', 'busy'] as const) {
    assert.equal(statusOf({ ...idle, activity, reachability: 'offline' }), 'busy', activity);
  }
  for (const state of ['INUSE', 'BUSY', 'RINGING', 'RINGINUSE', 'ONHOLD'] as const) {
    assert.equal(statusOf({ ...idle, devices: { ...idle.devices, mobile: state } }), 'busy', state);
  }
  assert.equal(statusOf({ ...idle, personal: 'dnd' }), 'busy');
  assert.equal(statusOf({ ...idle, personal: 'away' }), 'online');
});

test('contacts - stale while the link is down, with the time of the newest fact', async (t) => {
  const { pbx, clock, list } = await rig(t);
  assert.equal((await list()).stale, false);
  await clock.advance(1_000);
  pbx.linkDown();
  const reply = await list();
  assert.deepEqual([reply.stale, reply.as_of], [true, '2026-11-21T09:00:01.000Z']);
  pbx.linkUp();
  assert.equal((await list()).stale, false);
});

test('contacts - a change of the directory shows at once', async (t) => {
  const { directory, list, extensions } = await rig(t);
  assert.ok((await extensions()).includes('1005'));
  directory.change('1005', { active: false });
  directory.change('1006', { name: 'Eve Q. "Ünal" <script>', department: 'Sales' });
  directory.put(personFixture(8, '1000', 'kim'));
  const reply = await list();
  assert.deepEqual(
    reply.contacts.map((c) => c.extension),
    ['1000', '1001', '1002', '1003', '1004', '1006'],
  );
  assert.equal(reply.contacts.at(-1)!.name, 'Eve Q. "Ünal" <script>');
});

test('contacts - the search finds parts of names and numbers whatever their case and accents', async (t) => {
  const { extensions, list } = await rig(t, [
    personFixture(1, '1001', 'a', 'user', { name: 'Şebnem Ünal', mobile: '+90 (555) 123-45.67' }),
    personFixture(2, '1002', 'b', 'user', { name: 'İbrahim Işık' }),
    personFixture(3, '1003', 'c', 'user', { name: 'Jörg Großmann' }),
    personFixture(4, '2044', 'd', 'user', { name: 'Søren 100%  Łukasz' }),
  ]);
  for (const [q, found] of [
    ['unal', ['1001']],
    ['SEBNEM', ['1001']],
    ['şEB', ['1001']],
    ['ibrahim', ['1002']],
    ['ISIK', ['1002']],
    ['ışık', ['1002']],
    ['grossmann', ['1003']],
    ['GROẞ', ['1003']],
    ['soren', ['2044']],
    ['lukasz', ['2044']],
    ['100% l', ['2044']],
    ['100', ['1001', '1002', '1003', '2044']],
    ['044', ['2044']],
    ['555 1234', ['1001']],
    ['+90555', ['1001']],
    ['%', ['2044']],
    ['_', []],
    ["' or 1=1--", []],
    ['.*', []],
    ['  ', ['1001', '1002', '1003', '2044']],
    ['', ['1001', '1002', '1003', '2044']],
  ] as const) {
    assert.deepEqual(await extensions(`?q=${encodeURIComponent(q)}`), found, q);
  }
  assert.equal((await list('?q=100&limit=1')).total, 4, 'total counts every match');
});

test('contacts - the search takes words of name, department and numbers in any order', async (t) => {
  const { extensions } = await rig(t, [
    personFixture(1, '1001', 'a', 'user', { name: 'Şebnem Ünal', department: 'Müşteri Hizmetleri' }),
    personFixture(2, '1002', 'b', 'user', { name: 'Ünal Şen', department: 'Depo', mobile: '0555 123' }),
    personFixture(3, '1003', 'c', 'user', { name: 'Jörg Großmann', department: null }),
  ]);
  for (const [q, found] of [
    ['unal sebnem', ['1001']],
    ['Şebnem  ÜNAL', ['1001']],
    ['musteri', ['1001']],
    ['hizmetleri seb 1001', ['1001']],
    ['unal', ['1001', '1002']],
    ['depo unal', ['1002']],
    ['1002 sen', ['1002']],
    ['sen 0555', ['1002']],
    ['0555 123', ['1002']],
    ['1003 depo', []],
    ['unaldepo', []],
    ['sen depo x', []],
  ] as const) {
    assert.deepEqual(await extensions(`?q=${encodeURIComponent(q)}`), found, q);
  }
});

test('contacts - pages by cursor hold everybody once, whoever comes and goes between them', async (t) => {
  const { directory, list, extensions, get } = await rig(t);
  const first = await list('?limit=2');
  assert.deepEqual([first.contacts.map((c) => c.extension), first.next_cursor], [['1001', '1002'], '1002']);
  directory.put(personFixture(9, '20', 'zoe'));
  for (const extension of ['1002', '1004']) directory.remove(extension);
  assert.deepEqual(await extensions(`?limit=2&cursor=${first.next_cursor}`), ['1003', '1005']);
  const last = await list('?limit=2&cursor=1005');
  assert.deepEqual([last.contacts.map((c) => c.extension), last.next_cursor], [['1006'], null]);
  assert.deepEqual([last.total, (await list()).next_cursor], [5, null]);
  assert.deepEqual(await extensions('?cursor=9999'), []);
  const both = await get('?cursor=1003&offset=1');
  assert.equal(both.statusCode, 400);
  assert.match(both.body, /offset: cannot be used with cursor/);
});

test('contacts - a cursor is valid only with the search that it came from', async (t) => {
  const { list, extensions, get } = await rig(t);
  const whole = (await list('?limit=2')).next_cursor!;
  const found = (await list('?q=100&limit=2')).next_cursor!;
  assert.deepEqual(await extensions(`?q=100&limit=9&cursor=${found}`), ['1003', '1004', '1005', '1006']);
  for (const query of [
    `q=100&cursor=${whole}`,
    `q=1&cursor=${found}`,
    `cursor=${found}`,
    `cursor=${found.slice(0, -1)}`,
  ]) {
    const refused = await get(`?limit=2&${query}`);
    const { code, detail } = refused.json<{ code: string; detail: string }>();
    assert.deepEqual(
      [refused.statusCode, code, detail],
      [400, 'invalid_request', 'cursor: must be a cursor of this list'],
      query,
    );
  }
});

test('contacts - limit and offset cut the list, total does not', async (t) => {
  const { extensions, list } = await rig(t);
  assert.deepEqual(await extensions('?limit=2'), ['1001', '1002']);
  assert.deepEqual(await extensions('?limit=2&offset=2'), ['1003', '1004']);
  assert.deepEqual(await extensions('?offset=5'), ['1006']);
  assert.deepEqual(await extensions('?limit=10000&offset=0'), await extensions());
  const beyond = await list('?offset=1000');
  assert.deepEqual([beyond.total, beyond.contacts], [6, []]);
});

test('contacts - a wrong query is 400', async (t) => {
  const { get } = await rig(t);
  for (const query of [
    'limit=0',
    'limit=-1',
    'limit=10001',
    'limit=1e9',
    'limit=1e3',
    'limit=2.0',
    'limit=1.5',
    'limit=',
    'limit=abc',
    'limit=0x10',
    'limit=%31%00',
    'limit=1&limit=2',
    'limit=٣',
    'limit=007',
    'cursor=',
    'cursor=a',
    'offset=-1',
    'offset=1e9',
    'offset=0.5',
    'offset=99999999',
    'offset[]=1',
    'q=a&q=b',
    `q=${'x'.repeat(65)}`,
  ]) {
    const reply = await get(`?${query}`);
    const wanted = query === 'offset[]=1' ? 200 : 400;
    assert.equal(reply.statusCode, wanted, query);
    if (wanted === 400) assert.equal(reply.json<{ code: string }>().code, 'invalid_request', query);
  }
});

test('contacts - the tag holds until something shown changes, and 304 answers it', async (t) => {
  const { pbx, directory, clock, get } = await rig(t);
  const tagOf = async (query = '') => (await get(query)).headers.etag as string;
  const first = await get();
  const tag = first.headers.etag as string;
  assert.match(tag, /^"[^"]+"$/);
  await clock.advance(60_000);
  assert.equal((await get()).body, first.body, 'the time alone changes nothing');
  for (const header of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const reply = await get('', { 'if-none-match': header });
    assert.equal(reply.statusCode, 304, header);
    assert.equal(reply.body, '');
    assert.equal(reply.headers['content-length'], undefined, 'a 304 announces no body');
    assert.equal(reply.headers.etag, tag);
  }
  assert.equal((await get('', { 'if-none-match': '"other"' })).statusCode, 200);
  const seen = new Set([tag]);
  for (const change of [
    () => pbx.device('1005', { activity: 'ringing' }),
    () => directory.change('1005', { name: 'Daniel' }),
    () => pbx.linkDown(),
    () => pbx.device('1006', { note: 'x' }),
  ]) {
    change();
    const next = await tagOf();
    assert.ok(!seen.has(next), 'a new tag for every change');
    assert.equal((await get('', { 'if-none-match': tag })).statusCode, 200);
    seen.add(next);
  }
  const other = await rig(t);
  assert.notEqual((await other.get()).headers.etag, tag, 'another life of the service has other tags');
});

test('contacts - a hundred changes give the same bytes as a list made afresh', async (t) => {
  const people = Array.from({ length: 300 }, (_, i) => personFixture(i + 1, String(2000 + i), `p${i}`));
  const { pbx, clock, directory, get } = await rig(t, people);
  for (let i = 0; i < 100; i += 1) {
    pbx.device(String(2000 + ((i * 37) % 300)), {
      activity: i % 2 === 0 ? 'ringing' : 'idle',
      note: `n${i}`,
    });
    if (i % 10 === 0) directory.change(String(2000 + ((i * 7) % 300)), { department: `d${i}` });
    if (i % 3 === 0) await get();
  }
  const kept = (await get()).json<{ contacts: unknown[] }>();
  const fresh = createContacts({ directory, live: pbx.live, clock });
  assert.deepEqual(kept.contacts, (JSON.parse(fresh.body().join('')) as { contacts: unknown[] }).contacts);
  assert.equal(kept.contacts.length, 300);
});

test('contacts - a long list is sent in pieces, of which a change makes one anew', async (t) => {
  const people = Array.from({ length: 3_000 }, (_, i) => personFixture(i + 1, String(2000 + i), `p${i}`));
  const { pbx, clock, directory, get, list } = await rig(t, people);
  assert.deepEqual(
    (await list()).contacts.map((c) => c.extension),
    people.map((person) => person.extension),
  );
  const reply = await get();
  assert.equal(reply.headers['content-length'], String(reply.rawPayload.length));
  const contacts = createContacts({ directory, live: pbx.live, clock });
  const before = contacts.body();
  assert.ok(before.length > 10, `${before.length} pieces`);
  pbx.device('3500', { activity: 'ringing', note: 'ünïcode' });
  const after = contacts.body();
  assert.equal(after.filter((piece, i) => i > 0 && i < after.length - 1 && piece !== before[i]).length, 1);
  assert.equal((await get()).body, after.join(''));
});

test('contacts - needs a session, and only reads', async (t) => {
  const { host } = await rig(t);
  const ask = (method: 'GET' | 'HEAD' | 'POST', headers = {}) =>
    host.app.inject({ method, url: PATH, headers });
  assert.equal((await ask('GET')).statusCode, 401);
  const signedIn = { authorization: 'Bearer token-user' };
  for (const method of ['HEAD', 'POST'] as const) {
    const reply = await ask(method, signedIn);
    assert.equal(reply.statusCode, 405, method);
    assert.equal(reply.headers.allow, 'GET');
  }
});
