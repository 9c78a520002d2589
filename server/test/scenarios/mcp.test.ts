import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewApiKey } from '@offhook/contract/keys.ts';
import { AuditPage } from '@offhook/contract/audit.ts';
import { createClient } from '@offhook/client';
import { dataOf, mcpClient } from '../support/mcp-clients.ts';
import type { ToolResult } from '../support/mcp-clients.ts';
import { inEngine, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const site = useSite();

test('mcp - a confirmed call of a tool pauses an agent in the real engine; the audit trail names the key and the program', async (t) => {
  const { base } = site();
  const zoe = await site().person('1003');
  await using phone = await site().phone('1003');
  await statusIs(zoe, 'READY', '');
  const admin = (await site().credentials()).find(({ level }) => level === 'admin')!;
  const { token } = await site().person(admin.extension);
  const rest = createClient({ base, token });
  const { key } = await rest.apiKeys.create(
    NewApiKey.parse({
      name: 'assistant',
      scopes: ['mcp:read', 'mcp:write', 'agents:read', 'agents:control', 'config:read', 'config:write'],
    }),
  );
  const shown: string[] = [];
  const client = await mcpClient('2026', base, key, { elicitation: { form: {} } });
  t.after(() => client.close());
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    shown.push(params.message);
    return { action: 'accept', content: { confirm: true } };
  });
  const call = async (name: string, args: object = {}): Promise<ToolResult> => {
    const result = await client.callTool({ name, arguments: args });
    assert.notEqual(result.isError, true, JSON.stringify(result.content).slice(0, 500));
    return result;
  };
  await call('agents_pause', { extension: '1003', reason: 'Lunch' });
  assert.match(shown[0]!, /agents_pause \{"extension":"1003","reason":"Lunch"\}/);
  await inEngine(site(), 'support', '1003', /paused:lunch/);
  await statusIs(zoe, 'PAUSED', 'lunch');
  const { agent } = dataOf(await call('agents_get', { extension: '1003' })) as {
    agent: { extension: string };
  };
  assert.equal(agent.extension, '1003');
  const trail = await until('both lines of the trail', async () => {
    const page = AuditPage.parse(await rest.audit({ actor: 'key:assistant' }));
    return page.entries.length >= 2 && page;
  });
  assert.deepEqual(
    trail.entries
      .map(({ action, object, detail }) => [action, object, detail['program'] ?? null])
      .toReversed(),
    [
      ['mcp.confirmed', 'agents_pause', 'test 1'],
      ['agent.pause', '1003', null],
    ],
  );
  assert.equal(phone.extension, '1003');

  const title = { op: 'patch', kind: 'queue', key: 'support', patch: { title: 'Help' } };
  await call('config_change', { changes: [title] });
  assert.match(JSON.stringify(dataOf(await call('config_plan'))), /Help/);
  const { tools } = await client.listTools();
  assert.ok(tools.length > 10);
  assert.ok(!tools.some(({ name }) => /appl(?!ies|y_state)/.test(name)), 'nothing here applies');
});
