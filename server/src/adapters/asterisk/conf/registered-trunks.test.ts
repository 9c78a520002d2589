/** Calls that a carrier sends to the account with which a trunk registers, on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { farAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  company,
  inboundRoute,
  renderCompany,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

const at = await farAddress('127.0.0.2');
const north = (username: string) =>
  trunk({
    name: 'north',
    ...at,
    register: true,
    login: { username, password: 'secret' },
    outbound_number: '+49305550',
  });
const to = (extension: string) => ({ kind: 'extension', key: extension }) as const;
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(
    company({
      trunks: [north('1234567e0')],
      inbound_routes: [
        inboundRoute({ name: 'main', number: '+49305550', to: to('1002') }),
        inboundRoute({ name: 'any', to: to('1003') }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});

test('conf/registered-trunks - a call to the user name of the account is one to the number of the trunk', async () => {
  await using carrier = await openFarSide({ server: engine.server, extension: '+4915', at, cli: engine.cli });
  await using main = await registerPhone({ server: engine.server, extension: '1002', password: PASSWORD });
  const call = await carrier.invite('1234567e0');
  const there = await main.incoming(call);
  assert.equal(there.party.number, '+4915');
  await there.answer();
  await call.answered();
  await call.hangup();
  for (const other of ['1234567e1', 'e0', 's']) {
    const refused = await carrier.invite(other);
    await refused.ended();
    assert.ok(refused.status === 404 || refused.status === 484, `${other}: ${refused.status}`);
  }
});

test('conf/registered-trunks - a user name of digits is a number as any other', () => {
  for (const [username, named] of [
    ['1234567e0', true],
    ['acme.de', true],
    ['e1234567', true],
    ['1234567-e0', true],
    // The engine ignores the hyphens of both.
    ['1234567-0', false],
    ['h-', false],
    ['4930555', false],
    ['+4930555', false],
    ['_X.', false],
    ['s', false],
  ] as const) {
    const dialplan = renderCompany(company({ trunks: [north(username)] })).get('extensions.conf')!;
    assert.equal(dialplan.includes(`exten => ${username},1,Set(OFFHOOK_CALLED`), named, username);
  }
});

test('conf/registered-trunks - no call passes the steps of arriving calls twice', () => {
  const dialplan = renderCompany(company({ trunks: [north('1234567e0')] })).get('extensions.conf')!;
  assert.match(dialplan, /^\[from-trunk-north\]$/m);
  assert.doesNotMatch(dialplan, /Goto\(from-trunk-north,/);
});
