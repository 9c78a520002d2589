import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import type { Generated } from 'kysely';
import { LoginReply } from '@offhook/contract/session.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { personFixture } from '../../../test/support/directory-fixture.ts';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';
import { LEAST_COST } from './password.ts';
import type { EndReason } from './service.ts';
import { GRACE_MS } from './tokens.ts';

/** A store whose every use fails while `down` is true, as if the database were gone. */
const database: { down: boolean; beforeTransaction: (() => Promise<void>) | null } = {
  down: false,
  beforeTransaction: null,
};
function fragile(store: Store): Store {
  const refuse = (): never => {
    throw new ServiceError('store_unavailable', 'the database is gone');
  };
  return {
    ...store,
    db: <T>() =>
      new Proxy(store.db<T>(), {
        get: (target, name) => {
          if (database.down && typeof name === 'string' && /From|Into|update|insert|delete/.test(name))
            refuse();
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      }),
    async transaction(work) {
      const before = database.beforeTransaction;
      database.beforeTransaction = null;
      await before?.();
      return database.down ? refuse() : store.transaction(work);
    },
  };
}

let site: Site;
const ended: [number, EndReason][] = [];
let network = 0;
before(async () => {
  site = await siteFixture({ wrapStore: fragile });
  site.sessions.onSessionEnded((id, reason) => void ended.push([id, reason]));
});
after(() => site.close());
beforeEach(() => {
  ended.length = 0;
  database.down = false;
  network += 1;
});

async function reopen(): Promise<void> {
  site = await site.reopen();
  site.sessions.onSessionEnded((id, reason) => void ended.push([id, reason]));
}
const login = (name: string, password = passwordOf(name), extra: object = {}) =>
  site.sessions.login({ name, password, ip: `10.9.${network}.1`, ...extra });
const is = (code: ErrorCode) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.code, code);
  return true;
};
const works = async (token: string): Promise<boolean> => (await site.sessions.authenticate(token)) !== null;
const minutes = (n: number): number => n * 60_000;
const hours = (n: number): number => n * 3_600_000;
const days = (n: number): number => n * 86_400_000;

test('sessions - by extension or user name; the token is 256 random bits, kept only as a hash', async () => {
  const [first, second] = [await login('1005'), await login('dan', passwordOf('1005'))];
  assert.match(first.token, /^[A-Za-z0-9_-]{43}$/);
  assert.notEqual(first.token, second.token);
  assert.equal(first.person.extension, '1005');
  assert.equal(second.person.extension, '1005');
  const caller = await site.sessions.authenticate(first.token);
  assert.equal(caller?.level, 'user');
  assert.equal(caller?.extension, '1005');
  await site.sessions.save();
  const rows = await site.store
    .db<Record<string, object>>()
    .selectFrom('session_tokens')
    .selectAll()
    .execute();
  assert.equal(JSON.stringify(rows).includes(first.token), false);
  assert.equal(JSON.stringify(rows).includes(hash('sha256', first.token, 'base64url')), true);
});
test('sessions - unknown and wrong get the same error; inactive only with the right password', async () => {
  const errors: string[] = [];
  for (const [name, password] of [
    ['1005', 'wrong password'],
    ['9999', 'wrong password'],
    ['1007', 'wrong password'],
    ['', 'wrong password'],
    ['__proto__', 'wrong password'],
  ] as const) {
    await assert.rejects(login(name, password), (error) => {
      is('invalid_credentials')(error);
      errors.push((error as Error).message);
      return true;
    });
  }
  assert.equal(new Set(errors).size, 1);
  await assert.rejects(login('1007'), is('account_disabled'));
});
test('sessions - a malformed token is not looked up and breaks nothing', async () => {
  for (const token of ['', 'x', 'A'.repeat(43), 'A'.repeat(10_000), '\0', "' or 1=1--", '__proto__']) {
    assert.equal(await works(token), false, token.slice(0, 20));
  }
});
test('sessions - the idle limit moves with use, and no refresh revives an idle session, which is audited', async () => {
  const { token, expires_at } = await login('1005');
  assert.equal(expires_at, site.clock.now() + hours(12));
  for (let i = 0; i < 5; i += 1) {
    site.clock.advance(hours(11));
    assert.ok(await works(token), `after ${(i + 1) * 11} hours`);
  }
  site.clock.advance(hours(12));
  assert.equal(await works(token), false);
  for (let i = 0; i < 3; i += 1) {
    await assert.rejects(site.sessions.refresh(token, '10.9.0.9'), is('not_authenticated'));
  }
  assert.deepEqual(
    ended.map(([, reason]) => reason),
    ['idle'],
  );
  const { entries } = await site.audit.page({ action: 'session.refresh_refused' });
  assert.deepEqual(
    entries.map(({ object, outcome, ip, detail }) => [object, outcome, ip, detail.reason]),
    [['1005', 'refused', '10.9.0.9', 'idle']],
  );
  // Another session of the person, used meanwhile, can still be refreshed.
  const fresh = await login('1005');
  site.clock.advance(hours(11));
  const next = await site.sessions.refresh(fresh.token, '10.9.0.9');
  assert.equal(next.expires_at, site.clock.now() + hours(12));
  assert.ok(await works(next.token));
});
test('sessions - an open socket uses its session, until it is ended or its absolute life is over', async () => {
  const { token, session_id } = await login('1005');
  for (let i = 1; i <= 59; i += 1) {
    site.clock.advance(hours(12));
    const left = days(30) - i * hours(12);
    assert.equal(await site.sessions.use(session_id), site.clock.now() + Math.min(hours(12), left));
  }
  assert.ok(await works(token));
  await site.sessions.save();
  site = await site.reopen();
  assert.ok(await works(token), 'its last use is kept');
  site.clock.advance(hours(12));
  assert.equal(await site.sessions.use(session_id), null);
  const other = await login('1005');
  await site.sessions.setPassword(5, passwordOf('1005'));
  assert.equal(await site.sessions.use(other.session_id), null);
  assert.equal(await site.sessions.use(999_999), null);
});
test('sessions - the absolute life ends for use and for refresh', async () => {
  const { token } = await login('1005');
  for (let i = 0; i < 65; i += 1) {
    site.clock.advance(hours(11));
    assert.ok(await works(token));
  }
  const late = await site.sessions.authenticate(token);
  site.clock.advance(days(30) - hours(11 * 65) - 1);
  assert.ok(late !== null && late.expires_at <= site.clock.now() + 1 + hours(12));
  const { token: last, expires_at } = await site.sessions.refresh(token, '10.9.0.9');
  assert.equal(expires_at, site.clock.now() + 1, 'a refresh does not lengthen the absolute life');
  site.clock.advance(1);
  assert.equal(await works(last), false);
  await assert.rejects(site.sessions.refresh(last, '10.9.0.9'), is('not_authenticated'));
  await assert.rejects(site.sessions.refresh(token, '10.9.0.9'), is('not_authenticated'));
});
test('sessions - a refresh replaces the token: the old one works until 60 s after the new one was first used', async () => {
  const { token: old } = await login('1005');
  const { token: next, session_id } = await site.sessions.refresh(old, '10.9.0.9');
  site.clock.advance(hours(1));
  assert.ok(await works(old), 'the answer may have been lost: the phone has only this one');
  const { token: again } = await site.sessions.refresh(old, '10.9.0.9');
  assert.ok(await works(again));
  site.clock.advance(GRACE_MS - 1);
  assert.ok(await works(old), 'requests with the old token may still be on their way');
  assert.ok(await works(next), 'of two refreshes at once either answer may be the one that is kept');
  site.clock.advance(1);
  assert.equal(await works(old), false);
  assert.ok(await works(again));
  assert.equal((await site.sessions.authenticate(again))?.session_id, session_id, 'it stays one session');
});
test('sessions - a token that was replaced and comes to be refreshed is a copy: all of its session end, once and audited', async () => {
  const { token: old, session_id } = await login('1006');
  const other = await login('1006');
  const { token: stolen } = await site.sessions.refresh(old, '10.9.0.9');
  assert.ok(await works(stolen));
  site.clock.advance(GRACE_MS);
  assert.equal(await works(old), false, 'its owner is asked to refresh');
  assert.ok(await works(stolen), 'to use it late ends nothing: requests may be repeated');
  await reopen();
  await assert.rejects(site.sessions.refresh(old, '203.0.113.9'), is('not_authenticated'));
  assert.equal(await works(stolen), false);
  assert.deepEqual(ended, [[session_id, 'replayed']]);
  await assert.rejects(site.sessions.refresh(old, '203.0.113.9'), is('not_authenticated'));
  assert.ok(await works(other.token), 'other devices stay signed in');
  const { entries } = await site.audit.page({ action: 'session.refresh_refused', limit: 1 });
  assert.deepEqual(
    entries.map(({ object, outcome, ip, detail }) => [object, outcome, ip, detail]),
    [['1006', 'refused', '203.0.113.9', { session: session_id, reason: 'replayed' }]],
  );
});
test('sessions - 50 wrong guesses from ten networks hold up neither a known device nor a known network, and a new one for seconds', async () => {
  const home = `192.168.${network}.7`;
  const issued = await login('1005', passwordOf('1005'), { ip: home });
  const guess = (ip: string, device?: string) =>
    assert.rejects(login('1005', 'a wrong password', { ip, device }), is('invalid_credentials'));
  for (let i = 0; i < 10; i += 1) for (let n = 0; n < 5; n += 1) await guess(`198.18.${i}.${n}`);
  await login('1005', passwordOf('1005'), { ip: '203.0.113.1', device: issued.device });
  await login('1005', passwordOf('1005'), { ip: `192.168.${network}.200` });
  const caller = (await site.sessions.authenticate(issued.token))!;
  await site.sessions.confirmation.confirm(caller, { password: passwordOf('1005') }, '198.18.0.1');
  await assert.rejects(login('1005', passwordOf('1005'), { ip: '198.51.100.1' }), (error) => {
    is('too_many_attempts')(error);
    assert.ok(error instanceof ServiceError && Number(error.extras.retry_after_seconds) <= 18);
    return true;
  });
  site.clock.advance(18_000);
  await login('1005', passwordOf('1005'), { ip: '198.51.100.1' });
  // A device cookie is valid for its person only, and limits guesses.
  for (let n = 0; n < 5; n += 1) await guess('203.0.113.1', issued.device);
  await assert.rejects(login('1005', passwordOf('1005'), { device: issued.device }), is('too_many_attempts'));
  for (const wrong of [`${issued.device}x`, issued.device.replace(/^.{3}/, 'AAA'), 'x', '..', '']) {
    await assert.rejects(
      login('1005', passwordOf('1005'), { ip: '198.18.0.1', device: wrong }),
      is('too_many_attempts'),
    );
  }
  site.clock.advance(minutes(16));
});
test('sessions - the chain of tokens is bounded', async () => {
  let { token } = await login('1005');
  const tokens = [token];
  for (let i = 0; i < 20; i += 1) {
    ({ token } = await site.sessions.refresh(token, '10.9.0.9'));
    tokens.push(token);
  }
  const working = await Promise.all(tokens.map(works));
  assert.equal(working.at(-1), true);
  assert.ok(working.filter(Boolean).length <= 9, String(working));
});
test('sessions - everything holds over a restart, the retired tokens too', async () => {
  const { token: old } = await login('1005');
  const { token: next } = await site.sessions.refresh(old, '10.9.0.9');
  assert.ok(await works(next));
  const { token: gone } = await login('1006');
  await site.sessions.logout((await site.sessions.authenticate(gone))!, '10.9.9.9');
  site.clock.advance(minutes(3));
  assert.ok(await works(next));
  await reopen();
  const devices = await site.sessions.devices(5);
  assert.equal(devices.at(-1)?.last_used_at, site.clock.now(), 'when it was last used is stored');
  assert.equal(await works(old), false);
  assert.equal(await works(gone), false);
  assert.ok(await works(next));
});
test('sessions - after a restart, a token whose replacement is used first is retired, though neither was in memory', async () => {
  const { token } = await login('1005');
  const next = await site.sessions.refresh(token, '10.9.0.9');
  await reopen();
  assert.ok(await works(next.token));
  assert.ok(await works(token), 'requests already sent');
  site.clock.advance(GRACE_MS);
  await site.sessions.save();
  assert.equal(await works(token), false);
  assert.ok(await works(next.token));
});
test('sessions - log-out ends this session only, and notifies the owners of its sockets', async () => {
  const [one, other] = [await login('1005'), await login('1005')];
  await site.sessions.logout((await site.sessions.authenticate(one.token))!, '10.9.9.9');
  assert.deepEqual(ended, [[one.session_id, 'logout']]);
  assert.equal(await works(one.token), false);
  await assert.rejects(site.sessions.refresh(one.token, '10.9.0.9'), is('not_authenticated'));
  assert.ok(await works(other.token));
});
test('sessions - a person ends one of the own sessions from another device, and no foreign one', async () => {
  const [mine, other, foreign] = [await login('1005'), await login('1005'), await login('1006')];
  const me = (await site.sessions.authenticate(mine.token))!;
  await assert.rejects(site.sessions.end(me, foreign.session_id, '10.9.9.9'), is('not_found'));
  await assert.rejects(site.sessions.end(me, 999_999, '10.9.9.9'), is('not_found'));
  await site.sessions.end(me, other.session_id, '10.9.9.9');
  await assert.rejects(site.sessions.end(me, other.session_id, '10.9.9.9'), is('not_found'));
  assert.deepEqual(
    [await works(mine.token), await works(other.token), await works(foreign.token)],
    [true, false, true],
  );
  assert.deepEqual(ended, [[other.session_id, 'ended']]);
});
test('sessions - a new password ends every session and opens one; the old password is dead', async () => {
  const [one, other] = [await login('1006'), await login('1006')];
  const me = (await site.sessions.authenticate(one.token))!;
  await assert.rejects(
    site.sessions.changePassword(me, 'wrong password', 'a new password', '10.9.9.8'),
    is('invalid_credentials'),
  );
  await assert.rejects(
    site.sessions.changePassword(me, passwordOf('1006'), 'short', '10.9.9.8'),
    is('invalid_request'),
  );
  assert.ok(await works(one.token));
  const fresh = await site.sessions.changePassword(me, passwordOf('1006'), 'a new password', '10.9.9.8');
  assert.deepEqual(
    [await works(one.token), await works(other.token), await works(fresh.token)],
    [false, false, true],
  );
  const ids = new Set(ended.map(([id]) => id));
  assert.ok(ids.has(one.session_id) && ids.has(other.session_id) && !ids.has(fresh.session_id));
  await assert.rejects(login('1006'), is('invalid_credentials'));
  await login('1006', 'a new password');
  await site.sessions.setPassword(6, passwordOf('1006'));
  assert.equal(await works(fresh.token), false);
});
test('sessions - wrong current passwords are throttled like wrong sign-ins', async () => {
  const { token } = await login('1006');
  const me = (await site.sessions.authenticate(token))!;
  for (let i = 0; i < 5; i += 1) {
    await assert.rejects(
      site.sessions.changePassword(me, 'wrong password', 'a new password', '10.8.8.8'),
      is('invalid_credentials'),
    );
  }
  await assert.rejects(
    site.sessions.changePassword(me, passwordOf('1006'), 'a new password', '10.8.8.8'),
    is('too_many_attempts'),
  );
  assert.ok(await works(token));
});
test('sessions - a sign-in that was proven with the old password opens nothing after the change', async () => {
  // The password is changed after it was found right and before the session is stored.
  database.beforeTransaction = () => site.sessions.setPassword(5, 'another password');
  await assert.rejects(login('1005'), is('invalid_credentials'));
  await login('1005', 'another password');
  await site.sessions.setPassword(5, passwordOf('1005'));
});
test('sessions - a sign-in succeeds whose outdated hash another sign-in replaces meanwhile', async () => {
  const password = passwordOf('1005');
  await site.sessions.setPassword(5, password, LEAST_COST);
  // The first transaction is that of the new hash.
  database.beforeTransaction = () => site.sessions.setPassword(5, password);
  const { token } = await login('1005');
  assert.ok(await works(token));
  await site.sessions.setPassword(5, password, LEAST_COST);
  database.beforeTransaction = () => site.sessions.setPassword(5, 'another password');
  await assert.rejects(login('1005'), is('invalid_credentials'));
  await site.sessions.setPassword(5, password);
});
test('sessions - a password that an administrator gives meanwhile stays, and the refused change is not in the trail', async () => {
  const given = 'given by an administrator';
  const me = (await site.sessions.authenticate((await login('1005')).token))!;
  const { entries: before } = await site.audit.page({ action: 'session.password_changed' });
  database.beforeTransaction = () => site.sessions.setPassword(5, given);
  await assert.rejects(
    site.sessions.changePassword(me, passwordOf('1005'), 'a new password', `10.9.${network}.1`),
    is('invalid_credentials'),
  );
  await login('1005', given);
  const { entries: after } = await site.audit.page({ action: 'session.password_changed' });
  assert.deepEqual(after, before);
  // The same for a sign-in that hashes the password again.
  await site.sessions.setPassword(5, passwordOf('1005'), LEAST_COST);
  database.beforeTransaction = () => site.sessions.setPassword(5, given);
  await assert.rejects(login('1005'), is('invalid_credentials'));
  await login('1005', given);
  await site.sessions.setPassword(5, passwordOf('1005'));
});
test('sessions - a disabled or removed person is signed out at once, and a changed level counts at once', async () => {
  const [dan, eve] = [await login('1005'), await login('1006')];
  site.directory.change('1005', { level: 'supervisor' });
  assert.equal((await site.sessions.authenticate(dan.token))?.level, 'supervisor');
  site.directory.change('1005', { level: 'user', active: false });
  assert.equal(await works(dan.token), false);
  await assert.rejects(site.sessions.refresh(dan.token, '10.9.0.9'), is('not_authenticated'));
  const removed = site.directory.byExtension('1006')!;
  site.directory.remove('1006');
  assert.equal(await works(eve.token), false);
  await until(
    'the sockets to be told',
    () => [dan, eve].every(({ session_id }) => ended.some(([id]) => id === session_id)),
    { every: 1, seen: () => ended },
  );
  site.directory.change('1005', { active: true });
  site.directory.put(removed);
  assert.equal(await works(dan.token), false, 'coming back does not bring the session back');
});
test('sessions - sessions end with the version that disables their person, although the store fails afterwards', async () => {
  const { token, session_id } = await login('1005');
  assert.ok(await works(token));
  await site.store.transaction((trx) => site.sessions.endWith(trx, [5]));
  database.down = true;
  site.directory.change('1005', { active: false });
  assert.deepEqual(
    ended.filter(([id]) => id === session_id),
    [[session_id, 'disabled']],
  );
  site.directory.change('1005', { active: true });
  database.down = false;
  assert.equal(await works(token), false);
  await reopen();
  assert.equal(await works(token), false);
});
test('sessions - a person who is disabled during the sign-in gets no session', async () => {
  const before = await site.sessions.devices(5);
  database.beforeTransaction = async () => site.directory.change('1005', { active: false });
  await assert.rejects(login('1005'), is('account_disabled'));
  site.directory.change('1005', { active: true });
  const left = (await site.sessions.devices(5)).filter(({ id }) => !before.some((one) => one.id === id));
  assert.deepEqual(left, []);
});
test('sessions - while the database is gone, sessions in memory go on; nothing else pretends to work', async () => {
  const { token } = await login('1005');
  const { token: cold } = await login('1006');
  assert.ok(await works(token));
  await reopen();
  assert.ok(await works(token));
  database.down = true;
  site.clock.advance(minutes(10));
  assert.ok(await works(token));
  await assert.rejects(
    async () => site.sessions.authenticate(cold),
    is('store_unavailable'),
    'not known is not the same as not valid',
  );
  await assert.rejects(login('1005'), is('store_unavailable'));
  await assert.rejects(site.sessions.refresh(token, '10.9.0.9'), is('store_unavailable'));
  const me = (await site.sessions.authenticate(token))!;
  await assert.rejects(site.sessions.logout(me, '10.9.9.9'), is('store_unavailable'));
  assert.ok(await works(token), 'a log-out that could not be stored did not happen');
  await assert.rejects(site.sessions.save(), is('store_unavailable'));
  database.down = false;
  assert.ok(await works(cold));
  await site.sessions.save();
  const stored = await site.store
    .db<{ sessions: { id: number; last_used_at: number } }>()
    .selectFrom('sessions')
    .select('last_used_at')
    .where('id', '=', me.session_id)
    .executeTakeFirst();
  assert.equal(stored?.last_used_at, site.clock.now(), 'what could not be written then is written now');
});
test('sessions - one person has at most 100; the one used longest ago goes', async () => {
  const first = await login('1004');
  await site.sessions.setPassword(4, passwordOf('1004'));
  assert.equal(await works(first.token), false);
  // Signing in a hundred times takes a hundred derivations; the table takes them directly.
  const db = site.store.db<{ sessions: Record<string, number | null> }>();
  const at = site.clock.now();
  await db
    .insertInto('sessions')
    .values(
      Array.from({ length: 100 }, (_, i) => ({
        person_id: 4,
        created_at: at,
        last_used_at: at - 1_000 + i,
        ends_at: at + days(1),
        ended_at: null,
      })),
    )
    .execute();
  const before = (await site.sessions.devices(4)).map((d) => d.id);
  assert.equal(before.length, 100);
  const issued = await login('1004');
  const now = (await site.sessions.devices(4)).map((d) => d.id);
  assert.equal(now.length, 100);
  assert.ok(now.includes(issued.session_id) && !now.includes(before[0]!));
  assert.deepEqual(
    ended.filter(([, reason]) => reason === 'crowded'),
    [[before[0]!, 'crowded']],
  );
});
test('sessions - of one person the newest 500 ended ones are kept', async () => {
  interface Row {
    id: Generated<number>;
    person_id: number;
    created_at: number;
    last_used_at: number;
    ends_at: number;
    ended_at: number | null;
  }
  const db = site.store.db<{ sessions: Row }>();
  const at = site.clock.now();
  const row = { person_id: 3, created_at: at, last_used_at: at, ends_at: at + days(1), ended_at: at };
  for (const person_id of [3, 2])
    for (let i = 0; i < 6; i += 1)
      await db
        .insertInto('sessions')
        .values(Array.from({ length: 100 }, () => ({ ...row, person_id })))
        .execute();
  const { session_id, token } = await login('1003');
  const endedOf = async (person_id: number): Promise<number> => {
    const rows = await db
      .selectFrom('sessions')
      .selectAll()
      .where('person_id', '=', person_id)
      .where('ended_at', 'is not', null)
      .execute();
    return rows.length;
  };
  assert.deepEqual([await endedOf(3), await endedOf(2)], [500, 600], 'of the person who signs in');
  assert.ok(await works(token));
  await site.sessions.logout((await site.sessions.authenticate(token))!, '10.9.9.9');
  await login('1003');
  assert.equal(await endedOf(3), 500);
  const newest = await db.selectFrom('sessions').selectAll().where('id', '=', session_id).execute();
  assert.equal(newest.length, 1, 'the newest ones');
});
test('sessions - every sign-in, failure, log-out and change of password is in the trail, with no secret', async () => {
  const newest = (await site.audit.page({ limit: 1 })).entries[0]?.id ?? 0;
  await login('1005', undefined, { device_name: 'Phone', platform: 'ios' });
  await assert.rejects(login('1005', 'wr0ng-s3cret'), is('invalid_credentials'));
  await assert.rejects(login('s3cret-in-the-name', 'wr0ng-s3cret'), is('invalid_credentials'));
  await assert.rejects(login('1007'), is('account_disabled'));
  const { token } = await login('1006');
  const me = (await site.sessions.authenticate(token))!;
  const { token: second } = await site.sessions.changePassword(
    me,
    passwordOf('1006'),
    passwordOf('1006'),
    '10.9.9.7',
  );
  await site.sessions.logout((await site.sessions.authenticate(second))!, '10.9.9.9');
  const entries = (await site.audit.page({ limit: 50 })).entries.filter((e) => e.id > newest).toReversed();
  assert.deepEqual(
    entries.map((e) => [e.action, e.actor, e.object, e.outcome, e.detail.reason ?? null]),
    [
      ['session.login', '1005', '1005', 'ok', null],
      ['session.login_failed', null, '1005', 'refused', 'password'],
      ['session.login_failed', null, null, 'refused', 'unknown'],
      ['session.login_failed', null, '1007', 'refused', 'disabled'],
      ['session.login', '1006', '1006', 'ok', null],
      ['session.password_changed', '1006', '1006', 'ok', null],
      ['session.logout', '1006', '1006', 'ok', null],
    ],
  );
  assert.equal(entries[0]?.detail.device_name, 'Phone');
  const text = JSON.stringify([entries, site.log]);
  assert.equal(/s3cret|correct horse/.test(text), false);
  assert.equal(text.includes(token), false);
});
test('sessions - old ones are deleted 30 days after their end', async () => {
  const { session_id } = await login('1003');
  site.clock.advance(days(61));
  await reopen();
  await until('the session to be gone', async () => {
    const rows = await site.store.db<Record<string, object>>().selectFrom('sessions').selectAll().execute();
    return !JSON.stringify(rows).includes(`"id":${session_id},`);
  });
  const tokens = await site.store
    .db<Record<string, object>>()
    .selectFrom('session_tokens')
    .selectAll()
    .execute();
  assert.equal(tokens.length, 0);
});
// Over PostgreSQL (conformance/postgres-site.test.ts) each read takes one of a few connections.
test('sessions - thousands of unknown tokens and sign-ins at once keep no other request from the database', async () => {
  const { token } = await login('1003');
  const person = (await site.sessions.authenticate(token))!.person_id;
  const flood = Promise.allSettled(
    Array.from({ length: 6_000 }, async (_, i) =>
      i % 2 === 0
        ? await site.sessions.authenticate(`unknown-${i}`)
        : await site.sessions.login({
            name: '1004',
            password: 'wrong password',
            ip: `10.${i >> 8}.${i & 255}.1`,
          }),
    ),
  );
  for (let i = 0; i < 50; i += 1) assert.ok((await site.sessions.devices(person)).length > 0);
  const refusals = (await flood).flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  for (const reason of refusals)
    assert.ok(reason instanceof ServiceError && reason.code !== 'store_unavailable', String(reason));
});
test('login reply - the body real clients decode, with the addresses they reach us by', async () => {
  site.directory.put(
    personFixture(8, '1008', 'hal', 'agent', {
      name: '',
      email: null,
      endpoints: [{ name: '1008', kind: 'sip' }],
    }),
  );
  await site.sessions.setPassword(8, passwordOf('1008'));
  const response = await site.host.app.inject({
    method: 'POST',
    url: '/api/mobile/login.php',
    headers: { host: 'pbx.example.com:8443' },
    payload: { username: ' 1008 ', password: passwordOf('1008'), otp: null, role: 'admin' },
  });
  assert.equal(response.statusCode, 200, response.body);
  const body = LoginReply.parse(response.json());
  assert.deepEqual(body.user, {
    id: 8,
    username: 'hal',
    full_name: null,
    email: null,
    extension: '1008',
    role: 'cc_agent',
    level: 'agent',
  });
  const { sip_password } = body.sip;
  assert.match(sip_password, /^[A-Za-z0-9_-]{32}$/);
  assert.deepEqual(body.sip, {
    extension: '1008',
    sip_username: '1008',
    native_sip_username: '1008',
    webrtc_username: '1008',
    sip_password,
    domain: 'pbx.example.com',
    sip_port: 5060,
    ws_url: 'ws://pbx.example.com:8443/ws',
    turn: null,
  });
  assert.equal(response.headers['set-cookie'], undefined, 'a phone gets no cookie');
});
