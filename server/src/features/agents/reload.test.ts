import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { agentsRig, both } from '../../../test/support/agents-rig.ts';

/** A paused agent whose queue was removed and added again during a reload, which `release` ends. */
async function queueAddedAgain(t: TestContext) {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch' });
  const release = await agents.hold();
  pbx.dropQueue('sales');
  await clock.advance(0);
  pbx.addQueue('sales');
  pbx.linkDown();
  pbx.linkUp();
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], []], 'no member is restored while the files may still change');
  return { rig, release };
}

test('agents - a queue removed and added again by a reload has its members and pauses', async (t) => {
  const { rig, release } = await queueAddedAgain(t);
  const { pbx, clock, agents } = rig;
  release();
  pbx.linkDown();
  pbx.linkUp();
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 lunch']]);
});

test('agents - members are restored after a reload although the snapshots after it emit no event', async (t) => {
  const { rig, release } = await queueAddedAgain(t);
  const { clock, agents } = rig;
  release();
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 lunch']]);
});

test('agents - if the service dies during a reload, the next one restores the members', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock } = rig;
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch' });
  await rig.agents.hold();
  await rig.killService(() => {
    pbx.dropQueue('sales');
    pbx.addQueue('sales');
  });
  pbx.linkUp();
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 lunch']]);
});

test('agents - once members are restored, the state of the engine sets the intents again', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  (await agents.hold())();
  for (let n = 0; n < 2; n += 1) {
    pbx.linkDown();
    pbx.linkUp();
    await clock.advance(0);
    await agents.idle();
  }
  pbx.linkDown();
  pbx.linkUp({ change: () => pbx.leave('sales', '1003') });
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 ready'], []]);
});

test('agents - an agent that no longer works in a queue is removed, and stays out when the queue returns there', async (t) => {
  const rig = await agentsRig(t);
  const { act, clock, agents, directory } = rig;
  await act({ action: 'login' });
  const queues = directory.queues();
  directory.setQueues(
    queues.map((q) => (q.name === 'sales' ? { ...q, agents: q.agents.filter((e) => e !== '1003') } : q)),
  );
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 ready'], []]);
  directory.setQueues(queues);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 ready'], []]);
});
