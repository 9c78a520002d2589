import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import path from 'node:path';
import {
  ApiKeyCreated,
  ApiKeyReply,
  CALL_SCOPES,
  ApiKeys as List,
  MAX_API_KEYS,
} from '@offhook/contract/keys.ts';
import { Contacts } from '@offhook/contract/extensions.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { addOperations } from '../../http/operations.ts';
import { historyOf } from '../../rights/rights.ts';
import type { Caller } from '../../ports/http.ts';
import type { Store } from '../../ports/store.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { noCustomers, noRecordings } from '../../../test/support/conversations-rig.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { createFakePbx } from '../../../test/support/fake-engine.ts';
import { fixtureAuthenticator, hostFixture } from '../../../test/support/host-fixture.ts';
import { createAudit } from '../audit/service.ts';
import { createContacts } from '../contacts/feature.ts';
import { contactOperations } from '../contacts/operations.ts';
import { historyOperations } from '../history/operations.ts';
import { createHistoryService } from '../history/query/history-service.ts';
import { migrations as historyMigrations } from '../history/store/migrations.ts';
import { apiKeyOperations } from './operations.ts';
import { ApiKeys, isApiKey } from './service.ts';

async function rig(t: TestContext) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const open = (store: Store = temp.store) =>
    ApiKeys.open({ store, clock, directory, audit, log: silent, boardShows: () => undefined });
  const keys = await open();
  const pbx = createFakePbx(clock);
  const host = await hostFixture({
    authenticator: {
      authenticate: (token) =>
        isApiKey(token) ? keys.authenticate(token) : fixtureAuthenticator.authenticate(token),
    },
  });
  await temp.store.migrate('history', historyMigrations);
  const commands = addOperations(host.app, [apiKeyOperations(keys)]);
  addOperations(host.app, [contactOperations(createContacts({ directory, live: pbx.live, clock }))]);
  addOperations(host.app, [
    historyOperations(
      createHistoryService({
        store: temp.store,
        zone: 'UTC',
        cursor_key: async () => Buffer.alloc(32),
        recordings: noRecordings,
        directory,
      }),
      noCustomers,
    ),
  ]);
  await host.app.ready();
  pbx.linkUp();
  t.after(async () => {
    await host.close();
    await keys.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const call = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    body?: object,
    token = 'token-admin',
    headers: Record<string, string> = {},
  ) => {
    const reply = await host.app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: reply.statusCode, headers: reply.headers, text: reply.body, json: reply.json() };
  };
  const create = async (fields: object = {}) => {
    const reply = await call('POST', '/api/v1/api-keys', {
      name: 'crm',
      scopes: ['directory:read'],
      ...fields,
    });
    assert.equal(reply.status, 201, reply.text);
    return ApiKeyCreated.parse(reply.json);
  };
  return { temp, clock, directory, audit, open, keys, host, commands, call, create };
}
const CONTACTS = '/api/mobile/contacts.php';
const HISTORY = '/api/mobile/history.php';

test('api-keys - a key signs in where its scopes allow and nowhere else, and is shown once', async (t) => {
  const { call, create, temp } = await rig(t);
  const { api_key, key } = await create({ expires_at: null });
  assert.match(key, /^ohk_[A-Za-z0-9_-]{43}$/);
  assert.equal(api_key.created_by, '1001');
  assert.equal((await call('GET', CONTACTS, undefined, key)).status, 200);
  const refused = await call('GET', `${HISTORY}?extension=1001`, undefined, key);
  assert.deepEqual([refused.status, refused.json.code], [403, 'forbidden']);
  assert.match(refused.json.detail, /history:read/);
  // Routes without a scope are closed to every key, administration of keys among them.
  const own = await call('POST', '/api/v1/api-keys', { name: 'x', scopes: ['calls:read'] }, key);
  assert.equal(own.status, 403);
  assert.equal((await call('GET', '/api/v1/api-keys', undefined, key)).status, 403);

  const list = await call('GET', '/api/v1/api-keys');
  assert.deepEqual(
    List.parse(list.json).api_keys.map((k) => k.name),
    ['crm'],
  );
  const one = await call('GET', `/api/v1/api-keys/${api_key.id}`);
  assert.equal(ApiKeyReply.parse(one.json).api_key.last_used_at, '2026-11-21T09:00:00.000Z');
  const secret = key.slice(4);
  for (const { text } of [list, one]) assert.ok(!text.includes(secret));
  for (const file of ['offhook.db', 'offhook.db-wal']) {
    const bytes = await readFile(path.join(temp.folder, file));
    assert.ok(!bytes.includes(secret), `${file} holds the key itself`);
  }
});

test('api-keys - what is nearly a key is 401, and neither table is read for the other kind', async (t) => {
  const { call, create, keys, host } = await rig(t);
  const { key } = await create();
  const last = key.endsWith('A') ? 'B' : 'A';
  for (const wrong of [
    key.slice(0, -1) + last,
    key.slice(0, -1),
    `${key}A`,
    key.toUpperCase(),
    key.slice(4),
    `ohk_${'A'.repeat(43)}`,
    'ohk_',
  ]) {
    const reply = await call('GET', CONTACTS, undefined, wrong);
    assert.deepEqual([reply.status, reply.json.code], [401, 'not_authenticated'], wrong);
  }
  assert.equal(keys.authenticate('A'.repeat(43)), null);
  assert.equal(isApiKey('A'.repeat(43)), false, 'the token of a session');
  const cookie = { cookie: `offhook_session=${key}` };
  const planted = await host.app.inject({ url: CONTACTS, headers: cookie });
  assert.equal(planted.statusCode, 401, 'a key as a cookie');
  assert.equal((await call('GET', `${CONTACTS}?api_key=${key}`, undefined, key)).json.code, 'token_in_url');
});

test('api-keys - revoked or expired is 401 at once, and who listens is told once', async (t) => {
  const { call, create, clock, keys } = await rig(t);
  const ended: number[] = [];
  keys.onKeyEnded((id) => void ended.push(id));
  const first = await create();
  const second = await create({ name: 'wall', expires_at: '2026-11-21T09:01:00Z' });
  const type = { 'content-type': 'application/json' };
  const revoked = await call('DELETE', `/api/v1/api-keys/${first.api_key.id}`, undefined, undefined, type);
  assert.equal(revoked.status, 200, revoked.text);
  assert.equal((await call('GET', CONTACTS, undefined, first.key)).status, 401);
  assert.equal((await call('DELETE', `/api/v1/api-keys/${first.api_key.id}`)).status, 404);
  assert.deepEqual(ended, [first.api_key.id]);

  await clock.advance(59_999);
  await keys.tidy();
  assert.equal((await call('GET', CONTACTS, undefined, second.key)).status, 200);
  assert.notEqual(keys.rights(second.api_key.id), null);
  await clock.advance(1);
  assert.equal((await call('GET', CONTACTS, undefined, second.key)).status, 401);
  assert.equal(keys.rights(second.api_key.id), null);
  await keys.tidy();
  await keys.tidy();
  assert.deepEqual(ended, [first.api_key.id, second.api_key.id]);
  const later = { expires_at: '2026-11-21T10:00:00Z' };
  assert.equal((await call('PATCH', `/api/v1/api-keys/${second.api_key.id}`, later)).status, 200);
  assert.equal((await call('GET', CONTACTS, undefined, second.key)).status, 200, 'it lives again');
});

test('api-keys - the object set narrows the directory and the history', async (t) => {
  const { call, create, keys } = await rig(t);
  const { api_key, key } = await create({
    scopes: ['directory:read', 'history:read'],
    extensions: ['1003', '1005'],
  });
  const seen = async (query = '') => {
    const reply = await call('GET', CONTACTS + query, undefined, key);
    return Contacts.parse(reply.json).contacts.map((c) => c.extension);
  };
  assert.deepEqual(await seen(), ['1003', '1005']);
  assert.deepEqual(await seen('?q=ada'), []);
  assert.deepEqual(await seen('?limit=1&offset=1'), ['1005']);
  const tag = String((await call('GET', CONTACTS, undefined, key)).headers['etag']);
  assert.equal(
    (await call('GET', CONTACTS, undefined, 'token-user', { 'if-none-match': tag })).status,
    200,
    'the tag of a part is not the tag of the whole',
  );
  const history = async (query: string) => {
    const { status, json } = await call('GET', HISTORY + query, undefined, key);
    return [status, json.code];
  };
  assert.deepEqual(await history('?extension=1003'), [200, undefined]);
  assert.deepEqual(await history('?extension=1001'), [403, 'forbidden']);
  assert.deepEqual(await history(''), [400, 'invalid_request']);
  const hide = await call('POST', '/api/mobile/call_history.php', { action: 'clear' }, key);
  assert.equal(hide.status, 403);

  const ended: number[] = [];
  keys.onKeyEnded((id) => void ended.push(id));
  const changed = await call('PATCH', `/api/v1/api-keys/${api_key.id}`, { extensions: ['1005'] });
  assert.deepEqual(ApiKeyReply.parse(changed.json).api_key.extensions, ['1005']);
  assert.deepEqual(await seen(), ['1005'], 'from the next request on');
  assert.equal((await call('GET', CONTACTS, undefined, key, { 'if-none-match': tag })).status, 200);
  assert.deepEqual(ended, [api_key.id], 'its sockets begin anew');
});

test('api-keys - every change is in the audit trail, by whom, without the key', async (t) => {
  const { call, create, audit } = await rig(t);
  const { api_key, key } = await create();
  await call('PATCH', `/api/v1/api-keys/${api_key.id}`, { name: 'crm 2' });
  await call('DELETE', `/api/v1/api-keys/${api_key.id}`);
  const { entries } = await audit.page({});
  assert.deepEqual(
    entries.map((e) => [e.action, e.actor, e.object, e.detail['name']]),
    [
      ['api_key.revoked', '1001', `key:${api_key.id}`, 'crm 2'],
      ['api_key.changed', '1001', `key:${api_key.id}`, 'crm 2'],
      ['api_key.created', '1001', `key:${api_key.id}`, 'crm'],
    ],
  );
  assert.ok(!JSON.stringify(entries).includes(key.slice(4)));
});

test('api-keys - what is not understood is refused, and the number is bounded', async (t) => {
  const { call, create, keys } = await rig(t);
  await create({ name: 'taken' });
  const good = { name: 'a', scopes: ['calls:read'] };
  for (const [fields, code] of [
    [{ name: 'taken' }, 'name_taken'],
    [{ name: '' }, 'invalid_request'],
    [{ name: 'a\nb' }, 'invalid_request'],
    [{ name: 'x'.repeat(65) }, 'invalid_request'],
    [{ scopes: [] }, 'invalid_request'],
    [{ scopes: ['calls:all'] }, 'invalid_request'],
    [{ scopes: ['calls:read', 'calls:read'] }, 'invalid_request'],
    [{ queues: ['nowhere'] }, 'invalid_request'],
    [{ extensions: ['9999'] }, 'invalid_request'],
    [{ extensions: ['1001; drop'] }, 'invalid_request'],
    [{ expires_at: '2026-11-21T08:59:59Z' }, 'invalid_request'],
    [{ expires_at: 'tomorrow' }, 'invalid_request'],
    [{ level: 'admin' }, 'invalid_request'],
  ] as const) {
    const reply = await call('POST', '/api/v1/api-keys', { ...good, ...fields });
    assert.deepEqual([reply.json.code, JSON.stringify(fields)], [code, JSON.stringify(fields)]);
  }
  for (const level of ['user', 'agent', 'supervisor']) {
    assert.equal((await call('POST', '/api/v1/api-keys', good, `token-${level}`)).status, 403);
    assert.equal((await call('GET', '/api/v1/api-keys', undefined, `token-${level}`)).status, 403);
  }
  assert.equal((await call('PATCH', '/api/v1/api-keys/99', { name: 'b' })).status, 404);
  assert.equal((await call('GET', '/api/v1/api-keys/0')).status, 400);

  const caller = { extension: '1001' } as Caller;
  const wanted = { scopes: ['calls:read' as const], queues: null, extensions: null, expires_at: null };
  const both = await Promise.allSettled(
    ['twin', 'twin'].map((name) => keys.create({ caller, ip: null }, { ...wanted, name })),
  );
  assert.deepEqual(
    both.map((r) => (r.status === 'rejected' ? r.reason.code : r.status)),
    ['fulfilled', 'name_taken'],
  );
  for (let i = keys.list().length; i < MAX_API_KEYS; i += 1) {
    await keys.create({ caller, ip: null }, { ...wanted, name: `n${i}` });
  }
  const more = await call('POST', '/api/v1/api-keys', good);
  assert.deepEqual([more.status, more.json.code], [409, 'limit_reached']);
});

test('api-keys - a key limited to queues names its extensions for calls, history and recordings', async (t) => {
  const { call, create, keys, open, temp } = await rig(t);
  for (const scope of CALL_SCOPES) {
    const refused = await call('POST', '/api/v1/api-keys', {
      name: 'a',
      scopes: ['queues:read', scope],
      queues: ['sales'],
    });
    assert.deepEqual([refused.status, refused.json.code], [400, 'invalid_request']);
    assert.match(refused.json.detail, /^extensions: /);
  }
  const scopes = ['history:read'];
  const { api_key } = await create({ scopes, queues: ['sales'], extensions: [] });
  const patch = (fields: object) => call('PATCH', `/api/v1/api-keys/${api_key.id}`, fields);
  assert.equal((await patch({ extensions: null })).status, 400);
  assert.equal((await patch({ extensions: null, queues: null })).status, 200);
  assert.equal((await patch({ queues: ['sales'] })).status, 400);
  assert.equal((await patch({ queues: ['sales'], scopes: ['queues:read'] })).status, 200);
  assert.equal((await patch({ scopes })).status, 400);
  await create({ name: 'one', scopes, queues: ['sales'], extensions: ['1003'] });

  // A key of an earlier version keeps its fields, reaches no extension by this scope, and can still be renamed.
  await keys.close();
  await temp.store.transaction<{ api_keys: { id: number; scopes: string } }, unknown>((trx) =>
    trx.updateTable('api_keys').set({ scopes: '["history:read"]' }).where('id', '=', api_key.id).execute(),
  );
  const reopened = await open();
  t.after(() => reopened.close());
  const old = reopened.rights(api_key.id)!;
  assert.deepEqual([old.scopes, old.extensions], [scopes, null]);
  assert.deepEqual(historyOf({ extension: '', level: 'supervisor', key: old }), []);
  const by = { caller: { extension: '1001' } as Caller, ip: null };
  assert.equal((await reopened.change(by, api_key.id, { name: 'renamed' })).name, 'renamed');
});

test('api-keys - a key and when it was last used survive a restart; a command frame makes one too', async (t) => {
  const { call, create, clock, keys, open, commands } = await rig(t);
  const { api_key, key } = await create({ queues: ['sales'] });
  await clock.advance(5_000);
  await call('GET', CONTACTS, undefined, key);
  await keys.tidy();
  const again = await open();
  t.after(() => again.close());
  assert.deepEqual(again.one(api_key.id), { ...api_key, last_used_at: '2026-11-21T09:00:05.000Z' });
  const caller = again.authenticate(key);
  assert.equal(caller?.person_id, -api_key.id);
  assert.deepEqual(
    [caller.session_id, caller.extension, caller.username, caller.level],
    [0, '', 'key:crm', 'supervisor'],
  );
  assert.deepEqual(caller.key?.queues, ['sales']);

  const admin = await fixtureAuthenticator.authenticate('token-admin');
  const made = await commands.run({ caller: admin!, ip: null }, 'api_keys.create', {
    name: 'by frame',
    scopes: ['calls:read'],
  });
  assert.equal(ApiKeyCreated.parse(made).api_key.id, api_key.id + 1);
  await assert.rejects(commands.run({ caller, ip: null }, 'api_keys.revoke', { id: 1 }), {
    code: 'forbidden',
  });
});
