/** Calls over trunks, on a real engine: what comes in, what goes out, what is let through, and what is not. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { freePort } from '../../../../test/support/ports.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import type { SiteTrunk } from '../../../ports/site.ts';
import { PASSWORD, company, inboundRoute, outboundRoute, trunk } from './test-company.ts';
import { startTestEngine } from './test-engine.ts';
import type { TestEngine } from './test-engine.ts';

const ADDRESS = { north: '127.0.0.2', south: '127.0.0.3' } as const;
const port = { north: 0, south: 0 };
const carrier = (name: 'north' | 'south', outbound_number: string | null = null): SiteTrunk =>
  trunk({ name, host: ADDRESS[name], port: port[name], codecs: ['alaw', 'ulaw'], outbound_number });
let engine: TestEngine;
before(async () => {
  port.north = await freePort();
  port.south = await freePort();
  engine = await startTestEngine(
    company({
      feature_codes: FEATURE_CODES,
      trunks: [carrier('north', '+49305550'), carrier('south')],
      inbound_routes: [
        inboundRoute({
          name: 'desk',
          trunk: 'north',
          number: '+493055501',
          to: { kind: 'extension', key: '1001' },
        }),
        inboundRoute({
          name: 'support',
          trunk: 'north',
          number: '500',
          to: { kind: 'queue', key: 'support' },
        }),
        inboundRoute({
          name: 'through',
          trunk: 'north',
          number: '+44',
          prefix: true,
          to: { kind: 'trunk', key: 'south', strip: 1, prepend: '00' },
        }),
      ],
      outbound_routes: [
        outboundRoute({
          name: 'abroad',
          position: 98,
          patterns: ['00X!'],
          trunks: [{ trunk: 'south' }],
        }),
        outboundRoute({
          name: 'inland',
          position: 99,
          patterns: ['0X!'],
          trunks: [{ trunk: 'north', strip: 1, prepend: '+49' }],
        }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
const far = (name: 'north' | 'south', number = '+4915112345678'): Promise<Phone> =>
  openFarSide({
    server: engine.server,
    extension: number,
    at: { host: ADDRESS[name], port: port[name] },
  });

test('conf/trunks - a number of the trunk reaches the extension its route names, with the caller as received', async () => {
  await using outside = await far('north');
  await using desk = await phone('1001');
  const call = await outside.invite('+493055501');
  const incoming = await desk.incoming();
  assert.equal(incoming.party.number, '+4915112345678');
  await incoming.answer();
  await call.answered();
  call.play('tone');
  incoming.play('tone');
  await Promise.all([call.hears(), incoming.hears()]);
  await call.hangup();
  await incoming.ended();
});

test('conf/trunks - an extension reaches outside; the number is changed and the number of the trunk is shown', async () => {
  await using outside = await far('north');
  await using other = await far('south');
  await using desk = await phone('1001');
  const call = await desk.invite('0301234567');
  const incoming = await outside.incoming();
  assert.deepEqual([incoming.dialled, incoming.party.number], ['+49301234567', '+49305550']);
  incoming.ring();
  await call.ringing();
  await incoming.answer();
  await call.answered();
  incoming.play('tone');
  await call.hears();
  await incoming.hangup();
  await call.ended();
  // The first route that matches decides, and a trunk without a number of its own is given the extension.
  const abroad = await desk.invite('0044207946000');
  const there = await other.incoming();
  assert.deepEqual([there.dialled, there.party.number], ['0044207946000', '1001']);
  there.reject(486);
  await abroad.ended();
  assert.equal(abroad.status, 486);
});

test('conf/trunks - from trunk to trunk, the caller stays who it is', async () => {
  await using outside = await far('north');
  await using other = await far('south');
  const call = await outside.invite('+44207946000');
  const there = await other.incoming();
  assert.deepEqual([there.dialled, there.party.number], ['0044207946000', '+4915112345678']);
  await there.answer();
  await call.answered();
  there.play('tone');
  await call.hears();
  await call.hangup();
  await there.ended();
});

test('conf/trunks - nothing of the house is reached from outside but what a route names', async () => {
  await using outside = await far('north');
  await using intruder = await far('south');
  await using desk = await phone('1001');
  for (const number of [
    '1001',
    '*97',
    '*22',
    '600',
    '701',
    '0301234567',
    '**1001',
    's',
    'held-by',
    '+493055502',
  ])
    for (const from of [outside, intruder]) {
      const call = await from.invite(number);
      await call.ended();
      assert.equal(call.status, 404, `${from.extension} ${number}`);
    }
  const smuggled = await outside.invite('+44207@x&Local/601@services&PJSIP/1');
  await smuggled.ended();
  assert.ok(smuggled.status >= 400, String(smuggled.status));
  const own = await desk.invite('0301@x&Local/1001@people&PJSIP/1');
  await own.ended();
  assert.ok(own.status >= 400);
  assert.deepEqual([desk.seen, intruder.seen], [0, 0]);
});

test('conf/trunks - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});
