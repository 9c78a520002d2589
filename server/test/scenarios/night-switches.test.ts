/** Night keys on a real engine: a time condition is switched by a key, with its lamp, also while the service is down. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NightSwitchesReply } from '@offhook/contract/night-switches.ts';
import { HandOver } from '@offhook/contract/phones.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { apply, ask } from '../support/config-steps.ts';
import type { Phone } from '../support/phone.ts';
import { provisionedPhone } from '../support/provisioned-phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const to = (key: string) => ({ kind: 'extension', key }) as const;
const KEY = '*28650';

describe('night switches', () => {
  const site = useSite({
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        time_condition: [
          {
            name: 'office',
            title: 'Office',
            number: '650',
            hours: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], from: '00:00', to: '24:00' }],
            switched_by: ['1007'],
            when_open: to('1008'),
            when_closed: to('1009'),
          },
        ],
      });
    }),
  });
  const state = async () => {
    const { night_switches } = NightSwitchesReply.parse(await ask(site(), 'GET', '/../night-switches'));
    return night_switches.map(({ name, to: now }) => [name, now]);
  };
  const published = () =>
    eventsOf(site(), 'night_switch.changed').map(({ data }) => [data['to'], data['by']]);
  /** Where a call to the time condition rings. */
  async function leads(from: Phone, target: Phone): Promise<void> {
    const call = await from.invite('650');
    const incoming = await target.incoming(call);
    await call.hangup();
    await incoming.ended();
  }
  async function press(from: Phone): Promise<void> {
    const call = await from.invite(KEY);
    await call.ended();
  }

  test('night switches - a key switches and lights its lamp, for those who may, also while the service is down', async () => {
    await ask(site(), 'POST', '/phone-layouts', {
      name: 'front',
      title: 'Front',
      keys: [{ does: 'night_switch', value: 'office', label: 'Night' }],
    });
    await ask(site(), 'POST', '/phones', {
      name: 'desk',
      vendor: 'yealink',
      extensions: ['1007'],
      layout: 'front',
    });
    assert.equal((await apply(site())).state, 'applied');
    const { address } = HandOver.parse(await ask(site(), 'POST', '/../phones/desk/hand-over'));
    await using lamps = await provisionedPhone(address, '001565aabbcc');
    assert.equal(await lamps.fetch(), 200);
    assert.deepEqual([...lamps.keys()], [[KEY, 'Night']]);
    await lamps.register();
    await lamps.subscribe();
    await using key = await site().phone('1007');
    await using open = await site().phone('1008');
    await using closed = await site().phone('1009');
    await using other = await site().phone('1010');
    await leads(other, open);

    await press(other);
    assert.deepEqual(await state(), [['office', null]], 'not by who may not');
    await press(key);
    await until('the lamp to be lit', () => lamps.lamp(KEY) === 'confirmed');
    await until('the switch to be told', () => published().length === 1);
    assert.deepEqual(published(), [['closed', '1007']]);
    assert.deepEqual(await state(), [['office', 'closed']]);
    await leads(other, closed);

    await site().kill('SIGKILL');
    await press(key);
    await until('the lamp to be off', () => lamps.lamp(KEY) === 'terminated');
    await leads(other, open);
    await site().start();
    await until('what happened meanwhile to be told', () => published().length === 2);
    assert.deepEqual(published().at(-1), [null, null]);
    assert.deepEqual(await state(), [['office', null]]);
  });

  test('night switches - a supervisor switches, and a time condition that no phone may switch follows its hours', async () => {
    await using open = await site().phone('1008');
    await using closed = await site().phone('1009');
    await using other = await site().phone('1010');
    await ask(site(), 'PUT', '/../night-switches/office', { to: 'closed' });
    await leads(other, closed);
    await ask(site(), 'DELETE', '/phones/desk');
    await ask(site(), 'DELETE', '/phone-layouts/front');
    await ask(site(), 'PATCH', '/time-conditions/office', { switched_by: [] });
    assert.equal((await apply(site())).state, 'applied');
    await leads(other, open);
    await until('the engine to forget the switch', async () =>
      /^0 results/m.test(await site().engineCli('database show offhook/switch')),
    );
  });
});
