/** Calls through queues, played with real phones: visits, offers and outcomes equal their measurements. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { extensions } from '../support/company.ts';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { connect, lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg, offer, visit } from '../support/expected-conversation.ts';

// A caller is answered by an agent, not by the queue.
const answered = { direction: 'internal', disposition: 'answered', cause: 16 } as const;
const now = (): number => performance.now();

describe('conversations: queues', () => {
  const stage = useStage({
    people: extensions(2001, 2018),
    queues: [
      // Long enough for the steps of the agent who answers the second ring.
      { number: '500', agents: ['2002', '2003'], ring_seconds: 8 },
      // A slow engine begins the second ring within the wait, too.
      { number: '510', agents: ['2006'], ring_seconds: 8, max_wait_seconds: 14 },
      { number: '520', agents: ['2008'] },
      { number: '530', agents: ['2010'] },
      { number: '540', agents: ['2012'] },
      { number: '550', agents: ['2016'] },
      { number: '560', agents: ['2018'] },
    ],
  });
  describe('played', { concurrency: true }, () => {
    test('conversations - queue: two agents do not answer, ring again, one answers and transfers the call', async () => {
      await using a = await stage.phone('2001');
      await using x = await stage.phone('2002');
      await using y = await stage.phone('2003');
      await using z = await stage.phone('2004');
      const call = await a.invite('500');
      const [x1, y1] = await Promise.all([x.incoming(), y.incoming()]);
      x1.ring();
      y1.ring();
      await Promise.all([x1.ended(), y1.ended()]);
      const [x2, y2] = await Promise.all([x.incoming(), y.incoming()]);
      x2.ring();
      y2.ring();
      await lasting(1000);
      await y2.answer();
      await x2.ended();
      await talk(1.2, call, y2);
      const passed = now();
      await y2.transfer('2004');
      const further = await z.incoming();
      further.ring();
      await lasting(1000);
      await further.answer();
      await y2.transferred();
      await talk(1.2, call, further);
      await further.hangup();
      await call.ended();
      const taken = y2.times.answered;
      const { ended } = further.times;
      await stage.is({
        ...answered,
        ended_by: 'called',
        dialled: '500',
        answered: taken,
        legs: {
          a: leg(
            '2001',
            'caller',
            '500',
            ['answered', 16, 'other_side'],
            { ...call.times, answered: taken },
            [
              ['queued', taken, { queue: 'q500' }],
              ['connected', passed, { with: ['y2'] }],
              ['alerting', further.times.answered],
              ['connected', ended, { with: ['z'] }],
            ],
          ),
          x1: leg('2002', 'offered', '2002', ['no_answer', 26, 'exchange'], x1.times, [
            ['alerting', x1.times.ended],
          ]),
          y1: leg('2003', 'offered', '2003', ['no_answer', 26, 'exchange'], y1.times, [
            ['alerting', y1.times.ended],
          ]),
          x2: leg('2002', 'offered', '2002', ['answered_elsewhere', 26, 'exchange'], x2.times, [
            ['alerting', x2.times.ended],
          ]),
          y2: leg('2003', 'offered', '2003', ['answered', 16, 'this_leg'], y2.times, [
            ['alerting', taken],
            ['connected', passed, { with: ['a'] }],
          ]),
          z: leg('2004', 'transfer_target', '2004', ['answered', 16, 'this_leg'], further.times, [
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          { kind: 'blind', at: passed, by: 'y2', moved: 'a', to: '2004', to_leg: 'z', outcome: 'completed' },
        ],
        visits: [
          visit(
            'q500',
            [call.times.began, taken],
            'answered',
            ['2003', 'y2'],
            [
              offer('x1', x1.times, x1.times.ended, 'no_answer'),
              offer('y1', y1.times, y1.times.ended, 'no_answer'),
              offer('x2', x2.times, taken, 'answered_elsewhere'),
              offer('y2', y2.times, taken, 'answered'),
            ],
          ),
        ],
      });
    });

    test('conversations - queue: the wait times out with an announcement', async () => {
      await using a = await stage.phone('2005');
      await using x = await stage.phone('2006');
      const call = await a.invite('510');
      const first = await x.incoming();
      first.ring();
      await first.ended();
      const second = await x.incoming();
      second.ring();
      await second.ended();
      await call.ended();
      const left = second.times.ended;
      const { began, ended } = call.times;
      await stage.is({
        direction: 'internal',
        disposition: 'missed',
        cause: 16,
        ended_by: 'exchange',
        dialled: '510',
        answered: null,
        legs: {
          a: leg('2005', 'caller', '510', ['no_answer', 16, 'exchange'], { ...call.times, answered: NaN }, [
            ['queued', left, { queue: 'q510' }],
            ['service', ended, { service: 'announcement' }],
          ]),
          x1: leg('2006', 'offered', '2006', ['no_answer', 26, 'exchange'], first.times, [
            ['alerting', first.times.ended],
          ]),
          x2: leg('2006', 'offered', '2006', ['no_answer', 26, 'exchange'], second.times, [
            ['alerting', second.times.ended],
          ]),
        },
        visits: [
          visit('q510', [began, left], 'timeout', null, [
            offer('x1', first.times, first.times.ended, 'no_answer'),
            offer('x2', second.times, left, 'no_answer'),
          ]),
        ],
      });
    });

    test('conversations - queue: the caller gives up while an agent rings', async () => {
      await using a = await stage.phone('2007');
      await using x = await stage.phone('2008');
      const [call, at] = await ring(a, '520', x, 1500);
      await call.answered();
      await call.hangup();
      await at.ended();
      const { began, ended } = call.times;
      await stage.is({
        direction: 'internal',
        disposition: 'abandoned_in_queue',
        cause: null,
        ended_by: 'caller',
        dialled: '520',
        answered: null,
        legs: {
          a: leg(
            '2007',
            'caller',
            '520',
            ['cancelled_by_caller', null, 'this_leg'],
            { ...call.times, answered: NaN },
            [['queued', ended, { queue: 'q520' }]],
          ),
          x: leg('2008', 'offered', '2008', ['cancelled_by_caller', 26, 'other_side'], at.times, [
            ['alerting', ended],
          ]),
        },
        visits: [
          visit('q520', [began, ended], 'abandoned', null, [
            offer('x', at.times, ended, 'cancelled_by_caller'),
          ]),
        ],
      });
    });

    test('conversations - queue: no agent is reachable, and the caller gives up', async () => {
      await using a = await stage.phone('2009');
      const call = await a.invite('530');
      await call.answered();
      await call.hears(60);
      await call.hangup();
      const { began, ended } = call.times;
      await stage.is({
        direction: 'internal',
        disposition: 'abandoned_in_queue',
        cause: null,
        ended_by: 'caller',
        dialled: '530',
        answered: null,
        legs: {
          a: leg(
            '2009',
            'caller',
            '530',
            ['cancelled_by_caller', null, 'this_leg'],
            { ...call.times, answered: NaN },
            [['queued', ended, { queue: 'q530' }]],
          ),
        },
        visits: [visit('q530', [began, ended], 'abandoned', null, [])],
      });
    });

    test('conversations - queue: the agent holds the caller, consults a colleague and connects them', async () => {
      await using a = await stage.phone('2011');
      await using x = await stage.phone('2012');
      await using z = await stage.phone('2013');
      const [call, at] = await connect(a, '540', x, 1000);
      await talk(1, call, at);
      await at.hold();
      at.play('silence');
      const [second, further] = await connect(x, '2013', z, 800);
      await talk(1.2, second, further);
      const joined = now();
      await at.join(second);
      await at.transferred();
      await talk(1.2, call, further);
      await call.hangup();
      await further.ended();
      const taken = at.times.answered;
      const held = at.times.holds[0]!.from;
      const { began, ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '540',
        answered: taken,
        merged: 1,
        legs: {
          a: leg('2011', 'caller', '540', ['answered', 16, 'this_leg'], { ...call.times, answered: taken }, [
            ['queued', taken, { queue: 'q540' }],
            ['connected', held, { with: ['x'] }],
            ['held', joined, { with: ['x'], held_by: 'other_side' }],
            ['connected', ended, { with: ['z'] }],
          ]),
          x: leg('2012', 'offered', '2012', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', taken],
            ['connected', held, { with: ['a'] }],
            ['held', joined, { with: ['a'], held_by: 'this_leg' }],
          ]),
          x2: leg('2012', 'caller', '2013', ['answered', 16, 'this_leg'], second.times, [
            ['alerting', further.times.answered],
            ['connected', joined, { with: ['z'] }],
          ]),
          z: leg('2013', 'consulted', '2013', ['answered', 16, 'other_side'], further.times, [
            ['alerting', further.times.answered],
            ['connected', joined, { with: ['x2'] }],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          {
            kind: 'attended',
            at: joined,
            by: 'x',
            moved: 'a',
            to: '2013',
            to_leg: 'z',
            outcome: 'completed',
          },
        ],
        visits: [
          visit('q540', [began, taken], 'answered', ['2012', 'x'], [offer('x', at.times, taken, 'answered')]),
        ],
      });
    });

    test('conversations - queue: a call between two is transferred into it', async () => {
      await using a = await stage.phone('2014');
      await using b = await stage.phone('2015');
      await using x = await stage.phone('2016');
      const [call, at] = await connect(a, '2015', b);
      await talk(1, call, at);
      const passed = now();
      await at.transfer('550');
      const further = await x.incoming();
      further.ring();
      await lasting(1000);
      await further.answer();
      await at.transferred();
      await talk(1.2, call, further);
      await call.hangup();
      await further.ended();
      const taken = further.times.answered;
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2015',
        answered: at.times.answered,
        legs: {
          a: leg('2014', 'caller', '2015', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['b'] }],
            ['queued', taken, { queue: 'q550' }],
            ['connected', ended, { with: ['x'] }],
          ]),
          b: leg('2015', 'called', '2015', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['a'] }],
          ]),
          x: leg('2016', 'offered', '2016', ['answered', 16, 'other_side'], further.times, [
            ['alerting', taken],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          { kind: 'blind', at: passed, by: 'b', moved: 'a', to: '550', to_leg: 'x', outcome: 'completed' },
        ],
        visits: [
          visit(
            'q550',
            [passed, taken],
            'answered',
            ['2016', 'x'],
            [offer('x', further.times, taken, 'answered')],
          ),
        ],
      });
    });

    test('conversations - queue: the agent declines, rings again and answers', async () => {
      await using a = await stage.phone('2017');
      await using x = await stage.phone('2018');
      const [call, first] = await ring(a, '560', x, 1000);
      first.reject(603);
      const second = await x.incoming();
      second.ring();
      await lasting(800);
      await second.answer();
      await talk(1.2, call, second);
      await second.hangup();
      await call.ended();
      const taken = second.times.answered;
      const declined = first.times.ended;
      assert.ok(second.times.began > declined);
      const { ended } = second.times;
      await stage.is({
        ...answered,
        ended_by: 'called',
        dialled: '560',
        answered: taken,
        legs: {
          a: leg(
            '2017',
            'caller',
            '560',
            ['answered', 16, 'other_side'],
            { ...call.times, answered: taken },
            [
              ['queued', taken, { queue: 'q560' }],
              ['connected', ended, { with: ['x2'] }],
            ],
          ),
          x1: leg('2018', 'offered', '2018', ['rejected', 21, 'this_leg'], first.times, [
            ['alerting', declined],
          ]),
          x2: leg('2018', 'offered', '2018', ['answered', 16, 'this_leg'], second.times, [
            ['alerting', taken],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        visits: [
          visit(
            'q560',
            [call.times.began, taken],
            'answered',
            ['2018', 'x2'],
            [offer('x1', first.times, declined, 'rejected'), offer('x2', second.times, taken, 'answered')],
          ),
        ],
      });
    });
  });

  test('conversations: queues - rebuilt conversations equal the live ones', () =>
    assertRebuilt(stage.site()));
});
