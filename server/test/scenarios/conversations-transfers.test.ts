/** Calls that are passed on, parked and shared, played with real phones: one conversation each, and what the phones saw. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask, doneBy } from '../support/call-steps.ts';
import { connect, lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import type { PhoneCall } from '../support/phone.ts';
import { until } from '../support/until.ts';

const people = Array.from({ length: 39 }, (_, i) => String(2001 + i));
const answered = { direction: 'internal', disposition: 'answered', cause: 16 } as const;
const now = (): number => performance.now();

describe('conversations: transfers', { concurrency: true }, () => {
  const stage = useStage({ people, parking_seconds: 10 });
  /** Where this extension's call is parked. */
  const slotOf = (extension: string): Promise<string> =>
    until(`the slot of ${extension}`, async () => {
      const shown = await stage.site().engineCli('parking show default');
      return shown
        .split(/^\s*Space\s*:\s*/m)
        .find((space) => space.includes(`PJSIP/${extension}-`))
        ?.slice(0, 3);
    });
  /** Id of the call an extension is in, as call control names it. */
  const callOf = (extension: string): Promise<string> =>
    until(`the open conversation of ${extension}`, async () => (await stage.of(extension))[0]?.id);

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

  test('conversations - blind transfer given up: who is passed on hangs up while it rings', async () => {
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
        c: leg('2009', 'transfer_target', '2009', ['cancelled_by_caller', 16, 'other_side'], further.times, [
          ['alerting', ended],
        ]),
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
        { kind: 'attended', at: joined, by: 'b', moved: 'a', to: '2012', to_leg: 'c', outcome: 'completed' },
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
        b2: leg('2014', 'caller', '2015', ['diverted', 16, 'this_leg'], second.times, [['alerting', joined]]),
        c: leg('2015', 'transfer_target', '2015', ['answered', 16, 'other_side'], further.times, [
          ['alerting', further.times.answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      transfers: [
        { kind: 'attended', at: joined, by: 'b', moved: 'a', to: '2015', to_leg: 'c', outcome: 'completed' },
      ],
    });
  });

  test('conversations - attended transfer given up: the transferer goes back', async () => {
    await using a = await stage.phone('2016');
    await using b = await stage.phone('2017');
    await using c = await stage.phone('2018');
    const person = await stage.site().person('2017');
    const [call, at] = await connect(a, '2017', b);
    await talk(1, call, at);
    const id = await callOf('2017');
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

  test('conversations - a second call that is never joined to the first is a conversation of its own', async () => {
    await using a = await stage.phone('2019');
    await using b = await stage.phone('2020');
    await using c = await stage.phone('2021');
    const [call, at] = await connect(a, '2020', b);
    await at.hold();
    const [second, further] = await connect(b, '2021', c);
    await second.hangup();
    await further.ended();
    await at.retrieve();
    await talk(0.5, call, at);
    await call.hangup();
    await at.ended();
    const both = await until('both conversations of 2020', async () => {
      const list = await stage.of('2020');
      return list.length === 2 && list.every((one) => one.state === 'final') && list;
    });
    assert.deepEqual(both.map((one) => one.extensions.join(' ')).sort(), ['2019 2020', '2020 2021']);
    assert.deepEqual(
      both.flatMap((one) => one.merged_from),
      [],
    );
  });

  test('conversations - parked, and retrieved by a third', async () => {
    await using a = await stage.phone('2022');
    await using b = await stage.phone('2023');
    await using c = await stage.phone('2024');
    const [call, at] = await connect(a, '2023', b);
    await talk(1, call, at);
    const parked = now();
    await at.transfer('700');
    const told = at.transferred(8000);
    const slot = await slotOf('2022');
    await call.hears(100);
    const back = await c.invite(slot);
    await back.answered();
    const retrieved = back.times.answered;
    await talk(1.2, call, back);
    await told;
    await back.hangup();
    await call.ended();
    const { ended } = back.times;
    await stage.is({
      ...answered,
      ended_by: 'called',
      dialled: '2023',
      answered: at.times.answered,
      merged: 1,
      legs: {
        a: leg('2022', 'caller', '2023', ['answered', 16, 'other_side'], call.times, [
          ['alerting', at.times.answered],
          ['connected', parked, { with: ['b'] }],
          ['parked', retrieved],
          ['connected', ended, { with: ['c'] }],
        ]),
        b: leg('2023', 'called', '2023', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', at.times.answered],
          ['connected', parked, { with: ['a'] }],
          ['service', at.times.ended, { service: 'announcement' }],
        ]),
        c: leg('2024', 'retriever', slot, ['answered', 16, 'this_leg'], back.times, [
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      transfers: [
        { kind: 'park', at: parked, by: 'b', moved: 'a', to: slot, to_leg: 'c', outcome: 'completed' },
      ],
    });
  });

  /** Parks the call of two and waits until nobody hears the slot any more. */
  async function park(at: PhoneCall, from: string): Promise<number> {
    const parked = now();
    await at.transfer('700');
    await slotOf(from);
    await at.transferred(8000);
    return parked;
  }

  test('conversations - parked too long: it comes back to who parked it', async () => {
    await using a = await stage.phone('2025');
    await using b = await stage.phone('2026');
    const [call, at] = await connect(a, '2026', b);
    await talk(1, call, at);
    const parked = await park(at, '2025');
    const again = await b.incoming(20_000);
    again.ring();
    await lasting(1000);
    await again.answer();
    await talk(1.2, call, again);
    await call.hangup();
    await again.ended();
    const { ended } = call.times;
    await stage.is({
      ...answered,
      ended_by: 'caller',
      dialled: '2026',
      answered: at.times.answered,
      legs: {
        a: leg('2025', 'caller', '2026', ['answered', 16, 'this_leg'], call.times, [
          ['alerting', at.times.answered],
          ['connected', parked, { with: ['b'] }],
          ['parked', again.times.began],
          ['alerting', again.times.answered],
          ['connected', ended, { with: ['again'] }],
        ]),
        b: leg('2026', 'called', '2026', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', at.times.answered],
          ['connected', parked, { with: ['a'] }],
          ['service', at.times.ended, { service: 'announcement' }],
        ]),
        again: leg('2026', 'transfer_target', '2026', ['answered', 16, 'other_side'], again.times, [
          ['alerting', again.times.answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      transfers: [
        { kind: 'park', at: parked, by: 'b', moved: 'a', to: '700', to_leg: 'again', outcome: 'no_answer' },
      ],
    });
  });

  test('conversations - parked, and the one who waits gives up', async () => {
    await using a = await stage.phone('2027');
    await using b = await stage.phone('2028');
    const [call, at] = await connect(a, '2028', b);
    await talk(1, call, at);
    const parked = await park(at, '2027');
    await call.hangup();
    const { ended } = call.times;
    await stage.is({
      ...answered,
      ended_by: 'caller',
      dialled: '2028',
      answered: at.times.answered,
      legs: {
        a: leg('2027', 'caller', '2028', ['answered', 16, 'this_leg'], call.times, [
          ['alerting', at.times.answered],
          ['connected', parked, { with: ['b'] }],
          ['parked', ended],
        ]),
        b: leg('2028', 'called', '2028', ['answered', 16, 'this_leg'], at.times, [
          ['alerting', at.times.answered],
          ['connected', parked, { with: ['a'] }],
          ['service', at.times.ended, { service: 'announcement' }],
        ]),
      },
      transfers: [
        { kind: 'park', at: parked, by: 'b', moved: 'a', to: '700', to_leg: null, outcome: 'abandoned' },
      ],
    });
  });
});
