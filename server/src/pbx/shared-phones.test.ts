import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scene, channel, checkpointOf, site } from '../../test/support/model-scene.ts';
import { createModel } from './model.ts';

const SITE = { ...site(), shared_phones: [{ name: 'lobby', endpoint: 'desk_1' }] };

test('pbx shared phones - after a restart of the service a leg at a shared phone has its person', () => {
  const scene = new Scene({ site: SITE });
  const signed = (extension: string) => ({ extension, since: scene.at });
  scene.send({ type: 'phone.signed', endpoint: 'desk_1', now: signed('1001'), by: 'code' });
  scene.created('1', { endpoint: 'desk_1', state: 'up' });
  const people = ({ view }: Scene) => view.calls().flatMap(({ legs }) => legs.map((leg) => leg.extension));
  assert.deepEqual(people(scene), ['1001']);
  scene.model.committed(scene.published.splice(0));
  const model = createModel();
  model.restore(checkpointOf(scene.model), []);
  const after = new Scene({ model, empty: true, site: SITE });
  const channels = ['1', '2'].map((id) => channel(id, { endpoint: 'desk_1', state: 'up' }));
  after.snapshot({ channels, signed: new Map([['desk_1', signed('1002')]]) }, 'connect');
  assert.deepEqual(people(after), ['1001', '1002'], 'the second one began during the stop');
});
