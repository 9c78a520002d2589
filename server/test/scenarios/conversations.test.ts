/** Calls between two, played with real phones: each record is what the phones saw and measured. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask } from '../support/call-steps.ts';
import { connect, lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import { until } from '../support/until.ts';

const people = Array.from({ length: 40 }, (_, i) => String(2001 + i));
const plain = { direction: 'internal', answered: null } as const;

describe('conversations', { concurrency: true }, () => {
  // 2023 has a mailbox and no phone.
  const stage = useStage({
    people,
    mailboxes: ['2023', '2024', '2025'],
    queues: [{ number: '500', agents: ['2040'] }],
  });

  test('conversations - direct: ringing, talking, ended by who called', async () => {
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
    test(`conversations - ${what}: the called phone says so after it rang`, async () => {
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
          // The exchange shows its caller a busy number in both cases.
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
        a: leg('2007', 'caller', '2008', ['congestion', 20, 'exchange'], call.times, [['initiated', ended]]),
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
      // What the engine makes of a CANCEL.
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

  test('conversations - no answer: it rings for as long as the exchange lets it', async () => {
    await using a = await stage.phone('2011');
    await using b = await stage.phone('2012');
    const [call, at] = await ring(a, '2012', b);
    await at.ended(40_000);
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

  test('conversations - nobody there: who was wanted is in it without a leg', async () => {
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

  test('conversations - two devices ring for one person, and one is answered', async () => {
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
    // Both legs are of one endpoint: the one that began first is known only by what became of it.
    const told = (await stage.of('2020'))[0];
    const [first] =
      told === undefined ? [] : (await stage.detail(told.id)).legs.filter((l) => l.role === 'called');
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
        rang: { ...rang, from: answeredFirst ? taken.from + 0.01 : rang.from - 0.01 },
        taken,
      },
    });
  });

  test('conversations - voicemail: nobody has a phone there, and the caller leaves a message', async () => {
    await using a = await stage.phone('2022');
    const call = await a.invite('2023');
    await call.answered(10_000);
    await call.hears(75);
    await call.hangup();
    const { answered, ended } = call.times;
    await stage.is({
      ...plain,
      disposition: 'voicemail',
      cause: null,
      ended_by: 'caller',
      dialled: '2023',
      answered,
      legs: {
        a: leg('2022', 'caller', '2023', ['answered', null, 'this_leg'], call.times, [
          ['service', ended, { service: 'voicemail' }],
        ]),
      },
      unreached: ['2023'],
    });
  });

  test('conversations - voicemail: the called phone is busy after ringing, and the mailbox takes the call', async () => {
    await using a = await stage.phone('2026');
    await using b = await stage.phone('2024');
    const [call, at] = await ring(a, '2024', b, 800);
    at.reject(486);
    await call.answered(10_000);
    await call.hears(50);
    await call.hangup();
    const { ended } = call.times;
    await stage.is({
      ...plain,
      disposition: 'voicemail',
      cause: 17,
      ended_by: 'caller',
      dialled: '2024',
      answered: call.times.answered,
      legs: {
        a: leg('2026', 'caller', '2024', ['answered', 17, 'this_leg'], call.times, [
          ['alerting', at.times.ended],
          ['service', ended, { service: 'voicemail' }],
        ]),
        b: leg('2024', 'called', '2024', ['busy', 17, 'this_leg'], at.times, [['alerting', at.times.ended]]),
      },
    });
  });

  test('conversations - feature codes: the echo test speaks first, then gives back what it hears', async () => {
    await using a = await stage.phone('2027');
    const call = await a.invite('600');
    await call.answered();
    const echo = await until(
      'the echo to begin',
      async () => {
        const shown = await stage.site().engineCli('core show channels concise');
        return /^PJSIP\/2027-.*!Echo!/m.test(shown) && performance.now();
      },
      { ms: 40_000 },
    );
    await talk(1, call);
    await call.hangup();
    const { answered, ended } = call.times;
    await stage.is({
      ...plain,
      disposition: 'self_service',
      cause: null,
      ended_by: 'caller',
      dialled: '600',
      answered,
      legs: {
        a: leg('2027', 'caller', '600', ['answered', null, 'this_leg'], call.times, [
          ['service', echo, { service: 'announcement' }],
          ['service', ended, { service: 'echo' }],
        ]),
      },
    });
  });

  test('conversations - feature codes: the own mailbox is self service', async () => {
    await using b = await stage.phone('2025');
    const call = await b.invite('*97');
    await call.answered();
    await call.hears(60);
    await call.hangup();
    const { answered, ended } = call.times;
    await stage.is({
      ...plain,
      disposition: 'self_service',
      cause: null,
      ended_by: 'caller',
      dialled: '*97',
      answered,
      legs: {
        a: leg('2025', 'caller', '*97', ['answered', null, 'this_leg'], call.times, [
          ['service', ended, { service: 'mailbox' }],
        ]),
      },
    });
  });

  test('conversations - feature codes: an agent pauses by *22, and the exchange hangs up', async () => {
    await using agent = await stage.phone('2040');
    const call = await agent.invite('*22');
    await call.answered();
    await call.ended(10_000);
    const { answered, ended } = call.times;
    await stage.is({
      ...plain,
      disposition: 'self_service',
      cause: 16,
      ended_by: 'exchange',
      dialled: '*22',
      answered,
      legs: {
        a: leg('2040', 'caller', '*22', ['answered', 16, 'exchange'], call.times, [
          ['service', ended, { service: 'feature_code' }],
        ]),
      },
    });
  });

  test('conversations - click to call: the own device rings first, then the number; no half of the pair is a leg', async () => {
    await using a = await stage.phone('2028');
    await using b = await stage.phone('2029');
    const person = await stage.site().person('2028');
    await ask(stage.site(), person, '', { to: '2029' });
    const own = await a.incoming();
    own.ring();
    await lasting(800);
    await own.answer();
    const at = await b.incoming();
    at.ring();
    await lasting(1200);
    await at.answer();
    await talk(1, own, at);
    await own.hangup();
    await at.ended();
    const { ended } = own.times;
    await stage.is({
      ...plain,
      disposition: 'answered',
      cause: 16,
      ended_by: 'caller',
      dialled: '2029',
      answered: at.times.answered,
      legs: {
        // Its own ringing and that of the other side follow each other; answered is the call.
        a: leg(
          '2028',
          'caller',
          '2029',
          ['answered', 16, 'this_leg'],
          { ...own.times, answered: at.times.answered },
          [
            ['alerting', at.times.answered],
            ['connected', ended, { with: ['b'] }],
          ],
        ),
        b: leg('2029', 'called', '2029', ['answered', 16, 'other_side'], at.times, [
          ['alerting', at.times.answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
    });
  });

  test('conversations - pickup: a colleague takes the ringing call', async () => {
    await using a = await stage.phone('2030');
    await using b = await stage.phone('2031');
    await using c = await stage.phone('2032');
    const [call, at] = await ring(a, '2031', b, 1000);
    const taken = await c.invite('**2031');
    await Promise.all([taken.answered(), call.answered(), at.ended()]);
    await talk(1.2, call, taken);
    await call.hangup();
    await taken.ended();
    const picked = call.times.answered;
    const { ended } = call.times;
    await stage.is({
      ...plain,
      disposition: 'answered',
      cause: 16,
      ended_by: 'caller',
      dialled: '2031',
      answered: picked,
      merged: 1,
      legs: {
        a: leg('2030', 'caller', '2031', ['answered', 16, 'this_leg'], call.times, [
          ['alerting', picked],
          ['connected', ended, { with: ['c'] }],
        ]),
        b: leg('2031', 'called', '2031', ['answered_elsewhere', 26, 'exchange'], at.times, [
          ['alerting', at.times.ended],
        ]),
        c: leg('2032', 'retriever', '**2031', ['answered', 16, 'other_side'], taken.times, [
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      transfers: [
        { kind: 'pickup', at: picked, by: 'c', moved: 'b', to: '2032', to_leg: 'c', outcome: 'completed' },
      ],
    });
  });

  test('conversations - forward: the called phone sends the call on to another', async () => {
    await using a = await stage.phone('2033');
    await using b = await stage.phone('2034');
    await using c = await stage.phone('2035');
    const [call, at] = await ring(a, '2034', b, 1000);
    at.redirect('2035');
    const further = await c.incoming();
    further.ring();
    await lasting(1000);
    await further.answer();
    await call.answered();
    await talk(1.2, call, further);
    await further.hangup();
    await call.ended();
    const { answered, ended } = further.times;
    await stage.is({
      ...plain,
      disposition: 'answered',
      cause: 16,
      ended_by: 'called',
      dialled: '2034',
      answered,
      legs: {
        a: leg('2033', 'caller', '2034', ['answered', 16, 'other_side'], call.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['c'] }],
        ]),
        b: leg('2034', 'called', '2034', ['diverted', 23, 'this_leg'], at.times, [
          ['alerting', at.times.ended],
        ]),
        c: leg('2035', 'transfer_target', '2035', ['answered', 16, 'this_leg'], further.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      transfers: [
        {
          kind: 'forward',
          at: at.times.ended,
          by: 'b',
          moved: 'a',
          to: '2035',
          to_leg: 'c',
          outcome: 'completed',
        },
      ],
    });
  });

  test('conversations - a number that nobody has is no conversation', async () => {
    await using a = await stage.phone('2036');
    const call = await a.invite('4242');
    await until('the refusal', () => call.state === 'ended');
    assert.equal(call.status, 404);
    assert.deepEqual(await stage.of('2036'), []);
  });
});
