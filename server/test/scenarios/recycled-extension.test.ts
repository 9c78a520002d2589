import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { signIn } from '../support/api.ts';
import { apply, ask } from '../support/config-steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

interface Listed {
  readonly conversations: readonly { readonly id: string }[];
}
describe('recycled extension', () => {
  const site = useSite({ env: { OFFHOOK_OWN_RECORDINGS: 'yes' } });

  test('recycled extension - a new owner of a number sees no data of the former one; supervisors do', async () => {
    const get = async (token: string, path: string): Promise<{ status: number; body: unknown }> => {
      const answer = await fetch(`${site().base}${path}`, { headers: { authorization: `Bearer ${token}` } });
      return { status: answer.status, body: await answer.json() };
    };
    const listed = async (token: string, path: string): Promise<readonly string[]> =>
      ((await get(token, path)).body as Listed).conversations.map((one) => one.id);

    await ask(site(), 'PATCH', '/extensions/1012', { recording: 'always' });
    assert.equal((await apply(site())).state, 'applied');
    const before = await site().person('1012');
    const admin = await site().person('1001');
    {
      await using caller = await site().phone('1012');
      await using called = await site().phone('1011');
      const call = await caller.invite('1011');
      const ringing = await called.incoming();
      await ringing.answer();
      await call.answered();
      call.play('tone');
      await ringing.hears(1);
      await call.hangup();
    }
    const [id = ''] = await until('the conversation', async () => {
      const ids = await listed(before.token, '/api/v1/conversations');
      return ids.length > 0 && ids;
    });
    const recordingsOf = async (token: string) =>
      ((await get(token, '/api/v1/recordings')).body as { recordings: { id: string; state: string }[] })
        .recordings;
    const recording = await until('its recording', async () =>
      (await recordingsOf(before.token)).find((one) => one.state === 'stored'),
    );
    await until('its row', async () => (await before.history()).calls.length === 1);
    const replayed = async (token: string): Promise<readonly string[]> => {
      const asked = '/api/v1/events/poll?topics=calls/mine,history/mine&cursor=0&wait=0';
      const { events, gap } = (await get(token, asked)).body as { events: { type: string }[]; gap: unknown };
      assert.equal(gap, null);
      return events.map(({ type }) => type).filter((type) => /^(call|conversation)\./.test(type));
    };
    await until('its last event', async () =>
      (await replayed(before.token)).includes('conversation.finalised'),
    );

    await ask(site(), 'DELETE', '/extensions/1012');
    assert.equal((await apply(site())).state, 'applied');
    await ask(site(), 'POST', '/extensions', { extension: '1012', username: 'newcomer', name: 'New Comer' });
    assert.equal((await apply(site())).state, 'applied');
    await ask(site(), 'POST', '/extensions/1012/credentials', { password: 'the newcomer’s own' });
    const next = await signIn(site().base, '1012', 'the newcomer’s own');

    assert.deepEqual((await next.history()).calls, []);
    assert.deepEqual((await next.history('?q=1011')).calls, []);
    assert.deepEqual(await listed(next.token, '/api/v1/conversations'), []);
    assert.deepEqual(await listed(next.token, '/api/v1/conversations?from=2020-01-01T00:00:00Z'), []);
    const changes = (await get(next.token, '/api/v1/conversations/changes')).body as { changes: unknown[] };
    assert.deepEqual(changes.changes, []);
    assert.deepEqual(await replayed(next.token), []);
    assert.equal((await get(next.token, `/api/v1/conversations/${id}`)).status, 404);
    assert.deepEqual(await recordingsOf(next.token), []);
    assert.equal((await get(next.token, `/api/v1/recordings/${recording.id}`)).status, 404);
    const audio = await fetch(`${site().base}/api/v1/recordings/${recording.id}/audio`, {
      headers: { authorization: `Bearer ${next.token}` },
    });
    await audio.body?.cancel();
    assert.equal(audio.status, 404);

    assert.ok((await listed(admin.token, '/api/v1/conversations?person=1012')).includes(id));
    assert.equal((await get(admin.token, `/api/v1/recordings/${recording.id}`)).status, 200);

    {
      await using caller = await site().phone('1010');
      const call = await caller.invite('1012');
      // No device answers, so the call goes to voicemail.
      await call.answered();
      await call.hangup();
    }
    await until('their own first call', async () => (await next.history()).calls.length === 1);
    await site().kill('SIGKILL');
    await site().start();
    await until('the same after a restart', async () => (await next.history()).calls.length > 0);
    assert.equal((await next.history()).calls.length, 1);
  });
});
