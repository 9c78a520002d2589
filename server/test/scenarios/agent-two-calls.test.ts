/** An agent in two calls at once, by a queue that also rings agents in another call. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { QueueStatsReply } from '@offhook/contract/wallboard.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { agentSteps } from '../support/agent-steps.ts';
import type { Person } from '../support/api.ts';
import { prepareDemo } from '../support/company.ts';
import { lasting } from '../support/conversation-stage.ts';
import { statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('agent in two calls', () => {
  const site = useSite({
    prepare: prepareDemo((store) =>
      putObjects(store, { queue: [{ name: 'support', ring_in_use: true, wrap_up_seconds: 60 }] }),
    ),
  });
  const { ask, is, shown, published, head } = agentSteps(site);
  const sums = async (who: Person) => {
    const response = await fetch(`${site().base}/api/v1/queues/support/stats`, {
      headers: { authorization: `Bearer ${who.token}` },
    });
    return QueueStatsReply.parse(await response.json()).stats.sums;
  };
  const story = (after: number) =>
    published('1003', after)
      .map((e) => e.type)
      .filter((type) => type === 'agent.talking' || type === 'agent.wrap_up');

  for (const first of [true, false]) {
    test(`agent in two calls - the ${first ? 'first' : 'second'} caller hangs up before the other: one talk goes on, both are handled, and the history agrees`, async () => {
      await using one = await site().phone('1001');
      await using two = await site().phone('1007');
      await using phone = await site().phone('1003');
      const [zoe, head_of] = [await site().person('1003'), await site().person('1002')];
      for (const other of ['1004', '1005', '1006'])
        await (await site().person(other)).agent('pause', { reason: 'training' });
      await statusIs(zoe, 'READY');
      await is(zoe, 'available');
      const [before, from] = [await sums(head_of), head()];
      const rows = (await zoe.history()).calls.length;

      const call1 = await one.invite('500');
      const at1 = await phone.incoming(call1);
      at1.ring();
      await at1.answer();
      await call1.answered();
      const talk1 = await is(zoe, 'talking');
      await lasting(1500);
      await at1.hold();
      const call2 = await two.invite('500');
      const at2 = await phone.incoming(call2);
      at2.ring();
      await at2.answer();
      await call2.answered();
      const talk2 = await until('the second talk', async () => {
        const agent = await shown(zoe);
        return agent.state === 'talking' && agent.call_id !== talk1.call_id && agent;
      });
      await lasting(1500);
      const [ends, ended, stays, staying] = first ? [call1, at1, call2, at2] : [call2, at2, call1, at1];
      await ends.hangup();
      await ended.ended();
      if (!first) await at1.retrieve();
      await lasting(2000);
      const going = await is(zoe, 'talking');
      assert.equal(going.call_id, (first ? talk2 : talk1).call_id);
      await stays.hangup();
      await staying.ended();
      const wraps = await is(zoe, 'wrap_up');
      assert.equal(wraps.call_id, going.call_id);
      await ask(zoe, 'wrap-up', { finish: true });
      await is(zoe, 'available');
      assert.deepEqual(story(from), [
        'agent.talking',
        'agent.talking',
        ...(first ? [] : ['agent.talking']),
        'agent.wrap_up',
      ]);
      const after = await sums(head_of);
      assert.deepEqual([after.answered - before.answered, after.handled - before.handled], [2, 2]);
      const calls = await until('both rows of the agent', async () => {
        const all = (await zoe.history()).calls;
        return all.length === rows + 2 && all.every((row) => row.ended_at !== null) && all.slice(0, 2);
      });
      for (const field of ['talk_seconds', 'hold_seconds'] as const) {
        const [board, history] = [
          after[field] - before[field],
          calls.reduce((sum, row) => sum + row[field], 0),
        ];
        assert.ok(
          Math.abs(board - history) <= 2,
          `${field}: ${board} on the board, ${history} in the history`,
        );
      }
    });
  }

  test('agent in two calls - a queue call beside a direct call: after its wrap-up the agent is in the direct call', async () => {
    await using friend = await site().phone('1001');
    await using caller = await site().phone('1007');
    await using phone = await site().phone('1003');
    const zoe = await site().person('1003');
    await is(zoe, 'available');
    const direct = await phone.invite('1001');
    const far = await friend.incoming(direct);
    far.ring();
    await far.answer();
    await direct.answered();
    await is(zoe, 'busy_other');
    const call = await caller.invite('500');
    const at = await phone.incoming(call);
    at.ring();
    await is(zoe, 'offered');
    await direct.hold();
    await at.answer();
    await call.answered();
    const talk = await is(zoe, 'talking');
    assert.equal(talk.queue, 'support');
    await lasting(1200);
    await call.hangup();
    await at.ended();
    await is(zoe, 'wrap_up');
    await ask(zoe, 'wrap-up', { finish: true });
    await is(zoe, 'busy_other');
    await direct.hangup();
    await far.ended();
    await is(zoe, 'available');
  });
});
