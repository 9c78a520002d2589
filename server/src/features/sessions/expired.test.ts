import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import { SessionCache } from './cache.ts';
import type { SessionTables } from './store.ts';

test('sessions - an expired session is not marked as ended by what happens to its person later', async (t) => {
  const site = await siteFixture();
  t.after(() => site.close());
  const endings = async () => {
    const rows = await site.store.db<SessionTables>().selectFrom('sessions').selectAll().execute();
    return rows.map(({ id, ended_by }) => [id, ended_by]);
  };
  const login = async (extension: string) =>
    (await site.sessions.login({ name: extension, password: passwordOf(extension), ip: '192.0.2.1' }))
      .session_id;
  const expired = [await login('1005'), await login('1006')];
  site.clock.advance(30 * 86_400_000);
  const live = [await login('1005'), await login('1006')];
  const told: unknown[] = [];
  site.sessions.onSessionEnded((id, reason) => told.push([id, reason]));
  await site.store.transaction((trx) => site.sessions.endWith(trx, [5]));
  site.directory.change('1005', { name: 'Dan' });
  await site.sessions.setPassword(6, passwordOf('1006'));
  assert.deepEqual(await endings(), [
    [expired[0], null],
    [expired[1], null],
    [live[0], 'disabled'],
    [live[1], 'password_changed'],
  ]);
  assert.deepEqual(told, [
    [live[0], 'disabled'],
    [live[1], 'password_changed'],
  ]);
});

test('sessions - a session that was not used for too long is no signed-in device', async (t) => {
  const site = await siteFixture();
  t.after(() => site.close());
  const login = (ip: string) =>
    site.sessions.login({ name: '1005', password: passwordOf('1005'), ip: `192.0.2.${ip}` });
  const [idle, used] = [await login('1'), await login('2')];
  const shown = async () => [
    (await site.sessions.devices(5)).map(({ id }) => id),
    [...(await site.sessions.alive([idle.session_id, used.session_id, 999]))].toSorted((a, b) => a - b),
    (await site.sessions.others.one('1005')).sessions,
  ];
  const both = [idle.session_id, used.session_id];
  assert.deepEqual(await shown(), [both, both, 2]);
  site.clock.advance(12 * 3_600_000 - 1);
  assert.ok((await site.sessions.authenticate(used.token)) !== null);
  await site.sessions.save();
  site.clock.advance(1);
  assert.equal(await site.sessions.authenticate(idle.token), null);
  assert.deepEqual(await shown(), [[used.session_id], [used.session_id], 1]);
});

test('sessions - a use by SIP counts before it is stored, also of a session that sent no request since the start', () => {
  const cache = new SessionCache(() => Promise.resolve(undefined));
  cache.touchSession(7, 1_000);
  assert.equal(cache.lastUsed(7), 1_000);
});
