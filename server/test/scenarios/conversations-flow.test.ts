/** Calls through ring groups, menus and conferences, played with real phones: each record equals their measurements. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { extensions } from '../support/company.ts';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { lasting, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import { until } from '../support/until.ts';

const Live = z.object({
  calls: z.array(z.object({ extensions: z.array(z.string()), answered_at: z.string().nullable() })),
});
const plain = { direction: 'internal', ended_by: 'caller' } as const;

describe('conversations: flow', () => {
  const stage = useStage({
    people: extensions(2002, 2020),
    objects: {
      ring_group: [
        { name: 'front', number: '620', title: 'Front', members: ['2002', '2003'] },
        {
          name: 'line',
          number: '621',
          title: 'Line',
          strategy: 'in_order',
          members: ['2012', '2013'],
          ring_seconds: 30,
        },
      ],
      menu: [
        {
          name: 'main',
          number: '800',
          title: 'Main',
          greeting: { built_in: 'hello-world' },
          choices: [{ key: '1', to: { kind: 'extension', key: '2005' } }],
          timeout_seconds: 1,
          attempts: 1,
          otherwise: { kind: 'hang_up' },
        },
        // Waits long enough for the key of a caller on a slow machine.
        {
          name: 'patient',
          number: '801',
          title: 'Patient',
          greeting: { built_in: 'hello-world' },
          choices: [{ key: '1', to: { kind: 'extension', key: '2005' } }],
          timeout_seconds: 30,
          attempts: 1,
          otherwise: { kind: 'hang_up' },
        },
      ],
      // A leg ends in the engine after the tones of its conference.
      conference: [{ name: 'room', number: '830', title: 'Room', announce: false }],
    },
  });
  describe('played', { concurrency: true }, () => {
    test('conversations - a ring group: all ring, one answers, and the others are answered elsewhere', async () => {
      await using a = await stage.phone('2004');
      await using b = await stage.phone('2002');
      await using c = await stage.phone('2003');
      const call = await a.invite('620');
      const [at_b, at_c] = [await b.incoming(), await c.incoming()];
      at_b.ring();
      at_c.ring();
      await call.ringing();
      await lasting(800);
      await at_c.answer();
      await call.answered();
      await talk(1, call, at_c);
      await call.hangup();
      await Promise.all([at_b.ended(), at_c.ended()]);
      const { answered, ended } = call.times;
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        dialled: '620',
        answered,
        legs: {
          a: leg('2004', 'caller', '620', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', answered],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2002', 'called', '2002', ['answered_elsewhere', 26, 'exchange'], at_b.times, [
            ['alerting', at_b.times.ended],
          ]),
          c: leg('2003', 'called', '2003', ['answered', 16, 'other_side'], at_c.times, [
            ['alerting', answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
      });
    });

    test('conversations - a ring group in order: the first is busy, the second answers', async () => {
      await using a = await stage.phone('2014');
      await using b = await stage.phone('2012');
      await using c = await stage.phone('2013');
      const call = await a.invite('621');
      const at_b = await b.incoming();
      at_b.ring();
      await lasting(800);
      at_b.reject(486);
      const at_c = await c.incoming();
      at_c.ring();
      await lasting(800);
      await at_c.answer();
      await call.answered();
      await talk(1, call, at_c);
      await call.hangup();
      await at_c.ended();
      const { answered, ended } = call.times;
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        dialled: '621',
        answered,
        legs: {
          a: leg('2014', 'caller', '621', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', answered],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2012', 'called', '2012', ['busy', 17, 'this_leg'], at_b.times, [
            ['alerting', at_b.times.ended],
          ]),
          c: leg('2013', 'called', '2013', ['answered', 16, 'other_side'], at_c.times, [
            ['alerting', answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
      });
    });

    test('conversations - a menu is a step on the way to the answer', async () => {
      await using a = await stage.phone('2006');
      await using b = await stage.phone('2005');
      const call = await a.invite('801');
      await call.answered();
      await lasting(800);
      await call.digits('1');
      const at = await b.incoming();
      at.ring();
      await lasting(800);
      await at.answer();
      await talk(1, call, at);
      await call.hangup();
      await at.ended();
      const { ended } = call.times;
      const { began: chosen, answered: met } = at.times;
      await stage.is({
        ...plain,
        disposition: 'answered',
        cause: 16,
        dialled: '801',
        answered: met,
        legs: {
          a: {
            ...leg('2006', 'caller', '801', ['answered', 16, 'this_leg'], call.times, [
              ['service', chosen, { service: 'menu' }],
              ['alerting', met],
              ['connected', ended, { with: ['b'] }],
            ]),
            answered: met,
          },
          b: leg('2005', 'called', '2005', ['answered', 16, 'other_side'], at.times, [
            ['alerting', met],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
      });
    });

    test('conversations - a caller who presses no key in a menu is self service', async () => {
      await using a = await stage.phone('2007');
      const call = await a.invite('800');
      await call.ended();
      const { answered, ended } = call.times;
      await stage.is({
        ...plain,
        disposition: 'self_service',
        cause: 16,
        ended_by: 'exchange',
        dialled: '800',
        answered,
        legs: {
          a: leg('2007', 'caller', '800', ['answered', 16, 'exchange'], call.times, [
            ['service', ended, { service: 'menu' }],
          ]),
        },
      });
    });

    test('conversations - a conference is one call for each participant, shown live as answered', async () => {
      const [a, b, c] = ['2008', '2009', '2010'];
      await using one = await stage.phone(a!);
      await using two = await stage.phone(b!);
      await using three = await stage.phone(c!);
      const calls = [];
      for (const phone of [one, two, three]) {
        const call = await phone.invite('830');
        await call.answered();
        calls.push(call);
      }
      await talk(1, ...calls);
      const { token } = await stage.site().person('1001');
      const live = await until('three answered calls', async () => {
        const response = await fetch(`${stage.site().base}/api/v1/calls`, {
          headers: { authorization: `Bearer ${token}` },
        });
        const own = Live.parse(await response.json()).calls.filter(
          ({ extensions: parties, answered_at }) =>
            answered_at !== null && [a, b, c].some((one) => parties.includes(one!)),
        );
        return own.length >= 3 && own;
      });
      for (const extension of [a, b, c]) {
        const own = live.filter((call) => call.extensions.includes(extension!));
        assert.equal(own.length, 1);
        assert.deepEqual(own[0]!.extensions, [extension]);
      }
      for (const call of calls) await call.hangup();
      for (const [i, who] of [a, b, c].entries()) {
        const { times } = calls[i]!;
        await stage.is({
          ...plain,
          disposition: 'self_service',
          cause: 16,
          dialled: '830',
          answered: times.answered,
          legs: {
            a: leg(who!, 'caller', '830', ['answered', 16, 'this_leg'], times, [
              ['service', times.ended, { service: 'conference' }],
            ]),
          },
        });
      }
    });
  });

  test('conversations: flow - rebuilt conversations equal the live ones', () => assertRebuilt(stage.site()));
});
