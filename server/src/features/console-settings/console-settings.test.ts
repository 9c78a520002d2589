import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConsoleSettingsReply } from '@offhook/contract/console-settings.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { addOperations } from '../../http/operations.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { authenticatorWithKeys, hostFixture } from '../../../test/support/host-fixture.ts';
import { createAudit } from '../audit/service.ts';
import { consoleSettingsOperations } from './operations.ts';
import { createConsoleSettings } from './service.ts';

const fixed = { site_zone: 'Europe/Istanbul', own_recordings: false };

test('console settings - read by everybody, set by administrators, in force at once, kept, audited', async (t) => {
  const { store, ...temp } = await temporaryStore();
  const audit = await createAudit(store, createVirtualClock(), silent);
  const open = () => createConsoleSettings({ store, audit, fixed });
  const site = await open();
  const host = await hostFixture({ authenticator: authenticatorWithKeys({ crm: {} }) });
  addOperations(host.app, [consoleSettingsOperations(site)]);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const ask = async (token: string, payload?: object) => {
    const reply = await host.app.inject({
      method: payload === undefined ? 'GET' : 'PUT',
      url: '/api/v1/settings/console',
      headers: { authorization: `Bearer ${token}` },
      ...(payload === undefined ? {} : { payload }),
    });
    return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
  };
  const initial = { crm_link: null, confirm_supervision: false };
  for (const token of ['token-user', 'token-admin', 'key-crm']) {
    const { body } = await ask(token);
    assert.deepEqual(
      ConsoleSettingsReply.parse(body).settings,
      { ...initial, second_factor: 'off', ...fixed },
      token,
    );
  }
  for (const token of ['token-user', 'token-agent', 'token-supervisor', 'key-crm']) {
    assert.equal((await ask(token, initial)).status, 403, token);
  }
  const wanted = {
    second_factor: 'off',
    crm_link: 'https://crm.example.com:8443/s?phone={number}&n={name}#{conversation}/{queue}',
    confirm_supervision: true,
  };
  for (const crm_link of [
    '',
    'crm.example.com/{number}',
    'javascript:alert(1)//{number}',
    'data:text/html,{name}',
    'ftp://crm.example.com/{number}',
    'https://',
    'https:///x',
    'https://{number}.example.com/',
    'https://crm.example.com{number}',
    'https://crm.example.com:{number}/',
    'https://user:pw@crm.example.com/',
    'https:\\\\crm.example.com',
    'https://crm.example.com/a b',
    'https://crm.example.com/\u0000',
    'https://crm.example.com/{phone}',
    'https://crm.example.com/{}',
    'https://crm.example.com/{number',
    'https://crm.example.com/number}',
    'https://crm.example.com/{{number}}',
    `https://crm.example.com/${'x'.repeat(1_000)}`,
    7,
  ]) {
    const { status, body } = await ask('token-admin', { ...wanted, crm_link });
    assert.deepEqual([status, body['code']], [400, 'invalid_request'], String(crm_link));
  }
  for (const bad of [
    {},
    { crm_link: null },
    { ...wanted, site_zone: 'UTC' },
    { ...wanted, own_recordings: true },
    [],
  ]) {
    assert.equal((await ask('token-admin', bad)).status, 400, JSON.stringify(bad));
  }
  assert.equal((await ask('token-admin', wanted)).status, 200);
  const { settings } = ConsoleSettingsReply.parse((await ask('token-user')).body);
  assert.deepEqual(settings, { ...wanted, ...fixed });
  assert.deepEqual((await open()).settings(), settings, 'a service after this one has them too');
  const { entries } = await audit.page({ limit: 10 });
  assert.deepEqual(
    entries.map((e) => [e.action, e.actor, e.outcome, e.detail['crm_link'], e.detail['was_crm_link']]),
    [['console.configure', 'admin', 'ok', wanted.crm_link, null]],
  );
});

test('console settings - of two changes at the same time, the second keeps what only the first one sets', async (t) => {
  const { store, ...temp } = await temporaryStore();
  const audit = await createAudit(store, createVirtualClock(), silent);
  t.after(async () => {
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const site = await createConsoleSettings({ store, audit, fixed });
  const actor = { caller: { username: 'admin' }, ip: null } as unknown as Parameters<typeof site.change>[0];
  await Promise.all([
    site.change(actor, { crm_link: null, confirm_supervision: false, second_factor: 'admin' }),
    site.change(actor, { crm_link: null, confirm_supervision: true }),
  ]);
  const { confirm_supervision, second_factor } = site.settings();
  assert.deepEqual([confirm_supervision, second_factor], [true, 'admin']);
});
