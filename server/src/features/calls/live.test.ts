import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallReply, CallsReply } from '@offhook/contract/calls.ts';
import { call, chan } from '../../../test/support/model-scene.ts';
import { queuesRig } from '../../../test/support/queues-rig.ts';

/** 1001 calls 1002 on two devices, 1005 waits in support, and a trunk reaches 1003. */
async function rigWithCalls(t: Parameters<typeof queuesRig>[0]) {
  const rig = await queuesRig(t, {
    keys: {
      desk: { scopes: ['calls:read'], extensions: ['1002'] },
      blind: { scopes: ['queues:read'] },
    },
  });
  const { scene } = rig;
  scene.created('1', { endpoint: '1001', state: 'dialing', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.created('3', { endpoint: '1002-web', of: '1' });
  scene.state('2', 'ringing');
  scene.state('3', 'ringing');
  rig.waits('4');
  scene.created('5', { endpoint: 'trunk', dialled: '1003' });
  scene.created('6', { endpoint: '1003', of: '5' });
  return rig;
}

test('calls live - every call with its state, parties and legs', async (t) => {
  const { request, scene, liveCalls } = await rigWithCalls(t);
  const { body } = await request('token-supervisor', 'GET', '/calls');
  const { calls, stale } = CallsReply.parse(body);
  assert.equal(stale, false);
  assert.deepEqual(
    calls.map((c) => [c.call_id, c.state, c.direction, c.dialled, c.answered_at]),
    [
      [call('1'), 'alerting', 'internal', '1002', null],
      [call('4'), 'queued', 'in', '', null],
      [call('5'), 'initiated', 'in', '1003', null],
    ],
  );
  assert.deepEqual(
    calls[0]?.parties.map((p) => [p.extension, p.name]),
    [
      ['1001', 'Person 1001'],
      ['1002', 'Person 1002'],
    ],
    'two devices are one party',
  );
  assert.deepEqual(
    calls[0]?.legs.map((l) => [l.leg_id, l.endpoint, l.state]),
    [
      [chan('1'), '1001', 'initiated'],
      [chan('2'), '1002', 'alerting'],
      [chan('3'), '1002-web', 'alerting'],
    ],
  );
  assert.equal(calls[1]?.legs[0]?.queue, 'support');
  scene.hangup('3');
  scene.state('2', 'up');
  scene.state('1', 'up');
  scene.enter('b', '2');
  scene.enter('b', '1');
  const one = () => liveCalls.snapshot(null, 0) as { calls: { state: string; legs: { held: boolean }[] }[] };
  scene.created('7', { endpoint: '1004', of: '1' });
  scene.state('7', 'ringing');
  assert.equal(one().calls[0]?.state, 'connected', 'somebody rings who is to join them');
  scene.hangup('7');
  scene.send({ type: 'channel.held', id: chan('2'), held: true });
  assert.equal(one().calls[0]?.state, 'held');
  assert.deepEqual(
    one().calls[0]?.legs.map((l) => l.held),
    [false, true],
  );
});

test('calls live - a person reads the own calls, a key those of its extensions, a supervisor all', async (t) => {
  const { request, scene, liveCalls } = await rigWithCalls(t);
  const ids = async (token: string) => {
    const { status, body } = await request(token, 'GET', '/calls');
    return status === 200 ? CallsReply.parse(body).calls.map((c) => c.call_id) : status;
  };
  // The fixture's agent is 1003, its user 1005.
  assert.deepEqual(await ids('token-agent'), [call('5')]);
  assert.deepEqual(await ids('token-user'), []);
  assert.deepEqual(await ids('key-desk'), [call('1')]);
  assert.equal(await ids('key-blind'), 403);
  assert.deepEqual(
    (liveCalls.snapshot(['1001', '1003'], 0) as { calls: { call_id: string }[] }).calls.map((c) => c.call_id),
    [call('1'), call('5')],
  );
  scene.hangup('6');
  assert.deepEqual(await ids('token-agent'), [call('5')], 'also after the own leg is gone, as its events');
});

test('calls live - one call by its id and by that of a call joined into it; none that may not be seen', async (t) => {
  const { request, scene } = await rigWithCalls(t);
  scene.send({ type: 'channel.linked', id: chan('6'), call: call('1') });
  const { body } = await request('token-agent', 'GET', `/calls/${call('5')}`);
  assert.equal(CallReply.parse(body).call.call_id, call('1'));
  for (const [token, id, status, code] of [
    ['token-user', call('1'), 404, 'not_found'],
    ['token-user', call('99'), 404, 'not_found'],
    ['token-user', 'nocolon', 400, 'invalid_request'],
    ['token-user', 'ast1:a%20b', 400, 'invalid_request'],
    ['token-user', 'ast1:a%22b', 400, 'invalid_request'],
  ] as const) {
    const answer = await request(token, 'GET', `/calls/${id}`);
    assert.deepEqual([answer.status, answer.body.code], [status, code], id);
  }
});
