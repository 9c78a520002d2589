import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { authenticatorWithKeys } from '../../test/support/host-fixture.ts';
import { openSse } from '../../test/support/sse-client.ts';
import { agentReady, linkDown, streamRig } from '../../test/support/stream-rig.ts';
import type { StreamRig } from '../../test/support/stream-rig.ts';
import { until } from '../../test/support/until.ts';
import { startSink } from '../../test/support/webhook-sink.ts';
import { admin, webhooksRig } from '../../test/support/webhooks-rig.ts';

/** Time when the current holder received the extension. */
const GIVEN = Date.UTC(2026, 10, 21, 12);
const BEFORE = GIVEN - 60_000;
const AFTER = GIVEN + 60_000;
const event = (type: string, at: number, data: object): DomainEvent =>
  ({ type, subject: 'calls/c1', at, observed: 'live', data }) as unknown as DomainEvent;
const callOf = (at: number, ...extensions: string[]): DomainEvent =>
  event('call.left', at, { call_id: 'c1', extensions });
const conversationOf = (started: number, at: number, ...extensions: string[]): DomainEvent =>
  event('conversation.updated', at, {
    extensions,
    conversation: { started_at: new Date(started).toISOString() },
  });

/** A stream whose callers carry the time since which they hold their extension. */
async function rigOfHolders(t: TestContext): Promise<StreamRig> {
  const keys = {
    one: { scopes: ['calls:read', 'history:read'], extensions: ['1005'] },
    site: { scopes: ['calls:read'] },
  } as const;
  const known = authenticatorWithKeys(keys);
  const rig: StreamRig = await streamRig(t, {
    host: {
      authenticator: {
        authenticate: async (token) => {
          const caller = await known.authenticate(token);
          if (caller === null) return null;
          const since_ms = rig.directory.heldSince?.(caller.extension) ?? 0;
          const known_ms = rig.directory.knownSince?.(caller.person_id) ?? 0;
          return { ...caller, since_ms, known_ms };
        },
      },
    },
  });
  return rig;
}
const commitAll = (rig: StreamRig): void =>
  rig.commit(
    callOf(BEFORE, '1005'),
    conversationOf(BEFORE, BEFORE, '1005'),
    linkDown(),
    callOf(AFTER, '1005'),
    // A recording of the former holder's conversation was stored later.
    conversationOf(BEFORE, AFTER, '1005', '1002'),
    conversationOf(AFTER, AFTER, '1005'),
  );

test('former holder - an old cursor gives a person nothing of the previous holder of the extension', async (t) => {
  const rig = await rigOfHolders(t);
  rig.directory.give('1005', GIVEN);
  commitAll(rig);
  const hears = [
    ['token-user', 'calls/mine,history/mine', [3, 4, 6]],
    ['token-supervisor', 'calls,history', [1, 2, 3, 4, 5, 6]],
    ['token-supervisor', 'history/mine', [3, 5]],
    ['key-one', 'calls,history', [1, 2, 3, 4, 5, 6]],
  ] as const;
  for (const [token, topics, expected] of hears) {
    const client = await rig.open('', { token });
    client.send({ op: 'subscribe', id: 1, topics: topics.split(','), cursor: 0 });
    await client.next('resumed');
    assert.deepEqual(client.seqs(), expected, `${token} ${topics} by WebSocket`);
    const source = await openSse(`${rig.base}/api/v1/events?topics=${topics}&cursor=0`, token);
    await source.next('resumed');
    assert.deepEqual(source.seqs(), expected, `${token} ${topics} by SSE`);
    source.stop();
    const poll = await fetch(`${rig.base}/api/v1/events/poll?topics=${topics}&cursor=0&wait=0`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { events, cursor } = (await poll.json()) as { events: { seq: number }[]; cursor: number };
    assert.deepEqual(
      events.map((one) => one.seq),
      expected,
      `${token} ${topics} by poll`,
    );
    assert.equal(cursor, 6);
  }
});

test('former holder - the snapshot of alerts begins with the holder, at the same position too', async (t) => {
  const rig = await rigOfHolders(t);
  for (const given of [BEFORE, GIVEN]) {
    rig.directory.give('1005', given);
    const client = await rig.open('user');
    client.send({ op: 'subscribe', id: 1, topics: ['alerts'], snapshot: true });
    const { data } = await client.next('snapshot');
    assert.deepEqual(data, { objects: ['1005'], since_ms: given });
  }
});

test('former holder - one more topic with an old cursor, beside topics received already', async (t) => {
  const rig = await rigOfHolders(t);
  rig.directory.give('1005', GIVEN);
  commitAll(rig);
  const client = await rig.open('user');
  client.send({ op: 'subscribe', id: 1, topics: ['presence'] });
  await client.next('subscribed');
  client.send({ op: 'subscribe', id: 2, topics: ['history/mine'], cursor: 0 });
  await client.next('resumed');
  assert.deepEqual(client.seqs(), [3, 6]);
});

test('former holder - live events that add to conversations of the previous holder stay hidden', async (t) => {
  const rig = await rigOfHolders(t);
  rig.directory.give('1005', GIVEN);
  const client = await rig.open('user');
  client.send({ op: 'subscribe', id: 1, topics: ['calls/mine', 'history/mine'] });
  await client.next('subscribed');
  commitAll(rig);
  await until('the last', () => client.seqs().includes(6));
  assert.deepEqual(client.seqs(), [3, 4, 6]);
});

test('former holder - a person that gets another extension, or fewer rights, while connected', async (t) => {
  const rig = await rigOfHolders(t);
  const user = await rig.open('user');
  const supervisor = await rig.open('supervisor');
  for (const client of [user, supervisor]) {
    client.send({ op: 'subscribe', id: 1, topics: ['history/mine'] });
    await client.next('subscribed');
  }
  rig.commit(conversationOf(BEFORE, AFTER, '1005', '1002'));
  await until('both', () => [user, supervisor].every((client) => client.seqs().length === 1));
  rig.directory.give('1006', GIVEN);
  rig.directory.give('1002', GIVEN);
  rig.directory.remove('1006');
  rig.directory.change('1005', { extension: '1006' });
  rig.directory.change('1002', { level: 'user' });
  rig.commit(conversationOf(BEFORE, AFTER, '1006', '1002'), linkDown());
  await until('both', () => [user, supervisor].every((client) => client.seqs().includes(3)));
  assert.deepEqual(
    [user.seqs(), supervisor.seqs()],
    [
      [1, 3],
      [1, 3],
    ],
  );
});

test('former holder - an agent receives nothing of the previous holder of the extension', async (t) => {
  const rig = await rigOfHolders(t);
  rig.directory.give('1003', GIVEN);
  rig.commit({ ...agentReady('1003'), at: BEFORE }, { ...agentReady('1003'), at: AFTER });
  const client = await rig.open('agent');
  client.send({ op: 'subscribe', id: 1, topics: ['agents'], cursor: 0 });
  await client.next('resumed');
  assert.deepEqual(client.seqs(), [2]);
});

test('former holder - the webhook of a person below supervisor', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  rig.directory.give('1001', GIVEN);
  rig.directory.change('1001', { level: 'user' });
  const { webhook } = await rig.create({ url: sink.url, topics: ['calls/mine', 'history/mine'] });
  rig.journal.append([callOf(BEFORE, '1001'), conversationOf(BEFORE, AFTER, '1001'), callOf(AFTER, '1001')]);
  await until('the cursor', () => rig.one(webhook.id).cursor === 3);
  assert.deepEqual(sink.seqs, [3]);
  await rig.webhooks.service.replay(admin, webhook.id, { from: 1, to: 3 });
  await until('the replay', () => rig.one(webhook.id).replay === null);
  assert.deepEqual(sink.seqs, [3, 3]);
  rig.directory.change('1001', { level: 'supervisor' });
  await rig.webhooks.service.replay(admin, webhook.id, { from: 1, to: 3 });
  await until('the replay', () => rig.one(webhook.id).replay === null);
  assert.deepEqual(sink.seqs, [3, 3, 1, 2, 3]);
});

const parkingAt = (at: number): readonly DomainEvent[] =>
  (['parking.slot_occupied', 'parking.slot_freed'] as const).map((type) => event(type, at, { slot: '701' }));

test('parked calls - an old cursor reveals no calls parked before the person existed', async (t) => {
  const rig = await rigOfHolders(t);
  rig.directory.meet('1005', GIVEN);
  // A person that existed before, and received the extension later, could see parked calls all the time.
  rig.directory.meet('1003', BEFORE);
  rig.directory.give('1003', GIVEN);
  rig.commit(...parkingAt(BEFORE), linkDown(), callOf(BEFORE, '1005'), ...parkingAt(AFTER));
  for (const [token, topics, expected] of [
    ['token-user', 'parking', [3, 5, 6]],
    // A call of their own is bounded by the holder, not by the person.
    ['token-user', 'parking,calls/mine', [3, 4, 5, 6]],
    ['token-agent', 'parking', [1, 2, 3, 5, 6]],
    ['token-supervisor', 'parking', [1, 2, 3, 5, 6]],
    ['key-site', 'parking', [1, 2, 3, 5, 6]],
  ] as const) {
    const client = await rig.open('', { token });
    client.send({ op: 'subscribe', id: 1, topics: topics.split(','), cursor: 0 });
    await client.next('resumed');
    assert.deepEqual(client.seqs(), expected, `${token} ${topics}`);
    const poll = await fetch(`${rig.base}/api/v1/events/poll?topics=${topics}&cursor=0&wait=0`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { events } = (await poll.json()) as { events: { seq: number }[] };
    assert.deepEqual(
      events.map((one) => one.seq),
      expected,
      `${token} ${topics} by poll`,
    );
  }
});

test('parked calls - a supervisor that becomes a user gets no old ones; other readers do', async (t) => {
  const rig = await rigOfHolders(t);
  rig.directory.meet('1002', GIVEN);
  rig.commit(...parkingAt(BEFORE), linkDown());
  const [demoted, user] = [await rig.open('supervisor'), await rig.open('user')];
  for (const client of [demoted, user]) {
    client.send({ op: 'subscribe', id: 1, topics: ['parking'] });
    await client.next('subscribed');
  }
  rig.directory.change('1002', { level: 'user' });
  for (const client of [demoted, user]) {
    client.send({ op: 'subscribe', id: 2, topics: ['parking'], cursor: 0 });
    await client.next('resumed');
  }
  rig.commit(...parkingAt(AFTER));
  await until('the live ones', () => [demoted, user].every((client) => client.seqs().includes(5)));
  assert.deepEqual(demoted.seqs(), [3, 4, 5]);
  assert.deepEqual(user.seqs(), [1, 2, 3, 4, 5]);
});

test('parked calls - the webhook of a new person', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  rig.directory.meet('1001', GIVEN);
  rig.directory.change('1001', { level: 'user' });
  rig.journal.append(parkingAt(BEFORE));
  const { webhook } = await rig.create({ url: sink.url, topics: ['parking'] });
  rig.journal.append(parkingAt(AFTER));
  await until('the cursor', () => rig.one(webhook.id).cursor === 4);
  await rig.webhooks.service.replay(admin, webhook.id, { from: 1, to: 4 });
  await until('the replay', () => rig.one(webhook.id).replay === null);
  assert.deepEqual(sink.seqs, [3, 4, 3, 4]);
});
