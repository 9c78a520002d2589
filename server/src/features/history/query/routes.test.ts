import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { History } from '@offhook/contract/history.ts';
import { historyScene, later, recorded, recordings } from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { noCustomers, recordingsOf } from '../../../../test/support/conversations-rig.ts';
import { hostFixture } from '../../../../test/support/host-fixture.ts';
import type { Host } from '../../../http/host.ts';
import { readPage, readStats } from './list.ts';
import type { ListQuery } from './list.ts';
import { hideCalls } from './hide.ts';
import { addOperations } from '../../../http/operations.ts';
import { historyOperations } from '../operations.ts';
import { createHistoryService } from './history-service.ts';
import type { Tables } from '../store/tables.ts';
import { localTimeIn } from './history-service.ts';

const PATH = '/api/mobile/history.php';
const ALIAS = '/api/mobile/call_history.php';
type Who = 'user' | 'agent' | 'supervisor' | 'admin';

interface Site extends AsyncDisposable {
  readonly scene: HistoryScene;
  readonly host: Host;
  /** Calls that have a recording. */
  readonly recorded: Set<string>;
  get(
    query?: Record<string, string>,
    who?: Who,
    path?: string,
  ): Promise<{ status: number; body: History; code: string }>;
  post(
    body: object | string,
    who?: Who,
    path?: string,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
}
async function site(customers = noCustomers): Promise<Site> {
  const scene = await historyScene();
  const host = await hostFixture();
  const cursor_key = async () => Buffer.alloc(32, 7);
  const recorded = new Set<string>();
  addOperations(host.app, [
    historyOperations(
      createHistoryService({
        store: scene.store,
        zone: 'Europe/Istanbul',
        cursor_key,
        recordings: recordingsOf(recorded),
        directory: scene.directory,
      }),
      customers,
    ),
  ]);
  await host.app.ready();
  return {
    scene,
    host,
    recorded,
    async get(query = {}, who = 'admin', path = PATH) {
      const reply = await host.app.inject({
        url: `${path}?${new URLSearchParams(query).toString()}`,
        headers: { authorization: `Bearer token-${who}` },
      });
      const body = reply.json<History & { code?: string }>();
      if (reply.statusCode === 200) History.parse(body);
      return { status: reply.statusCode, body, code: body.code ?? '' };
    },
    async post(body, who = 'admin', path = ALIAS) {
      const form = typeof body === 'string';
      const reply = await host.app.inject({
        method: 'POST',
        url: path,
        headers: {
          authorization: `Bearer token-${who}`,
          'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
        },
        payload: form ? body : JSON.stringify(body),
      });
      return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
    },
    async [Symbol.asyncDispose]() {
      await host.close();
      await scene[Symbol.asyncDispose]();
    },
  };
}
/** Answered calls of 1001 to 1002, one minute apart. */
const calls = (n: number, from = 0) =>
  Array.from({ length: n }, (_, i) => later(recorded('internal-answered'), (from + i) * 60)).flat();
const keysOf = (page: History): readonly string[] => page.calls.map((c) => c.call_key);

test('history - one answered call as both sides read it', async () => {
  await using s = await site();
  await s.scene.feed(...recorded('internal-answered'));
  for (const path of [PATH, ALIAS]) {
    const { status, body } = await s.get({}, 'admin', path);
    assert.equal(status, 200);
    const { id, ...call } = body.calls[0]!;
    assert.ok(Number.isInteger(id));
    assert.deepEqual(call, {
      call_key: 'ast1:1795228606.2',
      calldate: '2026-11-21 05:36:46',
      started_at: '2026-11-21T02:36:46.552Z',
      answered_at: '2026-11-21T02:36:47.776Z',
      ended_at: '2026-11-21T02:36:50.308Z',
      direction: 'out',
      party: '1002',
      party_name: 'Sam',
      duration: 3,
      billsec: 2,
      ring_sec: 1,
      wait_seconds: 0,
      talk_seconds: 2,
      hold_seconds: 0,
      disposition: 'ANSWERED',
      channel: 'PJSIP/1001-00000000',
      dstchannel: 'PJSIP/1002-00000001',
      device_type: 'sip',
      queue: null,
      queue_title: null,
      has_recording: false,
    });
    assert.equal(body.extension, '1001');
    assert.equal(body.total_returned, 1);
    assert.equal(body.next_cursor, null);
  }
  const { body } = await s.get({}, 'supervisor');
  const { direction, party, party_name } = body.calls[0]!;
  assert.deepEqual([direction, party, party_name], ['in', '1001', 'Ada']);
});

test('history - a queue has its present title, null for a deleted one', async () => {
  await using s = await site();
  await s.scene.feed(...recorded('queue-answered'));
  const rows = async () => (await s.get()).body.calls.map(({ queue, queue_title }) => [queue, queue_title]);
  assert.deepEqual(await rows(), [['support', 'Support']]);
  s.scene.directory.setQueues([]);
  assert.deepEqual(await rows(), [['support', null]]);
});

test('history - has_recording is true if any call of the conversation has one', async () => {
  await using s = await site();
  await s.scene.feed(...recorded('attended-transfer'), ...recorded('internal-answered'));
  const [first, joined] = [...new Set(recorded('attended-transfer').map((r) => r.call))];
  s.recorded.add(joined!);
  const { body } = await s.get({ limit: '100' });
  assert.ok(body.calls.length > 1);
  for (const call of body.calls) assert.equal(call.has_recording, call.call_key === first, call.call_key);
  assert.ok(body.calls.some((call) => call.has_recording));
});

test('history - filters, and stats of the filtered rows', async () => {
  await using s = await site();
  for (const name of await recordings()) await s.scene.feed(...recorded(name));
  const all = (await s.get({ limit: '100' }, 'agent')).body;
  assert.deepEqual(
    all.calls.map((c) => c.started_at),
    all.calls
      .map((c) => c.started_at)
      .toSorted()
      .reverse(),
    'newest first',
  );
  const sum = (some: readonly { billsec: number }[]): number => some.reduce((n, c) => n + c.billsec, 0);
  for (const filter of ['all', 'in', 'out', 'missed'] as const) {
    const { body } = await s.get({ filter, limit: '100' }, 'agent');
    const expected = all.calls.filter((c) => filter === 'all' || c.direction === filter);
    assert.ok(expected.length > 0, filter);
    assert.deepEqual(body.calls, expected);
    const count = (d: string): number => expected.filter((c) => c.direction === d).length;
    assert.deepEqual(body.stats, {
      total_calls: expected.length,
      incoming_calls: count('in'),
      outgoing_calls: count('out'),
      missed_calls: count('missed'),
      total_billsec: sum(expected),
    });
    assert.equal(body.filter, filter);
    assert.equal(body.total_returned, expected.length);
  }
});

test('history - pages by cursor return every call once while new calls are stored', async () => {
  await using s = await site();
  await s.scene.feed(...calls(25));
  const before = keysOf((await s.get({ limit: '100' })).body);
  assert.equal(before.length, 25);
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; ; page += 1) {
    const query: Record<string, string> = { limit: '4', ...(cursor === null ? {} : { cursor }) };
    const { body } = await s.get(query);
    seen.push(...keysOf(body));
    cursor = body.next_cursor;
    if (cursor === null) break;
    await s.scene.feed(...calls(2, 100 + page * 2));
  }
  assert.deepEqual(seen, before);
  const { body } = await s.get({ limit: '4', offset: '6' });
  assert.deepEqual(keysOf(body), keysOf((await s.get({ limit: '100' })).body).slice(6, 10));
});

test('history - a cursor of another list, or a forged one, is refused', async () => {
  await using s = await site();
  await s.scene.feed(...calls(3));
  const cursor = (await s.get({ limit: '1' })).body.next_cursor!;
  assert.equal((await s.get({ limit: '2', cursor })).status, 200, 'another limit is the same list');
  const refused: Record<string, string>[] = [
    { cursor, filter: 'out' },
    { cursor, q: '1' },
    { cursor, from: '2020-01-01T00:00:00Z' },
    { cursor, extension: '1002' },
    { cursor, offset: '1' },
    { cursor: '' },
    { cursor: `${cursor}A` },
    { cursor: cursor.slice(0, -1) },
    { cursor: 'x'.repeat(43) },
  ];
  for (let i = 0; i < cursor.length; i += 1) {
    refused.push({ cursor: cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1) });
  }
  // Two bits of the last letter are unused; a change of them must be refused, too.
  for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
    const changed = cursor.slice(0, -1) + letter;
    if (changed !== cursor) refused.push({ cursor: changed });
  }
  for (const query of refused) {
    const { status, code } = await s.get(query);
    assert.deepEqual([status, code], [400, 'invalid_request'], JSON.stringify(query));
  }
  assert.equal((await s.get({ cursor }, 'supervisor')).status, 400, "another person's cursor");
});

test('history - invalid parameters are 400', async () => {
  await using s = await site();
  const wrong: Record<string, string>[] = [
    ...['0', '101', '-1', 'abc', '', '1e1', '1.5', ' 5', '+5', '٥'].map((limit) => ({ limit })),
    ...['-1', 'x', '1000001'].map((offset) => ({ offset })),
    ...['ALL', 'incoming', ''].map((filter) => ({ filter })),
    ...['yesterday', '2026-11-21', '2026-13-01T00:00:00Z', '2026-11-21T09:00:00', '1795228606'].map(
      (from) => ({ from }),
    ),
    { to: '2026-02-30T00:00:00Z' },
    { from: '2026-11-21T09:00:00Z', to: '2026-11-21T08:59:59Z' },
    { q: 'x'.repeat(65) },
    ...['\0', '\n', 'a\u007fb'].map((q) => ({ q })),
    ...['', '*', '10 02', "1' or '1'='1", '１００１', '1'.repeat(21)].map((extension) => ({ extension })),
  ];
  for (const query of wrong) {
    const { status, code } = await s.get(query);
    assert.deepEqual([status, code], [400, 'invalid_request'], JSON.stringify(query));
  }
  const twice = await s.host.app.inject({
    url: `${PATH}?limit=1&limit=2`,
    headers: { authorization: 'Bearer token-user' },
  });
  assert.equal(twice.statusCode, 400);
  assert.equal((await s.get({ unknown: 'x', limit: '1' })).status, 200);
});

test('history - a search is literal, in any case and script', async () => {
  await using s = await site();
  s.scene.directory.change('1002', { name: 'Şule IŞIK %_\\ (Ops)' });
  await s.scene.feed(...recorded('internal-answered'), ...later(recorded('echo'), 60));
  const found = async (q: string): Promise<readonly string[]> =>
    (await s.get({ q })).body.calls.map((c) => c.party);
  for (const q of ['100', '1002', 'sule', 'ŞULE', 'ışık', 'isik', 'IŞIK', '%_\\', 'k %', '(ops)']) {
    assert.deepEqual(await found(q), ['1002'], q);
  }
  for (const q of ['%%', '_', '\\_', '1_02', '1%2', "' or 1=1 --"]) {
    assert.deepEqual(await found(q), q === '_' ? ['1002'] : [], q);
  }
  const { stats } = (await s.get({ q: 'sule' })).body;
  assert.deepEqual([stats.total_calls, stats.total_billsec], [1, 2]);
});

test("history - another extension's calls are for supervisors", async () => {
  await using s = await site();
  await s.scene.feed(...recorded('internal-answered'));
  for (const who of ['user', 'agent'] as const) {
    const { status, code } = await s.get({ extension: '1001' }, who);
    assert.deepEqual([status, code], [403, 'forbidden'], who);
  }
  assert.equal((await s.get({ extension: '1005' }, 'user')).status, 200, 'the own one is no other');
  const { body } = await s.get({ extension: '1001' }, 'supervisor');
  assert.deepEqual([body.extension, body.total_returned], ['1001', 1]);
  assert.equal((await s.get({ extension: '4711' }, 'supervisor')).body.total_returned, 0);
});

test('history - hiding and clearing change only the own view', async () => {
  await using s = await site();
  await s.scene.feed(...calls(5));
  const [newest, second] = keysOf((await s.get()).body) as [string, string];
  const hide = await s.post({ action: 'hide', call_keys: [newest, newest, 'ast1:9.9'] });
  assert.deepEqual(hide, { status: 200, body: { success: true, hidden: 1 } });
  assert.deepEqual((await s.post({ action: 'hide', call_keys: [newest] })).body, {
    success: true,
    hidden: 0,
  });
  const own = (await s.get()).body;
  assert.equal(keysOf(own).includes(newest), false);
  assert.deepEqual([own.stats.total_calls, own.stats.total_billsec, own.total_returned], [4, 8, 4]);
  assert.equal((await s.get({}, 'supervisor')).body.stats.total_calls, 5, 'the other side sees it still');
  assert.equal((await s.get({ extension: '1001' }, 'supervisor')).body.stats.total_calls, 5);

  assert.deepEqual((await s.post(`action=hide&call_keys=${encodeURIComponent(`${second},x`)}`)).body, {
    success: true,
    hidden: 1,
  });
  assert.deepEqual(await s.post({ action: 'clear' }), {
    status: 200,
    body: { success: true, cleared: true },
  });
  const cleared = (await s.get()).body;
  assert.deepEqual([cleared.total_returned, cleared.stats.total_calls], [0, 0]);
  await s.scene.feed(...calls(1, 50));
  assert.equal((await s.get()).body.total_returned, 1, 'what comes later is seen');
});

test('history - hiding by the key of a merged call hides its conversation', async () => {
  await using s = await site();
  const records = recorded('attended-transfer');
  await s.scene.feed(...records);
  const [key] = keysOf((await s.get({ extension: '1002' }, 'supervisor')).body);
  const joined = [...new Set(records.map((r) => r.call))].find((call) => call !== key)!;
  assert.deepEqual(await hideCalls(s.scene.store, '1002', [joined]), 1);
});

test('history - the alias refuses invalid requests', async () => {
  await using s = await site();
  const refused: [object | string, number, string][] = [
    [{ action: 'erase' }, 400, 'unknown_action'],
    [{ action: 'hide' }, 400, 'invalid_request'],
    [{ action: 'hide', call_keys: [] }, 400, 'invalid_request'],
    [{ action: 'hide', call_keys: [1] }, 400, 'invalid_request'],
    [{ action: 'hide', call_keys: { 0: 'x' } }, 400, 'invalid_request'],
    [{ action: 'hide', call_keys: Array.from({ length: 501 }, (_, i) => `k${i}`) }, 400, 'invalid_request'],
    [
      { action: 'hide', call_keys: Array.from({ length: 501 }, (_, i) => `k${i}`).join(',') },
      400,
      'invalid_request',
    ],
    [{ action: ['clear'] }, 400, 'invalid_request'],
    [{}, 400, 'invalid_request'],
    [[], 400, 'invalid_request'],
    ['action=erase', 400, 'unknown_action'],
  ];
  for (const [body, status, code] of refused) {
    const reply = await s.post(body);
    assert.deepEqual([reply.status, reply.body['code']], [status, code], JSON.stringify(body).slice(0, 80));
  }
  const request = { headers: { authorization: 'Bearer token-user' } };
  const post = await s.host.app.inject({ ...request, method: 'POST', url: PATH, payload: {} });
  assert.deepEqual([post.statusCode, post.headers.allow], [405, 'GET']);
  const head = await s.host.app.inject({ ...request, method: 'HEAD', url: PATH });
  assert.equal(head.statusCode, 405);
  assert.equal((await s.host.app.inject({ url: PATH })).statusCode, 401);
});

test('history - stats of any range equal those of its rows', async () => {
  await using s = await site();
  const DAY = 86_400;
  const DAY_US = DAY * 1_000_000;
  const some = ['internal-answered', 'cancelled', 'echo', 'blind-transfer'];
  for (let i = 0; i < 60; i += 1)
    await s.scene.feed(...later(recorded(some[i % some.length]!), i * Math.floor(DAY / 7)));
  const first = keysOf((await s.get({ limit: '100' })).body).slice(0, 20);
  await s.post({ action: 'hide', call_keys: first });
  const db = s.scene.store.db<Tables>();
  const start = 1_795_228_606_000_000;
  const moment = fc.option(fc.integer({ min: -DAY, max: 10 * DAY }).map((t) => start + t * 1_000_000));
  await fc.assert(
    fc.asyncProperty(
      moment,
      moment,
      fc.boolean(),
      fc.constantFrom('all', 'in', 'out', 'missed'),
      fc.constantFrom('1001', '1002'),
      fc.boolean(),
      async (a, b, own, filter, extension, aligned) => {
        const edge = (us: number | null): number | null =>
          us !== null && aligned ? Math.floor(us / DAY_US) * DAY_US : us;
        const [from_us, to_us] = [edge(a), edge(b)];
        if (from_us !== null && to_us !== null && to_us < from_us) return;
        const list: ListQuery = {
          extension,
          own,
          filter: filter as ListQuery['filter'],
          q: '',
          from_us,
          to_us,
        };
        const rows = await readPage(db, list, { limit: 1000, offset: 0, after: null });
        const count = (d: string): number => rows.filter((r) => r.direction === d).length;
        assert.deepEqual(await readStats(db, list), {
          total_calls: rows.length,
          incoming_calls: count('in'),
          outgoing_calls: count('out'),
          missed_calls: count('missed'),
          total_billsec: rows.reduce((n, r) => n + r.talk_seconds, 0),
        });
      },
    ),
    { numRuns: 150 },
  );
});

test('history - calldate is the local time of the site, also when clocks are set back', () => {
  const [istanbul, berlin] = [localTimeIn('Europe/Istanbul'), localTimeIn('Europe/Berlin')];
  const at = (text: string): number => Date.parse(text) * 1000;
  assert.equal(istanbul(at('2026-11-20T21:00:00.999Z')), '2026-11-21 00:00:00');
  assert.equal(berlin(at('2026-10-25T00:30:00Z')), '2026-10-25 02:30:00');
  assert.equal(berlin(at('2026-10-25T01:30:00Z')), '2026-10-25 02:30:00');
});

test('history - a row has the name of its customer, one lookup for the page, and none for a colleague', async () => {
  const asked: (readonly string[])[] = [];
  await using s = await site({
    async named(who, numbers) {
      asked.push(numbers);
      const known = { kind: 'person', company: null, owner: null, vip: false, blocked: false } as const;
      const customer = { ...known, id: 7, name: `Anna of ${who?.person_id}`, source: 'manual', matches: 1 };
      return new Map(numbers.filter((number) => number.length > 6).map((number) => [number, customer]));
    },
  });
  await s.scene.feed(
    ...recorded('trunk-in'),
    ...later(recorded('trunk-in'), 60),
    ...recorded('internal-answered'),
  );
  const { body } = await s.get({ extension: '1001' }, 'supervisor');
  assert.equal(asked.length, 1);
  assert.deepEqual(
    body.calls.map(({ party_name, customer_id }) => [party_name, customer_id]),
    [
      ['Anna of 2', 7],
      ['Anna of 2', 7],
      ['Sam', undefined],
    ],
  );
});
