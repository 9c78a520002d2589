/** A leg that changes its role: listen, whisper and join, and parking by a transfer to a parking lot. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../support/api.ts';
import { ask, doneBy, eventsOf } from '../support/call-steps.ts';
import { connect, conversation } from '../support/conversation-stage.ts';
import type { Phone } from '../support/phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const refusal = (status: number, code: string) => (error: unknown) =>
  error instanceof ApiError && error.status === status && error.code === code;

describe('calls that change', () => {
  const site = useSite();
  /** Connects two phones. */
  const talk = async (from: Phone, to: Phone) => {
    const [near, far] = await connect(from, to.extension, to, 300);
    const callId = await until(`the talk of ${from.extension}`, () => {
      const started = eventsOf(site(), 'call.started').findLast(
        (e) => (e.data['leg'] as { extension: string }).extension === from.extension,
      );
      const id = started?.data['call_id'] as string | undefined;
      return eventsOf(site(), 'call.answered').some((e) => e.data['call_id'] === id) && id;
    });
    return { callId, from: near, to: far };
  };

  test('listen, whisper, barge - each uses the listening leg of the supervisor; nothing rings, and the audio changes', async () => {
    await using desk = await site().phone('1003');
    await using customer = await site().phone('1010');
    await using office = await site().phone('1002');
    const soren = await site().person('1002');
    const { callId, from: agent, to: other } = await talk(desk, customer);
    const { operation: listening } = await ask(site(), soren, `/${callId}/listen`);
    const ear = await office.incoming();
    await ear.answer();
    await doneBy(site(), listening, 'operation.completed');
    agent.play('tone');
    await ear.hears();
    agent.play('silence');
    // Silence produces no audio, so the others hear only the supervisor from here on.
    ear.play('tone');
    const { operation: whisper } = await ask(site(), soren, `/${callId}/whisper`);
    assert.equal(whisper.state, 'succeeded');
    assert.equal(whisper.own_call_id, listening.own_call_id);
    await agent.hears(20);
    const { operation: barge } = await ask(site(), soren, `/${callId}/barge`);
    assert.equal(barge.own_call_id, listening.own_call_id);
    await other.hears(20);
    const { operation: back } = await ask(site(), soren, `/${callId}/listen`);
    assert.equal(back.state, 'succeeded');
    assert.equal(office.waiting, 0, 'nothing rings again');
    const placed = eventsOf(site(), 'call.started').filter((e) => e.data['placed'] === 'listen');
    assert.equal(placed.length, 1, 'one call for all of them');
    assert.equal(ear.state, 'up');
    // The listening leg ends with its call.
    await other.hangup();
    await agent.ended();
    await ear.ended();
  });

  test('parking - a blind transfer to the number of a lot parks, and reports the slot; attended ones and calls to it are refused', async () => {
    await using a = await site().phone('1004');
    await using b = await site().phone('1005');
    const [jose, lan] = [await site().person('1004'), await site().person('1005')];
    const { callId, from, to } = await talk(a, b);
    await assert.rejects(
      ask(site(), lan, `/${callId}/transfer`, { kind: 'attended', to: '700' }),
      refusal(400, 'invalid_request'),
    );
    await assert.rejects(ask(site(), lan, '', { to: '700' }), refusal(400, 'invalid_request'));
    const { operation, slot } = await ask(site(), lan, `/${callId}/transfer`, { kind: 'blind', to: '700' });
    assert.match(slot ?? '', /^7\d\d$/);
    const parked = await doneBy(site(), operation, 'call.parked');
    assert.equal(parked.data['slot'], slot);
    await to.ended();
    const { operation: back } = await ask(site(), jose, `/${callId}/hangup`);
    await doneBy(site(), back, 'call.ended');
    await from.ended();
    const record = await until('the record', async () => {
      const found = await conversation(site(), callId).catch(() => null);
      return found?.ended_at == null ? null : found;
    });
    assert.deepEqual(
      record.transfers.map(({ kind }) => kind),
      ['park'],
    );
  });
});
