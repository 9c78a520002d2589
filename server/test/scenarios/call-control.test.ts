import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TransferReply } from '@offhook/contract/call-control.ts';
import { CallsReply } from '@offhook/contract/calls.ts';
import { ApiError } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { ask, doneBy, eventsOf, recordingsOf } from '../support/call-steps.ts';
import { finishedCalls, gist, onlyCall, shows } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const refusal = (status: number, code: string) => (error: unknown) =>
  error instanceof ApiError && error.status === status && error.code === code;

describe('call control', () => {
  const site = useSite();

  test('originate - the own device rings first, then the number; both hear each other, and each has one row of history', async () => {
    await using own = await site().phone('1007');
    await using other = await site().phone('1008');
    const [hanako, olha] = [await site().person('1007'), await site().person('1008')];
    await shows(hanako, '1007', 'online', 'idle');
    const { status, operation } = await ask(site(), hanako, '', { to: '1008' });
    assert.equal(status, 202);
    assert.equal(operation.state, 'pending');
    const atOwn = await own.incoming();
    assert.equal(atOwn.party.number, '1008', 'the own phone shows who is being called');
    assert.equal(other.seen, 0, 'the number is not called before the own device answered');
    atOwn.ring();
    await atOwn.answer();
    const atOther = await other.incoming();
    assert.equal(atOther.party.number, '1007');
    atOther.ring();
    await atOther.answer();
    atOwn.play('tone');
    atOther.play('tone');
    await atOwn.hears();
    await atOther.hears();

    const started = await doneBy(site(), operation, 'call.started');
    assert.equal(started.data['dialled'], '1008');
    assert.equal(started.data['call_id'], operation.call_id);
    await doneBy(site(), operation, 'call.answered');
    const outcome = await doneBy(site(), operation, 'operation.completed');
    assert.equal(outcome.data['state'], 'succeeded');

    const hungUp = await ask(site(), hanako, `/${operation.call_id}/hangup`);
    assert.equal(hungUp.status, 200);
    assert.equal(hungUp.operation.state, 'succeeded');
    await atOwn.ended();
    await atOther.ended();
    assert.equal(atOther.endedBy, 'them');
    await doneBy(site(), hungUp.operation, 'call.ended');
    assert.equal(gist(await onlyCall(hanako)), 'out 1008 ANSWERED -');
    assert.equal(gist(await onlyCall(olha)), 'in 1007 ANSWERED -');
    const legs = eventsOf(site(), 'call.ringing').map(
      (e) => (e.data['leg'] as { extension: string }).extension,
    );
    assert.deepEqual(legs, ['1007', '1008'], 'no half of an internal pair is ever a leg');
  });

  test('originate - no answer, no device, or a number that may not be called', async () => {
    const olha = await site().person('1008');
    await assert.rejects(ask(site(), olha, '', { to: '1007' }), refusal(409, 'device_unreachable'));
    await using own = await site().phone('1008');
    await shows(olha, '1008', 'online', 'idle');
    await assert.rejects(
      ask(site(), olha, '', { to: '1007', device: 'web' }),
      refusal(409, 'device_unreachable'),
    );
    for (const to of ['+4930123', '00881600', '0301234', '*97', '5551234', '112']) {
      await assert.rejects(
        ask(site(), olha, '', { to }),
        to === '112' ? refusal(404, 'no_route') : refusal(403, 'destination_not_allowed'),
        to,
      );
    }
    assert.equal(own.seen, 0);
    const { operation } = await ask(site(), olha, '', { to: '1007', device: 'desk' });
    (await own.incoming()).reject(603);
    const outcome = await doneBy(site(), operation, 'operation.completed');
    assert.deepEqual([outcome.data['state'], outcome.data['code']], ['failed', 'device_no_answer']);
    await until('the call to be over', () =>
      eventsOf(site(), 'call.ended').some((e) => e.data['call_id'] === operation.call_id),
    );
    const [row] = await finishedCalls(olha, 2);
    assert.equal(gist(row!), 'out 1007 NO ANSWER -');
    await onlyCall(await site().person('1007'));
  });

  test('the story - an agent calls a customer, holds, consults, alternates and transfers the call; a supervisor listens', async () => {
    await using desk = await site().phone('1003');
    await using customer = await site().phone('1010');
    await using colleague = await site().phone('1011');
    await using office = await site().phone('1002');
    const [zoe, soren] = [await site().person('1003'), await site().person('1002')];
    await shows(zoe, '1003', 'online', 'idle');
    const { operation: placed } = await ask(site(), zoe, '', { to: '1010', device: 'desk' });
    const agent = await desk.incoming();
    agent.ring();
    await agent.answer();
    const other = await customer.incoming();
    other.ring();
    await other.answer();
    agent.play('tone');
    other.play('tone');
    await agent.hears();
    await other.hears();
    const call = placed.call_id!;

    const { operation: listening } = await ask(site(), soren, `/${call}/listen`);
    const ear = await office.incoming();
    const started = await until('both calls in the journal', () => {
      const all = new Map(eventsOf(site(), 'call.started').map(({ data }) => [data['call_id'], data]));
      return all.has(call) && all.has(listening.own_call_id) && all;
    });
    assert.equal(started.get(call)?.['placed'], 'call', 'and not dialled by a phone');
    assert.equal(started.get(listening.own_call_id)?.['placed'], 'listen');
    await ear.answer();
    await doneBy(site(), listening, 'operation.completed');
    await ear.hears();
    const legs = (): string[] =>
      eventsOf(site(), 'call.ringing')
        .filter((e) => e.data['call_id'] === call)
        .map((e) => (e.data['leg'] as { extension: string }).extension);
    assert.deepEqual(legs(), ['1003', '1010'], 'who listens is no part of the call');
    await ear.hangup();

    agent.play('silence');
    const { operation: hold } = await ask(site(), zoe, `/${call}/hold`);
    assert.equal(
      ((await doneBy(site(), hold, 'call.held')).data['leg'] as { extension: string }).extension,
      '1003',
    );
    await other.hears(20);
    await assert.rejects(ask(site(), zoe, `/${call}/hold`), refusal(409, 'wrong_call_state'));
    const { operation: back } = await ask(site(), zoe, `/${call}/retrieve`);
    await doneBy(site(), back, 'call.retrieved');
    agent.play('tone');
    await other.hears(20);
    await agent.hears(20);
    await assert.rejects(ask(site(), zoe, `/${call}/retrieve`), refusal(409, 'wrong_call_state'));

    const { operation: consult } = await ask(site(), zoe, `/${call}/transfer`, {
      kind: 'attended',
      to: '1011',
    });
    await doneBy(site(), consult, 'call.held');
    const third = await colleague.incoming();
    third.ring();
    await doneBy(site(), consult, 'call.ringing');
    const movesRefused = async (): Promise<void> => {
      for (const [verb, body] of [
        ['transfer', { kind: 'blind', to: '1002' }],
        ['park', {}],
        ['hold', {}],
      ] as const)
        await assert.rejects(
          ask(site(), zoe, `/${call}/${verb}`, body),
          refusal(409, 'wrong_call_state'),
          verb,
        );
    };
    await movesRefused();
    await third.answer();
    const joined = await doneBy(site(), consult, 'call.joined');
    assert.equal((joined.data['leg'] as { extension: string }).extension, '1011');
    assert.equal((await doneBy(site(), consult, 'operation.completed')).data['state'], 'succeeded');
    await movesRefused();
    third.play('tone');
    await agent.hears(20);
    const { operation: swap } = await ask(site(), zoe, `/${call}/transfer/swap`);
    await doneBy(site(), swap, 'call.retrieved');
    await agent.hears(20);
    await movesRefused();
    const { operation: complete } = await ask(site(), zoe, `/${call}/transfer/complete`);
    const transferred = await doneBy(site(), complete, 'call.transferred');
    assert.deepEqual([transferred.data['kind'], transferred.data['by']], ['attended', '1003']);
    await agent.ended();
    const { leg, reason } = (await doneBy(site(), complete, 'call.left')).data;
    assert.deepEqual([(leg as { extension: string }).extension, reason], ['1003', 'transferred']);
    await other.hears(20);
    await third.hears(20);
    await other.hangup();
    await third.ended();
    assert.equal(gist(await onlyCall(zoe)), 'out 1010 ANSWERED -');
    assert.equal(gist(await onlyCall(await site().person('1010'))), 'in 1003 ANSWERED -');
    assert.equal(gist(await onlyCall(await site().person('1011'))), 'in 1003 ANSWERED -');
  });

  test('attended transfer - refused while the phone holds the call; over when the held party hangs up, and both others talk on', async () => {
    await using own = await site().phone('1007');
    await using other = await site().phone('1008');
    await using colleague = await site().phone('1010');
    const hanako = await site().person('1007');
    const answered = () =>
      eventsOf(site(), 'call.answered').filter((e) => String(e.data['extensions']) === '1007,1008');
    const earlier = answered().length;
    const atOwn = await own.invite('1008');
    const atOther = await other.incoming();
    await atOther.answer();
    await atOwn.answered();
    const call = (await until('the call', () => answered()[earlier])).data['call_id'] as string;
    const get = async (path: string): Promise<unknown> => {
      const headers = { authorization: `Bearer ${hanako.token}` };
      return (await fetch(`${site().base}/api/v1/calls${path}`, { headers })).json();
    };
    const state = async (): Promise<string> =>
      TransferReply.parse(await get(`/${call}/transfer`)).transfer.state;
    const attended = { kind: 'attended', to: '1010' };
    const ofHold = (): string[] =>
      eventsOf(site(), 'call.held', 'call.retrieved')
        .filter((e) => e.data['call_id'] === call)
        .map((e) => e.type);
    await atOwn.hold();
    await until('the hold of the phone', () => ofHold().length === 1);
    await assert.rejects(
      ask(site(), hanako, `/${call}/transfer`, attended),
      refusal(409, 'wrong_call_state'),
    );
    assert.deepEqual(ofHold(), ['call.held'], 'the phone still holds the call');
    await atOwn.retrieve();
    await until('the end of that hold', () => ofHold().length === 2);
    const { operation } = await ask(site(), hanako, `/${call}/transfer`, attended);
    const third = await colleague.incoming();
    third.ring();
    await third.answer();
    await doneBy(site(), operation, 'operation.completed');
    assert.equal(await state(), 'consulting');
    await atOther.hangup();
    await until('the transfer to be over', async () => (await state()) === 'canceled');
    const { calls } = CallsReply.parse(await get(''));
    assert.deepEqual(
      calls.flatMap(({ legs }) => legs.map((leg) => [leg.extension, leg.state, leg.held])),
      [
        ['1007', 'connected', false],
        ['1010', 'connected', false],
      ],
    );
    for (const how of ['swap', 'complete', 'cancel'])
      await assert.rejects(
        ask(site(), hanako, `/${call}/transfer/${how}`),
        refusal(409, 'wrong_call_state'),
        how,
      );
    assert.equal(colleague.seen, 1, '1010 rings only once');
    third.play('tone');
    await atOwn.hears();
    await atOwn.hangup();
    await third.ended();
  });

  test('park, retrieve, pickup, digits, recording and blind transfer', async () => {
    await using a = await site().phone('1004');
    await using b = await site().phone('1005');
    await using c = await site().phone('1006');
    const [jose, agnieszka, lan] = [
      await site().person('1004'),
      await site().person('1005'),
      await site().person('1006'),
    ];
    const atA = await a.invite('1005');
    const ringing = await b.incoming();
    ringing.ring();
    const started = await until('the call to start', () =>
      eventsOf(site(), 'call.started').find(
        (e) => (e.data['leg'] as { extension: string }).extension === '1004',
      ),
    );
    const call = started.data['call_id'] as string;
    await until('1005 to ring', () =>
      eventsOf(site(), 'call.ringing').some((e) => e.data['call_id'] === call),
    );

    const { operation: pickup } = await ask(site(), lan, `/${call}/pickup`);
    const picked = await c.incoming();
    await picked.answer();
    const taken = await doneBy(site(), pickup, 'call.transferred');
    assert.equal(taken.data['kind'], 'pickup');
    await ringing.ended();
    await atA.answered();
    atA.play('tone');
    picked.play('tone');
    await picked.hears();
    await atA.hears();
    await assert.rejects(ask(site(), agnieszka, `/${call}/hangup`), refusal(409, 'wrong_call_state'));

    const { operation: digits } = await ask(site(), lan, `/${call}/dtmf`, { digits: '12#' });
    assert.equal(digits.state, 'succeeded');
    const { operation: record } = await ask(site(), lan, `/${call}/record`, { on: true });
    await doneBy(site(), record, 'call.recording_started');
    const { operation: recorded } = await ask(site(), lan, `/${call}/record`, { on: false });
    await doneBy(site(), recorded, 'call.recording_stopped');
    await until('the recording', async () => (await recordingsOf(site(), lan, call))[0]?.state === 'stored');

    const { operation: park } = await ask(site(), lan, `/${call}/park`);
    const parked = await doneBy(site(), park, 'call.parked');
    await picked.ended();
    await doneBy(site(), park, 'call.left');
    assert.match(parked.data['slot'] as string, /^7\d\d$/);
    const { operation: back } = await ask(site(), lan, `/${call}/retrieve`);
    const again = await c.incoming();
    await again.answer();
    again.play('tone');
    await atA.hears(20);
    assert.equal((await doneBy(site(), back, 'operation.completed')).data['state'], 'succeeded');

    const { operation: blind } = await ask(site(), lan, `/${call}/transfer`, { kind: 'blind', to: '1005' });
    const moved = await b.incoming();
    moved.ring();
    await doneBy(site(), blind, 'call.ringing');
    await moved.answer();
    const transferred = await doneBy(site(), blind, 'call.transferred');
    assert.deepEqual([transferred.data['kind'], transferred.data['by']], ['blind', '1006']);
    await doneBy(site(), blind, 'call.joined');
    moved.play('tone');
    await atA.hears(20);
    const { operation: end } = await ask(site(), agnieszka, `/${call}/hangup`);
    await doneBy(site(), end, 'call.ended');
    await atA.ended();
    await assert.rejects(ask(site(), jose, `/${call}/hangup`), refusal(409, 'call_gone'));
  });

  test('listening supervisor - its ring cannot be picked up, neither by the API nor by phone', async () => {
    await using desk = await site().phone('1003');
    await using customer = await site().phone('1010');
    await using office = await site().phone('1002');
    await using nosy = await site().phone('1004');
    const people = await Promise.all(['1003', '1002', '1004'].map((who) => site().person(who)));
    const [zoe, soren, jose] = people as [Person, Person, Person];
    await shows(zoe, '1003', 'online', 'idle');
    const { operation } = await ask(site(), zoe, '', { to: '1010' });
    await (await desk.incoming()).answer();
    const other = await customer.incoming();
    await other.answer();
    other.play('tone');
    await doneBy(site(), operation, 'call.answered');
    const { operation: listening } = await ask(site(), soren, `/${operation.call_id}/listen`);
    const ear = await office.incoming();
    ear.ring();
    await doneBy(site(), listening, 'call.ringing');
    for (const what of [`/${listening.own_call_id}/pickup`, '/../extensions/1002/pickup'])
      await assert.rejects(ask(site(), jose, what), refusal(409, 'wrong_call_state'), what);
    for (const code of ['*8', '**1003', '**1002']) {
      const nothing = await nosy.invite(code);
      await nothing.answered();
      assert.doesNotMatch(await site().engineCli('core show channels'), /ChanSpy/, code);
      await nothing.hangup();
    }
    await ear.answer();
    await ear.hears();
    await other.hangup();
  });

  test('two at the same moment - one pickup and one transfer win, with their own operations', async () => {
    await using a = await site().phone('1007');
    await using b = await site().phone('1004');
    await using c = await site().phone('1005');
    await using d = await site().phone('1006');
    const [hanako, agnieszka, lan] = [
      await site().person('1007'),
      await site().person('1005'),
      await site().person('1006'),
    ];
    const atA = await a.invite('1004');
    const ringing = await b.incoming();
    ringing.ring();
    const { data } = await until('1004 to ring', () =>
      eventsOf(site(), 'call.ringing').findLast(
        (e) => (e.data['leg'] as { extension: string }).extension === '1004',
      ),
    );
    const call = data['call_id'] as string;
    const pickups = await Promise.all([agnieszka, lan].map((who) => ask(site(), who, `/${call}/pickup`)));
    const rung = await Promise.all([c, d].map((phone) => phone.incoming()));
    await Promise.all(rung.map((ring) => ring.answer().catch(() => undefined)));
    const states = await Promise.all(
      pickups.map(
        async ({ operation }) =>
          (await doneBy(site(), operation, 'operation.completed')).data['state'] as string,
      ),
    );
    assert.deepEqual(states.toSorted(), ['failed', 'succeeded']);
    const winner = states.indexOf('succeeded');
    const moved = await doneBy(site(), pickups[winner]!.operation, 'call.transferred');
    assert.equal(moved.data['by'], ['1005', '1006'][winner]);

    const mine = [agnieszka, lan][winner]!;
    const records = await Promise.allSettled(
      [1, 2].map(() => ask(site(), mine, `/${call}/record`, { on: true })),
    );
    assert.deepEqual(records.map((r) => r.status).toSorted(), ['fulfilled', 'rejected']);
    const name = (await site().engineCli('core show channels concise'))
      .split('\n')
      .find((line) => line.startsWith(`PJSIP/${['1005', '1006'][winner]}-`))!
      .split('!')[0]!;
    await site().engineCli(`mixmonitor start ${name} beside.wav`);
    // The engine lists a monitor before its thread has opened the file.
    await until('the monitor beside to have its file', async () =>
      /monitor\/beside/.test(await site().engineCli(`mixmonitor list ${name}`)),
    );
    await ask(site(), mine, `/${call}/record`, { on: false });
    await until(
      'no monitor to be left',
      async () => !/monitor\//.test(await site().engineCli(`mixmonitor list ${name}`)),
    );
    for (const [verb, body, who] of [
      ['hold', {}, [hanako, mine]],
      ['transfer', { kind: 'attended', to: '1004' }, [mine, mine]],
    ] as const) {
      const both = await Promise.allSettled(who.map((one) => ask(site(), one, `/${call}/${verb}`, body)));
      const first = both.findIndex((r) => r.status === 'fulfilled');
      const other = both[1 - first]!;
      assert.ok(other.status === 'rejected' && refusal(409, 'wrong_call_state')(other.reason), verb);
      const back = verb === 'hold' ? 'retrieve' : 'transfer/cancel';
      await ask(site(), who[first]!, `/${call}/${back}`);
    }
    const transfers = await Promise.allSettled([
      ask(site(), hanako, `/${call}/transfer`, { kind: 'blind', to: '1004' }),
      ask(site(), mine, `/${call}/transfer`, { kind: 'blind', to: '600' }),
    ]);
    const done = transfers.flatMap((r) => (r.status === 'fulfilled' ? [r.value] : []));
    const lost = transfers.flatMap((r) => (r.status === 'rejected' ? [r.reason as unknown] : []));
    assert.equal(done.length, 1);
    assert.ok(refusal(409, 'wrong_call_state')(lost[0]), String(lost[0]));
    const blind = await doneBy(site(), done[0]!.operation, 'call.transferred');
    assert.equal(blind.data['to'], transfers[0]!.status === 'fulfilled' ? '1004' : '600');
    for (const one of [atA, ...rung, ringing]) await one.hangup().catch(() => undefined);

    const dialled = await c.invite('1006');
    await (await d.incoming()).answer();
    await dialled.answered();
    const talk = await until('1005 and 1006 to talk', () =>
      eventsOf(site(), 'call.answered').findLast((e) => String(e.data['extensions']) === '1005,1006'),
    );
    const parks = await Promise.allSettled(
      [lan, lan].map((who) => ask(site(), who, `/${talk.data['call_id'] as string}/park`)),
    );
    const refusals = parks.flatMap((r) => (r.status === 'rejected' ? [r.reason as unknown] : []));
    assert.equal(refusals.length, 1);
    assert.ok(refusal(409, 'wrong_call_state')(refusals[0]), String(refusals[0]));
    await dialled.hangup();
  });

  test('a queue’s caller gave up only if it hung up itself; not if ended by a supervisor or the engine', async () => {
    await using caller = await site().phone('1009');
    const [nour, soren] = [await site().person('1009'), await site().person('1002')];
    const outcomes = () => eventsOf(site(), 'queue.caller_left', 'queue.caller_abandoned');
    for (const [end, outcome] of [
      [(call: string) => ask(site(), nour, `/${call}/hangup`), 'queue.caller_abandoned'],
      [(call: string) => ask(site(), soren, `/${call}/hangup`), 'other'],
      [() => site().engineCli('channel request hangup all'), 'other'],
    ] as const) {
      const [before, outcomesBefore] = [eventsOf(site(), 'queue.caller_joined').length, outcomes().length];
      const leg = await caller.invite('510');
      const joined = await until('the caller to wait', () => eventsOf(site(), 'queue.caller_joined')[before]);
      await end(joined.data['call_id'] as string);
      const left = await until('the outcome of the visit', () => outcomes()[outcomesBefore]);
      assert.equal(left.data['reason'] ?? left.type, outcome);
      await leg.ended();
    }
  });

  test('hold - in a queue call, by the agent and by the caller; the queue continues', async () => {
    await using caller = await site().phone('1009');
    await using desk = await site().phone('1003');
    const [nour, zoe] = [await site().person('1009'), await site().person('1003')];
    const atCaller = await caller.invite('500');
    const agent = await desk.incoming();
    agent.ring();
    await agent.answer();
    atCaller.play('tone');
    agent.play('tone');
    await agent.hears(60);
    const joined = await until('the queue call', () =>
      eventsOf(site(), 'queue.caller_joined').findLast(
        (e) => (e.data['caller'] as { number: string }).number === '1009',
      ),
    );
    const call = joined.data['call_id'] as string;
    for (const [who, heldAt, holder] of [
      [zoe, atCaller, agent],
      [nour, agent, atCaller],
    ] as const) {
      const { operation } = await ask(site(), who, `/${call}/hold`);
      await doneBy(site(), operation, 'call.held');
      holder.play('silence');
      await heldAt.hears(20);
      const { operation: back } = await ask(site(), who, `/${call}/retrieve`);
      await doneBy(site(), back, 'call.retrieved');
      holder.play('tone');
      await heldAt.hears(20);
    }
    assert.match(await site().engineCli('queue show support'), /1003.*in call/);
    const { operation: hold } = await ask(site(), zoe, `/${call}/hold`);
    await doneBy(site(), hold, 'call.held');
    const { operation } = await ask(site(), zoe, `/${call}/transfer`, { kind: 'blind', to: '1010' });
    await doneBy(site(), operation, 'call.retrieved');
    await doneBy(site(), operation, 'call.transferred');
    await atCaller.hangup();
  });

  test('hold - in a queue call that was answered a moment ago, while the engine still connects both sides', async () => {
    await using caller = await site().phone('1009');
    const nour = await site().person('1009');
    for (const [i, extension] of ['1004', '1005', '1006', '1003'].entries()) {
      await using desk = await site().phone(extension);
      const own = await site().person(extension);
      const headers = { authorization: `Bearer ${own.token}` };
      const atCaller = await caller.invite('500');
      const agent = await desk.incoming();
      agent.ring();
      const answered = agent.answer();
      const call = await until(
        `the leg of ${extension} to be connected`,
        async () => {
          const response = await fetch(`${site().base}/api/v1/calls`, { headers });
          const { calls } = CallsReply.parse(await response.json());
          const isUp = (leg: (typeof calls)[number]['legs'][number]): boolean =>
            leg.extension === extension && leg.state === 'connected';
          return calls.find(({ legs }) => legs.some(isUp))?.call_id;
        },
        { every: 1 },
      );
      const holder = i % 2 === 0 ? own : nour;
      const { operation } = await ask(site(), holder, `/${call}/hold`);
      const held = await doneBy(site(), operation, 'call.held');
      assert.equal((held.data['leg'] as { extension: string }).extension, holder.extension);
      await answered;
      await doneBy(site(), (await ask(site(), holder, `/${call}/retrieve`)).operation, 'call.retrieved');
      await atCaller.hangup();
      await agent.ended();
    }
  });
});
