import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentReady, linkDown, offer, presence, streamRig } from '../../test/support/stream-rig.ts';

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
  assert.deepEqual(await client.next('subscribed'), {
    op: 'subscribed',
    id: 7,
    topics: ['presence'],
    cursor: 2,
  });
  const snapshot = await client.next('snapshot');
  assert.equal(snapshot.cursor, 2);
  assert.deepEqual(snapshot.data, Object.fromEntries(rig.states));
  rig.commit(presence('1005', 'after'), offer('support', '1003'), presence('1006'));
  rig.commit(agentReady('1003'), linkDown());
  const event = await client.next('event');
  assert.equal(event.prev, 2);
  assert.equal(event.event.id, `${rig.journal.epoch}:3`);
  assert.deepEqual(event.event, JSON.parse(rig.journal.read(2, 1)[0]!.json));
  await client.next('event');
  await client.next('event');
  assert.deepEqual(client.seqs(), [3, 5, 7], 'what is not the subscription’s, and the link’s state');
});
