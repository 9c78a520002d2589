import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../support/api.ts';
import { ask, doneBy, eventsOf } from '../support/call-steps.ts';
import { gist, onlyCall } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const refusal = (status: number, code: string) => (error: unknown) =>
  error instanceof ApiError && error.status === status && error.code === code;

describe('call control', () => {
  const site = useSite();

  test('originate - the own device rings first, then the number; both hear each other, and one row of history each', async () => {
    await using own = await site().phone('1007');
    await using other = await site().phone('1008');
    const [hanako, olha] = [await site().person('1007'), await site().person('1008')];
    const { status, operation } = await ask(site(), hanako, '', { to: '1008' });
    assert.equal(status, 202);
    assert.equal(operation.state, 'pending');
    const atOwn = await own.incoming();
    assert.equal(atOwn.party.number, '1008', 'the own phone shows who is being called');
    assert.equal(other.seen, 0, 'the number is not called before the own device answered');
    atOwn.ring();
    await atOwn.answer();
    const atOther = await other.incoming();
    assert.equal(atOther.party.number, '1007');
    atOther.ring();
    await atOther.answer();
    atOwn.play('tone');
    atOther.play('tone');
    await atOwn.hears();
    await atOther.hears();

    const started = await doneBy(site(), operation, 'call.started');
    assert.equal(started.data['dialled'], '1008');
    assert.equal(started.data['call_id'], operation.call_id);
    await doneBy(site(), operation, 'call.answered');
    const outcome = await doneBy(site(), operation, 'operation.completed');
    assert.equal(outcome.data['state'], 'succeeded');

    const hungUp = await ask(site(), hanako, `/${operation.call_id}/hangup`);
    assert.equal(hungUp.status, 200);
    assert.equal(hungUp.operation.state, 'succeeded');
    await atOwn.ended();
    await atOther.ended();
    assert.equal(atOther.endedBy, 'them');
    await doneBy(site(), hungUp.operation, 'call.ended');
    assert.equal(gist(await onlyCall(hanako)), 'out 1008 ANSWERED -');
    assert.equal(gist(await onlyCall(olha)), 'in 1007 ANSWERED -');
    const legs = eventsOf(site(), 'call.ringing').map(
      (e) => (e.data['leg'] as { extension: string }).extension,
    );
    assert.deepEqual(legs, ['1007', '1008'], 'no half of an internal pair is ever a leg');
  });

  test('originate - nobody takes it, nobody is there, or the number may not be called', async () => {
    const olha = await site().person('1008');
    await assert.rejects(ask(site(), olha, '', { to: '1007' }), refusal(409, 'device_unreachable'));
    await using own = await site().phone('1008');
    await assert.rejects(
      ask(site(), olha, '', { to: '1007', device: 'web' }),
      refusal(409, 'device_unreachable'),
    );
    for (const to of ['+4930123', '00881600', '0301234', '*97', '5551234', '112']) {
      await assert.rejects(
        ask(site(), olha, '', { to }),
        to === '112' ? refusal(404, 'no_route') : refusal(403, 'destination_not_allowed'),
        to,
      );
    }
    assert.equal(own.seen, 0);
    const { operation } = await ask(site(), olha, '', { to: '1007', device: 'desk' });
    (await own.incoming()).reject(603);
    const outcome = await doneBy(site(), operation, 'operation.completed');
    assert.deepEqual([outcome.data['state'], outcome.data['code']], ['failed', 'device_unreachable']);
    await until('the call to be over', () =>
      eventsOf(site(), 'call.ended').some((e) => e.data['call_id'] === operation.call_id),
    );
  });
});
