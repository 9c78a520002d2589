/** A transfer that is completed while its second call waits in a queue. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Scene,
  call,
  chan,
  channel,
  checkpointOf,
  member,
  snapshot,
  types,
} from '../../test/support/model-scene.ts';
import { createModel } from './model.ts';

const RING = {
  queue: 'support',
  interface: 'Local/1003@queue-agent',
  agent: chan('l'),
};
/** 1002 talks to `a`, waits in support by its second channel `2` while 1003 rings, and joins the calls. */
function passedOn(scene: Scene): void {
  scene.member('support', '1003');
  scene.created('a', { endpoint: 'trunk', caller: { number: '0305550', name: 'Ann' }, dialled: '1002' });
  scene.created('b', { endpoint: '1002', of: 'a' });
  scene.state('b', 'up');
  scene.state('a', 'up');
  scene.enter('x', 'b');
  scene.enter('x', 'a');
  scene.created('2', { endpoint: '1002', dialled: '500' });
  scene.state('2', 'up');
  scene.send({
    type: 'queue.caller_joined',
    caller: { queue: 'support', channel: chan('2'), position: 1, joined_at: scene.at + 1000, priority: null },
  });
  scene.created('l', { kind: 'local', pair: 'l', of: '2' });
  scene.send({ type: 'offer.created', ...RING, caller: chan('2') });
  scene.created('d', { endpoint: '1003', of: '2' });
  scene.state('d', 'ringing');
  scene.send({
    type: 'transfer.attended',
    first: chan('b'),
    first_call: call('a'),
    second: chan('2'),
    second_call: call('2'),
    transferee: chan('a'),
    to: '',
    succeeded: true,
  });
  scene.leave('x', 'a');
  scene.hangup('2');
  scene.hangup('b');
}
const ofQueue = (scene: Scene) => scene.published.filter((e) => /^(queue|offer)\./.test(e.type));
const ANN = { number: '0305550', name: 'Ann' };

test('pbx queue places - the transferee waits in the place of the second call; its agent answers one visit and one offer', () => {
  const scene = new Scene();
  passedOn(scene);
  assert.deepEqual(
    scene.view.queue('support')?.callers.map((c) => [c.channel, c.leg, c.call, c.party, c.position]),
    [[chan('a'), chan('2'), call('a'), ANN, 1]],
  );
  assert.equal(scene.view.calls()[0]?.legs.find((l) => l.id === chan('a'))?.state, 'queued');
  assert.equal(scene.view.agent('1003')?.summary.engagement, 'offered');
  const at = { ...RING, caller: chan('a') };
  scene.send({ type: 'dial.ended', from: chan('a'), to: chan('l'), status: 'ANSWER' });
  scene.send({ type: 'queue.caller_left', queue: 'support', channel: chan('a') });
  scene.send({ type: 'offer.accepted', ...at, hold_seconds: 7, ring_seconds: 3 });
  assert.deepEqual(types(ofQueue(scene)), [
    'queue.caller_joined',
    'offer.created',
    'queue.caller_changed',
    'queue.caller_left',
    'offer.accepted',
  ]);
  const [joined, created, changed, left, accepted] = ofQueue(scene).map((e) => e.data as never) as {
    leg_id: string;
    call_id: string;
    caller: object;
    offer_id: string;
    reason: string;
  }[];
  assert.deepEqual([changed?.leg_id, left?.leg_id], [joined?.leg_id, joined?.leg_id]);
  assert.deepEqual([changed?.caller, left?.caller, left?.call_id], [ANN, ANN, call('a')]);
  assert.equal(left?.reason, 'answered');
  assert.equal(accepted?.offer_id, created?.offer_id);
  assert.deepEqual(
    [scene.view.agent('1003')?.summary.engagement, scene.view.agent('1003')?.summary.call_id],
    ['talking', call('a')],
  );
});

test('pbx queue places - the transferee gives up: its visit is abandoned, the offer canceled', () => {
  const scene = new Scene();
  passedOn(scene);
  scene.send({ type: 'channel.ending', id: chan('a') });
  const gone = { queue: 'support', channel: chan('a') };
  scene.send({ type: 'queue.caller_abandoned', ...gone, hold_seconds: 1, position: 1 });
  scene.send({ type: 'queue.caller_left', ...gone });
  scene.hangup('a');
  assert.deepEqual(types(ofQueue(scene)).slice(3), ['queue.caller_abandoned', 'offer.canceled']);
});

test('pbx queue places - a restart of the service finds the visit of the transferee and the offer that rings', () => {
  const scene = new Scene();
  passedOn(scene);
  const model = createModel();
  scene.model.committed(scene.published);
  model.restore(checkpointOf(scene.model), []);
  const after = new Scene({ model, empty: true });
  after.at = scene.at;
  const published = after.snapshot(
    {
      ...snapshot(),
      channels: [
        channel('a', { endpoint: 'trunk', state: 'up', caller: ANN }),
        channel('l', { kind: 'local', pair: 'l', of: 'a' }),
        channel('d', { endpoint: '1003', state: 'ringing', of: 'a' }),
      ],
      queues: [
        {
          name: 'support',
          strategy: 'ringall',
          members: [member('support', '1003')],
          callers: [{ queue: 'support', channel: chan('a'), position: 1, joined_at: 0, priority: null }],
        },
      ],
    },
    'connect',
  );
  assert.deepEqual(
    types(published).filter((type) => /^(queue|offer)\./.test(type)),
    [],
  );
  assert.deepEqual(
    model.view.queue('support')?.callers.map((c) => [c.leg, c.party]),
    [[chan('2'), ANN]],
  );
  after.send({ type: 'queue.caller_left', queue: 'support', channel: chan('a') });
  after.send({ type: 'offer.accepted', ...RING, caller: chan('a'), hold_seconds: 7, ring_seconds: 3 });
  const offerOf = ({ published: all }: Scene, type: string) =>
    all.flatMap((e) => (e.type === type ? [(e.data as { offer_id: string }).offer_id] : []));
  assert.equal(offerOf(scene, 'offer.created').length, 1);
  assert.deepEqual(offerOf(after, 'offer.created'), []);
  assert.deepEqual(offerOf(after, 'offer.accepted'), offerOf(scene, 'offer.created'));
  assert.equal(model.view.agent('1003')?.summary.engagement, 'talking');
});
