/** Ring groups, menus, time conditions, conferences and mailboxes on a real engine. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { until } from '../../../../test/support/until.ts';
import { etcDir } from './instance.ts';
import {
  PASSWORD,
  company,
  conference,
  holidays,
  menu,
  parkingLot,
  ringGroup,
  timeCondition,
} from '../../../../test/support/rendered-company.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

const sound = (built_in: string) => ({ built_in });
const busy = { kind: 'hang_up', reason: 'busy' } as const;
/** Seconds that are longer than the steps of a phone on a slow machine: within a ring, and before the next key of a menu. */
const [RING, KEY] = [30, 6];
const site = company({
  feature_codes: FEATURE_CODES,
  ring_groups: [
    ringGroup({
      name: 'front',
      number: '620',
      members: ['1002', '1003'],
      ring_seconds: RING,
      otherwise: { kind: 'mailbox', key: '4000' },
    }),
    ringGroup({
      name: 'line',
      number: '621',
      strategy: 'in_order',
      members: ['1010', '1002', '1003'],
      ring_seconds: RING,
      otherwise: busy,
    }),
    ringGroup({ name: 'plain', number: '622', members: ['1002', '1003'], ring_seconds: RING }),
  ],
  menus: [
    menu({
      name: 'main',
      number: '800',
      greeting: sound('hello-world'),
      choices: [
        { key: '1', to: { kind: 'extension', key: '1002' } },
        { key: '2', to: { kind: 'ring_group', key: 'plain' } },
        { key: '3', to: { kind: 'menu', key: 'second' } },
        { key: '*', to: { kind: 'service', key: '600' } },
        { key: '#', to: { kind: 'conference', key: 'open' } },
      ],
      dial_extensions: true,
      timeout_seconds: KEY,
      attempts: 2,
      otherwise: busy,
    }),
    menu({
      name: 'brief',
      number: '802',
      greeting: sound('hello-world'),
      timeout_seconds: 1,
      attempts: 2,
      otherwise: { kind: 'hang_up', play: sound('vm-goodbye') },
    }),
    menu({
      name: 'second',
      timeout_seconds: 1,
      attempts: 1,
      otherwise: { kind: 'mailbox', key: '4000' },
    }),
    menu({
      name: 'round',
      number: '801',
      timeout_seconds: 1,
      attempts: 1,
      otherwise: { kind: 'time_condition', key: 'a' },
    }),
  ],
  time_conditions: [
    timeCondition({
      name: 'office',
      number: '810',
      hours: [
        { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:30', to: '17:00' },
        { days: ['sun'], from: '22:00', to: '02:00' },
        { days: ['sat'], from: '12:00', to: '24:00' },
      ],
      holidays: ['feasts'],
      when_open: busy,
      when_closed: { kind: 'hang_up', reason: 'congestion' },
      on_holiday: { kind: 'hang_up', reason: 'not_found' },
    }),
    timeCondition({
      name: 'a',
      number: '811',
      when_open: busy,
      when_closed: { kind: 'time_condition', key: 'b' },
    }),
    timeCondition({
      name: 'b',
      override: 'open',
      when_open: { kind: 'time_condition', key: 'a' },
      when_closed: busy,
    }),
  ],
  holidays: [
    holidays({
      name: 'feasts',
      days: [
        { title: 'New year', month: 1, day: 1 },
        { title: 'Leap', month: 2, day: 29 },
        { title: 'Once', year: 2027, month: 5, day: 3 },
      ],
    }),
  ],
  conferences: [
    conference({ name: 'open', number: '830' }),
    conference({ name: 'closed', number: '831', pin: '0012', leader_pin: '4711', wait_for_leader: true }),
  ],
  mailboxes: [{ number: '4000', title: 'Front', pin: '2468' }],
  parking_lots: [parkingLot(), parkingLot({ name: 'shop', number: '720', first_slot: 721, last_slot: 722 })],
});
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(site);
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
/** Waits for a prompt that is heard after this. */
async function listen(extension: string): Promise<(prompt: string) => Promise<unknown>> {
  let from = (await engine.heard(extension)).length;
  return (prompt) =>
    until(`${extension} to hear ${prompt}`, async () => {
      const at = (await engine.heard(extension)).indexOf(prompt, from);
      if (at !== -1) from = at + 1;
      return at !== -1;
    });
}

test('conf/flow - a ring group rings every device of all its members, and goes on where nobody answers', async () => {
  await using caller = await phone('1001');
  await using desk = await phone('1002');
  await using second = await phone('1002');
  await using other = await phone('1003');
  const call = await caller.invite('620');
  const ringing = await Promise.all([desk.incoming(), second.incoming(), other.incoming()]);
  for (const one of ringing) one.ring();
  await call.ringing();
  call.play('tone');
  await ringing[2].answer();
  ringing[2].play('tone');
  await Promise.all([call.answered(), ringing[0].ended(), ringing[1].ended()]);
  await Promise.all([call.hears(), ringing[2].hears()]);
  await call.hangup();
  await ringing[2].ended();

  const heard = await listen('1001');
  const vain = await caller.invite('620');
  for (const one of [desk, second, other]) (await one.incoming()).reject(486);
  await vain.answered();
  await heard('vm-intro');
  await vain.hangup();
});

test('conf/flow - a ring group in order rings one after the other, and nobody by its own call', async () => {
  await using two = await phone('1002');
  await using three = await phone('1003');
  await using caller = await phone('1001');
  const call = await caller.invite('621');
  const first = await two.incoming();
  first.ring();
  assert.equal(three.waiting, 0);
  first.reject(486);
  const second = await three.incoming();
  second.ring();
  second.reject(480);
  await call.ended();
  assert.equal(call.status, 486);
  const own = await two.invite('622');
  const third = await three.incoming();
  assert.equal(two.waiting, 0);
  third.reject(486);
  await own.ended();
  assert.equal(own.status, 486);
});

test('conf/flow - a ring group leaves out who wants no calls, and follows no forward', async () => {
  await using caller = await phone('1001');
  await using two = await phone('1002');
  await using three = await phone('1003');
  await engine.dial(two, '*78');
  await engine.dial(three, '*721008');
  const call = await caller.invite('622');
  const rung = await three.incoming();
  rung.ring();
  await call.ringing();
  assert.equal(two.waiting, 0);
  rung.redirect('1008');
  await call.ended();
  await engine.dial(three, '*78');
  const nobody = await caller.invite('622');
  await nobody.ended();
  assert.equal(nobody.status, 480);
  for (const [one, code] of [
    [two, '*79'],
    [three, '*79'],
    [three, '*73'],
  ] as const)
    assert.equal(await engine.dial(one, code), 'auth-thankyou');
});

test('conf/flow - a menu leads by its keys, takes an extension, and says what it does not know', async () => {
  await using caller = await phone('1001');
  await using two = await phone('1002');
  const by_key = await caller.invite('800');
  await by_key.answered();
  await by_key.digits('1');
  const rung = await two.incoming();
  await rung.answer();
  rung.play('tone');
  await by_key.hears();
  await rung.hangup();
  await by_key.ended();

  const dialled = await caller.invite('800');
  await dialled.answered();
  await dialled.digits('1002');
  const direct = await two.incoming();
  await direct.answer();
  await direct.hangup();
  await dialled.ended();

  const heard = await listen('1001');
  const wrong = await caller.invite('800');
  await wrong.answered();
  await wrong.digits('7');
  await heard('pbx-invalid');
  await wrong.digits('*');
  await heard('demo-echotest');
  await wrong.hangup();

  const silent = await caller.invite('802');
  await silent.ended();
  await engine.hears('1001', 'vm-goodbye');

  const nested = await caller.invite('800');
  await nested.answered();
  await nested.digits('3');
  await heard('vm-intro');
  await nested.hangup();
});

test('conf/flow - open, closed and holiday are told by the clock of the site', async () => {
  await writeFile(
    path.join(etcDir(engine.instance), 'custom', 'extensions.conf'),
    `[people](+)
exten => _77XXXXXXXXX.,1,Set(OFFHOOK_AT=\${EXTEN:2})
 same => n,Goto(time-office,s,1)
`,
  );
  await engine.cli('dialplan reload');
  await using caller = await phone('1001');
  // Istanbul is three hours ahead of UTC, summer and winter.
  for (const [at, status, why] of [
    ['2026-11-23T05:29:59Z', 503, 'Monday 8:29'],
    ['2026-11-23T05:30:00Z', 486, 'Monday 8:30'],
    ['2026-11-23T13:59:59Z', 486, 'Monday 16:59'],
    ['2026-11-23T14:00:00Z', 503, 'Monday 17:00'],
    ['2026-11-22T18:59:00Z', 503, 'Sunday 21:59'],
    ['2026-11-22T19:00:00Z', 486, 'Sunday 22:00'],
    ['2026-11-22T22:59:59Z', 486, 'Monday 1:59'],
    ['2026-11-22T23:00:00Z', 503, 'Monday 2:00'],
    ['2026-11-21T20:59:59Z', 486, 'Saturday 23:59'],
    ['2026-11-21T21:00:00Z', 503, 'Sunday 0:00'],
    ['2026-12-31T21:00:00Z', 404, 'New year'],
    ['2027-12-31T21:00:00Z', 404, 'New year of any year'],
    ['2028-02-29T09:00:00Z', 404, 'the day of a leap year'],
    ['2027-03-01T09:00:00Z', 486, 'the day after a February of 28 days'],
    ['2027-05-03T09:00:00Z', 404, 'once'],
    ['2028-05-03T09:00:00Z', 486, 'not a year later'],
  ] as const) {
    const call = await caller.invite(`77${Date.parse(at) / 1000}`);
    await call.ended();
    assert.equal(call.status, status, why);
  }
});

test('conf/flow - what leads in a circle is ended by the engine', async () => {
  await using caller = await phone('1001');
  const call = await caller.invite('811');
  await call.ended();
  assert.equal(call.status, 603);
});

test('conf/flow - three hear each other in a conference', async () => {
  await using one = await phone('1001');
  await using two = await phone('1002');
  await using three = await phone('1003');
  const calls = [];
  for (const p of [one, two, three]) {
    const call = await p.invite('830');
    await call.answered();
    call.play('tone');
    calls.push(call);
  }
  await Promise.all(calls.map((call) => call.hears()));
  assert.match(await engine.cli('confbridge list'), /open +3/);
  await Promise.all(calls.map((call) => call.hangup()));
});

test('conf/flow - a conference asks for its PIN, and waits for who leads it', async () => {
  await using one = await phone('1001');
  await using two = await phone('1002');
  const heard = await listen('1001');
  const wrong = await one.invite('831');
  for (const digits of ['12#', '00120#', '#']) {
    await heard('conf-getpin');
    await wrong.digits(digits);
  }
  await wrong.ended();
  const guest = await one.invite('831');
  await heard('conf-getpin');
  await guest.digits('0012#');
  await until('the guest waits', async () => /closed +1/.test(await engine.cli('confbridge list')));
  assert.match(await engine.cli('confbridge list closed'), /1001.*[wW]/);
  const leader_heard = await listen('1002');
  const leader = await two.invite('831');
  await leader_heard('conf-getpin');
  await leader.digits('4711#');
  leader.play('tone');
  guest.play('tone');
  await Promise.all([guest.hears(), leader.hears()]);
  await leader.hangup();
  await guest.hangup();
});

test('conf/flow - a mailbox of its own takes a message and opens with its PIN', async () => {
  await using caller = await phone('1001');
  const heard = await listen('1001');
  const call = await caller.invite('4000');
  await heard('vm-intro');
  await call.digits('#');
  await heard('beep');
  call.play('tone');
  const sent = call.media.sent;
  await until('three seconds of speech', () => call.media.sent - sent > 150);
  await call.hangup();
  await until('the message', async () =>
    /4000 .* 1\s*$/m.test(await engine.cli('voicemail show users for default')),
  );
  await using owner = await phone('1005');
  const box_heard = await listen('1005');
  const box = await owner.invite('4000');
  await box_heard('vm-intro');
  await box.digits('*');
  await box_heard('vm-password');
  await box.digits('2468#');
  await box_heard('vm-youhave');
  await box.hangup();
});

test('conf/flow - two parking lots keep their calls apart', async () => {
  await using one = await phone('1001');
  await using two = await phone('1002');
  await using three = await phone('1008');
  for (const [number, lot, slot] of [
    ['700', 'default', '701'],
    ['720', 'lot-shop', '721'],
  ] as const) {
    const call = await one.invite('1002');
    const other = await two.incoming();
    await other.answer();
    await call.answered();
    call.play('tone');
    await other.bridged();
    await other.transfer(number);
    await until(`the call in slot ${slot}`, async () =>
      new RegExp(`Space +: +${slot}`).test(await engine.cli(`parking show ${lot}`)),
    );
    const taken = await three.invite(slot);
    await taken.answered();
    await taken.hears();
    await taken.hangup();
    await call.ended();
  }
});

test('conf/flow - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});
