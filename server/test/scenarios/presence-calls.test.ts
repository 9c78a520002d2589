/** Presence of both sides of a call, and the time in it, with real phones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agentSteps } from '../support/agent-steps.ts';
import { shows } from '../support/steps.ts';
import { useSite } from '../support/use-site.ts';

describe('presence of calls', () => {
  const site = useSite();
  const { is, published, head } = agentSteps(site);

  test('presence of calls - a private call that rings leaves the state of an agent and its time', async () => {
    await using friend = await site().phone('1008');
    await using phone = await site().phone('1003');
    const zoe = await site().person('1003');
    const before = await is(zoe, 'available');
    const from = head();
    const call = await friend.invite('1003');
    const at = await phone.incoming(call);
    at.ring();
    await shows(zoe, '1003', 'busy', 'ringing');
    assert.equal((await is(zoe, 'available')).since, before.since);
    await call.hangup();
    await at.ended();
    await shows(zoe, '1003', 'online', 'idle');
    assert.equal((await is(zoe, 'available')).since, before.since);
    assert.deepEqual(
      published('1003', from).map(({ type }) => type),
      [],
    );
  });
});
