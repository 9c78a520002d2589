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
});
