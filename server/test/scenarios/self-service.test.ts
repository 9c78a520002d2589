import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AuditPage } from '@offhook/contract/audit.ts';
import type { AuditRow } from '@offhook/contract/audit.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { FeaturesReply } from '@offhook/contract/features.ts';
import { PresenceReply } from '@offhook/contract/presence.ts';
import type { Features } from '@offhook/contract/features.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import type { Person } from '../support/api.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import type { Phone } from '../support/phone.ts';
import { dialCode } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { openWs } from '../support/ws-client.ts';

const OFF = {
  dnd_enabled: false,
  call_forward_number: '',
  cf_busy_number: '',
  cf_noanswer_number: '',
  cf_noanswer_timeout: 20,
  allowed_phone_mode: 'all',
};

describe('self-service', () => {
  const site = useSite({
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        extension: [{ extension: '1009', forward_outside: true }],
        trunk: [{ name: 'north', title: 'North', host: '127.0.0.2', port: 5999 }],
        outbound_route: [
          { name: 'out', patterns: ['0X!'], trunks: [{ trunk: 'north', strip: 1, prepend: '+49' }] },
        ],
      });
    }),
  });

  async function send(person: Person, method: string, path: string, body?: object | string) {
    const type = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json';
    const reply = await fetch(site().base + path, {
      method,
      headers: {
        authorization: `Bearer ${person.token}`,
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const json: unknown = await reply.json();
    if (reply.ok) return { status: reply.status, code: '', features: FeaturesReply.parse(json).features };
    return { status: reply.status, code: Problem.parse(json).code, features: null };
  }
  const PATH = '/api/mobile/features.php';
  async function set(person: Person, change: object | string): Promise<Features> {
    const reply = await send(person, 'POST', PATH, change);
    assert.equal(reply.status, 200, JSON.stringify(reply));
    return reply.features!;
  }
  /** Lines of the trail on the features of an extension, newest first. */
  async function changesOf(extension: string): Promise<AuditRow[]> {
    const { token } = await site().person('1001');
    const reply = await fetch(`${site().base}/api/v1/audit?action=features.change&limit=50`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return AuditPage.parse(await reply.json()).entries.filter(({ object }) => object === extension);
  }
  const get = async (person: Person): Promise<Features> => (await send(person, 'GET', PATH)).features!;
  const said = (extension: string): unknown[] =>
    eventsOf(site(), 'presence.changed')
      .filter((e) => e.data['extension'] === extension)
      .map((e) => e.data['personal']);
  /** The newest word of a person in the journal, which may come after the reply to what changed it. */
  const isSaid = (extension: string, word: string, after = 0): Promise<unknown> =>
    until(`${extension} is said to be ${word}`, () => said(extension).slice(after).at(-1) === word, {
      seen: () => said(extension).slice(after),
    });
  const personal = (reader: Person, extension: string, word: string): Promise<unknown> =>
    until(`${extension} shows ${word}`, async () => {
      const { presence, status } = await reader.contact(extension);
      return presence.personal === word && (word !== 'dnd' || status === 'busy');
    });
  /** Calls the number and checks that `by` rings first. */
  async function rings(caller: Phone, number: string, by: Phone): Promise<void> {
    const call = await caller.invite(number);
    const there = await by.incoming();
    await there.answer();
    await call.answered();
    await call.hangup();
  }

  test('self-service - settings by API apply to the next call, in both spellings, and show in the directory', async () => {
    await using caller = await site().phone('1005');
    await using owner = await site().phone('1007');
    await using other = await site().phone('1008');
    const person = await site().person('1007');
    const reader = await site().person('1012');
    assert.deepEqual(await get(person), { extension: '1007', ...OFF });
    const forwarded = await set(person, { call_forward_number: '1008', colour: 'blue' });
    assert.deepEqual(forwarded, { extension: '1007', ...OFF, call_forward_number: '1008' });
    await rings(caller, '1007', other);
    assert.equal(owner.seen, 0);
    const quiet = await set(person, 'dnd_enabled=1&call_forward_number=&cf_noanswer_timeout=5');
    assert.deepEqual(quiet, { extension: '1007', ...OFF, dnd_enabled: true, cf_noanswer_timeout: 5 });
    const contact = await reader.contact('1007');
    assert.deepEqual(
      [contact.status, contact.presence.personal, contact.presence.activity, contact.sip_status],
      ['busy', 'dnd', 'idle', 'NOT_INUSE'],
      'not wanting calls is no state of the device',
    );
    await isSaid('1007', 'dnd');
    const greeted = await caller.invite('1007');
    await greeted.answered();
    await greeted.hears();
    await greeted.hangup();
    assert.equal(owner.seen, 0);
    await set(person, 'dnd_enabled=false');
    assert.equal((await reader.contact('1007')).presence.personal, 'not_set');
    await isSaid('1007', 'not_set');
    await rings(caller, '1007', owner);
    await set(person, { ...OFF });
  });

  test("self-service - the Android client's stored request, byte for byte, saves do-not-disturb and a forward", async () => {
    await using caller = await site().phone('1005');
    await using owner = await site().phone('1007');
    await using other = await site().phone('1008');
    const person = await site().person('1007');
    const stored = async (body: string): Promise<Features> => {
      const reply = await fetch(site().base + PATH, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${person.token}`,
          'content-type': 'application/json; charset=utf-8',
          'user-agent': 'okhttp/4.12.0',
        },
        body,
      });
      const text = await reply.text();
      assert.equal(reply.status, 200, text);
      return FeaturesReply.parse(JSON.parse(text)).features;
    };
    const quiet = await stored(
      '{"dnd_enabled":true,"call_forward_number":"","cf_busy_number":"10-08","cf_noanswer_number":"","cf_noanswer_timeout":20,"allowed_phone_mode":"both"}',
    );
    assert.deepEqual(quiet, { extension: '1007', ...OFF, dnd_enabled: true, cf_busy_number: '1008' });
    assert.equal((await (await site().person('1012')).contact('1007')).presence.personal, 'dnd');
    await rings(caller, '1007', other);
    const led = await stored(
      '{"dnd_enabled":false,"call_forward_number":"(10) 08","cf_busy_number":"","cf_noanswer_number":"","cf_noanswer_timeout":20,"allowed_phone_mode":"both"}',
    );
    assert.deepEqual(led, { extension: '1007', ...OFF, call_forward_number: '1008' });
    await rings(caller, '1007', other);
    assert.equal(owner.seen, 0);
    const allowed = await site().person('1009');
    const outside = await set(allowed, {
      call_forward_number: '0 (30) 123-45-67',
      phone_modes: ['web', 'mobil'],
    });
    assert.deepEqual(
      [outside.call_forward_number, outside.allowed_phone_mode],
      ['0301234567', 'softphone,mobile'],
    );
    assert.match(await site().engineCli('database show offhook/1009'), /devices *: webrtc-mobile/);
    for (const [change, mode] of [
      [{ allowed_phone_mode: 'webrtc_only' }, 'softphone,mobile'],
      [{ allowed_phone_mode: 'sip_only' }, 'desk'],
      [{ allowed_phone_mode: 'mobil' }, 'mobile'],
      [{ allowed_phone_mode: 'web,sip,video' }, 'desk,softphone'],
      ['allowed_phone_mode=sip', 'desk'],
      [{ phone_modes: ['web', 'mobil', 'sip', 'video'] }, 'all'],
      [{ phone_modes: ['sip'], allowed_phone_mode: 'both' }, 'desk'],
      [{ allowed_phone_mode: '' }, 'all'],
    ] as const) {
      assert.equal((await set(allowed, change)).allowed_phone_mode, mode, JSON.stringify(change));
    }
    await set(allowed, OFF);
    await set(person, OFF);
  });

  test('self-service - a dialled code shows in the directory, on the stream and in the API within a second', async () => {
    await using owner = await site().phone('1007');
    const person = await site().person('1007');
    const reader = await site().person('1012');
    const before = said('1007').length;
    await dialCode(owner, '*78');
    await personal(reader, '1007', 'dnd');
    await isSaid('1007', 'dnd', before);
    for (const [code, field, number] of [
      ['*721008', 'call_forward_number', '1008'],
      ['*901006', 'cf_busy_number', '1006'],
      ['*92500', 'cf_noanswer_number', '500'],
      ['*73', 'call_forward_number', ''],
      ['*91', 'cf_busy_number', ''],
      ['*93', 'cf_noanswer_number', ''],
    ] as const) {
      await dialCode(owner, code);
      await until(`${field} is "${number}"`, async () => (await get(person))[field] === number);
    }
    await dialCode(owner, '*79');
    await personal(reader, '1007', 'not_set');
  });

  test('self-service - a socket gets the change at once, and makes changes by a command', async () => {
    await using owner = await site().phone('1007');
    const person = await site().person('1007');
    const port = Number(new URL(site().base).port);
    await using socket = await openWs({ port, token: person.token });
    socket.send({ op: 'subscribe', id: 's1', topics: ['presence/1007'] });
    await socket.next('subscribed');
    const hears = async (word: string): Promise<void> => {
      for (;;) {
        const frame = await socket.next('event');
        const { type, data } = frame.event as { type: string; data: { personal?: string } };
        if (type === 'presence.changed' && data.personal === word) break;
      }
    };
    const call = await owner.invite('*78');
    await hears('dnd');
    await call.hangup();
    socket.send({ op: 'command', id: 'c1', action: 'features.set', data: { dnd_enabled: false } });
    const result = await socket.next('result');
    assert.equal(result.ok, true, JSON.stringify(result));
    await hears('not_set');
    socket.send({
      op: 'command',
      id: 'c2',
      action: 'features.set',
      data: { extension: '1006', dnd_enabled: true },
    });
    const refused = await socket.next('result');
    assert.equal(refused.ok, false);
    assert.match(JSON.stringify(refused), /forbidden/);
  });

  test('self-service - the codes work while the service is stopped; phone and API agree afterwards', async () => {
    await using owner = await site().phone('1007');
    const person = await site().person('1007');
    const reader = await site().person('1012');
    const earlier = said('1007').length;
    await set(person, { dnd_enabled: true, cf_busy_number: '1006' });
    await isSaid('1007', 'dnd', earlier);
    const before = said('1007').length;
    await site().kill('SIGKILL');
    await dialCode(owner, '*79');
    await dialCode(owner, '*921008');
    await site().start();
    await personal(reader, '1007', 'not_set');
    assert.deepEqual(await get(person), {
      extension: '1007',
      ...OFF,
      cf_busy_number: '1006',
      cf_noanswer_number: '1008',
    });
    await isSaid('1007', 'not_set', before);
    assert.deepEqual(said('1007').slice(before), ['not_set'], 'told once');
    await set(person, { ...OFF, dnd_enabled: true });
    await site().kill('SIGKILL');
    await site().start('answers');
    assert.equal((await get(person)).dnd_enabled, true, 'known before the engine is');
    await personal(reader, '1007', 'dnd');
    await site().ready();
    await set(person, OFF);
  });

  test('self-service - the engine is killed right after: the wanted settings are restored, whatever their source', async () => {
    await using owner = await site().phone('1007');
    const [person, second] = [await site().person('1007'), await site().person('1006')];
    const reader = await site().person('1012');
    await dialCode(owner, '*901008');
    await until('the code is known', async () => (await get(person)).cf_busy_number === '1008');
    const late = await set(second, { dnd_enabled: true, call_forward_number: '1008' });
    process.kill(site().enginePid()!, 'SIGKILL');
    await until('the link to be lost', async () => (await reader.contacts()).stale);
    const refused = await send(second, 'POST', PATH, { dnd_enabled: false });
    assert.deepEqual([refused.status, refused.code], [503, 'engine_unavailable']);
    assert.deepEqual(await get(second), late, 'read without the engine');
    await site().ready();
    await until('both in the new engine', async () => {
      const shown = await site().engineCli('database show offhook');
      return (
        /1007\/busy *: 1008/.test(shown) &&
        /1006\/dnd *: 1/.test(shown) &&
        /1006\/forward *: 1008/.test(shown)
      );
    });
    await personal(reader, '1006', 'dnd');
    await owner.register();
    await set(second, OFF);
    await set(person, OFF);
    await until('the lamp is off', async () =>
      /dnd-1006 .*INVALID|Custom:dnd-1006.*INVALID/.test(await site().engineCli('devstate list')),
    );
  });

  test('self-service - an invalid change is refused with its code and changes nothing', async () => {
    const person = await site().person('1007');
    const allowed = await site().person('1009');
    for (const [change, status, code] of [
      [{ call_forward_number: '1007' }, 400, 'invalid_request'],
      [{ call_forward_number: '1099' }, 404, 'no_route'],
      [{ cf_busy_number: '600' }, 404, 'no_route'],
      [{ cf_busy_number: '*22' }, 400, 'invalid_request'],
      [{ cf_noanswer_number: '030123456' }, 403, 'destination_not_allowed'],
      [{ dnd_enabled: true, cf_noanswer_number: '030123456' }, 403, 'destination_not_allowed'],
      [{ dnd_enabled: 'true' }, 400, 'invalid_request'],
      [{ dnd_enabled: 1 }, 400, 'invalid_request'],
      [{ dnd_enabled: null }, 400, 'invalid_request'],
      ['dnd_enabled=maybe', 400, 'invalid_request'],
      [{ cf_noanswer_timeout: 4 }, 400, 'invalid_request'],
      [{ cf_noanswer_timeout: 121 }, 400, 'invalid_request'],
      [{ cf_noanswer_timeout: 5.5 }, 400, 'invalid_request'],
      ['cf_noanswer_timeout=1e1', 400, 'invalid_request'],
      [{ allowed_phone_mode: 'fax' }, 400, 'invalid_request'],
      [{ allowed_phone_mode: 'sip,fax' }, 400, 'invalid_request'],
      [{ phone_modes: ['video'] }, 400, 'invalid_request'],
      [{ phone_modes: [] }, 400, 'invalid_request'],
      ...[
        '1008\r\nAction: Ping',
        '1008\n',
        '1008\0',
        '1008&1009',
        '１００８',
        '${SHELL(touch /tmp/x)}',
        '1008,2',
        '\t1008',
        '9'.repeat(10_000),
      ].map((number) => [{ call_forward_number: number }, 400, 'invalid_request'] as const),
    ] as const) {
      const reply = await send(person, 'POST', PATH, change);
      assert.deepEqual([reply.status, reply.code], [status, code], JSON.stringify(change).slice(0, 80));
    }
    assert.deepEqual(await get(person), { extension: '1007', ...OFF });
    const premium = await send(allowed, 'POST', PATH, { call_forward_number: '0900123456' });
    assert.deepEqual([premium.status, premium.code], [403, 'destination_not_allowed']);
    assert.equal((await set(allowed, { call_forward_number: '030123456' })).call_forward_number, '030123456');
    await using owner = await site().phone('1009');
    await dialCode(owner, '*720900123456');
    await until('the premium number is taken back', async () => {
      const shown = await site().engineCli('database show offhook/1009');
      return !/forward/.test(shown) && (await get(allowed)).call_forward_number === '';
    });
  });

  test('self-service - a supervisor reads and changes settings of others, audited; other levels may not', async () => {
    const [ada, mallory] = [await site().person('1001'), await site().person('1012')];
    const path = '/api/v1/extensions/1007/features';
    const changed = await send(ada, 'PUT', path, { dnd_enabled: true });
    assert.equal(changed.features?.dnd_enabled, true);
    assert.deepEqual((await send(ada, 'GET', path)).features, changed.features);
    for (const reply of [
      await send(mallory, 'PUT', path, { dnd_enabled: false }),
      await send(mallory, 'GET', path),
    ]) {
      assert.deepEqual([reply.status, reply.code], [403, 'forbidden']);
    }
    const unknown = await send(ada, 'PUT', '/api/v1/extensions/1999/features', { dnd_enabled: true });
    assert.deepEqual([unknown.status, unknown.code], [404, 'not_found']);
    assert.equal((await send(ada, 'PUT', path, { colour: 'blue' })).status, 400);
    const lines = await changesOf('1007');
    assert.deepEqual(
      lines.slice(0, 2).map((e) => [e.actor, e.outcome]),
      [
        [mallory.login.user.extension, 'refused'],
        [ada.login.user.extension, 'ok'],
      ],
    );
    await send(ada, 'PUT', path, OFF);
  });

  test('self-service - a personal presence is visible to all, the same as by code, and ends by the clock', async () => {
    await using owner = await site().phone('1007');
    const person = await site().person('1007');
    const reader = await site().person('1012');
    const say = async (body: object) => {
      const reply = await fetch(`${site().base}/api/v1/presence`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const json: unknown = await reply.json();
      return reply.ok ? PresenceReply.parse(json).presence : Problem.parse(json).code;
    };
    const seen = async () => {
      const { personal: word, note, expires_at, summary } = (await reader.contact('1007')).presence;
      return { word, note, expires_at, summary };
    };
    const note = 'Öğlen <b>arası</b>';
    const open = { personal: 'away', note, expires_at: null };
    assert.deepEqual(await say({ personal: 'away', note }), open);
    const away = { word: 'away', note, expires_at: null, summary: 'away' };
    assert.deepEqual(await seen(), away);
    await dialCode(owner, '*78');
    await personal(reader, '1007', 'dnd');
    await dialCode(owner, '*79');
    await personal(reader, '1007', 'away');
    await site().kill('SIGKILL');
    await site().start('answers');
    assert.deepEqual(await seen(), away, 'known before the engine is');
    await site().ready();
    assert.deepEqual(await seen(), away);
    await using socket = await openWs({ port: Number(new URL(site().base).port), token: person.token });
    // Later than the steps before its end take on a slow machine.
    const expires_at = new Date(Date.now() + 12_000).toISOString();
    const data = { personal: 'dnd', note: 'Board', expires_at };
    socket.send({ op: 'command', id: 'p1', action: 'presence.set', data });
    const result = await socket.next('result');
    assert.equal(result.ok, true, JSON.stringify(result));
    assert.deepEqual(await seen(), { word: 'dnd', note: 'Board', expires_at, summary: 'dnd' });
    assert.equal((await get(person)).dnd_enabled, true, 'the features and the engine have it');
    await personal(reader, '1007', 'not_set');
    assert.ok(Date.now() >= Date.parse(expires_at), 'not before its time');
    await until(
      'the engine to have it',
      async () => !/dnd *: 1/.test(await site().engineCli('database show offhook/1007')),
    );
    await until('the features to have it', async () => !(await get(person)).dnd_enabled);
    assert.equal(await say({ personal: 'away', note: 'a\nb' }), 'invalid_request');
    assert.equal(await say({ personal: 'lunch' }), 'invalid_request');
    assert.equal((await seen()).note, null);
  });

  test('self-service - many simultaneous changes end in one of them, the same everywhere', async () => {
    await using owner = await site().phone('1007');
    const person = await site().person('1007');
    const numbers = ['1008', '1006', '1005', '500', '', '1003', '1004', '1009'];
    const before = (await changesOf('1007'))[0]?.id ?? 0;
    const code = dialCode(owner, '*78');
    const replies = await Promise.all(
      numbers.map((call_forward_number) => send(person, 'POST', PATH, { call_forward_number })),
    );
    await code;
    assert.deepEqual(
      replies.map((r) => r.status),
      numbers.map(() => 200),
    );
    await until('the engine and the API agree', async () => {
      const shown = await site().engineCli('database show offhook/1007');
      const { call_forward_number: number, dnd_enabled } = await get(person);
      return dnd_enabled && (/forward *: (\S+)/.exec(shown)?.[1] ?? '') === number && /dnd *: 1/.test(shown);
    });
    // The order in which eight connections arrive is random, so the trail decides which change was the last.
    const changes = (await changesOf('1007')).filter(({ id, detail }) => id > before && 'forward' in detail);
    assert.equal((await get(person)).call_forward_number, changes[0]!.detail['forward']);
    for (const [i, { detail }] of changes.slice(0, -1).entries())
      assert.equal(detail['was_forward'], changes[i + 1]!.detail['forward'], 'one after the other');
    await set(person, OFF);
  });

  test('self-service - changes of presence without a pause are published at a human rate', async () => {
    const person = await site().person('1012');
    const before = said('1012').length;
    const ask = (path: string, body: object) =>
      fetch(site().base + path, {
        method: path === PATH ? 'POST' : 'PUT',
        headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    /**
     * Sends four at a time, below the limit of waiting requests, until some are refused; returns the replies and when the last
     * four were sent.
     */
    async function flood(path: string, body: (i: number) => object) {
      const replies: Response[] = [];
      let sent = NaN;
      while (replies.filter(({ status }) => status === 429).length < 3) {
        sent = performance.now();
        const four = [0, 1, 2, 3].map((i) => ask(path, body(replies.length + i)));
        replies.push(...(await Promise.all(four)));
      }
      assert.ok(replies.every(({ status }) => status === 200 || status === 429));
      return { replies, sent };
    }
    const began = performance.now();
    const { replies, sent } = await flood('/api/v1/presence', (i) => ({ personal: 'away', note: `${i}` }));
    const seconds = (performance.now() - began) / 1000;
    const refused = replies.find(({ status }) => status === 429);
    const let_through = replies.filter(({ status }) => status === 200).length;
    assert.equal(refused?.headers.get('retry-after'), '1');
    const most = 31 + 3 * seconds;
    assert.ok(let_through >= 30 && let_through <= most, `${let_through} changes in ${seconds} s`);
    assert.ok(said('1012').length - before <= let_through, 'what was refused is heard by nobody');
    // The bucket is shared: the first of the features are not let through as a burst of their own.
    const { replies: features } = await flood(PATH, () => ({ dnd_enabled: true }));
    const allowed = features.filter(({ status }) => status === 200).length;
    // It was empty when one of the last four was refused.
    const refilled = 2 + (3 * (performance.now() - sent)) / 1000;
    assert.ok(allowed <= refilled, `features count with it: ${allowed} of ${features.length}`);
    const supervisor = await site().person('1002');
    const path = '/api/v1/extensions/1012/features';
    for (let i = 0; i < 40; i += 1) assert.equal((await send(supervisor, 'PUT', path, OFF)).status, 200);
  });
});
