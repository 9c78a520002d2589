/** Answers that mean a dead token, and those that mean a wrong setting. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ApnsService, FcmService } from '@offhook/contract/push.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import type { Log } from '../../core/log.ts';
import { silent } from '../../core/log.ts';
import { createGuard } from '../../outbound/address-guard.ts';
import type { Caller } from '../../ports/http.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import { startApns, startFcm } from '../../../test/support/push-services.ts';
import { PATIENCE_MS } from '../../../test/support/until.ts';
import { createAudit } from '../audit/service.ts';
import { Apns } from './apns.ts';
import { Push } from './service.ts';

const guard = createGuard(['127.0.0.1']);
const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);

/** A site with FCM and the app of session 1. */
async function rig(t: TestContext) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const audit = await createAudit(temp.store, clock, silent);
  const fcm = await startFcm();
  const admin = (await fixtureAuthenticator.authenticate('token-admin')) as Caller;
  const warnings: unknown[] = [];
  const log: Log = { ...silent, warn: (fields) => void warnings.push((fields as { error: unknown }).error) };
  const push = await Push.open({
    store: temp.store,
    clock,
    audit,
    log,
    directory: directoryFixture(),
    guard,
    sessions: {
      onSessionEnded: () => () => undefined,
      alive: (ids) => Promise.resolve(new Set(ids)),
      lacksFactor: () => false,
    },
  });
  t.after(async () => {
    await push.close();
    await fcm[Symbol.asyncDispose]();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const actor = { caller: { ...admin, session_id: 1 }, ip: null };
  const body = FcmService.parse({
    project_id: 'offhook-test',
    client_email: 'push@example.com',
    private_key: fcm.privateKey,
    base_url: fcm.url,
    token_url: `${fcm.url}/token`,
  });
  await push.services.set(actor, { platform: 'fcm', body }, 0);
  const register = () =>
    push.register(actor, {
      platform: 'fcm',
      token: 'token-one',
      app_id: 'org.example.app',
      environment: 'production',
    });
  await register();
  const tested = async () =>
    (await push.test(actor, 'fcm', admin.extension)).map(({ outcome, detail }) => [outcome, detail]);
  return { push, fcm, actor, body, register, tested, warnings };
}

test('push - FCM: a text that is no token is forgotten, and a value that is wrong in another field is not', async (t) => {
  const { push, fcm, tested } = await rig(t);
  fcm.mood = 'bad value';
  assert.deepEqual(await tested(), [['refused', '400 INVALID_ARGUMENT']]);
  assert.equal(push.count('fcm'), 1);
  fcm.mood = 'bad token';
  assert.deepEqual(await tested(), [['gone', '400 INVALID_ARGUMENT']]);
  assert.equal(push.count('fcm'), 0);
});

test('push - a wrong setting is in the health and once in the log, until a push is accepted, the app is gone or registers again', async (t) => {
  const { push, fcm, actor, body, register, tested, warnings } = await rig(t);
  const detail = () => push.finding().detail;
  assert.deepEqual(push.finding(), { ok: true, detail: '' });
  fcm.mood = 403;
  await tested();
  await tested();
  assert.deepEqual(push.finding(), { ok: false, detail: 'fcm: 403 SENDER_ID_MISMATCH (1 of 1 apps)' });
  assert.deepEqual(warnings, ['403 SENDER_ID_MISMATCH']);
  fcm.mood = 503;
  await tested();
  assert.match(detail(), /SENDER_ID_MISMATCH/, 'a push service that is away says nothing about the settings');
  fcm.mood = 'works';
  await tested();
  assert.equal(detail(), '');
  for (const end of [
    () => register(),
    () => push.services.set(actor, { platform: 'fcm', body }, 1),
    () => push.unregister(actor),
  ]) {
    fcm.mood = 403;
    await tested();
    assert.notEqual(detail(), '');
    await end();
    assert.equal(detail(), '');
  }
});

test('push - an app that registers its token again while a push reports it as gone stays registered', async (t) => {
  const { push, fcm, register, tested } = await rig(t);
  fcm.mood = 404;
  fcm.onPush = async () => void (await register());
  assert.deepEqual(await tested(), [['gone', '404 UNREGISTERED']]);
  assert.equal(push.count('fcm'), 1);
});

test('push - APNs: a token that both environments call bad is gone; one of the other environment wakes its app and is named', async (t) => {
  // One key of a site belongs to both environments.
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [production, sandbox] = [
    await startApns(undefined, undefined, pair),
    await startApns(undefined, undefined, pair),
  ];
  t.after(async () => {
    await production[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });
  const hosts = { production: production.url, sandbox: sandbox.url };
  /** The services of Apple, or the one at this address. */
  const send = async (base_url: string | null = null) => {
    const settings = ApnsService.parse({
      team_id: 'TEAM123456',
      key_id: 'KEY1234567',
      private_key: production.privateKey,
      base_url,
    });
    const apns = new Apns(settings, { guard, resolve, now: () => 0, hosts });
    try {
      const device = {
        token: 'ab'.repeat(32),
        app_id: 'org.example.app',
        environment: 'production',
      } as const;
      const message = { device, data: {}, life_seconds: 15 };
      const { outcome, detail } = await apns.push(message, AbortSignal.timeout(PATIENCE_MS));
      return [outcome, detail];
    } finally {
      apns.close();
    }
  };
  const BAD = '400 BadDeviceToken';
  production.mood = 400;
  assert.deepEqual(await send(), ['accepted', 'the token is of the environment sandbox']);
  sandbox.mood = 503;
  assert.deepEqual(await send(), ['refused', BAD], 'the other one does not say');
  sandbox.mood = 400;
  assert.deepEqual(await send(), ['gone', BAD]);
  assert.deepEqual(await send(production.url), ['refused', BAD], 'there is no other one');
  production.mood = 410;
  sandbox.pushed.length = 0;
  assert.deepEqual(await send(), ['gone', '410 Unregistered']);
  assert.equal(sandbox.pushed.length, 0);
});
