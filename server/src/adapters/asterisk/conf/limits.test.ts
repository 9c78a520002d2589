/** Call limits on a real engine, which is alone: what an extension cannot spend while the service is down. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { farAddress } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone, PhoneCall } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  callLimit,
  company,
  extension,
  inboundRoute,
  outboundRoute,
  timeCondition,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { steadyZone } from '../../../../test/support/steady-zone.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';

const ABROAD = '0044207946000';
const to = (key: string) => ({ kind: 'extension' as const, key });
let at: FarAddress;
let engine: TestEngine;
before(async () => {
  at = await farAddress('127.0.0.2');
  const closed = { kind: 'hang_up' as const };
  const { extensions } = company();
  engine = await startTestEngine(
    company({
      extensions: extensions.map((e) =>
        extension(e.extension, { voicemail: false, forward_outside: ['1003', '1009'].includes(e.extension) }),
      ),
      trunks: [trunk({ name: 'north', ...at, max_calls: null })],
      inbound_routes: [
        inboundRoute({ name: 'three', number: '+493055503', to: to('1003') }),
        inboundRoute({ name: 'eight', number: '+493055508', to: to('1008') }),
        inboundRoute({ name: 'ten', number: '+493055510', to: to('1010') }),
      ],
      outbound_routes: [
        outboundRoute({
          name: 'abroad',
          patterns: ['00Z.', '+.'],
          class: 'international',
          trunks: [{ trunk: 'north' }],
        }),
        outboundRoute({
          name: 'home',
          patterns: ['0Z.'],
          class: 'national',
          trunks: [{ trunk: 'north' }],
        }),
        outboundRoute({ name: 'help', patterns: ['112'], class: 'emergency', trunks: [{ trunk: 'north' }] }),
      ],
      time_conditions: [
        timeCondition({ name: 'never', override: 'closed', when_open: closed, when_closed: closed }),
        timeCondition({ name: 'office', override: 'open', when_open: closed, when_closed: closed }),
      ],
      call_limits: [
        callLimit({
          name: 'two-calls',
          extensions: ['1001', '1003'],
          calls_per_hour: 2,
          calls_per_day: 2,
          countries: ['+44'],
        }),
        callLimit({ name: 'last-link', extensions: ['1008', '1009'], calls_per_day: 1 }),
        callLimit({ name: 'burst', extensions: ['1002'], calls_per_day: 4 }),
        callLimit({ name: 'consults', extensions: ['1010'], calls_per_day: 1 }),
        callLimit({
          name: 'at-once',
          extensions: ['1004', '1005'],
          shared: true,
          max_calls: 1,
          hours: 'office',
        }),
        callLimit({ name: 'closed', extensions: ['1006'], classes: ['national'], hours: 'never' }),
        callLimit({
          name: 'time',
          extensions: ['1007'],
          minutes_per_hour: 5,
          minutes_per_day: 9,
          max_minutes: 3,
        }),
      ],
    }),
    { zone: steadyZone() },
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (number: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension: number, password: PASSWORD });
const far = (): Promise<Phone> =>
  openFarSide({ server: engine.server, extension: '+4915112345678', at, cli: engine.cli });
/** A call that the far side answers, and its end. */
async function talks(desk: Phone, number: string, there: Phone): Promise<void> {
  const call = await desk.invite(number);
  const incoming = await there.incoming(call);
  await incoming.answer();
  await call.answered();
  await call.hangup();
  await incoming.ended();
}
/** The last prompt that an extension heard. */
const heard = (extension: string, sound: string): Promise<unknown> =>
  until(`${extension} hears ${sound}`, async () => (await engine.heard(extension)).at(-1) === sound, {
    seen: () => engine.heard(extension),
  });
async function status(from: Phone, number: string): Promise<number> {
  const call = await from.invite(number);
  await call.ended();
  return call.status;
}
/** Calls and seconds of the day. */
async function counter(limit: string, of: string): Promise<string> {
  const shown = await engine.cli(`database get offhook-spent ${limit}/${of}`);
  return /Value: \d{10}-\d+-\d+-(.*)/.exec(shown)?.[1]?.trim() ?? '';
}

test('conf/limits - a stolen extension spends its calls and no more, whoever it makes call', async () => {
  await using there = await far();
  await using thief = await phone('1001');
  const unanswered = await thief.invite(ABROAD);
  (await there.incoming(unanswered)).reject(486);
  await unanswered.ended();
  await until(
    'what was not answered is not counted',
    async () => (await counter('two-calls', '1001')) === '0-0',
    {
      seen: () => counter('two-calls', '1001'),
    },
  );
  await talks(thief, ABROAD, there);
  await talks(thief, '+44207946001', there);
  const spent = there.seen;
  for (const number of [ABROAD, '+44207946001', ABROAD])
    assert.equal(await status(thief, number), 403, number);
  assert.equal(there.seen, spent, 'nothing went out');
  await heard('1001', 'please-try-call-later');
  await talks(thief, '112', there);
  await talks(thief, '030123', there);
});

test('conf/limits - a forward and a transfer abroad count for the extension that caused them', async () => {
  await using there = await far();
  await using three = await phone('1003');
  const forwarded = await there.invite('+493055503');
  (await three.incoming()).redirect(ABROAD);
  const first = await there.incoming();
  await first.answer();
  await forwarded.answered();
  await forwarded.hangup();
  await first.ended();

  const called = await there.invite('+493055503');
  const ringing = await three.incoming();
  await ringing.answer();
  await called.answered();
  await ringing.bridged();
  await ringing.transfer(ABROAD);
  const second = await there.incoming();
  await second.answer();
  await until('the second is counted', async () => (await counter('two-calls', '1003')).startsWith('2-'), {
    seen: () => counter('two-calls', '1003'),
  });
  const spent = there.seen;
  assert.equal(await status(three, ABROAD), 403);
  const again = await there.invite('+493055503');
  (await three.incoming()).redirect(ABROAD);
  await again.ended();
  assert.equal(there.seen, spent, 'nothing more went out');
  await called.hangup();
  await second.ended();
});

test('conf/limits - a chain of forwards abroad counts for its last extension, which a phone in between cannot spend', async () => {
  await using there = await far();
  await using eight = await phone('1008');
  await using nine = await phone('1009');
  /** 1008 forwards to 1009, which forwards abroad. */
  async function forwarded(): Promise<PhoneCall> {
    const call = await there.invite('+493055508');
    (await eight.incoming()).redirect('1009');
    (await nine.incoming()).redirect(ABROAD);
    return call;
  }
  const first = await forwarded();
  const out = await there.incoming();
  await out.answer();
  await first.answered();
  assert.match(await counter('last-link', '1009'), /^1-/);
  assert.equal(await counter('last-link', '1008'), '');
  await first.hangup();
  await out.ended();
  const spent = there.seen;
  await (await forwarded()).ended();
  assert.equal(there.seen, spent, 'nothing more went out');
});

test('conf/limits - a consulted call abroad that is joined to another counts once for who consulted', async () => {
  await using there = await far();
  await using ten = await phone('1010');
  const called = await there.invite('+493055510');
  const talk = await ten.incoming();
  await talk.answer();
  await called.answered();
  await talk.hold();
  const consult = await ten.invite(ABROAD);
  const out = await there.incoming(consult);
  await out.answer();
  await consult.answered();
  await consult.bridged();
  await talk.join(consult);
  assert.match(await counter('consults', '1010'), /^1-/);
  const spent = there.seen;
  assert.equal(await status(ten, ABROAD), 403, 'while the joined call still runs');
  await called.hangup();
  await out.ended();
  assert.equal(await status(ten, ABROAD), 403);
  assert.equal(there.seen, spent, 'nothing more went out');
});

test('conf/limits - other countries, hours and too many calls at once are refused, each with its reason', async () => {
  await using there = await far();
  await using one = await phone('1001');
  await using four = await phone('1004');
  await using five = await phone('1005');
  await using six = await phone('1006');
  assert.equal(await status(one, '0018095551234'), 403);
  await heard('1001', 'feature-not-avail-line');
  assert.equal(await status(six, '030123'), 403);
  await heard('1006', 'please-try-call-later');
  const call = await four.invite(ABROAD);
  const incoming = await there.incoming(call);
  await incoming.answer();
  await call.answered();
  assert.equal(await status(five, ABROAD), 403);
  await heard('1005', 'simul-call-limit-reached');
  await call.hangup();
  await incoming.ended();
  await engine.idle();
  // Two at one moment: never both.
  const before = there.seen;
  const both: PhoneCall[] = await Promise.all([four.invite(ABROAD), five.invite(ABROAD)]);
  await until('one of them rings', () => there.seen > before);
  await Promise.race(both.map((c) => c.ended()));
  assert.equal(there.seen, before + 1);
  await Promise.all(both.map((c) => c.hangup()));
});

test('conf/limits - of thirty calls at one moment no more go out than the budget has, and all that end are given back', async () => {
  await using there = await far();
  await using desk = await phone('1002');
  const before = there.seen;
  const calls = await Promise.all(Array.from({ length: 30 }, () => desk.invite(ABROAD)));
  const refused = (): number => calls.filter((call) => call.state === 'ended').length;
  const went = (): number => there.seen - before;
  await until('the budget to go out, and all others to be refused', () => refused() + went() >= 30, {
    seen: () => ({ refused: refused(), went: went() }),
  });
  assert.deepEqual([refused(), went()], [26, 4]);
  assert.match(await counter('burst', '1002'), /^4-/);
  await Promise.all(calls.map((call) => call.hangup()));
  await engine.idle();
  assert.equal(await counter('burst', '1002'), '0-0');
  for (let i = 0; i < 4; i += 1) await there.incoming();
  // The lock is free again.
  await talks(desk, ABROAD, there);
});

test('conf/limits - a call reserves its longest time, returns the rest, and ends with the budget', async () => {
  await using there = await far();
  await using desk = await phone('1007');
  const call = await desk.invite(ABROAD);
  const incoming = await there.incoming(call);
  assert.equal(await counter('time', '1007'), '1-180');
  await incoming.answer();
  await call.answered();
  const other = await desk.invite(ABROAD);
  const second = await there.incoming(other);
  assert.equal(await counter('time', '1007'), '2-300', 'what is left of the day');
  assert.equal(await status(desk, ABROAD), 403, 'all of it is reserved');
  second.reject(486);
  await other.ended();
  await call.hangup();
  await incoming.ended();
  await until('the rest is back', async () => /^1-[0-9]{1,2}$/.test(await counter('time', '1007')), {
    seen: () => counter('time', '1007'),
  });
  const shown = await engine.cli('database get offhook-spent time/1007');
  const hour = /Value: (\d{10})/.exec(shown)![1]!;
  await engine.cli(`database put offhook-spent time/1007 ${hour}-1-299-1-299`);
  const last = await desk.invite(ABROAD);
  const cut = await there.incoming(last);
  await cut.answer();
  await last.answered();
  await cut.ended();
  await last.ended();
  assert.equal(cut.endedBy, 'them', 'the engine ended it');
  await until('it is spent', async () => (await counter('time', '1007')).startsWith('2-30'));
  assert.equal(await status(desk, ABROAD), 403);
});

test('conf/limits - nothing of all this left a warning', async () => {
  const both = /Abnormal 'Gosub\(over-trunk,/;
  assert.deepEqual(
    (await engine.warnings()).filter((line) => !both.test(line)),
    [],
  );
});
