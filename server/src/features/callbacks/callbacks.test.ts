import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLBACK_DAYS, MAX_CALLBACKS, TAKEN_MINUTES } from '@offhook/contract/callbacks.ts';
import type { Callback } from '@offhook/contract/callbacks.ts';
import type { Fields } from '../../../test/support/callbacks-rig.ts';
import { ANNA, BEGUN, calls, callbacksRig } from '../../../test/support/callbacks-rig.ts';
import { mortalStore } from '../../../test/support/mortal-store.ts';
import { until } from '../../../test/support/until.ts';
import { CallbackStore } from './store.ts';
import { numberSubject, extensionSubject } from '../../numbers/subject.ts';

const about = ({ extension, queue, number, tries, state }: Callback) =>
  `${extension ?? queue} ${number} ${tries} ${state}`;
const all = (list: readonly Callback[]): string[] => list.map(about).toSorted();
const OTHER = '+4930111222';

test('callbacks - one for each number and queue or person, with its tries; seen by the person, the agents of the queue and supervisors', async (t) => {
  const { put, list, page, call } = await callbacksRig(t);
  await put('n:1', calls.abandoned(0, 'support'));
  await put('n:2', calls.abandoned(60, 'support'));
  await put('n:3', calls.abandoned(0, 'sales', ['1003'], OTHER));
  await put('n:4', calls.missed(30, ['1005']));
  await put('n:5', { ...calls.missed(30, ['1005'], ''), customer: null });
  assert.deepEqual(all(await list('token-user')), [`1005 ${ANNA} 1 open`]);
  assert.deepEqual(all(await list('token-agent')), [`sales ${OTHER} 1 open`, `support ${ANNA} 2 open`]);
  const both = await page();
  assert.deepEqual(both.callbacks.map(about), [`support ${ANNA} 2 open`, `sales ${OTHER} 1 open`]);
  assert.equal(both.open, 2);
  const { first_at, last_at, queue_title, conversation } = both.callbacks[0]!;
  assert.deepEqual([first_at, last_at], ['2026-11-21T09:05:10.000Z', '2026-11-21T09:06:10.000Z']);
  assert.deepEqual([queue_title, conversation], ['Support', 'n:2']);
  const first = await page('token-supervisor', '?limit=1');
  const second = await page('token-supervisor', `?limit=1&cursor=${first.next_cursor}`);
  assert.deepEqual(second.callbacks.map(about), [`sales ${OTHER} 1 open`]);
  assert.equal(second.next_cursor, null);
  assert.deepEqual(all(await list('token-agent', '?queue=sales')), [`sales ${OTHER} 1 open`]);
  assert.deepEqual(all(await list('key-reads')), [`support ${ANNA} 2 open`]);
  assert.equal((await call('GET', '', undefined, 'key-other')).status, 403);
});

test('callbacks - a later talk closes it: by its person, by an agent or supervisor for a queue, by anyone the same call rang', async (t) => {
  const { put, list } = await callbacksRig(t);
  const open = async () =>
    all([...(await list()), ...(await list('token-user')), ...(await list('token-agent'))]);
  await put('n:1', calls.missed(0, ['1003', '1005']));
  await put('n:2', calls.abandoned(0, 'support', ['1004'], OTHER));
  await put('n:3', calls.missed(0, ['1005'], OTHER));
  const before = await open();
  assert.equal(before.length, 5);
  // An earlier talk, another number, and a person who has no part in it change nothing.
  await put('n:4', calls.talk(-60, '1005'));
  await put('n:5', calls.talk(60, '1006', 'in', OTHER));
  assert.deepEqual(await open(), before);
  // 1003 rang together with 1005: the customer was called back.
  await put('n:6', calls.talk(100, '1003'));
  assert.deepEqual(all(await list('token-user')), [`1005 ${OTHER} 1 open`]);
  const [closed] = await list('token-user', '?state=closed');
  assert.deepEqual(closed!.closed, {
    at: '2026-11-21T09:06:50.000Z',
    by: '1003',
    reason: 'contact',
    note: null,
    conversation: 'n:6',
  });
  // An agent of the queue that another call found free.
  await put('n:7', calls.talk(100, '1003', 'in', OTHER));
  assert.deepEqual(await list(), []);
  await put('n:8', calls.abandoned(200, 'support', ['1004'], OTHER));
  assert.deepEqual((await list()).map(about), [`support ${OTHER} 1 open`]);
  await put('n:9', calls.talk(300, '1002', 'out', OTHER));
  assert.deepEqual(await list(), []);
  // So does a talk that still goes on.
  await put('n:9a', calls.abandoned(350, 'support', ['1004'], OTHER));
  assert.equal((await list()).length, 1);
  await put('n:9b', { ...calls.talk(370, '1004', 'in', OTHER), state: 'open' });
  assert.deepEqual(await list(), []);
  // A new try after the contact counts from one.
  await put('n:10', calls.abandoned(400, 'support', ['1004'], OTHER));
  await put('n:11', calls.abandoned(460, 'support', ['1004'], OTHER));
  assert.deepEqual((await list()).map(about), [`support ${OTHER} 2 open`]);
});

test('callbacks - a forward that somebody else answered leaves none to its owner; one that nobody answered does', async (t) => {
  const { put, list } = await callbacksRig(t);
  const forwarded = (call: Fields, at: string, ended_at: string): Fields => ({
    ...call,
    ended_at,
    extensions: ['1003', '1005'],
    transfers: [
      {
        kind: 'forward',
        at,
        by: null,
        forwarded_by: '1005',
        moved: 'outside',
        to: '1003',
        to_leg: '1003',
        outcome: 'completed',
      },
    ],
  });
  const [at, ended] = ['2026-11-21T09:05:01.000Z', '2026-11-21T09:05:12.500Z'];
  await put('n:1', forwarded(calls.talk(2, '1003', 'in'), at, ended));
  assert.deepEqual(await list('token-user'), []);
  await put('n:2', forwarded(calls.missed(2, ['1003'], OTHER), at, ended));
  assert.deepEqual(all(await list('token-user')), [`1005 ${OTHER} 1 open`]);
});

test('callbacks - an amended, merged or erased conversation takes its tries with it', async (t) => {
  const { put, read, feed, list } = await callbacksRig(t);
  await put('n:1', calls.abandoned(0, 'support'));
  await put('n:1', calls.talk(0, '1003', 'in'));
  assert.deepEqual(await list(), []);
  await put('n:2', calls.abandoned(60, 'support'));
  await put('n:3', calls.abandoned(120, 'support'));
  assert.deepEqual((await list()).map(about), [`support ${ANNA} 2 open`]);
  feed.merge('n:3', 'n:2');
  await read();
  assert.deepEqual((await list()).map(about), [`support ${ANNA} 1 open`]);
  await put('n:2', { erased: true });
  assert.deepEqual(await list(), []);
});

test('callbacks - one person calls back: taken for all who have the number, until it is given up, or for an hour', async (t) => {
  const { put, list, act, clock, events, audit } = await callbacksRig(t);
  await put('n:1', calls.missed(0, ['1003', '1005']));
  await put('n:2', calls.abandoned(60, 'support'));
  const [own] = await list('token-user');
  const agents = await list('token-agent');
  const taken = await act(own!.id, 'take', 'token-user');
  assert.ok(typeof taken === 'object');
  assert.equal(taken.taken?.by, '1005');
  for (const one of await list('token-agent')) assert.equal(one.taken?.by, '1005');
  assert.deepEqual(await act(own!.id, 'take', 'token-user'), taken);
  assert.equal(await act(agents[0]!.id, 'take', 'token-agent'), 'callback_taken');
  assert.equal(await act(agents[0]!.id, 'release', 'token-agent'), 'callback_taken');
  assert.equal(await act(own!.id, 'take', 'token-agent'), 'not_found');
  const queued = agents.find(({ queue }) => queue !== null)!;
  assert.ok(typeof (await act(queued.id, 'release')) === 'object');
  assert.equal((await list('token-user'))[0]!.taken, null);
  await act(queued.id, 'take', 'token-agent');
  await clock.advance(TAKEN_MINUTES * 60_000);
  assert.equal((await list('token-user'))[0]!.taken, null);
  assert.ok(typeof (await act(own!.id, 'take', 'token-user')) === 'object');
  const trail = await audit.page({ limit: 20 });
  const actions = trail.entries.map(({ action }) => action).filter((one) => one.startsWith('callback.'));
  assert.deepEqual(actions.toReversed(), [
    'callback.taken',
    'callback.released',
    'callback.taken',
    'callback.taken',
  ]);
  const rows = events.filter(({ type }) => type === 'callback.changed').map(({ data }) => data);
  assert.ok(rows.some((data) => 'extension' in data && data.extension === '1005'));
  assert.ok(!JSON.stringify(events).includes(ANNA.slice(1)));
});

test('callbacks - closed by hand with a reason; a later try opens it again', async (t) => {
  const { put, list, act, call } = await callbacksRig(t);
  await put('n:1', calls.abandoned(0, 'support'));
  const [{ id }] = (await list()) as [Callback];
  assert.equal((await call('POST', `/${id}/close`, { reason: 'bored' })).json.code, 'invalid_request');
  const closed = await act(id, 'close', 'token-agent', { reason: 'not_needed', note: 'wrong number' });
  assert.ok(typeof closed === 'object');
  assert.equal(closed.closed?.note, 'wrong number');
  // Again, with another reason: it stays as it was closed.
  assert.deepEqual(await act(id, 'close', 'token-supervisor', { reason: 'done' }), closed);
  assert.equal(await act(id, 'take', 'token-agent'), 'callback_closed');
  assert.deepEqual(await list(), []);
  await put('n:2', calls.abandoned(7_200, 'support'));
  assert.deepEqual((await list()).map(about), [`support ${ANNA} 1 open`]);
});

test('callbacks - killed at any commit, or with the feed lost, the list is the same', async (t) => {
  const { feed, temp, reopen, read, list, feature } = await callbacksRig(t);
  await feature().close();
  for (let i = 0; i < 8; i += 1)
    feed.put(`n:${i}`, calls.abandoned(i * 60, i % 2 === 0 ? 'support' : 'sales'));
  feed.put('n:9', calls.talk(200, '1002'));
  const plain = await reopen();
  await read();
  const wanted = all(await list());
  assert.deepEqual(wanted, [`sales ${ANNA} 2 open`, `support ${ANNA} 2 open`]);
  await plain.close();
  for (const side of ['before', 'after'] as const)
    for (let at = 1; at <= 4; at += 1) {
      feed.lose();
      const life = mortalStore(temp.store, at, side);
      await reopen(life.store);
      await until('the end of the first life', async () => {
        feature().onDomainEvent({ type: 'conversation.updated' } as never);
        await new Promise(setImmediate);
        return life.dead;
      });
      const second = await reopen();
      await read();
      assert.deepEqual(all(await list()), wanted, `${side} ${at}`);
      await second.close();
    }
});

test('callbacks - a conversation that the feed lost is forgotten; old ones and those beyond the limit too', async (t) => {
  const { feed, put, read, list, clock, temp, feature, reopen } = await callbacksRig(t);
  await put('n:1', calls.abandoned(0, 'support'));
  feed.forget('n:1');
  feed.lose();
  await put('n:2', calls.abandoned(0, 'sales', ['1003'], OTHER));
  assert.deepEqual((await list()).map(about), [`sales ${OTHER} 1 open`]);
  await feature().close();
  await clock.advance(CALLBACK_DAYS * 86_400_000);
  await reopen();
  await until('the upkeep', async () => {
    await clock.advance(1);
    return (await list()).length === 0;
  });
  await read();
  const db = temp.store.db<{ callbacks: { id: number }; callback_calls: { number: string } }>();
  assert.deepEqual(await db.selectFrom('callback_calls').selectAll().execute(), []);
  const store = await CallbackStore.open(temp.store);
  const one = (i: number) => ({
    number: `+4930${100_000 + i}`,
    scope: 'queue:support',
    contact: false,
    by: null,
  });
  const rows = Array.from({ length: MAX_CALLBACKS + 5 }, (_, i) => ({
    conversation: `many:${i}`,
    calls: [{ ...one(i), at: BEGUN + i }],
  }));
  await store.advance(await store.reader(), rows);
  const sight = { extensions: [], queues: ['support'], since_ms: 0 };
  assert.equal(await store.countOpen(sight), MAX_CALLBACKS);
  const [newest] = await store.page(sight, { open: true, queue: undefined }, null, 1);
  assert.equal(newest!.conversation, `many:${MAX_CALLBACKS + 4}`);
});

test('callbacks - personal data: a number is exported and erased with its callbacks, a person in what it wrote', async (t) => {
  const { put, list, act, feature, temp } = await callbacksRig(t);
  await put('n:1', calls.abandoned(0, 'support'));
  await put('n:2', calls.abandoned(0, 'sales', ['1003'], OTHER));
  const sales = (await list()).find(({ queue }) => queue === 'sales')!;
  await act(sales.id, 'close', 'token-agent', { reason: 'other', note: `is the same as 030 901820` });
  const { data } = feature();
  const { signal } = new AbortController();
  const number = numberSubject('030 901820', 'DE')!;
  assert.deepEqual(await data.count(number, signal), { callbacks: 2 });
  const items = [];
  for await (const item of data.collect!(number, [], signal)) items.push(item);
  assert.equal(items.length, 2);
  assert.deepEqual(await data.erase(number, 'erased-1', signal), { callbacks: 2 });
  assert.deepEqual(await data.count(number, signal), {});
  const left = await temp.store
    .db<{ callback_calls: { number: string } }>()
    .selectFrom('callback_calls')
    .selectAll()
    .execute();
  assert.deepEqual(
    left.map((one) => one.number),
    [OTHER],
  );
  const person = extensionSubject('1003');
  await data.erase(person, 'erased-2', signal);
  const [closed] = await list('token-supervisor', '?state=closed');
  assert.equal(closed!.closed?.by, 'erased-2');
});
