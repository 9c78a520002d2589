import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueueReply, QueuesReply } from '@offhook/contract/queues.ts';
import { ServiceError } from '../../core/errors.ts';
import { chan } from '../../../test/support/model-scene.ts';
import { queuesRig } from '../../../test/support/queues-rig.ts';
import { until } from '../../../test/support/until.ts';

const ID = chan('1');
const READER = { scopes: ['queues:read'], queues: ['support'] } as const;
const STEERER = {
  scopes: ['queues:read', 'queues:control'],
  queues: ['support'],
  extensions: ['1004'],
} as const;
const move = `/queues/support/callers/${ID}/move`;

test('queues - access: an agent its own, a supervisor all, a key its objects', async (t) => {
  const { request } = await queuesRig(t, {
    keys: { reader: READER, other: { scopes: ['calls:read'], queues: null } },
  });
  const names = async (token: string) => {
    const { status, body } = await request(token, 'GET', '/queues');
    return status === 200 ? QueuesReply.parse(body).queues.map((q) => q.name) : status;
  };
  // The fixture's agent is 1003, who works in both.
  assert.deepEqual(await names('token-agent'), ['support', 'sales']);
  assert.deepEqual(await names('token-supervisor'), ['support', 'sales']);
  assert.deepEqual(await names('key-reader'), ['support']);
  assert.equal(await names('token-user'), 403);
  assert.equal(await names('key-other'), 403);
  const hidden = await request('key-reader', 'GET', '/queues/sales');
  const unknown = await request('key-reader', 'GET', '/queues/nothere');
  assert.deepEqual(
    [hidden.status, hidden.body.code, unknown.status, unknown.body.code],
    [404, 'no_such_queue', 404, 'no_such_queue'],
  );
});

test('queues - a display receives callers as its board shows them', async (t) => {
  const wall = { ...READER, board: { id: 1, callers: 'last_digits' } } as const;
  const { request, waits } = await queuesRig(t, { keys: { reader: READER, wall } });
  waits('1');
  const numbers = async (token: string) => {
    const { queues } = QueuesReply.parse((await request(token, 'GET', '/queues')).body);
    const { queue } = QueueReply.parse((await request(token, 'GET', '/queues/support')).body);
    return [...queues, queue].flatMap((one) => one.callers.map(({ caller }) => caller.number));
  };
  assert.deepEqual(await numbers('key-reader'), ['0305551', '0305551']);
  assert.deepEqual(await numbers('key-wall'), ['•••551', '•••551']);
});

test('queues - the state of a queue has its settings, members, callers in order, and offers with their deadline', async (t) => {
  const { request, scene, waits, queues } = await queuesRig(t);
  scene.member('support', '1003', { paused: true, paused_reason: 'lunch' });
  scene.member('support', '1002', { state: 'INUSE', in_call: true });
  waits('1');
  waits('2', 'support', 1, 7);
  scene.created('l', { kind: 'local', pair: 'p', of: '1' });
  scene.send({
    type: 'offer.created',
    queue: 'support',
    interface: 'Local/1002@queue-agent',
    caller: ID,
    agent: chan('l'),
  });
  const { body } = await request('token-agent', 'GET', '/queues/support');
  const { queue, stale } = QueueReply.parse(body);
  assert.equal(stale, false);
  assert.deepEqual(
    [queue.number, queue.title, queue.strategy, queue.ring_seconds, queue.wrap_up_seconds],
    ['500', 'Support', 'ringall', 15, 5],
  );
  assert.deepEqual(
    queue.members.map((m) => [m.extension, m.paused, m.pause_reason, m.in_call, m.device_state]),
    [
      ['1002', false, null, true, 'INUSE'],
      ['1003', true, 'lunch', false, 'NOT_INUSE'],
    ],
  );
  assert.deepEqual(
    queue.callers.map((c) => [c.id, c.call_id, c.position, c.priority, c.caller.number]),
    [
      [chan('2'), 'ast1:2', 1, 7, '0305552'],
      [ID, 'ast1:1', 2, null, '0305551'],
    ],
  );
  const [offer] = queue.offers;
  assert.deepEqual([offer?.extension, offer?.caller_id, offer?.call_id], ['1002', ID, 'ast1:1']);
  assert.equal(Date.parse(offer?.deadline ?? '') - Date.parse(offer?.created_at ?? ''), 15_000);
  assert.deepEqual(
    queues.snapshot(['sales']).queues.map((q) => [q.name, q.members, q.callers]),
    [['sales', [], []]],
    'a queue the engine does not hold is empty',
  );
});

test('queues - stale while the link is down; nothing is sent then', async (t) => {
  const { request, waits, cut, asked } = await queuesRig(t);
  waits('1');
  cut();
  const { body } = await request('token-supervisor', 'GET', '/queues');
  assert.equal(QueuesReply.parse(body).stale, true);
  const refused = await request('token-supervisor', 'POST', move, { queue: 'sales' });
  assert.deepEqual([refused.status, refused.body.code], [503, 'engine_unavailable']);
  assert.deepEqual(asked, []);
});

test('queues - a move marks the caller before the command, succeeds once it waits there, and is audited', async (t) => {
  const rig = await queuesRig(t);
  const { request, waits, asked, inputs, leaves, joins, published, trail } = rig;
  waits('1');
  let done = false;
  const answer = request('token-supervisor', 'POST', move, { queue: 'sales', position: 2 }).finally(() => {
    done = true;
  });
  await until('it was sent', () => asked.length === 1);
  assert.deepEqual(asked, [
    {
      verb: 'take',
      queue: 'support',
      caller: ID,
      to: { queue: 'sales', number: '510', position: 2, priority: 0 },
    },
  ]);
  assert.deepEqual(
    inputs.map((i) => i.type),
    ['operation.sent', 'caller.taken'],
  );
  leaves('1', 'support');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done, false, 'the caller left one queue and does not wait in the other yet');
  joins('1', 'sales');
  await until('the priority is asked for', () => asked.length === 2);
  rig.shows('sales', ['1', 0]);
  const { status, body } = await answer;
  assert.equal(status, 200, JSON.stringify(body));
  const left = published.find((e) => e.type === 'queue.caller_left');
  assert.equal(left?.data.reason, 'moved');
  const { operation_id, queue, caller } = body as unknown as {
    operation_id: string;
    queue: string;
    caller: { id: string; position: number };
  };
  assert.deepEqual([queue, caller.id, caller.position], ['sales', ID, 1]);
  assert.deepEqual(
    published.filter((e) => e.caused_by === operation_id).map((e) => e.type),
    ['queue.caller_left', 'queue.caller_joined'],
  );
  assert.deepEqual(
    trail.map((l) => [l.action, l.actor, l.object, l.outcome, l.detail?.['to']]),
    [['queue.move_caller', 'supervisor', 'support', 'ok', 'sales']],
  );
});

test('queues - a caller that hangs up before the move has abandoned, and the move fails', async (t) => {
  const { request, waits, asked, leaves, scene, published, trail } = await queuesRig(t);
  waits('1');
  const answer = request('token-supervisor', 'POST', move, { position: 1 });
  await until('it was sent', () => asked.length === 1);
  scene.send({ type: 'channel.ending', id: ID });
  leaves('1', 'support');
  scene.hangup('1');
  const { status, body } = await answer;
  assert.deepEqual([status, body.code], [404, 'no_such_caller']);
  assert.ok(published.some((e) => e.type === 'queue.caller_abandoned'));
  assert.deepEqual([trail[0]?.outcome, trail[0]?.detail?.['code']], ['refused', 'no_such_caller']);
});

test('queues - a refusal by the engine is no success, and leaves no mark on the caller', async (t) => {
  const { request, waits, leaves, published } = await queuesRig(t, {
    answer: () => {
      throw new ServiceError('no_such_caller', 'the caller no longer waits in this queue');
    },
  });
  waits('1');
  const { status, body } = await request('token-supervisor', 'POST', move, { queue: 'sales' });
  assert.deepEqual([status, body.code], [404, 'no_such_caller']);
  leaves('1', 'support');
  const left = published.find((e) => e.type === 'queue.caller_left');
  assert.equal(left?.data.reason, 'other', 'it left for another reason later');
});

test('queues - an answer of the engine without a fact is a timeout', async (t) => {
  const { request, waits, trail } = await queuesRig(t, { confirm_ms: 20 });
  waits('1');
  for (const [path, body] of [
    [move, { queue: 'sales' }],
    [`/queues/support/callers/${ID}/withdraw`, {}],
    [`/queues/support/callers/${ID}/priority`, { priority: 3 }],
  ] as const) {
    const answer = await request('token-supervisor', 'POST', path, body);
    assert.deepEqual([answer.status, answer.body.code], [504, 'engine_timeout'], path);
  }
  assert.deepEqual(
    trail.map((l) => l.outcome),
    ['failed', 'failed', 'failed'],
  );
});

test('queues - a late answer is a success if the fact arrived', async (t) => {
  const rig = await queuesRig(t, {
    answer: () => {
      rig.leaves('1', 'support');
      throw new ServiceError('engine_timeout', 'no answer came');
    },
  });
  rig.waits('1');
  const { status } = await rig.request(
    'token-supervisor',
    'POST',
    `/queues/support/callers/${ID}/withdraw`,
    {},
  );
  assert.equal(status, 200);
  const left = rig.published.find((e) => e.type === 'queue.caller_left');
  assert.equal(left?.data.reason, 'withdrawn');
});

test('queues - a new priority succeeds once a fresh snapshot shows it; an unchanged one needs no snapshot', async (t) => {
  const rig = await queuesRig(t);
  rig.waits('1');
  rig.waits('2', 'support', 2);
  const path = `/queues/support/callers/${chan('2')}/priority`;
  const answer = rig.request('token-supervisor', 'POST', path, { priority: 9 });
  await until('a snapshot is asked for', () => rig.asked.length === 2);
  assert.deepEqual(rig.asked, [
    { verb: 'priority', queue: 'support', caller: chan('2'), priority: 9 },
    { verb: 'resync' },
  ]);
  rig.shows('support', ['1', 0], ['2', 0]);
  rig.shows('support', ['2', 9], ['1', 0]);
  const { status, body } = await answer;
  assert.equal(status, 200);
  const { caller, operation_id } = body as unknown as {
    caller: { position: number; priority: number };
    operation_id: string;
  };
  assert.deepEqual([caller.position, caller.priority], [1, 9]);
  const changed = rig.published.filter((e) => e.type === 'queue.caller_changed');
  assert.deepEqual(
    changed.map((e) => [e.data.leg_id, e.data.position, e.data.priority, e.caused_by]),
    [[chan('2'), 1, 9, operation_id]],
  );
  assert.ok(!rig.published.some((e) => e.type === 'engine.resynced'), 'nothing was missed');
  assert.equal((await rig.request('token-supervisor', 'POST', path, { priority: 9 })).status, 200);
  assert.equal(rig.asked.length, 2, 'nothing was sent again');
});

test('queues - the priority a caller has already is confirmed by the engine', async (t) => {
  let stopped = true;
  const rig = await queuesRig(t, {
    roundTrip: async () => {
      if (stopped) throw new ServiceError('engine_timeout', 'no answer');
    },
  });
  rig.waits('1', 'support', 1, 0);
  const path = `/queues/support/callers/${chan('1')}/priority`;
  const same = () => rig.request('token-supervisor', 'POST', path, { priority: 0 });
  assert.equal((await same()).status, 504);
  stopped = false;
  assert.equal((await same()).status, 200);
  assert.deepEqual(rig.asked, []);
});

test('queues - members are changed by the rules of agents; a refusal is audited', async (t) => {
  const { request, members, trail } = await queuesRig(t, { keys: { steerer: STEERER } });
  assert.equal(
    (await request('token-supervisor', 'POST', '/queues/sales/members', { extension: '1004' })).status,
    200,
  );
  assert.equal((await request('token-admin', 'DELETE', '/queues/support/members/1003')).status, 200);
  assert.equal((await request('key-steerer', 'DELETE', '/queues/sales/members/1003')).status, 404);
  assert.equal((await request('key-steerer', 'DELETE', '/queues/support/members/1003')).status, 403);
  const outside = await request('key-steerer', 'POST', '/queues/support/members', { extension: '1003' });
  assert.equal(outside.status, 403);
  assert.deepEqual(members, ['supervisor +1004 sales', 'admin -1003 support']);
  assert.deepEqual(
    trail.map(({ action, object, outcome, detail }) => [action, object, outcome, detail]),
    [
      ['agent.logout', '1003', 'refused', { queue: 'sales', code: 'no_such_queue' }],
      ['agent.logout', '1003', 'refused', { queue: 'support', code: 'forbidden' }],
      ['agent.login', '1003', 'refused', { queue: 'support', code: 'forbidden' }],
    ],
  );
});

test('queues - only supervisors change a queue, and a key only with the scope and within its objects', async (t) => {
  const { request, waits, asked, trail } = await queuesRig(t, { keys: { reader: READER, steerer: STEERER } });
  waits('1');
  for (const [token, path, status, code] of [
    ['token-user', move, 403, 'forbidden'],
    ['token-agent', move, 403, 'forbidden'],
    ['key-reader', move, 403, 'forbidden'],
    ['key-steerer', `/queues/sales/callers/${ID}/move`, 404, 'no_such_queue'],
    ['key-steerer', move, 404, 'no_such_queue'],
    ['token-supervisor', `/queues/nothere/callers/${ID}/move`, 404, 'no_such_queue'],
    ['token-supervisor', `/queues/support/callers/${chan('9')}/move`, 404, 'no_such_caller'],
    ['token-supervisor', `/queues/sales/callers/${ID}/move`, 404, 'no_such_caller'],
  ] as const) {
    const answer = await request(token, 'POST', path, { queue: 'sales' });
    assert.deepEqual([answer.status, answer.body.code], [status, code], `${token} ${path}`);
  }
  assert.deepEqual(asked, []);
  assert.ok(trail.every((l) => l.outcome === 'refused'));
});

test('queues - invalid input is refused before anything is sent', async (t) => {
  const { request, waits, asked, inputs, commands } = await queuesRig(t);
  waits('1');
  for (const name of ['a%00b', 'a%0d%0ab', 'a%250d', 'A', 'x'.repeat(65), '..', 'sup%20port', '%E2%80%A8']) {
    const read = await request('token-supervisor', 'GET', `/queues/${name}`);
    assert.ok([400, 404].includes(read.status), `${name}: ${read.status}`);
    const steer = await request('token-supervisor', 'POST', `/queues/${name}/callers/${ID}/withdraw`, {});
    assert.ok([400, 404].includes(steer.status), `${name}: ${steer.status}`);
  }
  for (const [path, body] of [
    [move, {}],
    [move, { priority: 3 }],
    [move, { queue: 'a\r\nb' }],
    [move, { queue: 'a\0b' }],
    [move, { queue: 'x'.repeat(65) }],
    [move, { position: 0 }],
    [move, { position: 1.5 }],
    [move, { position: '1' }],
    [move, { queue: 'sales', context: 'x' }],
    [move, { queue: 'sales', priority: -1 }],
    [`/queues/support/callers/${ID}/priority`, {}],
    [`/queues/support/callers/${ID}/priority`, { priority: 1e12 }],
    [`/queues/support/callers/${ID}/priority`, { priority: '5' }],
    [`/queues/support/callers/${ID}/withdraw`, { to: '1001' }],
    ['/queues/support/callers/ast1:a%20b/withdraw', {}],
    ['/queues/support/callers/nocolon/withdraw', {}],
    ['/queues/support/members', { extension: '1'.repeat(65) }],
    ['/queues/support/members', { extension: '*' }],
    ['/queues/support/members', { extension: '１００３' }],
    ['/queues/support/members', {}],
  ] as const) {
    const { status, body: problem } = await request('token-supervisor', 'POST', path, body);
    assert.deepEqual(
      [status, problem.code],
      [400, 'invalid_request'],
      `${path} ${JSON.stringify(body)}: ${status}`,
    );
  }
  const actor = {
    caller: {
      session_id: 2,
      person_id: 2,
      extension: '1002',
      username: 'sam',
      level: 'supervisor',
      expires_at: 0,
      cookie: false,
      key: null,
    },
    ip: null,
  } as const;
  await assert.rejects(
    commands.run(actor, 'queues.withdraw_caller', { name: 'support', id: 'a\r\nb' }),
    (e: unknown) => e instanceof ServiceError && e.code === 'invalid_request',
  );
  assert.deepEqual([asked, inputs], [[], []]);
});

test('queues - the simultaneous changes of one person are limited', async (t) => {
  const held = Promise.withResolvers<void>();
  const { request, waits, asked } = await queuesRig(t, { answer: () => held.promise, confirm_ms: 20 });
  waits('1');
  const path = `/queues/support/callers/${ID}/priority`;
  const many = Array.from({ length: 8 }, (_, i) =>
    request('token-supervisor', 'POST', path, { priority: i + 1 }),
  );
  await until('all are under way', () => asked.length === 8);
  const ninth = await request('token-supervisor', 'POST', path, { priority: 50 });
  assert.deepEqual([ninth.status, ninth.body.code], [429, 'too_many_requests']);
  held.resolve();
  assert.deepEqual(
    (await Promise.all(many)).map((r) => r.status),
    Array.from({ length: 8 }, () => 504),
  );
  assert.equal(
    (await request('token-supervisor', 'POST', path, { priority: 1 })).status,
    504,
    'the limit is free again',
  );
});

test('queues - a change without its audit entry fails', async (t) => {
  const { request, waits, leaves, trail, asked } = await queuesRig(t, { auditFails: true });
  waits('1');
  const answer = request('token-supervisor', 'POST', `/queues/support/callers/${ID}/withdraw`, {});
  await until('it was sent', () => asked.length === 1);
  leaves('1', 'support');
  const { status, body } = await answer;
  assert.deepEqual([status, body.code, trail], [503, 'store_unavailable', []]);
});

test('queues - a move within a queue continues its visit, which ends if the caller does not return', async (t) => {
  const rig = await queuesRig(t, { confirm_ms: 2_000 });
  const { request, waits, joins, leaves, asked, published } = rig;
  waits('1');
  waits('2', 'support', 2);
  const start = published.length;
  const answer = request('token-supervisor', 'POST', move, { position: 2 });
  await until('it was sent', () => asked.length === 1);
  leaves('1', 'support');
  joins('1', 'support', 2);
  await until('the priority is asked for', () => asked.length === 2);
  rig.shows('support', ['2', 0], ['1', 0]);
  const { status, body } = await answer;
  assert.equal(status, 200, JSON.stringify(body));
  const { operation_id } = body as unknown as { operation_id: string };
  assert.deepEqual(
    published.slice(start).flatMap((e) => (e.type.startsWith('queue.caller') ? [[e.type, e.caused_by]] : [])),
    [['queue.caller_changed', operation_id]],
  );
  const lost = request('token-supervisor', 'POST', move, { position: 1 });
  await until('it was sent again', () => asked.length === 3);
  leaves('1', 'support');
  assert.equal((await lost).status, 504);
  const left = published.findLast((e) => e.type === 'queue.caller_left');
  assert.equal(left?.data.reason, 'other');
});
