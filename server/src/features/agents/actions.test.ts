import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentReply } from '@offhook/contract/agents.ts';
import {
  demoPeople,
  demoQueues,
  directoryFixture,
  reasonFixture,
} from '../../../test/support/directory-fixture.ts';
import { agentsRig } from '../../../test/support/agents-rig.ts';

const LOCAL = 'Local/1003@queue-agent';
const pauseOf = (queue: string, reason: string) => ({
  verb: 'pause',
  queue,
  interface: LOCAL,
  paused: true,
  reason,
});

test('agents - pause is confirmed in every queue with the requested reason', async (t) => {
  const { pbx, act } = await agentsRig(t);
  pbx.member('support', '1003');
  pbx.member('sales', '1003');
  const reply = await act({ action: 'pause', reason: 'lunch' });
  assert.deepEqual(pbx.sent, [pauseOf('support', 'lunch'), pauseOf('sales', 'lunch')]);
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 lunch'], ['1003 lunch']]);
  assert.deepEqual(AgentReply.parse(reply), reply);
  const { is_paused, pause_reason, pause_start, status_key, in_queue, reasons, agent_extension } = reply;
  assert.deepEqual(
    { is_paused, pause_reason, pause_start, status_key, in_queue, reasons, agent_extension },
    {
      is_paused: true,
      pause_reason: 'lunch',
      pause_start: '2026-11-21T09:00:00.000Z',
      status_key: 'PAUSED',
      in_queue: true,
      reasons: ['break', 'lunch', 'meeting'],
      agent_extension: '1003',
    },
  );
  assert.equal(reply.agent.state, 'not_ready');
  assert.deepEqual(
    reply.agent.queues.map((q) => [q.queue, q.member, q.paused, q.pause_reason]),
    [
      ['support', true, true, 'lunch'],
      ['sales', true, true, 'lunch'],
    ],
  );
});

test('agents - the reason is found by id or name in any case, and is the first by default', async (t) => {
  const { pbx, act } = await agentsRig(t);
  pbx.member('support', '1003');
  for (const [given, kept] of [
    ['MEETING', 'meeting'],
    ['Lunch', 'lunch'],
    [undefined, 'break'],
    ['meeting', 'meeting'],
    ['', 'break'],
    ['lunch', 'lunch'],
    [null, 'break'],
  ] as const) {
    const reply = await act({ action: 'pause', reason: given });
    assert.equal(reply.pause_reason, kept, String(given));
    assert.deepEqual(pbx.shows('support'), [`1003 ${kept}`]);
  }
});

test('agents - a reason is accepted by its name, and shown by its id', async (t) => {
  const reasons = [reasonFixture('break', 'Break'), reasonFixture('back_office', 'Büro, hinten')];
  const directory = directoryFixture(demoPeople(), demoQueues(), reasons);
  const { pbx, act } = await agentsRig(t, { directory });
  await act({ action: 'login' });
  const reply = await act({ action: 'pause', reason: 'BÜRO, HINTEN' });
  assert.deepEqual([reply.pause_reason, reply.reasons], ['back_office', ['break', 'back_office']]);
  assert.deepEqual(
    reply.pause_reasons,
    reasons.map(({ id, name }) => ({ id, name })),
  );
  assert.deepEqual(pbx.shows('support'), ['1003 back_office']);
});

test('agents - an action that already holds is a success that sends nothing', async (t) => {
  const { pbx, act } = await agentsRig(t);
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch' });
  const start = (await act({ action: 'get_status' })).pause_start;
  const sent = pbx.sent.length;
  const again = await act({ action: 'pause', reason: 'lunch' });
  assert.equal(again.pause_start, start);
  await act({ action: 'login' });
  await act({ action: 'toggle_queue', queue: 'support', login: 1 });
  assert.equal(pbx.sent.length, sent);
  await act({ action: 'unpause' });
  await act({ action: 'logout' });
  const after = pbx.sent.length;
  await act({ action: 'logout' });
  await act({ action: 'toggle_queue', queue: '510', login: '0' });
  assert.equal(pbx.sent.length, after);
});

test('agents - login adds the member paused and releases it only once the engine shows it', async (t) => {
  const { pbx, act } = await agentsRig(t);
  const reply = await act({ action: 'login', queue: '500' });
  assert.deepEqual(pbx.sent, [
    { verb: 'add', queue: 'support', interface: LOCAL, paused: true, reason: 'login', penalty: 0 },
    { verb: 'pause', queue: 'support', interface: LOCAL, paused: false, reason: '' },
  ]);
  assert.deepEqual(pbx.shows('support'), ['1003 ready']);
  assert.equal(reply.status_key, 'READY');
  assert.deepEqual(
    reply.agent.queues.map((q) => [q.queue, q.member]),
    [
      ['support', true],
      ['sales', false],
    ],
  );
});

test('agents - a paused agent that joins another queue stays paused there', async (t) => {
  const { pbx, act } = await agentsRig(t);
  await act({ action: 'login', queue: 'support' });
  await act({ action: 'pause', reason: 'meeting' });
  await act({ action: 'login' });
  assert.deepEqual(pbx.shows('sales'), ['1003 meeting']);
  assert.ok(!pbx.sent.some((s) => s.verb === 'pause' && s.queue === 'sales'));
});

test('agents - a logout and login ends the pause', async (t) => {
  const { pbx, act } = await agentsRig(t);
  await act({ action: 'login' });
  await act({ action: 'pause' });
  const out = await act({ action: 'logout' });
  assert.deepEqual([out.in_queue, out.is_paused, out.status_key], [false, false, 'OFFLINE']);
  const back = await act({ action: 'login' });
  assert.deepEqual([back.in_queue, back.is_paused, back.status_key], [true, false, 'READY']);
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 ready'], ['1003 ready']]);
});

test('agents - toggle_queue takes 1 and 0 as number and text, by name and number', async (t) => {
  const { pbx, act } = await agentsRig(t);
  for (const [queue, login, shown] of [
    ['support', 1, ['1003 ready']],
    ['support', '0', []],
    ['500', '1', ['1003 ready']],
    ['500', 0, []],
  ] as const) {
    await act({ action: 'toggle_queue', queue, login });
    assert.deepEqual(pbx.shows('support'), shown, `${queue} ${login}`);
  }
});

test('agents - pause and unpause act in the named queue only', async (t) => {
  const { pbx, act } = await agentsRig(t);
  await act({ action: 'login' });
  const reply = await act({ action: 'pause', queue: '510', reason: 'break' });
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 ready'], ['1003 break']]);
  assert.equal(reply.is_paused, true);
  await act({ action: 'unpause', queue: 'sales' });
  assert.deepEqual(pbx.shows('sales'), ['1003 ready']);
});

test('agents - reads change nothing and answer while the engine is away, marked stale', async (t) => {
  const { pbx, act } = await agentsRig(t);
  await act({ action: 'login' });
  const sent = pbx.sent.length;
  for (const action of ['status', 'get_status', 'get_queues']) {
    assert.equal((await act({ action })).agent.stale, false);
  }
  pbx.linkDown();
  const reply = await act({ action: 'get_status' });
  assert.equal(reply.agent.stale, true);
  assert.equal(reply.in_queue, true);
  assert.equal(pbx.sent.length, sent);
});

test('agents - `status_key` follows the device, the call and the pause', async (t) => {
  const { pbx, act } = await agentsRig(t);
  const key = async () => (await act({ action: 'status' })).status_key;
  assert.equal(await key(), 'OFFLINE');
  await act({ action: 'login' });
  assert.equal(await key(), 'READY');
  pbx.deviceState('1003', 'UNAVAILABLE');
  assert.equal(await key(), 'OFFLINE');
  await act({ action: 'pause' });
  assert.equal(await key(), 'PAUSED');
  pbx.deviceState('1003', 'NOT_INUSE');
  const call = pbx.offer('sales', '1003');
  assert.equal(await key(), 'RINGING');
  call.answer();
  assert.equal(await key(), 'BUSY');
  call.hold(true);
  assert.equal(await key(), 'BUSY');
  call.release();
  assert.equal(await key(), 'PAUSED');
  const hangup = pbx.dials('1003', '1001');
  assert.equal(await key(), 'BUSY');
  hangup();
  pbx.device('1003', { activity: 'ringing' });
  assert.equal(await key(), 'RINGING');
});

test('agents - a member added by hand under another interface is the same agent', async (t) => {
  const { pbx, act } = await agentsRig(t);
  pbx.member('support', '1003', { interface: 'PJSIP/1003' });
  await act({ action: 'pause', reason: 'lunch' });
  assert.deepEqual(pbx.sent, [{ ...pauseOf('support', 'lunch'), interface: 'PJSIP/1003' }]);
});

test('agents - a pause in all queues is one action of the engine, and one for each where it refuses that', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'lunch', queue: 'sales' });
  assert.deepEqual(pbx.together, []);
  await act({ action: 'pause', reason: 'meeting' });
  await act({ action: 'unpause' });
  const all = ['support', 'sales'];
  assert.deepEqual(pbx.together, [all, all]);
  pbx.script((s) => (s.queue === 'sales' ? { refuse: 'Interface not found' } : 'ok'));
  const sent = pbx.sent.length;
  assert.equal((await fails({ action: 'pause', reason: 'lunch' })).code, 'engine_refused');
  assert.deepEqual(pbx.together, [all, all, all]);
  assert.deepEqual(
    pbx.sent.slice(sent).map((s) => [s.queue, s.verb === 'pause' && s.paused]),
    [
      ['support', true],
      ['sales', true],
      ['support', false],
    ],
  );
});

test('agents - a pause is refused at once if its member leaves the queue meanwhile', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  pbx.script((s) => {
    if (s.queue === 'sales') pbx.leave('sales', '1003');
    return s.queue === 'sales' ? 'silent' : 'ok';
  });
  const error = await fails({ action: 'pause', reason: 'lunch' });
  assert.equal(error.code, 'engine_refused');
  assert.match(error.message, /^1003 was removed from sales meanwhile/);
});

for (const oneTransaction of [false, true]) {
  test(`agents - actions are audited with actor, action and address${oneTransaction ? ', in one transaction' : ''}`, async (t) => {
    const { act, fails, trail } = await agentsRig(t, { oneTransaction });
    await act({ action: 'login' });
    await act({ action: 'pause', reason: 'lunch' });
    await fails({ action: 'pause', queue: 'support' }, '1004');
    await fails({ action: 'pause', reason: 'x\r\nAction: Command' });
    assert.deepEqual(
      trail.map(({ action, actor, object, outcome, ip }) => [action, actor, object, outcome, ip]),
      [
        ['agent.login', 'user1003', '1003', 'ok', '127.0.0.1'],
        ['agent.pause', 'user1003', '1003', 'ok', '127.0.0.1'],
        ['agent.pause', 'user1004', '1004', 'refused', '127.0.0.1'],
        ['agent.unknown', 'user1003', '1003', 'refused', '127.0.0.1'],
      ],
    );
    assert.deepEqual(trail[3]?.detail, { code: 'unknown_reason' });
    for (let i = 0; i < 200; i += 1) await fails({ action: 'dance' });
    assert.ok(trail.length < 100, 'invalid requests do not fill the disk');
    const { operation_id, ...detail } = trail[1]?.detail ?? {};
    assert.match(String(operation_id), /^agent-/);
    assert.deepEqual(detail, { queue: null, reason: 'lunch', queues: 'support, sales' });
  });
}

test('agents - ready in several queues at once: each event carries the agent after the whole action', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  const readiness = async (work: () => Promise<unknown>) => {
    const from = pbx.published.length;
    await work();
    return pbx.published
      .slice(from)
      .flatMap((e) =>
        e.type === 'agent.ready' || e.type === 'agent.not_ready'
          ? [[e.type.slice(6), e.data.queue, e.data.agent.readiness.ready].join(' ')]
          : [],
      );
  };
  const both = ['ready support true', 'ready sales true'];
  assert.deepEqual((await readiness(() => act({ action: 'login' }))).slice(-2), both);
  await act({ action: 'pause', reason: 'lunch' });
  assert.deepEqual(await readiness(() => act({ action: 'unpause' })), both);
  await act({ action: 'pause', reason: 'lunch' });
  // In one queue alone the agent is not ready until the other follows.
  const one = await readiness(() => act({ action: 'unpause', queue: 'support' }));
  assert.deepEqual(one, ['ready support false']);
  await act({ action: 'pause', reason: 'lunch' });
  pbx.script((s) => (s.verb === 'pause' && s.queue === 'sales' && !s.paused ? { refuse: 'busy' } : 'ok'));
  const undone = await readiness(() => fails({ action: 'unpause' }));
  assert.deepEqual(undone.at(-1), 'not_ready support false', undone.join(', '));
  assert.equal(pbx.live.agent('1003')?.summary.readiness.ready, false);
});
