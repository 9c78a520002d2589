import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, effectOf } from '../../core/errors.ts';
import { agentsRig } from '../../../test/support/agents-rig.ts';
import type { Sent } from '../../../test/support/fake-engine.ts';

/** Lets timers of the virtual clock run until the promise is settled; fails after 30 virtual seconds. */
async function inTime<T>(
  clock: { advance(ms: number): Promise<void> },
  work: Promise<T>,
): Promise<{ value: T; ms: number }> {
  let value: { value: T } | undefined;
  void work.then((v) => {
    value = { value: v };
  });
  for (let ms = 0; ms <= 30_000; ms += 250) {
    await clock.advance(ms === 0 ? 0 : 250);
    if (value) return { ...value, ms };
  }
  throw new Error('not settled after 30 virtual seconds');
}

test('agents - unknown actions, reasons and queues are refused by their code before anything is sent', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  const sent = pbx.sent.length;
  for (const [request, code] of [
    [{ action: 'dance' }, 'unknown_action'],
    [{ action: '' }, 'unknown_action'],
    [{ action: 'PAUSE' }, 'unknown_action'],
    [{ action: 'constructor' }, 'unknown_action'],
    [{ action: 'pause', reason: 'holiday' }, 'unknown_reason'],
    [{ action: 'pause', queue: 'nowhere' }, 'no_such_queue'],
    [{ action: 'login', queue: '999' }, 'no_such_queue'],
    [{ action: 'toggle_queue', login: 1 }, 'invalid_request'],
    [{ action: 'toggle_queue', queue: 'support' }, 'invalid_request'],
  ] as const) {
    assert.equal((await fails(request)).code, code, JSON.stringify(request));
  }
  assert.equal(pbx.sent.length, sent);
});

test('agents - while the outcome of a command is open, no other is planned from the live view', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  const sent = pbx.sent.length;
  pbx.unsettled(true);
  for (const action of ['unpause', 'pause', 'login', 'logout']) {
    assert.equal((await fails({ action })).code, 'engine_unavailable', action);
  }
  assert.equal(pbx.sent.length, sent);
  pbx.unsettled(false);
  assert.match((await act({ action: 'unpause' })).message, /nothing to change/);
});

test('agents - nothing to change is a success only once the engine has answered', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'break' });
  const sent = pbx.sent.length;
  const asAlready = [
    { action: 'pause', reason: 'break' },
    { action: 'pause', reason: 'break', queue: 'support' },
    { action: 'login' },
  ];
  for (const code of ['engine_timeout', 'engine_unavailable'] as const) {
    pbx.onRoundTrip(() => Promise.reject(new ServiceError(code, 'stopped, and still shown as connected')));
    for (const request of asAlready) assert.equal((await fails(request)).code, code, JSON.stringify(request));
  }
  assert.equal(pbx.sent.length, sent);
  pbx.onRoundTrip(() => pbx.linkDown());
  assert.equal(
    (await fails(asAlready[0]!)).code,
    'engine_unavailable',
    'the engine was lost during the round trip',
  );
});

test('agents - a change that appears during the round trip is made after all', async (t) => {
  const { pbx, act } = await agentsRig(t);
  await act({ action: 'login' });
  pbx.onRoundTrip(() => pbx.member('support', '1003', { paused: true, paused_reason: 'lunch' }));
  const { message, is_paused } = await act({ action: 'unpause' });
  assert.equal(message, 'Ready in every queue');
  assert.equal(is_paused, false);
  assert.deepEqual(pbx.shows('support'), ['1003 ready']);
});

test('agents - no character that could end a field reaches the engine', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  const sent = pbx.sent.length;
  const hostile = [
    'x\r\n\r\nAction: Command\r\nCommand: core stop now',
    'lunch\n',
    'lunch\rAction: Ping',
    'lunch\0',
    'lunch\u2028',
    'lunch%0d%0aAction: Ping',
    'lunch,break',
    'lunch;break',
    'lunch|break',
    'lunch\x7f',
    '${SHELL(id)}',
    '__proto__',
    'x'.repeat(128),
  ];
  for (const text of hostile) {
    const reason = await fails({ action: 'pause', reason: text });
    assert.equal(reason.code, 'unknown_reason', JSON.stringify(text));
    assert.ok(!reason.message.includes(text), 'the text is not repeated');
    for (const action of ['pause', 'login', 'logout', 'unpause']) {
      const { status, code } = await fails({ action, queue: text });
      assert.ok(
        code === 'invalid_request' || code === 'no_such_queue',
        `${code} for ${JSON.stringify(text)}`,
      );
      assert.ok(status === 400 || /^[A-Za-z0-9_-]+$/.test(text), JSON.stringify(text));
    }
  }
  assert.equal((await fails({ action: 'login', queue: '' })).code, 'invalid_request');
  assert.equal(pbx.sent.length, sent);
});

test('agents - an action changes only the queues of the agent', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  for (const request of [
    { action: 'login', queue: 'sales' },
    { action: 'logout', queue: 'sales' },
    { action: 'toggle_queue', queue: '510', login: 1 as const },
    { action: 'pause' },
    { action: 'unpause' },
    { action: 'pause', queue: 'support' },
  ]) {
    assert.equal((await fails(request, '1004')).code, 'not_in_queue', JSON.stringify(request));
  }
  assert.equal((await fails({ action: 'login' }, '1005')).code, 'not_in_queue');
  assert.equal(pbx.sent.length, 0);
  pbx.member('sales', '1004');
  assert.equal((await act({ action: 'pause', queue: 'sales' }, '1004')).is_paused, true);
});

test('agents - a logout with a static membership is refused for all queues', async (t) => {
  const { pbx, fails, act } = await agentsRig(t);
  pbx.member('support', '1003', { membership: 'static' });
  pbx.member('sales', '1003');
  for (const request of [
    { action: 'logout' },
    { action: 'toggle_queue', queue: 'support', login: 0 as const },
  ]) {
    const error = await fails(request);
    assert.equal(error.code, 'static_member');
    assert.match(error.message, /support/);
  }
  assert.equal(pbx.sent.length, 0);
  assert.equal((await act({ action: 'logout', queue: 'sales' })).in_queue, true);
  assert.deepEqual(pbx.shows('sales'), []);
});

test('agents - while the link is down every change is 503 at once', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  pbx.linkDown();
  const sent = pbx.sent.length;
  for (const action of ['pause', 'unpause', 'login', 'logout']) {
    const error = await fails({ action });
    assert.equal(error.code, 'engine_unavailable', action);
    assert.ok(error.extras.retry_after_seconds);
  }
  assert.equal(pbx.sent.length, sent);
});

test('agents - a refusal carries the message of the engine, and the other queues are restored', async (t) => {
  const { pbx, act, fails } = await agentsRig(t);
  await act({ action: 'login' });
  await act({ action: 'pause', reason: 'meeting' });
  pbx.script((s) => (s.queue === 'sales' ? { refuse: 'Interface not found' } : 'ok'));
  const error = await fails({ action: 'pause', reason: 'lunch' });
  assert.equal(error.code, 'engine_refused');
  assert.match(error.message, /Interface not found/);
  assert.equal(error.extras.body, undefined);
  assert.equal(effectOf(error) === true, false);
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 meeting'], ['1003 meeting']]);
  const { pause_reason } = await act({ action: 'status' });
  assert.equal(pause_reason, 'meeting');
});

test('agents - an incomplete login is undone', async (t) => {
  const { pbx, fails } = await agentsRig(t);
  pbx.script((s) => (s.queue === 'sales' ? { refuse: 'No such queue' } : 'ok'));
  assert.equal((await fails({ action: 'login' })).code, 'engine_refused');
  assert.deepEqual(pbx.shows('support'), []);
  // Refused only at the second step: the member is in the queue already, and must come out again.
  pbx.script((s) => (s.verb === 'pause' && s.queue === 'sales' ? { refuse: 'Interface not found' } : 'ok'));
  assert.equal((await fails({ action: 'login' })).code, 'engine_refused');
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [[], []]);
});

test('agents - an incomplete logout is undone, including pause, reason and penalty', async (t) => {
  const { pbx, fails } = await agentsRig(t);
  pbx.member('support', '1003', { paused: true, paused_reason: 'lunch', penalty: 3 });
  pbx.member('sales', '1003');
  pbx.script((s) => (s.verb === 'remove' && s.queue === 'sales' ? { refuse: 'busy' } : 'ok'));
  assert.equal((await fails({ action: 'logout' })).code, 'engine_refused');
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 lunch'], ['1003 ready']]);
  assert.equal(pbx.row('support', '1003')?.penalty, 3);
});

test('agents - an undo that fails is reported queue by queue', async (t) => {
  const { pbx, act, fails, clock, agents } = await agentsRig(t);
  await act({ action: 'login' });
  let count = 0;
  pbx.script((s) => {
    if (s.queue === 'sales') return { refuse: 'Interface not found' };
    return (count += 1) === 1 ? 'ok' : { refuse: 'no more' };
  });
  const error = await fails({ action: 'pause', reason: 'lunch' });
  assert.equal(error.code, 'engine_refused');
  const queues = error.extras.body?.queues as { queue: string; ok: boolean; detail: string }[];
  assert.deepEqual(
    queues.map((q) => [q.queue, q.ok]),
    [
      ['support', true],
      ['sales', false],
    ],
  );
  assert.match(queues[0]!.detail, /could not be taken back.*no more/);
  assert.equal(effectOf(error), true, 'no repeat with the same key runs it again');
  assert.deepEqual(pbx.shows('support'), ['1003 lunch']);
  pbx.script(() => 'ok');
  await clock.advance(60_000);
  await agents.idle();
  assert.deepEqual(pbx.shows('support'), ['1003 ready'], 'a refused action sets no intent and does not stay');
});

for (const [behaviour, about] of [
  ['silent', 'answers but nothing happens'],
  ['hang', 'does not answer'],
] as const) {
  test(`agents - an engine that ${about} is 504 after five seconds, never success`, async (t) => {
    const { pbx, act, fails, clock } = await agentsRig(t);
    await act({ action: 'login' });
    pbx.script(() => behaviour);
    const { value: error, ms } = await inTime(clock, fails({ action: 'pause', reason: 'lunch' }));
    assert.equal(error.code, 'engine_timeout');
    assert.ok(ms >= 5_000 && ms <= 6_250, `${ms} ms`);
    assert.match(error.message, /support/);
    assert.equal((await act({ action: 'status' })).is_paused, false);
    pbx.script(() => 'ok');
    assert.equal((await act({ action: 'pause', reason: 'lunch' })).pause_reason, 'lunch');
  });
}

test('agents - the undo of a login that the engine never performed is no error', async (t) => {
  const { pbx, act, fails, clock } = await agentsRig(t);
  pbx.script((s) => (s.verb === 'add' ? 'hang' : 'ok'));
  const { value: error } = await inTime(clock, fails({ action: 'login' }));
  assert.equal(error.code, 'engine_timeout');
  assert.equal(error.extras.body, undefined, 'no queue has an incomplete change');
  assert.equal((await act({ action: 'status' })).in_queue, false);
});

test('agents - a pause by other means during a login stays', async (t) => {
  const { pbx, act, clock } = await agentsRig(t);
  const { promise, resolve } = Promise.withResolvers<'ok'>();
  pbx.script((s) => (s.queue === 'sales' ? promise : 'ok'));
  const login = act({ action: 'login' });
  await clock.advance(0);
  pbx.member('support', '1003', { paused: true, paused_reason: 'lunch' });
  resolve('ok');
  await login;
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 lunch'], ['1003 ready']]);
});

test('agents - a change without an answer succeeds if the engine shows it', async (t) => {
  const { pbx, act } = await agentsRig(t);
  await act({ action: 'login' });
  pbx.script((s) => (s.queue === 'sales' ? 'slow' : 'ok'));
  assert.equal((await act({ action: 'pause', reason: 'lunch' })).pause_reason, 'lunch');
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 lunch'], ['1003 lunch']]);
});

test('agents - a performed change without an answer is 504 and undone', async (t) => {
  const { pbx, act, fails, clock } = await agentsRig(t);
  await act({ action: 'login' });
  pbx.script((s, i) => (s.queue === 'sales' && i === 5 ? 'mute' : 'ok'));
  const before = pbx.sent.length;
  assert.equal(before, 4);
  const { value: error } = await inTime(clock, fails({ action: 'pause', reason: 'lunch' }));
  assert.equal(error.code, 'engine_timeout');
  assert.equal(error.extras.body, undefined);
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 ready'], ['1003 ready']]);
});

test('agents - an engine lost during an action is 503 with the outcome of each queue', async (t) => {
  for (const behaviour of ['cut', 'done-cut'] as const) {
    const { pbx, act, fails } = await agentsRig(t);
    await act({ action: 'login' });
    pbx.script((s) => (s.queue === 'sales' ? behaviour : 'ok'));
    const error = await fails({ action: 'pause', reason: 'lunch' });
    assert.equal(error.code, 'engine_unavailable');
    const queues = error.extras.body?.queues as { queue: string; ok: boolean; detail: string }[];
    assert.deepEqual(
      queues.map((q) => [q.queue, q.ok]),
      [
        ['support', true],
        ['sales', behaviour === 'done-cut'],
      ],
    );
    for (const { detail, ok } of queues)
      assert.match(detail, ok ? /^the engine did it, and/ : /^outcome unknown, and/);
  }
});

test('agents - a change that cannot be stored is undone and 503', async (t) => {
  for (const [what, oneTransaction] of [
    ['store', false],
    ['audit', false],
    ['audit', true],
  ] as const) {
    const { pbx, act, fails, refuse, clock } = await agentsRig(t, { oneTransaction });
    await act({ action: 'login' });
    refuse[what] = true;
    assert.equal((await fails({ action: 'pause', reason: 'lunch' })).code, 'store_unavailable', what);
    assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 ready'], ['1003 ready']], what);
    refuse[what] = false;
    await clock.advance(60_000);
    assert.equal((await act({ action: 'status' })).is_paused, false);
    assert.equal((await act({ action: 'pause', reason: 'lunch' })).pause_reason, 'lunch');
  }
});

test('agents - actions of one agent run one after the other, and agents do not wait for each other', async (t) => {
  const { pbx, act, clock } = await agentsRig(t);
  await act({ action: 'login' });
  await act({ action: 'login' }, '1004');
  const order: string[] = [];
  const seen = (s: Sent) => {
    if (s.interface.startsWith('Local/1003')) order.push(s.verb === 'pause' && s.paused ? s.reason : 'ready');
  };
  let stuck = true;
  pbx.script((s) => {
    seen(s);
    return stuck && s.interface.startsWith('Local/1003') ? 'hang' : 'ok';
  });
  const first = act({ action: 'pause', queue: 'support', reason: 'lunch' }).catch((e: unknown) => e);
  const second = act({ action: 'pause', queue: 'support', reason: 'meeting' });
  assert.equal((await act({ action: 'pause' }, '1004')).is_paused, true);
  assert.deepEqual(order, ['lunch']);
  stuck = false;
  const { value } = await inTime(clock, Promise.all([first, second]));
  assert.ok(value[0] instanceof Error);
  assert.equal(value[1].pause_reason, 'meeting');
  assert.deepEqual(order, ['lunch', 'ready', 'meeting']);
});

test('agents - the waiting requests and the rate of one agent are limited', async (t) => {
  const { pbx, act, fails, clock } = await agentsRig(t, { waiting: 2, rate: { burst: 4, per_second: 1 } });
  await act({ action: 'login', queue: 'support' });
  pbx.script(() => 'hang');
  const running = [1, 2, 3].map(() => act({ action: 'pause' }).catch((e: unknown) => e));
  const error = await fails({ action: 'pause' });
  assert.equal(error.code, 'too_many_requests');
  assert.equal(error.extras.retry_after_seconds, 1);
  pbx.script(() => 'ok');
  await inTime(clock, Promise.all(running));
  await clock.advance(60_000);
  await act({ action: 'unpause' });
  for (const action of ['pause', 'unpause', 'pause']) await act({ action });
  assert.equal((await fails({ action: 'unpause' })).code, 'too_many_requests');
  assert.equal((await act({ action: 'pause' })).is_paused, true, 'a request without a change does not count');
  await clock.advance(1_000);
  assert.equal((await act({ action: 'unpause' })).is_paused, false);
});
