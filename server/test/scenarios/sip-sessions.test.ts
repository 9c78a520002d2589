import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openMedia } from '../../src/adapters/asterisk/phone/media.ts';
import { header, statusOf, uriOf } from '../../src/adapters/asterisk/phone/message.ts';
import { openTransport, randomTag } from '../../src/adapters/asterisk/phone/transport.ts';
import type { Dialog, SipTransport } from '../../src/adapters/asterisk/phone/transport.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { registerPhone } from '../support/phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { openWsPhone } from '../support/ws-phone.ts';

/** Spellings of a request that the engine reads although they are not those of SIP. */
const HIDDEN: readonly ((message: string) => string)[] = [
  (text) => `\r\n${text}`,
  (text) => text.replace('SIP/2.0\r\n', 'SIP/2.0 \r\n'),
  (text) => text.replace('SIP/2.0\r\n', 'sip/2.0\r\n'),
  (text) => text.replace('\r\nauthorization', '\nauthorization'),
  (text) => text.replace('\r\nauthorization', '\rauthorization'),
  (text) => `${text.replaceAll('REGISTER', 'OPTIONS').replace(/authorization: .*\r\n/, '')}${text}`,
  (text) => text.replace('authorization: Digest', 'authorization: "Digest"'),
  (text) => text.replace('\r\nauthorization', '&authorization'),
  (text) =>
    text.replace(
      /\r\n(authorization: .*)/,
      '&$1\r\nauthorization: Digest username="1008-web", realm="x", nonce="x", uri="x", response="x"',
    ),
  (text) => text.replace(/response=("[^"]*")/, 'response="x", %72esponse=$1'),
];

describe('sip sessions', () => {
  const site = useSite();
  /** Opens a session in addition to the site's own. */
  async function session(extension: string): Promise<Person> {
    const found = (await site().credentials()).find((c) => c.extension === extension);
    return signIn(site().base, extension, found?.password ?? '');
  }
  const phoneOf = (
    { login: { sip } }: Person,
    as: 'sip_username' | 'webrtc_username' | 'native_sip_username',
  ) => openWsPhone({ url: site().wsUrl, username: sip[as], password: sip.sip_password });
  const request = async (person: Person, method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${site().base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${person.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.equal(response.ok, true, `${method} ${path}: ${response.status}`);
    return response.json();
  };
  const contacts = async (device: string): Promise<number> =>
    (await site().engineCli('pjsip show contacts'))
      .split('\n')
      .filter((line) => line.includes(`Contact:  ${device}/`)).length;
  const has = (device: string, count: number) =>
    until(`${count} addresses of ${device}`, async () => (await contacts(device)) === count || undefined);

  test('sip sessions - each session has its own secret; the permanent one is given to none', async () => {
    const [one, two] = [await session('1008'), await session('1008')];
    assert.notEqual(one.login.sip.sip_password, two.login.sip.sip_password);
    const permanent = (await site().credentials()).find((c) => c.extension === '1008')?.sip_password ?? '';
    assert.ok(![one, two].some((p) => p.login.sip.sip_password === permanent));
    await using a = await phoneOf(one, 'webrtc_username');
    await using b = await phoneOf(two, 'sip_username');
    await using c = await openWsPhone({
      url: site().wsUrl,
      username: two.login.sip.native_sip_username,
      password: two.login.sip.sip_password,
      answers: false,
    });
    assert.deepEqual([await a.register(), await b.register(), await c.register()], [200, 200, 200]);
    await Promise.all([has('1008-web', 1), has('1008-mobile', 1), has('1008', 1)]);
    await using wrong = await openWsPhone({ url: site().wsUrl, username: '1008-web', password: permanent });
    assert.equal(await wrong.register(), 401, 'the secret of desk phones is of no use over /ws');
    for (const writes of HIDDEN) {
      const hidden = { url: site().wsUrl, username: '1008-web', password: permanent, writes };
      await using phone = await openWsPhone(hidden);
      assert.equal(await phone.register(), 0, `nor where only the engine would see it: ${String(writes)}`);
      assert.equal(phone.closed, 1008);
    }
    await using other = await openWsPhone({
      url: site().wsUrl,
      username: '1009-web',
      password: one.login.sip.sip_password,
    });
    assert.equal(await other.register(), 401, 'nor is one of another person');
    await assert.rejects(
      registerPhone({ server: site().sip, extension: '1008', password: one.login.sip.sip_password }),
      /401/,
      'nor is one of a session at the address of desk phones',
    );
    await request(two, 'POST', '/api/v1/session/logout', {});
    assert.deepEqual([await b.end(), await c.end()], [4409, 4409]);
    await Promise.all([has('1008-web', 1), has('1008-mobile', 0), has('1008', 0)]);
  });

  test('sip sessions - ended sessions: the phone is cut, its address removed, the stolen secret refused; a desk phone stays', async () => {
    const [mine, stolen] = [await session('1009'), await session('1009')];
    await using desk = await site().phone('1009');
    await using phone = await phoneOf(mine, 'webrtc_username');
    await using thief = await phoneOf(stolen, 'webrtc_username');
    assert.deepEqual([await phone.register(), await thief.register()], [200, 200]);
    await has('1009-web', 2);
    const { sessions } = (await request(mine, 'GET', '/api/v1/sessions')) as {
      sessions: { id: number; current: boolean }[];
    };
    for (const { id, current } of sessions)
      if (!current) await request(mine, 'DELETE', `/api/v1/sessions/${id}`);
    assert.equal(await thief.end(), 4409);
    await has('1009-web', 1);
    await using again = await phoneOf(stolen, 'webrtc_username');
    assert.equal(await again.register(), 401);
    assert.equal(await phone.register(), 200, 'the session that is left goes on');

    const password = (await site().credentials()).find((c) => c.extension === '1009')?.password ?? '';
    const fresh = (await request(mine, 'POST', '/api/v1/session/password', {
      current_password: password,
      new_password: 'an altogether new one',
    })) as Person['login'];
    assert.equal(await phone.end(), 4409);
    await has('1009-web', 0);
    await using old = await phoneOf(mine, 'webrtc_username');
    assert.equal(await old.register(), 401);
    await using renewed = await openWsPhone({
      url: site().wsUrl,
      username: fresh.sip.webrtc_username,
      password: fresh.sip.sip_password,
    });
    assert.equal(await renewed.register(), 200);
    await desk.register();
    await has('1009', 1);
  });

  /** A softphone of the session's desk account; it answers every request, but no call. */
  async function softphone({ login: { sip } }: Person) {
    const transport: SipTransport = await openTransport({
      server: site().sip,
      username: sip.native_sip_username,
      password: sip.sip_password,
      web: site().wsUrl,
      onRequest: (request) => transport.reply(request, { status: 200, reason: 'OK' }),
    });
    const media = await openMedia();
    const at = `${site().sip.host}:${site().sip.port}`;
    const dialogTo = (number: string): Dialog => ({
      callId: randomTag(),
      local: `<sip:${sip.native_sip_username}@${at}>;tag=${randomTag()}`,
      remote: `<sip:${number}@${at}>`,
      target: `sip:${number}@${at}`,
      cseq: 0,
    });
    const line = dialogTo(sip.native_sip_username);
    const registered = await transport.send(line, 'REGISTER', { headers: [['expires', '600']] }).response;
    assert.equal(statusOf(registered), 200, registered.start);
    return {
      async call(number: string): Promise<void> {
        const dialog = dialogTo(number);
        const answer = await transport.send(dialog, 'INVITE', { body: media.sdp() }).response;
        assert.equal(statusOf(answer), 200, answer.start);
        dialog.remote = header(answer, 'to');
        dialog.target = uriOf(header(answer, 'contact'));
        transport.ack(dialog, dialog.cseq);
      },
      disconnect: () => transport.close(),
      async [Symbol.asyncDispose]() {
        await transport.close();
        media.close();
      },
    };
  }
  const channels = async (device: string): Promise<number> =>
    (await site().engineCli('core show channels concise'))
      .split('\n')
      .filter((line) => line.startsWith(`PJSIP/${device}-`)).length;
  const talks = (device: string, count: number) =>
    until(`${count} calls of ${device}`, async () => (await channels(device)) === count || undefined);

  test('sip sessions - a call ends with the session over whose connection it began, though the phone still sends sound', async () => {
    const [mine, other] = [await session('1011'), await session('1011')];
    await using phone = await softphone(mine);
    await using second = await softphone(other);
    await phone.call('600');
    await second.call('600');
    await talks('1011', 2);
    await request(mine, 'POST', '/api/v1/session/logout', {});
    await talks('1011', 1);
    await second.disconnect();
    assert.equal(await channels('1011'), 1, 'a lost connection ends no call');
    await request(other, 'POST', '/api/v1/session/logout', {});
    await talks('1011', 0);
  });

  test('sip sessions - a call that rang at a browser phone ends with its session', async () => {
    const mine = await session('1012');
    const { sip } = mine.login;
    await using phone = await openWsPhone({
      url: site().wsUrl,
      username: sip.webrtc_username,
      password: sip.sip_password,
      calls: 'take',
    });
    assert.equal(await phone.register(), 200);
    await has('1012-web', 1);
    await using desk = await site().phone('1003');
    const call = await desk.invite('1012');
    await call.answered();
    await request(mine, 'POST', '/api/v1/session/logout', {});
    await call.ended();
    await talks('1012-web', 0);
  });

  test('sip sessions - a supervisor listens no more once the session that asked for it has ended, at a desk phone too', async () => {
    const [mine, other] = [await session('1002'), await session('1002')];
    await using office = await site().phone('1002');
    await using caller = await site().phone('1003');
    await using callee = await site().phone('1004');
    const call = await caller.invite('1004');
    const incoming = await callee.incoming();
    await incoming.answer();
    await Promise.all([call.answered(), call.bridged()]);
    const { calls } = (await request(mine, 'GET', '/api/v1/calls')) as {
      calls: { call_id: string; legs: { extension: string | null }[] }[];
    };
    const { call_id } = calls.find(({ legs }) => legs.some(({ extension }) => extension === '1004'))!;
    await request(mine, 'POST', `/api/v1/calls/${call_id}/listen`, {});
    const ear = await office.incoming();
    await ear.answer();
    await request(other, 'POST', '/api/v1/session/logout', {});
    assert.equal(ear.state, 'up');
    await request(mine, 'POST', '/api/v1/session/logout', {});
    await ear.ended();
    assert.equal(call.state, 'up', 'the call that was listened to goes on');
    await call.hangup();
  });

  test('sip sessions - refresh keeps the secret, and it works over restarts of service and engine', async () => {
    const mobile = await session('1010');
    const refreshed = (await request(mobile, 'GET', '/api/mobile/refresh.php')) as Person['login'];
    assert.equal(refreshed.sip.sip_password, mobile.login.sip.sip_password);
    await using before = await phoneOf(mobile, 'sip_username');
    assert.equal(await before.register(), 200);
    await site().kill('SIGKILL');
    await before.end();
    await site().start();
    await using after = await phoneOf(mobile, 'sip_username');
    assert.equal(await after.register(), 200);
    await has('1010-mobile', 1);

    const engine = site().enginePid();
    assert.ok(engine !== null);
    process.kill(engine, 'SIGKILL');
    await after.end();
    await until('another engine', () => (site().enginePid() ?? engine) !== engine || undefined);
    await site().ready();
    await using last = await phoneOf(mobile, 'sip_username');
    assert.equal(await last.register(), 200);
    await has('1010-mobile', 1);
  });
});
