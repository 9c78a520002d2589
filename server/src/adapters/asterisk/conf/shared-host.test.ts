/** Two accounts at one provider, which sends the calls of both from the same address, on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { contactsAt, farAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  SETTINGS,
  company,
  inboundRoute,
  outboundRoute,
  renderCompany,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';

const at = await farAddress('127.0.0.2');
const to = (extension: string) => ({ kind: 'extension', key: extension }) as const;
const account = (name: string, username: string, fields = {}) =>
  trunk({ name, ...at, register: true, login: { username, password: 'secret' }, ...fields });
const site = () =>
  company({
    trunks: [
      account('east', '100200', { outbound_number: '+4930100' }),
      account('north', 'n4711x', { outbound_number: '+4930200', max_calls: 1 }),
    ],
    inbound_routes: [
      inboundRoute({ name: 'east', trunk: 'east', to: to('1002') }),
      inboundRoute({ name: 'north', trunk: 'north', to: to('1003') }),
      inboundRoute({ name: 'north-desk', trunk: 'north', number: '+49302005', prefix: true, to: to('1004') }),
    ],
    outbound_routes: [
      outboundRoute({ name: 'one', patterns: ['01X!'], trunks: [{ trunk: 'east', strip: 0, prepend: '' }] }),
      outboundRoute({ name: 'two', patterns: ['02X!'], trunks: [{ trunk: 'north', strip: 0, prepend: '' }] }),
    ],
  });
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(site());
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const desk = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });

test('conf/shared host - each account has its own calls: by its contact, by its user name, by a number of its routes', async () => {
  const lines = await until('both accounts to register', () => {
    const contacts = contactsAt(at);
    const lineOf = (user: string) =>
      contacts.flatMap((text) => (text.includes(`sip:${user}@`) ? /;line=\w+/.exec(text) : null) ?? [])[0];
    const [east, north] = [lineOf('100200'), lineOf('n4711x')];
    return east !== undefined && north !== undefined && { east, north };
  });
  await using provider = await openFarSide({
    server: engine.server,
    extension: '+4915',
    at,
    cli: engine.cli,
  });
  await using east = await desk('1002');
  await using north = await desk('1003');
  await using direct = await desk('1004');
  for (const [number, parameters, there] of [
    ['+4930777', lines.east, east],
    ['+4930777', lines.north, north],
    ['100200', '', east],
    ['n4711x', '', north],
    ['+4930100', '', east],
    ['+4930200', '', north],
    ['+49302005', '', direct],
    ['+4930888', '', east],
  ] as const) {
    const call = await provider.invite(number, parameters);
    const incoming = await there.incoming(call);
    await call.hangup();
    await incoming.ended();
  }
});

test('conf/shared host - each account has its own number shown and its own limit of calls', async () => {
  await using provider = await openFarSide({
    server: engine.server,
    extension: '+4915',
    at,
    cli: engine.cli,
  });
  await using from = await desk('1005');
  await using other = await desk('1006');
  const first = await from.invite('02123');
  const taken = await provider.incoming(first);
  assert.equal(taken.party.number, '+4930200');
  await taken.answer();
  await first.answered();
  const full = await provider.invite('n4711x');
  await full.ended();
  assert.equal(full.status, 503);
  const second = await other.invite('01123');
  const free = await provider.incoming(second);
  assert.equal(free.party.number, '+4930100');
  free.reject(486);
  await second.ended();
  await first.hangup();
  await taken.ended();
});

test('conf/shared host - the engine finds one trunk by the address, first one that does not register', () => {
  const files = renderCompany({ ...site(), trunks: [...site().trunks, trunk({ name: 'peer', ...at })] });
  const identified = [...files.get('pjsip_shared.conf')!.matchAll(/type = identify\nendpoint = (.*)/g)];
  assert.deepEqual(
    identified.map(([, name]) => name),
    ['trunk-peer'],
  );
});

test('conf/shared host - calls that pass the SIP proxy are those of the first trunk that passes it, too', () => {
  const host = '127.0.0.2';
  const trunks = [
    trunk({ name: 'direct', host, transport: 'tls' }),
    trunk({ name: 'first', host }),
    trunk({ name: 'second', host }),
  ];
  const settings = { ...SETTINGS, sip_proxies: [{ host: '127.0.0.3', port: 5060 }] };
  const network = { ...company().network, tls_port: 5061 };
  const files = renderCompany(company({ trunks, network }), settings);
  const identified = [...files.get('pjsip_shared.conf')!.matchAll(/^\[(.*)\]\ntype = identify/gm)];
  assert.deepEqual(
    identified.map(([, name]) => name),
    ['trunk-direct', 'proxied-trunk-first'],
  );
});
