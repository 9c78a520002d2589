import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HandOver, PhonesReply } from '@offhook/contract/phones.ts';
import { apply, ask } from '../support/config-steps.ts';
import { provisionedPhone } from '../support/provisioned-phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const MAC = '001565aabbcc';

describe('provisioning', () => {
  const site = useSite();
  const layout = (label: string) => ({
    name: 'front',
    title: 'Front',
    keys: [
      { does: 'extension', value: '1008', label },
      { does: 'queue', value: 'support' },
      { does: 'parking_slot', value: '701' },
      { does: 'speed_dial', value: '*97', label: 'Messages' },
    ],
  });
  const state = async () => {
    const shown = PhonesReply.parse(await ask(site(), 'GET', '/../phones'));
    return { phone: shown.phones[0]!, waiting: shown.waiting };
  };

  test('provisioning - a phone that knows only its address ends registered with live lamps; changes reach it, and a roll-back takes them back', async () => {
    await ask(site(), 'POST', '/phone-layouts', layout('Olha'));
    await ask(site(), 'POST', '/phones', {
      name: 'desk',
      vendor: 'yealink',
      extensions: ['1007'],
      layout: 'front',
    });
    const { version } = await apply(site());
    const { address } = HandOver.parse(await ask(site(), 'POST', '/../phones/desk/hand-over'));
    await using phone = await provisionedPhone(address, MAC);
    assert.equal(await phone.fetch(), 200);
    await phone.register();
    await phone.subscribe();
    await until('the registration to be shown', async () => (await state()).phone.registered === true);
    const { phone: shown } = await state();
    assert.deepEqual([shown.mac, shown.up_to_date], [MAC, true]);
    assert.match(shown.fetched!.user_agent, /T46S/);

    const book = phone.settings.get('remote_phonebook.data.1.url')!.replace('#SEARCH', '');
    assert.match(await (await fetch(book)).text(), /<YealinkIPPhoneDirectory>/);

    await until('the lamp of an idle phone', () => phone.lamp('1008') === 'terminated');
    await using caller = await site().phone('1009');
    await using called = await site().phone('1008');
    const call = await caller.invite('1008');
    const incoming = await called.incoming();
    incoming.ring();
    await until('the lamp to blink', () => phone.lamp('1008') === 'early');
    await incoming.answer();
    await call.answered();
    await until('the lamp to be lit', () => phone.lamp('1008') === 'confirmed');
    await incoming.bridged();
    await incoming.transfer('700');
    await until('the lamp of the slot to be lit', () => phone.lamp('701') === 'confirmed');
    await call.hangup();
    await until('the lamp of the slot to be off', () => phone.lamp('701') === 'terminated');

    await ask(site(), 'PUT', '/phone-layouts/front', layout('Colleague'));
    assert.equal((await apply(site())).state, 'applied');
    await until('the changed label on the phone', () => phone.keys().get('1008') === 'Colleague');
    assert.deepEqual(phone.events, ['check-sync;reboot=false']);
    await until('the fetch to be shown', async () => (await state()).phone.up_to_date);

    assert.equal((await apply(site(), {}, `/versions/${version}/restore`)).state, 'applied');
    await until('the former label on the phone', () => phone.keys().get('1008') === 'Olha');
  });
});
