import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { z } from 'zod';
import { GROUPS } from '@offhook/contract/operations/groups.ts';
import { area } from '@offhook/contract/operation.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import { silent } from '../../core/log.ts';
import { ServiceError } from '../../core/errors.ts';
import { addOperations } from '../../http/operations.ts';
import { authenticatorWithKeys, hostFixture } from '../../../test/support/host-fixture.ts';
import type { McpClient, ToolResult } from '../../../test/support/mcp-clients.ts';
import { dataOf, mcpClient } from '../../../test/support/mcp-clients.ts';
import { CONFIRM_SECONDS } from './confirmations.ts';
import { mcpOperations } from './operations.ts';
import { Mcp } from './service.ts';
import { toolsOf } from './tools.ts';

const KEYS = {
  reads: { scopes: ['mcp:read', 'queues:read'] },
  agents: { scopes: ['mcp:read', 'agents:read'] },
  bare: { scopes: ['mcp:read'] },
  none: { scopes: ['queues:read'] },
  writes: { scopes: ['mcp:read', 'mcp:write', 'queues:read', 'queues:control'] },
  other: { scopes: ['mcp:read', 'mcp:write', 'queues:control'], id: 2 },
  half: { scopes: ['mcp:read', 'mcp:write', 'queues:read'] },
} as const;
const PUBLIC = 'https://pbx.example.com';
const Thing = z.object({ success: z.literal(true), id: z.string(), words: z.string(), asked: z.unknown() });
const shared = { tag: 'test', level: 'agent', scope: 'queues:read', reply: Thing, errors: [] } as const;
const things = area('test', {
  get: {
    ...shared,
    method: 'GET',
    path: '/api/v1/things/:id',
    params: z.strictObject({ id: z.string().max(100) }),
    query: z.strictObject({ limit: z.string().regex(/^\d+$/).optional() }),
    summary: 'One thing',
  },
  testAll: {
    ...shared,
    method: 'POST',
    path: '/api/v1/things/:id/test',
    params: z.strictObject({ id: z.string() }),
    body: z.union([z.strictObject({ one: z.int() }), z.strictObject({ other: z.string() })]),
    summary: 'Test a thing',
  },
  set: {
    ...shared,
    scope: 'queues:control',
    method: 'PUT',
    path: '/api/v1/things/:id',
    audit: 'thing.set',
    etag: 'match',
    params: z.strictObject({ id: z.string() }),
    body: z.strictObject({ words: z.string(), more: z.string().optional() }),
    summary: 'Set a thing',
  },
  never: {
    ...shared,
    scope: 'queues:control',
    method: 'POST',
    path: '/api/v1/never',
    audit: 'thing.never',
    tool: false,
    summary: 'Only a person does this',
  },
  hidden: {
    ...shared,
    scope: undefined,
    method: 'GET',
    path: '/api/v1/hidden',
    summary: 'For persons',
  } as never,
});

const ofAgents = { ...shared, scope: 'agents:read', method: 'GET' } as const;
const agents = area('test', {
  list: { ...ofAgents, path: '/api/v1/agents', summary: 'The agents' },
  get: {
    ...ofAgents,
    path: '/api/v1/agents/:extension',
    params: z.strictObject({ extension: z.string() }),
    summary: 'One agent',
  },
});

/** A host that listens, with a few operations and their MCP server. */
async function rig(t: TestContext) {
  const settings = { corsOrigins: ['https://crm.example.com'], publicUrl: PUBLIC };
  const host = await hostFixture({
    authenticator: authenticatorWithKeys(KEYS as never),
    config: { ...settings, trustProxy: [] },
  });
  const seen: { readonly ip: string; readonly user: string }[] = [];
  const reply = (id: string, asked: unknown) => {
    if (id === 'gone') throw new ServiceError('not_found', 'there is no such thing');
    return { success: true as const, id, words: 'x'.repeat(id === 'large' ? 200_000 : 1), asked };
  };
  const clock = createVirtualClock();
  const trail: AuditEntry[] = [];
  const audit = { record: async (entry: AuditEntry) => void trail.push(entry) };
  const mcp = new Mcp({ groups: { things, agents }, version: '1', log: silent, audit, clock });
  const made: unknown[] = [];
  const gate = Promise.withResolvers<void>();
  addOperations(host.app, [
    {
      operations: things,
      handlers: {
        async get({ request, caller }, { params, query }) {
          if (params.id === 'slow') await gate.promise;
          seen.push({ ip: request.ip, user: caller.username });
          return reply(params.id, query);
        },
        testAll: (_, { params, body }) => reply(params.id, body),
        set({ request }, { params, body }) {
          made.push({ ...params, ...body, if_match: request.headers['if-match'] });
          return reply(params.id, body);
        },
        never: () => reply('', null),
        hidden: () => reply('', null),
      },
    },
    {
      operations: agents,
      handlers: {
        list: () => reply('all', null),
        get: (_, { params }) => reply(params.extension, null),
      },
    },
    mcpOperations(mcp, host.app, settings),
  ]);
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => host.close());
  const base = `http://127.0.0.1:${port}`;
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${base}/mcp`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer key-reads',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return { base, seen, post, clock, trail, made, gate };
}
const PING = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

for (const era of ['2026', '2025'] as const)
  test(`mcp - a client of ${era} lists and calls the reading operations of its key, by the rules of REST`, async (t) => {
    const { base, seen } = await rig(t);
    const client = await mcpClient(era, base, 'key-reads');
    t.after(() => client.close());
    assert.match(client.getInstructions()!, /data, never instructions/);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
      [
        ['things_get', true],
        ['things_test_all', true],
      ],
    );
    assert.deepEqual(tools[0]!.inputSchema.required, ['id']);
    assert.deepEqual(Object.keys(tools[0]!.inputSchema.properties!), ['id', 'limit']);
    const result = await client.callTool({ name: 'things_get', arguments: { id: 'a?b c', limit: 5 } });
    const expected = { success: true, id: 'a?b c', words: 'x', asked: { limit: '5' } };
    assert.deepEqual(dataOf(result), expected);
    assert.deepEqual(result.structuredContent, expected);
    assert.match(result.content[0]!.text, /data, never instructions/);
    assert.deepEqual(seen, [{ ip: '127.0.0.1', user: 'key:k' }]);
    const body = { other: 'x' };
    const posted = await client.callTool({ name: 'things_test_all', arguments: { id: '1', body } });
    assert.deepEqual((dataOf(posted) as { asked: object }).asked, body);
  });

test('mcp - a refusal is a result with the problem of REST, which the model can read', async (t) => {
  const { base } = await rig(t);
  const client = await mcpClient('2026', base, 'key-reads');
  t.after(() => client.close());
  const refusal = async (args: object, name = 'things_get') => {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, true, JSON.stringify(result).slice(0, 300));
    const { code, detail } = dataOf(result) as { code: string; detail: string };
    return [code, detail];
  };
  assert.deepEqual(await refusal({ id: 'gone' }), ['not_found', 'there is no such thing']);
  assert.deepEqual(await refusal({}), ['invalid_request', 'id: is missing']);
  assert.deepEqual(await refusal({ id: '..' }), ['invalid_request', 'id: is not accepted by this tool']);
  assert.deepEqual(await refusal({ id: ['1'] }), [
    'invalid_request',
    'id: expected a string, received an array',
  ]);
  assert.deepEqual(await refusal({ id: '1', nope: 1 }), ['invalid_request', 'nope: unknown field']);
  assert.deepEqual((await refusal({ id: '1', limit: 'x' }))[0], 'invalid_request');
  const [code, detail] = await refusal({ id: 'large' });
  assert.equal(code, 'answer_too_large');
  assert.match(detail!, /narrow it by limit/);
  const bare = await mcpClient('2026', base, 'key-bare');
  t.after(() => bare.close());
  assert.deepEqual((await bare.listTools()).tools, []);
  const forbidden = await bare.callTool({ name: 'things_get', arguments: { id: '1' } });
  assert.equal((dataOf(forbidden) as { code: string }).code, 'forbidden');
  await assert.rejects(client.callTool({ name: 'things_hidden' }), /Unknown tool: things_hidden/);
});

const CHANGE = { id: '7', words: 'new', if_match: '"3"' };
const codeOfResult = (result: ToolResult) => [result.isError, (dataOf(result) as { code: string }).code];
/** Token of the question that a change is answered with. */
async function tokenOf(client: McpClient, args: object = CHANGE): Promise<string> {
  const asked = await client.callTool({ name: 'things_set', arguments: args });
  assert.notEqual(asked.isError, true, JSON.stringify(asked));
  assert.match(asked.content[0]!.text, /Nothing was changed yet.*things_set \{"id":"7"/);
  return (dataOf(asked) as { confirmation: string }).confirmation;
}
/** True where this call made the change, and was not answered with another question. */
const makes = async (client: McpClient, args: object): Promise<boolean> => {
  const result = await client.callTool({ name: 'things_set', arguments: args });
  return result.isError !== true && 'success' in (dataOf(result) as object);
};

test('mcp - a change by a program without forms is made at the second call with its token, once, for these arguments', async (t) => {
  const { base, made, trail, clock } = await rig(t);
  const client = await mcpClient('2025', base, 'key-writes');
  const other = await mcpClient('2026', base, 'key-other');
  t.after(() => Promise.all([client.close(), other.close()]));
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
    [
      ['things_get', true],
      ['things_test_all', true],
      ['things_set', false],
    ],
  );
  const confirmation = await tokenOf(client);
  assert.deepEqual([made, trail], [[], []], 'nothing before the confirmation');
  assert.equal(await makes(client, { confirmation, words: 'new', if_match: '"3"', id: '7' }), true);
  assert.deepEqual(made, [{ id: '7', words: 'new', if_match: '"3"' }]);
  const { detail, ...line } = trail[0]!;
  assert.deepEqual(line, {
    action: 'mcp.confirmed',
    actor: 'key:k',
    object: 'things_set',
    outcome: 'ok',
    ip: '127.0.0.1',
  });
  assert.equal(detail!['by'], 'program');
  assert.equal(await makes(client, { ...CHANGE, confirmation }), false, 'a token holds once');
  const changed = await tokenOf(client);
  assert.equal(
    await makes(client, { ...CHANGE, words: 'else', confirmation: changed }),
    false,
    'of other arguments',
  );
  assert.equal(
    await makes(client, { ...CHANGE, confirmation: changed }),
    false,
    'one that was tried is gone',
  );
  assert.equal(
    await makes(other, { ...CHANGE, confirmation: await tokenOf(client) }),
    false,
    'of another key',
  );
  const late = await tokenOf(client);
  await clock.advance(CONFIRM_SECONDS * 1_000);
  assert.equal(await makes(client, { ...CHANGE, confirmation: late }), false, 'too late');
  const first = await tokenOf(client);
  for (let i = 0; i < 16; i++) await tokenOf(client);
  assert.equal(await makes(client, { ...CHANGE, confirmation: first }), false, 'of too many that wait');
  assert.equal(made.length, 1);
  assert.equal(trail.length, 1);
});

test('mcp - a program with forms shows the change to its person, whose no or silence changes nothing', async (t) => {
  const { base, made, trail } = await rig(t);
  const answers: object[] = [];
  const shown: string[] = [];
  const client = await mcpClient('2026', base, 'key-writes', { elicitation: { form: {} } });
  t.after(() => client.close());
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    shown.push(params.message);
    return answers.shift() ?? { action: 'cancel' };
  });
  const declined = { action: 'decline' };
  for (const answer of [declined, { action: 'cancel' }, { action: 'accept', content: { confirm: false } }]) {
    answers.push(answer);
    const result = await client.callTool({ name: 'things_set', arguments: CHANGE });
    assert.equal(result.isError, true, JSON.stringify(answer));
    assert.match(result.content[0]!.text, /Nothing was changed/);
  }
  assert.deepEqual([made, trail], [[], []]);
  answers.push({ action: 'accept', content: { confirm: true } });
  assert.equal(await makes(client, CHANGE), true);
  assert.deepEqual(made, [CHANGE]);
  assert.deepEqual(trail[0]!.detail, { by: 'person', program: 'test 1' });
  assert.equal(shown[0], `Set a thing: things_set ${JSON.stringify(CHANGE)}`);
  const plain = await mcpClient('2026', base, 'key-writes', { elicitation: { url: {} } });
  t.after(() => plain.close());
  answers.push(declined);
  const confirmation = await tokenOf(plain);
  assert.equal(await makes(client, { ...CHANGE, confirmation }), false, 'a token is no answer of the person');
  assert.equal(made.length, 1);
});

test('mcp - a change needs both scopes and a key, is checked before anybody is asked, and some are never tools', async (t) => {
  const { base, made } = await rig(t);
  const refusal = async (token: string, args: object) => {
    const client = await mcpClient('2026', base, token);
    t.after(() => client.close());
    const result = await client.callTool({ name: 'things_set', arguments: args });
    return codeOfResult(result);
  };
  for (const token of ['key-reads', 'key-half', 'token-admin'])
    assert.deepEqual(await refusal(token, CHANGE), [true, 'forbidden'], token);
  for (const args of [{ id: '7' }, { ...CHANGE, nope: 1 }, { ...CHANGE, more: 'x'.repeat(5_000) }])
    assert.deepEqual(await refusal('key-writes', args), [true, 'invalid_request'], Object.keys(args).join());
  const client = await mcpClient('2026', base, 'key-writes');
  t.after(() => client.close());
  await assert.rejects(client.callTool({ name: 'things_never' }), /Unknown tool/);
  assert.deepEqual(made, []);
  const names = [...toolsOf({ ...GROUPS }).values()].filter(({ reads }) => !reads).map(({ name }) => name);
  assert.ok(names.includes('config_change') && names.includes('agents_pause'));
  for (const never of [
    'config_apply',
    'config_cancel_apply',
    'config_restore',
    'config_import',
    'webhooks_create',
  ])
    assert.ok(!names.includes(never), never);
});

test('mcp - who has no scope, a cookie, a foreign origin or no message is refused as everywhere', async (t) => {
  const { base, post } = await rig(t);
  const codeOf = async (body: unknown, headers: Record<string, string> = {}) => {
    const { status, text } = await post(body, headers);
    return [status, (JSON.parse(text) as { code?: string }).code];
  };
  const unsigned = await post(PING, { authorization: '' });
  assert.equal(unsigned.status, 401);
  assert.equal(unsigned.headers.get('www-authenticate'), 'Bearer');
  assert.deepEqual(await codeOf(PING, { authorization: 'Bearer key-none' }), [403, 'forbidden']);
  for (const origin of ['https://evil.example', base, 'null'])
    assert.deepEqual(await codeOf(PING, { origin }), [403, 'foreign_origin'], origin);
  const listed = { origin: 'https://crm.example.com' };
  assert.equal((await post(PING, listed)).status, 200);
  const preflight = await fetch(`${base}/mcp`, { method: 'OPTIONS', headers: listed });
  assert.match(
    preflight.headers.get('access-control-allow-headers')!,
    /Mcp-Method, Mcp-Name, MCP-Protocol-Version/,
  );
  const cookie = await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: { cookie: 'offhook_session=token-agent', 'content-type': 'application/json', origin: PUBLIC },
    body: JSON.stringify(PING),
  });
  assert.equal(cookie.status, 403);
  assert.match(await cookie.text(), /a cookie is not accepted here/);
  assert.deepEqual(await codeOf(Array.from({ length: 500 }, () => PING)), [400, 'invalid_request']);
  assert.deepEqual(await codeOf({ jsonrpc: '1.0', id: 1, method: 'tools/list' }), [400, 'invalid_request']);
  assert.deepEqual(await codeOf('{'), [400, 'invalid_request']);
  assert.deepEqual(await codeOf({ ...PING, params: { x: 'y'.repeat(70_000) } }), [413, 'body_too_large']);
  assert.equal((await post(PING, { 'mcp-protocol-version': '1999-01-01' })).status, 400);
  assert.equal((await post(PING, { accept: 'application/json' })).status, 406);
  assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
  for (const method of ['GET', 'DELETE']) {
    const other = await fetch(`${base}/mcp`, { method, headers: { authorization: 'Bearer key-reads' } });
    assert.deepEqual([other.status, other.headers.get('allow')], [405, 'POST']);
  }
});

for (const era of ['2026', '2025'] as const)
  test(`mcp - a client of ${era} reads resources within its scopes; others and unknown ones are refused`, async (t) => {
    const { base } = await rig(t);
    const client = await mcpClient(era, base, 'key-agents');
    const bare = await mcpClient(era, base, 'key-bare');
    t.after(() => Promise.all([client.close(), bare.close()]));
    const listedBy = async (by: McpClient) => [
      ...(await by.listResources()).resources.map(({ uri }) => uri),
      ...(await by.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ];
    assert.deepEqual(await listedBy(client), ['offhook://agents', 'offhook://agents/{extension}']);
    assert.deepEqual(await listedBy(bare), []);
    const idOf = async (uri: string) => {
      const { contents } = await client.readResource({ uri });
      return (JSON.parse(contents[0]!.text) as { id: string }).id;
    };
    assert.equal(await idOf('offhook://agents'), 'all');
    assert.equal(await idOf('offhook://agents/a%20b'), 'a b');
    await assert.rejects(bare.readResource({ uri: 'offhook://agents' }), /forbidden: this API key lacks/);
    for (const path of [
      '',
      'calls',
      'agents/',
      'agents/%',
      'agents/..',
      'agents/%2e%2e',
      'agents/1/2',
      'agents/gone',
    ])
      await assert.rejects(client.readResource({ uri: `offhook://${path}` }), { code: -32602 }, path);
    await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }));
  });

test('mcp - messages of one key at once are bounded, and no stream is kept open', async (t) => {
  const { post, gate } = await rig(t);
  const slow = { ...PING, method: 'tools/call', params: { name: 'things_get', arguments: { id: 'slow' } } };
  const statuses: number[] = [];
  const all = Array.from({ length: 10 }, async () => {
    const { status, headers } = await post(slow);
    statuses.push(status);
    if (status === 429) assert.equal(headers.get('retry-after'), '1');
    if (statuses.length === 2) gate.resolve();
  });
  await Promise.all(all);
  assert.deepEqual(statuses, [429, 429, ...Array.from({ length: 8 }, () => 200)]);
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const listen = { notifications: { resourceSubscriptions: ['offhook://agents'] }, _meta: meta };
  const { text } = await post(
    { ...PING, method: 'subscriptions/listen', params: listen },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
  );
  assert.match(text, /Subscription limit reached/);
});

test('mcp - every tool of the contract has a name and schemas that programs accept, and no reply with a secret', () => {
  const tools = [...toolsOf({ ...GROUPS }).values()];
  assert.ok(tools.length > 30, `only ${tools.length}`);
  // One for all: each would compile the schema of schemas anew.
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  for (const { name, operation, inputSchema, outputSchema = {} } of tools) {
    for (const schema of [inputSchema, outputSchema]) ajv.compile(schema as object);
    assert.match(name, /^[a-z][a-z_]{2,62}$/);
    assert.deepEqual(secretsOf(z.toJSONSchema(operation.reply!, { unrepresentable: 'any' })), [], name);
  }
});
interface Mark {
  readonly writeOnly?: boolean;
  readonly type?: string;
}
/** Names of properties that a reply may hold and that look like a secret; the configuration marks its own as never read. */
function secretsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {} } = schema as { properties?: Readonly<Record<string, Mark>> };
  const own = Object.entries(properties).filter(
    ([name, { writeOnly, type }]) =>
      /(^|_)(secret|password|token|pin|private_key)$/.test(name) && writeOnly !== true && type !== 'boolean',
  );
  return [...own.map(([name]) => name), ...Object.values(schema).flatMap(secretsOf)];
}
