import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { agentReady, linkDown, offer, presence, streamRig } from '../../test/support/stream-rig.ts';
import type { RigOptions } from '../../test/support/stream-rig.ts';
import { UpgradeRefused, clientFrame } from '../../test/support/ws-client.ts';
import type { WsClient, WsOptions } from '../../test/support/ws-client.ts';
import { openSse } from '../../test/support/sse-client.ts';
import { until } from '../../test/support/until.ts';
import { PollReply } from '@offhook/contract/stream.ts';
import { ServiceError } from '../core/errors.ts';
import { checkOf } from '../core/row-check.ts';

/** A client that has subscribed; `subscribed` is taken. */
async function listener(
  t: TestContext,
  level: string,
  topics: readonly string[],
  options: RigOptions = {},
  frame: object = {},
) {
  const rig = await streamRig(t, options);
  const client = await rig.open(level);
  client.send({ op: 'subscribe', id: 1, topics, ...frame });
  const subscribed = await client.next('subscribed');
  return { rig, client, subscribed };
}
const refused = async (opening: Promise<WsClient>): Promise<string> => {
  const error: unknown = await opening.then(
    () => 'it was opened',
    (e: unknown) => e,
  );
  return error instanceof UpgradeRefused ? `${error.status} ${error.code}` : String(error);
};

test('stream - hello, then a snapshot and every event after it, each naming the one before', async (t) => {
  const rig = await streamRig(t);
  rig.commit(presence('1005', 'before'), presence('1006'));
  const client = await rig.open('user');
  assert.deepEqual(await client.next('hello'), {
    op: 'hello',
    protocol: 'offhook.v1',
    epoch: rig.journal.epoch,
    head: 2,
    heartbeat_seconds: 15,
    level: 'user',
  });
  client.send({ op: 'subscribe', id: 7, topics: ['presence'], snapshot: true });
  const { access, ...subscribed } = await client.next('subscribed');
  assert.deepEqual(subscribed, { op: 'subscribed', id: 7, topics: ['presence'], cursor: 2 });
  assert.match(access!, /^[\w-]{16}$/);
  const snapshot = await client.next('snapshot');
  assert.equal(snapshot.cursor, 2);
  assert.deepEqual(snapshot.data, Object.fromEntries(rig.states));
  rig.commit(presence('1005', 'after'), offer('support', '1003'), presence('1006'));
  rig.commit(agentReady('1003'), linkDown());
  const event = await client.next('event');
  assert.equal(event.prev, 2);
  assert.equal(event.event.id, `${rig.journal.epoch}:3`);
  assert.deepEqual(event.event, JSON.parse(rig.journal.read(2, 1)[0]!.json));
  await until('three events', () => client.seqs().length === 3);
  assert.deepEqual(client.seqs(), [3, 5, 7], 'foreign events are left out, the link goes to all');
});

test('stream - a snapshot waits until everything that happened is committed', async (t) => {
  const rig = await streamRig(t);
  rig.held = null;
  const client = await rig.open('user');
  client.send({ op: 'subscribe', id: 1, topics: ['presence'], snapshot: true });
  client.send({ op: 'ping', id: 'p' });
  await client.next('pong');
  rig.commit(presence('1005'));
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.deepEqual(
    client.frames.map((frame) => frame.op),
    ['hello', 'pong'],
  );
  rig.held = [];
  assert.equal((await client.next('subscribed')).cursor, 1);
  assert.deepEqual((await client.next('snapshot')).data, Object.fromEntries(rig.states));
});

test('stream - a snapshot is given where commits never end, as of an event, and the next ones follow', async (t) => {
  const rig = await streamRig(t);
  const noteOf = new Map<number, string>();
  let happened = 0;
  const happen = (count: number): void => {
    for (let i = 0; i < count; i += 1) {
      noteOf.set((happened += 1), `note ${happened}`);
      rig.happen(presence('1005', `note ${happened}`));
    }
  };
  happen(3);
  // Two of three are committed: events are held at every moment.
  const load = setInterval(() => {
    happen(2);
    rig.commitHeld(2);
    assert.ok((rig.held?.length ?? 0) > 0);
  }, 2);
  t.after(() => clearInterval(load));
  for (let n = 0; n < 5; n += 1) {
    const client = await rig.open('user');
    client.send({ op: 'subscribe', id: 1, topics: ['presence'], snapshot: true });
    const { cursor } = await client.next('subscribed');
    const snapshot = await client.next('snapshot');
    assert.equal(snapshot.cursor, cursor);
    const shown = snapshot.data as Record<string, { summary: string }>;
    assert.equal(shown['presence/1005']?.summary, noteOf.get(cursor));
    await until('ten events', () => client.seqs().length >= 10);
    assert.deepEqual(
      client.seqs().slice(0, 10),
      Array.from({ length: 10 }, (_, i) => cursor + 1 + i),
    );
    // Again on the same connection, which has everything up to some event.
    client.send({ op: 'subscribe', id: 2, topics: ['presence'], snapshot: true });
    const again = await client.next('subscribed');
    const later = (await client.next('snapshot')).data as typeof shown;
    assert.equal(later['presence/1005']?.summary, noteOf.get(again.cursor));
    client.socket.destroy();
  }
});

test('stream - a cursor gets the missed events, once and in order, then resumed, then new ones', async (t) => {
  const rig = await streamRig(t);
  for (let i = 0; i < 1300; i += 1) rig.commit(presence(i % 3 === 0 ? '1005' : '1006'));
  const client = await rig.open('user');
  client.send({ op: 'subscribe', id: 1, topics: ['presence/1005'], snapshot: true, cursor: 4 });
  assert.equal((await client.next('subscribed')).cursor, 4);
  const { cursor } = await client.next('resumed');
  assert.equal(cursor, 1300);
  rig.commit(presence('1005'));
  await until('the live event', () => client.seqs().at(-1) === 1301);
  const expected = Array.from({ length: 1300 }, (_, i) => i + 1).filter(
    (seq) => (seq - 1) % 3 === 0 && seq > 4,
  );
  assert.deepEqual(client.seqs(), [...expected, 1301]);
  assert.ok(!client.frames.some((frame) => frame.op === 'snapshot'), 'a cursor that holds needs no snapshot');
});

test('stream - a check that the log does not hold is a gap, by every transport; one that it holds, or no longer has, is not', async (t) => {
  const rig = await streamRig(t);
  for (let i = 0; i < 10; i += 1) rig.commit(presence('1005'));
  rig.store.trim(6);
  const known = (seq: number): string => checkOf(rig.store.read(seq - 1, 1)[0]!.json);
  for (const [check, reason] of [
    [`8:${known(8)}`, null],
    [`8:${known(9)}`, 'epoch'],
    ['3:00000000', null],
    ['11:00000000', 'epoch'],
  ] as const) {
    const client = await rig.open('user');
    client.send({ op: 'subscribe', id: 1, topics: ['presence'], cursor: 8, check });
    if (reason === null) await client.next('resumed');
    else assert.equal((await client.next('gap')).reason, reason);
    const token = 'token-user';
    const query = `topics=presence&cursor=8&check=${check}`;
    const answer = await fetch(`${rig.base}/api/v1/events/poll?wait=0&${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(PollReply.parse(await answer.json()).gap?.reason ?? null, reason);
    const sse = await openSse(`${rig.base}/api/v1/events?${query}`, token);
    if (reason === null) await sse.next('resumed');
    else assert.equal((await sse.next('gap')).json['reason'], reason);
    sse.stop();
  }
});

test('stream - a cursor that cannot be resumed is a gap, then a snapshot if requested', async (t) => {
  const rig = await streamRig(t);
  for (let i = 0; i < 10; i += 1) rig.commit(presence('1005'));
  rig.store.trim(6);
  for (const [cursor, epoch, reason] of [
    [4, undefined, 'cursor_outdated'],
    [100, undefined, 'cursor_ahead'],
    [7, 'another', 'epoch'],
  ] as const) {
    const client = await rig.open('user');
    client.send({
      op: 'subscribe',
      id: 1,
      topics: ['presence'],
      cursor,
      epoch,
      snapshot: reason !== 'epoch',
    });
    const { head } = rig.journal;
    assert.equal((await client.next('subscribed')).cursor, head);
    assert.deepEqual(await client.next('gap'), { op: 'gap', from: cursor, to: head, reason });
    if (reason !== 'epoch') assert.equal((await client.next('snapshot')).cursor, head);
    rig.commit(presence('1005'));
    const { event, prev } = await client.next('event');
    assert.deepEqual([event.seq, prev], [head + 1, head]);
    assert.ok(!client.frames.some((frame) => frame.op === 'resumed'), reason);
  }
  const edge = await rig.open('user');
  edge.send({ op: 'subscribe', id: 1, topics: ['presence'], cursor: 5, epoch: rig.journal.epoch });
  await edge.next('resumed');
  assert.equal(edge.seqs()[0], 6);
});

test('stream - rows that are thrown away while a reader is on its way to them are a gap too', async (t) => {
  const rig = await streamRig(t);
  for (let i = 0; i < 12; i += 1) rig.commit(...Array.from({ length: 1000 }, () => presence('1005')));
  const client = await rig.open('user');
  client.send({ op: 'subscribe', id: 1, topics: ['presence'], cursor: 0, snapshot: true });
  await client.next('event');
  rig.store.trim(11_000);
  const gap = await client.next('gap');
  assert.equal(gap.to, 12_000);
  assert.equal((await client.next('snapshot')).cursor, 12_000);
  assert.equal(client.seqs().at(-1), gap.from);
});

test('stream - a later topic with a cursor sends only its own events since then', async (t) => {
  const { rig, client } = await listener(t, 'supervisor', ['queues/support']);
  rig.commit(offer('support', '1003'), offer('sales', '1003'), agentReady('1003'), offer('sales', '1004'));
  await client.next('event');
  client.send({ op: 'subscribe', id: 2, topics: ['queues/sales', 'queues/support'], cursor: 0 });
  assert.deepEqual((await client.next('subscribed')).topics, ['queues/sales', 'queues/support']);
  await client.next('resumed');
  rig.commit(offer('sales', '1003'), offer('support', '1003'));
  await until('five events', () => client.seqs().length === 5);
  assert.deepEqual(client.seqs(), [1, 2, 4, 5, 6]);
  client.send({ op: 'unsubscribe', id: 3, topics: ['queues/sales'] });
  assert.deepEqual(await client.next('unsubscribed'), {
    op: 'unsubscribed',
    id: 3,
    topics: ['queues/sales'],
  });
  rig.commit(offer('sales', '1003'), offer('support', '1003'));
  await until('one event', () => client.seqs().at(-1) === 8);
  client.send({ op: 'unsubscribe', id: 4, topics: ['queues/support'] });
  await client.next('unsubscribed');
  rig.commit(offer('support', '1003'), linkDown());
  client.send({ op: 'ping' });
  await client.next('pong');
  assert.deepEqual(client.seqs(), [1, 2, 4, 5, 6, 8]);
});

test('stream - a change while many events are on the way loses none of them', async (t) => {
  const { rig, client } = await listener(t, 'supervisor', ['queues']);
  for (const [i, topic] of ['presence', 'agents', 'calls'].entries()) {
    const events = [offer('support', '1003'), presence('1005'), agentReady('1003')];
    rig.commit(...Array.from({ length: 9_000 }, (_, n) => events[n % 3]!));
    client.send({ op: 'subscribe', id: topic, topics: [topic], snapshot: i === 1 });
    assert.equal((await client.next('subscribed')).cursor, rig.journal.head);
  }
  rig.commit(presence('1006'), agentReady('1004'));
  const last = rig.journal.head;
  await until('the last', () => client.frames.some((f) => f.op === 'event' && f.event.seq === last));
  const heard = (type: string, seq: number): boolean =>
    type.startsWith('offer') || (type.startsWith('presence') && seq > 9_000) || seq > 18_000;
  const wanted = rig.journal.read(0, 100_000).filter((row) => heard(row.type, row.seq));
  assert.deepEqual(
    client.seqs(),
    wanted.map((row) => row.seq),
  );
});

test('stream - a topic without access rejects the whole frame', async (t) => {
  const rig = await streamRig(t);
  const cases: readonly (readonly [level: string, topic: string, allowed: boolean])[] = [
    ['user', 'presence', true],
    ['user', 'presence/1001', true],
    ['user', 'calls/mine', true],
    ['user', 'history/mine', true],
    ['user', 'calls', false],
    ['user', 'queues', false],
    ['user', 'agents', false],
    ['user', 'agents/1005', false],
    ['user', 'history', false],
    ['user', 'config', false],
    ['user', 'system', false],
    ['agent', 'agents', true],
    ['agent', 'agents/1003', true],
    ['agent', 'agents/1004', false],
    ['agent', 'queues', true],
    ['agent', 'queues/support', true],
    ['agent', 'queues/other', false],
    ['agent', 'calls', false],
    ['supervisor', 'queues/other', true],
    ['supervisor', 'calls', true],
    ['supervisor', 'history', true],
    ['supervisor', 'config', false],
    ['supervisor', 'system', false],
    ['admin', 'config', true],
    ['admin', 'system', true],
  ];
  for (const [level, topic, allowed] of cases) {
    const client = await rig.open(level);
    client.send({ op: 'subscribe', id: 'a', topics: ['presence/1009', topic] });
    const name = `${level} ${topic}`;
    if (allowed) await client.next('subscribed');
    else {
      const { id, code } = await client.next('error');
      assert.deepEqual([id, code], ['a', 'forbidden'], name);
      rig.commit(presence('1009'));
      client.send({ op: 'ping' });
      await client.next('pong');
      assert.deepEqual(client.seqs(), [], `${name}: nothing is half subscribed`);
    }
    client.socket.destroy();
  }
});

test('stream - an agent receives itself and its own queues only', async (t) => {
  const { rig, client } = await listener(t, 'agent', ['queues', 'agents', 'calls/mine']);
  rig.directory.setQueues(rig.directory.queues().filter((queue) => queue.name !== 'sales'));
  rig.commit(offer('sales', '1003'), agentReady('1004'), offer('support', '1004'), agentReady('1003'));
  await until('two events', () => client.seqs().length === 2);
  assert.deepEqual(client.seqs(), [3, 4]);
});

test('stream - changed rights take effect: wider, narrower, gone', async (t) => {
  const { rig, client } = await listener(t, 'agent', ['queues'], {}, { snapshot: true });
  const queues = rig.directory.queues();
  assert.equal((await client.next('snapshot')).topic, 'queues');
  rig.directory.setQueues(queues.filter((queue) => queue.name === 'support'));
  assert.equal((await client.next('snapshot')).topic, 'queues', 'the visible state is sent again');
  rig.commit(offer('sales', '1003'), offer('support', '1003'));
  await until('one event', () => client.seqs().length === 1);
  rig.directory.setQueues(queues);
  rig.commit(offer('sales', '1003'));
  await until('the event of the wider rights', () => client.seqs().length === 2);
  assert.deepEqual(client.seqs(), [2, 3]);
  rig.directory.change('1003', { level: 'user' });
  rig.commit(offer('support', '1003'));
  assert.equal((await client.closed()).code, 4403);
  assert.deepEqual(client.seqs(), [2, 3]);
});

test('stream - the end of a session or a key closes its connections at once, and no other', async (t) => {
  const { rig, client } = await listener(t, 'user', ['presence']);
  const other = await rig.open('agent');
  rig.endSession(5);
  rig.commit(presence('1005'));
  assert.equal((await client.closed(900)).code, 4409);
  assert.deepEqual(client.seqs(), []);
  rig.directory.change('1003', { active: false });
  assert.equal((await other.closed(900)).code, 4409);
  const lapsed = await rig.open('supervisor');
  await lapsed.next('hello');
  assert.equal(lapsed.close, null);
});

test('stream - a node that may no longer lead ends every stream and opens none until it leads again', async (t) => {
  let leads = true;
  const rig = await streamRig(t, { leads: () => leads });
  const client = await rig.open('user');
  leads = false;
  rig.stream.interrupt();
  assert.ok((await client.next('reconnect')).after_ms >= 200);
  assert.equal((await client.closed()).code, 1012);
  await assert.rejects(rig.open('user'), { status: 503, code: 'overloaded' });
  leads = true;
  await (await rig.open('user')).next('hello');
});
test('stream - a session that lapses is closed with 4401', async (t) => {
  const { rig, client } = await listener(t, 'user', ['presence'], { heartbeatSeconds: 0.15 });
  rig.clock.advance(4_000_000_000_000);
  assert.equal((await client.closed()).code, 4401);
});

test('stream - the upgrade needs a session and a permitted origin', async (t) => {
  const rig = await streamRig(t, { host: { config: { corsOrigins: [], publicUrl: '', trustProxy: [] } } });
  const tries = (options: Partial<WsOptions>) => refused(rig.open('user', options));
  const cookie = { Cookie: 'offhook_session=token-user' };
  const own = { Origin: rig.base };
  const none = { token: '' };
  assert.equal(await tries({ token: 'wrong' }), '401 not_authenticated');
  assert.equal(await tries({ ...none, headers: cookie }), '403 foreign_origin', 'a cookie without Origin');
  assert.equal(
    await tries({ ...none, headers: { ...cookie, Origin: 'https://evil.example' } }),
    '403 foreign_origin',
  );
  assert.equal(await tries({ ...none, headers: { ...cookie, Origin: 'null' } }), '403 foreign_origin');
  assert.equal(await tries({ headers: { Origin: 'https://evil.example' } }), '403 foreign_origin');
  assert.equal(await tries({ path: '/api/v1/stream?token=token-user' }), '400 token_in_url');
  assert.equal(await tries({ headers: { 'Sec-WebSocket-Version': '8' } }), '400 invalid_request');
  assert.equal(await tries({ headers: { 'Sec-WebSocket-Key': 'short' } }), '400 invalid_request');
  assert.equal(await tries({ path: '/api/v1/stream/' }), '404 not_found');
  assert.equal(await tries({ path: '/api/v1/events' }), '404 not_found');
  const plain = await fetch(`${rig.base}/api/v1/stream`, { headers: { authorization: 'Bearer token-user' } });
  assert.equal(plain.status, 426);
  await using same = await rig.open('user', { ...none, headers: { ...cookie, ...own } });
  await same.next('hello');
});

test('stream - another protocol, or none, is closed with 4412', async (t) => {
  const rig = await streamRig(t);
  for (const protocol of ['sip', null, 'offhook.v2', 'OFFHOOK.V1']) {
    const client = await rig.open('user', { protocol });
    assert.equal((await client.closed()).code, 4412, String(protocol));
    assert.deepEqual(client.frames, []);
  }
  const client = await rig.open('user', { protocol: 'sip, offhook.v1' });
  await client.next('hello');
});

test('stream - a ticket opens one connection, for 30 seconds, while its session lives', async (t) => {
  const rig = await streamRig(t);
  const post = (level: string) =>
    fetch(`${rig.base}/api/v1/stream/ticket`, {
      method: 'POST',
      headers: { authorization: `Bearer token-${level}`, 'content-type': 'application/json' },
      body: '{}',
    });
  const issue = async (): Promise<string> => {
    const reply = await post('user');
    assert.equal(reply.status, 200);
    return ((await reply.json()) as { ticket: string }).ticket;
  };
  const use = (ticket: string, token = '') =>
    rig.open('user', { token, path: `/api/v1/stream?ticket=${ticket}` });
  const first = await issue();
  await using client = await use(first);
  assert.equal((await client.next('hello')).level, 'user');
  assert.equal(await refused(use(first)), '401 not_authenticated', 'used a second time');
  assert.equal(await refused(use(first, 'token-admin')), '401 not_authenticated', 'whatever comes beside it');
  assert.equal(await refused(use('x'.repeat(43))), '401 not_authenticated');
  assert.equal(await refused(use('x'.repeat(1000))), '400 invalid_request');
  const late = await issue();
  rig.clock.advance(30_000);
  assert.equal(await refused(use(late)), '401 not_authenticated');
  const orphan = await issue();
  rig.endSession(5);
  assert.equal(await refused(use(orphan)), '401 not_authenticated');
  const checked = await issue();
  rig.stream.interrupt(({ level }) => level === 'user');
  assert.equal(
    await refused(use(checked)),
    '401 not_authenticated',
    'as a factor that is required from now on does',
  );
  const lost = await issue();
  rig.directory.change('1005', { active: false });
  assert.equal(await refused(use(lost)), '401 not_authenticated');
  for (let i = 0; i < 19; i += 1) await post('agent');
  assert.equal((await post('agent')).status, 200);
  assert.equal((await post('agent')).status, 429);
  rig.clock.advance(30_000);
  assert.equal((await post('agent')).status, 200);
});

test('stream - one person may have so many streams, whatever the transport', async (t) => {
  const rig = await streamRig(t, { perPerson: 3 });
  const clients = [await rig.open('user'), await rig.open('user')];
  const waiting = fetch(`${rig.base}/api/v1/events/poll?topics=presence&cursor=0&wait=60`, {
    headers: { authorization: 'Bearer token-user' },
  });
  await until('all three', () => rig.figure('offhook_stream_clients') === 3);
  assert.equal(await refused(rig.open('user')), '429 too_many_requests');
  await using other = await rig.open('agent');
  await other.next('hello');
  rig.commit(presence('1005'));
  assert.equal((await waiting).status, 200);
  clients[0]!.socket.destroy();
  await until('room again', () =>
    rig.open('user').then(
      () => true,
      () => false,
    ),
  );
});

test('stream - a frame that cannot be read is answered, and 20 in a row close with 4400', async (t) => {
  const rig = await streamRig(t);
  const client = await rig.open('user');
  const text = (value: string) => clientFrame(0x1, Buffer.from(value));
  const cases: readonly (readonly [Buffer, code: string, id?: string | number])[] = [
    [clientFrame(0x2, Buffer.from('{}')), 'bad_frame'],
    [clientFrame(0x2, Buffer.alloc(60_000)), 'bad_frame'],
    [text('{"op":"subscribe",'), 'bad_frame'],
    [text(''), 'bad_frame'],
    [text('null'), 'bad_frame'],
    [text('[]'), 'bad_frame'],
    [text('"subscribe"'), 'bad_frame'],
    [text('{}'), 'bad_frame'],
    [text('{"op":"dance","id":"a"}'), 'bad_frame', 'a'],
    [text('{"op":"hello","id":3}'), 'bad_frame', 3],
    [text('{"op":"__proto__"}'), 'bad_frame'],
    [text('{"op":"ping","op":"pong"}'), 'invalid_request'],
    [text('['.repeat(60_000)), 'invalid_request'],
    [text('{"op":"ping","id":1,"x":2}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":[]}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":"presence"}'), 'invalid_request', 1],
    [text('{"op":"subscribe","topics":["presence"]}'), 'invalid_request'],
    [text('{"op":"ping"}'), ''],
    [text('{"op":"subscribe","id":1,"topics":["*"]}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":["presence/*"]}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":["presence/../1"]}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":["presence"],"cursor":-1}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":["presence"],"cursor":1.5}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":["presence"],"cursor":"1"}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":["presence"],"cursor":1e300}'), 'invalid_request', 1],
    [text('{"op":"subscribe","id":1,"topics":["presence"],"snapshot":"yes"}'), 'invalid_request', 1],
    [
      text(JSON.stringify({ op: 'subscribe', id: 1, topics: Array(3000).fill('presence') })),
      'invalid_request',
      1,
    ],
    [text('{"op":"command","id":1}'), 'invalid_request', 1],
    [text(`{"op":"ping","id":"${'x'.repeat(65)}"}`), 'invalid_request'],
  ];
  for (const [bytes, code, id] of cases) {
    client.raw(bytes);
    if (code === '') await client.next('pong');
    else {
      const error = await client.next('error');
      assert.deepEqual([error.code, error.id], [code, id], bytes.toString('latin1').slice(0, 80));
      assert.ok(error.detail.length > 5 && error.detail.length < 300);
    }
  }
  assert.equal(client.close, null, 'a good one in between begins the count anew');
  for (let i = 0; i < 20; i += 1) client.send('no');
  assert.equal((await client.closed()).code, 4400);
});

test('stream - a breach of the protocol closes with its code, and other clients notice nothing', async (t) => {
  const { rig, client: other } = await listener(t, 'user', ['presence']);
  const header = (first: number, length: number): Buffer =>
    clientFrame(first & 0xf, Buffer.alloc(length), first);
  const huge = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x06, 0x40, 0, 0, 1, 2, 3, 4]);
  const cases: readonly (readonly [name: string, bytes: Buffer, code: number])[] = [
    ['100 MB announced', huge, 1009],
    ['1 MB sent', header(0x81, 1_048_576), 1009],
    ['one byte too many', header(0x81, 65_537), 1009],
    ['too large in pieces', Buffer.concat([header(0x01, 40_000), header(0x80, 40_000)]), 1009],
    ['crumbs', Buffer.concat([header(0x01, 1), ...Array.from({ length: 200 }, () => header(0x00, 1))]), 1008],
    [
      'empty crumbs',
      Buffer.concat([header(0x01, 0), ...Array.from({ length: 200 }, () => header(0x00, 0))]),
      1008,
    ],
    ['not UTF-8', clientFrame(0x1, Buffer.from([0x22, 0xc3, 0x28, 0x22])), 1007],
    ['a reserved bit', header(0xc1, 2), 1002],
    ['compressed', header(0xc1, 60), 1002],
    ['a reserved opcode', header(0x83, 2), 1002],
    ['not masked', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 1002],
    ['a ping in pieces', header(0x09, 2), 1002],
    ['a long ping', header(0x89, 126), 1002],
    ['going on without a beginning', header(0x80, 2), 1002],
    ['a message inside a message', Buffer.concat([header(0x01, 1), header(0x81, 1)]), 1002],
    ['a ping flood', Buffer.concat(Array.from({ length: 500 }, () => header(0x89, 4))), 1008],
    ['a pong flood', Buffer.concat(Array.from({ length: 500 }, () => header(0x8a, 4))), 1008],
    ['close of one byte', clientFrame(0x8, Buffer.from([3])), 1002],
    ['close with a code of nobody', clientFrame(0x8, Buffer.from([0x03, 0xed])), 1002],
    ['close', clientFrame(0x8, Buffer.from([0x03, 0xe9])), 1001],
    ['close without a code', clientFrame(0x8, Buffer.alloc(0)), 1000],
  ];
  for (const [name, bytes, code] of cases) {
    const client = await rig.open('user');
    client.raw(bytes);
    assert.equal((await client.closed()).code, code, name);
  }
  rig.commit(presence('1005'));
  await other.next('event');
});

test('stream - a message may come in pieces with a ping between them, cut anywhere', async (t) => {
  const rig = await streamRig(t);
  const client = await rig.open('user');
  const message = Buffer.from(JSON.stringify({ op: 'subscribe', id: 'ü€😀', topics: ['presence'] }));
  const bytes = Buffer.concat([
    clientFrame(0x1, message.subarray(0, 31), 0x01),
    clientFrame(0x9, Buffer.from('here?')),
    clientFrame(0x0, message.subarray(31, 33), 0x00),
    clientFrame(0x0, Buffer.alloc(0), 0x00),
    clientFrame(0x0, message.subarray(33), 0x80),
  ]);
  for (const byte of bytes) {
    client.raw(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await client.next('subscribed')).id, 'ü€😀');
  assert.equal(client.pongs, 1);
});

test('stream - a flood of subscriptions is refused, then closed', async (t) => {
  const { client } = await listener(t, 'user', ['presence']);
  const frame = { op: 'subscribe', id: 2, topics: ['presence'], snapshot: true };
  for (let i = 0; i < 200; i += 1) client.send(frame);
  assert.equal((await client.next('error')).code, 'too_many_requests');
  assert.equal((await client.closed()).code, 4400);
});

test('stream - commands run as their sender, so many at once, and their result or problem comes back', async (t) => {
  const runs: unknown[] = [];
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const rig = await streamRig(t, {
    commands: {
      async run({ caller, ip }, action, data, key) {
        runs.push([caller.extension, ip, action, data, key]);
        if (action === 'a.refuse') throw new ServiceError('no_such_queue', 'there is none');
        if (action === 'a.break') throw new TypeError('secret');
        if (action === 'a.wait') await gate;
        return { done: true };
      },
    },
  });
  const client = await rig.open('agent');
  const ask = (id: number, action: string, more = {}) => client.send({ op: 'command', id, action, ...more });
  ask(1, 'a.do', { data: { x: 1 }, idempotency_key: 'k' });
  assert.deepEqual(await client.next('result'), { op: 'result', id: 1, ok: true, data: { done: true } });
  assert.deepEqual(runs, [['1003', '127.0.0.1', 'a.do', { x: 1 }, 'k']]);
  ask(2, 'a.refuse');
  const refusal = await client.next('result');
  assert.deepEqual([refusal.ok, refusal.error?.code, refusal.error?.status], [false, 'no_such_queue', 404]);
  ask(3, 'a.break');
  const failure = await client.next('result');
  assert.equal(failure.error?.code, 'internal');
  assert.ok(!JSON.stringify(failure).includes('secret'));
  for (let i = 0; i < 33; i += 1) ask(100 + i, 'a.wait');
  assert.deepEqual((await client.next('error')).code, 'too_many_requests');
  release();
  await until('32 results', () => client.frames.filter((frame) => frame.op === 'result').length === 35);
});
