import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { AgentReply } from '@offhook/contract/agents.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { agentsRig } from '../../../test/support/agents-rig.ts';
import { hostFixture } from '../../../test/support/host-fixture.ts';
import { addOperations } from '../../http/operations.ts';
import { until } from '../../../test/support/until.ts';

const PATH = '/api/cc_actions/agent.php';
const SIGNED_IN = { authorization: 'Bearer token-agent' };
async function rig(t: TestContext) {
  const agents = await agentsRig(t);
  const host = await hostFixture();
  addOperations(host.app, [agents.agents.operations]);
  await host.app.ready();
  t.after(() => host.close());
  const post = (payload: string | object, headers: Record<string, string> = {}) =>
    host.app.inject({
      method: 'POST',
      url: PATH,
      payload,
      headers: { ...SIGNED_IN, 'content-type': 'application/json', ...headers },
    });
  const form = (payload: string) => post(payload, { 'content-type': 'application/x-www-form-urlencoded' });
  return { ...agents, host, post, form };
}

test('agents - the reply over HTTP is decoded by real clients, from JSON and from a form', async (t) => {
  const { post, form, pbx } = await rig(t);
  const login = await post({ action: 'login', extra: { unknown: ['ignored'] } });
  assert.equal(login.statusCode, 200, login.body);
  assert.equal(login.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(login.headers['cache-control'], 'no-store');
  const paused = await form('action=pause&reason=Lunch&queue=500&nothing=');
  assert.equal(paused.statusCode, 200, paused.body);
  const reply = AgentReply.strict().parse(paused.json());
  assert.deepEqual(
    [reply.agent_extension, reply.is_paused, reply.pause_reason, reply.status_key, reply.success],
    ['1003', true, 'lunch', 'PAUSED', true],
  );
  assert.deepEqual(pbx.shows('support'), ['1003 lunch']);
  const off = await form('action=toggle_queue&queue=sales&login=0');
  assert.equal(off.statusCode, 200, off.body);
  assert.deepEqual(pbx.shows('sales'), []);
});

test('agents - invalid bodies are 400 before anything is sent', async (t) => {
  const { post, form, pbx } = await rig(t);
  await post({ action: 'login' });
  const sent = pbx.sent.length;
  const bodies: unknown[] = [
    [],
    [{ action: 'pause' }],
    '"pause"',
    '5',
    'null',
    'true',
    '',
    '{"action":"pause"',
    {},
    { action: null },
    { action: 5 },
    { action: ['pause'] },
    { action: { $ne: '' } },
    { action: 'pause', reason: 5 },
    { action: 'pause', reason: ['lunch'] },
    { action: 'pause', reason: { id: 'lunch' } },
    { action: 'pause', reason: true },
    { action: 'pause', queue: 500 },
    { action: 'pause', queue: ['support', 'sales'] },
    { action: 'pause', queue: {} },
    { action: 'pause', queue: 'x'.repeat(65) },
    { action: 'pause', reason: 'x'.repeat(129) },
    ...[true, false, 2, -1, 1.5, '2', 'true', 'yes', '01', ' 1', [1], {}].map((login) => ({
      action: 'toggle_queue',
      queue: 'support',
      login,
    })),
  ];
  for (const body of bodies) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await post(text);
    assert.equal(reply.statusCode, 400, `${text} gave ${reply.statusCode}`);
    const problem = Problem.parse(reply.json());
    assert.equal(problem.error, problem.detail);
  }
  for (const text of [
    'action=pause&action=unpause',
    'action=pause&reason=a&reason=b',
    'action[]=pause',
    '',
  ]) {
    assert.equal((await form(text)).statusCode, 400, text);
  }
  assert.equal(pbx.sent.length, sent);
});

test('agents - a failure is a problem, never a success', async (t) => {
  const { post, pbx } = await rig(t);
  await post({ action: 'login' });
  pbx.script((s) => (s.queue === 'sales' ? { refuse: 'Interface not found' } : 'ok'));
  const refused = await post({ action: 'pause', reason: 'lunch' });
  assert.equal(refused.statusCode, 502);
  assert.match(refused.headers['content-type'] as string, /^application\/problem\+json/);
  const problem = Problem.parse(refused.json());
  assert.deepEqual([problem.success, problem.code], [false, 'engine_refused']);
  pbx.script((s) => (s.queue === 'sales' ? 'cut' : 'ok'));
  const cut = Problem.parse((await post({ action: 'pause', reason: 'lunch' })).json());
  assert.deepEqual([cut.status, cut.queues?.map((q) => q.queue)], [503, ['support', 'sales']]);
  const down = await post({ action: 'pause' });
  assert.equal(down.statusCode, 503);
  assert.ok(Number(down.headers['retry-after']) > 0);
});

test('agents - the level user is refused, and every request needs a session', async (t) => {
  const { post, pbx, host } = await rig(t);
  assert.equal((await post({ action: 'status' }, { authorization: 'Bearer token-user' })).statusCode, 403);
  assert.equal((await post({ action: 'status' }, { authorization: 'Bearer nobody' })).statusCode, 401);
  const get = await host.app.inject({ method: 'GET', url: PATH, headers: SIGNED_IN });
  assert.deepEqual([get.statusCode, get.headers.allow], [405, 'POST']);
  // A supervisor has the level agent, and is in no queue.
  const supervisor = await post({ action: 'pause' }, { authorization: 'Bearer token-supervisor' });
  assert.equal(supervisor.json<{ code: string }>().code, 'not_in_queue');
  assert.equal(pbx.sent.length, 0);
});

test('agents - a client that disconnects leaves no incomplete change', async (t) => {
  const { host, pbx, act } = await rig(t);
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  const { promise, resolve: release } = Promise.withResolvers<'ok'>();
  pbx.script(() => promise);
  const body = JSON.stringify({ action: 'login' });
  const socket = net.connect(port, '127.0.0.1');
  socket.write(
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-agent\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until('the engine to be asked', () => pbx.sent.length === 2);
  socket.destroy();
  await until('the connection to be gone', async () => {
    const open = await new Promise<number>((resolve) =>
      host.app.server.getConnections((_error, n) => resolve(n)),
    );
    return open === 0;
  });
  release('ok');
  await until(
    'both queues to have the agent',
    () => pbx.shows('support').length + pbx.shows('sales').length === 2,
  );
  const reply = await act({ action: 'get_status' });
  assert.deepEqual([reply.in_queue, reply.is_paused], [true, false]);
});
