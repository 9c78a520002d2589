import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { AgentsSnapshot } from '@offhook/contract/agents.ts';
import type { Agent } from '@offhook/contract/agents.ts';
import { agentsRig, callerOf } from '../../../test/support/agents-rig.ts';
import {
  demoPeople,
  demoQueues,
  demoReasons,
  directoryFixture,
  reasonFixture,
} from '../../../test/support/directory-fixture.ts';
import { hostFixture } from '../../../test/support/host-fixture.ts';
import type { ServiceError } from '../../core/errors.ts';
import { addOperations } from '../../http/operations.ts';
import type { Caller } from '../../ports/http.ts';

async function rig(t: TestContext) {
  const reasons = [
    ...demoReasons(),
    reasonFixture('coaching', 'Coaching', { supervisor_only: true, paid: false }),
  ];
  const directory = directoryFixture(demoPeople(), demoQueues(), reasons);
  const agents = await agentsRig(t, { directory });
  const host = await hostFixture();
  const commands = addOperations(host.app, [agents.agents.operations]);
  await host.app.ready();
  t.after(() => host.close());
  const as = (level: string) => (method: 'GET' | 'POST', path: string, body?: object) =>
    host.app.inject({
      method,
      url: `/api/v1/${path}`,
      headers: { authorization: `Bearer token-${level}`, 'content-type': 'application/json' },
      ...(method === 'GET' ? {} : { payload: JSON.stringify(body ?? {}) }),
    });
  const key = (scopes: string[], extensions: string[] | null, queues: string[] | null = null): Caller =>
    ({
      ...callerOf(directory, '1002'),
      extension: '',
      username: 'key:crm',
      key: { id: 1, name: 'crm', scopes, queues, extensions },
    }) as Caller;
  const command = (who: string | Caller, action: string, data?: object) =>
    commands.run(
      { caller: typeof who === 'string' ? callerOf(directory, who) : who, ip: null },
      action,
      data,
    ) as Promise<{ agent: { extension: string; state: string } }>;
  const refused = async (who: string | Caller, action: string, data?: object): Promise<string> =>
    ((await command(who, action, data).catch((e: unknown) => e)) as ServiceError).code;
  return { ...agents, directory, as, key, command, refused };
}

test('agents api - a supervisor reads all agents, an agent itself, a user none', async (t) => {
  const { as, act } = await rig(t);
  await act({ action: 'login' });
  const all = await as('supervisor')('GET', 'agents');
  assert.equal(all.statusCode, 200, all.body);
  assert.deepEqual(
    all.json().agents.map((a: { extension: string; state: string }) => [a.extension, a.state]),
    [
      ['1003', 'available'],
      ['1004', 'logged_out'],
    ],
  );
  const own = await as('agent')('GET', 'agents');
  assert.deepEqual(
    own.json().agents.map((a: { extension: string }) => a.extension),
    ['1003'],
  );
  assert.equal((await as('user')('GET', 'agents')).statusCode, 403);
  const one = (await as('agent')('GET', 'agents/1003')).json().agent;
  assert.deepEqual([one.extension, one.session, one.queues.length], ['1003', 'logged_in', 2]);
  for (const [level, path, status] of [
    ['agent', 'agents/1004', 403],
    ['supervisor', 'agents/1001', 404],
    ['supervisor', 'agents/nobody', 400],
  ] as const) {
    assert.equal((await as(level)('GET', path)).statusCode, status, path);
  }
});

test('agents api - an agent changes itself, a supervisor others, by REST, each audited with its actor', async (t) => {
  const { as, pbx, trail } = await rig(t);
  assert.equal((await as('agent')('POST', 'agents/1003/login')).statusCode, 200);
  const paused = await as('agent')('POST', 'agents/1003/pause', { reason: 'Lunch', queue: '500' });
  assert.equal(paused.statusCode, 200, paused.body);
  assert.equal(paused.json().agent.readiness.source, 'agent');
  const forced = await as('supervisor')('POST', 'agents/1003/unpause');
  assert.deepEqual(
    [forced.json().agent.state, forced.json().agent.readiness.source],
    ['available', 'supervisor'],
  );
  const other = await as('agent')('POST', 'agents/1004/login');
  assert.deepEqual([other.statusCode, other.json().code], [403, 'forbidden']);
  assert.equal((await as('user')('POST', 'agents/1005/login')).statusCode, 403);
  assert.equal((await as('supervisor')('POST', 'agents/1001/login')).statusCode, 404);
  assert.deepEqual(
    trail.map(({ action, actor, object, outcome }) => [action, actor, object, outcome].join(' ')),
    [
      'agent.login agent 1003 ok',
      'agent.pause agent 1003 ok',
      'agent.unpause supervisor 1003 ok',
      'agent.unknown agent 1004 refused',
      'agent.unknown supervisor 1001 refused',
    ],
  );
  const sent = pbx.sent.length;
  for (const [path, body] of [
    ['agents/1003/pause', { reason: 'lunch', extra: 1 }],
    ['agents/1003/pause', { reason: 7 }],
    ['agents/1003/pause', { queue: ['500'] }],
    ['agents/1003/wrap-up', {}],
    ['agents/1003/wrap-up', { finish: true, extend_seconds: 5 }],
    ['agents/1003/wrap-up', { finish: false }],
    ['agents/1003/wrap-up', { extend_seconds: 0 }],
    ['agents/1003/wrap-up', { extend_seconds: 1e9 }],
    ['agents/1003/cancel-pending', { x: 1 }],
  ] as const) {
    const answer = await as('agent')('POST', path, body);
    assert.deepEqual(
      [answer.statusCode, answer.json().code],
      [400, 'invalid_request'],
      `${path} ${JSON.stringify(body)}`,
    );
  }
  assert.equal(pbx.sent.length, sent);
});

test('agents api - a reason for supervisors is refused to an agent, by every interface', async (t) => {
  const { as, act, fails, pbx } = await rig(t);
  await act({ action: 'login' });
  const own = await as('agent')('POST', 'agents/1003/pause', { reason: 'coaching' });
  assert.deepEqual([own.statusCode, own.json().code], [403, 'forbidden']);
  assert.equal((await fails({ action: 'pause', reason: 'Coaching' })).code, 'forbidden');
  assert.deepEqual(pbx.shows('support'), ['1003 ready']);
  const by = await as('supervisor')('POST', 'agents/1003/pause', { reason: 'coaching' });
  assert.deepEqual([by.statusCode, by.json().agent.readiness.reason], [200, 'coaching']);
});

test('agents api - the catalogue of reasons, with the longest time of each', async (t) => {
  const { as } = await rig(t);
  assert.deepEqual((await as('agent')('GET', 'pause-reasons')).json().pause_reasons, [
    { id: 'break', name: 'Break', paid: true, longest_seconds: 900, supervisor_only: false },
    { id: 'lunch', name: 'Lunch', paid: true, longest_seconds: null, supervisor_only: false },
    { id: 'meeting', name: 'Meeting', paid: true, longest_seconds: null, supervisor_only: false },
    { id: 'coaching', name: 'Coaching', paid: false, longest_seconds: null, supervisor_only: true },
  ]);
});

test('agents api - commands work by either name; the own extension may be left out, a key must name one of its own', async (t) => {
  const { command, refused, key, act } = await rig(t);
  await act({ action: 'login' });
  const mine = await command('1003', 'agent.pause', { reason: 'lunch' });
  assert.deepEqual([mine.agent.extension, mine.agent.state], ['1003', 'not_ready']);
  assert.equal((await command('1002', 'agents.unpause', { extension: 1003 })).agent.state, 'available');
  assert.equal(await refused('1003', 'agent.pause', { extension: '1004' }), 'forbidden');
  assert.equal(await refused('1003', 'agent.pause', { extension: null }), 'invalid_request');
  const crm = key(['agents:control'], ['1003']);
  assert.equal((await command(crm, 'agent.pause', { extension: '1003' })).agent.state, 'not_ready');
  assert.equal(await refused(crm, 'agent.pause', { extension: '1004' }), 'forbidden');
  assert.equal(await refused(crm, 'agent.pause'), 'invalid_request');
  assert.equal(await refused(key(['agents:read'], null), 'agent.pause', { extension: '1003' }), 'forbidden');
});

test('agents api - the state of the topic equals the list, limited to the visible agents', async (t) => {
  const { agents, act } = await rig(t);
  await act({ action: 'login' });
  const all = AgentsSnapshot.parse(agents.snapshot(null, 0));
  assert.deepEqual(
    all.agents.map((a) => a.extension),
    ['1003', '1004'],
  );
  assert.deepEqual(AgentsSnapshot.parse(agents.snapshot(['1004', '9999'], 0)).agents, [all.agents[1]]);
  assert.deepEqual(AgentsSnapshot.parse(agents.snapshot([], 0)).agents, []);
});

test('agents api - a key limited to queues changes an agent in these queues only', async (t) => {
  const { command, refused, key, pbx } = await rig(t);
  const sales = key(['agents:control'], null, ['sales']);
  const extension = '1003';
  await command(sales, 'agents.login', { extension });
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [[], ['1003 ready']]);
  await command('1003', 'agents.login');
  for (const action of ['agents.login', 'agents.logout', 'agents.pause', 'agents.unpause']) {
    for (const queue of ['support', '500', 'nowhere']) {
      assert.equal(await refused(sales, action, { extension, queue }), 'no_such_queue', `${action} ${queue}`);
    }
  }
  const { message } = (await command(sales, 'agents.pause', { extension, reason: 'lunch' })) as unknown as {
    message: string;
  };
  assert.equal(message, 'Paused in sales: lunch');
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 ready'], ['1003 lunch']]);
  await command(sales, 'agents.unpause', { extension, queue: '510' });
  await command(sales, 'agents.logout', { extension });
  assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 ready'], []]);
});

test('agents api - a key limited to queues sees an agent without its other queues', async (t) => {
  const { agents, run, act, key, pbx } = await rig(t);
  await act({ action: 'login' });
  const call = pbx.offer('support', '1003');
  const sales = key(['agents:read', 'agents:control'], null, ['sales']);
  const seen = ({ state, queue, call_id, offer_id, queues }: Agent) => [
    state,
    queue,
    call_id,
    offer_id,
    queues.map((one) => one.queue),
  ];
  const cut = ['offered', null, null, null, ['sales']];
  const [first] = agents.list(sales).agents;
  assert.deepEqual([seen(agents.one(sales, '1003').agent), seen(first!)], [cut, cut]);
  const reply = (await run(sales, 'agents.pause', { extension: '1003', reason: 'lunch' })) as {
    agent: Agent;
  };
  assert.deepEqual(seen(reply.agent), cut);
  const support = key(['agents:read'], null, ['support']);
  assert.deepEqual(seen(agents.one(support, '1003').agent).slice(0, 3), ['offered', 'support', call.id]);
});

test('agents api - a person that is not an agent cannot become a member; an agent outside this queue gets an error', async (t) => {
  const { agents, directory } = await rig(t);
  directory.setQueues(directory.queues().map((q) => (q.name === 'sales' ? { ...q, agents: ['1004'] } : q)));
  const by = { caller: callerOf(directory, '1002'), ip: null };
  await assert.rejects(agents.memberships.join(by, '9999', 'support'), {
    code: 'not_found',
    message: '9999 is not an agent',
  });
  await assert.rejects(agents.memberships.leave(by, '9999', 'support'), { code: 'not_found' });
  await assert.rejects(agents.memberships.join(by, '1003', 'sales'), {
    code: 'not_in_queue',
    message: '1003 is not an agent of sales',
  });
});

/** Sends a change of 1003, and returns its agent events, each with whether it carries the operation id. */
const ledBy =
  ({ as, pbx, trail }: Awaited<ReturnType<typeof rig>>) =>
  async (path: string, body: object = {}) => {
    const before = pbx.published.length;
    const reply = await as('agent')('POST', `agents/1003/${path}`, body);
    assert.equal(reply.statusCode, 200, reply.body);
    const { operation_id } = trail.at(-1)?.detail ?? {};
    const events = pbx.published.slice(before).filter(({ type }) => type.startsWith('agent.'));
    return { operation_id, of: events.map(({ type, caused_by }) => [type, caused_by === operation_id]) };
  };

test('agents api - events of a change carry its operation id, as does the audit entry; other events carry none', async (t) => {
  const made = await rig(t);
  const { pbx } = made;
  const led = ledBy(made);
  const login = await led('login');
  assert.match(String(login.operation_id), /^agent-[0-9a-f-]{36}$/);
  const twice = (type: string) => [
    [type, true],
    [type, true],
  ];
  assert.deepEqual(
    login.of.filter(([type]) => type === 'agent.logged_in'),
    twice('agent.logged_in'),
  );
  assert.ok(login.of.every(([, own]) => own));
  assert.deepEqual((await led('pause', { reason: 'lunch' })).of, twice('agent.not_ready'));
  assert.deepEqual((await led('unpause', { queue: 'support' })).of, [['agent.ready', true]]);
  assert.deepEqual((await led('logout')).of, twice('agent.logged_out'));
  pbx.member('support', '1003');
  assert.equal(pbx.published.at(-1)?.caused_by, undefined);
});

test('agents api - events of a change during a wrap-up carry its operation id, those of the phone after it none', async (t) => {
  const made = await rig(t);
  const { agents, clock, pbx } = made;
  const led = ledBy(made);
  await led('login');
  const wrapsUp = async (): Promise<void> => {
    const call = pbx.offer('support', '1003');
    call.answer();
    call.release();
    await clock.advance(0);
    await agents.idle();
    assert.deepEqual([pbx.shows('support'), pbx.shows('sales')], [['1003 wrapup'], ['1003 wrapup']]);
  };
  await wrapsUp();
  assert.deepEqual((await led('wrap-up', { finish: true })).of, [['agent.ready', true]]);
  await wrapsUp();
  assert.deepEqual((await led('unpause')).of, [['agent.ready', true]]);
  await wrapsUp();
  await led('pause', { reason: 'lunch' });
  assert.deepEqual((await led('cancel-pending')).of, [
    ['agent.ready', true],
    ['agent.ready', true],
    ['agent.pending_changed', true],
  ]);
  await led('pause', { reason: 'lunch' });
  assert.deepEqual((await led('wrap-up', { finish: true })).of, [['agent.not_ready', true]]);
  const before = pbx.published.length;
  for (const fields of [
    { paused: false, paused_reason: '' },
    { paused: true, paused_reason: 'break' },
  ])
    for (const queue of ['support', 'sales']) pbx.member(queue, '1003', fields);
  assert.deepEqual(
    pbx.published.slice(before).filter((event) => event.caused_by !== undefined),
    [],
  );
});
