import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from './model.ts';
import {
  Scene,
  T0,
  bridge,
  call,
  chan,
  channel,
  member,
  node,
  site,
  types,
  checkpointOf,
} from '../../test/support/model-scene.ts';

const support = (members: ReturnType<typeof member>[], ...callers: string[]) => ({
  name: 'support',
  strategy: 'ringall',
  members,
  callers: callers.map((id, i) => ({
    queue: 'support',
    channel: chan(id),
    position: i + 1,
    joined_at: T0,
    priority: 0,
  })),
});
/** A model restored from the events of another one. */
function again(before: Scene): Scene {
  const model = createModel();
  before.model.committed(before.published);
  model.restore(checkpointOf(before.model), []);
  const scene = new Scene({ model, empty: true });
  scene.at = before.at;
  return scene;
}

test('pbx snapshot - missed facts are published as resync, with the number of differences', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001' });
  scene.created('2', { endpoint: 'trunk' });
  scene.send({
    type: 'queue.caller_joined',
    caller: { queue: 'support', channel: chan('2'), position: 1, joined_at: scene.at, priority: null },
  });
  scene.member('support', '1002');
  scene.published.length = 0;
  scene.snapshot({
    channels: [channel('3', { endpoint: '1003', state: 'ringing' })],
    queues: [support([member('support', '1003', { paused: true, paused_reason: 'lunch', paused_at: T0 })])],
  });
  assert.ok(scene.published.every((e) => e.observed === 'resync'));
  const published = scene.published.filter((e) => e.type !== 'presence.changed');
  assert.deepEqual(types(published), [
    'call.started',
    'call.ringing',
    'queue.caller_left',
    'call.ended',
    'call.ended',
    'agent.logged_in',
    'agent.not_ready',
    'agent.logged_out',
    'engine.resynced',
  ]);
  const left = published.find((e) => e.type === 'queue.caller_left');
  assert.equal(left?.data.reason, 'engine_lost');
  assert.deepEqual(
    published.flatMap((e) => (e.type === 'call.ended' ? [[e.data.call_id, e.data.reason]] : [])),
    [
      [call('1'), 'engine_lost'],
      [call('2'), 'engine_lost'],
    ],
  );
  const resynced = published.at(-1);
  assert.equal(resynced?.type === 'engine.resynced' && resynced.data.differences, scene.published.length - 1);
  assert.equal(scene.view.agent('1003')?.members[0]?.paused_at, T0, 'the engine’s time is all there is');
});

test('pbx snapshot - one without differences emits no event, but a connect does', () => {
  const scene = new Scene();
  assert.deepEqual(scene.snapshot(), []);
  assert.deepEqual(types(scene.snapshot({}, 'connect')), ['engine.resynced']);
});

test('pbx snapshot - the link goes down: published once, no call ends, not live until the next snapshot', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001' });
  const link = (up: boolean) =>
    scene.send({ type: 'engine.link', node, up, reason: up ? '' : 'cut', boot_id: 'boot-1' });
  const asOf = scene.view.as_of;
  assert.deepEqual(types(link(false)), ['engine.link_down']);
  assert.deepEqual(types(link(false)), []);
  assert.equal(scene.view.live, false);
  assert.equal(scene.view.calls().length, 1);
  assert.deepEqual(types(link(true)), ['engine.link_up']);
  assert.equal(scene.view.live, false);
  assert.equal(scene.view.as_of, asOf, 'as_of stays unchanged');
  scene.snapshot({ channels: [channel('1', { endpoint: '1001' })] }, 'connect');
  assert.equal(scene.view.live, true);
  assert.equal(scene.view.calls().length, 1);
});

test('pbx snapshot - a channel that exists lives, whatever the journal has of it', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001' });
  scene.hangup('1');
  scene.snapshot({ channels: [channel('1', { endpoint: '1001' })] });
  assert.equal(scene.view.calls()[0]?.legs[0]?.extension, '1001');
  const started = scene.published.flatMap((e) => (e.type === 'call.started' ? [e.data.call_id] : []));
  assert.equal(started.length, 2);
  assert.notEqual(started[0], started[1]);
});

test('pbx snapshot - a caller connected while the service was away was answered', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: 'trunk' });
  scene.snapshot({ channels: [channel('1', { endpoint: 'trunk' })], queues: [support([], '1')] });
  const published = scene.snapshot({
    channels: [channel('1', { endpoint: 'trunk' }), channel('2', { endpoint: '1002', of: '1' })],
    bridged: ['1', '2'].map((id) => ({ bridge: 'ast1:b' as never, channel: chan(id), holding: false })),
    queues: [support([])],
  });
  const left = published.find((e) => e.type === 'queue.caller_left');
  assert.equal(left?.data.reason, 'answered');
  assert.ok(types(published).includes('call.answered'));
});

test('pbx snapshot - restored: a merged call is still known by its old id', () => {
  const before = new Scene();
  before.created('1', { endpoint: '1001' });
  before.created('2', { endpoint: '1002' });
  before.send({ type: 'channel.linked', id: chan('2'), call: call('1') });
  const scene = again(before);
  scene.snapshot({ channels: [channel('2', { endpoint: '1002', of: '2' })] });
  assert.deepEqual(
    scene.view.calls().map((c) => c.id),
    [call('1')],
  );
  assert.ok(!types(scene.published).includes('call.started'));
});

test('pbx snapshot - restored: the disposition of the customer of an outgoing call is known at its end', () => {
  for (const [plays, expected] of [
    [[], 'busy'],
    [['up'], 'answered'],
  ] as const) {
    const before = new Scene();
    before.created('1', { endpoint: '1001', dialled: '0305550' });
    before.created('2', { endpoint: 'trunk', of: '1' });
    before.state('2', 'ringing');
    for (const state of plays) before.state('2', state);
    before.send({ type: 'channel.ending', id: chan('2') });
    before.hangup('2', 17);
    const scene = again(before);
    scene.snapshot({ channels: [channel('1', { endpoint: '1001' })] });
    scene.hangup('1');
    const ended = scene.published.at(-1);
    assert.equal(ended?.type === 'call.ended' && ended.data.customer_disposition, expected);
  }
});

test('pbx snapshot - restored: a customer that talks meanwhile has answered, one that is lost is unknown', () => {
  for (const [state, expected] of [
    ['up', 'answered'],
    ['ringing', undefined],
  ] as const) {
    const before = new Scene();
    before.created('1', { endpoint: '1001', dialled: '0305550' });
    before.created('2', { endpoint: 'trunk', of: '1' });
    before.state('2', 'ringing');
    const scene = again(before);
    const customer = channel('2', { endpoint: 'trunk', of: '1', state });
    scene.snapshot({ channels: [customer, channel('1', { endpoint: '1001' })] });
    scene.snapshot();
    const [ended] = scene.published.flatMap((e) => (e.type === 'call.ended' ? [e.data] : []));
    assert.deepEqual([ended?.reason, ended?.customer_disposition], ['engine_lost', expected]);
  }
});

test('pbx snapshot - restored right after a merge of two calls: the people of both still get events', () => {
  const before = new Scene();
  before.created('1', { endpoint: '1001' });
  before.created('2', { endpoint: '1002', of: '1' });
  before.state('2', 'ringing');
  before.created('3', { endpoint: '1003' });
  before.send({ type: 'channel.linked', id: chan('3'), call: call('1') });
  assert.equal(before.published.at(-1)?.type, 'call.ended');
  const scene = again(before);
  scene.snapshot({
    channels: [channel('1', { endpoint: '1001' }), channel('2', { endpoint: '1002', of: '1' })],
  });
  const left = scene.published.find((e) => e.type === 'call.left');
  assert.deepEqual(
    [left?.data.leg.extension, left?.data.extensions, left?.data.direction],
    ['1003', ['1001', '1002', '1003'], 'internal'],
  );
});

test('pbx snapshot - restored after an answered call was merged into a ringing one: the time of the answer is kept', () => {
  const before = new Scene();
  before.created('1', { endpoint: 'trunk' });
  before.created('2', { endpoint: '1002' });
  before.created('3', { endpoint: '1003', of: '2' });
  before.enter('b', '2');
  before.enter('b', '3');
  before.send({ type: 'channel.linked', id: chan('2'), call: call('1') });
  const scene = again(before);
  const channels = [channel('2', { endpoint: '1002', of: '1' }), channel('3', { endpoint: '1003', of: '1' })];
  scene.snapshot({ channels: [channel('1', { endpoint: 'trunk' }), ...channels] });
  const [was, now] = [before, scene].map(({ view }) => view.call(call('1')));
  assert.deepEqual(
    [now?.extensions, now?.answered_at, now?.started_at],
    [was?.extensions, was?.answered_at, was?.started_at],
  );
});

test('pbx snapshot - restored: the id of an ended call is not started a second time', () => {
  const before = new Scene();
  before.created('1', { endpoint: '1001' });
  before.hangup('1');
  const scene = again(before);
  scene.snapshot({ channels: [channel('2', { endpoint: '1002', of: '1' })] });
  assert.deepEqual(
    scene.published.flatMap((e) => (e.type === 'call.started' ? [e.data.call_id] : [])),
    [call('2')],
  );
});

test('pbx snapshot - restored: unchanged presence is not published, and keeps its since', () => {
  const before = new Scene();
  before.device('1001', 'NOT_INUSE');
  before.device('1002', 'INUSE');
  const since = before.view.extension('1001')?.since;
  const scene = again(before);
  scene.model.step({ ...site(), at: scene.at });
  const published = scene.snapshot({
    devices: [
      { endpoint: '1001', state: 'NOT_INUSE' },
      { endpoint: '1002', state: 'NOT_INUSE' },
    ],
  });
  assert.equal(scene.view.extension('1001')?.since, since);
  assert.deepEqual(
    published
      .flatMap((e) => (e.type === 'presence.changed' ? [e.data.extension] : []))
      .filter((e) => e < '1003'),
    ['1002'],
  );
});

test('pbx snapshot - restored: the extensions of a call and its direction are still known', () => {
  const before = new Scene();
  before.created('1', { endpoint: 'trunk' });
  before.created('2', { endpoint: '1002', of: '1' });
  before.state('2', 'ringing');
  before.hangup('2');
  const scene = again(before);
  scene.snapshot({ channels: [channel('1', { endpoint: 'trunk' })] });
  scene.hangup('1');
  const ended = scene.published.findLast((e) => e.type === 'call.ended');
  assert.deepEqual([ended?.data.direction, ended?.data.extensions], ['in', ['1002']]);
});

const left = (scene: Scene): string[] =>
  scene.published.flatMap((e) =>
    e.type === 'call.left' ? [`${e.observed} ${e.data.leg.leg_id} ${e.data.reason}`] : [],
  );
/** A call of three legs, two of them published. */
function three(): Scene {
  const scene = new Scene();
  scene.created('1', { endpoint: 'trunk' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.state('2', 'ringing');
  scene.created('3', { endpoint: '1003', of: '1' });
  return scene;
}
const ofThree = (...ids: string[]) =>
  ids.map((id) => channel(id, { endpoint: id === '1' ? 'trunk' : `100${id}`, of: '1' }));

test('pbx snapshot - a leg that left an ongoing call is published once, if it was published before', () => {
  const scene = three();
  scene.snapshot({ channels: ofThree('1') });
  scene.snapshot({ channels: ofThree('1') });
  assert.deepEqual(left(scene), [`resync ${chan('2')} engine_lost`]);
});
test('pbx snapshot - of an ended call only its end is published', () => {
  const scene = three();
  scene.snapshot();
  assert.deepEqual(left(scene), []);
  assert.equal(types(scene.published).filter((type) => type === 'call.ended').length, 1);
});
test('pbx snapshot - restored: legs that left meanwhile are published; earlier ones and present ones are not', () => {
  const before = three();
  before.created('4', { endpoint: '1004', of: '1' });
  before.state('4', 'ringing');
  before.hangup('4');
  const scene = again(before);
  scene.snapshot({ channels: ofThree('1', '3') });
  assert.deepEqual(left(scene), [`resync ${chan('2')} engine_lost`]);
  assert.equal(scene.published.find((e) => e.type === 'call.left')?.subject, `calls/${call('1')}`);
  const once = again(scene);
  once.snapshot({ channels: ofThree('1', '3') });
  assert.deepEqual(left(once), []);
  once.hangup('1');
  assert.deepEqual(left(once), [`live ${chan('1')} hangup`]);
});
test('pbx snapshot - restored from the first release’s checkpoint: no leg counts as published', () => {
  const before = three();
  before.model.committed(before.published);
  const text = JSON.parse(checkpointOf(before.model));
  for (const [, written] of text.calls) delete written.legs;
  const scene = new Scene({ empty: true });
  scene.model.restore(JSON.stringify(text), []);
  scene.snapshot({ channels: ofThree('1', '3') });
  assert.deepEqual(left(scene), []);
  assert.equal(scene.view.calls().length, 1);
});

test('pbx snapshot - restored: a caller that waits in another queue by now has left the first', () => {
  const before = new Scene();
  before.created('1', { endpoint: 'trunk' });
  before.send({
    type: 'queue.caller_joined',
    caller: { queue: 'support', channel: chan('1'), position: 1, joined_at: before.at, priority: null },
  });
  const scene = again(before);
  const sales = { ...support([], '1'), name: 'sales' };
  scene.snapshot({
    channels: [channel('1', { endpoint: 'trunk' })],
    queues: [{ ...sales, callers: sales.callers.map((c) => ({ ...c, queue: 'sales' })) }],
  });
  assert.deepEqual(
    scene.published.flatMap((e) => (e.subject.startsWith('queues/') ? [`${e.type} ${e.subject}`] : [])),
    ['queue.caller_left queues/support', 'queue.caller_joined queues/sales'],
  );
});

test('pbx snapshot - restored: a caller that talks by now was answered, one that hears an announcement was not', () => {
  const before = new Scene();
  before.created('1', { endpoint: 'trunk' });
  const caller = { queue: 'support', channel: chan('1'), position: 1, joined_at: before.at, priority: null };
  before.send({ type: 'queue.caller_joined', caller });
  const reasons = (talks: boolean) => {
    const scene = again(before);
    const of = { of: '1', state: 'up' } as const;
    scene.snapshot({
      channels: [channel('1', { endpoint: 'trunk', ...of }), channel('2', { endpoint: '1002', ...of })],
      bridged: ['1', '2'].map((id) => ({ bridge: bridge('b'), channel: chan(id), holding: !talks })),
      queues: [support([])],
    });
    return scene.published.flatMap((e) => (e.type === 'queue.caller_left' ? [e.data.reason] : []));
  };
  assert.deepEqual([reasons(true), reasons(false)], [['answered'], ['other']]);
});

test('pbx snapshot - a call is found by its id and by the id of a merged one', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002' });
  scene.send({ type: 'channel.linked', id: chan('2'), call: call('1') });
  scene.send({ type: 'channel.parked', id: chan('2'), slot: '701', lot: 'default' });
  const shown = scene.view.call(call('2'));
  assert.equal(shown, scene.view.call(call('1')));
  assert.deepEqual(
    [shown?.id, shown?.direction, shown?.dialled, shown?.extensions],
    [call('1'), 'internal', '1002', ['1001', '1002']],
  );
  assert.deepEqual(
    shown?.legs.map((l) => [l.extension, l.held, l.queue, l.slot]),
    [
      ['1001', false, null, null],
      ['1002', false, null, '701'],
    ],
  );
  scene.hangup('1');
  scene.hangup('2');
  assert.equal(scene.view.call(call('1')), undefined);
});

test('pbx snapshot - the holder is the side whose other device is on hold; while the link is up, events alone say so', () => {
  const talk = (scene: Scene): void => {
    scene.created('1', { endpoint: '1001', state: 'up' });
    scene.created('2', { endpoint: '1002', of: '1', state: 'up' });
    for (const id of ['1', '2'])
      scene.send({ type: 'bridge.entered', bridge: bridge('b'), id: chan(id), holding: false });
  };
  const take = (why: 'connect' | 'resync', state: 'ONHOLD' | 'INUSE') =>
    scene.snapshot(
      {
        channels: [
          channel('1', { endpoint: '1001', state: 'up' }),
          channel('2', { endpoint: '1002', of: '1', state: 'up' }),
        ],
        bridged: ['1', '2'].map((id) => ({ bridge: bridge('b'), channel: chan(id), holding: false })),
        devices: [
          { endpoint: '1001', state: 'INUSE' },
          { endpoint: '1002', state },
        ],
      },
      why,
    );
  const holders = (scene: Scene) =>
    scene.view.calls().flatMap(({ legs }) => legs.flatMap((l) => (l.held ? [l.extension] : [])));
  const scene = new Scene();
  talk(scene);
  scene.published.length = 0;
  take('connect', 'ONHOLD');
  assert.deepEqual(holders(scene), ['1001']);
  take('resync', 'INUSE');
  assert.deepEqual(holders(scene), ['1001']);
  take('connect', 'INUSE');
  assert.deepEqual(holders(scene), []);
  assert.deepEqual(
    types(scene.published).filter((type) => type.startsWith('call.')),
    ['call.held', 'call.retrieved'],
  );
});
