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
  node,
  types,
} from '../../test/support/model-scene.ts';

const SLOT = { slot: '701', lot: 'default' };
/** 1001 talks to 1002, which parks the call on 701. */
function parked(scene = new Scene()): Scene {
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.state('2', 'up');
  scene.state('1', 'up');
  scene.enter('b', '1');
  scene.enter('b', '2');
  scene.published.length = 0;
  scene.leave('b', '1');
  scene.enter('lot', '1', true);
  scene.send({ type: 'channel.parked', id: chan('1'), ...SLOT });
  scene.hangup('2');
  return scene;
}
const published = (scene: Scene, from = 0) =>
  scene.published
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
/** A service restored from the journal of this one. */
function again(before: Scene, events: readonly DomainEvent[] = before.published): Scene {
  const journal = createModel();
  journal.committed(events);
  const model = createModel();
  model.restore(checkpointOf(journal), []);
  const scene = new Scene({ model, empty: true });
  scene.at = before.at;
  return scene;
}

test('pbx parking - a slot names the extension that parked the call even if that leg ended first', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.state('2', 'up');
  scene.state('1', 'up');
  scene.enter('b', '1');
  scene.enter('b', '2');
  scene.leave('b', '1');
  scene.enter('lot', '1', true);
  scene.hangup('2');
  scene.send({ type: 'channel.parked', id: chan('1'), ...SLOT });
  assert.equal(scene.view.parked()[0]?.by, '1002');
});

test('pbx parking - a slot shows its call, since when and by which extension, until it is freed', () => {
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
      node,
      call: call('1'),
      leg: chan('1'),
      party: { number: '1001', name: 'Person 1001' },
      by: '1002',
    });
    assert.equal(since, scene.at - 1000);
    scene.send(end);
    scene.send(end);
    assert.deepEqual(scene.view.parked(), []);
    assert.deepEqual(published(scene), [
      ['701', '1001', 'live'],
      ['701', reason, 'live'],
    ]);
    scene.hangup('1');
    assert.equal(published(scene).length, 2);
  }
});

test('pbx parking - a call that takes an occupied slot ends the one before it', () => {
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
  assert.deepEqual(published(scene), [
    ['701', '1001', 'live'],
    ['701', 'timed_out', 'live'],
    ['701', '1003', 'live'],
    ['701', 'hung_up', 'live'],
  ]);
});

test('pbx parking - a restarted service takes the slots from the engine and reports none twice', () => {
  const before = parked();
  const scene = again(before);
  assert.equal(scene.view.parked()[0]?.by, '1002', 'shown as of the journal');
  scene.snapshot({ channels: waiting, bridged, parked: [row('1')] });
  assert.equal(scene.view.parked()[0]?.by, '1002');
  assert.deepEqual(
    scene.published.filter(({ type }) => /park/.test(type)),
    [],
  );
  scene.send({ type: 'channel.unparked', id: chan('1'), slot: '701', reason: 'retrieved' });
  assert.deepEqual(published(scene), [['701', 'picked_up', 'live']]);
});

test('pbx parking - changes while the service was away are reported by the next snapshot', () => {
  const talks = [...waiting, channel('3', { endpoint: '1003', of: '1', state: 'up', dialled: '701' })];
  const together = ['1', '3'].map((id) => ({ bridge: bridge('c'), channel: chan(id), holding: false }));
  for (const [snapshot, reason] of [
    [{ channels: talks, bridged: together, parked: [] }, 'picked_up'],
    [{ channels: waiting, bridged: [], parked: [] }, 'timed_out'],
    [{ channels: [], bridged: [], parked: [] }, 'engine_lost'],
  ] as const) {
    for (const scene of [parked(), again(parked())]) {
      const from = scene.published.length;
      scene.snapshot(snapshot);
      assert.deepEqual(published(scene, from), [['701', reason, 'resync']]);
      assert.deepEqual(scene.view.parked(), []);
    }
  }
  const missed = new Scene();
  missed.snapshot({ channels: waiting, bridged, parked: [row('1')] });
  assert.deepEqual(published(missed), [['701', '1001', 'resync']]);
  assert.ok(types(missed.published).includes('call.parked'));
  assert.deepEqual(types(missed.snapshot({ channels: waiting, bridged, parked: [row('1')] })), []);
});

test('pbx parking - an engine that was restarted has no parked calls any more', () => {
  const scene = parked();
  const from = scene.published.length;
  scene.send({ type: 'engine.link', node, up: false, reason: 'cut', boot_id: 'boot-1' });
  scene.send({ type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-2' });
  scene.snapshot({ boot_id: 'boot-2', restarted: true, parked: [] }, 'connect');
  assert.deepEqual(published(scene, from), [['701', 'engine_lost', 'resync']]);
});

test('pbx parking - a slot that changed hands while the service was away ends the old one, then shows the new one', () => {
  const other = channel('3', { endpoint: '1003', state: 'up', dialled: '1002' });
  const lot = (id: string) => ({ bridge: bridge('lot'), channel: chan(id), holding: true });
  const talk = ['1', '4'].map((id) => ({ bridge: bridge('c'), channel: chan(id), holding: false }));
  const fourth = channel('4', { endpoint: '1004', of: '1', state: 'up', dialled: '701' });
  for (const [snapshot, reason] of [
    [{ channels: [other], bridged: [lot('3')], parked: [row('3')] }, 'engine_lost'],
    [
      { channels: [...waiting, fourth, other], bridged: [...talk, lot('3')], parked: [row('3')] },
      'picked_up',
    ],
    [{ channels: [...waiting, other], bridged: [lot('3')], parked: [row('3')] }, 'timed_out'],
  ] as const) {
    for (const scene of [parked(), again(parked())]) {
      const from = scene.published.length;
      scene.snapshot(snapshot);
      assert.deepEqual(published(scene, from), [
        ['701', reason, 'resync'],
        ['701', '1003', 'resync'],
      ]);
    }
  }
});

/** Legs on slots by the events; throws if an event contradicts an earlier one. */
function slotsOf(events: readonly DomainEvent[]): ReadonlyMap<string, string> {
  const slots = new Map<string, string>();
  for (const { type, data } of events) {
    if (type === 'parking.slot_occupied') {
      assert.equal(slots.get(data.slot), undefined, `${data.leg_id} takes ${data.slot}, which is occupied`);
      slots.set(data.slot, data.leg_id);
    } else if (type === 'parking.slot_freed') {
      assert.equal(slots.get(data.slot), data.leg_id, `the end of ${data.slot}`);
      slots.delete(data.slot);
    }
  }
  return slots;
}

test('pbx parking - each call on a slot ends by one event, whatever was missed and however often the service restarted', () => {
  const slots = ['701', '702', '703'];
  for (let seed = 1; seed <= 150; seed += 1) {
    let state = seed;
    const chance = (n: number): number => (state = (state * 48_271) % 2_147_483_647) % n;
    /** Truth in the engine: the channels, and their slots. */
    const there = new Map<string, string | null>();
    let scene = new Scene();
    const events: DomainEvent[] = [];
    let [made, listening] = [0, true];
    const send: Scene['send'] = (body) => (listening ? scene.send(body) : []);
    const park = (id: string, slot: string): void => {
      there.set(id, slot);
      send({ type: 'bridge.entered', bridge: bridge('lot'), id: chan(id), holding: true });
      send({ type: 'channel.parked', id: chan(id), slot, lot: 'default' });
    };
    for (let step = 0; step < 40; step += 1) {
      const who = [...there.keys()][chance(there.size + 1)];
      const slot = slots[chance(3)]!;
      const on = [...there].find(([, at]) => at === slot)?.[0];
      const waits = who !== undefined && there.get(who) !== null;
      const kind = chance(8);
      if (kind <= 1) {
        made += 1;
        const id = String(made);
        there.set(id, null);
        if (listening) scene.created(id, { endpoint: `100${(made % 4) + 1}`, state: 'up' });
      } else if (kind === 2 && who !== undefined) {
        there.delete(who);
        if (listening) scene.hangup(who);
      } else if (kind === 3 && who !== undefined && !waits) {
        // The engine gives a slot to one call at a time: an event of the previous one was lost.
        if (on !== undefined) there.set(on, null);
        park(who, slot);
      } else if (kind === 4 && waits) {
        const { [chance(3)]: reason } = ['retrieved', 'timeout', 'gave_up'] as const;
        send({ type: 'channel.unparked', id: chan(who), slot: there.get(who)!, reason: reason! });
        there.set(who, null);
      } else if (kind === 5) listening = false;
      else if (kind === 6) {
        listening = false;
        events.push(...scene.published);
        scene = again(scene, events);
      } else if (kind === 7) {
        listening = true;
        const channels = [...there.keys()].map((id) =>
          channel(id, { endpoint: `100${(Number(id) % 4) + 1}`, state: 'up' }),
        );
        const rows = [...there].filter(([, at]) => at !== null);
        const lot = rows.map(([id]) => ({ bridge: bridge('lot'), channel: chan(id), holding: true }));
        const known = chance(4) > 0;
        const list = rows.map(([id, at]) => row(id, at!));
        scene.snapshot({ channels, bridged: lot, ...(known ? { parked: list } : {}) });
        if (!known) continue;
        const shown = [...slotsOf([...events, ...scene.published])].map((pair) => pair.join(' ')).sort();
        assert.deepEqual(
          shown,
          rows.map(([id, at]) => `${at} ${chan(id)}`).sort(),
          `seed ${seed}, step ${step}`,
        );
        assert.deepEqual(
          scene.view.parked().map((p) => `${p.slot} ${p.leg}`),
          shown,
        );
      }
      slotsOf([...events, ...scene.published]);
    }
    // All hang up, reported live if the service listens.
    if (listening) for (const id of there.keys()) scene.hangup(id);
    else scene.snapshot();
    assert.deepEqual([...slotsOf([...events, ...scene.published])], [], `seed ${seed}`);
  }
});
