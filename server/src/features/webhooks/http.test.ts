import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  MAX_WEBHOOKS,
  WebhookDeliveries,
  WebhookReply,
  WebhookSecretReply,
  WebhookTested,
  Webhooks as List,
} from '@offhook/contract/webhooks.ts';
import type { KeyRights } from '../../rights/rights.ts';
import { addOperations } from '../../http/operations.ts';
import { fixtureAuthenticator, hostFixture } from '../../../test/support/host-fixture.ts';
import { startSink } from '../../../test/support/webhook-sink.ts';
import { keyActor, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import { until } from '../../../test/support/until.ts';
import { webhookOperations } from './operations.ts';

const PATH = '/api/v1/webhooks';
const key = (id: number, scopes: KeyRights['scopes']): KeyRights => ({
  id,
  name: `key ${id}`,
  scopes,
  queues: null,
  extensions: null,
});
async function site(t: TestContext) {
  const rig = await webhooksRig(t);
  const keys = [key(1, ['webhooks:manage', 'directory:read']), key(2, ['directory:read'])];
  for (const each of keys) rig.keys.set(each.id, each);
  const host = await hostFixture({
    authenticator: {
      authenticate: async (token) => {
        const rights = keys.find(({ id }) => token === `key-${id}`);
        return rights === undefined ? fixtureAuthenticator.authenticate(token) : keyActor(rights).caller;
      },
    },
  });
  const commands = addOperations(host.app, [webhookOperations(rig.webhooks.service)]);
  await host.app.ready();
  t.after(() => host.close());
  const call = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    body?: unknown,
    who = 'token-admin',
  ) => {
    const reply = await host.app.inject({
      method,
      url: PATH + url,
      headers: { authorization: `Bearer ${who}` },
      ...(body === undefined ? {} : { payload: body as object }),
    });
    return { status: reply.statusCode, text: reply.body, json: reply.json() };
  };
  return { rig, call, commands };
}

test('webhooks over HTTP - made, read, changed, rotated, tested, replayed, deleted; secrets are shown once', async (t) => {
  const { rig, call } = await site(t);
  await using sink = await startSink();
  const made = await call('POST', '', { url: `${sink.url}?key=s3cret`, topics: ['presence'] });
  assert.equal(made.status, 201, made.text);
  const { webhook, secret } = WebhookSecretReply.parse(made.json);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual([webhook.enabled, webhook.types, webhook.created_by], [true, null, '1001']);
  rig.happen(2);
  await until('both', () => rig.one(webhook.id).cursor === 2);
  const one = await call('GET', `/${webhook.id}`);
  assert.equal(WebhookReply.parse(one.json).webhook.cursor, 2);
  const list = await call('GET', '');
  assert.equal(List.parse(list.json).webhooks.length, 1);
  for (const { text } of [one, list]) assert.ok(!text.includes(secret.slice(6)));
  const log = await call('GET', `/${webhook.id}/deliveries?limit=1&state=delivered`);
  const page = WebhookDeliveries.parse(log.json);
  assert.equal(page.deliveries[0]!.seq, 2);
  const older = (query: string) =>
    call('GET', `/${webhook.id}/deliveries?cursor=${page.next_cursor}${query}`);
  const next = WebhookDeliveries.parse((await older('&state=delivered')).json);
  assert.deepEqual([next.deliveries.map(({ seq }) => seq), next.next_cursor], [[1], null]);
  const mixed = await older('&state=parked');
  assert.deepEqual([mixed.status, mixed.json.code], [400, 'invalid_request']);

  const changed = await call('PATCH', `/${webhook.id}`, { description: 'CRM', types: ['presence.changed'] });
  assert.equal(WebhookReply.parse(changed.json).webhook.description, 'CRM');
  const rotated = await call('POST', `/${webhook.id}/rotate-secret`, {});
  assert.equal(rotated.status, 200, rotated.text);
  assert.notEqual(WebhookSecretReply.parse(rotated.json).secret, secret);
  const tested = await call('POST', `/${webhook.id}/test`, {});
  assert.equal(WebhookTested.parse(tested.json).status, 200);
  const replay = await call('POST', `/${webhook.id}/replay`, { from: 1, to: 2 });
  assert.equal(replay.status, 202, replay.text);
  await until('the replay', () => rig.one(webhook.id).replay === null);
  assert.equal((await call('DELETE', `/${webhook.id}`)).status, 200);
  assert.equal((await call('GET', `/${webhook.id}`)).status, 404);
  rig.happen(1);
  const { entries } = await rig.audit.page({});
  assert.deepEqual(
    entries.map((e) => [e.action, e.actor, e.object, e.detail['target']]),
    ['deleted', 'replayed', 'secret_rotated', 'changed', 'created'].map((what) => [
      `webhook.${what}`,
      '1001',
      `webhook:${webhook.id}`,
      new URL(sink.url).origin,
    ]),
  );
  assert.ok(!JSON.stringify(entries).includes('s3cret'), 'the rest of an address may be a secret');
  assert.equal(sink.received.length, 5);
});

test('webhooks over HTTP - refused if none of its types is published on its topics', async (t) => {
  const { call } = await site(t);
  const url = 'https://crm.example.com/hook';
  const make = (topics: string[], types: string[]) =>
    call('POST', '', { url, topics, types, enabled: false });
  const refused = await make(['presence', 'queues/support'], ['call.ended', 'agent.ready']);
  assert.deepEqual(
    [refused.status, refused.json.code, refused.json.detail],
    [
      400,
      'invalid_request',
      'types: none of them is published on presence, queues/support; call.ended is on calls, calls/mine',
    ],
  );
  for (const [topics, types] of [
    [['calls'], ['call.ended', 'agent.ready']],
    [['queues/support'], ['callback.changed']],
    [['alerts'], ['call.emergency']],
    [['presence/1001'], ['engine.link_down']],
  ] as const) {
    assert.equal((await make([...topics], [...types])).status, 201, types.join());
  }
  const { webhook } = WebhookSecretReply.parse((await make(['calls'], ['call.ended'])).json);
  const change = async (body: object) => (await call('PATCH', `/${webhook.id}`, body)).status;
  assert.equal(await change({ types: ['presence.changed'] }), 400);
  assert.equal(await change({ topics: ['presence'] }), 400);
  assert.equal(await change({ topics: ['presence'], types: ['presence.changed'] }), 200);
  assert.equal(await change({ types: null, topics: ['agents'] }), 200);
});

test('webhooks over HTTP - for administrators and keys with the scope; an invalid request is refused', async (t) => {
  const { rig, call, commands } = await site(t);
  const good = { url: 'https://crm.example.com/hook', topics: ['presence'], enabled: false };
  for (const who of ['token-user', 'token-agent', 'token-supervisor', 'key-2']) {
    assert.equal((await call('POST', '', good, who)).status, 403, who);
    assert.equal((await call('GET', '', undefined, who)).status, 403, who);
  }
  assert.equal((await call('POST', '', good, 'nobody')).status, 401);
  const own = await call('POST', '', good, 'key-1');
  assert.equal(WebhookSecretReply.parse(own.json).webhook.created_by, 'key:key 1');
  const byFrame = await commands.run(keyActor(rig.keys.get(1)!), 'webhooks.create', good);
  assert.equal(WebhookSecretReply.parse(byFrame).webhook.url, good.url);
  for (const [fields, code] of [
    [{ url: 'http://127.0.0.2/' }, 'webhook_target_refused'],
    [{ url: 'http://169.254.169.254/' }, 'webhook_target_refused'],
    [{ url: 'http://[::ffff:10.0.0.1]/' }, 'webhook_target_refused'],
    [{ url: 'http://2130706433/' }, 'webhook_target_refused'],
    [{ url: 'https://user:pass@crm.example.com/' }, 'webhook_target_refused'],
    [{ url: 'https://crm.example.com:22/' }, 'webhook_target_refused'],
    [{ url: 'file:///etc/passwd' }, 'webhook_target_refused'],
    [{ url: 'nothing' }, 'invalid_request'],
    [{ url: `https://crm.example.com/${'x'.repeat(2_048)}` }, 'invalid_request'],
    [{ url: ['https://crm.example.com/'] }, 'invalid_request'],
    [{ topics: [] }, 'invalid_request'],
    [{ topics: ['everything'] }, 'invalid_request'],
    [{ topics: Array.from({ length: 65 }, (_, i) => `presence/${i}`) }, 'invalid_request'],
    [{ types: ['call.exploded'] }, 'invalid_request'],
    [{ types: [] }, 'invalid_request'],
    [{ description: 'a\nb' }, 'invalid_request'],
    [{ secret: 'whsec_mine' }, 'invalid_request'],
    [{ enabled: 'yes' }, 'invalid_request'],
  ] as const) {
    const reply = await call('POST', '', { ...good, ...fields });
    assert.deepEqual(
      [reply.status, reply.json.code, JSON.stringify(fields)],
      [400, code, JSON.stringify(fields)],
    );
  }
  assert.equal((await call('POST', '', { ...good, topics: ['calls'] }, 'key-1')).json.code, 'forbidden');
  const { id } = own.json.webhook;
  for (const body of [
    { from: 0, to: 1 },
    { from: 2, to: 1 },
    { from: 1.5, to: 2 },
    { from: -1, to: 1 },
    { from: 1 },
    {},
  ]) {
    assert.equal((await call('POST', `/${id}/replay`, body)).status, 400, JSON.stringify(body));
  }
  for (const query of ['limit=0', 'limit=201', 'cursor=x', 'state=lost', 'order=desc']) {
    assert.equal((await call('GET', `/${id}/deliveries?${query}`)).status, 400, query);
  }
  assert.equal(
    (await call('PATCH', `/${id}`, { url: 'http://10.0.0.1/' })).json.code,
    'webhook_target_refused',
  );
  for (const path of ['/999', '/999/deliveries']) assert.equal((await call('GET', path)).status, 404, path);
  assert.equal((await call('GET', '/abc')).status, 400);
  for (let i = rig.webhooks.figures().webhooks; i < MAX_WEBHOOKS; i += 1) {
    await rig.create({ url: good.url, enabled: false });
  }
  const more = await call('POST', '', good);
  assert.deepEqual([more.status, more.json.code], [409, 'limit_reached']);
});
