/**
 * Calls taken by an application, a colleague or another number, played with real phones: each record equals the
 * measurements of the phones.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { connect, lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import { shows } from '../support/steps.ts';
import { until } from '../support/until.ts';

const plain = { direction: 'internal', answered: null } as const;

describe('conversations: services', () => {
  // 2023 has a mailbox and no phone.
  const stage = useStage({
    people: [...extensions(2022, 2038), '2040'],
    mailboxes: ['2023', '2024', '2025'],
    queues: [{ number: '500', agents: ['2040'] }],
  });
  describe('played', { concurrency: true }, () => {
    test('conversations - voicemail: the extension has no phone, and the caller leaves a message', async () => {
      await using a = await stage.phone('2022');
      const call = await a.invite('2023');
      await call.answered();
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
      await call.answered();
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
          b: leg('2024', 'called', '2024', ['busy', 17, 'this_leg'], at.times, [
            ['alerting', at.times.ended],
          ]),
        },
      });
    });

    test('conversations - feature codes: the echo test speaks first, then echoes', async () => {
      await using a = await stage.phone('2027');
      const call = await a.invite('600');
      await call.answered();
      let before = performance.now();
      const echo = await until('the echo to begin', async () => {
        const asked = performance.now();
        const shown = await stage.site().engineCli('core show channels concise');
        // Between the last look without it and this one, which takes long on a slow machine.
        if (/^PJSIP\/2027-.*!Echo!/m.test(shown)) return (before + performance.now()) / 2;
        before = asked;
        return undefined;
      });
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
      await call.ended();
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
      await shows(person, '2028', 'online', 'idle');
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
          // Its own ring and the other side's follow each other; the call is answered.
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

    test('conversations - forward: the called phone forwards the call to another', async () => {
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
  });

  test('conversations - forward of every call: its owner is told of a call that rang no device of theirs', async () => {
    await using a = await stage.phone('2036');
    await using c = await stage.phone('2038');
    const owner = await stage.site().person('2037');
    const set = await fetch(`${stage.site().base}/api/mobile/features.php`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ call_forward_number: '2038' }),
    });
    assert.equal(set.status, 200);
    const [call, at] = await connect(a, '2037', c);
    await talk(1, call, at);
    await call.hangup();
    await at.ended();
    const { answered } = at.times;
    const { began, ended } = call.times;
    const { transfers, timeline } = await stage.is({
      ...plain,
      disposition: 'answered',
      cause: 16,
      ended_by: 'caller',
      dialled: '2037',
      answered,
      legs: {
        a: leg('2036', 'caller', '2037', ['answered', 16, 'this_leg'], call.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['c'] }],
        ]),
        c: leg('2038', 'transfer_target', '2038', ['answered', 16, 'other_side'], at.times, [
          ['alerting', answered],
          ['connected', ended, { with: ['a'] }],
        ]),
      },
      unreached: ['2037'],
      transfers: [
        { kind: 'forward', at: began, by: null, moved: 'a', to: '2038', to_leg: 'c', outcome: 'completed' },
      ],
    });
    assert.equal(transfers[0]!.forwarded_by, '2037');
    assert.match(
      timeline.find((e) => e.what === 'forward')!.text,
      /^The forward of 2037 sent .* on to 2038$/,
    );
    const [row] = (await owner.history('')).calls;
    assert.deepEqual([row!.direction, row!.disposition, row!.party], ['missed', 'NO ANSWER', '2036']);
  });

  test('conversations: services - rebuilt conversations equal the live ones', () =>
    assertRebuilt(stage.site()));
});
