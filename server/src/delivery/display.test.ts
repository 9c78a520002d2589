import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Agent, AgentQueue } from '@offhook/contract/agents.ts';
import type { Queue } from '@offhook/contract/queues.ts';
import { authenticatorWithKeys } from '../../test/support/host-fixture.ts';
import { openSse } from '../../test/support/sse-client.ts';
import { streamRig } from '../../test/support/stream-rig.ts';
import { sourcesOf } from '../../test/support/topic-sources.ts';
import { until } from '../../test/support/until.ts';
import type { CallersShown } from '../rights/rights.ts';
import { loggedOut } from '../pbx/agent-state.ts';

const NUMBER = '+4915112345678';
const CALLER = { number: NUMBER, name: 'Erika Mustermann' };
/** Texts that no frame of the display of the `support` board contains. */
const SECRETS = [NUMBER, 'Erika', 'vip', 'c-vip', 'c-private'];
const AT = Date.UTC(2026, 10, 21, 12);

const joined: DomainEvent = {
  type: 'queue.caller_joined',
  subject: 'queues/support',
  at: AT,
  observed: 'live',
  data: {
    call_id: 'c1',
    queue: 'support',
    leg_id: 'l1',
    caller: CALLER,
    position: 1,
    joined_at: '2026-11-21T12:00:00.000Z',
  },
};
const talking = (queue: string | null, call_id: string): DomainEvent => ({
  type: 'agent.talking',
  subject: 'agents/1003',
  at: AT,
  observed: 'live',
  data: {
    extension: '1003',
    queue: queue ?? '',
    call_id,
    agent: { ...summary('talking'), queue, call_id, offer_id: queue && `${queue}:l:PJSIP` },
  },
});
const summary = (state: Agent['state']) => ({ ...loggedOut('1003', 'Zoe', 0), state });
const membership = (queue: string): AgentQueue => ({
  queue,
  member: true,
  membership: 'dynamic',
  paused: false,
  pause_reason: null,
  paused_since: null,
  in_call: false,
  last_call_at: null,
});
const agent: Agent = {
  ...summary('busy_other'),
  queue: null,
  call_id: 'c-private',
  stale: false,
  queues: [membership('support'), membership('vip')],
};
const queue: Queue = {
  name: 'support',
  number: '510',
  title: 'Support',
  strategy: 'rrmemory',
  ring_seconds: 20,
  wrap_up_seconds: 10,
  max_wait_seconds: 0,
  members: [],
  callers: [
    {
      id: 'l1',
      call_id: 'c1',
      position: 1,
      priority: 0,
      joined_at: '2026-11-21T12:00:00.000Z',
      caller: CALLER,
    },
  ],
  offers: [],
};
const display = (callers: CallersShown) =>
  ({
    scopes: ['queues:read', 'agents:read'],
    queues: ['support'],
    extensions: ['1003'],
    board: { id: 1, callers },
  }) as const;
const rigOf = (t: TestContext) => {
  const nothing = { snapshot: () => ({}) };
  return streamRig(t, {
    sources: {
      ...sourcesOf(() => nothing),
      queues: { snapshot: () => ({ as_of: '', stale: false, queues: [{ ...queue, stats: null }] }) },
      agents: { snapshot: () => ({ as_of: '', stale: false, agents: [agent] }) },
    },
    host: {
      authenticator: authenticatorWithKeys({
        wall: display('last_digits'),
        open: display('full'),
        bare: display('none'),
        crm: { scopes: ['queues:read', 'agents:read'], queues: ['support'] },
      }),
    },
  });
};
function assertCut(what: string, said: readonly unknown[]): void {
  const text = JSON.stringify(said);
  for (const secret of SECRETS) assert.ok(!text.includes(secret), `${what} reveals ${secret}: ${text}`);
  assert.ok(text.includes('"•••678"'), `${what} has no number: ${text}`);
  assert.ok(text.includes('"support"') && text.includes('"talking"'), `${what} lacks fields: ${text}`);
}
const EVENTS = [joined, talking('vip', 'c-vip'), talking(null, 'c-private'), talking('support', 'c1')];
const TOPICS = ['queues', 'agents'];

test('display - snapshots, events and replay by WebSocket, SSE and poll hold nothing that is not on its board', async (t) => {
  const rig = await rigOf(t);
  const url = (path: string) => `${rig.base}/api/v1/${path}`;
  const wall = await rig.open('', { token: 'key-wall' });
  wall.send({ op: 'subscribe', id: 1, topics: TOPICS, snapshot: true });
  const shown = [await wall.next('snapshot'), await wall.next('snapshot')];
  assert.deepEqual(
    (shown[1]!.data as { agents: Agent[] }).agents[0]!.queues.map((one) => one.queue),
    ['support'],
  );
  const sse = await openSse(url('events?topics=queues,agents&snapshot=true'), 'key-wall');
  t.after(() => sse.stop());
  await sse.next('snapshot');
  await sse.next('snapshot');
  const poll = async (query: string) => {
    const response = await fetch(url(`events/poll?topics=queues,agents&${query}`), {
      headers: { authorization: 'Bearer key-wall' },
    });
    return (await response.json()) as { cursor: number; events: object[] };
  };
  const first = await poll('snapshot=true');
  rig.commit(...EVENTS);
  await until('the events by WebSocket', () => wall.seqs().length === EVENTS.length);
  await until('the events by SSE', () => sse.seqs().length === EVENTS.length);
  assertCut('the WebSocket', wall.frames);
  assertCut(
    'the event source',
    sse.messages.map(({ data }) => data && JSON.parse(data)),
  );
  const polled = await poll(`cursor=${first.cursor}&wait=0`);
  assert.equal(polled.events.length, EVENTS.length);
  assertCut('the poll', [first, polled]);
  const late = await rig.open('', { token: 'key-wall' });
  late.send({ op: 'subscribe', id: 1, topics: TOPICS, cursor: 0, snapshot: true });
  await late.next('resumed');
  assert.deepEqual(late.seqs(), wall.seqs());
  assertCut('the replay', late.frames);
});

test('display - the board decides how callers are shown; other readers get everything in frames of their own', async (t) => {
  const rig = await rigOf(t);
  const listen = async (level: string, token: string) => {
    const client = await rig.open(level, { token });
    client.send({ op: 'subscribe', id: 1, topics: ['queues/support', 'agents/1003'], snapshot: true });
    await client.next('snapshot');
    await client.next('snapshot');
    return client;
  };
  const clients = await Promise.all(
    ['key-wall', 'key-wall', 'key-open', 'key-bare', 'token-supervisor'].map((token) => listen('', token)),
  );
  assert.equal(
    rig.figure('offhook_stream_feeds'),
    4,
    'two displays of one board share what is made for them',
  );
  rig.commit(...EVENTS);
  const [wall, twin, open, bare, person] = clients.map((client) => client);
  for (const client of clients) {
    await until('every event', () => client.seqs().length === EVENTS.length);
  }
  assertCut('a display', wall!.frames);
  assert.deepEqual(twin!.frames, wall!.frames);
  const text = (client: typeof wall) => JSON.stringify(client!.frames);
  assert.ok(text(open).includes(NUMBER) && text(open).includes('Erika') && !text(open).includes('vip'));
  assert.ok(!text(bare).includes('678') && !text(bare).includes('vip') && !text(bare).includes('Erika'));
  for (const secret of SECRETS) assert.ok(text(person).includes(secret), `a person does not get ${secret}`);
  const events = person!.frames.flatMap((frame) => (frame.op === 'event' ? [frame.event] : []));
  assert.deepEqual(
    events,
    rig.journal.read(0, 10).map((row) => JSON.parse(row.json)),
  );
});

test('display - a key limited to queues gets agents without other queues, and callers whole', async (t) => {
  const rig = await rigOf(t);
  const crm = await rig.open('', { token: 'key-crm' });
  crm.send({ op: 'subscribe', id: 1, topics: TOPICS, snapshot: true });
  const shown = [await crm.next('snapshot'), await crm.next('snapshot')];
  assert.deepEqual(
    (shown[1]!.data as { agents: Agent[] }).agents[0]!.queues.map((one) => one.queue),
    ['support'],
  );
  rig.commit(...EVENTS);
  await until('the events', () => crm.seqs().length === EVENTS.length);
  const polled = await fetch(`${rig.base}/api/v1/events/poll?topics=agents&cursor=0&wait=0`, {
    headers: { authorization: 'Bearer key-crm' },
  });
  for (const text of [JSON.stringify(crm.frames), await polled.text()]) {
    for (const secret of ['vip', 'c-vip', 'c-private'])
      assert.ok(!text.includes(secret), `${secret}: ${text}`);
    assert.ok(text.includes('"c1"') && text.includes('"support"'), text);
  }
  assert.ok(JSON.stringify(crm.frames).includes('Erika'));
});
