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
  const keys = { one: { scopes: ['calls:read', 'history:read'], extensions: ['1005'] } } as const;
  const known = authenticatorWithKeys(keys);
  const rig: StreamRig = await streamRig(t, {
    host: {
      authenticator: {
        authenticate: async (token) => {
          const caller = await known.authenticate(token);
          const since_ms = rig.directory.heldSince?.(caller?.extension ?? '') ?? 0;
          return caller === null ? null : { ...caller, since_ms };
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

test('former holder - an old cursor brings a person nothing of who had the extension before', async (t) => {
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

test('former holder - one more topic with an old cursor, beside what is heard already', async (t) => {
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

test('former holder - live, what is added to their conversations stays theirs', async (t) => {
  const rig = await rigOfHolders(t);
  rig.directory.give('1005', GIVEN);
  const client = await rig.open('user');
  client.send({ op: 'subscribe', id: 1, topics: ['calls/mine', 'history/mine'] });
  await client.next('subscribed');
  commitAll(rig);
  await until('the last', () => client.seqs().includes(6));
  assert.deepEqual(client.seqs(), [3, 4, 6]);
});

test('former holder - who is given another extension, or less rights, while connected', async (t) => {
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

test('former holder - an agent hears nothing of the agent who had the extension before', async (t) => {
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
  await rig.webhooks.replay(admin, webhook.id, { from: 1, to: 3 });
  await until('the replay', () => rig.one(webhook.id).replay === null);
  assert.deepEqual(sink.seqs, [3, 3]);
  rig.directory.change('1001', { level: 'supervisor' });
  await rig.webhooks.replay(admin, webhook.id, { from: 1, to: 3 });
  await until('the replay', () => rig.one(webhook.id).replay === null);
  assert.deepEqual(sink.seqs, [3, 3, 1, 2, 3]);
});
