import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { ExpectedEvent } from '../ports/live.ts';
import { Scene, bridge, chan, channel, types } from '../../test/support/model-scene.ts';

const setUp = () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  for (const id of ['2', '1']) {
    scene.state(id, 'up');
    scene.enter('b', id);
  }
  const expect = (
    operation_id: string,
    expects: readonly ExpectedEvent[],
    until = scene.at + 60_000,
  ): void => {
    assert.deepEqual(
      scene.model.step({ type: 'operation.sent', at: scene.at, operation_id, expects, until }),
      [],
    );
  };
  const hold = (held: boolean, id = '1', at?: number): DomainEvent[] => [
    ...scene.send({ type: 'channel.held', id: chan(id), held }, at),
  ];
  const by = (events: readonly DomainEvent[]) => events.map((e) => e.caused_by ?? null);
  return { scene, expect, hold, by };
};

test('pbx operations - expected events carry its id, as often as expected and no more', () => {
  const { scene, expect, hold, by } = setUp();
  expect('op-1', [{ type: 'call.held', leg: chan('1') }]);
  assert.deepEqual(by(hold(true, '2')), [null], 'another leg');
  assert.deepEqual(by(hold(true)), ['op-1']);
  assert.deepEqual([...scene.view.ledTo('op-1')], ['call.held']);
  assert.deepEqual(by(hold(false)), [null], 'another type');
  assert.deepEqual(by(hold(true)), [null], 'it was published already');
  assert.deepEqual([...scene.view.ledTo('op-none')], []);
});

test('pbx operations - found by call, also under a merged id; the newest matches', () => {
  const { scene, expect, hold, by } = setUp();
  expect('old', [{ type: 'call.held', call: chan('1'), times: 2 }]);
  expect('new', [{ type: 'call.held', call: chan('1') }]);
  expect('who', [{ type: 'call.retrieved', extension: '1002' }]);
  assert.deepEqual(by(hold(true)), ['new']);
  assert.deepEqual(by(hold(true, '2')), ['old']);
  assert.deepEqual(by(hold(false)), [null]);
  assert.deepEqual(by(hold(false, '2')), ['who']);
  scene.created('9', { endpoint: '1003', created_at: 1 });
  scene.send({ type: 'channel.linked', id: chan('1'), call: chan('9') as never });
  assert.deepEqual(by(hold(true)), ['old'], 'the call has another id now');
});

test('pbx operations - a transfer is attributed to its own operation, even after a later one on the same call', () => {
  const { scene, expect, by } = setUp();
  const transferred = (extension: string, to: string): ExpectedEvent => ({
    type: 'call.transferred',
    call: chan('1'),
    kind: 'blind',
    by: extension,
    to,
  });
  expect('op-1', [transferred('1001', '1003')]);
  expect('op-2', [transferred('1002', '1004')]);
  expect('op-3', [transferred('1001', '1005')]);
  expect('op-4', [{ ...transferred('1001', '1003'), kind: 'attended' }]);
  const moved = scene.send({
    type: 'transfer.blind',
    by: chan('1'),
    transferee: chan('2'),
    to: '1003',
    succeeded: true,
  });
  assert.deepEqual(by(moved), ['op-1']);
  assert.deepEqual([...scene.view.ledTo('op-2')], []);
});

test('pbx operations - agent events of the same fact carry its id too', () => {
  const scene = new Scene();
  scene.member('support', '1002');
  scene.created('1', { endpoint: 'trunk', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  for (const id of ['2', '1']) {
    scene.state(id, 'up');
    scene.enter('b', id);
  }
  const expects = [{ type: 'call.ended', call: chan('1') }] as const;
  scene.hangup('1');
  scene.model.step({
    type: 'operation.sent',
    at: scene.at,
    operation_id: 'op-1',
    expects,
    until: scene.at + 60_000,
  });
  assert.deepEqual(
    scene.hangup('2').map((e) => [e.type, e.caused_by]),
    [
      ['call.ended', 'op-1'],
      ['agent.ready', 'op-1'],
    ],
  );
});

test('pbx operations - in a snapshot, only events of the same agent carry the id of an expected one', () => {
  const scene = new Scene();
  for (const who of ['1002', '1003']) scene.member('support', who);
  scene.model.step({
    type: 'operation.sent',
    at: scene.at,
    operation_id: 'op-1',
    expects: [{ type: 'agent.logged_out', extension: '1002', queue: 'support' }],
    until: scene.at + 60_000,
  });
  // The engine restarted meanwhile and has no member any more.
  const published = scene.snapshot({ boot_id: 'boot-2', restarted: true }, 'connect');
  assert.deepEqual(
    published.flatMap((e) => (e.type.startsWith('agent.') ? [[e.subject, e.caused_by ?? null]] : [])),
    [
      ['agents/1002', 'op-1'],
      ['agents/1003', null],
    ],
  );
});

test('pbx operations - expire by the time of the facts, and are bounded', () => {
  const { scene, expect, hold, by } = setUp();
  expect('late', [{ type: 'call.held', leg: chan('1') }], scene.at + 1000);
  assert.deepEqual(by(hold(true, '1', scene.at + 1001)), [null]);
  for (let i = 0; i < 1_500; i += 1) expect(`op-${i}`, [{ type: 'call.held', leg: chan('7') }]);
  assert.ok(
    (scene.model as never as { state: { operations: Map<string, unknown> } }).state.operations.size <= 1_000,
  );
});

test('pbx operations - one whose events all came is still found by its id, and no longer looked at', () => {
  const { scene, expect, hold, by } = setUp();
  const { state } = scene.model as never as { state: { expecting: ReadonlyMap<string, unknown> } };
  expect('op-1', [{ type: 'call.held', leg: chan('1') }]);
  expect('op-2', [{ type: 'call.retrieved', leg: chan('1') }]);
  assert.deepEqual(by(hold(true)), ['op-1']);
  assert.deepEqual([...state.expecting.keys()], ['op-2']);
  assert.deepEqual(by(hold(false)), ['op-2']);
  assert.equal(state.expecting.size, 0);
  assert.deepEqual([...scene.view.ledTo('op-1')], ['call.held']);
});

test('pbx operations - a leg is recorded until the last of its recordings ended', () => {
  const { scene } = setUp();
  const recording = (on: boolean) =>
    scene.send({ type: 'channel.recording', id: chan('1'), on }).map((e) => e.type);
  assert.deepEqual(recording(true), ['call.recording_started']);
  assert.deepEqual(recording(true), []);
  assert.deepEqual(recording(false), []);
  assert.equal(scene.view.leg(chan('1'))?.recording, true);
  assert.deepEqual(recording(false), ['call.recording_stopped']);
  assert.deepEqual(recording(false), []);
  assert.deepEqual(recording(true), ['call.recording_started']);
});

test('pbx operations - a recording is paused and resumed, each published once; its end ends the pause', () => {
  const { scene } = setUp();
  const published = (type: 'channel.recording' | 'channel.recording_paused', on: boolean) =>
    scene.send({ type, id: chan('1'), on }).map((e) => e.type);
  assert.deepEqual(published('channel.recording_paused', true), [], 'nothing is recorded');
  published('channel.recording', true);
  assert.deepEqual(published('channel.recording_paused', true), ['call.recording_paused']);
  assert.deepEqual(published('channel.recording_paused', true), []);
  assert.equal(scene.view.leg(chan('1'))?.recording_paused, true);
  assert.deepEqual(published('channel.recording_paused', false), ['call.recording_resumed']);
  published('channel.recording_paused', true);
  assert.deepEqual(published('channel.recording', false), ['call.recording_stopped']);
  published('channel.recording', true);
  assert.equal(scene.view.leg(chan('1'))?.recording_paused, false);
});

test('pbx operations - a hold by the service and one by the device are published as one hold', () => {
  const { scene, hold } = setUp();
  const ours = (held: boolean) =>
    scene.send({ type: 'channel.held', id: chan('1'), held, by: 'operation' }).map((e) => e.type);
  assert.deepEqual(ours(true), ['call.held']);
  assert.deepEqual(hold(true), [], 'held already');
  assert.equal(scene.view.leg(chan('1'))?.state, 'held');
  assert.deepEqual(ours(false), [], 'still held by the device');
  assert.deepEqual(
    hold(false).map((e) => e.type),
    ['call.retrieved'],
  );
});

test('pbx operations - a hold by the service survives a snapshot that shows it, and a restart does not repeat it', () => {
  const { scene } = setUp();
  const channels = [
    channel('1', { endpoint: '1001', state: 'up' }),
    channel('2', { endpoint: '1002', of: '1', state: 'up' }),
  ];
  const bridged = ['1', '2'].map((id) => ({ bridge: bridge('b'), channel: chan(id), holding: false }));
  const now = { channels, bridged };
  scene.send({ type: 'channel.held', id: chan('1'), held: true, by: 'operation' });
  assert.deepEqual(types(scene.snapshot({ ...now, held_here: [chan('1')] })), []);
  assert.equal(scene.view.leg(chan('1'))?.held_here, true);
  assert.deepEqual(
    types(scene.snapshot(now)).filter((type) => type.startsWith('call.')),
    ['call.retrieved'],
    'missed while nobody listened',
  );
  const later = new Scene({ empty: true });
  later.model.restore(null, scene.published);
  later.published.length = 0;
  later.snapshot({ ...now, held_here: [chan('1')] }, 'connect');
  assert.equal(later.view.leg(chan('1'))?.state, 'held');
  assert.ok(!types(later.published).includes('call.held'));
});
