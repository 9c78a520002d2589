import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from './model.ts';
import { Scene, bridge, call, chan, channel, node, types } from './test-events.ts';

const SLOT = { slot: '701', lot: 'default' };
/** 1001 talks to 1002, who parks the call on 701. */
function parked(scene = new Scene()): Scene {
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.state('2', 'up');
  scene.state('1', 'up');
  scene.enter('b', '1');
  scene.enter('b', '2');
  scene.told.length = 0;
  scene.leave('b', '1');
  scene.enter('lot', '1', true);
  scene.send({ type: 'channel.parked', id: chan('1'), ...SLOT });
  scene.hangup('2');
  return scene;
}
const told = (scene: Scene, from = 0) =>
  scene.told
    .slice(from)
    .flatMap((e) =>
      e.type === 'parking.slot_occupied'
        ? [[e.data.slot, e.data.party.number, e.observed]]
        : e.type === 'parking.slot_freed'
          ? [[e.data.slot, e.data.reason, e.observed]]
          : [],
    );
const waiting = [channel('1', { endpoint: '1001', state: 'up', dialled: '1002' })];
const bridged = [{ bridge: bridge('lot'), channel: chan('1'), holding: true }];
const row = (id: string, slot = '701') => ({ channel: chan(id), slot, lot: 'default', since: 0 });
/** A service that begins again from the journal of this one. */
function again(before: Scene): Scene {
  const journal = createModel();
  journal.committed(before.told);
  const model = createModel();
  model.restore(journal.checkpoint(), []);
  const scene = new Scene({ model, empty: true });
  scene.at = before.at;
  return scene;
}

test('pbx parking - a slot shows who waits, since when and who parked the call, until it is freed', () => {
  const ends = [
    [{ type: 'channel.unparked', id: chan('1'), slot: '701', reason: 'retrieved' }, 'picked_up'],
    [{ type: 'channel.unparked', id: chan('1'), slot: '701', reason: 'timeout' }, 'timed_out'],
    [{ type: 'channel.unparked', id: chan('1'), slot: '701', reason: 'gave_up' }, 'hung_up'],
    [{ type: 'channel.hungup', id: chan('1'), cause: 16, cause_text: '' }, 'hung_up'],
  ] as const;
  for (const [end, reason] of ends) {
    const scene = parked();
    const [shown] = scene.view.parked();
    const { since, ...rest } = shown!;
    assert.deepEqual(rest, {
      ...SLOT,
      call: call('1'),
      leg: chan('1'),
      party: { number: '1001', name: 'Person 1001' },
      by: '1002',
    });
    assert.equal(since, scene.at - 1000);
    scene.send(end);
    scene.send(end);
    assert.deepEqual(scene.view.parked(), []);
    assert.deepEqual(told(scene), [
      ['701', '1001', 'live'],
      ['701', reason, 'live'],
    ]);
    scene.hangup('1');
    assert.equal(told(scene).length, 2);
  }
});

test('pbx parking - another channel takes the place of the one on the slot', () => {
  const scene = parked();
  scene.created('3', { endpoint: '1003', state: 'up' });
  scene.enter('lot', '3', true);
  scene.send({ type: 'channel.parked', id: chan('3'), ...SLOT });
  scene.hangup('1');
  assert.deepEqual(
    scene.view.parked().map((p) => [p.slot, p.party.number]),
    [['701', '1003']],
  );
  scene.hangup('3');
  assert.deepEqual(told(scene), [
    ['701', '1001', 'live'],
    ['701', '1003', 'live'],
    ['701', 'hung_up', 'live'],
  ]);
});

test('pbx parking - a service that begins again takes the slots from the engine and reports none twice', () => {
  const before = parked();
  const scene = again(before);
  assert.equal(scene.view.parked()[0]?.by, '1002', 'shown as of the journal');
  scene.snapshot({ channels: waiting, bridged, parked: [row('1')] });
  assert.equal(scene.view.parked()[0]?.by, '1002');
  assert.deepEqual(
    scene.told.filter(({ type }) => /park/.test(type)),
    [],
  );
  scene.send({ type: 'channel.unparked', id: chan('1'), slot: '701', reason: 'retrieved' });
  assert.deepEqual(told(scene), [['701', 'picked_up', 'live']]);
});

test('pbx parking - what happened while nobody listened is reported by the next snapshot', () => {
  const talks = [...waiting, channel('3', { endpoint: '1003', of: '1', state: 'up', dialled: '701' })];
  const together = ['1', '3'].map((id) => ({ bridge: bridge('c'), channel: chan(id), holding: false }));
  for (const [snapshot, reason] of [
    [{ channels: talks, bridged: together, parked: [] }, 'picked_up'],
    [{ channels: waiting, bridged: [], parked: [] }, 'timed_out'],
    [{ channels: [], bridged: [], parked: [] }, 'engine_lost'],
  ] as const) {
    for (const scene of [parked(), again(parked())]) {
      const from = scene.told.length;
      scene.snapshot(snapshot);
      assert.deepEqual(told(scene, from), [['701', reason, 'resync']]);
      assert.deepEqual(scene.view.parked(), []);
    }
  }
  const missed = new Scene();
  missed.snapshot({ channels: waiting, bridged, parked: [row('1')] });
  assert.deepEqual(told(missed), [['701', '1001', 'resync']]);
  assert.ok(types(missed.told).includes('call.parked'));
  assert.deepEqual(types(missed.snapshot({ channels: waiting, bridged, parked: [row('1')] })), []);
});

test('pbx parking - an engine that was restarted has no parked calls any more', () => {
  const scene = parked();
  const from = scene.told.length;
  scene.send({ type: 'engine.link', node, up: false, reason: 'cut', boot_id: 'boot-1' });
  scene.send({ type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-2' });
  scene.snapshot({ boot_id: 'boot-2', restarted: true, parked: [] }, 'connect');
  assert.deepEqual(told(scene, from), [['701', 'engine_lost', 'resync']]);
});
