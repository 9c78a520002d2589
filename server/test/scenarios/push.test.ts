import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { registerPhone } from '../support/phone.ts';
import type { PhoneCall } from '../support/phone.ts';
import { startApns, startFcm } from '../support/push-services.ts';
import type { PushService } from '../support/push-services.ts';
import { openSse } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { openWsPhone } from '../support/ws-phone.ts';
import type { WsPhone } from '../support/ws-phone.ts';

/** Long for a woken app on a busy machine, and shorter than the 10 s after which a silent service is given up. */
const WAIT_SECONDS = 9;
const TOKEN = 'f-token_1:APA91b';
/** `subject` and `data` are absent in frames of the stream that are no events. */
interface PresenceEvent {
  readonly time: string;
  readonly subject?: string;
  readonly data?: { readonly reachability: string };
}
const APNS_TOKEN = 'ab'.repeat(32);

describe('push', () => {
  let fcm: PushService;
  let apns: PushService;
  before(async () => {
    fcm = await startFcm();
    apns = await startApns();
  });
  after(async () => {
    await fcm[Symbol.asyncDispose]();
    await apns[Symbol.asyncDispose]();
  });
  const site = useSite({
    env: { OFFHOOK_PUSH_WAIT_SECONDS: String(WAIT_SECONDS), OFFHOOK_WEBHOOK_ALLOW: '127.0.0.1' },
  });
  async function send(person: Person, method: string, path: string, body?: object) {
    const response = await fetch(`${site().base}/api/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${person.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as Record<string, unknown>;
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${JSON.stringify(json)}`);
    return json;
  }
  async function session(extension: string): Promise<Person> {
    const found = (await site().credentials()).find((c) => c.extension === extension);
    return signIn(site().base, extension, found?.password ?? '');
  }
  let served = false;
  async function setServices(): Promise<void> {
    if (served) return;
    served = true;
    const admin = await session('1001');
    const { password } = (await site().credentials()).find((c) => c.extension === '1001')!;
    await send(admin, 'POST', 'session/confirm', { password, otp: null });
    await send(admin, 'PUT', 'push-services/fcm', {
      project_id: 'offhook-test',
      client_email: 'push@offhook-test.iam.gserviceaccount.com',
      private_key: fcm.privateKey,
      base_url: fcm.url,
      token_url: `${fcm.url}/token`,
    });
    await send(admin, 'PUT', 'push-services/apns', {
      team_id: 'TEAM123456',
      key_id: 'KEY1234567',
      private_key: apns.privateKey,
      base_url: apns.url,
    });
  }
  const stored = async (extension: string, has: boolean): Promise<unknown> =>
    until(`${extension} ${has ? 'is' : 'is not'} in the store of the engine`, async () => {
      const rows = await site().engineCli('database show offhook-push');
      return rows.includes(`/offhook-push/${extension}`) === has;
    });
  /** An app of an extension that is asleep. */
  async function app(extension: string, registration: object): Promise<Person> {
    await setServices();
    const person = await session(extension);
    await send(person, 'PUT', 'session/push', registration);
    await stored(extension, true);
    return person;
  }
  /** Nobody took the call: the mailbox does. */
  async function greeted(call: PhoneCall): Promise<void> {
    await call.answered();
    await call.hears();
    await call.hangup();
  }
  /** A desk phone; its password is read from the file, as the service may be away. */
  async function openDesk(extension: string) {
    const found = (await site().credentials()).find((c) => c.extension === extension)!;
    return registerPhone({ server: site().sip, extension, password: found.sip_password });
  }
  const open = ({ login: { sip } }: Person, calls: 'ring' | 'take'): Promise<WsPhone> =>
    openWsPhone({ url: site().wsUrl, username: sip.sip_username, password: sip.sip_password, calls });

  test('push - a sleeping app rings while the desk phone rings since the call came', async () => {
    const person = await app('1007', { platform: 'fcm', token: TOKEN, app_id: 'org.example.app' });
    await using caller = await site().phone('1005');
    await using desk = await site().phone('1007');
    let phone: Promise<WsPhone> | undefined;
    fcm.onPush = () => {
      phone = open(person, 'ring').then(async (opened) => {
        assert.equal(await opened.register(), 200);
        return opened;
      });
    };
    const call = await caller.invite('1007');
    const there = await desk.incoming();
    await until('the push', () => phone);
    await using woken = await phone!;
    await until('the app rings', () => woken.rang.length > 0);
    const [push] = fcm.pushed;
    assert.equal(push?.token, TOKEN);
    assert.deepEqual(Object.keys(push?.body['data'] as object).toSorted(), ['call_id', 'extension', 'type']);
    await there.answer();
    await call.answered();
    await call.hangup();
  });

  /** The newest conversation of an extension, once it is final. */
  const conversation = (extension: string, since: number): Promise<Conversation> =>
    until(`the conversation of ${extension}`, async () => {
      const admin = await site().person('1001');
      const list = await send(admin, 'GET', `conversations?person=${extension}&limit=1`);
      const [row] = list['conversations'] as { id: string; state: string; started_at: string }[];
      if (row?.state !== 'final' || Date.parse(row.started_at) < since) return undefined;
      return (await send(admin, 'GET', `conversations/${row.id}`))['conversation'] as Conversation;
    });
  const pushesOf = ({ legs }: Conversation) => legs.flatMap(({ pushes = [] }) => pushes);
  const registration = { platform: 'fcm', token: TOKEN, app_id: 'org.example.app' };

  test('push - a call to a sleeping app alone: the caller hears ringing, the engine calls the app once it has registered, and the record has the wake-up', async (t) => {
    const person = await app('1009', { platform: 'apns', token: APNS_TOKEN, app_id: 'org.example.app.voip' });
    await using caller = await site().phone('1005');
    let phone: Promise<WsPhone> | undefined;
    let call: PhoneCall | undefined;
    apns.onPush = () => {
      // The caller hears ringing before the app is there.
      phone = until('ringing', () => call?.state === 'ringing')
        .then(() => open(person, 'take'))
        .then(async (opened) => {
          assert.equal(await opened.register(), 200);
          return opened;
        });
    };
    await using stack = new AsyncDisposableStack();
    const stream = await openSse(`${site().base}/api/v1/events?topics=presence`, person.token);
    stack.defer(() => stream.stop());
    const since = Date.now() - 1000;
    call = await caller.invite('1009');
    await until('the push', () => phone);
    await using _woken = await phone!;
    await call.answered();
    await until('the talk', async () => (await person.contact('1009')).presence.activity === 'in_call');
    await call.hangup();
    const { headers } = apns.pushed.at(-1)!;
    assert.deepEqual(
      [headers['apns-topic'], headers['apns-push-type'], headers['apns-priority']],
      ['org.example.app.voip', 'voip', '10'],
    );
    const record = await conversation('1009', since);
    assert.deepEqual(
      [record.disposition, record.answered_by?.extension, record.legs.map((leg) => [leg.role, leg.device])],
      [
        'answered',
        '1009',
        [
          ['caller', 'sip'],
          ['called', 'mobile'],
        ],
      ],
    );
    const [push] = pushesOf(record);
    assert.deepEqual([push?.extension, push?.outcome], ['1009', 'registered']);
    // Both times are the engine's, and the wait for an app that does not register is longer.
    const registered = await until('the event of the registration', () => {
      const events = stream.messages
        .filter(({ data }) => data !== '')
        .map(({ data }) => JSON.parse(data) as PresenceEvent);
      const first = events.find(
        ({ subject, data }) => subject === 'presence/1009' && data?.reachability === 'online',
      );
      return first === undefined ? undefined : Date.parse(first.time);
    });
    const rang = record.legs.find(({ device }) => device === 'mobile');
    const late = Date.parse(rang!.started_at) - registered;
    t.diagnostic(`the engine called the app ${late} ms after its registration`);
    assert.ok(late < WAIT_SECONDS * 1000, `${late} ms`);
    const { calls, stats } = await person.history('?limit=1');
    assert.deepEqual([calls[0]?.direction, calls[0]?.device_type, stats.missed_calls], ['in', 'mobil', 0]);
    await until('the app is asleep again', async () => {
      await _woken[Symbol.asyncDispose]();
      const { mob_webrtc_status, presence, status } = await person.contact('1009');
      if (mob_webrtc_status !== 'UNAVAILABLE') return false;
      assert.deepEqual(
        [presence.reachability, presence.summary, status],
        ['push_only', 'available', 'online'],
      );
      return true;
    });
  });

  test('push - a token that is gone, a refusal and silence: the desk phone rings at once, the caller is not held beyond the limit', async () => {
    const person = await app('1010', registration);
    await using caller = await site().phone('1005');
    fcm.onPush = () => {};
    for (const [mood, outcome] of [
      [503, 'refused'],
      ['silent', 'late'],
      [404, 'refused'],
    ] as const) {
      fcm.mood = mood;
      const since = Date.now() - 1000;
      const call = await caller.invite('1010');
      await greeted(call);
      const [push] = pushesOf(await conversation('1010', since));
      assert.deepEqual([mood, push?.extension, push?.outcome], [mood, '1010', outcome]);
      // A refusal ends the wait before its limit.
      assert.equal(
        push!.after_ms >= WAIT_SECONDS * 1000,
        outcome === 'late',
        `${mood}: ${push!.after_ms} ms`,
      );
    }
    await stored('1010', false);
    assert.deepEqual(await send(person, 'GET', 'session/push'), { success: true, device: null });
    await send(person, 'PUT', 'session/push', registration);
    await stored('1010', true);
    await using desk = await site().phone('1010');
    fcm.mood = 'silent';
    const since = Date.now() - 1000;
    const missed = (await person.history()).stats.missed_calls;
    const call = await caller.invite('1010');
    const there = await desk.incoming();
    await there.answer();
    await call.answered();
    await call.hangup();
    const [push] = pushesOf(await conversation('1010', since));
    assert.ok((push?.after_ms ?? 0) < WAIT_SECONDS * 1000, 'the desk phone did not wait');
    const { calls, stats } = await person.history('?limit=1');
    assert.equal(calls[0]?.direction, 'in');
    assert.equal(stats.missed_calls, missed, 'who took the call at the desk has missed nothing');
    fcm.mood = 'works';
  });

  test('push - while the service is away, calls go on without a wake-up', async () => {
    await app('1011', registration);
    await using caller = await site().phone('1005');
    const sent = fcm.pushed.length;
    await site().kill('SIGKILL');
    const since = Date.now() - 1000;
    await greeted(await caller.invite('1011'));
    await using desk = await openDesk('1011');
    const again = await caller.invite('1011');
    const there = await desk.incoming();
    await there.answer();
    await again.answered();
    await again.hangup();
    assert.equal(fcm.pushed.length, sent);
    await site().start();
    const first = await until('the first call', async () => {
      const admin = await site().person('1001');
      const list = await send(admin, 'GET', 'conversations?person=1011&limit=2');
      const rows = list['conversations'] as { id: string; state: string; started_at: string }[];
      const row = rows[1];
      if (row?.state !== 'final' || Date.parse(row.started_at) < since) return undefined;
      return (await send(admin, 'GET', `conversations/${row.id}`))['conversation'] as Conversation;
    });
    const [push] = pushesOf(first);
    assert.equal(push?.outcome, 'away');
    assert.ok(push.after_ms < WAIT_SECONDS * 1000);
  });

  test('push - the registration ends with the session', async () => {
    const person = await app('1012', registration);
    await send(person, 'POST', 'session/logout', {});
    await stored('1012', false);
  });

  test('push - an erasure of an extension deletes its registration, and calls wake its app no more', async () => {
    await app('1008', registration);
    const admin = await session('1001');
    const body = { extension: '1008', reason: 'Request 17' };
    const { erasure } = (await send(admin, 'POST', 'privacy/erasures', body)) as { erasure: { id: number } };
    const done = await until('the erasure to be done', async () => {
      const proof = (await send(admin, 'GET', `privacy/erasures/${erasure.id}`)) as {
        erasure: { state: string; before: Record<string, number>; erased: Record<string, number> };
      };
      return proof.erasure.state === 'done' && proof.erasure;
    });
    assert.deepEqual([done.before['push_registrations'], done.erased['push_registrations']], [1, 1]);
    await stored('1008', false);
  });
});
