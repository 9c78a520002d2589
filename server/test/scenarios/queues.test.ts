import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CallerReply, MembersReply, QueueReply, WithdrawReply } from '@offhook/contract/queues.ts';
import { OperationReply } from '@offhook/contract/call-control.ts';
import { CallsReply } from '@offhook/contract/calls.ts';
import type { z } from 'zod';
import { agentSteps } from '../support/agent-steps.ts';
import { ask as command } from '../support/call-steps.ts';
import { readJournal, wholeJournal } from '../support/journal.ts';
import type { JournalEvent } from '../support/journal.ts';
import { memberLine } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('queues', () => {
  const site = useSite();

  async function ask<T extends z.ZodType>(
    who: string,
    method: string,
    path: string,
    schema: T,
    body?: object,
  ): Promise<z.infer<T>> {
    const { token } = await site().person(who);
    const response = await fetch(`${site().base}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${method} ${path}: ${text}`);
    return schema.parse(JSON.parse(text));
  }
  const queue = async (name: string) => (await ask('1002', 'GET', `/queues/${name}`, QueueReply)).queue;
  const order = async (name: string) =>
    (await queue(name)).callers.map((c) => `${c.position} ${c.caller.number} ${c.priority ?? '?'}`);
  const idOf = async (name: string, number: string): Promise<string> => {
    const caller = (await queue(name)).callers.find((c) => c.caller.number === number);
    assert.ok(caller, `${number} waits in ${name}`);
    return caller.id;
  };
  const act = (name: string, id: string, what: string, body: object) =>
    ask('1002', 'POST', `/queues/${name}/callers/${id}/${what}`, CallerReply, body);
  /** Outcomes of all visits and changes in order, from `seq` on. */
  const story = (events: readonly JournalEvent[], seq: number): string[] =>
    events.flatMap(({ seq: at, type, data }) => {
      if (at <= seq || !/^(queue\.caller|offer)/.test(type)) return [];
      const { caller, queue: name, reason, position } = data as Record<string, unknown>;
      const who = (caller as { number: string } | undefined)?.number ?? String(data['extension']);
      const kind = type.replace('queue.caller_', '');
      return [[kind, who, name, reason ?? position ?? ''].join(' ').trim()];
    });

  test('queues - a supervisor reorders, moves and withdraws callers; each step is an event with its cause', async () => {
    const from = readJournal(site()).at(-1)?.seq ?? 0;
    await using olha = await site().phone('1008');
    await using nour = await site().phone('1009');
    await using lea = await site().phone('1010');
    const calls = [];
    for (const phone of [olha, nour, lea]) {
      const call = await phone.invite('500');
      await call.answered();
      await until(`${phone.extension} waits`, async () =>
        (await queue('support')).callers.some((c) => c.caller.number === phone.extension),
      );
      calls.push(call);
    }
    assert.deepEqual(
      (await queue('support')).callers.map((c) => [c.position, c.caller.number]),
      [
        [1, '1008'],
        [2, '1009'],
        [3, '1010'],
      ],
    );
    const live = (await ask('1002', 'GET', '/calls', CallsReply)).calls;
    assert.deepEqual(
      live.map((c) => [c.state, c.direction, c.legs[0]?.queue, c.parties[0]?.extension]),
      ['1008', '1009', '1010'].map((e) => ['queued', 'internal', 'support', e]),
    );

    const changed = await act('support', await idOf('support', '1010'), 'priority', { priority: 10 });
    assert.deepEqual([changed.caller.position, changed.caller.priority], [1, 10]);
    assert.deepEqual(await order('support'), ['1 1010 10', '2 1008 0', '3 1009 0']);
    assert.match(await site().engineCli('queue show support'), /1\. PJSIP\/1010-\S+ \(wait: \S+ prio: 10\)/);

    const moved = await act('support', await idOf('support', '1009'), 'move', { queue: 'sales' });
    assert.deepEqual([moved.queue, moved.caller.position], ['sales', 1]);
    const again = await act('support', await idOf('support', '1008'), 'move', {
      queue: 'sales',
      position: 1,
    });
    assert.equal(again.caller.position, 1);
    assert.deepEqual(
      (await queue('sales')).callers.map((c) => c.caller.number),
      ['1008', '1009'],
    );

    const gone = await idOf('sales', '1009');
    const withdrawn = await ask('1002', 'POST', `/queues/sales/callers/${gone}/withdraw`, WithdrawReply, {});
    await calls[1]!.ended();

    // A caller is removed equally fast with and without a ringing member. The caller waits in both queues of the member,
    // and only one of them may ring it.
    await (await site().person('1003')).agent('pause', { queue: 'sales' });
    await using zoe = await site().phone('1003');
    const ringing = await zoe.incoming();
    ringing.ring();
    const [offer] = await until('the offer', async () => {
      const { offers } = await queue('support');
      return offers.length > 0 && offers;
    });
    assert.equal(offer?.extension, '1003');
    assert.equal(Date.parse(offer.deadline) - Date.parse(offer.created_at), 15_000);
    const last = await act('support', await idOf('support', '1010'), 'move', {
      queue: 'support',
      position: 1,
    });
    assert.equal(last.caller.priority, 10, 'it keeps the priority it had');
    await ringing.ended();
    await calls[2]!.hangup();
    // One caller hangs up by phone, the other by the API.
    const [own] = (await ask('1008', 'GET', '/calls', CallsReply)).calls;
    await ask('1008', 'POST', `/calls/${own?.call_id}/hangup`, OperationReply, {});
    await until(
      'an empty queue',
      async () => (await order('support')).length + (await order('sales')).length === 0,
    );

    const events = await wholeJournal(site());
    const lines = story(events, from).filter((line) => !line.startsWith('offer.'));
    assert.deepEqual(lines.slice(0, 10), [
      'joined 1008 support 1',
      'joined 1009 support 2',
      'joined 1010 support 3',
      'changed 1010 support 1',
      'left 1009 support moved',
      'joined 1009 sales 1',
      'left 1008 support moved',
      'joined 1008 sales 1',
      'left 1009 sales withdrawn',
      'changed 1010 support 1',
    ]);
    assert.deepEqual(lines.filter((line) => line.startsWith('abandoned')).toSorted(), [
      'abandoned 1008 sales 1',
      'abandoned 1010 support 1',
    ]);
    const causeOf = (reason: string) =>
      events.findLast((e) => e.type === 'queue.caller_left' && e.data['reason'] === reason)?.caused_by;
    assert.equal(causeOf('withdrawn'), withdrawn.operation_id);
    assert.equal(causeOf('moved'), again.operation_id);
    for (const { operation_id } of [changed, last])
      assert.ok(events.some((e) => e.type === 'queue.caller_changed' && e.caused_by === operation_id));
    assert.equal(last.caller.joined_at, changed.caller.joined_at, 'it waits since it came');
  });

  test('queues - an agent picks up the ring of another: the talk and the wrap-up are its own, the offer was answered elsewhere', async () => {
    const { is, ask: change, published, head } = agentSteps(site);
    await using hanako = await site().phone('1007');
    await using zoe = await site().phone('1003');
    await using jose = await site().phone('1004');
    const [offered, picker] = [await site().person('1003'), await site().person('1004')];
    // Only 1003 is rung; an earlier step paused it in one queue.
    await change(offered, 'unpause');
    await change(picker, 'pause', { reason: 'training' });
    await is(offered, 'available');
    const from = head();
    const call = await hanako.invite('500');
    const ringing = await zoe.incoming();
    ringing.ring();
    const { call_id } = await is(offered, 'offered');
    const rings = ({ seq, type, data }: JournalEvent): boolean =>
      seq > from &&
      type === 'call.ringing' &&
      (data['leg'] as { extension: string | null }).extension === '1003';
    await until('the ring at 1003', () => readJournal(site()).some(rings));
    await command(site(), picker, `/${call_id}/pickup`);
    const taken = await jose.incoming();
    await taken.answer();
    await ringing.ended();
    const talking = await is(picker, 'talking');
    assert.deepEqual([talking.queue, talking.call_id], ['support', call_id]);
    assert.ok(talking.queues.some((row) => row.queue === 'support' && row.in_call));
    const idle = await is(offered, 'available');
    assert.ok(!idle.queues.some((row) => row.in_call));
    await call.hangup();
    await taken.ended();
    assert.equal((await is(picker, 'wrap_up')).queue, 'support');
    await change(picker, 'wrap-up', { finish: true });
    await change(picker, 'unpause');
    assert.deepEqual(
      story(await wholeJournal(site()), from).filter((line) => !line.startsWith('changed')),
      [
        'joined 1007 support 1',
        'offer.created 1003 support',
        'left 1007 support answered',
        'offer.canceled 1003 support',
      ],
    );
    const shown = published('1003', from).map((e) => e.type);
    assert.ok(!shown.includes('agent.talking') && !shown.includes('agent.wrap_up'), shown.join());
  });

  test('queues - a supervisor removes an agent from a queue and adds it again', async () => {
    const without = await ask('1002', 'DELETE', '/queues/sales/members/1004', MembersReply);
    assert.ok(!without.members.some((m) => m.extension === '1004'));
    assert.equal(await memberLine(site(), 'sales', '1004'), undefined);
    assert.ok(await memberLine(site(), 'support', '1004'));
    const back = await ask('1002', 'POST', '/queues/sales/members', MembersReply, { extension: '1004' });
    assert.ok(back.members.some((m) => m.extension === '1004'));
    assert.ok(await memberLine(site(), 'sales', '1004'));
  });
});
