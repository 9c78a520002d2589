import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bridgeId, callId, channelId, nodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type { DeviceState, EngineChannel, EngineSnapshot, QueueMember } from '../../ports/engine-state.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import { Mirror } from './mirror.ts';

const node = nodeId('n');
const id = (n: number): EngineChannel['id'] => channelId(node, String(n));
const nobody = { number: '', name: '' };
const channel = (n: number, more: Partial<EngineChannel> = {}): EngineChannel => ({
  id: id(n),
  call: callId(node, String(n)),
  name: `PJSIP/${n}-00000001`,
  kind: 'endpoint',
  endpoint: String(n),
  pair: null,
  state: 'up',
  caller: nobody,
  connected: nobody,
  dialled: '',
  created_at: 0,
  ...more,
});
const member = (name: string, more: Partial<QueueMember> = {}): QueueMember => ({
  queue: 'q',
  interface: name,
  extension: null,
  name,
  membership: 'dynamic',
  paused: false,
  paused_reason: '',
  paused_at: null,
  login_at: null,
  last_call_at: null,
  in_call: false,
  penalty: 0,
  state: 'NOT_INUSE',
  ...more,
});
const b = bridgeId(node, 'b');
const base: EngineSnapshot = {
  node,
  boot_id: 'x',
  restarted: null,
  channels: [channel(1)],
  bridged: [{ bridge: b, channel: id(1), holding: false }],
  held_here: [id(1)],
  parked: [{ channel: id(2), slot: '701', lot: 'l', since: 0 }],
  signed: new Map([['desk_1', { extension: '1001', since: 1 }]]),
  switches: new Map([['office', 'closed']]),
  trunks: [
    {
      endpoint: 'trunk-north',
      servers: [
        {
          server: 'north:5060',
          reachable: true,
          round_trip_ms: 2,
          registration: { uri: 'sip:u@north', state: 'registered' },
        },
      ],
    },
  ],
  queues: [{ name: 'q', strategy: 'ringall', members: [member('m1')], callers: [] }],
  devices: [{ endpoint: '1', state: 'INUSE' }],
  features: new Map([['1001', { ...FEATURES_OFF, dnd: true, changed_at: 1 }]]),
};
const caller = { queue: 'q', channel: id(1), position: 1, joined_at: 0, priority: null };
const features = (extension: string, changed_at: number): EngineEvent => ({
  at: 0,
  type: 'extension.features',
  extension,
  features: { ...FEATURES_OFF, changed_at },
});
/** Each fact with how many differences it makes to the state before. */
const FACTS: [EngineEvent, number][] = [
  [{ at: 0, type: 'channel.created', channel: channel(2) }, 1],
  [{ at: 0, type: 'channel.state', id: id(1), state: 'ringing', caller: nobody, connected: nobody }, 1],
  [{ at: 0, type: 'channel.party', id: id(1), caller: { number: '9', name: '' }, connected: nobody }, 0],
  [{ at: 0, type: 'channel.linked', id: id(1), call: callId(node, '7') }, 1],
  [{ at: 0, type: 'channel.renamed', id: id(1), channel: channel(1, { name: 'PJSIP/9-00000002' }) }, 1],
  [{ at: 0, type: 'channel.hungup', id: id(1), cause: 16, cause_text: '' }, 2],
  [{ at: 0, type: 'channel.parked', id: id(3), slot: '702', lot: 'l' }, 1],
  [{ at: 0, type: 'channel.unparked', id: id(2), slot: '701', reason: 'retrieved' }, 1],
  [{ at: 0, type: 'channel.unparked', id: id(2), slot: '702', reason: 'retrieved' }, 0],
  [{ at: 0, type: 'bridge.left', bridge: b, id: id(1) }, 1],
  [{ at: 0, type: 'bridge.left', bridge: bridgeId(node, 'other'), id: id(1) }, 0],
  [{ at: 0, type: 'bridge.entered', bridge: bridgeId(node, 'c'), id: id(1), holding: false }, 1],
  [{ at: 0, type: 'bridge.entered', bridge: b, id: id(9), holding: false }, 0],
  [{ at: 0, type: 'queue.member', why: 'paused', member: member('m1', { paused: true }) }, 1],
  [{ at: 0, type: 'queue.member', why: 'added', member: member('m2') }, 1],
  [{ at: 0, type: 'queue.member', why: 'added', member: { ...member('m2'), queue: 'unknown' } }, 0],
  [{ at: 0, type: 'queue.member_removed', queue: 'q', interface: 'm1' }, 1],
  [{ at: 0, type: 'queue.caller_joined', caller }, 1],
  [{ at: 0, type: 'device.state', endpoint: '1', state: 'BUSY' }, 1],
  [{ at: 0, type: 'channel.held', id: id(1), held: true }, 0],
  [features('1001', 2), 1],
  [features('1002', 1), 1],
  [features('1001', 0), 1],
  [features('1002', 0), 0],
  [{ at: 0, type: 'phone.signed', endpoint: 'desk_2', now: { extension: '1002', since: 1 }, by: 'code' }, 1],
  [{ at: 0, type: 'phone.signed', endpoint: 'desk_1', now: null, by: 'code' }, 1],
  [{ at: 0, type: 'phone.pin_refused', endpoint: 'desk_1', extension: null }, 0],
  [{ at: 0, type: 'night_switch.changed', name: 'office', to: 'open', by: null }, 1],
  [{ at: 0, type: 'night_switch.changed', name: 'office', to: null, by: null }, 1],
];

test('mirror - each fact changes what it says and nothing else', () => {
  for (const [event, differences] of FACTS) {
    const [mirror, fresh] = [new Mirror(), new Mirror()];
    mirror.load(base);
    fresh.load(base);
    assert.equal(mirror.drift(fresh), 0);
    mirror.apply(event);
    assert.equal(mirror.drift(fresh), differences, event.type);
    assert.equal(fresh.drift(mirror), differences, `${event.type}, seen from the other side`);
  }
});

test('mirror - a snapshot comes out as it went in, and replaces all there was', () => {
  const mirror = new Mirror();
  for (const [event] of FACTS) mirror.apply(event);
  mirror.load(base);
  const {
    channels,
    bridged,
    held_here,
    parked,
    queues,
    devices,
    features: kept,
    trunks,
    signed,
    switches,
  } = base;
  assert.deepEqual(mirror.parts(), {
    channels,
    bridged,
    held_here,
    parked,
    queues,
    devices,
    features: kept,
    trunks,
    signed,
    switches,
  });
});

test('mirror - it knows who is in a bridge, until they leave or end', () => {
  const mirror = new Mirror();
  mirror.load({ ...base, channels: [channel(1), channel(2)] });
  mirror.apply({ at: 0, type: 'bridge.entered', bridge: b, id: id(2), holding: false });
  assert.deepEqual([...mirror.channelsIn(b)], [id(1), id(2)]);
  mirror.apply({ at: 0, type: 'channel.hungup', id: id(1), cause: 16, cause_text: '' });
  assert.deepEqual([...mirror.channelsIn(b)], [id(2)]);
  mirror.apply({ at: 0, type: 'bridge.left', bridge: b, id: id(2) });
  assert.deepEqual([...mirror.channelsIn(b)], []);
});

test('mirror - a caller leaves once, whichever way', () => {
  for (const event of [
    { at: 0, type: 'queue.caller_left', queue: 'q', channel: id(1) },
    { at: 0, type: 'queue.caller_abandoned', queue: 'q', channel: id(1), hold_seconds: 1, position: 1 },
  ] satisfies EngineEvent[]) {
    const mirror = new Mirror();
    mirror.load({ ...base, queues: [{ ...base.queues[0]!, callers: [caller] }] });
    mirror.apply(event);
    assert.deepEqual(mirror.parts().queues[0]?.callers, []);
  }
});

test('mirror - places in a queue follow from who got in before and who left', () => {
  const at = (n: number, position: number) => ({ ...caller, channel: id(n), position });
  const places = (mirror: Mirror) =>
    mirror.parts().queues[0]?.callers.map((c) => [c.channel, c.position] as const);
  const mirror = new Mirror();
  mirror.load({ ...base, queues: [{ ...base.queues[0]!, callers: [at(2, 2), at(1, 1)] }] });
  mirror.apply({ at: 0, type: 'queue.caller_joined', caller: at(3, 1) });
  mirror.apply({ at: 0, type: 'queue.caller_joined', caller: at(4, 3) });
  assert.deepEqual(places(mirror), [
    [id(3), 1],
    [id(1), 2],
    [id(4), 3],
    [id(2), 4],
  ]);
  mirror.apply({ at: 0, type: 'queue.caller_left', queue: 'q', channel: id(1) });
  assert.deepEqual(places(mirror), [
    [id(3), 1],
    [id(4), 2],
    [id(2), 3],
  ]);
  const calls = { first_call: callId(node, '9'), second_call: callId(node, '4') };
  const transfer = { first: id(9), second: id(4), ...calls, transferee: id(5), to: '' };
  mirror.apply({ at: 0, type: 'transfer.attended', ...transfer, succeeded: false });
  mirror.apply({ at: 0, type: 'transfer.attended', ...transfer, second: id(8), succeeded: true });
  mirror.apply({ at: 0, type: 'transfer.attended', ...transfer, succeeded: true });
  assert.deepEqual(places(mirror), [
    [id(3), 1],
    [id(5), 2],
    [id(2), 3],
  ]);
});
test('mirror - an engine is unreached while its endpoint is unavailable, by facts and by snapshots', () => {
  const mirror = new Mirror();
  const now = (endpoint: string, state: DeviceState): EngineEvent => ({
    at: 0,
    type: 'device.state',
    endpoint,
    state,
  });
  mirror.apply(now('engine-b', 'UNAVAILABLE'));
  mirror.apply(now('engine-c', 'NOT_INUSE'));
  mirror.apply(now('1001', 'UNAVAILABLE'));
  assert.deepEqual(mirror.unreached, ['b']);
  mirror.apply(now('engine-b', 'NOT_INUSE'));
  mirror.apply(now('engine-c', 'UNAVAILABLE'));
  assert.deepEqual(mirror.unreached, ['c']);
  const fresh = new Mirror();
  fresh.load({ ...base, devices: [{ endpoint: 'engine-d', state: 'UNAVAILABLE' }] });
  mirror.adopt(fresh);
  assert.deepEqual(mirror.unreached, ['d']);
  mirror.load(base);
  assert.deepEqual(mirror.unreached, []);
});
