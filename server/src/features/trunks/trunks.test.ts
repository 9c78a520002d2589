import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from '../../pbx/model.ts';
import { Scene, node, site } from '../../../test/support/model-scene.ts';
import { trunkStates, trunkTroubles } from './service.ts';

test('trunks - reached or not, since then only, with the calls over each; the last state while the engine is away', () => {
  const model = createModel();
  const trunk = (name: string, enabled = true) => ({
    name,
    title: name.toUpperCase(),
    endpoint: `trunk-${name}`,
    enabled,
    max_calls: null,
  });
  const trunks = [trunk('south'), trunk('north'), trunk('off', false)];
  const known = trunks.filter(({ enabled }) => enabled).map((one) => ({ ...one, registers: false }));
  const scene = new Scene({ model, site: { ...site(['1003']), trunks: known } });
  const contact = (endpoint: string, reachable: boolean) =>
    scene.send({ type: 'trunk.contact', endpoint, server: 'far:5060', reachable, round_trip_ms: null });
  const deps = { trunks: () => trunks, live: model.view };
  const states = () => trunkStates(deps).map((t) => [t.name, t.reachable, t.calls]);
  const since = () => trunkStates(deps)[0]!.since;
  assert.deepEqual(states(), [
    ['north', null, 0],
    ['off', null, 0],
    ['south', null, 0],
  ]);
  contact('trunk-north', false);
  contact('trunk-south', true);
  contact('trunk-off', true);
  assert.deepEqual(states(), [
    ['north', false, 0],
    ['off', null, 0],
    ['south', true, 0],
  ]);
  const away = since();
  assert.deepEqual(trunkTroubles(deps), [`no answer: NORTH, since ${away}`]);
  contact('trunk-north', false);
  assert.equal(since(), away, 'still not reached');
  contact('trunk-north', true);
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
  assert.equal(trunkStates(deps)[0]?.state, 'reachable');
});
