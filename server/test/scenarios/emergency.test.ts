/** Calls for help on a real engine: always placed, with the location of the caller, also while the service is down. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { farAddress } from '../support/far-address.ts';
import { openFarSide } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const AT = await farAddress('127.0.0.2');

describe('emergency calls', () => {
  const site = useSite({
    env: { OFFHOOK_SITE_COUNTRY: 'DE' },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        extension: [
          { extension: '1007', caller_id: '+493055507', recording: 'always' },
          { extension: '1008', call_permission: ['emergency'], location: 'Gate house' },
        ],
        network: [
          {
            emergency_contacts: ['1009'],
            locations: [{ net: '127.0.0.0/8', location: 'Hall 1, 2nd floor' }],
          },
        ],
        trunk: [
          {
            name: 'north',
            title: 'North',
            ...AT,
            outbound_number: '+49305550',
            show_extensions: true,
            max_calls: 1,
          },
        ],
        outbound_route: [
          { name: 'national', patterns: ['0X!'], trunks: [{ trunk: 'north' }] },
          { name: 'help', class: 'emergency', patterns: ['112'], trunks: [{ trunk: 'north' }] },
        ],
        call_limit: [
          { name: 'none', title: 'None', classes: ['local', 'national'], shared: true, max_calls: 1 },
        ],
      });
    }),
  });
  const far = (): Promise<Phone> =>
    openFarSide({ server: site().sip, extension: '+4930112', at: AT, cli: site().engineCli });
  const helpEvents = () => eventsOf(site(), 'call.emergency').map(({ data }) => data);

  test('placed over a full trunk and by whom nothing else is permitted, with location and number, and not recorded', async () => {
    await using outside = await far();
    await using busy = await site().phone('1007');
    await using gate = await site().phone('1008');
    const long = await busy.invite('0301234');
    await (await outside.incoming(long)).answer();
    await long.answered();
    const call = await gate.invite('112');
    const there = await outside.incoming(call);
    assert.deepEqual([there.dialled, there.party.number], ['112', '+49305550']);
    const event = await until('the event, while the call rings', () => helpEvents()[0]);
    const { call_id, called_at, ...rest } = event;
    assert.deepEqual(rest, {
      extensions: ['1008'],
      extension: '1008',
      name: rest['name'],
      number: '112',
      location: 'Hall 1, 2nd floor',
      address: '127.0.0.1',
      callback_number: '+49305550',
      notified: ['1009'],
    });
    assert.ok(call_id !== '' && Math.abs(Date.parse(called_at as string) - Date.now()) < 60_000);
    await there.answer();
    await call.answered();
    await call.hangup();
    await long.hangup();
    const second = await busy.invite('112');
    const again = await outside.incoming(second);
    assert.equal(again.party.number, '+493055507', 'the own number is called back');
    await again.answer();
    await second.answered();
    assert.doesNotMatch(await site().engineCli('core show channels concise'), /MixMonitor/);
    await second.hangup();
  });

  test('the health of a site names emergency numbers without a route, and the trail has each call', async () => {
    const admin = { headers: { authorization: `Bearer ${(await site().person('1001')).token}` } };
    const ready = (await (await fetch(`${site().base}/readyz`, admin)).json()) as {
      status: string;
      details: Record<string, string>;
    };
    assert.deepEqual(
      [ready.status, ready.details['emergency_calls']],
      ['ready', 'no outbound route of class emergency for 110'],
    );
    const trail = await until('two lines of the trail', async () => {
      const reply = await fetch(`${site().base}/api/v1/audit?action=call.emergency`, admin);
      const { entries } = (await reply.json()) as { entries: { actor: string; object: string }[] };
      return entries.length === 2 && entries;
    });
    assert.deepEqual(
      trail.map(({ actor, object }) => [actor, object]),
      [
        ['1007', '112'],
        ['1008', '112'],
      ],
    );
  });

  test('placed while the service is down; its event follows', async () => {
    await using outside = await far();
    await using gate = await site().phone('1008');
    await site().kill('SIGKILL');
    const call = await gate.invite('112');
    const there = await outside.incoming(call);
    await there.answer();
    await call.answered();
    await call.hangup();
    await site().start();
    await until('the event of the call without the service', () => helpEvents().length === 3);
    assert.equal(helpEvents().at(-1)?.['extension'], '1008');
  });
});
