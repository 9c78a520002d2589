/** A call stays parked while the service is killed: the slot is read from the engine, and nothing is reported twice. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient } from '@offhook/client';
import { eventsOf } from '../support/call-steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('parked call', () => {
  const site = useSite();

  test('parked call - a killed service shows the slot again, and reports it once', async () => {
    await using a = await site().phone('1004');
    await using b = await site().phone('1005');
    const { token } = await site().person('1006');
    const { calls } = createClient({ base: site().base, token });
    const call = await a.invite('1005');
    const at = await b.incoming();
    await at.answer();
    await call.answered();
    await at.bridged();
    await at.transfer('700');
    const parked = () =>
      until('the parked call', async () => (await calls.parked()).parked.find(({ slot }) => slot !== ''));
    const before = await parked();
    assert.equal(before.parked_by, '1005');
    await site().kill('SIGKILL');
    await site().start();
    assert.deepEqual(await parked(), before);
    await call.hangup();
    const freed = await until('the slot to be freed', () => eventsOf(site(), 'parking.slot_freed')[0]);
    assert.deepEqual([freed.data['reason'], freed.observed], ['hung_up', 'live']);
    assert.equal(eventsOf(site(), 'parking.slot_occupied').length, 1);
    assert.deepEqual((await calls.parked()).parked, []);
  });
});
