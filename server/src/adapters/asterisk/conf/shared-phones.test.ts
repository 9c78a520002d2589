/** Shared desk phones on a real engine, which is alone: signing in and everything that follows from it needs no service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { farAddress } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  company,
  extension,
  outboundRoute,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';
import type { SharedPhone } from '../../../ports/site.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';

const [LOBBY, DOOR] = ['desk_1', 'desk_2'];
const PIN = '0815';
const HOUR_S = 3_600;
const shared = (endpoint: string): SharedPhone => ({
  name: endpoint,
  endpoint,
  title: 'Lobby',
  sip_password: PASSWORD,
  srtp: 'off',
});
let at: FarAddress;
let engine: TestEngine;
before(async () => {
  at = await farAddress('127.0.0.2');
  engine = await startTestEngine(
    company({
      extensions: company().extensions.map((e) =>
        extension(e.extension, {
          voicemail: true,
          voicemail_pin: PIN,
          ...(e.extension === '1001' ? { caller_id: '+493055501' } : {}),
          ...(e.extension === '1002' ? { call_permission: ['local'] } : {}),
        }),
      ),
      feature_codes: FEATURE_CODES,
      shared_phones: [shared(LOBBY), shared(DOOR)],
      trunks: [trunk({ name: 'north', ...at, max_calls: null, show_extensions: true })],
      outbound_routes: [
        outboundRoute({ name: 'home', patterns: ['0Z.'], class: 'national', trunks: [{ trunk: 'north' }] }),
        outboundRoute({ name: 'help', patterns: ['112'], class: 'emergency', trunks: [{ trunk: 'north' }] }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (name: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension: name, password: PASSWORD });
const far = (): Promise<Phone> =>
  openFarSide({ server: engine.server, extension: '+4915112345678', at, cli: engine.cli });
const lamp = async (extension: string): Promise<string> =>
  /Result: (\S+)/.exec(await engine.cli(`dialplan eval function EXTENSION_STATE(${extension}@hints)`))?.[1] ??
  '';
const shows = (extension: string, state: string): Promise<unknown> =>
  until(`the lamp of ${extension} to be ${state}`, async () => (await lamp(extension)) === state, {
    seen: async () => ({
      lamp: await engine.cli(`dialplan eval function EXTENSION_STATE(${extension}@hints)`),
    }),
  });
const heard = (name: string, sound: string, before: number): Promise<unknown> =>
  until(`${name} to hear ${sound}`, async () => (await engine.heard(name)).slice(before).includes(sound), {
    seen: () => engine.heard(name),
  });
/** Dials the code, types the PIN, and returns what is heard after it. */
async function signIn(desk: Phone, extension: string, pin = PIN): Promise<string> {
  const before = (await engine.heard(desk.extension)).length;
  const call = await desk.invite(`*76${extension}`);
  await call.answered();
  await heard(desk.extension, 'agent-pass', before);
  const asked = (await engine.heard(desk.extension)).length;
  await call.digits(`${pin}#`);
  await call.ended();
  return await until('what is heard after the PIN', async () =>
    (await engine.heard(desk.extension)).slice(asked).at(-1),
  );
}
/** Prompts after a code that asks for nothing. */
const OUT = 'agent-loggedoff';

test('shared phones - without a person a phone reaches the code and help, nothing else', async () => {
  await using lobby = await phone(LOBBY);
  await using there = await far();
  for (const number of ['1003', '*97', '*22', '0301234', '*77', '777777']) {
    const call = await lobby.invite(number);
    await call.ended();
    assert.notEqual(call.times.answered > 0, true, number);
  }
  await engine.hears(LOBBY, 'feature-not-avail-line');
  const call = await lobby.invite('112');
  const incoming = await there.incoming(call);
  assert.equal(incoming.dialled, '112');
  await incoming.answer();
  await call.answered();
  await call.hangup();
  await incoming.ended();
});

test('shared phones - the phone is the person: calls, name, rights, lamp, and out again by code', async () => {
  await using lobby = await phone(LOBBY);
  await using colleague = await phone('1003');
  await using there = await far();
  assert.equal(await lamp('1001'), 'UNAVAILABLE');
  assert.equal(await signIn(lobby, '1001'), 'agent-loginok');
  await shows('1001', 'NOT_INUSE');

  const call = await colleague.invite('1001');
  const incoming = await lobby.incoming(call);
  incoming.ring();
  await shows('1001', 'RINGING');
  await incoming.answer();
  await call.answered();
  await shows('1001', 'INUSE');
  assert.match(await engine.cli('core show channels concise'), /^PJSIP\/1001-/m, 'the leg is of the person');
  await call.hangup();
  await incoming.ended();
  await shows('1001', 'NOT_INUSE');

  const own = await lobby.invite('1003');
  const rings = await colleague.incoming(own);
  assert.deepEqual(rings.party, { number: '1001', name: 'Person 1001' });
  await shows('1001', 'INUSE');
  await rings.answer();
  await own.answered();
  await own.hangup();
  await rings.ended();
  await shows('1001', 'NOT_INUSE');

  const outside = await lobby.invite('0301234');
  const arrived = await there.incoming(outside);
  assert.equal(arrived.party.number, '+493055501', 'the number of the person is shown');
  await outside.hangup();
  await arrived.ended();

  assert.equal(await signIn(lobby, '1002'), 'agent-loginok', 'another person takes the phone over');
  await shows('1001', 'UNAVAILABLE');
  await shows('1002', 'NOT_INUSE');
  const denied = await lobby.invite('0301234');
  await denied.ended();
  // With the rights of that person.
  await engine.hears(LOBBY, 'feature-not-avail-line');

  assert.equal(await engine.dial(lobby, '*77'), OUT);
  await shows('1002', 'UNAVAILABLE');
  const missed = await colleague.invite('1002');
  await until('a mailbox to answer', async () => (await engine.heard('1003')).length > 0);
  await missed.hangup();
  assert.equal(lobby.waiting, 0);
  assert.deepEqual(await engine.warnings(), []);
});

test('shared phones - an agent pauses and takes calls of queues there', async () => {
  await using lobby = await phone(LOBBY);
  await using caller = await phone('1008');
  assert.equal(await signIn(lobby, '1004'), 'agent-loginok');
  assert.equal(await engine.dial(lobby, '*81'), 'auth-thankyou');
  assert.equal(await engine.dial(lobby, '*22'), 'auth-thankyou');
  await until('1004 to be paused', async () =>
    (await engine.members('support')).includes('1004 paused:break Not in use'),
  );
  assert.equal(await engine.dial(lobby, '*23'), 'auth-thankyou');
  await until('1004 to be ready', async () => (await engine.members('support')).includes('1004 Not in use'));
  const busy = await lobby.invite('600');
  await busy.answered();
  await until('1004 to be in use', async () => (await engine.members('support')).includes('1004 In use'));
  await busy.hangup();
  await until('1004 to be free', async () => (await engine.members('support')).includes('1004 Not in use'));
  const call = await caller.invite('500');
  const incoming = await lobby.incoming(call);
  await incoming.answer();
  await incoming.bridged();
  await call.hangup();
  await incoming.ended();
  assert.equal(await engine.dial(lobby, '*80'), 'auth-thankyou');
  assert.equal(await engine.dial(lobby, '*77'), OUT);
});

test('shared phones - a person is at one phone; a transfer outside counts to the person', async () => {
  await using lobby = await phone(LOBBY);
  await using door = await phone(DOOR);
  await using colleague = await phone('1003');
  await using there = await far();
  assert.equal(await signIn(lobby, '1001'), 'agent-loginok');
  assert.equal(await signIn(door, '1001'), 'agent-loginok');
  const call = await colleague.invite('1001');
  const incoming = await door.incoming(call);
  assert.equal(lobby.waiting, 0);
  await call.hangup();
  await incoming.ended();
  const refused = await lobby.invite('1003');
  await refused.ended();
  assert.equal(colleague.waiting, 0, 'nobody is signed in at the other phone');

  const own = await door.invite('1003');
  const rings = await colleague.incoming(own);
  await rings.answer();
  await own.answered();
  await own.bridged();
  await own.transfer('0301234');
  const arrived = await there.incoming(rings);
  assert.equal(arrived.party.number, '+493055501');
  await arrived.answer();
  assert.equal(await own.transferred(), 200);
  await rings.hangup();
  await arrived.ended();
  assert.equal(await engine.dial(door, '*77'), OUT);
});

test('shared phones - wrong PINs are few, whatever phone they are typed at', async () => {
  await using lobby = await phone(LOBBY);
  await using door = await phone(DOOR);
  const wrong = async (key: string): Promise<number> => {
    const [, time] = /^Value: (\d+)/m.exec(await engine.cli(`database get offhook-wrong ${key}`)) ?? [];
    return time === undefined ? 0 : Math.ceil((Number(time) - Date.now() / 1_000) / HOUR_S);
  };
  const store = (key: string, wrong: number): Promise<string> =>
    engine.cli(`database put offhook-wrong ${key} ${Math.floor(Date.now() / 1_000) + wrong * HOUR_S}`);
  for (const pin of ['815', '']) assert.equal(await signIn(lobby, '1005', pin), 'vm-incorrect');
  assert.equal(await wrong(LOBBY), 0, 'too short to be a PIN');
  for (const pin of ['00815', '1111']) assert.equal(await signIn(lobby, '1005', pin), 'vm-incorrect');
  assert.equal(await signIn(lobby, '9999'), 'vm-incorrect');
  assert.deepEqual([await wrong(LOBBY), await wrong('1005')], [3, 2]);
  assert.doesNotMatch(await engine.cli('database show offhook-wrong'), /9999/, 'no counter for strangers');
  await store(LOBBY, 9);
  assert.equal(await signIn(lobby, '1006', '1111'), 'vm-incorrect');
  assert.equal(await signIn(lobby, '1007'), 'vm-incorrect', 'ten wrong ones at one phone');
  assert.equal(
    await signIn(door, '1005'),
    'agent-loginok',
    'the people of that phone sign in at another one',
  );
  assert.deepEqual(
    [await wrong(DOOR), await wrong('1005')],
    [0, 2],
    'a right one neither counts nor forgets',
  );
  await store('1005', 20);
  assert.equal(await signIn(door, '1005'), 'vm-incorrect', 'the right one after twenty wrong ones');
  assert.deepEqual([await wrong(DOOR), await wrong('1005')], [0, 20]);
  assert.equal(await signIn(door, '1006'), 'agent-loginok', 'another person may');
  await engine.cli('database deltree offhook-wrong');
  assert.equal(await engine.dial(door, '*77'), OUT);
});

test('shared phones - a sign-in outlives the engine and ends after its hours', async () => {
  {
    await using lobby = await phone(LOBBY);
    assert.equal(await signIn(lobby, '1001'), 'agent-loginok');
  }
  await engine.restart();
  await using lobby = await phone(LOBBY);
  await using colleague = await phone('1003');
  const call = await colleague.invite('1001');
  const incoming = await lobby.incoming(call);
  await call.hangup();
  await incoming.ended();
  const since = Date.now() - 12 * 3_600_000 - 60_000;
  await engine.cli(`database put offhook/phone ${LOBBY} 1001-${since}`);
  const late = await lobby.invite('1003');
  await late.ended();
  assert.equal(colleague.waiting, 0);
  await shows('1001', 'UNAVAILABLE');
  assert.doesNotMatch(await engine.cli('database show offhook/at'), /1001/);
});
