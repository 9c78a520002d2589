/** Disposition of the customer of an outgoing call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelState } from '../ports/engine-state.ts';
import { Scene, call, chan } from '../../test/support/model-scene.ts';
import { wireCall } from './wire-call.ts';

/** Disposition of the customer in the end of each call. */
const customers = ({ published }: Scene): (string | undefined)[] =>
  published.flatMap((e) => (e.type === 'call.ended' ? [e.data.customer_disposition] : []));
/** 1001 calls an outside number; `plays` plays the customer's leg. */
function outside(plays: (scene: Scene) => void): Scene {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '0305550' });
  scene.created('2', { endpoint: 'trunk', of: '1' });
  plays(scene);
  scene.hangup('2', 0);
  scene.hangup('1');
  return scene;
}

test('pbx customer - the end of an outgoing call has the customer’s disposition, whether it rang or not', () => {
  const declines = (cause: number, ...states: ChannelState[]) =>
    outside((scene) => {
      for (const state of states) scene.state('2', state);
      scene.send({ type: 'channel.ending', id: chan('2') });
      scene.hangup('2', cause);
    });
  const dialEnds = (status: string) =>
    outside((scene) => {
      scene.state('2', 'ringing');
      scene.send({ type: 'dial.ended', from: chan('1'), to: chan('2'), status });
    });
  for (const [scene, expected] of [
    [declines(17, 'ringing'), 'busy'],
    [declines(17), 'busy'],
    [declines(21, 'ringing'), 'rejected'],
    [declines(1), 'failed'],
    [declines(20), 'unreachable'],
    [declines(16, 'ringing', 'up'), 'answered'],
    [dialEnds('NOANSWER'), 'no_answer'],
    [dialEnds('CANCEL'), 'cancelled_by_caller'],
  ] as const)
    assert.deepEqual(customers(scene), [expected]);
});

test('pbx customer - of several trunks tried, the weightiest end counts; other calls have none', () => {
  const tried = outside((scene) => {
    scene.send({ type: 'channel.ending', id: chan('2') });
    scene.hangup('2', 34);
    scene.created('3', { endpoint: 'trunk', of: '1' });
    scene.state('3', 'ringing');
    scene.send({ type: 'channel.ending', id: chan('3') });
    scene.hangup('3', 17);
  });
  assert.deepEqual(customers(tried), ['busy']);
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.hangup('2');
  scene.hangup('1');
  scene.created('5', { endpoint: 'trunk', dialled: '1002' });
  scene.created('6', { endpoint: '1002', of: '5' });
  scene.state('6', 'ringing');
  scene.hangup('6');
  scene.hangup('5');
  assert.deepEqual(customers(scene), [undefined, undefined]);
});

test('pbx customer - two calls become one: an end before counts, one in a call that came in does not', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '0305550' });
  scene.created('2', { endpoint: 'trunk', of: '1' });
  scene.created('3', { endpoint: '1001', dialled: '0305551' });
  scene.created('4', { endpoint: 'trunk', of: '3' });
  scene.send({ type: 'channel.ending', id: chan('4') });
  scene.hangup('4', 17);
  scene.send({ type: 'channel.linked', id: chan('3'), call: call('1') });
  scene.send({ type: 'channel.ending', id: chan('2') });
  scene.hangup('2', 21);
  scene.hangup('1');
  scene.hangup('3');
  assert.deepEqual(customers(scene), [undefined, 'busy'], 'the call that was joined into the other has none');
  scene.created('5', { endpoint: 'trunk', dialled: '1002' });
  scene.created('6', { endpoint: '1002', of: '5' });
  scene.created('7', { endpoint: 'trunk', of: '5' });
  scene.send({ type: 'channel.ending', id: chan('7') });
  scene.hangup('7', 17);
  scene.hangup('6');
  scene.hangup('5');
  assert.equal(customers(scene)[2], undefined);
});

test('pbx customer - a live call shows the disposition of its end from the first decision on', () => {
  const shown = (scene: Scene) => scene.view.calls().map((one) => wireCall(one).customer_disposition);
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '0305550' });
  scene.created('2', { endpoint: 'trunk', of: '1' });
  scene.state('2', 'ringing');
  assert.deepEqual(shown(scene), [undefined], 'nothing is decided');
  scene.send({ type: 'channel.ending', id: chan('2') });
  scene.hangup('2', 17);
  assert.deepEqual(shown(scene), ['busy'], 'the first trunk');
  scene.created('3', { endpoint: 'trunk', of: '1' });
  scene.state('3', 'ringing');
  assert.deepEqual(shown(scene), ['busy']);
  scene.state('3', 'up');
  assert.deepEqual(shown(scene), ['answered']);
  scene.hangup('3');
  assert.deepEqual(shown(scene), ['answered'], 'after the customer hung up');
  scene.hangup('1');
  assert.deepEqual(customers(scene), ['answered']);
  scene.created('5', { endpoint: 'trunk', state: 'up', dialled: '1002' });
  scene.created('6', { endpoint: '1002', of: '5', state: 'up' });
  assert.deepEqual(shown(scene), [undefined], 'a call that came in');
});
