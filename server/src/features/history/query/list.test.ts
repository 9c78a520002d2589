import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConversationReply, ConversationsReply } from '@offhook/contract/conversation-list.ts';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import type { Story } from '../../../../test/support/conversation-record.ts';
import { conversationsRig } from '../../../../test/support/conversations-rig.ts';
import type { ConversationsRig } from '../../../../test/support/conversations-rig.ts';
import type { ConversationRecord } from '../record/record.ts';

const PATH = '/api/v1/conversations';
const url = (query: Record<string, string>): string => `${PATH}?${new URLSearchParams(query).toString()}`;
const idsOf = (body: { conversations: readonly { id: string }[] }): readonly string[] =>
  body.conversations.map((c) => c.id);
async function list(rig: ConversationsRig, query: Record<string, string> = {}, who?: string) {
  const { status, body } = await rig.get(url(query), who);
  assert.equal(status, 200, JSON.stringify(body));
  return ConversationsReply.parse(body);
}
/** All pages to the end; pages may be short. */
async function all(rig: ConversationsRig, query: Record<string, string>, who?: string) {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let pages = 0; ; pages += 1) {
    assert.ok(pages < 1_000, 'the pages do not end');
    const page: Awaited<ReturnType<typeof list>> = await list(
      rig,
      { ...query, ...(cursor === null ? {} : { cursor }) },
      who,
    );
    ids.push(...idsOf(page));
    assert.equal(page.total === null, cursor !== null, 'the total comes with the first page');
    cursor = page.next_cursor;
    if (cursor === null) return ids;
  }
}
const many = (n: number, story: (i: number) => Partial<Story> = () => ({}), from = 0): ConversationRecord[] =>
  Array.from({ length: n }, (_, i) =>
    recordOf({ id: `ast1:${from + i}.1`, started: STARTED + (from + i) * 1_000, ...story(i) }),
  );
const newestFirst = (records: readonly ConversationRecord[]): readonly string[] =>
  records.toSorted((a, b) => b.started - a.started).map((r) => r.id);

test('conversations list - newest first, page by page, each once while others are stored', async () => {
  await using rig = await conversationsRig();
  const records = many(25);
  await rig.put(records);
  const first = await list(rig, { limit: '10' });
  assert.deepEqual(first.total, { count: 25, exact: true });
  assert.deepEqual(idsOf(first), newestFirst(records).slice(0, 10));
  await rig.put([...many(3, () => ({}), 100), recordOf({ id: 'ast1:500.1', started: STARTED - 1 })]);
  const second = await list(rig, { limit: '10', cursor: first.next_cursor! });
  assert.deepEqual(idsOf(second), newestFirst(records).slice(10, 20));
  const third = await list(rig, { limit: '10', cursor: second.next_cursor! });
  assert.deepEqual(idsOf(third), [...newestFirst(records).slice(20), 'ast1:500.1']);
  assert.equal(third.next_cursor, null);
});

test('conversations list - queues have their present titles, null for a deleted one', async () => {
  await using rig = await conversationsRig();
  const { directory } = rig.scene;
  await rig.put([
    recordOf({ id: 'ast1:1.1', queue: 'support' }),
    recordOf({ id: 'ast1:2.1', started: STARTED - 1_000, queue: 'closed' }),
    recordOf({ id: 'ast1:3.1', started: STARTED - 2_000 }),
  ]);
  const titles = async () => {
    const listed = await list(rig);
    const shown = await Promise.all(
      listed.conversations.map(async ({ id, queues, queue_titles }) => {
        const { body } = await rig.get(`${PATH}/${id}`);
        const { conversation } = ConversationReply.parse(body);
        assert.deepEqual(conversation.queue_titles, queue_titles);
        return [queues, queue_titles, conversation.queue_visits.map((visit) => visit.queue_title)];
      }),
    );
    return shown;
  };
  const others = [
    [['closed'], [null], [null]],
    [[], [], []],
  ];
  assert.deepEqual(await titles(), [[['support'], ['Support'], ['Support']], ...others]);
  directory.setQueues(directory.queues().map((queue) => ({ ...queue, title: `${queue.title} EU` })));
  assert.deepEqual(await titles(), [[['support'], ['Support EU'], ['Support EU']], ...others]);
});

test('conversations list - filters combine as sets, in any combination and page size', async () => {
  await using rig = await conversationsRig({
    few: { scopes: ['history:read'], extensions: ['1003', '1004'] },
  });
  const numbers = ['+4930901820', '+4930901821', '+905321234567'];
  const records = many(120, (i) => {
    const out = i % 3 === 0;
    return {
      caller: { extension: `100${i % 5}`, name: `Person ${i % 5}` },
      called: out
        ? {
            number: numbers[i % 7 === 0 ? 2 : i % 2]!.replace('+49', '0'),
            number_e164: numbers[i % 7 === 0 ? 2 : i % 2]!,
          }
        : { extension: `100${(i + 2) % 5}`, name: `Person ${(i + 2) % 5}` },
      direction: out ? 'out' : 'internal',
      disposition: i % 4 === 0 ? 'missed' : 'answered',
      complete: i % 11 !== 0,
      ...(i % 2 === 0 ? { queue: i % 6 === 0 ? 'sales' : 'support' } : {}),
      // Several start in the same millisecond: the id decides.
      started: STARTED + Math.floor(i / 4) * 1_000,
    };
  });
  await rig.put(records);
  const inOrder = (
    await rig.scene.store
      .db<{ conversations: { id: number; root: string; started_ms: number } }>()
      .selectFrom('conversations')
      .selectAll()
      .orderBy('started_ms', 'desc')
      .orderBy('id', 'desc')
      .execute()
  ).map((row) => row.root);
  for (const record of records.slice(0, 40)) rig.recorded.add(record.id);
  const fits: Record<string, (r: ConversationRecord, value: string) => boolean> = {
    person: (r, value) => r.extensions.includes(value),
    number: (r, value) => r.parties.some((p) => p.number === value || p.number_e164 === value),
    queue: (r, value) => r.queues.includes(value),
    agent: (r, value) => r.agents.includes(value),
    direction: (r, value) => r.direction === value,
    disposition: (r, value) => r.disposition === value,
    state: (r, value) => (r.complete ? 'final' : 'open') === value,
    from: (r, value) => r.started >= Date.parse(value),
    to: (r, value) => r.started < Date.parse(value),
    q: (r, value) =>
      r.parties.some((p) => `${p.name} ${p.number}`.toLowerCase().includes(value.toLowerCase())),
    has_recording: (r, value) => String(rig.recorded.has(r.id)) === value,
  };
  const at = fc.integer({ min: -2, max: 32 }).map((s) => new Date(STARTED + s * 1_000).toISOString());
  const query = fc.record(
    {
      person: fc.constantFrom('1000', '1003', '1004', '1099'),
      number: fc.constantFrom('+4930901820', '030901820', '+905321234567', '12'),
      queue: fc.constantFrom('sales', 'support', 'none'),
      agent: fc.constantFrom('1000', '1002'),
      direction: fc.constantFrom('out', 'internal', 'in'),
      disposition: fc.constantFrom('missed', 'answered', 'failed'),
      state: fc.constantFrom('open', 'final'),
      from: at,
      to: at,
      q: fc.constantFrom('PERSON 3', '0901820', '100'),
      has_recording: fc.constantFrom('true', 'false'),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      query,
      fc.constantFrom('1', '7', '200'),
      fc.constantFrom('admin', 'user', 'key-few'),
      async (given, limit, who) => {
        const filters = given as Record<string, string>;
        if (filters['from'] && filters['to'] && filters['to'] < filters['from']) return;
        const within = { admin: null, user: ['1005'], 'key-few': ['1003', '1004'] }[who]!;
        const expected = records.filter(
          (r) =>
            (within === null || r.extensions.some((e) => within.includes(e))) &&
            Object.entries(filters).every(([name, value]) => fits[name]!(r, value)),
        );
        const found = await all(rig, { ...filters, limit }, who);
        assert.deepEqual(
          found,
          inOrder.filter((id) => expected.some((r) => r.id === id)),
        );
        const { total } = await list(rig, { ...filters, limit: '200' }, who);
        assert.deepEqual(total, { count: expected.length, exact: true });
      },
    ),
    { numRuns: 150 },
  );
});

test('conversations list - a person reads the conversations it took part in, an API key those of its extensions', async () => {
  await using rig = await conversationsRig({
    two: { scopes: ['history:read'], extensions: ['1003', '1005'] },
    none: { scopes: ['history:read'], extensions: [] },
    every: { scopes: ['history:read'] },
    other: { scopes: ['calls:read'] },
  });
  const pair = (a: string, b: string) => ({ caller: { extension: a }, called: { extension: b } });
  const pairs = [pair('1001', '1002'), pair('1003', '1001'), pair('1005', '1003'), pair('1002', '1005')];
  await rig.put(many(4, (i) => pairs[i]!));
  const of = async (who: string): Promise<readonly string[]> =>
    (await all(rig, {}, who)).map((id) => id.slice(5, 6));
  assert.deepEqual(await of('user'), ['3', '2']);
  assert.deepEqual(await of('agent'), ['2', '1']);
  assert.deepEqual(await of('supervisor'), ['3', '2', '1', '0']);
  assert.deepEqual(await of('key-two'), ['3', '2', '1']);
  assert.deepEqual(await of('key-none'), []);
  assert.deepEqual(await of('key-every'), ['3', '2', '1', '0']);
  assert.equal((await rig.get(PATH, 'key-other')).status, 403);
  assert.deepEqual(idsOf(await list(rig, { person: '1002' }, 'user')), ['ast1:3.1']);
  assert.deepEqual(idsOf(await list(rig, { person: '1001' }, 'user')), [], 'not theirs');
  for (const [who, status] of [
    ['user', 404],
    ['key-two', 404],
    ['key-none', 404],
    ['supervisor', 200],
  ] as const)
    assert.equal((await rig.get(`${PATH}/ast1:0.1`, who)).status, status, who);
});

test('conversations list - one conversation by the id of any of its calls, with all details', async () => {
  await using rig = await conversationsRig();
  await rig.put([recordOf({ id: 'ast1:1.1', merged_from: ['ast1:2.1'], queue: 'support' })]);
  rig.recorded.add('ast1:2.1');
  const { status, body } = await rig.get(`${PATH}/ast1:2.1`);
  assert.equal(status, 200);
  const { conversation } = ConversationReply.parse(body);
  assert.equal(conversation.id, 'ast1:1.1');
  assert.deepEqual(body, (await rig.get(`${PATH}/ast1:1.1`)).body);
  assert.deepEqual(
    [conversation.legs.length, conversation.queue_visits.length, conversation.recordings.length],
    [2, 1, 1],
  );
  assert.equal(conversation.has_recording, true);
  assert.ok(conversation.timeline.length > 3);
  const missing = await rig.get(`${PATH}/ast1:9.9`);
  assert.deepEqual([missing.status, missing.body.code], [404, 'not_found']);
});

test('conversations list - with few matches, each request scans a limited number and the next continues', async () => {
  await using rig = await conversationsRig();
  const rare = new Set([3, 4_700, 9_990]);
  for (let i = 0; i < 10_000; i += 2_000) {
    await rig.put(
      many(
        2_000,
        (k) => ({
          called: rare.has(i + k) ? { number: '5551', name: 'Şükrü' } : { extension: '1002', name: 'Sam' },
        }),
        i,
      ),
    );
  }
  for (const i of rare) rig.recorded.add(`ast1:${i}.1`);
  const page = await list(rig, { has_recording: 'true' });
  assert.deepEqual(idsOf(page), ['ast1:9990.1']);
  assert.ok(page.next_cursor !== null, 'it has not looked through all of them');
  const found = ['ast1:9990.1', 'ast1:4700.1', 'ast1:3.1'];
  assert.deepEqual(await all(rig, { has_recording: 'true' }), found);
  const named = await list(rig, { q: 'sukru' });
  assert.deepEqual(idsOf(named), found, 'by a name they are found at once');
  assert.deepEqual([named.next_cursor, named.total], [null, { count: 3, exact: true }]);
  const { total } = await list(rig, { limit: '1' });
  assert.deepEqual(total, { count: 10_000, exact: false });
  const person = (await list(rig, { person: '1002', limit: '1' })).total!;
  assert.equal(person.exact, false);
  assert.ok(Math.abs(person.count - 10_000) < 100, String(person.count));
});

test('conversations list - a number is found in any spelling, each conversation once', async () => {
  await using rig = await conversationsRig();
  const number = { number: '030901820', number_e164: '+4930901820' };
  await rig.put(many(30, () => ({ called: number })));
  for (const spelling of ['030901820', '+4930901820', '0049 30 90182-0', '+49 (30) 901820'])
    assert.equal(new Set(await all(rig, { number: spelling, limit: '7' })).size, 30, spelling);
  assert.deepEqual(await all(rig, { number: '30901820000' }), []);
});
