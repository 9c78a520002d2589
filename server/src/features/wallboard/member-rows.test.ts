import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scene, checkpointOf, member, snapshot } from '../../../test/support/model-scene.ts';
import { createModel } from '../../pbx/model.ts';
import type { LiveView } from '../../ports/live.ts';
import { agentsByState } from './live.ts';

test('wallboard - two rows of an agent in one queue are one membership', () => {
  const scene = new Scene();
  const own = { interface: 'phone/1002' };
  scene.member('support', '1002');
  scene.member('support', '1002', own);
  assert.deepEqual(agentsByState(scene.view as LiveView, 'support').logged_in, 1);
  const told = (events = scene.published) =>
    events.map((e) => e.type).filter((type) => /^agent\.logged_(in|out)$/.test(type));
  assert.deepEqual(told(), ['agent.logged_in']);
  scene.model.committed(scene.published);
  const model = createModel();
  model.restore(checkpointOf(scene.model), []);
  const members = [member('support', '1002'), member('support', '1002', own)];
  const after = new Scene({ model, empty: true });
  const queues = [{ name: 'support', strategy: '', members, callers: [] }];
  assert.deepEqual(told([...after.snapshot({ ...snapshot(), queues }, 'connect')]), []);

  const leave = (iface: string) =>
    scene.send({ type: 'queue.member_removed', queue: 'support', interface: iface });
  assert.deepEqual(told([...leave(own.interface)]), []);
  assert.equal(scene.view.agent('1002')?.summary.session, 'logged_in');
  assert.deepEqual(told([...leave(member('support', '1002').interface)]), ['agent.logged_out']);
});
