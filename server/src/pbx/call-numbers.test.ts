import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scene, call, chan, channel, checkpointOf } from '../../test/support/model-scene.ts';
import { createModel } from './model.ts';

/** The scene after a restart of the service. */
function restarted(before: Scene, by: 'checkpoint' | 'events'): Scene {
  before.model.committed(before.published);
  const model = createModel();
  if (by === 'events') model.restore(null, before.published);
  else model.restore(checkpointOf(before.model), []);
  return new Scene({ model, empty: true });
}
const shown = ({ view }: Scene) => view.calls().map(({ dialled, numbers }) => [dialled, numbers]);

test('pbx calls - a call has all numbers that it was begun, joined or transferred to, also after a restart of the service', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  for (const id of ['1', '2']) scene.enter('b', id);
  scene.created('5', { endpoint: '1002', dialled: '112' });
  scene.created('6', { endpoint: 'trunk', of: '5' });
  for (const id of ['5', '6']) scene.enter('c', id);
  scene.send({
    type: 'transfer.attended',
    first: chan('2'),
    second: chan('5'),
    first_call: call('1'),
    second_call: call('5'),
    to: '112',
    succeeded: true,
  });
  for (const id of ['2', '5']) scene.hangup(id);
  scene.send({ type: 'transfer.blind', by: chan('6'), transferee: chan('1'), to: '1003', succeeded: true });
  const numbers = [['1002', ['1002', '112', '1003']]];
  assert.deepEqual(shown(scene), numbers);
  for (const by of ['checkpoint', 'events'] as const) {
    const after = restarted(scene, by);
    // The engine has the number of the newest transfer.
    after.snapshot({ channels: [channel('1', { endpoint: '1001', dialled: '1003' })] }, 'connect');
    assert.deepEqual(shown(after), numbers, by);
  }
});

test('pbx calls - a call that the service placed has the number it is placed to', () => {
  const scene = new Scene();
  for (const [id, dialled] of [
    ['8', '112'],
    ['9', ''],
  ] as const)
    scene.created(id, { of: '8', kind: 'local', pair: 'p', dialled });
  scene.created('1', { endpoint: '1001', of: '8' });
  assert.deepEqual(shown(scene), [['112', ['112']]]);
});
