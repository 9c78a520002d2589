import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentsRig, both, engineRestarts } from '../../../test/support/agents-rig.ts';

test('agents - after a restart of the service the state of the running engine sets the intents', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock } = rig;
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch' });
  const sent = pbx.sent.length;
  await rig.restartService(() => {
    pbx.member('support', '1003', { paused: true, paused_reason: 'break' });
    pbx.leave('sales', '1003');
  });
  pbx.linkUp();
  await clock.advance(0);
  await rig.agents.idle();
  assert.equal(pbx.sent.length, sent);
  engineRestarts(rig);
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1003 break'], []]);
});

test('agents - after a restart of both, the engine wins for dynamic members and the intent for static ones', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock } = rig;
  pbx.member('support', '1003', { membership: 'static' });
  await clock.advance(0);
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch' });
  await act({ action: 'login' }, '1004');
  await clock.advance(10_000);
  await rig.restartService();
  pbx.linkUp({
    restarted: true,
    change() {
      pbx.member('support', '1003', { paused: false, paused_reason: '' });
      pbx.member('sales', '1003', { paused: true, paused_reason: 'break' });
      pbx.leave('support', '1004');
    },
  });
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 break']]);
});

test('agents - at the engine of another leading node all intents are restored, and other members are removed', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock } = rig;
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch' });
  await act({ action: 'login' }, '1004');
  await act({ action: 'logout' }, '1004');
  await clock.advance(10_000);
  const asked = both(rig);
  for (const node of ['b', 'ast1']) {
    await rig.restartService(() => {}, node);
    pbx.linkUp({
      // Both engines may have started in the same second.
      restarted: false,
      change() {
        for (const queue of ['support', 'sales']) pbx.leave(queue, '1003');
        pbx.member('support', '1004', { paused: false, paused_reason: '' });
      },
    });
    await clock.advance(0);
    await rig.agents.idle();
    assert.deepEqual(both(rig), asked);
  }
  assert.deepEqual(asked, [['1003 lunch'], ['1003 lunch']]);
});

test('agents - after a restart of the service each engine is compared by its own boot', async (t) => {
  for (const [restarted, expected] of [
    [false, '1003 break'],
    [true, '1003 lunch'],
  ] as const) {
    const rig = await agentsRig(t);
    const { pbx, act, clock } = rig;
    pbx.home('1003', 'b');
    pbx.otherLinks('b', { change: () => pbx.member('support', '1003', { membership: 'static' }) });
    await clock.advance(0);
    await act({ action: 'pause', reason: 'lunch' });
    await clock.advance(10_000);
    await rig.restartService();
    const paused = { paused: true, paused_reason: 'break', paused_at: clock.now() };
    pbx.linkUp({ restarted: !restarted, change: () => pbx.member('support', '1003', paused) });
    pbx.otherLinks('b', { restarted });
    await clock.advance(0);
    await rig.agents.idle();
    assert.deepEqual(pbx.shows('support'), [expected]);
  }
});

test('agents - members that the engine had no time to store are restored by the service, even after both restarted', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock } = rig;
  await act({ action: 'login' });
  // Settling runs every three seconds; newer members must not be settled by the same run.
  await clock.advance(2_900);
  await act({ action: 'pause', queue: 'support', reason: 'lunch' });
  await clock.advance(200);
  await rig.restartService();
  pbx.linkUp({
    restarted: true,
    change() {
      pbx.member('support', '1003', { paused: false, paused_reason: '' });
      pbx.leave('sales', '1003');
    },
  });
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], []]);
});

test('agents - the first members are added once for each site', async (t) => {
  const rig = await agentsRig(t, { up: false });
  const { pbx, clock, act } = rig;
  const seed = [
    { extension: '1003', queue: 'support' },
    { extension: '1003', queue: 'sales' },
    { extension: '1004', queue: 'support' },
  ];
  await rig.agents.ensureSeedMembers(seed);
  assert.equal(pbx.sent.length, 0, 'the engine is not connected yet');
  await rig.restartService();
  await rig.agents.ensureSeedMembers(seed);
  pbx.linkUp();
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1003 ready', '1004 ready'], ['1003 ready']]);
  await act({ action: 'logout' });
  await clock.advance(10_000);
  await rig.restartService();
  await rig.agents.ensureSeedMembers([...seed, { extension: '1004', queue: 'sales' }]);
  pbx.linkUp();
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1004 ready'], []]);
});

test('agents - members can be seeded after the engine connected, also if the service dies in between', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, clock } = rig;
  pbx.script(() => ({ refuse: 'not now' }));
  await rig.agents.ensureSeedMembers([{ extension: '1003', queue: 'support' }]);
  await clock.advance(0);
  assert.deepEqual(pbx.shows('support'), []);
  await rig.restartService();
  pbx.script(() => 'ok');
  pbx.linkUp();
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 ready']);
});

test('agents - the next service finishes an interrupted restoration', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock } = rig;
  await act({ action: 'login', queue: 'support' });
  await clock.advance(10_000);
  pbx.script((s) => (s.verb === 'pause' ? 'hang' : 'ok'));
  engineRestarts(rig);
  await clock.advance(0);
  assert.deepEqual(pbx.shows('support'), ['1003 login']);
  const closing = rig.restartService();
  await clock.advance(10_000);
  await closing;
  pbx.script(() => 'ok');
  pbx.linkUp();
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 ready']);
});

test('agents - while the disk is full the intents wait in memory', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, refuse } = rig;
  await act({ action: 'login' });
  refuse.store = true;
  pbx.member('support', '1003', { paused: true, paused_reason: 'break' });
  await clock.advance(30_000);
  refuse.store = false;
  await clock.advance(30_000);
  await rig.restartService();
  pbx.linkUp({
    restarted: true,
    change: () => pbx.member('support', '1003', { membership: 'static', paused: false, paused_reason: '' }),
  });
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 break']);
});

test('agents - an intent that the store refused is stored by the next request', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, fails, refuse, clock } = rig;
  pbx.holdEvents(true);
  pbx.member('support', '1003', { membership: 'static', paused: true, paused_reason: 'lunch' });
  refuse.store = true;
  assert.equal((await fails({ action: 'pause', reason: 'lunch' })).code, 'store_unavailable');
  refuse.store = false;
  assert.equal((await act({ action: 'pause', reason: 'lunch' })).is_paused, true);
  assert.equal(pbx.sent.length, 0, 'the engine already has this state');
  await rig.restartService();
  pbx.linkUp({
    restarted: true,
    change: () => pbx.member('support', '1003', { paused: false, paused_reason: '' }),
  });
  pbx.holdEvents(false);
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 lunch']);
});
