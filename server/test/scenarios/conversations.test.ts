/** Calls between two phones: each record equals the measurements of real phones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { connect, lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import { until } from '../support/until.ts';

const plain = { direction: 'internal', answered: null } as const;

describe('conversations', () => {
  const stage = useStage({
    people: [...extensions(2001, 2020), ...extensions(2036, 2038)],
  });
  describe('played', { concurrency: true }, () => {
    test('conversations - direct: ringing, talking, ended by the caller', async () => {
      await using a = await stage.phone('2001');
      await using b = await stage.phone('2002');
      const [call, at] = await connect(a, '2002', b, 1200);
      await talk(1.5, call, at);
      await call.hangup();
      await at.ended();
      const { answered } = at.times;
      const { ended } = call.times;
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        ended_by: 'caller',
        dialled: '2002',
        answered,
        legs: {
          a: leg('2001', 'caller', '2002', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', answered],
            ['connected', ended, { with: ['b'] }],
          ]),
          b: leg('2002', 'called', '2002', ['answered', 16, 'other_side'], at.times, [
            ['alerting', answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
      });
    });

    for (const [what, status, cause, from, to] of [
      ['busy', 486, 17, '2003', '2004'],
      ['rejected', 603, 21, '2005', '2006'],
    ] as const) {
      test(`conversations - ${what}: the called phone rejects after ringing`, async () => {
        await using a = await stage.phone(from);
        await using b = await stage.phone(to);
        const [call, at] = await ring(a, to, b, 1000);
        at.reject(status);
        await call.ended();
        const { ended } = at.times;
        await stage.is({
          ...plain,
          disposition: 'missed',
          cause,
          ended_by: 'called',
          dialled: to,
          legs: {
            // The engine reports busy to the caller in both cases.
            a: leg(from, 'caller', to, [what, 17, 'exchange'], call.times, [['alerting', ended]]),
            b: leg(to, 'called', to, [what, cause, 'this_leg'], at.times, [['alerting', ended]]),
          },
        });
      });
    }

    test('conversations - congestion: the called phone cannot take the call and never rang', async () => {
      await using a = await stage.phone('2007');
      await using b = await stage.phone('2008');
      const call = await a.invite('2008');
      const at = await b.incoming();
      await lasting(800);
      at.reject(503);
      await call.ended();
      const { ended } = at.times;
      await stage.is({
        ...plain,
        disposition: 'failed',
        cause: 34,
        ended_by: 'called',
        dialled: '2008',
        legs: {
          a: leg('2007', 'caller', '2008', ['congestion', 20, 'exchange'], call.times, [
            ['initiated', ended],
          ]),
          b: leg('2008', 'called', '2008', ['congestion', 34, 'this_leg'], at.times, [['initiated', ended]]),
        },
      });
    });

    test('conversations - cancelled: the caller gives up while it rings', async () => {
      await using a = await stage.phone('2009');
      await using b = await stage.phone('2010');
      const [call, at] = await ring(a, '2010', b, 1500);
      await call.ringing();
      await call.hangup();
      await at.ended();
      const { ended } = at.times;
      await stage.is({
        ...plain,
        disposition: 'missed',
        // The engine's cause for a CANCEL.
        cause: 127,
        ended_by: 'caller',
        dialled: '2010',
        legs: {
          a: leg('2009', 'caller', '2010', ['cancelled_by_caller', 127, 'this_leg'], call.times, [
            ['alerting', ended],
          ]),
          b: leg('2010', 'called', '2010', ['cancelled_by_caller', 127, 'other_side'], at.times, [
            ['alerting', ended],
          ]),
        },
      });
    });

    test('conversations - no answer: it rings until the timeout of the engine', async () => {
      await using a = await stage.phone('2011');
      await using b = await stage.phone('2012');
      const [call, at] = await ring(a, '2012', b);
      await at.ended();
      await call.ended();
      const { ended } = at.times;
      assert.ok(ended - at.times.began > 25_000);
      await stage.is({
        ...plain,
        disposition: 'missed',
        cause: 19,
        ended_by: 'exchange',
        dialled: '2012',
        legs: {
          a: leg('2011', 'caller', '2012', ['no_answer', 19, 'exchange'], call.times, [['alerting', ended]]),
          b: leg('2012', 'called', '2012', ['no_answer', null, 'exchange'], at.times, [['alerting', ended]]),
        },
      });
    });

    test('conversations - no device: the dialled extension is listed without a leg', async () => {
      await using a = await stage.phone('2013');
      const call = await a.invite('2014');
      await call.ended();
      await stage.is({
        ...plain,
        disposition: 'failed',
        cause: 20,
        ended_by: 'exchange',
        dialled: '2014',
        legs: {
          a: leg('2013', 'caller', '2014', ['unreachable', 20, 'exchange'], call.times, [
            ['initiated', call.times.ended],
          ]),
        },
        unreached: ['2014'],
      });
    });

    test('conversations - hold by the caller, who hangs up while it holds', async () => {
      await using a = await stage.phone('2015');
      await using b = await stage.phone('2016');
      const [call, at] = await connect(a, '2016', b);
      await talk(1, call, at);
      await call.hold();
      call.play('silence');
      await at.hears(100);
      await call.hangup();
      await at.ended();
      const { answered } = at.times;
      const held = call.times.holds[0]!.from;
      const { ended } = call.times;
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        ended_by: 'caller',
        dialled: '2016',
        answered,
        legs: {
          a: leg('2015', 'caller', '2016', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', answered],
            ['connected', held, { with: ['b'] }],
            ['held', ended, { with: ['b'], held_by: 'this_leg' }],
          ]),
          b: leg('2016', 'called', '2016', ['answered', 16, 'other_side'], at.times, [
            ['alerting', answered],
            ['connected', held, { with: ['a'] }],
            ['held', ended, { with: ['a'], held_by: 'other_side' }],
          ]),
        },
      });
    });

    test('conversations - hold by the called side, then by both, then by the caller alone, then talk again', async () => {
      await using a = await stage.phone('2017');
      await using b = await stage.phone('2018');
      const [call, at] = await connect(a, '2018', b);
      await talk(1, call, at);
      await at.hold();
      await call.hears(60);
      await call.hold();
      await lasting(1500);
      await at.retrieve();
      at.play('silence');
      await at.hears(40);
      await call.retrieve();
      await talk(1, call, at);
      await at.hangup();
      await call.ended();
      const { answered, ended } = at.times;
      const [byCalled, byCaller] = [at.times.holds[0]!, call.times.holds[0]!];
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        ended_by: 'called',
        dialled: '2018',
        answered,
        legs: {
          a: leg('2017', 'caller', '2018', ['answered', 16, 'other_side'], call.times, [
            ['alerting', answered],
            ['connected', byCalled.from, { with: ['b'] }],
            ['held', byCaller.from, { with: ['b'], held_by: 'other_side' }],
            ['held', byCalled.to, { with: ['b'], held_by: 'both' }],
            ['held', byCaller.to, { with: ['b'], held_by: 'this_leg' }],
            ['connected', ended, { with: ['b'] }],
          ]),
          b: leg('2018', 'called', '2018', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', answered],
            ['connected', byCalled.from, { with: ['a'] }],
            ['held', byCaller.from, { with: ['a'], held_by: 'this_leg' }],
            ['held', byCalled.to, { with: ['a'], held_by: 'both' }],
            ['held', byCaller.to, { with: ['a'], held_by: 'other_side' }],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
      });
    });

    test('conversations - hold by the service, for a phone without a hold key', async () => {
      await using a = await stage.phone('2037');
      await using b = await stage.phone('2038');
      const person = await stage.site().person('2038');
      const [call, at] = await connect(a, '2038', b);
      await talk(1, call, at);
      const id = await stage.open('2038');
      const held = performance.now();
      await ask(stage.site(), person, `/${id}/hold`);
      at.play('silence');
      await call.hears(80);
      const retrieved = performance.now();
      await ask(stage.site(), person, `/${id}/retrieve`);
      await talk(1, call, at);
      await call.hangup();
      await at.ended();
      const { answered } = at.times;
      const { ended } = call.times;
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        ended_by: 'caller',
        dialled: '2038',
        answered,
        legs: {
          a: leg('2037', 'caller', '2038', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', answered],
            ['connected', held, { with: ['b'] }],
            ['held', retrieved, { with: ['b'], held_by: 'other_side' }],
            ['connected', ended, { with: ['b'] }],
          ]),
          b: leg('2038', 'called', '2038', ['answered', 16, 'other_side'], at.times, [
            ['alerting', answered],
            ['connected', held, { with: ['a'] }],
            ['held', retrieved, { with: ['a'], held_by: 'this_leg' }],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
      });
    });

    test('conversations - two devices of one person ring, and one answers', async () => {
      await using a = await stage.phone('2019');
      await using desk = await stage.phone('2020');
      await using other = await stage.phone('2020');
      const call = await a.invite('2020');
      const [atDesk, atOther] = await Promise.all([desk.incoming(), other.incoming()]);
      atDesk.ring();
      atOther.ring();
      await lasting(1000);
      await atOther.answer();
      await call.answered();
      await atDesk.ended();
      await talk(1, call, atOther);
      await atOther.hangup();
      await call.ended();
      const { answered, ended } = atOther.times;
      // Both legs have the same endpoint: only the disposition shows which one began first.
      // An open conversation does not show yet which leg answered.
      const newest = await until('the conversation to be over', async () => {
        const [found] = await stage.of('2020');
        return found?.state !== 'open' && found;
      });
      const [first] = (await stage.detail(newest.id)).legs.filter((l) => l.role === 'called');
      const answeredFirst = first?.disposition === 'answered';
      const rang = leg('2020', 'called', '2020', ['answered_elsewhere', 26, 'exchange'], atDesk.times, [
        ['alerting', answered],
      ]);
      const taken = leg('2020', 'called', '2020', ['answered', 16, 'this_leg'], atOther.times, [
        ['alerting', answered],
        ['connected', ended, { with: ['a'] }],
      ]);
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        ended_by: 'called',
        dialled: '2020',
        answered,
        legs: {
          a: leg('2019', 'caller', '2020', ['answered', 16, 'other_side'], call.times, [
            ['alerting', answered],
            ['connected', ended, { with: ['taken'] }],
          ]),
          // The phones may hear of their calls in another order than the engine began them.
          rang: { ...rang, from: taken.from + (answeredFirst ? 0.01 : -0.01) },
          taken,
        },
      });
    });

    test('conversations - an unknown number is no conversation', async () => {
      await using a = await stage.phone('2036');
      const call = await a.invite('4242');
      await until('the refusal', () => call.state === 'ended');
      assert.equal(call.status, 404);
      assert.deepEqual(await stage.of('2036'), []);
    });
  });

  test('conversations - rebuilt conversations equal the live ones', () => assertRebuilt(stage.site()));
});
