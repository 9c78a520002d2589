import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { agentsRig, both, engineRestarts } from '../../../test/support/agents-rig.ts';
import type { AgentsRig, RigOptions } from '../../../test/support/agents-rig.ts';
import { effectOf } from '../../core/errors.ts';

/** 1003 is in both queues and has a device; support gives 5 s of wrap-up. */
async function ready(t: TestContext, options: RigOptions = {}): Promise<AgentsRig> {
  const rig = await agentsRig(t, options);
  rig.pbx.deviceState('1003', 'NOT_INUSE');
  await rig.act({ action: 'login' });
  return rig;
}
const shown = (rig: AgentsRig, extension = '1003') => rig.pbx.live.agent(extension)!.summary;
async function call(rig: AgentsRig, queue = 'support') {
  const made = rig.pbx.offer(queue, '1003');
  made.answer();
  await rig.clock.advance(0);
  return made;
}
async function inWrapUp(rig: AgentsRig): Promise<void> {
  (await call(rig)).release();
  await rig.clock.advance(0);
  assert.equal(shown(rig).state, 'wrap_up');
}
const types = (rig: AgentsRig, from = 0): string[] =>
  rig.pbx.published
    .slice(from)
    .filter((e) => e.type.startsWith('agent.'))
    .map((e) => e.type.slice(6));

test('agents follow - after a call the agent is paused in every queue until the deadline', async (t) => {
  const rig = await ready(t);
  const talk = await call(rig);
  const from = rig.pbx.published.length;
  talk.release();
  const released = rig.clock.now();
  await rig.clock.advance(0);
  assert.deepEqual(both(rig), [['1003 wrapup'], ['1003 wrapup']]);
  assert.equal(Date.parse(shown(rig).deadline ?? ''), released + 5_000);
  await rig.clock.advance(4_900);
  assert.deepEqual(both(rig), [['1003 wrapup'], ['1003 wrapup']]);
  await rig.clock.advance(100);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
  assert.deepEqual(types(rig, from), ['wrap_up', 'ready']);
  assert.equal(shown(rig).since, new Date(released + 5_000).toISOString());
});

test('agents follow - a wrap-up ends at its deadline after the clock was set back, with and without a pause', async (t) => {
  const rig = await ready(t);
  const sleep = rig.clock.sleep.bind(rig.clock);
  // If the clock is set back, a timer ends before the deadline.
  rig.clock.sleep = (ms, signal) => sleep(ms > 1_000 ? ms - 700 : ms, signal);
  await inWrapUp(rig);
  await rig.clock.advance(4_999);
  assert.equal(shown(rig).state, 'wrap_up');
  await rig.clock.advance(1);
  assert.equal(shown(rig).state, 'available');
  await inWrapUp(rig);
  await rig.act({ action: 'pause', reason: 'lunch' });
  await rig.clock.advance(4_999);
  assert.equal(shown(rig).state, 'wrap_up');
  await rig.clock.advance(1);
  assert.equal(shown(rig).state, 'not_ready');
});

test('agents follow - a queue without wrap-up pauses no member after a call', async (t) => {
  const rig = await ready(t);
  const sent = rig.pbx.sent.length;
  (await call(rig, 'sales')).release();
  await rig.clock.advance(10_000);
  assert.equal(rig.pbx.sent.length, sent);
  assert.equal(shown(rig).state, 'available');
});

test('agents follow - a wrap-up pause is neither shown by agent.php nor an intent, and continues after an engine restart', async (t) => {
  const rig = await ready(t);
  await inWrapUp(rig);
  const reply = await rig.act({ action: 'status' });
  assert.deepEqual([reply.is_paused, reply.pause_reason, reply.status_key], [false, '', 'READY']);
  assert.equal(reply.agent.state, 'wrap_up');
  engineRestarts(rig);
  await rig.clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1003 wrapup'], ['1003 wrapup']], 'restored with the wrap-up pause');
  await rig.clock.advance(5_000);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
});

test('agents follow - the wrap-up pause of a static member is restored after an engine restart', async (t) => {
  const rig = await agentsRig(t);
  rig.pbx.deviceState('1003', 'NOT_INUSE');
  rig.pbx.member('support', '1003', { membership: 'static' });
  rig.pbx.member('sales', '1003');
  await rig.clock.advance(0);
  await inWrapUp(rig);
  rig.pbx.linkDown();
  rig.pbx.linkUp({
    restarted: true,
    change: () => rig.pbx.member('support', '1003', { paused: false, paused_reason: '' }),
  });
  await rig.clock.advance(0);
  assert.deepEqual(both(rig), [['1003 wrapup'], ['1003 wrapup']]);
  await rig.clock.advance(5_000);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
});

test('agents follow - pauses by the system set no intent, after any resync', async (t) => {
  const rig = await ready(t);
  const { pbx, clock } = rig;
  const resync = async (): Promise<void> => {
    pbx.linkDown();
    pbx.linkUp();
    await clock.advance(0);
  };
  await inWrapUp(rig);
  await resync();
  await clock.advance(5_000);
  let sent = pbx.sent.length;
  engineRestarts(rig);
  await clock.advance(0);
  await rig.agents.idle();
  const added = pbx.sent.slice(sent).flatMap((s) => (s.verb === 'add' ? [s.reason] : []));
  assert.deepEqual(added, ['login', 'login'], 'the intent is ready');

  await call(rig);
  await rig.run('1003', 'agents.logout');
  await resync();
  sent = pbx.sent.length;
  engineRestarts(rig);
  await clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual([pbx.sent.slice(sent), both(rig)], [[], [[], []]], 'the intent is absent');
});

test('agents follow - a refused wrap-up pause is retried, and the deadline stays', async (t) => {
  const rig = await ready(t);
  rig.pbx.script(() => ({ refuse: 'not now' }));
  await inWrapUp(rig);
  assert.deepEqual(rig.pbx.shows('support'), ['1003 ready']);
  await rig.clock.advance(600);
  rig.pbx.script(() => 'ok');
  await rig.clock.advance(600);
  assert.deepEqual(rig.pbx.shows('support'), ['1003 wrapup']);
  await rig.clock.advance(3_800);
  assert.equal(shown(rig).state, 'available');
});

test('agents follow - the agent stays in wrap-up while the engine is away, and is released when the link is back', async (t) => {
  const rig = await ready(t);
  await inWrapUp(rig);
  rig.pbx.linkDown();
  await rig.clock.advance(60_000);
  assert.equal(shown(rig).state, 'wrap_up');
  rig.pbx.linkUp();
  await rig.clock.advance(0);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
  assert.equal(shown(rig).state, 'available');
});

for (const kill of [true, false]) {
  test(`agents follow - the service ${kill ? 'is killed' : 'stops'} in a wrap-up: ${kill ? 'the next one keeps its deadline' : 'no member stays paused'}`, async (t) => {
    const rig = await ready(t);
    await inWrapUp(rig);
    const { deadline } = shown(rig);
    const from = rig.pbx.published.length;
    await (kill ? rig.killService : rig.restartService)();
    await rig.clock.advance(2_000);
    assert.deepEqual(rig.pbx.shows('support'), [kill ? '1003 wrapup' : '1003 ready']);
    rig.pbx.linkUp();
    await rig.clock.advance(0);
    assert.equal(shown(rig).deadline, kill ? deadline : null);
    assert.deepEqual(types(rig, from), kill ? [] : ['ready']);
    await rig.clock.advance(3_000);
    assert.equal(shown(rig).state, 'available');
    assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
  });
}

test('agents follow - a service that starts after the deadline ends the pause at once', async (t) => {
  const rig = await ready(t);
  await inWrapUp(rig);
  await rig.killService(() => {});
  await rig.clock.advance(60_000);
  rig.pbx.linkUp();
  await rig.clock.advance(0);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
  assert.equal(shown(rig).state, 'available');
});

test('agents follow - a wrap-up is finished early or extended up to its limit; outside a wrap-up both are refused', async (t) => {
  const rig = await ready(t);
  const refused = async (data: object) =>
    (await rig.run('1003', 'agents.wrap-up', data).catch((e: unknown) => e)) as { code: string };
  assert.equal((await refused({ finish: true })).code, 'not_in_wrap_up');
  assert.equal((await refused({ extend_seconds: 5 })).code, 'not_in_wrap_up');
  await inWrapUp(rig);
  const { agent } = await rig.run('1003', 'agents.wrap-up', { extend_seconds: 20 });
  assert.equal(Date.parse(agent.deadline ?? ''), rig.clock.now() + 25_000);
  await rig.clock.advance(20_000);
  assert.equal(shown(rig).state, 'wrap_up');
  assert.equal((await refused({ extend_seconds: 3_600 })).code, 'invalid_request');
  const done = await rig.run('1003', 'agent.wrap-up', { finish: true });
  assert.equal(done.agent.state, 'available');
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
  const sent = rig.pbx.sent.length;
  await rig.clock.advance(60_000);
  assert.equal(rig.pbx.sent.length, sent, 'the former deadline has no effect');
  assert.deepEqual(
    rig.trail.slice(-4).map(({ action, outcome }) => `${action} ${outcome}`),
    [
      'agent.extend_wrap_up refused',
      'agent.extend_wrap_up ok',
      'agent.extend_wrap_up refused',
      'agent.finish_wrap_up ok',
    ],
  );
});

test('agents follow - an extension is refused if *23 ends the wrap-up while its audit entry is written', async (t) => {
  const trail: string[] = [];
  let beforeEntry = (): void => {};
  const rig = await ready(t, {
    audit: {
      async record({ action, outcome }) {
        beforeEntry();
        await Promise.resolve();
        trail.push(`${action} ${outcome}`);
      },
    },
  });
  await inWrapUp(rig);
  beforeEntry = () => {
    for (const queue of ['support', 'sales'])
      rig.pbx.member(queue, '1003', { paused: false, paused_reason: '' });
    beforeEntry = () => {};
  };
  const answer = await rig.run('1003', 'agents.wrap-up', { extend_seconds: 20 }).catch((e: unknown) => e);
  assert.equal((answer as { code?: string }).code, 'not_in_wrap_up');
  assert.equal(effectOf(answer), false);
  assert.equal(shown(rig).state, 'available');
  assert.deepEqual(trail.slice(-2), ['agent.extend_wrap_up ok', 'agent.extend_wrap_up refused']);
});

/** As `*81` of a paused agent: the member is added, then paused. */
async function joinsPaused(rig: AgentsRig): Promise<void> {
  rig.pbx.member('sales', '1003', { paused: false, paused_reason: '' });
  rig.pbx.member('sales', '1003', { paused: true, paused_reason: 'login' });
  await rig.clock.advance(0);
}

test('agents follow - a paused agent that joins a queue by *81 has its pause there too, also after a wrap-up', async (t) => {
  const rig = await ready(t);
  await rig.act({ action: 'logout', queue: 'sales' });
  await rig.act({ action: 'pause', reason: 'lunch' });
  await joinsPaused(rig);
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 lunch']]);
  assert.deepEqual([shown(rig).state, shown(rig).readiness.reason], ['not_ready', 'lunch']);
  await rig.act({ action: 'unpause' });
  await rig.act({ action: 'logout', queue: 'sales' });
  await inWrapUp(rig);
  await joinsPaused(rig);
  assert.deepEqual(both(rig), [['1003 wrapup'], ['1003 wrapup']]);
  assert.equal(shown(rig).state, 'wrap_up');
  await rig.clock.advance(5_000);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
  assert.equal(shown(rig).state, 'available');
  await rig.act({ action: 'logout', queue: 'sales' });
  await joinsPaused(rig);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
});

test('agents follow - *23 ends a wrap-up; the pause of *22 begins at its end and stays', async (t) => {
  const rig = await ready(t);
  await inWrapUp(rig);
  for (const queue of ['support', 'sales'])
    rig.pbx.member(queue, '1003', { paused: false, paused_reason: '' });
  await rig.clock.advance(0);
  assert.equal(shown(rig).state, 'available');
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']], 'and is not paused again');

  await inWrapUp(rig);
  for (const queue of ['support', 'sales']) {
    rig.pbx.member(queue, '1003', { paused: true, paused_reason: 'break', paused_at: rig.clock.now() });
  }
  await rig.clock.advance(0);
  assert.deepEqual([shown(rig).state, shown(rig).pending], ['wrap_up', 'not_ready']);
  await rig.clock.advance(5_000);
  assert.deepEqual([shown(rig).state, shown(rig).readiness.reason], ['not_ready', 'break']);
  assert.deepEqual(both(rig), [['1003 break'], ['1003 break']]);
});

test('agents follow - with a pause in one queue before the call, only the other queue is paused and released', async (t) => {
  const rig = await ready(t);
  await rig.act({ action: 'pause', queue: 'sales', reason: 'meeting' });
  await inWrapUp(rig);
  assert.deepEqual(both(rig), [['1003 wrapup'], ['1003 meeting']]);
  await rig.clock.advance(5_000);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 meeting']]);
  assert.deepEqual([shown(rig).state, shown(rig).readiness.reason], ['not_ready', 'meeting']);
});

test('agents follow - a change during a call is sent at once and effective after it; the last one wins', async (t) => {
  const rig = await ready(t);
  const talk = await call(rig);
  const paused = await rig.run('1003', 'agents.pause', { reason: 'lunch' });
  assert.deepEqual(
    [paused.agent.state, paused.agent.pending, paused.agent.pending_reason],
    ['talking', 'not_ready', 'lunch'],
  );
  assert.deepEqual(both(rig), [['1003 lunch'], ['1003 lunch']]);
  const out = await rig.run('1003', 'agents.logout');
  assert.deepEqual([out.agent.state, out.agent.pending], ['talking', 'logged_out']);
  assert.equal(out.message, 'Signs out when the call is over');
  assert.deepEqual(both(rig), [['1003 logout'], ['1003 logout']]);
  const cancelled = await rig.run('1003', 'agents.cancel-pending');
  assert.deepEqual([cancelled.agent.state, cancelled.agent.pending], ['talking', null]);
  assert.deepEqual(both(rig), [['1003 ready'], ['1003 ready']]);
  await rig.run('1003', 'agents.logout');
  await rig.run('1003', 'agents.pause', { reason: 'meeting' });
  talk.release();
  await rig.clock.advance(0);
  assert.deepEqual([shown(rig).state, shown(rig).pending], ['wrap_up', 'not_ready']);
  await rig.clock.advance(5_000);
  assert.deepEqual([shown(rig).state, shown(rig).readiness.reason], ['not_ready', 'meeting']);
});

test('agents follow - an agent that logs out during a call leaves the queues after the wrap-up, also after a kill of the service', async (t) => {
  for (const kill of [false, true]) {
    const rig = await ready(t);
    const talk = await call(rig);
    await rig.run('1003', 'agents.logout');
    talk.release();
    await rig.clock.advance(0);
    assert.deepEqual([shown(rig).state, shown(rig).pending], ['wrap_up', 'logged_out']);
    if (kill) {
      await rig.killService();
      rig.pbx.linkUp();
      await rig.clock.advance(0);
      assert.deepEqual([shown(rig).state, shown(rig).pending], ['wrap_up', 'logged_out']);
    }
    await rig.clock.advance(5_000);
    assert.deepEqual(both(rig), [[], []]);
    assert.equal(shown(rig).state, 'logged_out');
    engineRestarts(rig);
    await rig.clock.advance(0);
    await rig.agents.idle();
    assert.deepEqual(both(rig), [[], []], 'this is the intent');
  }
});

test('agents follow - agent.php logs out at once, also during a call', async (t) => {
  const rig = await ready(t);
  const talk = await call(rig);
  assert.equal((await rig.act({ action: 'logout' })).in_queue, false);
  assert.deepEqual(both(rig), [[], []]);
  talk.release();
  await rig.clock.advance(10_000);
  assert.equal(shown(rig).state, 'logged_out');
});

test('agents follow - too many unanswered offers in a row pause the agent with an event; ready ends it', async (t) => {
  const rig = await ready(t, { noAnswerLimit: 2 });
  const miss = async (): Promise<void> => {
    rig.pbx.offer('sales', '1003').timeout();
    await rig.clock.advance(0);
  };
  await miss();
  (await call(rig, 'sales')).release();
  await miss();
  assert.equal(shown(rig).state, 'available', 'one was answered in between');
  const from = rig.pbx.published.length;
  await miss();
  assert.deepEqual([shown(rig).state, shown(rig).not_responding], ['not_responding', true]);
  assert.deepEqual(both(rig), [['1003 no_answer'], ['1003 no_answer']]);
  assert.deepEqual(types(rig, from), ['offered', 'ready', 'not_responding', 'not_ready', 'not_ready']);
  assert.equal(shown(rig).readiness.source, 'system');
  engineRestarts(rig);
  await rig.clock.advance(0);
  await rig.agents.idle();
  assert.deepEqual(both(rig), [['1003 no_answer'], ['1003 no_answer']], 'it survives an engine restart');
  const back = await rig.run('1002', 'agents.unpause', { extension: '1003' });
  assert.deepEqual([back.agent.state, back.agent.not_responding], ['available', false]);
  assert.equal(back.agent.readiness.source, 'supervisor');
  await miss();
  assert.equal(shown(rig).state, 'available', 'the count starts again');
});

test('agents follow - a refused offer does not count as unanswered', async (t) => {
  const rig = await ready(t, { noAnswerLimit: 1 });
  rig.pbx.offer('sales', '1003').refuse();
  await rig.clock.advance(0);
  assert.ok(rig.pbx.published.some((e) => e.type === 'offer.rejected'));
  assert.equal(shown(rig).state, 'available');
});

test('agents follow - a pause by a supervisor during a call keeps its source when it takes effect', async (t) => {
  const rig = await ready(t);
  const talk = await call(rig, 'sales');
  await rig.run('1002', 'agents.pause', { extension: '1003', reason: 'meeting' });
  talk.release();
  await rig.clock.advance(0);
  assert.deepEqual([shown(rig).state, shown(rig).readiness.source], ['not_ready', 'supervisor']);
});

test('agents follow - the limit 0 pauses no agent', async (t) => {
  const rig = await ready(t, { noAnswerLimit: 0 });
  for (let i = 0; i < 10; i += 1) {
    rig.pbx.offer('sales', '1003').timeout();
    await rig.clock.advance(0);
  }
  assert.equal(shown(rig).state, 'available');
});

test('agents follow - an agent is unreachable after the grace period, not before, and reachable again at once', async (t) => {
  const rig = await ready(t);
  rig.pbx.deviceState('1003', 'UNAVAILABLE');
  await rig.clock.advance(14_000);
  rig.pbx.deviceState('1003', 'NOT_INUSE');
  await rig.clock.advance(60_000);
  assert.equal(shown(rig).state, 'available');
  rig.pbx.deviceState('1003', 'UNAVAILABLE');
  await rig.clock.advance(14_000);
  await rig.act({ action: 'pause' });
  assert.equal(shown(rig).state, 'not_ready');
  await rig.clock.advance(1_000);
  assert.equal(shown(rig).state, 'unreachable');
  assert.equal(shown(rig).readiness.reason, 'break');
  rig.pbx.deviceState('1003', 'NOT_INUSE');
  assert.equal(shown(rig).state, 'not_ready');
});

test('agents follow - an agent whose devices were never reached is unreachable at once', async (t) => {
  const rig = await agentsRig(t);
  rig.pbx.deviceState('1003', 'UNAVAILABLE');
  await rig.act({ action: 'login' });
  await rig.clock.advance(0);
  assert.equal(shown(rig).state, 'unreachable');
  rig.pbx.deviceState('1003', 'NOT_INUSE');
  assert.equal(shown(rig).state, 'available');
  await rig.clock.advance(0);
  rig.pbx.deviceState('1003', 'UNAVAILABLE');
  await rig.clock.advance(14_000);
  assert.equal(shown(rig).state, 'available', 'from now on there is a grace period');
});
