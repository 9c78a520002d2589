import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createModel } from './model.ts';
import {
  Scene,
  T0,
  bridge,
  call,
  chan,
  channel,
  checkpointOf,
  member,
  site,
  snapshot,
  types,
} from '../../test/support/model-scene.ts';

const since = (scene: Scene): number => Date.parse(scene.view.agent('1002')?.summary.readiness.since ?? '');
const iface = (extension: string) => `Local/${extension}@queue-agent`;

test('pbx agents - login, pause with reason, another reason, ready, logout: one event each', () => {
  const scene = new Scene();
  scene.member('support', '1002');
  const at = scene.at;
  scene.member('support', '1002', { paused: true, paused_reason: 'lunch', paused_at: T0 - 99_000 });
  const paused = scene.view.agent('1002');
  assert.equal(paused?.members[0]?.paused_at, at + 1000, 'our own time, not the engine’s');
  assert.equal(Date.parse(paused?.summary.readiness.since ?? ''), at + 1000);
  scene.member('support', '1002', { paused: true, paused_reason: 'lunch', paused_at: T0 + 5_000_000 });
  assert.equal(scene.view.agent('1002'), paused, 'a pause repeated changes nothing');
  scene.member('support', '1002', { paused: true, paused_reason: 'break' });
  assert.equal(since(scene), scene.at);
  scene.member('support', '1002');
  assert.equal(since(scene), scene.at);
  scene.send({ type: 'queue.member_removed', queue: 'support', interface: iface('1002') });
  scene.send({ type: 'queue.member_removed', queue: 'support', interface: iface('1002') });
  assert.deepEqual(
    scene.published.filter((e) => e.type.startsWith('agent')).map((e) => e.type),
    [
      'agent.logged_in',
      'agent.ready',
      'agent.not_ready',
      'agent.not_ready',
      'agent.ready',
      'agent.logged_out',
    ],
  );
  assert.deepEqual(scene.view.agent('1002')?.members, [], 'still an agent of the site');
});

test('pbx agents - over several queues: one agent, readiness from the first pause to the last', () => {
  const scene = new Scene();
  scene.member('support', '1002');
  scene.member('sales', '1002');
  scene.member('support', '1002', { paused: true, paused_reason: 'lunch' });
  const first = scene.at;
  scene.member('sales', '1002', { paused: true, paused_reason: 'lunch' });
  assert.equal(scene.view.agent('1002')?.members.length, 2);
  assert.equal(since(scene), first);
  scene.member('support', '1002');
  assert.equal(since(scene), first, 'still paused in sales');
  scene.member('sales', '1002');
  assert.equal(since(scene), scene.at);
});

test('pbx agents - an extension without queue and list is not an agent', () => {
  const scene = new Scene();
  assert.equal(scene.view.agent('1001'), undefined);
  assert.deepEqual(scene.view.agent('1003')?.members, []);
  scene.member('support', '1001');
  assert.equal(scene.view.agent('1001')?.members.length, 1);
  const left = scene.send({ type: 'queue.member_removed', queue: 'support', interface: iface('1001') });
  assert.equal(scene.view.agent('1001'), undefined);
  assert.deepEqual(
    left.flatMap((one) => (one.subject === 'agents/1001' ? [one.type] : [])),
    ['agent.logged_out', 'agent.removed'],
  );
});

test('pbx agents - an agent that may work in no queue any more is removed, also if that was changed during a stop', () => {
  const scene = new Scene();
  const without = { ...site(), queues: site().queues.map((queue) => ({ ...queue, agents: ['1002'] })) };
  const removed = (events: readonly DomainEvent[]) =>
    events.flatMap((one) => (one.type === 'agent.removed' ? [one.data.extension] : []));
  assert.deepEqual(removed(scene.model.step({ ...without, at: scene.at })), ['1003']);

  const model = createModel();
  model.step(site());
  const before = new Scene();
  before.member('support', '1003');
  before.send({ type: 'queue.member_removed', queue: 'support', interface: iface('1003') });
  model.committed(before.published);
  const next = createModel();
  next.restore(checkpointOf(model), []);
  assert.deepEqual(
    removed(next.step({ ...without, extensions: site(['1001', '1002']).extensions, at: T0 })),
    [],
  );
  const taken = next.step({ type: 'engine.snapshot', at: T0, why: 'connect', snapshot: snapshot() });
  assert.deepEqual(removed(taken), ['1003']);
  assert.equal(next.view.agent('1003'), undefined);
});

/** 1002 takes a queue call from 1001: over an internal pair that is then optimised away. */
function inQueueCall(scene: Scene): void {
  for (const endpoint of ['1002', '1002-web', '1002-mobile']) scene.device(endpoint, 'NOT_INUSE');
  scene.member('support', '1002');
  scene.created('1', { endpoint: '1001', dialled: '500' });
  scene.created('l', { kind: 'local', pair: 'p', of: '1' });
  scene.created('d', { endpoint: '1002', of: '1' });
  const ids = { queue: 'support', interface: iface('1002'), caller: chan('1'), agent: chan('l') };
  scene.send({ type: 'offer.created', ...ids });
  scene.device('1002', 'RINGING');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'offered');
  scene.state('d', 'up');
  scene.state('1', 'up');
  scene.device('1002', 'INUSE');
  scene.send({ type: 'offer.accepted', ...ids, hold_seconds: 1, ring_seconds: 1 });
  scene.enter('b', 'd');
  scene.enter('b', '1');
  scene.hangup('l');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'talking');
}

test('pbx agents - a private call that rings leaves the state and its time, and an answered one does not', () => {
  const scene = new Scene();
  scene.device('1002', 'NOT_INUSE');
  scene.member('support', '1002');
  const { since } = scene.view.agent('1002')!.summary;
  const seen = (): unknown[] => {
    const { state, since: at } = scene.view.agent('1002')!.summary;
    return [state, at === since];
  };
  // The engine creates the channel of a called device before the device rings.
  scene.created('p', { endpoint: 'trunk', state: 'dialing' });
  scene.created('q', { endpoint: '1002', of: 'p' });
  assert.deepEqual(seen(), ['available', true]);
  scene.state('q', 'ringing');
  assert.deepEqual(seen(), ['available', true]);
  scene.hangup('q');
  assert.deepEqual(seen(), ['available', true]);
  assert.deepEqual(
    types(scene.published).filter((type) => type === 'agent.busy_other'),
    [],
  );
  scene.created('r', { endpoint: '1002', of: 'p' });
  scene.state('r', 'up');
  assert.deepEqual(seen(), ['busy_other', false]);
});

test('pbx agents - talking, held, talking, and released while the device still reports in use', () => {
  const scene = new Scene();
  inQueueCall(scene);
  const inCall = () =>
    [scene.view.queue('support'), scene.view.agent('1002')].map((of) =>
      of?.members.map((m) => [m.extension, m.in_call]),
    );
  const counted = inCall();
  scene.send({ type: 'channel.held', id: chan('d'), held: true });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'held');
  scene.send({ type: 'channel.held', id: chan('d'), held: false });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'talking');
  scene.send({
    type: 'agent.released',
    queue: 'support',
    interface: iface('1002'),
    caller: chan('1'),
    agent: chan('l'),
    reason: 'transfer',
    talk_seconds: 4,
  });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'talking', 'by whom is not known yet');
  scene.send({ type: 'transfer.blind', by: chan('d'), transferee: chan('1'), to: '1004', succeeded: true });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'busy_other');
  const both = (in_call: boolean) => [[['1002', in_call]], [['1002', in_call]]];
  assert.deepEqual([counted, inCall()], [both(true), both(false)]);
  scene.hangup('d');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle');
});

for (const [who, id] of [
  ['the agent’s leg', 'd'],
  ['the caller', '1'],
] as const) {
  test(`pbx agents - without a release event, the hangup of ${who} frees the agent`, () => {
    const scene = new Scene();
    inQueueCall(scene);
    scene.device('1002', 'NOT_INUSE');
    scene.hangup(id);
    assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle');
  });
}

test('pbx agents - the engine’s own count frees the agent too, once it had counted the call', () => {
  const scene = new Scene();
  inQueueCall(scene);
  scene.device('1002', 'NOT_INUSE');
  scene.leave('b', '1');
  scene.member('support', '1002', { in_call: false, state: 'INUSE' });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'talking', 'counted late, not over');
  scene.member('support', '1002', { in_call: true, state: 'INUSE' });
  scene.member('support', '1002', { in_call: false });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle');
});

test('pbx agents - the count of a device reported idle by mistake does not end a talk whose legs are together', () => {
  const scene = new Scene();
  inQueueCall(scene);
  scene.member('support', '1002', { in_call: true, state: 'INUSE' });
  scene.member('support', '1002', { in_call: false });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'talking');
  scene.leave('b', '1');
  scene.hangup('1');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle', 'the talk ends with its caller');
});

/** What a snapshot shows of the queue call while the engine does not count it. */
function takeUncounted(scene: Scene, bridged: readonly string[]): string | undefined {
  scene.snapshot({
    channels: [
      channel('1', { endpoint: '1001', state: 'up' }),
      channel('d', { endpoint: '1002', state: 'up', of: '1' }),
    ],
    bridged: bridged.map((id) => ({ bridge: bridge('b'), channel: chan(id), holding: false })),
    queues: [{ name: 'support', strategy: '', members: [member('support', '1002')], callers: [] }],
    devices: [{ endpoint: '1002', state: 'INUSE' }],
  });
  return scene.view.agent('1002')?.summary.engagement;
}
test('pbx agents - a second snapshot finds a missed release, though the member row is unchanged', () => {
  const scene = new Scene();
  inQueueCall(scene);
  scene.device('1002', 'NOT_INUSE');
  assert.equal(
    takeUncounted(scene, ['d']),
    'talking',
    'the engine counts a call after it reported the connection',
  );
  assert.equal(takeUncounted(scene, ['d']), 'busy_other');
});
test('pbx agents - snapshots do not end a talk whose legs are together', () => {
  const scene = new Scene();
  inQueueCall(scene);
  assert.equal(takeUncounted(scene, ['1', 'd']), 'talking');
  assert.equal(takeUncounted(scene, ['1', 'd']), 'talking');
});

test('pbx agents - paused for several reasons: the first queue’s by name is shown', () => {
  const scene = new Scene();
  scene.member('support', '1002', { paused: true, paused_reason: 'lunch' });
  scene.member('sales', '1002', { paused: true, paused_reason: 'break' });
  assert.equal(scene.view.extension('1002')?.summary, 'break');
  scene.member('sales', '1002');
  assert.equal(scene.view.extension('1002')?.summary, 'lunch');
});

test('pbx agents - without a reachable device: unreachable, published once, only for agents signed in', () => {
  const scene = new Scene();
  scene.member('support', '1002');
  for (const e of ['1002', '1002-web', '1002-mobile']) scene.device(e, 'NOT_INUSE');
  scene.published.length = 0;
  scene.device('1002', 'UNAVAILABLE');
  scene.device('1002-web', 'UNAVAILABLE');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle');
  scene.decide({ type: 'agent.absent', extension: '1002' });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle', 'one device is left');
  scene.device('1002-mobile', 'UNAVAILABLE');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle', 'not before the grace is over');
  scene.decide({ type: 'agent.absent', extension: '1002' });
  scene.decide({ type: 'agent.absent', extension: '1002' });
  assert.equal(scene.view.agent('1002')?.summary.state, 'unreachable');
  for (const e of ['1003', '1003-web', '1003-mobile']) scene.device(e, 'UNAVAILABLE');
  scene.decide({ type: 'agent.absent', extension: '1003' });
  assert.equal(scene.view.agent('1003')?.summary.state, 'logged_out');
  scene.device('1002-web', 'NOT_INUSE');
  assert.deepEqual(
    types(scene.published).filter((t) => t.startsWith('agent')),
    ['agent.unreachable', 'agent.ready'],
  );
});

test('pbx agents - a call found in a snapshot is a talk, in the call where the agent’s leg is', () => {
  const scene = new Scene();
  const published = scene.snapshot({
    channels: [
      channel('1', { endpoint: 'trunk', state: 'up' }),
      channel('2', { endpoint: '1002', state: 'up', of: '1' }),
    ],
    bridged: ['1', '2'].map((id) => ({ bridge: bridge('b'), channel: chan(id), holding: false })),
    queues: [
      {
        name: 'support',
        strategy: 'ringall',
        members: [member('support', '1002', { in_call: true, state: 'INUSE' })],
        callers: [],
      },
    ],
    devices: [{ endpoint: '1002', state: 'INUSE' }],
  });
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'talking');
  const talking = published.find((e) => e.type === 'agent.talking');
  assert.deepEqual(
    [talking?.data, talking?.observed],
    [
      {
        extension: '1002',
        queue: 'support',
        call_id: 'ast1:1',
        agent: scene.view.agent('1002')?.summary,
      },
      'resync',
    ],
  );
});

/** 1001 talks to a customer and consults queue sales, whose 1002 answers; then 1001 completes the transfer. */
const ORDERS = ['release first', 'transfer first', 'replaced first'] as const;
function consulted(order: (typeof ORDERS)[number]): Scene {
  const scene = new Scene();
  scene.member('sales', '1002');
  scene.created('c', { endpoint: 'trunk', state: 'up' });
  scene.created('a', { endpoint: '1001', state: 'up', of: 'c' });
  scene.enter('b', 'c');
  scene.enter('b', 'a');
  scene.created('a2', { endpoint: '1001', state: 'up', dialled: '510' });
  scene.created('l', { kind: 'local', pair: 'p', of: 'a2' });
  scene.created('d', { endpoint: '1002', of: 'a2' });
  const ids = { queue: 'sales', interface: iface('1002'), caller: chan('a2'), agent: chan('l') };
  scene.send({ type: 'offer.created', ...ids });
  scene.state('d', 'up');
  scene.device('1002', 'INUSE');
  scene.send({ type: 'offer.accepted', ...ids, hold_seconds: 1, ring_seconds: 1 });
  scene.enter('b2', 'd');
  scene.enter('b2', 'a2');
  scene.hangup('l');
  scene.member('sales', '1002', { in_call: true });
  const release = (): void => {
    const reason = order === 'replaced first' ? 'caller' : 'transfer';
    scene.send({ type: 'agent.released', ...ids, reason, talk_seconds: 4 });
    scene.member('sales', '1002', { in_call: false, last_call_at: scene.at });
  };
  if (order === 'replaced first') {
    // Bridges of two applications are joined by an internal pair.
    scene.created('x', { kind: 'local', pair: 'x', of: 'a2' });
    scene.created('y', { kind: 'local', pair: 'x', of: 'c' });
    scene.leave('b2', 'a2');
    scene.enter('b2', 'x');
  }
  if (order !== 'transfer first') release();
  const calls = { first_call: call('c'), second_call: call('a2') };
  const legs = { first: chan('a'), second: chan('a2') };
  scene.send({ type: 'transfer.attended', ...legs, ...calls, to: '1002', succeeded: true });
  if (order === 'transfer first') release();
  if (order === 'replaced first') scene.enter('b', 'y');
  else scene.enter('b2', 'c');
  scene.hangup('a');
  scene.hangup('a2');
  return scene;
}
const wrapUps = (published: readonly DomainEvent[]) =>
  published.flatMap((e) => (e.type === 'agent.wrap_up' ? [[e.data.queue, e.data.talk_seconds]] : []));
/** The engine as it is while 1002 talks to the customer, or after that. */
const afterConsult = (at: number, talks: boolean): Parameters<Scene['snapshot']>[0] => ({
  channels: talks
    ? [
        channel('c', { endpoint: 'trunk', state: 'up' }),
        channel('d', { endpoint: '1002', state: 'up', of: 'c' }),
      ]
    : [],
  bridged: (talks ? ['c', 'd'] : []).map((id) => ({
    bridge: bridge('b2'),
    channel: chan(id),
    holding: false,
  })),
  queues: [
    {
      name: 'sales',
      strategy: '',
      members: [member('sales', '1002', { last_call_at: at })],
      callers: [],
    },
  ],
  devices: [{ endpoint: '1002', state: talks ? 'INUSE' : 'NOT_INUSE' }],
});

for (const order of ORDERS) {
  test(`pbx agents - asked by another agent who joins the calls, ${order}: it talks until its own leg ends`, () => {
    const scene = consulted(order);
    const began = scene.published.find((e) => e.type === 'agent.talking')?.at ?? 0;
    scene.at = began + 59_000;
    const found = scene.snapshot(afterConsult(scene.at, true));
    assert.deepEqual(
      found.filter((e) => e.type.startsWith('agent.')),
      [],
      'a snapshot finds no difference',
    );
    assert.deepEqual(
      [scene.view.agent('1002')?.summary.engagement, wrapUps(scene.published)],
      ['talking', []],
    );
    scene.hangup('d');
    assert.deepEqual(wrapUps(scene.published), [['sales', 61]]);
  });

  test(`pbx agents - asked by another agent who joins the calls, ${order}: restored, it is the same talk`, () => {
    const before = consulted(order);
    const began = before.published.find((e) => e.type === 'agent.talking')?.at ?? 0;
    before.model.committed(before.published);
    const texts = [checkpointOf(before.model), null] as const;
    for (const text of texts) {
      const again = (): Scene => {
        const model = createModel();
        model.restore(text, text === null ? before.published : []);
        const scene = new Scene({ model, empty: true });
        scene.at = began + 59_000;
        return scene;
      };
      const scene = again();
      scene.snapshot(afterConsult(before.at, true));
      assert.deepEqual(
        scene.published.filter((e) => e.type.startsWith('agent.')),
        [],
        'nothing new of the agent',
      );
      scene.send({ type: 'bridge.left', bridge: bridge('b2'), id: chan('c') });
      scene.hangup('d');
      assert.deepEqual(wrapUps(scene.published), [['sales', 62]]);
      const over = again();
      over.snapshot(afterConsult(before.at, false));
      assert.deepEqual(wrapUps(over.published), [['sales', 60]], 'the engine does not report that end');
    }
  });
}
