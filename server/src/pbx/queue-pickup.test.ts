/** A queue rings one agent, and another person picks up that ring. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createModel } from './model.ts';
import {
  Scene,
  bridge,
  call,
  chan,
  channel,
  checkpointOf,
  member,
  node,
} from '../../test/support/model-scene.ts';

const iface = (extension: string) => `Local/${extension}@queue-agent`;
const ids = (n = 1, extension = '1002') => ({
  queue: 'sales',
  interface: iface(extension),
  caller: chan(`${n}`),
  agent: chan(`l${n}${extension}`),
});
/** A caller from outside waits in sales. */
function waiting(scene: Scene, n = 1): void {
  scene.created(`${n}`, { endpoint: 'trunk', caller: { number: '0305550', name: 'Ann' }, dialled: '510' });
  scene.state(`${n}`, 'up');
  const caller = {
    queue: 'sales',
    channel: chan(`${n}`),
    position: 1,
    joined_at: scene.at + 1000,
    priority: null,
  };
  scene.send({ type: 'queue.caller_joined', caller });
}
/** The queue rings a member over an internal pair; `device`: endpoint that rings for it. */
function ring(scene: Scene, n = 1, extension = '1002', device = extension): void {
  const pair = `l${n}${extension}`;
  scene.created(pair, { kind: 'local', pair, of: `${n}` });
  scene.created(`${pair}b`, { kind: 'local', pair, of: `${n}` });
  scene.send({ type: 'offer.created', ...ids(n, extension) });
  scene.created(`d${n}${extension}`, { endpoint: device, of: `${n}` });
  scene.state(`d${n}${extension}`, 'ringing');
}
/** What Asterisk 22 reports of a pickup, in its order; `by`: endpoint of the person. */
function pickUp(scene: Scene, by: string, n = 1, extension = '1002', dialled = `**${extension}`): void {
  const pair = `l${n}${extension}`;
  scene.created('p', { endpoint: by, dialled });
  scene.state('p', 'up');
  scene.send({ type: 'channel.picked_up', by: chan('p'), target: chan(`d${n}${extension}`) });
  scene.send({ type: 'dial.ended', from: chan(`${pair}b`), to: chan('p'), status: 'ANSWER' });
  scene.state(`${pair}b`, 'up');
  scene.enter(`${pair}x`, 'p');
  scene.state(pair, 'up');
  scene.send({ type: 'dial.ended', from: chan(`${n}`), to: chan(pair), status: 'ANSWER' });
  scene.send({ type: 'queue.caller_left', queue: 'sales', channel: chan(`${n}`) });
  scene.send({ type: 'offer.accepted', ...ids(n, extension), hold_seconds: 2, ring_seconds: 1 });
  scene.hangup(`d${n}${extension}`, 26);
  scene.enter(`${pair}y`, pair);
  scene.send({ type: 'channel.linked', id: chan('p'), call: call(`${n}`) });
  scene.enter(`${pair}x`, `${pair}b`);
  // The device of the offered member is free, so the engine ends the call for that member at once.
  scene.member('sales', extension, { last_call_at: scene.at });
  scene.enter(`${pair}y`, `${n}`);
  scene.leave(`${pair}x`, 'p');
  scene.leave(`${pair}y`, pair);
  scene.enter(`${pair}y`, 'p');
  scene.hangup(`${pair}b`, 26);
  scene.hangup(pair, 26);
}
/** The caller hangs up. */
function hangUp(scene: Scene, n = 1, reason: 'caller' | 'transfer' = 'caller'): void {
  const released = { ...ids(n), agent: chan('p'), reason, talk_seconds: 9 };
  scene.send({ type: 'agent.released', ...released });
  scene.hangup(`${n}`);
  scene.hangup('p', 26);
}
/** A snapshot in which the caller waits in a bridge that only holds it, and no member of sales is in a call. */
const shown = (scene: Scene) => ({
  channels: ['1', 'p'].map((id) =>
    channel(id, { endpoint: id === '1' ? 'trunk' : '1003', of: '1', state: 'up', created_at: scene.at }),
  ),
  bridged: [
    { bridge: bridge('h'), channel: chan('1'), holding: true },
    { bridge: bridge('l11002y'), channel: chan('p'), holding: false },
  ],
  queues: [
    {
      name: 'sales',
      strategy: 'ringall',
      members: ['1002', '1003'].map((extension) => member('sales', extension)),
      callers: [],
    },
  ],
});
/** Events about the queue, its offers and the engagement of agents, with their extension. */
const story = (scene: Scene): string[] =>
  scene.published.flatMap((e: DomainEvent) =>
    /^(offer\.|queue\.caller_|agent\.(offered|talking|wrap_up|busy_other))/.test(e.type)
      ? [[e.type, (e.data as { extension?: string }).extension ?? ''].join(' ').trim()]
      : [],
  );
const doing = (scene: Scene, extension: string) => {
  const { engagement, queue, call_id } = scene.view.agent(extension)!.summary;
  return [engagement, queue, call_id];
};
const inCall = (scene: Scene, extension: string) =>
  scene.view.agent(extension)!.members.some((row) => row.in_call);

test('pbx queues - another agent of the queue picks up a ring: it talks and wraps up, the offer ends as answered elsewhere', () => {
  const scene = new Scene();
  for (const extension of ['1002', '1003']) scene.member('sales', extension);
  waiting(scene);
  ring(scene);
  pickUp(scene, '1003');
  assert.deepEqual(doing(scene, '1002'), ['idle', null, null]);
  assert.deepEqual(doing(scene, '1003'), ['talking', 'sales', call('1')]);
  assert.deepEqual([inCall(scene, '1002'), inCall(scene, '1003')], [false, true]);
  assert.deepEqual(
    scene.published.flatMap((e) => (e.type === 'call.left' ? [[e.data.leg.extension, e.data.reason]] : [])),
    [['1002', 'answered_elsewhere']],
  );
  // The engine counts the call for no member, also while the agent holds it; the talk goes on.
  for (let n = 0; n < 3; n += 1) scene.snapshot(shown(scene));
  assert.deepEqual(doing(scene, '1003'), ['talking', 'sales', call('1')]);
  hangUp(scene);
  assert.deepEqual(doing(scene, '1002'), ['idle', null, null]);
  assert.deepEqual(doing(scene, '1003'), ['wrap_up', 'sales', call('1')]);
  assert.deepEqual(story(scene), [
    'queue.caller_joined',
    'offer.created 1002',
    'agent.offered 1002',
    'queue.caller_left',
    'offer.canceled 1002',
    'agent.talking 1003',
    'agent.wrap_up 1003',
  ]);
  const wrap = scene.published.findLast((e) => e.type === 'agent.wrap_up');
  assert.ok(wrap?.type === 'agent.wrap_up' && wrap.data.talk_seconds > 0);
});

test('pbx queues - a person who is no member of the queue picks up a ring: nobody has a talk of the queue', () => {
  for (const elsewhere of [true, false]) {
    const scene = new Scene();
    scene.member('sales', '1002');
    if (elsewhere) scene.member('support', '1003');
    waiting(scene);
    ring(scene);
    // By the API: the service rings the person's own device first.
    pickUp(scene, '1003', 1, '1002', '');
    assert.deepEqual(doing(scene, '1002'), ['idle', null, null]);
    assert.equal(inCall(scene, '1002'), false);
    if (elsewhere) assert.equal(doing(scene, '1003')[0], 'busy_other');
    hangUp(scene);
    assert.deepEqual(
      story(scene).filter((line) => !line.startsWith('agent.busy_other')),
      [
        'queue.caller_joined',
        'offer.created 1002',
        'agent.offered 1002',
        'queue.caller_left',
        'offer.canceled 1002',
      ],
    );
  }
});

test('pbx queues - the offered agent takes its next call while the picked-up one goes on: each end is that of its own talk', () => {
  for (const member of [true, false]) {
    const scene = new Scene();
    scene.member('sales', '1002');
    if (member) scene.member('sales', '1003');
    waiting(scene);
    ring(scene);
    pickUp(scene, '1003');
    waiting(scene, 2);
    ring(scene, 2);
    scene.state('d21002', 'up');
    scene.send({ type: 'queue.caller_left', queue: 'sales', channel: chan('2') });
    scene.send({ type: 'offer.accepted', ...ids(2), hold_seconds: 2, ring_seconds: 1 });
    scene.enter('b2', 'd21002');
    scene.enter('b2', '2');
    hangUp(scene, 1);
    assert.deepEqual(doing(scene, '1002'), ['talking', 'sales', call('2')]);
    if (member) assert.equal(doing(scene, '1003')[0], 'wrap_up');
  }
});

test('pbx queues - ring all: a pickup of one ring cancels every offer; a pickup of a forwarded ring is not the offered agent’s talk', () => {
  const all = new Scene();
  for (const extension of ['1002', '1003', '1004']) all.member('sales', extension);
  waiting(all);
  ring(all);
  ring(all, 1, '1003');
  pickUp(all, '1004', 1, '1003');
  assert.deepEqual(
    ['1002', '1003', '1004'].map((extension) => doing(all, extension)[0]),
    ['idle', 'idle', 'talking'],
  );
  assert.deepEqual(
    story(all).filter((line) => line.startsWith('offer.')),
    ['offer.created 1002', 'offer.created 1003', 'offer.canceled 1003', 'offer.canceled 1002'],
  );

  const forwarded = new Scene();
  for (const extension of ['1002', '1003']) forwarded.member('sales', extension);
  waiting(forwarded);
  ring(forwarded, 1, '1002', '1004');
  pickUp(forwarded, '1003');
  assert.deepEqual(
    ['1002', '1003'].map((extension) => doing(forwarded, extension)[0]),
    ['idle', 'talking'],
  );
});

test('pbx queues - an agent that picks up its own ring at another device has accepted the offer', () => {
  const scene = new Scene();
  scene.member('sales', '1002');
  waiting(scene);
  ring(scene);
  pickUp(scene, '1002-mobile');
  assert.ok(story(scene).includes('offer.accepted 1002'));
  assert.deepEqual(story(scene).slice(-2), ['offer.accepted 1002', 'agent.talking 1002']);
});

test('pbx queues - the service restarts during a picked-up call: the talk goes on, and its end begins the wrap-up', () => {
  for (const text of [true, false]) {
    const scene = new Scene();
    for (const extension of ['1002', '1003']) scene.member('sales', extension);
    waiting(scene);
    ring(scene);
    pickUp(scene, '1003');
    if (text) scene.model.committed(scene.published);
    const model = createModel();
    if (text) model.restore(checkpointOf(scene.model), []);
    else model.restore(null, scene.published);
    const after = new Scene({ model, empty: true });
    after.at = scene.at;
    after.send({ type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-1' });
    after.snapshot(shown(scene), 'connect');
    assert.deepEqual(doing(after, '1003'), ['talking', 'sales', call('1')]);
    hangUp(after);
    assert.deepEqual(story(after), ['agent.wrap_up 1003']);
  }
});
