/** Presence of both sides of a call, and the time in it, with real phones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CallsReply } from '@offhook/contract/calls.ts';
import { agentSteps } from '../support/agent-steps.ts';
import type { Person } from '../support/api.ts';
import { ask, eventsOf } from '../support/call-steps.ts';
import { lasting } from '../support/conversation-stage.ts';
import { shows, talk } from '../support/steps.ts';
import { useSite } from '../support/use-site.ts';

describe('presence of calls', () => {
  const site = useSite();
  const { is, published, head } = agentSteps(site);
  const sinceOf = async (person: Person) => (await person.contact(person.extension)).presence.since;

  test('presence of calls - on hold is the person who holds the other, by the phone or by the API, and the other one is in the call', async () => {
    await using a = await site().phone('1008');
    await using b = await site().phone('1009');
    const [olha, nour] = [await site().person('1008'), await site().person('1009')];
    const [call, at] = await talk(a, b);
    await shows(olha, '1008', 'busy', 'in_call');
    await shows(nour, '1009', 'busy', 'in_call');
    const begun = await sinceOf(olha);
    const from = head();
    const changes = () =>
      eventsOf(site(), 'presence.changed')
        .filter((e) => e.seq > from)
        .map(({ data }) => `${data['extension'] as string} ${data['activity'] as string}`);
    const live = async () =>
      CallsReply.parse(
        await (
          await fetch(`${site().base}/api/v1/calls`, { headers: { authorization: `Bearer ${olha.token}` } })
        ).json(),
      ).calls[0]!.call_id;
    const expected: string[] = [];
    for (const by of ['phone', 'api'] as const) {
      await lasting(1100);
      if (by === 'phone') await call.hold();
      else await ask(site(), olha, `/${await live()}/hold`);
      await shows(olha, '1008', 'busy', 'on_hold');
      const held = await sinceOf(olha);
      assert.ok(held > begun, `${by}: the time on hold`);
      await lasting(300);
      if (by === 'phone') await call.retrieve();
      else await ask(site(), olha, `/${await live()}/retrieve`);
      await shows(olha, '1008', 'busy', 'in_call');
      assert.equal(await sinceOf(olha), begun, `${by}: the talk goes on`);
      expected.push('1008 on_hold', '1008 in_call');
      assert.deepEqual(changes(), expected, by);
    }
    await call.hold();
    await shows(olha, '1008', 'busy', 'on_hold');
    await call.hangup();
    await at.ended();
    await shows(olha, '1008', 'online', 'idle');
    await shows(nour, '1009', 'online', 'idle');
    assert.deepEqual(
      changes().toSorted(),
      [...expected, '1008 on_hold', '1008 idle', '1009 idle'].toSorted(),
    );
  });

  test('presence of calls - a second call that rings during a talk leaves the time of the talk', async () => {
    await using a = await site().phone('1008');
    await using b = await site().phone('1009');
    await using c = await site().phone('1010');
    const nour = await site().person('1009');
    const [call, at] = await talk(a, b);
    await shows(nour, '1009', 'busy', 'in_call');
    const begun = await sinceOf(nour);
    await lasting(1100);
    const second = await c.invite('1009');
    const rings = await b.incoming(second);
    rings.ring();
    await shows(nour, '1009', 'busy', 'in_call_and_ringing');
    assert.equal(await sinceOf(nour), begun);
    await second.hangup();
    await rings.ended();
    await shows(nour, '1009', 'busy', 'in_call');
    assert.equal(await sinceOf(nour), begun);
    await call.hangup();
    await at.ended();
  });

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
