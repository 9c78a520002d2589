/** Blocked callers on a real engine: from the API and a phone to the history, and while the service is down. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { farAddress } from '../support/far-address.ts';
import { openFarSide } from '../support/phone.ts';
import { shows } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const AT = await farAddress('127.0.0.2');

describe('caller rules', () => {
  const site = useSite({
    env: { OFFHOOK_SITE_COUNTRY: 'DE' },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        trunk: [{ name: 'north', title: 'North', ...AT }],
        inbound_route: [{ name: 'all', trunk: 'north', to: { kind: 'extension', key: '1003' } }],
      });
    }),
  });
  async function api(who: string, method: string, path: string, body?: object) {
    const reply = await fetch(`${site().base}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${(await site().person(who)).token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await reply.json()) as {
      enforced: boolean;
      rules: { id: number; number: string; created_by: string }[];
      conversations: { disposition: string; ended_at: string | null }[];
    };
  }
  const rules = async () => (await api('1003', 'GET', '/caller-rules')).rules;
  const enforced = () =>
    until('the engine to have the rules', async () => (await api('1003', 'GET', '/caller-rules')).enforced);
  /** Status of the call; 180 where it rings the phone. */
  async function called(from: string): Promise<number> {
    await using desk = await site().phone('1003');
    await shows(await site().person('1001'), '1003', 'online', 'idle');
    await using outside = await openFarSide({
      server: site().sip,
      extension: from,
      at: AT,
      cli: site().engineCli,
    });
    const call = await outside.invite('+49305550');
    const rings = await until('ringing or the end', () =>
      desk.waiting > 0 ? true : call.state === 'ended' ? 'over' : undefined,
    );
    // The phone still rings when the caller gives up.
    if (rings === true) await call.hangup();
    await call.ended();
    return rings === true ? 180 : (call.status ?? 0);
  }

  test('an agent blocks a number: the call is rejected, in the history, an event, and free again', async () => {
    assert.equal(await called('030555777'), 180);
    await api('1003', 'POST', '/caller-rules', { number: '+4930555777' });
    await enforced();
    assert.equal(await called('030555777'), 403);
    const event = await until('call.blocked', () => eventsOf(site(), 'call.blocked')[0]);
    assert.deepEqual([event.data['number'], event.data['by']], ['030555777', 'rule']);
    await until('the conversation', async () => {
      const { conversations } = await api('1001', 'GET', '/conversations?number=030555777');
      return conversations[0]?.ended_at != null && conversations[0].disposition === 'blocked';
    });
    const [rule] = await rules();
    await api('1001', 'DELETE', `/caller-rules/${rule?.id}`);
    await enforced();
    assert.equal(await called('030555777'), 180);
  });

  test('a phone blocks its last caller while the service is down; the rule is there when it is back', async () => {
    assert.equal(await called('+4930555888'), 180);
    {
      await using desk = await site().phone('1003');
      await site().kill('SIGKILL');
      const code = await desk.invite('*60');
      await code.answered();
      await code.ended();
    }
    await site().start();
    const [rule] = await until('the rule', async () => (await rules()).length > 0 && rules());
    assert.deepEqual([rule?.number, rule?.created_by], ['+4930555888', '1003']);
    await enforced();
    assert.equal(await called('030555888'), 403, 'in its other spelling too');
  });
});
