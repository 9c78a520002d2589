import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsRig } from '../../../test/support/calls-rig.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceError } from '../../core/errors.ts';
import { bridgeId, callId, channelId, nodeId } from '@offhook/contract/ids.ts';
import { bridge, chan, channel } from '../../../test/support/model-scene.ts';
import type { PlacedCall } from '../../ports/engine-verbs.ts';

const PERSON = 'token-agent'; // 1003
const OTHER = 'token-user'; // 1005
const BOSS = 'token-supervisor'; // 1002
const refused = (text: string) => () => {
  throw new ServiceError('engine_refused', text);
};

test('calls - placed: identified before the request, answered once the own device rings, finished when it is answered', async (t) => {
  const rig = await callsRig(t);
  rig.scene.device('1003-web', 'NOT_INUSE');
  const answer = rig.post(PERSON, '', { to: '1004', device: 'web', time_limit_seconds: 60 });
  await until('it was asked for', () => rig.asked.length === 1);
  const [sent] = rig.inputs;
  assert.equal(sent?.type, 'operation.sent');
  const { verb, args, action_id } = rig.asked[0]!;
  const placed = args[0] as PlacedCall;
  assert.equal(verb, 'placeCall');
  assert.match(placed.pair[0], /^ast1:oh-[0-9a-f]{12}-\d{10}\.1$/);
  assert.deepEqual(
    { ...placed, pair: null },
    {
      pair: null,
      extension: '1003',
      device: 'webrtc',
      number: '1004',
      ring_seconds: 30,
      part: { does: 'call', caller_number: '1003', limit_seconds: 60 },
    },
  );
  const own = rig.rings('1003-web');
  const { status, body } = await answer;
  assert.equal(status, 202);
  assert.deepEqual(body['operation'], {
    id: action_id,
    action: 'calls.originate',
    state: 'pending',
    call_id: placed.pair[0],
    leg_id: null,
    own_call_id: null,
  });
  assert.deepEqual(
    rig.published.filter((e) => e.type.startsWith('call.')).map((e) => [e.type, e.caused_by]),
    [
      ['call.started', action_id],
      ['call.ringing', action_id],
    ],
  );
  assert.equal(rig.published.find((e) => e.type === 'call.started')?.data.dialled, '1004');
  rig.scene.state(own, 'up');
  rig.pairEnds();
  await until('the outcome', () => rig.outcomes().length === 1);
  assert.deepEqual(rig.outcomes(), [['calls.originate', 'succeeded', null]]);
  assert.equal(rig.published.at(-1)?.caused_by, action_id);
  assert.deepEqual(
    rig.trail.map((l) => [l.action, l.outcome, l.actor, l.object]),
    [['calls.originate', 'ok', 'agent', placed.pair[0]]],
  );
});

test('calls - placed: no ringing or answering device is a failure; without a registered device nothing is sent', async (t) => {
  const rig = await callsRig(t);
  for (const kind of ['', '-web', '-mobile']) rig.scene.device(`1003${kind}`, 'UNAVAILABLE');
  const none = await rig.post(PERSON, '', { to: '1004' });
  assert.deepEqual([none.status, none.body.code], [409, 'device_unreachable']);
  rig.scene.device('1003', 'NOT_INUSE');
  const other = await rig.post(PERSON, '', { to: '1004', device: 'mobile' });
  assert.deepEqual([other.status, other.body.code], [409, 'device_unreachable']);
  assert.equal(rig.asked.length, 0);

  const unrung = rig.post(PERSON, '', { to: '1004' });
  await until('it was asked for', () => rig.asked.length === 1);
  const [near] = (rig.asked.at(-1)!.args[0] as PlacedCall).pair;
  rig.scene.created(near.split(':')[1]!, { kind: 'local', pair: 'p' });
  rig.pairEnds();
  assert.deepEqual([(await unrung).status, (await unrung).body.code], [409, 'device_unreachable']);

  const untaken = rig.post(PERSON, '', { to: '1004' });
  await until('it was asked for', () => rig.asked.length === 2);
  const own = rig.rings('1003');
  assert.equal((await untaken).status, 202);
  rig.scene.hangup(own, 21);
  rig.pairEnds();
  await until('both outcomes', () => rig.outcomes().length === 2);
  assert.deepEqual(rig.outcomes(), [
    ['calls.originate', 'failed', 'device_unreachable'],
    ['calls.originate', 'failed', 'device_no_answer'],
  ]);
});

test('calls - an originate that a command hangs up before the answer is gone, not unanswered', async (t) => {
  const rig = await callsRig(t);
  rig.scene.device('1003', 'NOT_INUSE');
  const placed = rig.post(PERSON, '', { to: '1004' });
  await until('it was asked for', () => rig.asked.length === 1);
  const own = rig.rings('1003');
  const { body } = await placed;
  const ended = rig.post(
    PERSON,
    `/${String((body as { operation?: { call_id?: string } }).operation?.call_id)}/hangup`,
    {},
  );
  await until('the hang-up', () => rig.asked.length > 1);
  rig.scene.hangup(own, 16);
  rig.pairEnds();
  assert.equal((await ended).status, 200);
  const outcome = () => rig.outcomes().find(([action]) => action === 'calls.originate');
  await until('the outcome', () => outcome() !== undefined);
  assert.deepEqual(outcome(), ['calls.originate', 'failed', 'call_gone']);
});

test('calls - events at a parking slot name the command that took or ended the parked call', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  rig.scene.send({ type: 'channel.parked', id: chan('2'), slot: '701', lot: 'default' });
  rig.scene.hangup('1');
  const ended = rig.post(BOSS, `/${call}/hangup`, { leg_id: chan('2') });
  await until('the hang-up', () => rig.asked.length === 1);
  rig.scene.hangup('2', 16);
  const { status, body } = await ended;
  assert.equal(status, 200, JSON.stringify(body));
  const freed = rig.published.find((e) => e.type === 'parking.slot_freed');
  assert.ok(freed?.caused_by !== undefined);
  assert.equal(freed.caused_by, rig.published.find((e) => e.type === 'call.ended')?.caused_by);
});

test('calls - an unknown outcome is reported as unknown, and nothing is sent twice', async (t) => {
  const answers: (() => Promise<void> | void)[] = [];
  const rig = await callsRig(t, { confirm_ms: 60, answer: () => answers.shift()?.() });
  const call = rig.talk();
  const silent = await rig.post(PERSON, `/${call}/hold`);
  assert.deepEqual([silent.status, silent.body.code], [504, 'engine_timeout']);
  answers.push(() => Promise.reject(new ServiceError('engine_timeout', 'no answer')));
  const unanswered = await rig.post(PERSON, `/${call}/hold`);
  assert.deepEqual([unanswered.status, unanswered.body.code], [504, 'engine_timeout']);
  assert.equal(rig.asked.length, 2, 'one command for each request');
  assert.deepEqual(rig.outcomes(), [
    ['calls.hold', 'unknown', 'engine_timeout'],
    ['calls.hold', 'unknown', 'engine_timeout'],
  ]);
});

test('calls - the answer is lost, but the fact comes: that is a success', async (t) => {
  const rig = await callsRig(t, {
    answer() {
      setTimeout(
        () => rig.scene.send({ type: 'channel.held', id: chan('1'), held: true, by: 'operation' }),
        10,
      );
      throw new ServiceError('engine_timeout', 'no answer');
    },
  });
  assert.equal((await rig.post(PERSON, `/${rig.talk()}/hold`)).status, 200);
  assert.deepEqual(rig.outcomes(), [['calls.hold', 'succeeded', null]]);
});

test('calls - while the link is down nothing is sent; if it goes down meanwhile the outcome is unknown', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const waiting = rig.post(PERSON, `/${call}/hold`);
  await until('it was asked for', () => rig.asked.length === 1);
  rig.cut();
  const lost = await waiting;
  assert.deepEqual([lost.status, lost.body.code], [503, 'engine_unavailable']);
  assert.deepEqual(rig.outcomes(), [['calls.hold', 'unknown', 'engine_unavailable']]);
  for (const [url, body] of [
    ['', { to: '1004' }],
    [`/${call}/hangup`, {}],
    [`/${call}/transfer`, { kind: 'blind', to: '1001' }],
  ] as const) {
    const down = await rig.post(PERSON, url, body);
    assert.deepEqual([down.status, down.body.code], [503, 'engine_unavailable'], url);
  }
  assert.equal(rig.asked.length, 1);
});

test('calls - the other side hangs up at that moment: 409, not a refusal of the engine', async (t) => {
  const rig = await callsRig(t, {
    answer: (one) => {
      if (one.verb !== 'blindTransfer') return;
      setTimeout(() => ['2', '1'].map((id) => rig.scene.hangup(id)), 5);
      refused('No such channel')();
    },
  });
  const call = rig.talk();
  const gone = await rig.post(PERSON, `/${call}/transfer`, { kind: 'blind', to: '1001' });
  assert.deepEqual([gone.status, gone.body.code], [409, 'call_gone']);
  const later = await rig.post(PERSON, `/${call}/hold`);
  assert.deepEqual([later.status, later.body.code], [409, 'call_gone'], 'an id that was one');
  const never = await rig.post(PERSON, '/ast1:1.2/hold');
  assert.deepEqual([never.status, never.body.code], [404, 'not_found']);
});

test('calls - a refusal that nothing explains is the engine’s', async (t) => {
  const rig = await callsRig(t, { answer: refused('Permission denied') });
  const call = rig.talk();
  const reply = await rig.post(PERSON, `/${call}/hold`);
  assert.deepEqual([reply.status, reply.body.code], [502, 'engine_refused']);
  assert.deepEqual(rig.outcomes(), [['calls.hold', 'failed', 'engine_refused']]);
});

test('calls - a repeat with the same key is answered as the first, and placed once', async (t) => {
  const rig = await callsRig(t);
  rig.scene.device('1003', 'NOT_INUSE');
  const headers = { 'idempotency-key': 'once' };
  const first = rig.post(PERSON, '', { to: '1004' }, headers);
  await until('it was asked for', () => rig.asked.length === 1);
  rig.rings('1003');
  const answer = await first;
  assert.equal(answer.status, 202);
  const again = await rig.post(PERSON, '', { to: '1004' }, headers);
  assert.deepEqual([again.status, again.body], [answer.status, answer.body]);
  const other = await rig.post(PERSON, '', { to: '1001' }, headers);
  assert.deepEqual([other.status, other.body.code], [409, 'idempotency_conflict']);
  assert.equal(rig.asked.length, 1);
});

test('calls - access: the own leg, every leg for supervisors, those of its extensions for a key', async (t) => {
  const rig = await callsRig(t, {
    confirm_ms: 20,
    keys: {
      own: { scopes: ['calls:control'], extensions: ['1004'] },
      reader: { scopes: ['calls:read'], extensions: ['1004'] },
      foreign: { scopes: ['calls:control'], extensions: ['1006'] },
    },
  });
  const call = rig.talk();
  const hold = async (token: string, body: object = {}) => {
    const before = rig.asked.length;
    const { body: reply } = await rig.post(token, `/${call}/hold`, body);
    const [sent] = rig.asked.slice(before);
    return sent === undefined ? reply.code : sent.args[0];
  };
  assert.equal(await hold(PERSON), chan('1'), 'the own leg');
  assert.equal(await hold(PERSON, { leg_id: chan('2') }), 'forbidden', 'a foreign leg');
  assert.equal(await hold(OTHER), 'not_found', 'no part in it: no such call');
  assert.equal(await hold(OTHER, { leg_id: chan('1') }), 'not_found');
  assert.equal(await hold(BOSS), 'invalid_request', 'the leg must be named');
  assert.equal(await hold(BOSS, { leg_id: chan('2') }), chan('2'));
  assert.equal(await hold('key-own'), chan('2'), 'the only one it may steer');
  assert.equal(await hold('key-own', { leg_id: chan('1') }), 'forbidden');
  assert.equal(await hold('key-reader'), 'forbidden', 'its scope is another');
  assert.equal(await hold('key-foreign'), 'not_found');

  const place = async (token: string, body: object) => (await rig.post(token, '', body)).body.code;
  assert.equal(await place('key-own', { to: '1001' }), 'invalid_request', 'a key has no device of its own');
  assert.equal(await place('key-own', { to: '1001', from: '1003' }), 'forbidden');
  assert.equal(await place(PERSON, { to: '1001', from: '1004' }), 'forbidden');
  assert.equal(await place(BOSS, { to: '1001', from: '1007' }), 'invalid_request', 'nobody active');
  assert.ok(
    rig.trail.some(
      (l) => l.outcome === 'refused' && l.action === 'calls.hold' && l.detail?.['code'] === 'forbidden',
    ),
    'refusals are in the trail',
  );
});

test('calls - hang-up: the own leg; for a supervisor with no part in it the whole call', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const own = rig.post(PERSON, `/${call}/hangup`);
  await until('it was asked for', () => rig.asked.length === 1);
  assert.deepEqual(rig.asked[0]!.args, [chan('1')]);
  rig.scene.hangup('1');
  const { status, body } = await own;
  assert.equal(status, 200);
  assert.equal((body['operation'] as unknown as { state: string }).state, 'succeeded');
  rig.scene.hangup('2');
  assert.deepEqual(
    rig.published.filter((e) => /^call.(left|ended)$/.test(e.type)).map((e) => [e.type, e.caused_by]),
    ['call.left', 'call.ended'].map((type) => [type, rig.asked[0]!.action_id]),
  );

  const second = rig.talk('1003', '1004', '5', '6');
  const whole = rig.post(BOSS, `/${second}/hangup`);
  await until('both legs are ended', () => rig.asked.length === 3);
  rig.scene.hangup('5');
  rig.scene.hangup('6');
  assert.equal((await whole).status, 200);
});

test('calls - listening is for supervisors only, never for a key; it is audited before the request', async (t) => {
  const rig = await callsRig(t, { keys: { all: { scopes: ['calls:control'] } } });
  const call = rig.talk();
  rig.scene.device('1002', 'NOT_INUSE');
  for (const does of ['listen', 'whisper', 'barge'] as const) {
    for (const token of [PERSON, OTHER]) {
      const reply = await rig.post(token, `/${call}/${does}`);
      assert.deepEqual([reply.status, reply.body.code], [403, 'forbidden'], does);
      const line = rig.trail.at(-1)!;
      assert.deepEqual([line.action, line.outcome, line.object], [`calls.${does}`, 'refused', call]);
    }
    assert.equal((await rig.post('key-all', `/${call}/${does}`, { from: '1002' })).status, 403);
  }
  assert.equal(rig.asked.length, 0);
  const answer = rig.post(BOSS, `/${call}/whisper`);
  await until('it was asked for', () => rig.asked.length === 1);
  const line = rig.trail.at(-1)!;
  assert.deepEqual(
    [line.action, line.outcome, line.detail?.['listened_to']],
    ['calls.whisper', 'ok', '1003'],
  );
  const placed = rig.asked.at(-1)?.args[0] as PlacedCall;
  assert.deepEqual(
    [placed.extension, placed.part],
    ['1002', { does: 'whisper', channel: chan('1'), session_id: 2 }],
  );
  const own = rig.rings('1002');
  assert.equal((await answer).status, 202);
  rig.scene.state(own, 'up');
  rig.pairEnds();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(rig.outcomes(), [], 'answered is not yet listening');
  rig.scene.send({ type: 'channel.listening', id: chan(own), to: chan('1') });
  await until('the outcome', () => rig.outcomes().length === 1);
  assert.deepEqual(
    rig.live.call(call)?.legs.map((l) => l.extension),
    ['1003', '1004'],
  );
});

test('calls - hold and retrieve: only a talking leg, only once, not a hold by the device itself', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const held = (value: boolean, by?: 'operation') =>
    rig.scene.send({ type: 'channel.held', id: chan('1'), held: value, ...(by === undefined ? {} : { by }) });
  const code = async (url: string, token = PERSON) => (await rig.post(token, `/${call}${url}`)).body.code;
  assert.equal(await code('/retrieve'), 'wrong_call_state');
  const hold = rig.post(PERSON, `/${call}/hold`);
  await until('hold was asked for', () => rig.asked.length === 1);
  assert.deepEqual(rig.asked[0]!.args, [chan('1'), [chan('2')]]);
  held(true, 'operation');
  assert.equal((await hold).status, 200);
  assert.equal(await code('/hold'), 'wrong_call_state');
  const key = { leg_id: chan('2') };
  assert.equal(
    (await rig.post(BOSS, `/${call}/hold`, key)).body.code,
    'wrong_call_state',
    'who is held holds nobody',
  );
  const retrieve = rig.post(PERSON, `/${call}/retrieve`);
  await until('retrieve was asked for', () => rig.asked.length === 2);
  held(false, 'operation');
  assert.equal((await retrieve).status, 200);
  held(true);
  const attended = { kind: 'attended', to: '1001' };
  for (const [verb, body] of [
    ['retrieve', {}],
    ['transfer', attended],
  ] as const) {
    const refused = (await rig.post(PERSON, `/${call}/${verb}`, body)).body;
    assert.deepEqual(
      [refused.code, refused['detail']],
      ['wrong_call_state', 'the call is held at the device; retrieve it there'],
      verb,
    );
  }
  assert.equal(rig.asked.length, 2);
  assert.deepEqual(
    rig.published.flatMap((e) =>
      e.type === 'call.held' || e.type === 'call.retrieved' ? [[e.type, e.caused_by]] : [],
    ),
    [
      ['call.held', rig.asked[0]!.action_id],
      ['call.retrieved', rig.asked[1]!.action_id],
      ['call.held', undefined],
    ],
  );
  held(true, 'operation');
  const consult = rig.post(PERSON, `/${call}/transfer`, attended);
  await until('the hold of the service ends', () => rig.asked.length === 3);
  held(false, 'operation');
  assert.equal((await consult).body.code, 'wrong_call_state', 'the device holds the call too');
  assert.equal(rig.asked.length, 3);
});

test('calls - hold right after the answer is sent once the engine has moved the leg beside the other one', async (t) => {
  const rig = await callsRig(t);
  const { scene } = rig;
  scene.created('1', { endpoint: '1004', state: 'up' });
  scene.created('l1', { kind: 'local', pair: 'p', of: '1' });
  scene.created('l2', { kind: 'local', pair: 'p', of: '1' });
  scene.created('2', { endpoint: '1003', of: '1', state: 'up' });
  scene.enter('inner', '2');
  scene.enter('inner', 'l2');
  scene.enter('outer', 'l1');
  scene.enter('outer', '1');
  const waits = t.mock.method(rig.live, 'until');
  const hold = rig.post(PERSON, `/${chan('1')}/hold`);
  await until('it waits', () => waits.mock.callCount() > 0);
  scene.leave('inner', '2');
  scene.enter('outer', '2');
  assert.equal(rig.asked.length, 0, 'its half of the pair is still beside it');
  scene.leave('outer', 'l1');
  await until('hold was asked for', () => rig.asked.length === 1);
  assert.deepEqual(rig.asked[0]!.args, [chan('2'), [chan('1')]]);
  scene.send({ type: 'channel.held', id: chan('2'), held: true, by: 'operation' });
  assert.equal((await hold).status, 200);
});

test('calls - hold before the engine has connected an answered leg is sent once it has', async (t) => {
  const rig = await callsRig(t);
  const { scene } = rig;
  scene.created('1', { endpoint: '1004', state: 'up' });
  scene.created('2', { endpoint: '1003', of: '1', state: 'up' });
  const waits = t.mock.method(rig.live, 'until');
  const hold = rig.post(PERSON, `/${chan('1')}/hold`);
  await until('it waits', () => waits.mock.callCount() > 0);
  scene.enter('b', '1');
  scene.enter('b', '2');
  await until('hold was asked for', () => rig.asked.length === 1);
  scene.send({ type: 'channel.held', id: chan('2'), held: true, by: 'operation' });
  assert.equal((await hold).status, 200);
});

test('calls - an attended transfer from the consult to its end, as a resource', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const state = async () => {
    const { status, body } = await rig.request(PERSON, 'GET', `/calls/${call}/transfer`);
    return status === 200 ? (body['transfer'] as unknown as { state: string }).state : body.code;
  };
  const held = (value: boolean) => rig.scene.send({ type: 'channel.held', id: chan('1'), held: value });
  const end = async (how: string, facts: () => void) => {
    const before = rig.asked.length;
    const answer = rig.post(PERSON, `/${call}/transfer/${how}`);
    await until(`${how} was asked for`, () => rig.asked.length > before);
    facts();
    return (await answer).status;
  };
  const movesRefused = async () => {
    const before = rig.asked.length;
    for (const [verb, body] of [
      ['transfer', { kind: 'attended', to: '1006' }],
      ['transfer', { kind: 'blind', to: '1006' }],
      ['transfer', { kind: 'blind', to: '700' }],
      ['park', {}],
      ['hold', {}],
      ['retrieve', {}],
    ] as const) {
      const { status, body: refused } = await rig.post(PERSON, `/${call}/${verb}`, body);
      assert.deepEqual(
        [status, refused.code, refused['detail']],
        [
          409,
          'wrong_call_state',
          'an attended transfer of this leg is under way; complete or cancel it first',
        ],
        `${verb} ${JSON.stringify(body)}`,
      );
    }
    assert.equal(rig.asked.length, before);
  };
  assert.equal(await state(), 'not_found');
  assert.equal((await rig.post(PERSON, `/${call}/transfer/complete`)).status, 404);
  const consult = rig.post(PERSON, `/${call}/transfer`, { kind: 'attended', to: '1001' });
  await until('the consult was asked for', () => rig.asked.length === 1);
  assert.deepEqual([rig.asked[0]!.verb, ...rig.asked[0]!.args], ['consult', chan('1'), '1001', '1003']);
  held(true);
  rig.scene.created('l1', { kind: 'local', pair: 'c', of: '1', dialled: '1001' });
  rig.scene.created('l2', { kind: 'local', pair: 'c', of: '1', dialled: '1001' });
  rig.scene.enter('c1', 'l1');
  rig.scene.leave('b1', '1');
  rig.scene.enter('c1', '1');
  const begun = await consult;
  assert.equal(begun.status, 200, JSON.stringify(begun.body));
  const transfer = begun.body['transfer'] as unknown as { state: string; id: string };
  assert.equal(transfer.state, 'calling');
  assert.equal((await rig.post(PERSON, `/${call}/transfer/swap`)).body.code, 'wrong_call_state');
  await movesRefused();
  rig.scene.created('3', { endpoint: '1001', of: '1' });
  rig.scene.state('3', 'ringing');
  rig.scene.state('3', 'up');
  rig.scene.enter('c2', '3');
  rig.scene.enter('c2', 'l2');
  assert.equal(await state(), 'consulting');
  await until('the consult succeeded', () => rig.outcomes().length === 1);
  await movesRefused();
  const swapped = await end('swap', () => {
    rig.scene.leave('c1', '1');
    rig.scene.enter('b1', '1');
    held(false);
  });
  assert.deepEqual([swapped, await state()], [200, 'swapped']);
  await movesRefused();
  const completed = await end('complete', () =>
    rig.scene.send({
      type: 'transfer.attended',
      first: chan('1'),
      second: chan('1'),
      first_call: chan('1') as never,
      second_call: chan('1') as never,
      to: '1001',
      succeeded: true,
    }),
  );
  assert.deepEqual([completed, await state()], [200, 'completed']);
  assert.deepEqual(
    rig.published.filter((e) => e.caused_by === transfer.id).map((e) => e.type),
    ['call.held', 'call.ringing', 'call.joined', 'operation.completed'],
  );
  rig.scene.hangup('1');
  assert.equal((await rig.post(PERSON, `/${call}/transfer/cancel`)).body.code, 'wrong_call_state');
});

test('calls - a consultation without an answer fails, and one can be canceled', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const held = (value: boolean) => rig.scene.send({ type: 'channel.held', id: chan('1'), held: value });
  const begin = async () => {
    const before = rig.asked.length;
    const answer = rig.post(PERSON, `/${call}/transfer`, { kind: 'attended', to: '1001' });
    await until('the consult was asked for', () => rig.asked.length > before);
    return { answer };
  };
  const atOnce = await begin();
  held(true);
  held(false);
  assert.equal((await atOnce.answer).body.code, 'consult_no_answer');
  const { answer } = await begin();
  held(true);
  rig.scene.leave('b1', '1');
  rig.scene.created('l1', { kind: 'local', pair: 'c', of: '1' });
  rig.scene.enter('c1', 'l1');
  rig.scene.enter('c1', '1');
  assert.equal((await answer).status, 200);
  const cancel = rig.post(PERSON, `/${call}/transfer/cancel`);
  await until('cancel was asked for', () => rig.asked.at(-1)?.verb === 'cancelConsult');
  rig.scene.leave('c1', '1');
  rig.scene.enter('b1', '1');
  held(false);
  rig.scene.hangup('l1');
  assert.equal((await cancel).status, 200);
  await until('three outcomes', () => rig.outcomes().length === 3);
  assert.deepEqual(
    rig
      .outcomes()
      .map(String)
      .toSorted((a, b) => (a < b ? -1 : 1)),
    [
      'calls.transfer,failed,consult_no_answer',
      'calls.transfer,failed,consult_no_answer',
      'calls.transfer-cancel,succeeded,',
    ],
  );
  const before = rig.asked.length;
  const blind = rig.post(PERSON, `/${call}/transfer`, { kind: 'blind', to: '1001' });
  await until('the call is transferred', () => rig.asked.length > before);
  rig.scene.hangup('1');
  assert.equal((await blind).body.code, 'call_gone', 'after the end of both it was sent');
});

test('calls - a consultation whose held party hangs up is canceled, and the own leg goes on with the new side', async (t) => {
  const rig = await callsRig(t, { confirm_ms: 2_000 });
  const call = rig.talk();
  const { scene } = rig;
  const consult = async (to: string) => {
    const before = rig.asked.length;
    const answer = rig.post(PERSON, `/${call}/transfer`, { kind: 'attended', to });
    await until('the consult was asked for', () => rig.asked.length > before);
    return { answer };
  };
  const { answer } = await consult('1001');
  scene.send({ type: 'channel.held', id: chan('1'), held: true });
  for (const half of ['l1', 'l2']) scene.created(half, { kind: 'local', pair: 'c', of: '1' });
  scene.enter('c1', 'l1');
  scene.leave('b1', '1');
  scene.enter('c1', '1');
  assert.equal((await answer).status, 200);
  scene.created('3', { endpoint: '1001', of: '1' });
  scene.state('3', 'up');
  scene.enter('c2', '3');
  scene.enter('c2', 'l2');
  const cancel = rig.post(PERSON, `/${call}/transfer/cancel`);
  await until('cancel was asked for', () => rig.asked.length === 2);
  scene.leave('b1', '2');
  scene.hangup('2');
  assert.equal((await cancel).body.code, 'call_gone', 'at once, not after the time limit');
  const shown = await rig.request(PERSON, 'GET', `/calls/${call}/transfer`);
  assert.equal((shown.body['transfer'] as unknown as { state: string }).state, 'canceled');
  const own = rig.live.leg(chan('1'));
  assert.deepEqual([own?.state, own?.held], ['connected', false]);
  for (const how of ['swap', 'complete', 'cancel'])
    assert.equal((await rig.post(PERSON, `/${call}/transfer/${how}`)).body.code, 'wrong_call_state', how);
  assert.equal(rig.asked.length, 2);
  assert.deepEqual(
    rig.published.map((e) => e.type).filter((type) => /held|left|retrieved/.test(type)),
    ['call.held', 'call.left', 'call.retrieved'],
  );
  // The engine removes the internal pair; the leg may be transferred again.
  scene.leave('c2', '3');
  scene.leave('c1', 'l1');
  scene.enter('c1', '3');
  for (const half of ['l1', 'l2']) scene.hangup(half);
  const again = await consult('1006');
  assert.deepEqual(rig.asked.at(-1)!.args, [chan('1'), '1006', '1003']);
  scene.hangup('1');
  assert.equal((await again.answer).body.code, 'call_gone');
});

test('calls - bad input is refused before anything reaches the engine', async (t) => {
  const rig = await callsRig(t, { confirm_ms: 20 });
  rig.scene.device('1003', 'NOT_INUSE');
  const call = rig.talk();
  const evil = '1004\r\n\r\nAction: Command\r\nCommand: core stop now';
  const bad: [string, object][] = [
    ...[
      evil,
      '1004\n',
      '1004\0',
      '10,04',
      '10&04',
      '１００４',
      '_X.',
      '1004@internal',
      'a',
      '',
      '1'.repeat(34),
      '+',
      1004,
    ].map((to): [string, object] => ['', { to }]),
    ['', {}],
    ...['application', 'data', 'context', 'variable', 'channel', 'exten'].map((key): [string, object] => [
      '',
      { to: '1004', [key]: 'System' },
    ]),
    ['', { to: '1004', device: 'PJSIP/1004' }],
    ['', { to: '1004', caller_id: evil }],
    ['', { to: '1004', from: '../1004' }],
    ['', { to: '1004', ring_seconds: 4 }],
    ['', { to: '1004', ring_seconds: 1e9 }],
    ['', { to: '1004', time_limit_seconds: 1.5 }],
    [`/${call}/hold`, { leg_id: `${chan('1')}\r\nAction: x` }],
    [`/${call}/hold`, { leg_id: 'PJSIP/1003-00000001' }],
    [`/${call}/hangup`, { cause: 16 }],
    [`/${call}/transfer`, { to: '1004' }],
    [`/${call}/transfer`, { kind: 'warm', to: '1004' }],
    [`/${call}/transfer`, { kind: 'blind', to: evil }],
    [`/${call}/transfer/swap`, { to: '1004' }],
    [`/${call}/dtmf`, { digits: '12A' }],
    [`/${call}/dtmf`, { digits: evil }],
    [`/${call}/dtmf`, { digits: '1'.repeat(33) }],
    [`/${call}/record`, { on: 'yes' }],
    [`/${call}/record`, { on: true, file: '/etc/passwd' }],
    [`/${encodeURIComponent(`${call}\r\nAction: x`)}/hold`, {}],
    ['/1004/hold', {}],
  ];
  for (const [url, body] of bad) {
    const { status, body: reply } = await rig.post(PERSON, url, body);
    assert.ok(
      status === 400 || status === 404 || (status === 403 && reply.code === 'destination_not_allowed'),
      `${url} ${JSON.stringify(body)}: ${status}`,
    );
  }
  assert.deepEqual(rig.asked, []);
  assert.equal((await rig.post(PERSON, `/${call}/dtmf`, { digits: '1' })).status, 504);
});

test('calls - digits: one by one, never in the trail, and a success once the other side has them', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const answer = rig.post(PERSON, `/${call}/dtmf`, { digits: '73#' });
  await until('three digits were sent', () => rig.asked.length === 3);
  assert.deepEqual(
    rig.asked.map((a) => a.args),
    [
      [chan('1'), '7'],
      [chan('1'), '3'],
      [chan('1'), '#'],
    ],
  );
  for (let i = 0; i < 3; i += 1) rig.scene.send({ type: 'channel.digit', id: chan('1'), direction: 'in' });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(rig.outcomes(), []);
  for (let i = 0; i < 3; i += 1) rig.scene.send({ type: 'channel.digit', id: chan('2'), direction: 'out' });
  assert.equal((await answer).status, 200);
  // The ids of operations are made by chance, and may hold any digits.
  assert.doesNotMatch(JSON.stringify(rig.trail).replaceAll(/op-[0-9a-f-]+/g, ''), /73/);
});

test('calls - the same operations by name, as command frames run them', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const caller = {
    session_id: 3,
    person_id: 3,
    extension: '1003',
    username: 'agent',
    level: 'agent' as const,
    expires_at: 4_000_000_000_000,
    cookie: false,
    key: null,
  };
  const result = rig.commands.run({ caller, ip: null }, 'calls.hold', { id: call });
  await until('it was asked for', () => rig.asked.length === 1);
  rig.scene.send({ type: 'channel.held', id: chan('1'), held: true, by: 'operation' });
  assert.equal(((await result) as { operation: { state: string } }).operation.state, 'succeeded');
});

test('calls - one caller has at most eight operations under way', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const codes: (string | undefined)[] = [];
  const all = Array.from({ length: 10 }, async () => {
    codes.push((await rig.post(PERSON, `/${call}/dtmf`, { digits: '1' })).body.code);
  });
  await until('ten to be refused or under way', () => codes.length + rig.asked.length === 10);
  assert.deepEqual(codes, ['too_many_requests', 'too_many_requests']);
  assert.equal(rig.asked.length, 8);
  rig.cut();
  await Promise.all(all);
});

test('calls - one call is moved by one operation at a time; a hang-up never waits', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  const hold = rig.post(PERSON, `/${call}/hold`);
  await until('hold was asked for', () => rig.asked.length === 1);
  for (const [url, body] of [
    ['hold', { leg_id: chan('2') }],
    ['park', {}],
    ['transfer', { kind: 'blind', to: '1001' }],
  ] as const) {
    const second = await rig.post(url === 'hold' ? BOSS : PERSON, `/${call}/${url}`, body);
    assert.deepEqual([second.status, second.body.code], [409, 'wrong_call_state'], url);
  }
  const end = rig.post(PERSON, `/${call}/hangup`);
  await until('it was asked for', () => rig.asked.length === 2);
  rig.scene.hangup('1');
  assert.equal((await end).status, 200);
  assert.equal((await hold).body.code, 'call_gone');
});

test('calls - of two pickups of one call, one succeeds with its own operation, the other fails', async (t) => {
  const rig = await callsRig(t);
  for (const extension of ['1001', '1002']) rig.scene.device(extension, 'NOT_INUSE');
  rig.scene.created('1', { endpoint: '1003', dialled: '1004' });
  rig.scene.created('2', { endpoint: '1004', of: '1' });
  rig.scene.state('2', 'ringing');
  const pickup = async (token: string, extension: string, from: string) => {
    const before = rig.asked.length;
    const answer = rig.post(token, `/${chan('1')}/pickup`, { from });
    await until('it was asked for', () => rig.asked.length > before);
    rig.rings(from, extension);
    assert.equal((await answer).status, 202);
    return rig.asked.at(-1)!;
  };
  const won = await pickup(BOSS, 'first', '1001');
  const lost = await pickup(BOSS, 'second', '1002');
  rig.scene.state('first', 'up');
  rig.scene.state('second', 'up');
  rig.scene.send({ type: 'channel.picked_up', by: chan('first'), target: chan('2') });
  rig.scene.hangup('second', 16);
  rig.pairEnds();
  await until('both outcomes', () => rig.outcomes().length === 2);
  assert.equal(rig.published.find((e) => e.type === 'call.transferred')?.caused_by, won.action_id);
  assert.deepEqual(
    rig.published.flatMap((e) => (e.type === 'operation.completed' ? [[e.caused_by, e.data.state]] : [])),
    [
      [won.action_id, 'succeeded'],
      [lost.action_id, 'failed'],
    ],
  );
});

test('calls - the id of a placed call sorts between the calls that live at its engine and later ones of that second', async (t) => {
  const rig = await callsRig(t);
  rig.scene.device('1002', 'NOT_INUSE');
  const second = Math.floor(rig.clock.now() / 1000);
  const idOf = async (name: string): Promise<string> => {
    const before = rig.asked.length;
    const answer = rig.post(BOSS, '', { to: '1006' });
    await until('it was asked for', () => rig.asked.length > before);
    rig.rings('1002', name);
    assert.equal((await answer).status, 202);
    return (rig.asked.at(-1)!.args[0] as PlacedCall).pair[0].replace(/^ast1:oh-[0-9a-f]{12}-/, '');
  };
  rig.scene.created(`${second - 1}.17`, { endpoint: '1003', dialled: '1004' });
  assert.equal(await idOf('a'), `${second}.1`);
  rig.scene.created(`${second}.18`, { endpoint: '1003', dialled: '1004' });
  assert.equal(await idOf(`${second}.21`), `${second}.18`);
  assert.equal(await idOf('c'), `${second}.21`);
});

test('calls - recording: one at a time begins or ends it on a leg, and it is ended when none is left', async (t) => {
  const left = { of: 0 };
  const rig = await callsRig(t, {
    confirm_ms: 2_000,
    answer: ({ verb, args: [id] }) => {
      if (id !== chan('1')) return;
      const on = verb === 'startRecording';
      if (!on && left.of === 0) refused('Could not stop')();
      left.of += on ? 1 : -1;
      const published = () => rig.scene.send({ type: 'channel.recording', id: chan('1'), on });
      if (on) setTimeout(published, 5);
      else published();
    },
  });
  const call = rig.talk();
  const record = async (on: boolean, leg: string, token = BOSS) => {
    const { status, body } = await rig.post(token, `/${call}/record`, { on, leg_id: chan(leg) });
    return [status, body.code];
  };
  const [first, second, other] = await Promise.all([
    record(true, '1', PERSON),
    record(true, '1'),
    record(true, '2'),
  ]);
  assert.deepEqual(
    [first?.[0], second],
    [200, [409, 'wrong_call_state']],
    'the second is told at once that it cannot be',
  );
  assert.deepEqual(other, [504, 'engine_timeout'], 'another leg is not in the way');
  assert.equal(left.of, 1);
  left.of = 2;
  rig.scene.send({ type: 'channel.recording', id: chan('1'), on: true });
  assert.deepEqual(await record(false, '1'), [200, undefined]);
  assert.equal(left.of, 0, 'all are ended, whoever began them');
  assert.deepEqual(await record(false, '1'), [409, 'wrong_call_state']);
});

test('calls - recording: its keeper stores it before the engine starts, and removes it after a refusal', async (t) => {
  let says: () => void = () => {};
  const rig = await callsRig(t, {
    confirm_ms: 2_000,
    answer: ({ verb, args: [id, name] }) => {
      if (verb !== 'startRecording') return;
      assert.deepEqual(rig.kept.at(-1), ['begin', id], 'it knows already');
      assert.equal(name, 'name');
      says();
    },
  });
  const call = rig.talk();
  const record = async () => (await rig.post(PERSON, `/${call}/record`, { on: true })).body.code;
  says = refused('Could not start');
  assert.equal(await record(), 'engine_refused');
  assert.deepEqual(rig.kept, [
    ['begin', chan('1')],
    ['take back', 'name'],
  ]);
  says = () => {
    throw new ServiceError('engine_timeout', 'nobody knows');
  };
  assert.equal(await record(), 'engine_timeout');
  assert.equal(rig.kept.length, 3, 'it may be recorded: nothing is taken back');
});

test('calls - a recording is paused and resumed: confirmed and stored, any number of times', async (t) => {
  const rig = await callsRig(t, {
    answer: ({ verb, args: [id, on] }) => {
      if (verb !== 'pauseRecording') return;
      rig.scene.send({
        type: 'channel.recording_paused',
        id: id as ReturnType<typeof chan>,
        on: on === true,
      });
    },
  });
  const call = rig.talk();
  const ask = async (does: string, token = PERSON) => {
    const { status, body } = await rig.post(token, `/${call}/record/${does}`);
    return [status, body.code];
  };
  assert.deepEqual(await ask('pause'), [409, 'wrong_call_state'], 'nothing is recorded');
  rig.scene.send({ type: 'channel.recording', id: chan('1'), on: true });
  for (const does of ['pause', 'pause', 'resume', 'resume'])
    assert.deepEqual(await ask(does), [200, undefined]);
  assert.deepEqual(rig.kept, [
    ['paused', chan('1')],
    ['paused', chan('1')],
    ['resumed', chan('1')],
    ['resumed', chan('1')],
  ]);
  assert.deepEqual(
    rig.published.flatMap((e) => (/recording_/.test(e.type) ? [e.type] : [])),
    ['call.recording_started', 'call.recording_paused', 'call.recording_resumed'],
  );
  assert.deepEqual(
    rig.trail.map((l) => [l.action, l.outcome]),
    [
      ['calls.pause_recording', 'refused'],
      ['calls.pause_recording', 'ok'],
      ['calls.pause_recording', 'ok'],
      ['calls.resume_recording', 'ok'],
      ['calls.resume_recording', 'ok'],
    ],
  );
  assert.deepEqual(await ask('pause', OTHER), [403, 'forbidden']);
});

test('calls - recording by rule of the site: an agent pauses it, on whichever side it is, and only a supervisor ends it', async (t) => {
  const rig = await callsRig(t, {
    answer: ({ verb, args: [id, on] }) => {
      const about = { id: id as ReturnType<typeof chan>, on: on === true };
      if (verb === 'pauseRecording') rig.scene.send({ type: 'channel.recording_paused', ...about });
      if (verb !== 'stopRecording') return;
      if (!rig.live.leg(about.id)?.recording) refused('Could not stop')();
      rig.scene.send({ type: 'channel.recording', ...about });
    },
  });
  const call = rig.talk();
  rig.scene.send({ type: 'channel.recording', id: chan('2'), on: true });
  rig.ruled.add(chan('2'));
  const paused = await rig.post(PERSON, `/${call}/record/pause`);
  assert.equal(paused.status, 200);
  assert.equal(rig.live.leg(chan('2'))?.recording_paused, true);
  rig.ruled.add(chan('1'));
  assert.equal((await rig.post(PERSON, `/${call}/record`, { on: false })).body.code, 'wrong_call_state');
  rig.scene.send({ type: 'channel.recording', id: chan('1'), on: true });
  assert.equal((await rig.post(PERSON, `/${call}/record`, { on: false })).body.code, 'forbidden');
  assert.equal((await rig.post(BOSS, `/${call}/record`, { on: false, leg_id: chan('1') })).status, 200);
});

test('calls - only participants learn whether an id was a call, ended or live', async (t) => {
  const rig = await callsRig(t, { keys: { foreign: { scopes: ['calls:control'], extensions: ['1006'] } } });
  const call = rig.talk();
  const code = async (token: string, verb: string, body = {}) =>
    (await rig.post(token, `/${call}/${verb}`, body)).body.code;
  const hold = rig.post(PERSON, `/${call}/hold`);
  await until('hold was asked for', () => rig.asked.length === 1);
  assert.equal(await code(OTHER, 'hold'), 'not_found', 'busy');
  assert.equal(await code(BOSS, 'hold', { leg_id: chan('2') }), 'wrong_call_state');
  rig.scene.hangup('2');
  rig.scene.hangup('1');
  assert.equal((await hold).body.code, 'call_gone');
  for (const verb of ['hangup', 'hold', 'park', 'retrieve']) {
    assert.equal(await code(OTHER, verb), 'not_found', verb);
    assert.equal(await code('key-foreign', verb), 'not_found', verb);
    assert.equal(await code(PERSON, verb), 'call_gone', verb);
    assert.equal(await code(BOSS, verb), 'call_gone', verb);
  }
});

test('calls - an extension in a call does not pick it up', async (t) => {
  const rig = await callsRig(t);
  for (const extension of ['1001', '1002']) rig.scene.device(extension, 'NOT_INUSE');
  rig.scene.created('1', { endpoint: '1002', dialled: '1004' });
  rig.scene.created('2', { endpoint: '1004', of: '1' });
  rig.scene.state('2', 'ringing');
  const own = await rig.post(BOSS, `/${chan('1')}/pickup`);
  assert.deepEqual([own.status, own.body.code], [409, 'wrong_call_state']);
  assert.equal(rig.asked.length, 0);
});

test('calls - a call at another engine is neither picked up nor listened to, and the refusal says why', async (t) => {
  const rig = await callsRig(t, { nodeOf: (extension) => nodeId(extension === '1002' ? 'b' : 'ast1') });
  rig.scene.device('1002', 'NOT_INUSE');
  rig.scene.created('1', { endpoint: '1003', dialled: '1004' });
  rig.scene.created('2', { endpoint: '1004', of: '1' });
  rig.scene.state('2', 'ringing');
  const pickup = await rig.post(BOSS, `/${chan('1')}/pickup`);
  assert.deepEqual(
    [pickup.status, pickup.body.code, pickup.body.detail],
    [409, 'wrong_call_state', '1002 is at another engine than this call'],
  );
  const listen = await rig.post(BOSS, `/${rig.talk()}/listen`);
  assert.deepEqual(
    [listen.status, listen.body.code, listen.body.detail],
    [409, 'wrong_call_state', '1002 is at another engine than this call'],
  );
  assert.equal(rig.asked.length, 0);
});

test('calls - a slot is called at the engine of the caller', async (t) => {
  const rig = await callsRig(t, {
    confirm_ms: 20,
    nodeOf: (extension) => nodeId(extension === '1002' ? 'b' : 'ast1'),
  });
  for (const extension of ['1002', '1005']) rig.scene.device(extension, 'NOT_INUSE');
  rig.talk();
  rig.scene.send({ type: 'channel.parked', id: chan('2'), slot: '701', lot: 'default' });
  rig.scene.hangup('1');
  const elsewhere = await rig.post(BOSS, '', { to: '701', from: '1002' });
  assert.deepEqual([elsewhere.status, elsewhere.body.code], [404, 'not_found']);
  assert.equal(rig.asked.length, 0);
  assert.equal((await rig.post(BOSS, '', { to: '701', from: '1005' })).status, 504);
  assert.equal(rig.asked.length, 1);
});

test('calls - a call of two engines is parked by a transfer to the lot of the called engine, and taken there', async (t) => {
  const B = nodeId('b');
  const [half, called] = [channelId(B, '1.1'), channelId(B, '1.2')];
  const rig = await callsRig(t, {
    confirm_ms: 20,
    nodeOf: (extension) => (extension === '1002' ? B : nodeId('ast1')),
    answer({ verb }) {
      if (verb !== 'blindTransfer') return;
      scene.send({ type: 'bridge.left', bridge: bridgeId(B, 'f'), id: called });
      scene.send({ type: 'channel.parked', id: half, slot: '701', lot: 'default' });
      scene.send({ type: 'channel.hungup', id: called, cause: 16, cause_text: '' });
    },
  });
  const { scene } = rig;
  scene.device('1002', 'NOT_INUSE');
  const pair = chan('2') as string;
  const caller = channel('1', { endpoint: '1003', dialled: '1002', state: 'up' });
  const near = channel('2', { of: '1', kind: 'local', endpoint: 'engine-b', pair, state: 'up' });
  const far = { ...near, id: half, call: callId(B, '1.1'), endpoint: 'engine-ast1' };
  const own = channel('3', { endpoint: '1002', state: 'up' });
  for (const one of [caller, near, far, { ...own, id: called, call: callId(B, '1.1') }])
    scene.send({ type: 'channel.created', channel: one });
  for (const id of [half, called])
    scene.send({ type: 'bridge.entered', bridge: bridgeId(B, 'f'), id, holding: false });
  for (const id of [caller.id, near.id])
    scene.send({ type: 'bridge.entered', bridge: bridge('n'), id, holding: false });
  const parked = await rig.post(BOSS, `/${caller.id}/transfer`, { kind: 'blind', to: '700' });
  assert.deepEqual([parked.status, parked.body['slot']], [200, '701'], JSON.stringify(parked.body));
  assert.equal((await rig.post(BOSS, `/${caller.id}/retrieve`)).status, 504, 'nothing rings in this rig');
  const placed = rig.asked.at(-1)!.args[0] as PlacedCall;
  assert.deepEqual([placed.number, placed.pair[0].split(':')[0]], ['701', 'b']);
});

test('calls - any ring at an extension is picked up by permitted callers, also without the call’s id', async (t) => {
  const rig = await callsRig(t);
  for (const extension of ['1001', '1002']) rig.scene.device(extension, 'NOT_INUSE');
  const path = '/extensions/1004/pickup';
  const nothing = await rig.request(BOSS, 'POST', path, {});
  assert.deepEqual([nothing.status, nothing.body.code], [409, 'wrong_call_state']);
  rig.scene.created('1', { endpoint: '1003', dialled: '1004' });
  rig.scene.created('2', { endpoint: '1004', of: '1' });
  rig.scene.state('2', 'ringing');
  const stranger = await rig.request(PERSON, 'POST', '/extensions/1003/pickup', {});
  assert.deepEqual(
    [stranger.status, stranger.body.code],
    [409, 'wrong_call_state'],
    'who calls does not ring',
  );
  const answer = rig.request(BOSS, 'POST', path, { from: '1001' });
  await until('it was asked for', () => rig.asked.length === 1);
  rig.rings('1001', 'own');
  const { status, body } = await answer;
  assert.equal(status, 202);
  const { call_id, leg_id } = body['operation'] as unknown as { call_id: string; leg_id: string };
  assert.deepEqual([call_id, leg_id], [chan('1'), chan('2')]);
});

test('calls - a parking slot is called by any person, and by a key for its extensions only', async (t) => {
  const scopes = ['calls:control'] as const;
  const rig = await callsRig(t, {
    confirm_ms: 20,
    keys: {
      own: { scopes: [...scopes], extensions: ['1004', '1006'] },
      foreign: { scopes: [...scopes], extensions: ['1005', '1006'] },
      all: { scopes: [...scopes] },
    },
  });
  for (const extension of ['1005', '1006']) rig.scene.device(extension, 'NOT_INUSE');
  rig.talk();
  const other = rig.talk('1006', '1001', '5', '6');
  const place = async (token: string, to = '701') => {
    const before = rig.asked.length;
    const from = token === OTHER ? '1005' : '1006';
    const { status } = await rig.post(token, '', { to, from });
    assert.equal(rig.asked.length > before, status !== 404);
    return status;
  };
  assert.equal(await place(OTHER), 404, 'nobody is there');
  assert.equal(await place('key-all'), 404);
  rig.scene.send({ type: 'channel.parked', id: chan('2'), slot: '701', lot: 'default' });
  rig.scene.hangup('1');
  assert.equal(await place('key-foreign'), 404, 'as if nobody were there');
  for (const kind of ['blind', 'attended']) {
    const by = await rig.post('key-foreign', `/${other}/transfer`, { kind, to: '701' });
    assert.deepEqual([by.status, by.body.code], [404, 'not_found'], kind);
  }
  assert.equal(await place('key-foreign', '702'), 404);
  for (const token of [OTHER, 'key-own', 'key-all']) assert.equal(await place(token), 504, token);
});
