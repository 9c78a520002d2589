import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient } from '@offhook/client';
import { inEngine } from '../support/steps.ts';
import { useSite } from '../support/use-site.ts';

describe('client', () => {
  const site = useSite();

  test('client - signs in, pauses in the real engine, reads the directory and signs out', async () => {
    const { base } = site();
    const own = (await site().credentials()).find((c) => c.extension === '1004');
    assert.ok(own);
    const client = createClient({ base });
    await assert.rejects(client.login({ username: '1004', password: 'wrong' }), {
      code: 'invalid_credentials',
    });
    const { user } = await client.login({ username: own.username, password: own.password });
    assert.equal(user.extension, '1004');
    assert.equal((await client.agent({ action: 'pause', reason: 'training' })).status_key, 'PAUSED');
    await inEngine(site(), 'sales', '1004', /paused:training/);
    const { contacts, stale } = await client.contacts({ q: '1004' });
    assert.deepEqual([stale, contacts[0]?.presence.summary], [false, 'training']);
    const before = client.token;
    await client.refresh();
    assert.notEqual(client.token, before);
    assert.deepEqual((await client.history({ filter: 'missed' })).calls, []);
    assert.ok((await client.session.devices()).sessions.some((s) => s.current));
    await client.logout();
    await assert.rejects(client.session.whoAmI(), { code: 'not_authenticated' });
  });

  test('client - a cursor of another epoch is a gap with a snapshot; the end of a session elsewhere ends the stream', async () => {
    const { base } = site();
    const own = (await site().credentials()).find((c) => c.extension === '1005');
    assert.ok(own);
    const { username, password } = own;
    const [here, elsewhere] = [createClient({ base }), createClient({ base })];
    await here.login({ username, password });
    const { user } = await elsewhere.login({ username, password });
    const stream = here.stream({
      topics: ['agents', 'presence'],
      snapshot: true,
      cursor: { epoch: 'another', seq: 7 },
    });
    const seen: string[] = [];
    await assert.rejects(
      async () => {
        for await (const event of stream) {
          seen.push(event.type === 'snapshot' ? event.topic : event.type);
          if (event.type === 'gap') assert.equal(event.reason, 'epoch');
          if (seen.length === 3) await elsewhere.agents.pause(user.extension, { reason: 'break' });
          if (event.type !== 'agent.not_ready') continue;
          const { sessions } = await elsewhere.session.devices();
          // A pause in two queues is two events; the session is ended at the first.
          const other = sessions.find((session) => !session.current);
          if (other !== undefined) await elsewhere.session.end(other.id);
        }
      },
      { code: 'not_authenticated' },
    );
    assert.deepEqual(seen.slice(0, 3), ['gap', 'agents', 'presence']);
    assert.equal(stream.state, 'closed');
    assert.equal(here.token, null, 'what cannot be renewed is forgotten');
    await elsewhere.agents.unpause(user.extension);
  });
});
