/** A transfer completed while its second call waits in a queue: one visit in the events, the figures and the history. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { QueueStatsReply } from '@offhook/contract/wallboard.ts';
import { eventsOf } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { connect, lasting, talk, useStage } from '../support/conversation-stage.ts';
import { leg, offer } from '../support/expected-conversation.ts';
import { until } from '../support/until.ts';

const now = (): number => performance.now();
/** The transferee waits in the place of the transferer. */
const passed = (queue: string, from: number, to: number) => ({ queue, leg: 'a', from, to });

describe('conversations: places in a queue', () => {
  const stage = useStage({
    people: extensions(2001, 2006),
    queues: [
      { number: '500', agents: ['2003'], ring_seconds: 20 },
      { number: '510', agents: ['2006'], ring_seconds: 30 },
    ],
  });
  const events = (queue: string) =>
    eventsOf(stage.site()).filter(
      ({ type, subject }) => subject === `queues/${queue}` && /^(queue\.caller|offer)/.test(type),
    );
  const types = (queue: string) => events(queue).map(({ type }) => type);
  const sums = async (queue: string) => {
    const { token } = await stage.site().person('1001');
    const response = await fetch(`${stage.site().base}/api/v1/queues/${queue}/stats`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { stats } = QueueStatsReply.parse(await response.json());
    return { ...stats.sums, waiting: stats.waiting };
  };

  test('conversations - attended transfer completed while the second call waits in a queue: an agent answers the transferee', async () => {
    await using a = await stage.phone('2001');
    await using b = await stage.phone('2002');
    const [call, at] = await connect(a, '2002', b);
    await talk(1, call, at);
    await at.hold();
    at.play('silence');
    const second = await b.invite('500');
    await second.answered();
    await lasting(1500);
    const joined = now();
    await at.join(second);
    await at.transferred();
    await until('the transferee to wait', () => types('q500').includes('queue.caller_changed'));
    const waiting = await sums('q500');
    assert.deepEqual([waiting.waiting, waiting.offered, waiting.open, waiting.abandoned], [1, 1, 1, 0]);
    await lasting(1200);
    await using x = await stage.phone('2003');
    const incoming = await x.incoming();
    incoming.ring();
    await lasting(1000);
    await incoming.answer();
    await talk(1.2, call, incoming);
    await call.hangup();
    await incoming.ended();
    const held = at.times.holds[0]!.from;
    const taken = incoming.times.answered;
    const { ended } = call.times;
    await stage.is({
      direction: 'internal',
      disposition: 'answered',
      cause: 16,
      ended_by: 'caller',
      dialled: '2002',
      answered: at.times.answered,
      merged: 1,
      legs: {
        a: leg('2001', 'caller', '2002', ['answered', 16, 'this_leg'], call.times, [
          ['alerting', at.times.answered],
          ['connected', held, { with: ['b'] }],
          ['held', joined, { with: ['b'], held_by: 'other_side' }],
          ['queued', taken, { queue: 'q500' }],
          ['connected', ended, { with: ['x'] }],
        ]),
        b: leg('2002', 'called', '2002', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', at.times.answered],
          ['connected', held, { with: ['a'] }],
          ['held', joined, { with: ['a'], held_by: 'this_leg' }],
        ]),
        b2: leg('2002', 'caller', '500', ['diverted', 16, 'this_leg'], { ...second.times, answered: NaN }, [
          ['queued', joined, { queue: 'q500' }],
        ]),
        x: leg('2003', 'offered', '2003', ['answered', 16, 'other_side'], incoming.times, [
          ['alerting', taken],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      transfers: [
        { kind: 'attended', at: joined, by: 'b', moved: 'a', to: '500', to_leg: 'x', outcome: 'completed' },
      ],
      visits: [
        {
          ...passed('q500', second.times.began, taken),
          outcome: 'answered',
          agent: '2003',
          agent_leg: 'x',
          offers: [offer('x', incoming.times, taken, 'answered')],
        },
      ],
    });
    assert.deepEqual(types('q500'), [
      'queue.caller_joined',
      'queue.caller_changed',
      'offer.created',
      'queue.caller_left',
      'offer.accepted',
    ]);
    const [first, changed] = events('q500');
    assert.equal(changed?.data['leg_id'], first?.data['leg_id']);
    assert.deepEqual(
      [first!, changed!].map((e) => (e.data['caller'] as { number: string }).number),
      ['2002', '2001'],
    );
    const after = await until('the handled call', async () => {
      const all = await sums('q500');
      return all.handled === 1 && all;
    });
    assert.deepEqual(
      [after.offered, after.calls, after.answered, after.abandoned, after.flowed_out, after.lost, after.open],
      [1, 1, 1, 0, 0, 0, 0],
    );
    const wait = (taken - second.times.began) / 1000;
    assert.ok(
      Math.abs(after.wait_answered_seconds - wait) <= 1.5,
      `${after.wait_answered_seconds} s, ${wait}`,
    );
  });

  test('conversations - attended transfer completed while an agent of the queue rings: the ring goes on, and the transferee gives up', async () => {
    await using a = await stage.phone('2004');
    await using b = await stage.phone('2005');
    await using x = await stage.phone('2006');
    const [call, at] = await connect(a, '2005', b);
    await talk(1, call, at);
    await at.hold();
    at.play('silence');
    const second = await b.invite('510');
    const incoming = await x.incoming();
    incoming.ring();
    await second.answered();
    await lasting(1200);
    const joined = now();
    await at.join(second);
    await at.transferred();
    await lasting(1500);
    await call.hangup();
    await incoming.ended();
    const held = at.times.holds[0]!.from;
    const { ended } = call.times;
    await stage.is({
      direction: 'internal',
      disposition: 'answered',
      cause: null,
      ended_by: 'caller',
      dialled: '2005',
      answered: at.times.answered,
      merged: 1,
      legs: {
        a: leg('2004', 'caller', '2005', ['answered', null, 'this_leg'], call.times, [
          ['alerting', at.times.answered],
          ['connected', held, { with: ['b'] }],
          ['held', joined, { with: ['b'], held_by: 'other_side' }],
          ['queued', ended, { queue: 'q510' }],
        ]),
        b: leg('2005', 'called', '2005', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', at.times.answered],
          ['connected', held, { with: ['a'] }],
          ['held', joined, { with: ['a'], held_by: 'this_leg' }],
        ]),
        b2: leg('2005', 'caller', '510', ['diverted', 16, 'this_leg'], { ...second.times, answered: NaN }, [
          ['queued', joined, { queue: 'q510' }],
        ]),
        x: leg('2006', 'offered', '2006', ['cancelled_by_caller', 26, 'other_side'], incoming.times, [
          ['alerting', ended],
        ]),
      },
      transfers: [
        { kind: 'attended', at: joined, by: 'b', moved: 'a', to: '510', to_leg: 'x', outcome: 'abandoned' },
      ],
      visits: [
        {
          ...passed('q510', second.times.began, ended),
          outcome: 'abandoned',
          agent: null,
          agent_leg: null,
          offers: [offer('x', incoming.times, ended, 'cancelled_by_caller')],
        },
      ],
    });
    assert.deepEqual(types('q510').toSorted(), [
      'offer.canceled',
      'offer.created',
      'queue.caller_abandoned',
      'queue.caller_changed',
      'queue.caller_joined',
    ]);
    const after = await sums('q510');
    assert.deepEqual(
      [after.offered, after.calls, after.answered, after.abandoned, after.missed_offers, after.open],
      [1, 1, 0, 1, 0, 0],
    );
  });
});
