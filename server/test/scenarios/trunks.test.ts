import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { INITIAL_CALL_SETTINGS } from '@offhook/contract/call-settings.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { TrunksReply } from '@offhook/contract/trunks.ts';
import { ApiError } from '../support/api.ts';
import { ask, eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { farAddress } from '../support/far-address.ts';
import { openFarSide } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { finishedCalls, gist, shows } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const AT = { north: await farAddress('127.0.0.2'), south: await farAddress('127.0.0.3') };
type Trunk = keyof typeof AT;
/** An address without a listener. */
const EAST = { host: '127.0.0.4', port: await freePort() };

describe('trunks', () => {
  const site = useSite({
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        extension: [{ extension: '1008', call_permission: ['emergency', 'local', 'national'] }],
        trunk: [
          ...(['north', 'south'] as const).map((name) => ({
            name,
            title: name,
            ...AT[name],
            outbound_number: name === 'north' ? '+49305550' : null,
          })),
          { name: 'east', title: 'East', ...EAST, max_calls: 4 },
          { name: 'west', title: 'West', host: '127.0.0.5', port: 5060, enabled: false },
        ],
        inbound_route: [
          { name: 'lan', trunk: 'north', number: '+493055501', to: { kind: 'extension', key: '1007' } },
          {
            name: 'owned',
            trunk: 'north',
            number: '+493055502',
            owner_seconds: 60,
            to: { kind: 'extension', key: '1008' },
          },
          {
            name: 'through',
            trunk: 'north',
            number: '+44',
            prefix: true,
            to: { kind: 'trunk', key: 'south' },
          },
        ],
        outbound_route: [
          {
            name: 'costly',
            position: 1,
            class: 'premium',
            patterns: ['0900.'],
            trunks: [{ trunk: 'north' }],
          },
          { name: 'national', patterns: ['0X!'], trunks: [{ trunk: 'north', strip: 1, prepend: '+49' }] },
          { name: 'germany', patterns: ['+49X!'], trunks: [{ trunk: 'north' }] },
        ],
      });
    }),
  });
  const far = (name: Trunk): Promise<Phone> =>
    openFarSide({
      server: site().sip,
      extension: '+4915112345678',
      at: AT[name],
      cli: site().engineCli,
    });
  /** Direction and extensions of the newest call, once it is over. */
  const lastCall = async (count: number): Promise<string> => {
    await until(`the end of call ${count}`, () => eventsOf(site(), 'call.ended').length >= count);
    const { direction, extensions } = eventsOf(site(), 'call.ended').at(-1)!.data;
    return [direction, ...(extensions as string[])].join(' ');
  };

  test('state - a trunk with an answering far side is reached, another is not; a disabled one is unknown', async () => {
    const state = async (who: string) =>
      fetch(`${site().base}/api/v1/trunks`, {
        headers: { authorization: `Bearer ${(await site().person(who)).token}` },
      });
    const trunks = async () => TrunksReply.parse(await (await state('1001')).json()).trunks;
    const found = await until('all three to be asked, which is every 20 s', async () => {
      const all = await trunks();
      return all[0]?.reachable === false && all[1]?.reachable && all[2]?.reachable && all;
    });
    assert.deepEqual(
      found.map((t) => [t.name, t.enabled, t.reachable, t.calls, t.max_calls]),
      [
        ['east', true, false, 0, 4],
        ['north', true, true, 0, 30],
        ['south', true, true, 0, 30],
        ['west', false, null, 0, 30],
      ],
    );
    for (const { since } of found)
      assert.ok(since === null || Date.parse(since) <= Date.now(), String(since));
    assert.equal((await state('1007')).status, 403);
  });

  test('in - an outside caller reaches the extension of the number, in an incoming call', async () => {
    await using outside = await far('north');
    await using desk = await site().phone('1007');
    const call = await outside.invite('+493055501');
    const incoming = await desk.incoming();
    assert.equal(incoming.party.number, '+4915112345678');
    await incoming.answer();
    await call.answered();
    // A call that ends before its sides are joined has no talk.
    await call.bridged();
    await call.hangup();
    assert.equal(await lastCall(1), 'in 1007');
    const [row] = await finishedCalls(await site().person('1007'), 1);
    assert.equal(gist(row!), 'in +4915112345678 ANSWERED -');
  });

  test('out - by phone and from the API, if the level permits; the number of the trunk is shown', async () => {
    await using outside = await far('north');
    await using desk = await site().phone('1007');
    const call = await desk.invite('0301234');
    const there = await outside.incoming(call);
    assert.deepEqual([there.dialled, there.party.number], ['+49301234', '+49305550']);
    await there.answer();
    await call.answered();
    await there.hangup();
    assert.equal(await lastCall(2), 'out 1007');

    const hanako = await site().person('1007');
    const refusal = (status: number, code: string) => (error: unknown) =>
      error instanceof ApiError && error.status === status && error.code === code;
    await assert.rejects(
      ask(site(), hanako, '', { to: '+49301234' }),
      refusal(403, 'destination_not_allowed'),
    );
    const settings = {
      ...INITIAL_CALL_SETTINGS,
      allowed: { ...INITIAL_CALL_SETTINGS.allowed, user: ['internal', 'national', 'international'] },
      caller_ids: ['4930777'],
    };
    const saved = await fetch(`${site().base}/api/v1/settings/calls`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${(await site().person('1001')).token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(settings),
    });
    assert.equal(saved.status, 200, await saved.text());
    await assert.rejects(ask(site(), hanako, '', { to: '+33123456' }), refusal(404, 'no_route'));
    for (const [i, caller_id] of [undefined, '4930777'].entries()) {
      await ask(site(), hanako, '', { to: '+49301234', ...(caller_id === undefined ? {} : { caller_id }) });
      await (await desk.incoming()).answer();
      const placed = await outside.incoming();
      assert.deepEqual([placed.dialled, placed.party.number], ['+49301234', caller_id ?? '+49305550']);
      await placed.answer();
      placed.play('tone');
      await placed.hangup();
      assert.equal(await lastCall(3 + i), 'out 1007');
    }
  });

  test('transit - from trunk to trunk without an extension', async () => {
    await using outside = await far('north');
    await using other = await far('south');
    const call = await outside.invite('+44207946000');
    const there = await other.incoming(call);
    assert.equal(there.party.number, '+4915112345678');
    await there.answer();
    await call.answered();
    await call.hangup();
    assert.equal(await lastCall(5), 'transit');
  });

  /** Direction and disposition of the newest conversation with a number, once it is over. */
  const inHistory = (number: string) =>
    until(`${number} in the history`, async () => {
      const address = `${site().base}/api/v1/conversations?number=${encodeURIComponent(number)}`;
      const response = await fetch(address, {
        headers: { authorization: `Bearer ${(await site().person('1001')).token}` },
      });
      const { conversations } = (await response.json()) as {
        conversations: { direction: string; disposition: string; ended_at: string | null }[];
      };
      const [first] = conversations;
      return first?.ended_at != null && `${first.direction} ${first.disposition}`;
    });
  test('refused - a number that is not permitted or has no route is answered, ended and in the history', async () => {
    await using outside = await far('north');
    await using desk = await site().phone('1008');
    const call = await desk.invite('0900123');
    await call.ended();
    assert.equal(call.status, 403);
    assert.match(await inHistory('0900123'), / blocked$/);
    const admin = { headers: { authorization: `Bearer ${(await site().person('1001')).token}` } };
    const row = await until('the line of the trail', async () => {
      const reply = await fetch(`${site().base}/api/v1/audit?action=call.refused`, admin);
      const { entries } = (await reply.json()) as {
        entries: { actor: string; object: string; detail: { reason: string; call_id: string } }[];
      };
      return entries[0];
    });
    assert.deepEqual([row.actor, row.object, row.detail.reason], ['1008', '0900123', 'class']);
    const found = await fetch(`${site().base}/api/v1/conversations/${row.detail.call_id}`, admin);
    const { conversation } = (await found.json()) as {
      conversation: { legs: { refused?: { reason: string; extension: string } }[] };
    };
    const { reason, extension } = conversation.legs[0]!.refused!;
    assert.deepEqual([reason, extension], ['class', '1008']);

    const lost = await outside.invite('+4930555999');
    await lost.ended();
    assert.equal(lost.status, 404);
    assert.equal(await inHistory('+4930555999'), 'in failed');
    assert.equal(outside.seen, 0);
  });

  const phonebook = async (method: string, path: string, body?: object) => {
    const sam = await site().person('1001');
    const response = await fetch(`${site().base}/api/v1/phonebook/customers${path}`, {
      method,
      headers: { authorization: `Bearer ${sam.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${method} ${response.status}`);
    return (await response.json()) as { customer: { id: number } };
  };
  test('customer - calls in and out name the customer of the number, until it is deleted', async () => {
    const numbers = [{ number: '0049 1511 2345678' }, { number: '0301234' }];
    const { customer } = await phonebook('POST', '', { name: 'Anna Müller', numbers, shared: true });
    const named = () =>
      eventsOf(site(), 'call.customer').map(({ data }) => [
        data['direction'],
        (data['customer'] as { name: string } | null)?.name,
      ]);
    await using outside = await far('north');
    await using desk = await site().phone('1007');
    await until('the engine to know the customer', async () =>
      /\+4915112345678 *: -*Anna Müller/.test(await site().engineCli('database show offhook-customers')),
    );
    const call = await outside.invite('+493055501');
    const incoming = await desk.incoming();
    assert.equal(incoming.party.name, 'Anna Müller', 'before it rings');
    await until('the customer of the call in', () => named().length > 0);
    assert.deepEqual(named(), [['in', 'Anna Müller']]);
    await incoming.answer();
    await call.answered();
    await call.hangup();
    await incoming.ended();

    const placed = await desk.invite('0301234');
    const there = await outside.incoming(placed);
    await there.answer();
    await placed.answered();
    await until('the customer of the call out', () => named().length > 1);
    assert.deepEqual(named()[1], ['out', 'Anna Müller']);
    await phonebook('DELETE', `/${customer.id}`);
    await until('no customer any more', () => named().length > 2);
    assert.deepEqual(named()[2], ['out', undefined]);
    await there.hangup();
    await placed.ended();
  });

  test('blocked - the call of a blocked customer is rejected and in the history', async () => {
    const numbers = [{ number: '+4915112345678' }];
    const rude = { name: 'Rude', numbers, blocked: true, shared: true };
    const { customer } = await phonebook('POST', '', rude);
    await using outside = await far('north');
    await using desk = await site().phone('1007');
    await until('the engine to know the mark', async () =>
      /\+4915112345678 *: x-*Rude/.test(await site().engineCli('database show offhook-customers')),
    );
    const call = await outside.invite('+493055501');
    await call.ended();
    assert.deepEqual([call.status, desk.seen], [403, 0]);
    await until('the blocked call in the history', async () =>
      (await inHistory('+4915112345678')).endsWith(' blocked'),
    );
    await phonebook('DELETE', `/${customer.id}`);
  });

  test('owner - the owner of the customer rings first, by name, while the service is down', async () => {
    const numbers = [{ number: '+4915112345678' }];
    await phonebook('POST', '', { name: 'Anna Müller', numbers, owner: '1007', shared: true });
    await using outside = await far('north');
    await using owner = await site().phone('1007');
    await using next = await site().phone('1008');
    await until('the engine to know owner and customer', async () =>
      /\+4915112345678 *: -+1007-+Anna Müller/.test(
        await site().engineCli('database show offhook-customers'),
      ),
    );
    await shows(await site().person('1001'), '1007', 'online', 'idle');
    await site().kill('SIGKILL');
    const call = await outside.invite('+493055502');
    const ringing = await owner.incoming(call);
    assert.equal(ringing.party.name, 'Anna Müller');
    ringing.reject(486);
    const after = await next.incoming(call);
    await after.answer();
    await call.answered();
    await call.hangup();
    await after.ended();
  });
});
