/** A shared desk phone and the service beside it: who is signed in is shown, told, written down and ended. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HandOver, PhonesReply } from '@offhook/contract/phones.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { apply, ask } from '../support/config-steps.ts';
import { farAddress } from '../support/far-address.ts';
import { openFarSide, registerPhone } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { provisionedPhone } from '../support/provisioned-phone.ts';
import { finishedCalls, gist, shows } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const AT = await farAddress('127.0.0.2');
const PIN = '0815';

describe('shared phones', () => {
  const site = useSite({
    env: { OFFHOOK_SITE_COUNTRY: 'DE' },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        extension: [
          { extension: '1007', voicemail: true, voicemail_pin: PIN, location: 'Home of 1007' },
          { extension: '1008', voicemail: true, voicemail_pin: PIN },
        ],
        trunk: [{ name: 'north', title: 'North', ...AT, outbound_number: '+49305550' }],
        outbound_route: [
          { name: 'help', class: 'emergency', patterns: ['112'], trunks: [{ trunk: 'north' }] },
        ],
      });
    }),
  });
  const lobby = async () => {
    const { phones } = PhonesReply.parse(await ask(site(), 'GET', '/../phones'));
    return phones.find(({ name }) => name === 'lobby')!;
  };
  const published = (type: Parameters<typeof eventsOf>[1]) =>
    eventsOf(site(), type).map(({ data }) => [data['extension'], data['reason'] ?? data['phone']]);
  /** The phone by what it was provisioned with. */
  let account: { readonly username: string; readonly password: string };
  const phone = (): Promise<Phone> =>
    registerPhone({ server: site().sip, extension: account.username, ...account });
  async function signIn(desk: Phone, extension: string, pin = PIN): Promise<void> {
    const call = await desk.invite(`*76${extension}`);
    await call.answered();
    await call.hears(5);
    await call.digits(`${pin}#`);
    await call.ended();
  }

  test('shared phones - a provisioned phone becomes that of the person: presence, calls, history, help', async () => {
    await ask(site(), 'POST', '/phones', {
      name: 'lobby',
      title: 'Lobby',
      vendor: 'yealink',
      shared: true,
      location: 'Lobby, ground floor',
    });
    assert.equal((await apply(site())).state, 'applied');
    const { address } = HandOver.parse(await ask(site(), 'POST', '/../phones/lobby/hand-over'));
    await using device = await provisionedPhone(address, '001565aabbcc');
    assert.equal(await device.fetch(), 200);
    account = {
      username: device.settings.get('account.1.user_name')!,
      password: device.settings.get('account.1.password')!,
    };
    assert.equal(device.settings.get('account.1.label'), 'Lobby');
    await using desk = await phone();
    await until('the registration to be shown', async () => (await lobby()).registered === true);
    const [hanako, olha] = [await site().person('1007'), await site().person('1008')];
    await shows(olha, '1007', 'offline', 'idle');

    await signIn(desk, '1007', '9999');
    await until('the refusal', () => published('phone.sign_in_refused').length === 1);
    await signIn(desk, '1007');
    await shows(olha, '1007', 'online', 'idle');
    await until('the sign-in to be published', () => published('phone.signed_in').length > 0);
    assert.deepEqual(published('phone.signed_in'), [['1007', 'lobby']]);
    await until('the list to have it', async () => (await lobby()).signed_in?.extension === '1007');

    await using colleague = await site().phone('1008');
    const out = await desk.invite('1008');
    const rings = await colleague.incoming(out);
    assert.equal(rings.party.number, '1007');
    await rings.answer();
    await out.answered();
    // A call that ends before its sides are joined has no talk.
    await out.bridged();
    await shows(olha, '1007', 'busy', 'in_call');
    const live = eventsOf(site(), 'call.started').at(-1)?.data['leg'] as { extension: string };
    assert.equal(live.extension, '1007');
    await out.hangup();
    await rings.ended();
    await shows(olha, '1007', 'online', 'idle');
    const back = await colleague.invite('1007');
    const incoming = await desk.incoming(back);
    await incoming.answer();
    await back.answered();
    await back.bridged();
    await back.hangup();
    await incoming.ended();
    const mine = (await finishedCalls(hanako, 2)).slice(0, 2);
    assert.deepEqual(mine.map(gist), ['in 1008 ANSWERED -', 'out 1008 ANSWERED -']);
    assert.deepEqual(
      mine.map((c) => c.device_type),
      ['sip', 'sip'],
    );

    await using outside = await openFarSide({
      server: site().sip,
      extension: '+4930112',
      at: AT,
      cli: site().engineCli,
    });
    const help = await desk.invite('112');
    const there = await outside.incoming(help);
    const event = await until('the event of the call for help', () => eventsOf(site(), 'call.emergency')[0]);
    assert.deepEqual(
      [event.data['extension'], event.data['location']],
      ['1007', 'Lobby, ground floor'],
      'the place is that of the phone',
    );
    await help.hangup();
    await there.ended();
  });

  test('shared phones - signed out by an administrator, and by code; the trail has all of it', async () => {
    await using desk = await phone();
    const olha = await site().person('1008');
    const { phone: now } = (await ask(site(), 'POST', '/../phones/lobby/sign-out')) as {
      phone: { signed_in: unknown };
    };
    assert.equal(now.signed_in, null);
    await shows(olha, '1007', 'offline', 'idle');
    await signIn(desk, '1008');
    await until('1008 to be signed in', async () => (await lobby()).signed_in?.extension === '1008');
    const out = await desk.invite('*77');
    await out.ended();
    await until('1008 to be signed out', async () => (await lobby()).signed_in === null);
    await until('both to be published', () => published('phone.signed_out').length === 2);
    assert.deepEqual(published('phone.signed_out'), [
      ['1007', 'administrator'],
      ['1008', 'code'],
    ]);
    const admin = { headers: { authorization: `Bearer ${(await site().person('1001')).token}` } };
    const trail = async (action: string): Promise<string[]> => {
      const reply = await fetch(`${site().base}/api/v1/audit?action=${action}`, admin);
      const { entries } = (await reply.json()) as {
        entries: { actor: string; object: string; outcome: string }[];
      };
      return entries.map((e) => `${e.actor} ${e.object} ${e.outcome}`).toReversed();
    };
    const lines = ['1007 lobby refused', '1007 lobby ok', '1008 lobby ok'];
    await until('three lines', async () => (await trail('phone.sign_in')).length === 3);
    assert.deepEqual(await trail('phone.sign_in'), lines);
    await until('two lines', async () => (await trail('phone.sign_out')).length === 2);
    assert.deepEqual(await trail('phone.sign_out'), ['1001 lobby ok', '1008 lobby ok']);
  });

  test('shared phones - a person signs in while the service is away; it is known afterwards', async () => {
    await using desk = await phone();
    await using colleague = await site().phone('1009');
    const before = published('phone.signed_in').length;
    await site().kill('SIGKILL');
    await signIn(desk, '1008');
    const call = await colleague.invite('1008');
    const incoming = await desk.incoming(call);
    await incoming.answer();
    await call.answered();
    await call.hangup();
    await incoming.ended();
    await site().start();
    await until('the sign-in to be told', () => published('phone.signed_in').length === before + 1);
    assert.deepEqual(published('phone.signed_in').at(-1), ['1008', 'lobby']);
    assert.equal((await lobby()).signed_in?.extension, '1008');
    await ask(site(), 'DELETE', '/phones/lobby');
    assert.equal((await apply(site())).state, 'applied');
    await until('nobody to be signed in at a deleted phone', () =>
      published('phone.signed_out').some(([extension, reason]) => extension === '1008' && reason !== 'code'),
    );
    await until('the engine to forget it', async () =>
      /^0 results/m.test(await site().engineCli('database show offhook/at')),
    );
  });
});
