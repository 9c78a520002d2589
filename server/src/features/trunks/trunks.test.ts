import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from '../../pbx/model.ts';
import { Scene, node, site } from '../../../test/support/model-scene.ts';
import { trunkStates } from './service.ts';

test('trunks - reached or not, since then only, with the calls over each; nothing is said while the engine is away', () => {
  const model = createModel();
  const scene = new Scene({ model, site: site(['1003']) });
  const trunk = (name: string, enabled = true) => ({
    name,
    title: name.toUpperCase(),
    endpoint: `trunk-${name}`,
    enabled,
    max_calls: null,
  });
  const trunks = [trunk('south'), trunk('north'), trunk('off', false)];
  const states = () =>
    trunkStates({ trunks: () => trunks, live: model.view }).map((t) => [t.name, t.reachable, t.calls]);
  const since = () => trunkStates({ trunks: () => trunks, live: model.view })[0]!.since;
  assert.deepEqual(states(), [
    ['north', null, 0],
    ['off', null, 0],
    ['south', null, 0],
  ]);
  scene.device('trunk-north', 'UNAVAILABLE');
  scene.device('trunk-south', 'NOT_INUSE');
  scene.device('trunk-off', 'NOT_INUSE');
  assert.deepEqual(states(), [
    ['north', false, 0],
    ['off', null, 0],
    ['south', true, 0],
  ]);
  const away = since();
  scene.device('trunk-north', 'INVALID');
  assert.equal(since(), away, 'still not reached');
  scene.device('trunk-north', 'NOT_INUSE');
  const reached = since();
  assert.ok(Date.parse(reached!) > Date.parse(away!));
  scene.created('1', { endpoint: 'trunk-north', dialled: '1003' });
  scene.created('2', { endpoint: '1003', of: '1' });
  scene.created('3', { endpoint: 'trunk-north', dialled: '1003' });
  scene.device('trunk-north', 'INUSE');
  assert.deepEqual(states()[0], ['north', true, 2]);
  assert.equal(since(), reached, 'a call is no news of whether it is reached');
  scene.hangup('3');
  assert.deepEqual(states()[0], ['north', true, 1]);
  scene.send({ type: 'engine.link', node, up: false, reason: 'cut', boot_id: 'boot-1' });
  assert.deepEqual(states()[0]?.slice(0, 2), ['north', null]);
});
