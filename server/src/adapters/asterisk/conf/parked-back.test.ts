/** Parked calls that return to the person who parked them, on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone, PhoneCall } from '../../../../test/support/phone.ts';
import { PASSWORD, company, parkingLot } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(company({ parking_lots: [parkingLot({ timeout_seconds: 10 })] }));
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
const parks = (extension: string): Promise<unknown> =>
  until(`${extension} to be parked`, async () =>
    (await engine.cli('parking show default')).includes(`PJSIP/${extension}-`),
  );
/** A call from one phone to the other, which parks it. */
async function parked(from: Phone, by: Phone): Promise<PhoneCall> {
  const call = await from.invite(by.extension);
  const talk = await by.incoming(call);
  await talk.answer();
  await call.answered();
  await talk.bridged();
  await talk.transfer('700');
  await parks(from.extension);
  await talk.transferred();
  return call;
}

test('conf/parked back - a call that its parker does not take is parked once more, then goes on as a call to the parker', async () => {
  await using caller = await phone('1001');
  await using parker = await phone('1006');
  const call = await parked(caller, parker);
  (await parker.incoming(call)).reject(486);
  await parks('1001');
  (await parker.incoming(call)).reject(486);
  (await parker.incoming(call)).reject(486);
  await engine.hears('1001', 'beep');
  assert.ok((await engine.heard('1001')).includes('vm-isonphone'));
  assert.equal(call.state, 'up');
  await call.hangup();
});

test('conf/parked back - a call whose parker has left goes on at once; a parker without a mailbox has an announcement', async () => {
  await using caller = await phone('1003');
  let call: PhoneCall;
  {
    await using parker = await phone('1002');
    call = await parked(caller, parker);
  }
  await call.ended();
  assert.deepEqual((await engine.heard('1003')).slice(-1), ['vm-nobodyavail']);
});
