/** The stream and the history report the same reason for the end of a ring. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { INITIAL_CALL_SETTINGS } from '@offhook/contract/call-settings.ts';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { LEFT_REASON } from '@offhook/contract/ring-ends.ts';
import type { RingEnd } from '@offhook/contract/ring-ends.ts';
import { ask, eventsOf } from '../support/call-steps.ts';
import type { StreamEvent } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { lasting, ring, talk, useStage } from '../support/conversation-stage.ts';
import { wholeJournal } from '../support/journal.ts';
import { openFarSide } from '../support/phone.ts';
import type { IncomingCall, Phone } from '../support/phone.ts';
import { farAddress } from '../support/far-address.ts';
import { until } from '../support/until.ts';

const north = await farAddress('127.0.0.2');

describe('ring ends', () => {
  let customer: Phone;
  /** Longer than the steps of an agent within a ring, and than a caller stays after one: another ring would be taken for the next call. */
  const LONG = 60;
  const queue = (number: string, agents: string[], ring_seconds: number) => ({
    number,
    agents,
    strategy: 'ringall' as const,
    ring_seconds,
    retry_seconds: LONG,
  });
  const stage = useStage(
    {
      people: extensions(2001, 2012),
      queues: [queue('500', ['2003'], LONG), queue('510', ['2003', '2004'], LONG), queue('520', ['2003'], 3)],
      objects: {
        trunk: [{ name: 'north', title: 'North', ...north }],
        outbound_route: [{ name: 'national', patterns: ['0X!'], trunks: [{ trunk: 'north' }] }],
      },
    },
    {
      async prepare(_dataDir, server) {
        customer = await openFarSide({ server, extension: '0301234567', at: north });
      },
    },
  );
  after(() => customer?.[Symbol.asyncDispose]());
  /** Conversation of a call, once it is over. */
  const conversationOf = (call: string): Promise<Conversation> =>
    until(`the conversation ${call}`, async () => {
      const found = await stage.detail(call).catch(() => null);
      return found !== null && found.state !== 'open' && found;
    });
  /** Reason for the end of the extension's first ring after `after`, the same in history and stream. */
  async function endOf(extension: string, after: number): Promise<string> {
    const about = (): StreamEvent | undefined =>
      eventsOf(stage.site(), 'call.left', 'call.ended').find(
        ({ seq, type, data }) =>
          seq > after &&
          (type === 'call.left'
            ? (data['leg'] as { extension: string }).extension === extension
            : (data['extensions'] as string[]).includes(extension)),
      );
    const over = await until(`the end of the ring of ${extension}`, about, {
      seen: () => eventsOf(stage.site()).slice(-8),
    });
    const call = String(over.data['call_id']);
    const recorded = await conversationOf(call);
    const { disposition, leg_id } = recorded.legs.find((leg) => leg.participant.extension === extension)!;
    // The engine may end either leg last, and `call.ended` reports the last one.
    if (over.type === 'call.left') {
      assert.equal((over.data['leg'] as { leg_id: string }).leg_id, leg_id);
      assert.equal(over.data['reason'], LEFT_REASON[disposition as RingEnd], `history says ${disposition}`);
      compared += 1;
    }
    return disposition;
  }
  let compared = 0;
  /** The newest event once all calls have their ends: those of a call before would be taken for those of the next. */
  const seq = async (): Promise<number> => (await wholeJournal(stage.site())).at(-1)?.seq ?? 0;

  for (const [status, expected] of [
    [603, 'rejected'],
    [404, 'failed'],
    [486, 'busy'],
    [500, 'congestion'],
    [480, 'no_answer'],
    [408, 'unreachable'],
  ] as const) {
    test(`ring ends - ${status} of the called phone is ${expected}`, async () => {
      await using a = await stage.phone('2001');
      await using b = await stage.phone('2002');
      const from = await seq();
      const [call, at] = await ring(a, '2002', b, 500);
      at.reject(status);
      await call.ended();
      assert.equal(await endOf('2002', from), expected);
    });
  }

  test('ring ends - cancelled by the caller, for a phone and for a queue', async () => {
    await using a = await stage.phone('2001');
    await using b = await stage.phone('2002');
    await using c = await stage.phone('2003');
    let from = await seq();
    const [call, at] = await ring(a, '2002', b, 800);
    await call.hangup();
    await at.ended();
    assert.equal(await endOf('2002', from), 'cancelled_by_caller');

    from = await seq();
    const waiting = await a.invite('500');
    const offered = await c.incoming();
    offered.ring();
    await lasting(800);
    await waiting.hangup();
    await offered.ended();
    assert.equal(await endOf('2003', from), 'cancelled_by_caller');
  });

  test('ring ends - a queue: the ring times out, the agent declines, a colleague answers', async () => {
    await using a = await stage.phone('2001');
    await using c = await stage.phone('2003');
    await using d = await stage.phone('2004');
    let from = await seq();
    let call = await a.invite('520');
    let at = await c.incoming();
    at.ring();
    await at.ended();
    // Waits longer than the interval of one event, so that the caller does not end the ring.
    await lasting(700);
    await call.hangup();
    assert.equal(await endOf('2003', from), 'no_answer');

    from = await seq();
    call = await a.invite('500');
    at = await c.incoming();
    at.ring();
    await lasting(500);
    at.reject(603);
    await at.ended();
    await until('the declined ring to end', () =>
      eventsOf(stage.site(), 'call.left').some(
        ({ seq, data }) => seq > from && (data['leg'] as { extension: string }).extension === '2003',
      ),
    );
    await call.hangup();
    assert.equal(await endOf('2003', from), 'rejected');

    from = await seq();
    call = await a.invite('510');
    const [first, second] = await Promise.all([c.incoming(), d.incoming()]);
    first.ring();
    second.ring();
    await lasting(500);
    await second.answer();
    await first.ended();
    await talk(1, call, second);
    await call.hangup();
    await second.ended();
    assert.equal(await endOf('2003', from), 'answered_elsewhere');
  });

  test('ring ends - an unanswered transfer of a queue call is not answered elsewhere', async () => {
    await using a = await stage.phone('2001');
    await using b = await stage.phone('2002');
    await using c = await stage.phone('2003');
    const from = await seq();
    const call = await a.invite('500');
    const at = await c.incoming();
    await at.answer();
    await call.answered();
    await talk(1, call, at);
    await at.transfer('2002');
    const target = await b.incoming();
    target.ring();
    await lasting(500);
    target.reject(603);
    await call.ended();
    assert.equal(await endOf('2002', from), 'rejected');
  });

  /** Disposition of the customer for this call, the same in the stream and the history. */
  async function customerOf(call: string): Promise<string | undefined> {
    const { data } = await until(
      `the end of ${call}`,
      () => eventsOf(stage.site(), 'call.ended').find((e) => e.data['call_id'] === call),
      { seen: () => eventsOf(stage.site()).slice(-8) },
    );
    const { direction, customer_disposition } = await conversationOf(call);
    assert.deepEqual(
      [data['direction'], data['customer_disposition'] ?? null],
      [direction, customer_disposition],
      'stream and history',
    );
    return customer_disposition ?? undefined;
  }

  test('ring ends - the customer of a click-to-call: every end has its name in stream and history', async () => {
    const site = stage.site();
    const admin = await site.person('1001');
    const allowed = { ...INITIAL_CALL_SETTINGS.allowed, admin: ['internal', 'national'] };
    const saved = await fetch(`${site.base}/api/v1/settings/calls`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...INITIAL_CALL_SETTINGS, allowed }),
    });
    assert.equal(saved.status, 200, await saved.text());
    await using a = await stage.phone('2005');
    const refuses = (status: number) => async (at: IncomingCall, own: IncomingCall) => {
      at.reject(status);
      await own.ended();
    };
    for (const [plays, expected] of [
      [refuses(486), 'busy'],
      [refuses(603), 'rejected'],
      [refuses(404), 'failed'],
      [refuses(480), 'no_answer'],
      [(_: IncomingCall, own: IncomingCall) => own.hangup(), 'cancelled_by_caller'],
      [
        async (at: IncomingCall, own: IncomingCall) => {
          await at.answer();
          await talk(0.5, at, own);
          await own.hangup();
        },
        'answered',
      ],
    ] as const) {
      const { operation } = await ask(site, admin, '', { from: '2005', to: '0301234567' });
      const own = await a.incoming();
      await own.answer();
      const at = await customer.incoming();
      at.ring();
      await lasting(500);
      await plays(at, own);
      await at.ended();
      assert.equal(await customerOf(String(operation.call_id)), expected);
    }
  });

  test('ring ends - a customer who is busy without a ring, called by a phone', async () => {
    await using a = await stage.phone('2006');
    const call = await a.invite('0301234567');
    (await customer.incoming()).reject(486);
    await call.ended();
    const { data } = await until('the end of the call of 2006', () =>
      eventsOf(stage.site(), 'call.ended').find((e) => (e.data['extensions'] as string[]).includes('2006')),
    );
    assert.equal(await customerOf(String(data['call_id'])), 'busy');
  });

  test('ring ends - most of them were published on the stream', () =>
    assert.ok(compared >= 7, `${compared}`));
});
