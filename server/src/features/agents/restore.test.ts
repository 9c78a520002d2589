import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentsRig, both, engineRestarts } from '../../../test/support/agents-rig.ts';
import { rfc3339 } from '../../core/clock.ts';

for (const options of [{}, { resyncedFirst: true }]) {
  test(`agents - memberships and pauses are restored after the engine died ${JSON.stringify(options)}`, async (t) => {
    const rig = await agentsRig(t);
    const { pbx, act, clock, agents } = rig;
    await act({ action: 'login' });
    await act({ action: 'pause', reason: 'lunch' });
    await act({ action: 'login' }, '1004');
    const { pause_start } = await act({ action: 'status' });
    await clock.advance(60_000);
    const sent = pbx.sent.length;
    engineRestarts(rig, {}, options);
    await clock.advance(0);
    await agents.idle();
    assert.deepEqual(both(rig), [['1003 lunch', '1004 ready'], ['1003 lunch']]);
    const later = pbx.sent.slice(sent).map((s) => `${s.verb} ${s.interface.slice(6, 10)} ${s.queue}`);
    assert.deepEqual(later.toSorted(), [
      'add 1003 sales',
      'add 1003 support',
      'add 1004 support',
      'pause 1004 support',
    ]);
    assert.ok(
      pbx.sent.slice(sent).every((s) => s.verb !== 'add' || s.paused),
      'nobody rings before it is ready',
    );
    assert.equal((await act({ action: 'status' })).pause_start, pause_start, 'the start of the pause stays');
    const done = pbx.sent.length;
    pbx.linkDown();
    pbx.linkUp();
    await clock.advance(60_000);
    await agents.idle();
    assert.equal(pbx.sent.length, done, 'nothing is left to do');
  });
}

test('agents - a pause dialled after a restoration begins when it is dialled, and is the agent’s own', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  await rig.run('1002', 'agents.pause', { extension: '1003', reason: 'lunch' });
  await clock.advance(60_000);
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 lunch']]);
  const dials = async (fields: object): Promise<void> => {
    await clock.advance(3_600_000);
    for (const queue of ['support', 'sales']) pbx.member(queue, '1003', fields);
  };
  await dials({ paused: false, paused_reason: '' });
  await dials({ paused: true, paused_reason: 'lunch', paused_at: clock.now() });
  const { agent, pause_start } = await act({ action: 'status' });
  assert.deepEqual([pause_start, agent.readiness.source], [rfc3339(clock.now()), 'agent']);
});

test('agents - a static member is paused again after a restart, and a stale pause of the engine ends', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  pbx.member('support', '1003', { membership: 'static' });
  await clock.advance(0);
  await act({ action: 'pause', reason: 'meeting' });
  await act({ action: 'login' }, '1004');
  engineRestarts(rig, { 'support/1004': 'lunch' });
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 meeting', '1004 ready']);
});

test('agents - a member that the engine restored wrongly is removed', async (t) => {
  const rig = await agentsRig(t);
  const { act, clock, agents } = rig;
  await act({ action: 'login' });
  await act({ action: 'logout', queue: 'sales' });
  rig.pbx.linkDown();
  rig.pbx.linkUp({ restarted: true, change: () => rig.pbx.member('sales', '1003') });
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 ready'], []]);
});

test('agents - changes dialled on the phone are restored', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  await act({ action: 'login' }, '1004');
  for (const [change, expected] of [
    [
      () => pbx.member('support', '1003', { paused: true, paused_reason: 'break' }),
      [['1003 break', '1004 ready'], ['1003 ready']],
    ],
    [
      () => pbx.member('support', '1003', { paused: false, paused_reason: '' }),
      [['1003 ready', '1004 ready'], ['1003 ready']],
    ],
    [() => pbx.leave('sales', '1003'), [['1003 ready', '1004 ready'], []]],
    [() => pbx.member('sales', '1003'), [['1003 ready', '1004 ready'], ['1003 ready']]],
  ] as const) {
    change();
    await clock.advance(0);
    engineRestarts(rig);
    await clock.advance(0);
    await agents.idle();
    assert.deepEqual(both(rig), expected);
  }
});

test('agents - changes made while the link was cut count if the engine did not restart', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  pbx.linkDown();
  const sent = pbx.sent.length;
  pbx.linkUp({
    change() {
      pbx.leave('sales', '1003');
      pbx.member('support', '1003', { paused: true, paused_reason: 'break', paused_at: clock.now() });
    },
  });
  await clock.advance(0);
  await agents.idle();
  assert.equal(pbx.sent.length, sent);
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 break'], []]);
});

test('agents - late events do not restore an earlier state', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  pbx.holdEvents(true);
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch' });
  await act({ action: 'unpause' });
  await act({ action: 'pause', reason: 'meeting' });
  pbx.holdEvents(false);
  await clock.advance(0);
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 meeting'], ['1003 meeting']]);
});

test('agents - events of the old boot that arrive after a restart still set the intents', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  await clock.advance(0);
  pbx.holdEvents(true);
  pbx.member('support', '1003', { paused: true, paused_reason: 'break' });
  engineRestarts(rig);
  assert.equal((await rig.fails({ action: 'pause' })).code, 'engine_unavailable', 'the restart comes first');
  pbx.holdEvents(false);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 break'], ['1003 ready']]);
});

test('agents - a queue that disappears keeps all intents', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  pbx.dropQueue('sales');
  await clock.advance(0);
  assert.deepEqual((await act({ action: 'status' })).agent.queues.filter((q) => q.member).length, 1);
  pbx.addQueue('sales');
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
});

test('agents - a restoration is retried with growing pauses while the link is up', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login', queue: 'support' });
  pbx.script(() => ({ refuse: 'not now' }));
  const sent = pbx.sent.length;
  engineRestarts(rig);
  await clock.advance(0);
  assert.equal(pbx.sent.length - sent, 1);
  await clock.advance(400);
  assert.equal(pbx.sent.length - sent, 1);
  await clock.advance(200);
  assert.equal(pbx.sent.length - sent, 2);
  await clock.advance(60_000);
  const tries = pbx.sent.length - sent;
  assert.ok(tries >= 6 && tries <= 8, `${tries} tries in a minute`);
  pbx.linkDown();
  await clock.advance(60_000);
  assert.equal(pbx.sent.length - sent, tries, 'none while the link is down');
  pbx.script(() => 'ok');
  pbx.linkUp();
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 ready']);
});

test('agents - a newer choice of the agent ends its restoration', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  await clock.advance(0);
  // By the dialplan, between the two steps: the member exists and is still paused.
  pbx.script((s) => (s.verb === 'pause' && !s.paused && s.queue === 'support' ? 'silent' : 'ok'));
  engineRestarts(rig);
  await clock.advance(0);
  assert.deepEqual(pbx.shows('support'), ['1003 login']);
  pbx.member('support', '1003', { paused: true, paused_reason: 'lunch' });
  await clock.advance(10_000);
  pbx.script(() => 'ok');
  await clock.advance(60_000);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 ready']]);

  // By the API, while it waits for the next attempt.
  pbx.script(() => ({ refuse: 'not now' }));
  engineRestarts(rig);
  await clock.advance(0);
  pbx.script(() => 'ok');
  await act({ action: 'logout' });
  await clock.advance(60_000);
  await agents.idle();
  assert.deepEqual(both(rig), [[], []]);
});

test('agents - a pause for all queues includes a queue that is still being restored', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  pbx.script((s) => (s.queue === 'sales' ? { refuse: 'not now' } : 'ok'));
  engineRestarts(rig, { 'support/1003': null });
  await clock.advance(0);
  await act({ action: 'pause', reason: 'lunch' });
  pbx.script(() => 'ok');
  await clock.advance(60_000);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 lunch']]);
});

test('agents - a change that was undone is not restored after a restart', async (t) => {
  const rig = await agentsRig(t);
  const { act, fails, refuse, clock, agents, pbx } = rig;
  await act({ action: 'login' });
  refuse.audit = true;
  await fails({ action: 'pause', reason: 'lunch' });
  refuse.audit = false;
  pbx.script((s) => (s.queue === 'sales' ? { refuse: 'no' } : 'ok'));
  await fails({ action: 'pause', reason: 'meeting' });
  pbx.script(() => 'ok');
  await clock.advance(60_000);
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
});

test('agents - the late effect of a failed action is undone; later the same state is a new intent', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  const paused = { paused: true, paused_reason: 'break' };
  await act({ action: 'login', queue: 'support' });
  const fail = async (): Promise<void> => {
    pbx.script(() => 'hang');
    const failed = act({ action: 'pause', reason: 'break' }).catch((error: Error) => error);
    await clock.advance(6_500);
    assert.ok((await failed) instanceof Error);
    pbx.script(() => 'ok');
  };
  await fail();
  pbx.member('support', '1003', paused);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 ready'], 'the engine continued while the link stayed up');

  for (const resyncedFirst of [false, true]) {
    await fail();
    pbx.linkDown();
    await clock.advance(60_000);
    pbx.linkUp({ resyncedFirst, change: () => pbx.member('support', '1003', paused) });
    await clock.advance(0);
    await agents.idle();
    assert.deepEqual(pbx.shows('support'), ['1003 ready'], 'the engine was stopped until the link was lost');
  }

  await fail();
  await clock.advance(10_000);
  pbx.member('support', '1003', paused);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 break'], 'dialled from the phone a little later');

  await act({ action: 'unpause' });
  await fail();
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  pbx.member('support', '1003', paused);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 break'], 'dialled from the phone at once after a restart');

  await act({ action: 'unpause' });
  await fail();
  pbx.linkDown();
  pbx.linkUp();
  await clock.advance(11_000);
  pbx.member('support', '1003', paused);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 break'], 'dialled a little after the link came back');
});

test('agents - an inactive person is not restored to a queue', async (t) => {
  const rig = await agentsRig(t);
  const { act, clock, directory } = rig;
  await act({ action: 'login' });
  await act({ action: 'login' }, '1004');
  directory.change('1003', { active: false });
  engineRestarts(rig);
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1004 ready'], []]);
});

test('agents - a pause keeps its start after an engine restart and a change of the member', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  const { pause_start } = await act({ action: 'pause', reason: 'lunch' });
  await clock.advance(60_000);
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  pbx.member('support', '1003', { penalty: 5 });
  await clock.advance(60_000);
  assert.equal((await act({ action: 'pause', reason: 'lunch' })).pause_start, pause_start);
});

test('agents - a reason is restored with its characters replaced that the engine’s member list cannot store', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  pbx.member('support', '1003', { paused: true, paused_reason: 'a,b;c|d\n', paused_at: clock.now() });
  await clock.advance(60_000);
  const shown = await act({ action: 'status' });
  assert.deepEqual([shown.pause_reason, shown.pause_start], ['a,b;c|d\n', '2026-11-21T09:00:00.000Z']);
  engineRestarts(rig);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 a_b_c_d_']);
  assert.equal((await act({ action: 'status' })).pause_start, '2026-11-21T09:00:00.000Z');
});

test('agents - a resync during an action does not make its first step an intent', async (t) => {
  for (const end of ['ok', 'cut'] as const) {
    const rig = await agentsRig(t);
    const { pbx, act, clock } = rig;
    const { promise, resolve } = Promise.withResolvers<typeof end>();
    pbx.script((s) => (s.verb === 'pause' ? promise : 'ok'));
    const login = act({ action: 'login', queue: 'support' }).catch((error: Error) => error);
    await clock.advance(0);
    assert.deepEqual(pbx.shows('support'), ['1003 login']);
    rig.agents.onDomainEvent({
      type: 'engine.resynced',
      subject: 'engine',
      at: clock.now(),
      observed: 'resync',
      data: { node: 'ast1', boot_id: pbx.boot, restarted: false, differences: 1 },
    });
    resolve(end);
    assert.equal((await login) instanceof Error, end === 'cut');
    pbx.script(() => 'ok');
    engineRestarts(rig);
    await clock.advance(0);
    await rig.agents.idle();
    assert.deepEqual(pbx.shows('support'), end === 'ok' ? ['1003 ready'] : []);
  }
});

test('agents - a late resync, after another restart, changes nothing', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  await act({ action: 'login' });
  await clock.advance(0);
  pbx.holdEvents(true);
  pbx.linkDown();
  pbx.linkUp();
  engineRestarts(rig);
  pbx.holdEvents(false);
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
});

test('agents - a static member of another engine is paused again after the restart of that engine', async (t) => {
  const rig = await agentsRig(t);
  const { pbx, act, clock, agents } = rig;
  pbx.home('1003', 'b');
  pbx.otherLinks('b', { change: () => pbx.member('support', '1003', { membership: 'static' }) });
  await clock.advance(0);
  await act({ action: 'login' }, '1004');
  await act({ action: 'pause', reason: 'lunch' });
  pbx.otherLinks('b', {
    restarted: true,
    change: () => pbx.member('support', '1003', { paused: false, paused_reason: '', paused_at: null }),
  });
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 lunch', '1004 ready']);

  const sent = pbx.sent.length;
  const paused = { paused: true, paused_reason: 'break', paused_at: clock.now() };
  pbx.otherLinks('b', { change: () => pbx.member('support', '1003', paused) });
  await clock.advance(0);
  await agents.idle();
  assert.equal(pbx.sent.length, sent, 'changed by phone while only the link was down');
  pbx.linkDown();
  pbx.linkUp({ restarted: true, change: () => pbx.member('support', '1004', paused) });
  await clock.advance(0);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 break', '1004 ready']);
});
