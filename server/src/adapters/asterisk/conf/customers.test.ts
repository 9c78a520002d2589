/** Customers of the engine's own store, on a real engine: what a phone shows before it rings. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { farAddress } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  company,
  extension,
  inboundRoute,
  outboundRoute,
  ringGroup,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { until } from '../../../../test/support/until.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import type {
  CallerRuleVerbs,
  CustomerVerbs,
  StoredCallerRule,
  StoredCustomer,
} from '../../../ports/engine-verbs.ts';
import { storeActions } from '../actions/customers.ts';
import type { AmiConnection } from '../ami/connection.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

const AT = {} as Record<'north' | 'west', FarAddress>;
let engine: TestEngine;
let ami: AmiConnection;
let customers: CustomerVerbs & CallerRuleVerbs;
before(async () => {
  AT.north = await farAddress('127.0.0.2');
  AT.west = await farAddress('127.0.0.3');
  const over = (name: 'north' | 'west') =>
    trunk({ name, ...AT[name], outbound_number: '+49305550', max_calls: null });
  const to = (kind: 'extension' | 'queue' | 'ring_group', key: string) => ({ kind, key });
  const { extensions } = company();
  engine = await startTestEngine(
    company({
      extensions: extensions.map((e) =>
        extension(e.extension, {
          voicemail: false,
          forward_outside: e.extension === '1002',
          blocks_callers: e.extension === '1001',
        }),
      ),
      ring_groups: [ringGroup({ name: 'desk', number: '520', members: ['1003', '1004'] })],
      feature_codes: FEATURE_CODES,
      trunks: [over('north'), over('west')],
      inbound_routes: [
        inboundRoute({ name: 'one', number: '1', to: to('extension', '1001') }),
        inboundRoute({ name: 'two', number: '2', to: to('extension', '1002') }),
        inboundRoute({ name: 'queue', number: '3', to: to('queue', 'support') }),
        inboundRoute({ name: 'group', number: '4', to: to('ring_group', 'desk') }),
        inboundRoute({ name: 'owner', number: '6', owner_seconds: 10, to: to('extension', '1001') }),
        inboundRoute({ name: 'transit', number: '5', to: { kind: 'trunk', key: 'west' } }),
      ],
      outbound_routes: [outboundRoute({ name: 'all', patterns: ['0.'], trunks: [{ trunk: 'west' }] })],
    }),
  );
  ami = await engine.ami();
  customers = storeActions(
    () => ami,
    (work) => work(ami),
  );
});
after(async () => {
  ami?.close();
  await engine?.[Symbol.asyncDispose]();
});
const phone = (number: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension: number, password: PASSWORD });
const far = (name: 'north' | 'west', extension: string): Promise<Phone> =>
  openFarSide({ server: engine.server, extension, name: 'CARRIER', at: AT[name], cli: engine.cli });

const CALLER = '+4915112345678';
const keep = (
  number: string,
  name: string | null,
  owner: string | null = null,
  blocked = false,
): Promise<void> =>
  customers.keepCustomers(new Map([[number, name === null ? null : { name, owner, blocked }]]));
/** Shows what a phone is given for the caller while it rings, and ends the call. */
async function shownAt(desk: Phone, outside: Phone, number: string): Promise<string> {
  const call = await outside.invite(number);
  const incoming = await desk.incoming(call);
  const { name } = incoming.party;
  incoming.reject(486);
  await call.hangup();
  return name;
}
const HOSTILE = [
  'Anna Müller',
  '山田 花子',
  '${SHELL(touch PWNED)}',
  '$[1+1] ${EXTEN} ${CALLERID(num)}',
  '#{SHELL(touch PWNED)}',
  'a,b;c=d&e|f^g:h?i(j)k',
  '"quoted" \\ back\\',
  `O'Neil <sip:1001@127.0.0.1>`,
  '):1}${SHELL(touch PWNED)}',
  'x'.repeat(80),
];

test('conf/customers - the phone shows the stored name exactly, however it is made, in each spelling of the number', async () => {
  await using desk = await phone('1001');
  {
    await using outside = await far('north', CALLER);
    assert.equal(await shownAt(desk, outside, '1'), 'CARRIER', 'not known yet');
    for (const name of HOSTILE) {
      await keep(CALLER, name);
      assert.equal(await shownAt(desk, outside, '1'), name);
    }
  }
  assert.equal(existsSync('PWNED') || existsSync(path.join(engine.instance.folder, 'PWNED')), false);
  await keep('015112345678', 'By the number inside the country');
  for (const [from, shown] of [
    ['004915112345678', HOSTILE.at(-1)],
    ['4915112345678', HOSTILE.at(-1)],
    ['015112345678', 'By the number inside the country'],
    ['15112345678', 'CARRIER'],
    ['anonymous', 'CARRIER'],
  ] as const) {
    await using other = await far('north', from);
    assert.equal(await shownAt(desk, other, '1'), shown, from);
  }
  await keep(CALLER, null);
  await using again = await far('north', CALLER);
  assert.equal(await shownAt(desk, again, '1'), 'CARRIER');
});

test('conf/customers - a queue, a ring group and an extension it is forwarded to show it too', async () => {
  await keep(CALLER, 'Anna Müller');
  await using outside = await far('north', CALLER);
  await using agent = await phone('1006');
  assert.equal(await shownAt(agent, outside, '3'), 'Anna Müller', 'queue');
  await using member = await phone('1003');
  assert.equal(await shownAt(member, outside, '4'), 'Anna Müller', 'ring group');
  await engine.cli('database put offhook/1001 forward 1005');
  await using other = await phone('1005');
  assert.equal(await shownAt(other, outside, '1'), 'Anna Müller', 'forward');
  await engine.cli('database del offhook/1001 forward');
});

test('conf/customers - the name is sent over no trunk, and is in no record', async () => {
  const NAME = 'Secret Customer';
  await keep(CALLER, NAME);
  await using outside = await far('north', CALLER);
  await using other = await far('west', '+4917099');
  assert.equal(await shownAt(other, outside, '5'), 'CARRIER', 'from trunk to trunk');
  await engine.cli('database put offhook/1002 forward 0301234');
  assert.notEqual(await shownAt(other, outside, '2'), NAME, 'forwarded by the engine');
  await engine.cli('database del offhook/1002 forward');
  await using desk = await phone('1002');
  const call = await outside.invite('2');
  const incoming = await desk.incoming(call);
  assert.equal(incoming.party.name, NAME);
  await incoming.answer();
  await call.answered();
  await incoming.bridged();
  await incoming.transfer('0301234');
  const there = await other.incoming(call);
  assert.notEqual(there.party.name, NAME, 'transferred');
  there.reject(486);
  await call.ended();
  assert.deepEqual(
    (await engine.records()).filter((line) => line.includes(NAME)),
    [],
  );
});

test('conf/customers - the store is read back whole, and what it has not taken is an error', async () => {
  const all = new Map(
    HOSTILE.map((name, i) => [
      `+49301000${i}`,
      {
        name,
        owner: i % 2 === 0 ? null : '1005',
        blocked: i % 3 === 0,
        ...(i % 2 === 0 ? { language: i % 4 === 0 ? 'fr' : 'pt_BR' } : {}),
      },
    ]),
  );
  await customers.keepCustomers(all);
  const stored = new Map<string, StoredCustomer | null>();
  await customers.storedCustomers((number, customer) => void stored.set(number, customer));
  for (const [number, customer] of all) assert.deepEqual(stored.get(number), customer);
  await engine.cli('database put offhook-customers +4930 "short"');
  await customers.storedCustomers((number, customer) => void stored.set(number, customer));
  assert.equal(stored.get('+4930'), null, 'written by hand');
  await customers.keepCustomers(new Map([...stored.keys()].map((number) => [number, null])));
  await customers.storedCustomers((number) => assert.fail(number));
  for (const name of ['a\nb', '\u0000', 'x'.repeat(2_000)])
    await assert.rejects(keep(CALLER, name), { code: 'invalid_request' });
  await assert.rejects(keep('1/../x', 'a'), { code: 'invalid_request' });
  await assert.rejects(keep(CALLER, 'a', '10/05'), { code: 'invalid_request' });
  // An engine that answers yes and writes nothing.
  const action: AmiConnection['action'] = (name, ...rest) =>
    ami.action(name === 'DBPut' ? 'Ping' : name, ...rest);
  const liar = Object.assign(Object.create(ami) as AmiConnection, { action, list: ami.list.bind(ami) });
  const unwritten = storeActions(
    () => liar,
    (work) => work(liar),
  );
  await assert.rejects(
    unwritten.keepCustomers(new Map([[CALLER, { name: 'a', owner: null, blocked: false }]])),
    {
      code: 'store_unavailable',
    },
  );
});

/** The engine knows a phone's state a moment after the phone; it shows a hint once a call asked for it. */
const ownerIs = (state: string) =>
  until(`the hint of the owner to be ${state}`, async () =>
    new RegExp(`1005@hints .*State:${state}`).test(await engine.cli('core show hint 1005')),
  );
/** Calls the route that rings owners first, and returns the phones that ring, in their order, each of which refuses. */
async function ringsFirst(outside: Phone, phones: readonly Phone[]): Promise<string[]> {
  const before = phones.map(({ seen }) => seen);
  const call = await outside.invite('6');
  const rung: string[] = [];
  while (call.state !== 'ended') {
    const ringing = await until(
      'a phone to ring or the end of the call',
      () => phones.find(({ waiting }) => waiting > 0) ?? (call.state === 'ended' ? 'over' : undefined),
    );
    if (ringing === 'over') break;
    rung.push(ringing.extension);
    (await ringing.incoming(call)).reject(486);
  }
  assert.deepEqual(
    phones.map(({ seen }, i) => seen - before[i]!),
    phones.map(({ extension }) => rung.filter((one) => one === extension).length),
  );
  return rung;
}

test('conf/customers - a route rings the owner of the customer first, and goes on where the owner does not take the call', async () => {
  await using outside = await far('north', CALLER);
  await using desk = await phone('1001');
  await keep(CALLER, 'Anna', '1005');
  assert.deepEqual(await ringsFirst(outside, [desk]), ['1001'], 'no phone');
  await using owner = await phone('1005');
  const phones = [owner, desk];
  await ownerIs('Idle');
  assert.deepEqual(await ringsFirst(outside, phones), ['1005', '1001'], 'refused');
  await engine.cli('database put offhook/1005 forward 1004');
  assert.deepEqual(await ringsFirst(outside, phones), ['1001'], 'forwarded');
  await engine.cli('database del offhook/1005 forward');
  await engine.cli('devstate change Custom:dnd-1005 BUSY');
  await ownerIs('Busy');
  assert.deepEqual(await ringsFirst(outside, phones), ['1001'], 'wants no calls');
  await engine.cli('devstate change Custom:dnd-1005 INVALID');
  await ownerIs('Idle');
  await keep(CALLER, 'Anna', '1099');
  assert.deepEqual(await ringsFirst(outside, phones), ['1001'], 'no extension');
  await keep(CALLER, 'Anna');
  assert.deepEqual(await ringsFirst(outside, phones), ['1001'], 'no owner');
  await keep(CALLER, null);
  assert.deepEqual(await ringsFirst(outside, phones), ['1001'], 'no customer');
});

test('conf/customers - an owner has a bounded time to answer, and the call ends with the owner', async () => {
  await using outside = await far('north', CALLER);
  await using desk = await phone('1001');
  await using owner = await phone('1005');
  await keep(CALLER, 'Anna', '1005');
  await ownerIs('Idle');
  const call = await outside.invite('6');
  const ringing = await owner.incoming(call);
  assert.equal(ringing.party.name, 'Anna');
  const next = await desk.incoming(call);
  await ringing.ended();
  next.reject(486);
  await call.ended();

  const second = await outside.invite('6');
  const taken = await owner.incoming(second);
  await taken.answer();
  await second.answered();
  await ownerIs('InUse');
  await using other = await far('west', '+4915112345679');
  await keep('+4915112345679', 'Bea', '1005');
  assert.deepEqual(await ringsFirst(other, [desk, owner]), ['1001'], 'in a call');
  const before = desk.seen;
  await taken.hangup();
  await second.ended();
  assert.equal(desk.seen, before, 'the route does not go on');
});

test('conf/customers - the call of a blocked customer is rejected before any phone rings', async () => {
  await using outside = await far('north', CALLER);
  await using desk = await phone('1001');
  await keep(CALLER, 'Anna', null, true);
  const call = await outside.invite('1');
  await call.ended();
  assert.deepEqual([call.status, desk.seen], [403, 0]);
  await keep(CALLER, 'x');
  assert.equal(await shownAt(desk, outside, '1'), 'x');
});

const NO_RULE: StoredCallerRule = { number: null, prefix: null, by: null };
const rule = (key: string, change: Partial<StoredCallerRule> | null): Promise<void> =>
  customers.keepCallerRules(new Map([[key, change === null ? null : { ...NO_RULE, ...change }]]));
/** Whether a call from this number rings the phone; the records of a rejected one have its reason. */
async function reaches(
  desk: Phone,
  from: string,
  how: Parameters<typeof openFarSide>[0] | object = {},
): Promise<boolean> {
  await using outside = await openFarSide({
    server: engine.server,
    extension: from,
    name: '',
    at: AT.north,
    cli: engine.cli,
    ...how,
  });
  const call = await outside.invite('1');
  const rung = await until('a phone to ring or the end of the call', () =>
    desk.waiting > 0 ? 'rings' : call.state === 'ended' ? 'over' : undefined,
  );
  if (rung === 'rings') (await desk.incoming(call)).reject(486);
  await call.ended();
  if (rung === 'over') assert.equal(call.status, 403);
  return rung === 'rings';
}

test('conf/customers - rules for numbers, prefixes and anonymous callers hold; an allowing one wins, also over a blocked customer', async () => {
  await using desk = await phone('1001');
  await rule('+4915112345678', { number: 'block' });
  for (const from of ['+4915112345678', '004915112345678', '4915112345678'])
    assert.equal(await reaches(desk, from), false, from);
  for (const from of ['+491511234567', '+49151123456789'])
    assert.equal(await reaches(desk, from), true, from);
  await rule('+4915', { prefix: 'block' });
  for (const from of ['+491511234567', '+49151123456789', '0049159'])
    assert.equal(await reaches(desk, from), false, from);
  await rule('+491511234567', { number: 'allow' });
  assert.equal(await reaches(desk, '+491511234567'), true);
  await rule('+49151', { prefix: 'allow' });
  assert.equal(await reaches(desk, '+4915112345678'), true, 'a blocked number in an allowed prefix');
  assert.equal(await reaches(desk, '+491591'), false);
  await keep('+49151', 'Blocked customer', null, true);
  assert.equal(await reaches(desk, '+49151'), true);
  await keep('+49151', null);
  assert.equal(await reaches(desk, 'anonymous'), true);
  await rule('anonymous', { number: 'block' });
  for (const from of ['anonymous', 'unknown', 'Restricted'])
    assert.equal(await reaches(desk, from), false, from);
  assert.equal(await reaches(desk, '+43'), true);
  const kept = new Map<string, StoredCallerRule | null>();
  await customers.storedCallerRules((key, found) => void kept.set(key, found));
  assert.deepEqual(kept.get('anonymous'), { ...NO_RULE, number: 'block' });
  await assert.rejects(rule('1/../x', { number: 'block' }), { code: 'invalid_request' });
  await assert.rejects(rule('1', { by: 'a' }), { code: 'invalid_request' });
  const lines = (await engine.records()).filter((line) => line.includes('OFFHOOK_REJECTED'));
  assert.equal(lines.filter((line) => line.includes('""rule""')).length, 10, lines.join('\n'));
});

test('conf/customers - a hostile caller id neither passes a rule of its digits nor reaches the engine', async () => {
  await using desk = await phone('1001');
  await rule('+4977', { number: 'block', prefix: 'block' });
  for (const from of [
    '+4977%24%7bSHELL(touch%20PWNED)%7d',
    '+4977%22,1)%7d',
    "+4977'$%5b1+1%5d",
    '+4977%01%0d%0aX:%09%7f',
    `+4977${'0'.repeat(500)}`,
    '%2b4977%5c',
    '+4977&=,;?/!~*',
  ])
    assert.equal(await reaches(desk, from), false, from);
  assert.equal(existsSync('PWNED') || existsSync(path.join(engine.instance.folder, 'PWNED')), false);
});

test('conf/customers - a feature code blocks the last caller of the phone, speaks it, and is for those who may', async () => {
  await customers.keepCallerRules(new Map((await rulesNow()).map(([key]) => [key, null])));
  await using desk = await phone('1001');
  assert.equal(await reaches(desk, '+49301234'), true);
  assert.equal(await engine.dial(desk, '*60'), 'privacy-to-blacklist-last-caller');
  assert.deepEqual(await rulesNow(), [['+49301234', { ...NO_RULE, number: 'block', by: '1001' }]]);
  assert.equal(await reaches(desk, '+49301234'), false);
  assert.equal(await engine.dial(desk, '*60'), 'privacy-to-blacklist-last-caller', 'a repeat is a success');
  await rule('+49301234', { number: 'allow' });
  assert.equal(await engine.dial(desk, '*60'), 'im-sorry', 'an allowed caller');
  await using other = await phone('1002');
  assert.equal(await engine.dial(other, '*60'), 'im-sorry', 'not permitted');
  assert.equal((await rulesNow()).length, 1);
});
async function rulesNow(): Promise<[string, StoredCallerRule | null][]> {
  const found: [string, StoredCallerRule | null][] = [];
  await customers.storedCallerRules((key, stored) => void found.push([key, stored]));
  return found;
}

test('conf/customers - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});
