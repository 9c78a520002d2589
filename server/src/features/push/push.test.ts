import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ApnsService, FcmService, MAX_PUSH_DEVICES } from '@offhook/contract/push.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import { createGuard } from '../../outbound/address-guard.ts';
import type { Caller } from '../../ports/http.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import { startApns, startFcm } from '../../../test/support/push-services.ts';
import { until } from '../../../test/support/until.ts';
import { createAudit } from '../audit/service.ts';
import { Push } from './service.ts';

async function rig(t: TestContext) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const ended = new Set<(id: number) => void>();
  const dead = new Set<number>();
  /** Numbers of sessions of each question. */
  const asked: number[] = [];
  const factor = { lacks: false };
  const [fcm, apns] = [await startFcm(), await startApns()];
  const admin = (await fixtureAuthenticator.authenticate('token-admin')) as Caller;
  const open = () =>
    Push.open({
      store: temp.store,
      clock,
      audit,
      log: silent,
      directory,
      guard: createGuard(['127.0.0.1']),
      sessions: {
        onSessionEnded: (listener) => {
          ended.add(listener);
          return () => void ended.delete(listener);
        },
        alive(ids) {
          asked.push(ids.length);
          return Promise.resolve(new Set(ids.filter((id) => id < 40 && !dead.has(id))));
        },
        lacksFactor: () => factor.lacks,
      },
    });
  const push = await open();
  t.after(async () => {
    await push.close();
    await fcm[Symbol.asyncDispose]();
    await apns[Symbol.asyncDispose]();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const actor = { caller: admin, ip: null };
  const fcmBody = (url = fcm.url) =>
    FcmService.parse({
      project_id: 'offhook-test',
      client_email: 'push@example.com',
      private_key: fcm.privateKey,
      app_id: 'app',
      base_url: url,
      token_url: `${url}/token`,
    });
  const apnsBody = (url = apns.url) =>
    ApnsService.parse({
      team_id: 'TEAM123456',
      key_id: 'KEY1234567',
      private_key: apns.privateKey,
      base_url: url,
    });
  const register = (session_id: number, token: string, platform: 'fcm' | 'apns' = 'fcm') =>
    push.register(
      { caller: { ...admin, session_id }, ip: null },
      { platform, token, app_id: 'org.example.app', environment: 'production' },
    );
  const tested = async (platform: 'fcm' | 'apns') =>
    (await push.test(actor, platform, admin.extension)).map(({ outcome, detail }) => [outcome, detail]);
  const end = (id: number): void => {
    dead.add(id);
    for (const listener of ended) listener(id);
  };
  /** As an expiry, for which no listener is called. */
  const expire = (id: number): void => void dead.add(id);
  return {
    push,
    open,
    fcm,
    apns,
    actor,
    admin,
    fcmBody,
    apnsBody,
    register,
    tested,
    end,
    expire,
    clock,
    factor,
    asked,
  };
}

test('push - FCM: signs in once, sends, and reads each documented answer', async (t) => {
  const { push, fcm, actor, fcmBody, register, tested, clock, admin } = await rig(t);
  await push.services.set(actor, { platform: 'fcm', body: fcmBody() }, 0);
  await register(1, 'token-one');
  assert.deepEqual(await tested('fcm'), [['accepted', '']]);
  assert.deepEqual(await tested('fcm'), [['accepted', '']]);
  assert.equal(fcm.tokens.length, 1);
  await clock.advance(3_600_000);
  assert.deepEqual(await tested('fcm'), [['accepted', '']]);
  assert.equal(fcm.tokens.length, 2, 'the access token had ended');
  // The service no longer accepts the access token, whatever its end.
  fcm.tokens.push('revoked by the service');
  assert.deepEqual(await tested('fcm'), [['accepted', '']]);
  for (const [mood, outcome] of [
    [400, 'refused'],
    [403, 'refused'],
    [429, 'unavailable'],
    [503, 'unavailable'],
  ] as const) {
    fcm.mood = mood;
    assert.equal((await tested('fcm'))[0]?.[0], outcome, String(mood));
  }
  fcm.mood = 404;
  assert.deepEqual(await tested('fcm'), [['gone', '404 UNREGISTERED']]);
  assert.deepEqual(await tested('fcm'), []);
  assert.equal(push.device({ ...admin, session_id: 1 }), null);
  const [shown] = push.services.list(() => 0);
  assert.deepEqual(shown?.sent, { accepted: 4, gone: 1, refused: 2, unavailable: 2 });
  assert.ok(!JSON.stringify(shown).includes('PRIVATE'));
});

test('push - APNs: one connection, signed by the key, and each documented answer', async (t) => {
  const { push, apns, actor, apnsBody, register, tested } = await rig(t);
  await push.services.set(actor, { platform: 'apns', body: apnsBody() }, 0);
  await register(1, 'ab'.repeat(32), 'apns');
  assert.deepEqual(await tested('apns'), [['accepted', '']]);
  assert.deepEqual(await tested('apns'), [['accepted', '']]);
  assert.equal(new Set(apns.tokens).size, 1, 'new tokens more often than every 20 minutes are refused');
  for (const [mood, outcome] of [
    [400, 'refused'],
    [429, 'unavailable'],
    [503, 'unavailable'],
    [410, 'gone'],
  ] as const) {
    apns.mood = mood;
    assert.equal((await tested('apns'))[0]?.[0], outcome, String(mood));
  }
  assert.deepEqual(await tested('apns'), []);
});

test('push - a push service that is not there is unavailable; a wrong key or address is refused before it is stored', async (t) => {
  const { push, fcm, apns, actor, fcmBody, apnsBody, register, tested } = await rig(t);
  await push.services.set(actor, { platform: 'fcm', body: fcmBody() }, 0);
  await push.services.set(actor, { platform: 'apns', body: apnsBody() }, 0);
  await register(1, 'token-one');
  await register(2, 'cd'.repeat(32), 'apns');
  await fcm[Symbol.asyncDispose]();
  await apns[Symbol.asyncDispose]();
  assert.equal((await tested('fcm'))[0]?.[0], 'unavailable');
  assert.equal((await tested('apns'))[0]?.[0], 'unavailable');
  const wrong = { ...apnsBody(), private_key: fcmBody().private_key };
  await assert.rejects(push.services.set(actor, { platform: 'apns', body: wrong }, 0), /P-256/);
  const inside = fcmBody('http://10.0.0.1');
  await assert.rejects(push.services.set(actor, { platform: 'fcm', body: inside }, 0), {
    code: 'webhook_target_refused',
  });
  await push.services.remove(actor, 'fcm');
  await assert.rejects(push.services.remove(actor, 'fcm'), { code: 'not_found' });
});

test('push - registrations outlive a restart, are bounded, and end with their session or when another session has the token', async (t) => {
  const { push, open, actor, admin, fcmBody, register, end } = await rig(t);
  await push.services.set(actor, { platform: 'fcm', body: fcmBody() }, 0);
  assert.deepEqual(push.services.config()?.fcm_app_id, 'app');
  const known = (): number[] =>
    Array.from({ length: 40 }, (_, i) => i).filter(
      (session_id) => push.device({ ...admin, session_id }) !== null,
    );
  for (let i = 0; i <= MAX_PUSH_DEVICES; i += 1) await register(i, `token-${i}00`);
  assert.deepEqual(known(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  await register(20, 'token-500');
  assert.deepEqual(known(), [1, 2, 3, 4, 6, 7, 8, 9, 10, 20]);
  end(20);
  assert.ok(!known().includes(20));
  await assert.rejects(register(20, 'token-2000'), { code: 'not_authenticated' });
  assert.deepEqual([...push.wakeable()], [admin.extension]);
  await until('the rows are deleted', async () => {
    await using stack = new AsyncDisposableStack();
    const again = await open();
    stack.defer(() => again.close());
    return again.device({ ...admin, session_id: 20 }) === null && again.count('fcm') === push.count('fcm');
  });
});

test('push - the registration of a session that expired ends within a minute, without a call', async (t) => {
  const { push, actor, admin, fcmBody, register, expire, clock, asked } = await rig(t);
  await push.services.set(actor, { platform: 'fcm', body: fcmBody() }, 0);
  await register(1, 'token-one');
  await register(2, 'token-two');
  await push.register(
    { caller: { ...admin, session_id: 3, person_id: 99 }, ip: null },
    { platform: 'fcm', token: 'token-three', app_id: 'org.example.app', environment: 'production' },
  );
  asked.length = 0;
  await clock.advance(60_000);
  assert.deepEqual(asked, [3], 'one question for all people');
  expire(1);
  const isKnown = (session_id: number): boolean => push.device({ ...admin, session_id }) !== null;
  await until('the sweep waits', () => clock.sleepers === 1);
  await clock.advance(60_000);
  await until('the first is forgotten', () => !isKnown(1));
  assert.ok(isKnown(2), 'its session goes on');
  assert.deepEqual([...push.wakeable()], [admin.extension]);
  expire(2);
  await until('the sweep waits', () => clock.sleepers === 1);
  await clock.advance(60_000);
  await until('nobody is reachable by a push', () => push.wakeable().size === 0);
});

test('push - no call waits for the app of a person who has to set up a second factor', async (t) => {
  const { push, fcm, actor, admin, fcmBody, register, factor } = await rig(t);
  await push.services.set(actor, { platform: 'fcm', body: fcmBody() }, 0);
  await register(1, 'token-one');
  const wake = () => push.wake(admin.extension, { type: 'incoming_call' }, 15, () => undefined);
  factor.lacks = true;
  assert.equal(await wake(), 0);
  assert.equal(fcm.tokens.length, 0, 'nothing was sent');
  factor.lacks = false;
  assert.equal(await wake(), 1, 'the registration stays for the time after the setup');
});

test('push - personal data: an extension has its registrations with their tokens, an erasure deletes them, a number has none', async (t) => {
  const { push, open, admin, register } = await rig(t);
  await register(1, 'token-one');
  await register(2, 'token-two');
  const { signal } = new AbortController();
  const subject = extensionSubject(admin.extension);
  const other = extensionSubject(`${admin.extension}9`);
  const number = numberSubject('+49301234567', 'DE')!;
  assert.deepEqual(await push.data.count(subject, signal), { push_registrations: 2 });
  const found: unknown[] = [];
  for await (const { kind, value } of push.data.collect!(subject, [], signal))
    found.push([kind, (value as { token: string }).token]);
  assert.deepEqual(found, [
    ['push_registration', 'token-one'],
    ['push_registration', 'token-two'],
  ]);
  for (const none of [other, number]) {
    assert.deepEqual(await push.data.count(none, signal), {});
    assert.deepEqual(await push.data.erase(none, 'erased-1', signal), {});
  }
  assert.equal(push.count('fcm'), 2);
  assert.deepEqual(await push.data.erase(subject, 'erased-1', signal), { push_registrations: 2 });
  assert.deepEqual(await push.data.count(subject, signal), {});
  assert.equal(push.device({ ...admin, session_id: 1 }), null);
  await using stack = new AsyncDisposableStack();
  const again = await open();
  stack.defer(() => again.close());
  assert.equal(again.count('fcm'), 0, 'the rows are deleted');
});
