import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offer, presence, streamRig } from '../../test/support/stream-rig.ts';
import type { StreamRig } from '../../test/support/stream-rig.ts';
import { openSse } from '../../test/support/sse-client.ts';
import type { SseClient, SseMessage } from '../../test/support/sse-client.ts';
import { until } from '../../test/support/until.ts';

const open = (rig: StreamRig, query: string, level = 'user', headers = {}) =>
  openSse(`${rig.base}/api/v1/events?${query}`, `token-${level}`, headers);
const answer = async (rig: StreamRig, query: string, level = 'user', headers = {}): Promise<string> => {
  const response = await fetch(`${rig.base}/api/v1/events?${query}`, {
    headers: { authorization: `Bearer token-${level}`, ...headers },
  });
  return `${response.status} ${((await response.json()) as { code: string }).code}`;
};

test('sse - a snapshot, then events whose id is their seq, and Last-Event-ID resumes', async (t) => {
  const rig = await streamRig(t);
  rig.commit(presence('1005'));
  const first = await open(rig, 'topics=presence,calls/mine&snapshot=true');
  assert.equal(first.response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(first.response.headers.get('cache-control'), 'no-store');
  const begun = await first.next('subscribed');
  const { access, ...rest } = begun.json;
  assert.deepEqual(rest, { epoch: rig.journal.epoch, topics: ['presence', 'calls/mine'], cursor: 1 });
  assert.match(String(access), /^[\w-]{16}$/);
  const snapshot = await first.next('snapshot');
  assert.deepEqual(snapshot.json, { topic: 'presence', cursor: 1, data: Object.fromEntries(rig.states) });
  rig.commit(presence('1005'), offer('support', '1003'), presence('1006'));
  const event = await first.next('');
  assert.deepEqual(event.json, JSON.parse(rig.journal.read(1, 1)[0]!.json));
  await until('both', () => first.seqs().length === 2);
  first.stop();
  rig.commit(presence('1006'), offer('support', '1003'));
  const second = await open(rig, 'topics=presence&snapshot=true&cursor=0', 'user', { 'last-event-id': '4' });
  assert.equal((await second.next('resumed')).json['cursor'], 6);
  rig.commit(presence('1005'));
  await until('two', () => second.seqs().length === 2);
  assert.deepEqual([...first.seqs(), ...second.seqs()], [2, 4, 5, 7]);
  assert.ok(!second.messages.some((one) => one.event === 'snapshot'));
  second.stop();
});

test('sse - a client that is cut off before its last snapshot has no id to resume after the others', async (t) => {
  const rig = await streamRig(t, { heartbeatSeconds: 0.15 });
  rig.commit(presence('1005'));
  rig.held = null;
  const client = await open(rig, 'topics=presence,calls/mine&snapshot=true');
  await until('a heartbeat before the state can be given', () => client.messages.length > 0);
  rig.held = [];
  await client.next('snapshot');
  await client.next('snapshot');
  const named = client.messages.filter(({ event }) => event !== '');
  assert.deepEqual(
    named.map(({ event, id }) => [event, id]),
    [
      ['subscribed', ''],
      ['snapshot', ''],
      ['snapshot', '1'],
    ],
  );
  const first = client.messages.indexOf(named[0]!);
  assert.deepEqual(
    client.messages.slice(0, first).filter(({ id }) => id !== ''),
    [],
  );
  client.stop();
});

test('sse - a cursor that cannot be led on from is a gap with a snapshot after it', async (t) => {
  const rig = await streamRig(t);
  rig.commit(presence('1005'), presence('1005'), presence('1005'));
  rig.store.trim(3);
  for (const [query, reason] of [
    ['cursor=0', 'cursor_outdated'],
    ['cursor=99', 'cursor_ahead'],
    ['cursor=2&epoch=x', 'epoch'],
  ] as const) {
    const client = await open(rig, `topics=presence&snapshot=true&${query}`);
    assert.equal((await client.next('gap')).json['reason'], reason);
    assert.equal((await client.next('snapshot')).json['cursor'], 3);
    client.stop();
  }
});

test('sse - a client that is cut off between `subscribed` and a gap has no id, so it gets the gap again', async (t) => {
  const rig = await streamRig(t);
  rig.commit(presence('1005'), presence('1005'), presence('1005'));
  rig.store.trim(3);
  const client = await open(rig, 'topics=presence&cursor=0');
  await client.next('gap');
  assert.deepEqual(
    client.messages.map(({ event, id }) => [event, id]),
    [
      ['subscribed', ''],
      ['gap', '3'],
    ],
  );
  client.stop();
});

for (const [what, cause] of [
  [
    'a gap in mid-stream',
    async (rig: StreamRig, client: SseClient) => {
      rig.commit(offer('support', '1003'), offer('support', '1003'), offer('support', '1003'));
      rig.store.trim(3);
      assert.deepEqual((await client.next('gap')).json, { from: 0, to: 3, reason: 'cursor_outdated' });
    },
  ],
  [
    'a change of the rights',
    async (rig: StreamRig) => {
      rig.commit(offer('support', '1003'), offer('support', '1003'), offer('support', '1003'));
      rig.directory.setQueues(rig.directory.queues().filter(({ name }) => name !== 'sales'));
    },
  ],
] as const) {
  test(`sse - after ${what} no message has an id until the snapshot`, async (t) => {
    const rig = await streamRig(t, { heartbeatSeconds: 0.15 });
    const client = await open(rig, 'topics=queues&snapshot=true', 'agent');
    await client.next('snapshot');
    rig.held = null;
    await cause(rig, client);
    const before = client.messages.length;
    rig.commit(offer('support', '1003', 'last'));
    const isLast = ({ data }: SseMessage) => data.includes('last');
    await until('the event', () => client.messages.some(isLast));
    await until('a heartbeat', () => client.messages.slice(before).some(({ comment }) => comment !== ''));
    const known = client.messages.filter((one) => one.id !== '' && Number(one.id) > 3);
    assert.deepEqual(known, [], 'an id after the gap, before the state');
    rig.held = [];
    assert.equal((await client.next('snapshot')).id, '4');
    rig.commit(offer('support', '1003', 'after'));
    await until('the next event', () => client.messages.some(({ id }) => id === '5'));
    client.stop();
  });
}

test('sse - the snapshot after a change of the rights is built once for these clients and new ones', async (t) => {
  const rig = await streamRig(t);
  const first = await open(rig, 'topics=queues&snapshot=true', 'agent');
  await first.next('snapshot');
  rig.directory.setQueues(rig.directory.queues().filter(({ name }) => name !== 'sales'));
  await first.next('snapshot');
  const { taken } = rig;
  const second = await open(rig, 'topics=queues&snapshot=true', 'agent');
  await second.next('snapshot');
  assert.equal(rig.taken, taken);
  first.stop();
  second.stop();
});

test('sse - heartbeats carry the safe cursor, and the end of the session ends it at once', async (t) => {
  const rig = await streamRig(t, { heartbeatSeconds: 0.15 });
  const client = await open(rig, 'topics=presence');
  await client.next('subscribed');
  rig.commit(offer('support', '1003'));
  await until('a heartbeat', () =>
    client.messages.some((one) => one.comment.startsWith('heartbeat') && one.id === '1'),
  );
  rig.endSession(5);
  assert.equal((await client.next('close')).json['code'], 4409);
  await until('the end', () => client.ended);
});

test('sse - an invalid request is rejected before the stream begins', async (t) => {
  const rig = await streamRig(t);
  for (const query of [
    '',
    'topics=',
    'topics=*',
    'topics=presence,',
    'topics=presence&cursor=-1',
    'topics=presence&cursor=1.5',
    'topics=presence&cursor=99999999999999999999',
    'topics=presence&snapshot=1',
    'topics=presence&other=1',
    `topics=${Array(300).fill('presence').join(',')}`,
  ]) {
    assert.equal(await answer(rig, query), '400 invalid_request', query);
  }
  assert.equal(
    await answer(rig, 'topics=presence', 'user', { 'last-event-id': '-1' }),
    '400 invalid_request',
  );
  assert.equal(await answer(rig, 'topics=presence&token=x'), '400 token_in_url');
  assert.equal(await answer(rig, 'topics=presence,queues'), '403 forbidden');
  assert.equal(await answer(rig, 'topics=presence', 'nobody'), '401 not_authenticated');
});

test('sse - a planned stop gives the time to reconnect', async (t) => {
  const rig = await streamRig(t);
  const client = await open(rig, 'topics=presence');
  await client.next('subscribed');
  const stopping = rig.stop();
  const { json, retry } = await client.next('reconnect');
  assert.ok(Number(json['after_ms']) >= 200 && String(json['after_ms']) === retry);
  await until('the end', () => client.ended);
  await stopping;
});

test('sse - a stream whose session ended while it waited for the journal of its node does not open', async (t) => {
  const asked = Promise.withResolvers<void>();
  const wait = Promise.withResolvers<void>();
  const rig = await streamRig(t, {
    reach: async () => {
      asked.resolve();
      await wait.promise;
    },
  });
  const answer = fetch(`${rig.base}/api/v1/events?topics=presence&cursor=9`, {
    headers: { authorization: 'Bearer token-user' },
  });
  await asked.promise;
  rig.endSession(5);
  wait.resolve();
  const { status, body } = await answer;
  assert.equal(status, 401);
  await body?.cancel();
  assert.equal(rig.figure('offhook_stream_clients'), 0);
});
