/** Calls to each kind of number on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone, PhoneCall } from '../../../../test/support/phone.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import { until } from '../../../../test/support/until.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { NAMES, PASSWORD, company } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(company({ feature_codes: FEATURE_CODES }));
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });

test('conf/calls - a call rings every device of an extension, with the caller as configured', async () => {
  await using caller = await phone('1001');
  await using desk = await phone('1002');
  await using second = await phone('1002');
  const call = await caller.invite('1002');
  const [at_desk, at_second] = [await desk.incoming(), await second.incoming()];
  assert.deepEqual(at_desk.party, { number: '1001', name: NAMES[0] });
  at_desk.ring();
  at_second.ring();
  await call.ringing();
  call.play('tone');
  await at_desk.answer();
  at_desk.play('tone');
  await call.answered();
  await Promise.all([at_second.ended(), call.hears(), at_desk.hears()]);
  await call.hangup();
  await at_desk.ended();
});

test('conf/calls - busy, declined, unreachable and unknown each have their own answer', async () => {
  await using caller = await phone('1001');
  const unreachable = await caller.invite('1002');
  await unreachable.ended();
  assert.equal(unreachable.status, 480);
  const unknown = await caller.invite('1099');
  await unknown.ended();
  assert.equal(unknown.status, 404);
  await using callee = await phone('1002');
  for (const [says, hears] of [
    [486, 486],
    [603, 486],
    [480, 480],
  ] as const) {
    const call = await caller.invite('1002');
    const incoming = await callee.incoming();
    incoming.ring();
    incoming.reject(says);
    await call.ended();
    assert.equal(call.status, hears, `the callee said ${says}`);
  }
  const given_up = await caller.invite('1002');
  const ringing = await callee.incoming();
  ringing.ring();
  await given_up.ringing();
  await given_up.hangup();
  await ringing.ended();
});

test('conf/calls - a mailbox takes what nobody answers, and opens for its own phone', async () => {
  await using caller = await phone('1001');
  await using owner = await phone('1003');
  const call = await caller.invite('1003');
  (await owner.incoming()).reject(486);
  await call.answered();
  await until('the greeting', async () => (await engine.heard('1001')).includes('vm-isonphone'));
  await call.digits('#');
  await until('the tone', async () => (await engine.heard('1001')).includes('beep'));
  call.play('tone');
  const sent = call.media.sent;
  // A message of less than two seconds is not kept.
  await until('three seconds of speech', () => call.media.sent - sent > 150);
  await call.hangup();
  await until('the message in the box', async () =>
    /1003 .* 1\s*$/m.test(await engine.cli('voicemail show users for default')),
  );
  const box = await owner.invite('*97');
  await box.answered();
  await until('the count of messages', async () => (await engine.heard('1003')).includes('vm-youhave'));
  // The phone has proved whose it is, so its own box is open to it.
  assert.ok(!(await engine.heard('1003')).includes('vm-password'));
  await box.hangup();
});

test('conf/calls - echo, music, blind transfer, parking and both ways of picking up', async () => {
  await using one = await phone('1001');
  await using two = await phone('1002');
  await using third = await phone('1008');
  for (const number of ['600', '601']) {
    const call = await one.invite(number);
    call.play('tone');
    await call.answered();
    await call.hears();
    await call.hangup();
  }
  const talk = async (): Promise<{ call: PhoneCall; other: PhoneCall }> => {
    const call = await one.invite('1002');
    call.play('tone');
    const other = await two.incoming();
    await other.answer();
    await call.answered();
    await other.bridged();
    return { call, other };
  };
  const sent_on = await talk();
  await sent_on.other.transfer('1008');
  const target = await third.incoming();
  await target.answer();
  target.play('tone');
  assert.equal(await sent_on.other.transferred(), 200);
  await Promise.all([sent_on.call.hears(), target.hears()]);
  await target.hangup();
  await sent_on.call.ended();

  const parked = await talk();
  await parked.other.transfer('700');
  await until('the call in slot 701', async () =>
    /Space +: +701/.test(await engine.cli('parking show default')),
  );
  const taken = await third.invite('701');
  await taken.answered();
  await taken.hears();
  await taken.hangup();
  await parked.call.ended();

  for (const code of ['**1002', '*8']) {
    const call = await one.invite('1002');
    call.play('tone');
    const ringing = await two.incoming();
    ringing.ring();
    await call.ringing();
    const picked = await third.invite(code);
    await Promise.all([picked.answered(), call.answered(), ringing.ended()]);
    await picked.hears();
    await picked.hangup();
    await call.ended();
  }
  assert.equal(await engine.dial(third, '*8'), 'im-sorry');
  assert.equal(await engine.dial(third, '**1002'), 'im-sorry');
});

test('conf/calls - a transferred caller hears that nobody answers', async () => {
  await using one = await phone('1001');
  await using two = await phone('1008');
  await using silent = await phone('1002');
  const call = await one.invite('1008');
  const other = await two.incoming();
  await other.answer();
  await call.answered();
  await other.bridged();
  await other.transfer('1002');
  (await silent.incoming()).reject(480);
  await until('the announcement', async () => (await engine.heard('1001')).includes('vm-nobodyavail'));
  await call.ended();
});

test('conf/calls - a queue rings every device of its agents, gives up after its time, and shows a hold', async () => {
  await using agent = await phone('1003');
  await using second = await phone('1003');
  await using caller = await phone('1001');
  await engine.dial(agent, '*81500');
  const call = await caller.invite('500');
  call.play('tone');
  await call.answered();
  const [at_desk, at_second] = [await agent.incoming(), await second.incoming()];
  at_desk.ring();
  at_second.ring();
  await until('1003 ringing', async () => (await engine.members('support')).includes('1003 Ringing'));
  await at_second.answer();
  await Promise.all([at_desk.ended(), at_second.hears()]);
  await until('1003 in use', async () => (await engine.members('support')).includes('1003 In use'));
  await at_second.hold();
  const held = /"MOH_STREAM_BEGIN","PJSIP\/1001-/g;
  await until('the trace of the hold on the side that is held', async () => {
    // The first music is that of the queue.
    return ((await engine.records()).join('\n').match(held)?.length ?? 0) >= 2;
  });
  await at_second.retrieve();
  await at_second.hangup();
  await call.ended();
  await engine.dial(agent, '*80500');

  const nobody = await caller.invite('510');
  await nobody.ended();
  await engine.hears('1001', 'vm-nobodyavail');
});

test('conf/calls - a phone cannot smuggle destinations or options into Dial by the address it registers', async () => {
  await using caller = await phone('1001');
  const at = `${engine.server.host}:${engine.server.port}`;
  const transport = await openTransport({
    server: engine.server,
    username: '1002',
    password: PASSWORD,
    onRequest() {},
  });
  const address = {
    local: `<sip:1002@${at}>;tag=${randomTag()}`,
    remote: `<sip:1002@${at}>`,
    target: `sip:${at}`,
  };
  const registration = { callId: randomTag(), cseq: 0, ...address };
  const register = async (contact: string, seconds: number): Promise<void> => {
    const headers = [
      ['contact', contact],
      ['expires', String(seconds)],
    ] as const;
    assert.match((await transport.send(registration, 'REGISTER', { headers }).response).start, / 200 /);
  };
  const dialled = async (): Promise<string[]> =>
    (await engine.records()).flatMap(
      (line) => /^"APP_START",.*"Dial","(PJSIP\/1002[^"]*)"/.exec(line)?.[1] ?? [],
    );
  try {
    for (const [user, safe] of [
      ['x&Local/601', false],
      ['1002,30,m(default)', false],
      ['1002;line=a~b%40c!*', true],
    ] as const) {
      await register(`<sip:${user}@127.0.0.1:9>`, 60);
      const before_it = (await dialled()).length;
      const call = await caller.invite('1002');
      const data = await until('the call of Dial', async () => (await dialled()).slice(before_it)[0]);
      if (safe) assert.ok(data.includes(`PJSIP/1002/sip:${user}@`), data);
      else assert.match(data, /^PJSIP\/1002&&,30,itTb\(watch-forward/, user);
      await call.hangup();
      await register(`<sip:${user}@127.0.0.1:9>`, 0);
    }
  } finally {
    await transport.close();
  }
});

test('conf/calls - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});
