/** Calls over trunks, played with real phones on both ends: direction by the parties, numbers as received and in E.164. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { connect, lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import { openFarSide } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { farAddress } from '../support/far-address.ts';

const north = await farAddress('127.0.0.2');
const south = await farAddress('127.0.0.3');
const MOBILE = '+4915112345678';
const LONDON = '+442079460018';
const now = (): number => performance.now();

describe('conversations: trunks', () => {
  let outside: Phone;
  let abroad: Phone;
  const stage = useStage(
    {
      people: ['2001', '2002', '2003', '2004', '2005', '2006'],
      queues: [{ number: '500', agents: ['2005'] }],
      objects: {
        trunk: [
          { name: 'north', title: 'North', ...north, outbound_number: '+493012345600' },
          { name: 'south', title: 'South', ...south },
        ],
        inbound_route: [
          ...['2001', '2004', '2006'].map((key) => ({
            name: `in-${key}`,
            trunk: 'north',
            number: `+49301234560${key.slice(-1)}`,
            to: { kind: 'extension' as const, key },
          })),
          { name: 'queue', trunk: 'north', number: '+493012345605', to: { kind: 'queue', key: 'q500' } },
          {
            name: 'through',
            trunk: 'north',
            number: '+44',
            prefix: true,
            to: { kind: 'trunk', key: 'south' },
          },
        ],
        outbound_route: [
          {
            name: 'national',
            patterns: ['0X!'],
            trunks: [{ trunk: 'north', strip: 1, prepend: '+49' }],
          },
          { name: 'britain', patterns: ['+44X!'], trunks: [{ trunk: 'south' }] },
        ],
      },
    },
    {
      env: { OFFHOOK_SITE_COUNTRY: 'DE' },
      // The far sides are open before the engine sends its first OPTIONS.
      async prepare(_dataDir, server) {
        outside = await openFarSide({ server, extension: MOBILE, at: north });
        abroad = await openFarSide({ server, extension: LONDON, at: south });
      },
    },
  );
  after(() => Promise.all([outside, abroad].map((phone) => phone?.[Symbol.asyncDispose]())));
  const caller = { number: MOBILE, e164: MOBILE, trunk: 'north' };

  test('conversations - trunk in: a customer is answered, held for a while, and hangs up', async () => {
    await using a = await stage.phone('2001');
    const [call, at] = await connect(outside, '+493012345601', a, 1000);
    await talk(1, call, at);
    await at.hold();
    at.play('silence');
    await call.hears(90);
    await at.retrieve();
    await talk(1.2, call, at);
    await call.hangup();
    await at.ended();
    const { answered } = at.times;
    const [held] = at.times.holds;
    const { ended } = call.times;
    await stage.is({
      direction: 'in',
      disposition: 'answered',
      cause: 16,
      ended_by: 'caller',
      dialled: '+493012345601',
      dialled_e164: '+493012345601',
      answered,
      billable: [answered, ended],
      legs: {
        a: leg(caller, 'caller', '+493012345601', ['answered', 16, 'this_leg'], call.times, [
          ['alerting', answered],
          ['connected', held!.from, { with: ['b'] }],
          ['held', held!.to, { with: ['b'], held_by: 'other_side' }],
          ['connected', ended, { with: ['b'] }],
        ]),
        b: leg('2001', 'called', '2001', ['answered', 16, 'other_side'], at.times, [
          ['alerting', answered],
          ['connected', held!.from, { with: ['a'] }],
          ['held', held!.to, { with: ['a'], held_by: 'this_leg' }],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
    });
  });

  test('conversations - trunk out: the number as dialled and in E.164, ended by the other side', async () => {
    await using a = await stage.phone('2002');
    const [call, at] = await connect(a, '03012345678', outside, 1000);
    assert.equal(at.dialled, '+493012345678');
    await talk(1.2, call, at);
    await at.hangup();
    await call.ended();
    const { answered, ended } = at.times;
    const far = { number: '03012345678', e164: '+493012345678', trunk: 'north' };
    await stage.is({
      direction: 'out',
      disposition: 'answered',
      cause: 16,
      ended_by: 'called',
      dialled: '03012345678',
      dialled_e164: '+493012345678',
      answered,
      billable: [answered, ended],
      legs: {
        a: leg('2002', 'caller', '03012345678', ['answered', 16, 'other_side'], call.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['b'] }],
        ]),
        b: leg(far, 'called', '03012345678', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
    });
  });

  test('conversations - trunk out: the other side is busy', async () => {
    await using a = await stage.phone('2003');
    const [call, at] = await ring(a, '03012345679', outside, 1000);
    at.reject(486);
    await call.ended();
    const { ended } = at.times;
    const far = { number: '03012345679', e164: '+493012345679', trunk: 'north' };
    await stage.is({
      direction: 'out',
      disposition: 'missed',
      cause: 17,
      ended_by: 'called',
      dialled: '03012345679',
      dialled_e164: '+493012345679',
      answered: null,
      legs: {
        a: leg('2003', 'caller', '03012345679', ['busy', 17, 'exchange'], call.times, [['alerting', ended]]),
        b: leg(far, 'called', '03012345679', ['busy', 17, 'this_leg'], at.times, [['alerting', ended]]),
      },
    });
  });

  test('conversations - trunk to trunk is transit', async () => {
    const [call, at] = await connect(outside, LONDON, abroad, 1000);
    await talk(1.2, call, at);
    await call.hangup();
    await at.ended();
    const { answered } = at.times;
    const { ended } = call.times;
    await stage.is({
      direction: 'transit',
      disposition: 'answered',
      cause: 16,
      ended_by: 'caller',
      dialled: LONDON,
      dialled_e164: LONDON,
      answered,
      billable: [answered, ended],
      legs: {
        a: leg(caller, 'caller', LONDON, ['answered', 16, 'this_leg'], call.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['b'] }],
        ]),
        b: leg(
          { number: LONDON, e164: LONDON, trunk: 'south' },
          'called',
          LONDON,
          ['answered', 16, 'other_side'],
          at.times,
          [
            ['alerting', answered],
            ['connected', ended, { with: ['a'] }],
          ],
        ),
      },
    });
  });

  test('conversations - trunk in, missed: the customer gives up while it rings', async () => {
    await using a = await stage.phone('2004');
    const [call, at] = await ring(outside, '+493012345604', a, 1200);
    await call.hangup();
    await at.ended();
    const { ended } = call.times;
    await stage.is({
      direction: 'in',
      disposition: 'missed',
      cause: 127,
      ended_by: 'caller',
      dialled: '+493012345604',
      dialled_e164: '+493012345604',
      answered: null,
      legs: {
        a: leg(caller, 'caller', '+493012345604', ['cancelled_by_caller', 127, 'this_leg'], call.times, [
          ['alerting', ended],
        ]),
        b: leg('2004', 'called', '2004', ['cancelled_by_caller', 127, 'other_side'], at.times, [
          ['alerting', ended],
        ]),
      },
    });
  });

  test('conversations - trunk in to a queue: the agent answers', async () => {
    await using a = await stage.phone('2005');
    const [call, at] = await connect(outside, '+493012345605', a, 1200);
    await talk(1.2, call, at);
    await at.hangup();
    await call.ended();
    const { answered, ended } = at.times;
    await stage.is({
      direction: 'in',
      disposition: 'answered',
      cause: 16,
      ended_by: 'called',
      dialled: '+493012345605',
      dialled_e164: '+493012345605',
      answered,
      billable: [answered, ended],
      legs: {
        a: leg(
          caller,
          'caller',
          '+493012345605',
          ['answered', 16, 'other_side'],
          { ...call.times, answered },
          [
            ['queued', answered, { queue: 'q500' }],
            ['connected', ended, { with: ['b'] }],
          ],
        ),
        b: leg('2005', 'offered', '2005', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      visits: [
        {
          queue: 'q500',
          leg: 'a',
          from: call.times.began,
          to: answered,
          outcome: 'answered',
          agent: '2005',
          agent_leg: 'b',
          offers: [{ leg: 'b', from: at.times.began, to: answered, disposition: 'answered' }],
        },
      ],
    });
  });

  test('conversations - trunk in, transferred out again: one conversation, incoming', async () => {
    await using a = await stage.phone('2006');
    const [call, at] = await connect(outside, '+493012345606', a, 800);
    await talk(1, call, at);
    const passed = now();
    await at.transfer('+442079460019');
    const further = await abroad.incoming();
    further.ring();
    await lasting(1000);
    await further.answer();
    await at.transferred();
    await talk(1.2, call, further);
    await further.hangup();
    await call.ended();
    const { answered } = at.times;
    const { ended } = further.times;
    const far = { number: '+442079460019', e164: '+442079460019', trunk: 'south' };
    await stage.is({
      direction: 'in',
      disposition: 'answered',
      cause: 16,
      ended_by: 'called',
      dialled: '+493012345606',
      dialled_e164: '+493012345606',
      answered,
      billable: [answered, ended],
      legs: {
        a: leg(caller, 'caller', '+493012345606', ['answered', 16, 'other_side'], call.times, [
          ['alerting', answered],
          ['connected', passed, { with: ['b'] }],
          ['alerting', further.times.answered],
          ['connected', ended, { with: ['c'] }],
        ]),
        b: leg('2006', 'called', '2006', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', answered],
          ['connected', passed, { with: ['a'] }],
        ]),
        c: leg(far, 'transfer_target', '+442079460019', ['answered', 16, 'this_leg'], further.times, [
          ['alerting', further.times.answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      transfers: [
        {
          kind: 'blind',
          at: passed,
          by: 'b',
          moved: 'a',
          to: '+442079460019',
          to_leg: 'c',
          outcome: 'completed',
        },
      ],
    });
  });

  test('conversations: trunks - rebuilt conversations equal the live ones', () =>
    assertRebuilt(stage.site(), 'DE'));
});
