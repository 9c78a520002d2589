/** Transferred calls, played with real phones: one conversation each, equal to their measurements. */
import { describe, test } from 'node:test';
import { ask, doneBy } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { connect, lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import { until } from '../support/until.ts';

const answered = { direction: 'internal', disposition: 'answered', cause: 16 } as const;
const now = (): number => performance.now();

describe('conversations: transfers', () => {
  const stage = useStage({
    people: [...extensions(2001, 2018), ...extensions(2032, 2034)],
  });
  describe('played', { concurrency: true }, () => {
    test('conversations - blind transfer by the called side', async () => {
      await using a = await stage.phone('2001');
      await using b = await stage.phone('2002');
      await using c = await stage.phone('2003');
      const [call, at] = await connect(a, '2002', b);
      await talk(1, call, at);
      const passed = now();
      await at.transfer('2003');
      const further = await c.incoming();
      further.ring();
      await lasting(1200);
      await further.answer();
      await at.transferred();
      await talk(1.2, call, further);
      await call.hangup();
      await further.ended();
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2002',
        answered: at.times.answered,
        legs: {
          a: leg('2001', 'caller', '2002', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['b'] }],
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2002', 'called', '2002', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['a'] }],
          ]),
          c: leg('2003', 'transfer_target', '2003', ['answered', 16, 'other_side'], further.times, [
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          { kind: 'blind', at: passed, by: 'b', moved: 'a', to: '2003', to_leg: 'c', outcome: 'completed' },
        ],
      });
    });

    test('conversations - blind transfer by the caller', async () => {
      await using a = await stage.phone('2004');
      await using b = await stage.phone('2005');
      await using c = await stage.phone('2006');
      const [call, at] = await connect(a, '2005', b);
      await talk(1, call, at);
      const passed = now();
      await call.transfer('2006');
      const further = await c.incoming();
      further.ring();
      await lasting(1000);
      await further.answer();
      await call.transferred();
      await talk(1.2, at, further);
      await further.hangup();
      await at.ended();
      const { ended } = further.times;
      await stage.is({
        ...answered,
        ended_by: 'called',
        dialled: '2005',
        answered: at.times.answered,
        legs: {
          a: leg('2004', 'caller', '2005', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['b'] }],
          ]),
          b: leg('2005', 'called', '2005', ['answered', 16, 'other_side'], at.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['a'] }],
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['c'] }],
          ]),
          c: leg('2006', 'transfer_target', '2006', ['answered', 16, 'this_leg'], further.times, [
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['b'] }],
          ]),
        },
        transfers: [
          { kind: 'blind', at: passed, by: 'a', moved: 'b', to: '2006', to_leg: 'c', outcome: 'completed' },
        ],
      });
    });

    test('conversations - blind transfer given up: the transferred party hangs up while it rings', async () => {
      await using a = await stage.phone('2007');
      await using b = await stage.phone('2008');
      await using c = await stage.phone('2009');
      const [call, at] = await connect(a, '2008', b);
      await talk(1, call, at);
      const passed = now();
      await at.transfer('2009');
      const further = await c.incoming();
      further.ring();
      await lasting(1200);
      await call.hangup();
      await further.ended();
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2008',
        answered: at.times.answered,
        legs: {
          a: leg('2007', 'caller', '2008', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['b'] }],
            ['alerting', ended],
          ]),
          b: leg('2008', 'called', '2008', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', passed, { with: ['a'] }],
          ]),
          c: leg(
            '2009',
            'transfer_target',
            '2009',
            ['cancelled_by_caller', 16, 'other_side'],
            further.times,
            [['alerting', ended]],
          ),
        },
        transfers: [
          { kind: 'blind', at: passed, by: 'b', moved: 'a', to: '2009', to_leg: 'c', outcome: 'abandoned' },
        ],
      });
    });

    test('conversations - attended transfer after the target answered', async () => {
      await using a = await stage.phone('2010');
      await using b = await stage.phone('2011');
      await using c = await stage.phone('2012');
      const [call, at] = await connect(a, '2011', b);
      await talk(1, call, at);
      await at.hold();
      at.play('silence');
      const [second, further] = await connect(b, '2012', c, 1000);
      await talk(1.2, second, further);
      const joined = now();
      await at.join(second);
      await at.transferred();
      const [{ base }, { token }] = [stage.site(), await stage.site().person('2012')];
      const path = `/api/v1/conversations/${encodeURIComponent(await stage.open('2010'))}/notes`;
      await until('a note by the target, while it talks', async () => {
        const { status } = await fetch(base + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ text: 'Calls back on Monday' }),
        });
        return status === 201;
      });
      await talk(1.2, call, further);
      await further.hangup();
      await call.ended();
      const held = at.times.holds[0]!.from;
      const { ended } = further.times;
      await stage.is({
        ...answered,
        ended_by: 'called',
        dialled: '2011',
        answered: at.times.answered,
        merged: 1,
        legs: {
          a: leg('2010', 'caller', '2011', ['answered', 16, 'other_side'], call.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['b'] }],
            ['held', joined, { with: ['b'], held_by: 'other_side' }],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2011', 'called', '2011', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['a'] }],
            ['held', joined, { with: ['a'], held_by: 'this_leg' }],
          ]),
          b2: leg('2011', 'caller', '2012', ['answered', 16, 'this_leg'], second.times, [
            ['alerting', further.times.answered],
            ['connected', joined, { with: ['c'] }],
          ]),
          c: leg('2012', 'consulted', '2012', ['answered', 16, 'this_leg'], further.times, [
            ['alerting', further.times.answered],
            ['connected', joined, { with: ['b2'] }],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          {
            kind: 'attended',
            at: joined,
            by: 'b',
            moved: 'a',
            to: '2012',
            to_leg: 'c',
            outcome: 'completed',
          },
        ],
      });
    });

    test('conversations - attended transfer completed while the target still rings', async () => {
      await using a = await stage.phone('2013');
      await using b = await stage.phone('2014');
      await using c = await stage.phone('2015');
      const [call, at] = await connect(a, '2014', b);
      await talk(1, call, at);
      await at.hold();
      at.play('silence');
      const [second, further] = await ring(b, '2015', c, 1200);
      await second.ringing();
      const joined = now();
      await at.join(second);
      await at.transferred();
      await lasting(1000);
      await further.answer();
      await talk(1.2, call, further);
      await call.hangup();
      await further.ended();
      const held = at.times.holds[0]!.from;
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2014',
        answered: at.times.answered,
        merged: 1,
        legs: {
          a: leg('2013', 'caller', '2014', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['b'] }],
            ['held', joined, { with: ['b'], held_by: 'other_side' }],
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2014', 'called', '2014', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['a'] }],
            ['held', joined, { with: ['a'], held_by: 'this_leg' }],
          ]),
          b2: leg('2014', 'caller', '2015', ['diverted', 16, 'this_leg'], second.times, [
            ['alerting', joined],
          ]),
          c: leg('2015', 'transfer_target', '2015', ['answered', 16, 'other_side'], further.times, [
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          {
            kind: 'attended',
            at: joined,
            by: 'b',
            moved: 'a',
            to: '2015',
            to_leg: 'c',
            outcome: 'completed',
          },
        ],
      });
    });

    test('conversations - attended transfer by the service: the transferer hangs up while the target rings', async () => {
      await using a = await stage.phone('2032');
      await using b = await stage.phone('2033');
      await using c = await stage.phone('2034');
      const person = await stage.site().person('2033');
      const [call, at] = await connect(a, '2033', b);
      await talk(1, call, at);
      const id = await stage.open('2033');
      const held = now();
      const { operation } = await ask(stage.site(), person, `/${id}/transfer`, {
        kind: 'attended',
        to: '2034',
      });
      const further = await c.incoming();
      further.ring();
      await doneBy(stage.site(), operation, 'call.ringing');
      await lasting(1000);
      await at.hangup();
      await lasting(1000);
      await further.answer();
      await talk(1.2, call, further);
      await further.hangup();
      await call.ended();
      const left = at.times.ended;
      const { ended } = further.times;
      await stage.is({
        ...answered,
        ended_by: 'called',
        dialled: '2033',
        answered: at.times.answered,
        legs: {
          a: leg('2032', 'caller', '2033', ['answered', 16, 'other_side'], call.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['b'] }],
            ['held', left, { held_by: 'other_side' }],
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2033', 'called', '2033', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['a'] }],
            ['alerting', left],
          ]),
          c: leg('2034', 'transfer_target', '2034', ['answered', 16, 'this_leg'], further.times, [
            ['alerting', further.times.answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          { kind: 'attended', at: left, by: 'b', moved: 'a', to: '2034', to_leg: 'c', outcome: 'completed' },
        ],
      });
    });

    test('conversations - attended transfer given up: the transferer returns', async () => {
      await using a = await stage.phone('2016');
      await using b = await stage.phone('2017');
      await using c = await stage.phone('2018');
      const person = await stage.site().person('2017');
      const [call, at] = await connect(a, '2017', b);
      await talk(1, call, at);
      const id = await stage.open('2017');
      const held = now();
      const { operation } = await ask(stage.site(), person, `/${id}/transfer`, {
        kind: 'attended',
        to: '2018',
      });
      const further = await c.incoming();
      further.ring();
      await lasting(1000);
      await further.answer();
      await doneBy(stage.site(), operation, 'operation.completed');
      await talk(1.2, at, further);
      const back = now();
      await ask(stage.site(), person, `/${id}/transfer/cancel`);
      await further.ended();
      await talk(1.2, call, at);
      await call.hangup();
      await at.ended();
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2017',
        answered: at.times.answered,
        legs: {
          a: leg('2016', 'caller', '2017', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['b'] }],
            ['held', back, { held_by: 'other_side' }],
            ['connected', ended, { with: ['b'] }],
          ]),
          b: leg('2017', 'called', '2017', ['answered', 16, 'other_side'], at.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['a'] }],
            ['alerting', further.times.answered],
            ['connected', back, { with: ['c'] }],
            ['connected', ended, { with: ['a'] }],
          ]),
          c: leg('2018', 'consulted', '2018', ['answered', 16, 'other_side'], further.times, [
            ['alerting', further.times.answered],
            ['connected', back, { with: ['b'] }],
          ]),
        },
        transfers: [
          { kind: 'attended', at: held, by: 'b', moved: 'a', to: '2018', to_leg: 'c', outcome: 'abandoned' },
        ],
      });
    });
  });

  test('conversations: transfers - rebuilt conversations equal the live ones', () =>
    assertRebuilt(stage.site()));
});
