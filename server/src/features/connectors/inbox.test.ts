/** Messages of a connected system: each proves itself, is acted on once, and costs no more than it may. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { LookupReply } from '@offhook/contract/phonebook.ts';
import { openForTest } from '../../../test/support/connector-rig.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { ServiceError } from '../../core/errors.ts';

const SECRET = 'geheim-4711';
const file = (verify: string): string => `connector: 1
name: Inbox
settings: { address: { text: Address, url: true }, secret: { text: Secret of messages, secret: true } }
base: '{{ set.address }}'
check: { get: / }
customer: { id: '{{ string(row.id) }}', name: '{{ row.name }}', numbers: ['{{ row.phone }}'], blocked: '{{ row.blocked }}' }
inbox:
  verify: ${verify}
  id: '{{ body.event_id }}'
  on:
    - { when: '{{ body.type == "dial" }}', do: call, person: '{{ body.agent }}', number: '{{ body.number }}' }
    - { when: '{{ body.type == "customer" }}', do: customer.changed, row: '{{ body.data }}' }
    - { when: '{{ body.type == "gone" }}', do: customer.gone, id: '{{ string(body.id) }}' }
    - { when: '{{ body.type == "note" }}', do: note, call: '{{ body.call }}', text: '{{ body.text }}' }
`;
const HMAC = `{ hmac: { header: x-signature, secret: '{{ set.secret }}', prefix: sha256= } }`;

async function inbox(t: TestContext, verify = HMAC) {
  const rig = await connectorsRig(t);
  await rig.create('find', {
    source: file(verify),
    settings: { address: rig.crm.url, secret: SECRET },
  });
  return {
    rig,
    post: async (body: object | string, headers: Record<string, string> = {}, id = '1', ip = '127.0.0.1') => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const reply = await rig.host.app.inject({
        method: 'POST',
        remoteAddress: ip,
        url: `/api/v1/connectors/${id}/inbox`,
        headers: { 'content-type': 'application/json', ...headers },
        payload: text,
      });
      const json = reply.json<Record<string, unknown>>();
      return { status: reply.statusCode, json, what: [reply.statusCode, json['code'] ?? json['done']] };
    },
    signed: (body: object | string, secret = SECRET) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return { 'x-signature': `sha256=${createHmac('sha256', secret).update(text).digest('hex')}` };
    },
  };
}
const dial = (event_id: string) => ({
  event_id,
  type: 'dial',
  agent: 'bea@example.test',
  number: '+4930901820',
});

test('connectors inbox - a signed message leads to one call, however often it comes, also after a restart', async (t) => {
  const { rig, post, signed } = await inbox(t);
  const message = dial('e1');
  assert.deepEqual((await post(message, signed(message))).what, [200, ['call']]);
  assert.deepEqual((await post(message, signed(message))).json['repeated'], true);
  await rig.restart();
  assert.deepEqual((await post(message, signed(message))).json['repeated'], true);
  assert.deepEqual(
    rig.verbs.map((one) => one.slice(0, 3)),
    [['call', 'bea@example.test', '+4930901820']],
  );
  const next = dial('e2');
  assert.deepEqual((await post(next, signed(next))).json['repeated'], false);
  await rig.clock.advance(86_401_000);
  assert.deepEqual((await post(message, signed(message))).json['repeated'], false, 'a day later');
});

test('connectors inbox - what is not proven, altered or of another connector is refused alike, and ten times at most', async (t) => {
  const { rig, post, signed } = await inbox(t);
  const message = dial('e1');
  const refused = [401, 'not_authenticated'];
  assert.deepEqual((await post(message)).what, refused);
  assert.deepEqual((await post(message, signed(message, 'guessed-1234'))).what, refused);
  assert.deepEqual((await post(`${JSON.stringify(message)} `, signed(message))).what, refused, 'its bytes');
  assert.deepEqual((await post(message, signed(message), '7')).what, refused);
  for (let n = 0; n < 6; n += 1) await post(message);
  const late = await post(message, signed(message));
  assert.deepEqual(late.what, [429, 'too_many_requests']);
  await rig.clock.advance(60_000);
  assert.deepEqual((await post(message, signed(message))).what, [200, ['call']]);
  assert.equal(rig.verbs.length, 1);
});
test('connectors inbox - all addresses of an IPv6 /64 share the limit of messages that are not proven', async (t) => {
  const { post, signed } = await inbox(t);
  const message = dial('e1');
  for (let n = 1; n <= 10; n += 1) await post(message, {}, '1', `2001:db8::${n}`);
  assert.equal((await post(message, signed(message), '1', '2001:db8::ffff')).status, 429);
  assert.equal((await post(message, signed(message), '1', '2001:db8:0:1::1')).status, 200);
});

test('connectors inbox - a customer that changed, is blocked or gone, and a note; a message without its fields is named', async (t) => {
  const { rig, post, signed } = await inbox(t);
  const send = (body: object | string) => post(body, signed(body));
  const customer = { id: 7, name: 'Anna Müller', phone: '+4930901820', blocked: true };
  const found = async () => {
    const { json } = await rig.call('GET', 'phonebook/lookup?number=030901820');
    return LookupReply.parse(json).customers.map((one) => [one.name, one.blocked]);
  };
  assert.deepEqual((await send({ event_id: 1, type: 'customer', data: customer })).what, [
    200,
    ['customer.changed'],
  ]);
  assert.deepEqual(await found(), [['Anna Müller', true]]);
  await send({ event_id: 2, type: 'gone', id: 7 });
  assert.deepEqual(await found(), []);
  await send({ event_id: 3, type: 'note', call: 'a:1', text: 'Called back' });
  assert.deepEqual(rig.verbs[0]?.slice(0, 4), ['note', 'connector:1', 'a:1', 'Called back']);
  assert.deepEqual((await send({ event_id: 4, type: 'other' })).what, [200, []]);
  assert.deepEqual((await send({ event_id: 5, type: 'dial' })).json['detail'], 'body: call has no person');
  assert.deepEqual((await send('{"a":')).json['detail'], 'body: neither JSON nor a form');
  assert.equal((await send(`"${'x'.repeat(65_536)}"`)).status, 413);
});

test('connectors inbox - a message that could not be acted on may come again', async (t) => {
  const { rig, post, signed } = await inbox(t);
  const message = dial('e1');
  const before = rig.verbs.push.bind(rig.verbs);
  rig.verbs.push = () => {
    throw new ServiceError('not_found', 'there is no person');
  };
  assert.deepEqual((await post(message, signed(message))).what, [404, 'not_found']);
  rig.verbs.push = before;
  assert.deepEqual((await post(message, signed(message))).json['repeated'], false);
});

test('connectors inbox - a token in a header, by basic sign-in, or in a form, and at most two messages a second', async (t) => {
  const basic = { authorization: `Basic ${Buffer.from(`crm:${SECRET}`).toString('base64')}` };
  for (const [verify, headers] of [
    [`{ header: X-Token, value: '{{ set.secret }}' }`, { 'x-token': SECRET }],
    [`{ basic: { user: crm, password: '{{ set.secret }}' } }`, basic],
  ] as const) {
    const { post } = await inbox(t, verify);
    assert.deepEqual((await post(dial('e1'))).status, 401);
    assert.deepEqual((await post(dial('e1'), headers)).what, [200, ['call']]);
  }
  const { rig, post } = await inbox(t, `{ body: '{{ body.token }}', value: '{{ set.secret }}' }`);
  const type = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' };
  const form = (n: number, token = SECRET) => `token=${token}&type=other&event_id=${n}`;
  assert.equal((await post(form(0, 'wrong'), type)).status, 401);
  for (let n = 1; n <= 120; n += 1) assert.equal((await post(form(n), type)).status, 200);
  assert.equal((await post(form(121), type)).status, 429);
  await rig.clock.advance(1_000);
  assert.equal((await post(form(121), type)).status, 200);
});

test('connectors inbox - Bitrix24: a number that is clicked is called by the person with the e-mail of the user, once', async (t) => {
  const source = await readFile(path.join(REPOSITORY, 'connectors/bitrix24.yaml'), 'utf8');
  const settings = {
    portal: 'acme.bitrix24.com',
    client: 'local.1',
    secret: 'geheim',
    application: SECRET,
  };
  const { session } = openForTest(t, source, settings);
  const form = (token: string) =>
    new URLSearchParams({
      event: 'ONEXTERNALCALLSTART',
      'data[USER_ID]': '7',
      'data[PHONE_NUMBER]': '+4930901820',
      'data[CALL_ID]': 'externalCall.1',
      'auth[application_token]': token,
    });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const read = (token: string) => session.inbox!({ headers, bytes: Buffer.from(form(token).toString()) });
  assert.deepEqual(read('other'), { kind: 'refused' });
  const wishes = [{ does: 'call', user: '7', number: '+4930901820' }];
  assert.deepEqual(read(SECRET), { kind: 'read', id: 'externalCall.1', wishes });
});

test('connectors inbox - a call of a user of the system is one of the person with the same e-mail', async (t) => {
  const rig = await connectorsRig(t);
  const users = "users: { get: /users, rows: '{{ answer }}', id: '{{ row.id }}', email: '{{ row.mail }}' }\n";
  const source = users + file(HMAC).replace("person: '{{ body.agent }}'", "user: '{{ body.agent }}'");
  await rig.create('find', { source, settings: { address: rig.crm.url, secret: SECRET } });
  const post = async (agent: string) => {
    const payload = JSON.stringify({ ...dial(agent), agent });
    const signature = createHmac('sha256', SECRET).update(payload).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-signature': `sha256=${signature}` };
    return (
      await rig.host.app.inject({ method: 'POST', url: '/api/v1/connectors/1/inbox', headers, payload })
    ).statusCode;
  };
  assert.equal(await post('u3'), 200);
  assert.equal(await post('u9'), 404);
  assert.deepEqual(
    rig.verbs.map((one) => one.slice(0, 3)),
    [['call', 'Bea@Example.test', '+4930901820']],
  );
});
