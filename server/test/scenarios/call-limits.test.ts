/** A stolen password of an extension on a whole site: it spends its budget once, whether the service runs or not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { farAddress } from '../support/far-address.ts';
import { openFarSide } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { steadyZone } from '../support/steady-zone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const AT = await farAddress('127.0.0.2');
const BUDGET = 3;
/** Two countries and both spellings: all of one class. */
const ABROAD = ['0044207946000', '+44207946001', '0018095551234', '+18095551235'];

describe('call limits', () => {
  const site = useSite({
    env: { OFFHOOK_SITE_ZONE: steadyZone() },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        extension: [
          { extension: '1008', call_permission: ['emergency', 'local', 'national', 'international'] },
        ],
        trunk: [{ name: 'north', title: 'North', ...AT }],
        outbound_route: [
          {
            name: 'abroad',
            class: 'international',
            patterns: ['00Z.', '+Z.'],
            trunks: [{ trunk: 'north' }],
          },
        ],
        call_limit: [
          {
            name: 'stolen',
            title: 'Stolen',
            classes: ['international'],
            extensions: ['1008'],
            calls_per_hour: BUDGET,
            calls_per_day: BUDGET,
          },
        ],
      });
    }),
  });
  /** Calls every number; returns how many were answered outside. */
  async function spend(thief: Phone, outside: Phone): Promise<number> {
    let answered = 0;
    for (const number of ABROAD) {
      const before = outside.seen;
      const call = await thief.invite(number);
      await until('the far side to ring, or the end', () => outside.seen > before || call.state === 'ended');
      if (outside.seen === before) {
        assert.equal(call.status, 403, number);
        continue;
      }
      const there = await outside.incoming(call);
      await there.answer();
      await call.answered();
      answered += 1;
      await call.hangup();
      await there.ended();
    }
    return answered;
  }
  const refusals = () =>
    eventsOf(site(), 'call.refused').map(({ data }) => [
      data['extension'],
      data['reason'],
      data['call_limit'],
    ]);

  test('call limits - answered calls outside never exceed the budget: with the service, killed, and back', async () => {
    await using outside = await openFarSide({
      server: site().sip,
      extension: '+4915112345678',
      at: AT,
      cli: site().engineCli,
    });
    await using thief = await site().phone('1008');
    const first = await thief.invite(ABROAD[0]!);
    const there = await outside.incoming(first);
    await there.answer();
    await first.answered();
    await first.hangup();
    await there.ended();

    await site().kill('SIGKILL');
    assert.equal(await spend(thief, outside), BUDGET - 1, 'while the service is away');
    assert.equal(await spend(thief, outside), 0);
    await site().start();
    assert.equal(await spend(thief, outside), 0, 'when it is back');
    assert.equal(outside.seen, BUDGET);
    const refused = await until('an event for each refused call', () => {
      const found = refusals();
      return found.length >= 3 * ABROAD.length - (BUDGET - 1) && found;
    });
    assert.ok(
      refused.every((one) => one.join() === '1008,budget,stolen'),
      JSON.stringify(refused),
    );
  });
});
