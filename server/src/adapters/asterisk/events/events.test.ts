import assert from 'node:assert/strict';
import { test } from 'node:test';
import v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../../ports/engine-events.ts';
import { readTranscript } from '../transcript.ts';
import { bornAt, channelState, describeChannel, extensionOfMember, memberOf } from './names.ts';
import { channelHeaders, memberEvent } from '../../../../test/support/fake-ami.ts';
import type { FakeHeaders } from '../../../../test/support/fake-ami.ts';

const node = nodeId('ast1');
const frame = (name: string, headers: FakeHeaders, { privilege = true } = {}): string =>
  [
    `Event: ${name}`,
    ...(privilege ? ['Privilege: call,all'] : []),
    'Timestamp: 1795222133.306533',
    ...Object.entries(headers).map(([key, value]) => `${key}: ${value as string}`),
    '',
    '',
  ].join('\r\n');
const read = (...frames: string[]): ReturnType<typeof readTranscript> =>
  readTranscript(
    node,
    frames.map((f) => Buffer.from(f)),
  );
const one = (name: string, headers: FakeHeaders): EngineEvent | undefined =>
  read(frame(name, headers)).events.at(-1);
const A = { name: 'PJSIP/1001-web-0000001a', uniqueid: '1763683200.42', exten: '1003', state: 0 };
const B = {
  name: 'PJSIP/1003-0000001b',
  uniqueid: '1763683200.43',
  linkedid: '1763683200.42',
  exten: 's',
  state: 5,
};
const at = 1795222133306;

test('events - a name of a channel tells its endpoint, a pair, or that it is neither', () => {
  const rows: [string, ReturnType<typeof describeChannel>][] = [
    ['PJSIP/1001-web-0000001a', { kind: 'endpoint', endpoint: '1001-web', pair: null }],
    ['PJSIP/1001-0000001a', { kind: 'endpoint', endpoint: '1001', pair: null }],
    ['PJSIP/my-trunk-x-0000001a', { kind: 'endpoint', endpoint: 'my-trunk-x', pair: null }],
    ['PJSIP/1001-web-0000001a<ZOMBIE>', { kind: 'other', endpoint: null, pair: null }],
    ['PJSIP/', { kind: 'other', endpoint: null, pair: null }],
    [
      'Local/1001@queue-agent-00000003;1',
      { kind: 'local', endpoint: null, pair: 'Local/1001@queue-agent-00000003' },
    ],
    [
      'Local/1001@queue-agent-00000003;2',
      { kind: 'local', endpoint: null, pair: 'Local/1001@queue-agent-00000003' },
    ],
    ...(['call', 'pickup', 'listen'] as const).map((placed): [string, ReturnType<typeof describeChannel>] => [
      `Local/+49-30@place-${placed}-00000003;2`,
      { kind: 'local', endpoint: null, pair: `Local/+49-30@place-${placed}-00000003`, placed },
    ]),
    ['Snoop/1763683200.42-00000001', { kind: 'other', endpoint: null, pair: null }],
    ['Message/ast_msg_queue', { kind: 'other', endpoint: null, pair: null }],
    ['', { kind: 'other', endpoint: null, pair: null }],
  ];
  for (const [name, expected] of rows) assert.deepEqual(describeChannel(name), expected, name);
});

test('events - a channel of a trunk to another engine is half of a pair, whose key is its account', () => {
  const half = { ...B, name: 'PJSIP/engine-b-0000001b' };
  const born = frame('Newchannel', channelHeaders(half));
  const named = (account: string): EngineEvent | undefined =>
    read(born, frame('NewAccountCode', { ...channelHeaders(half), AccountCode: account })).events[1];
  const [created] = read(born).events;
  assert.ok(created?.type === 'channel.created');
  assert.deepEqual([created.channel.kind, created.channel.pair], ['local', null]);
  const renamed = named('ast1:1763683200.43');
  assert.ok(renamed?.type === 'channel.renamed');
  assert.deepEqual([renamed.channel.kind, renamed.channel.pair], ['local', 'ast1:1763683200.43']);
  for (const account of ['', '1001', 'a:1', 'a b:1763683200.43', `${'x'.repeat(41)}:1763683200.43`])
    assert.equal(named(account), undefined, account);
  // A phone that the half rings inherits its account.
  const phone = { ...channelHeaders(B), AccountCode: 'ast1:1763683200.43' };
  assert.equal(read(frame('Newchannel', channelHeaders(B)), frame('NewAccountCode', phone)).events.length, 1);
});

test('events - an interface of a member tells its extension, and back', () => {
  assert.deepEqual(memberOf('1001'), {
    interface: 'Local/1001@queue-agent',
    state_interface: 'hint:1001@hints',
  });
  const rows: [string, string | null][] = [
    ['Local/1001@queue-agent', '1001'],
    ['Local/1001@queue-agent/n', '1001'],
    ['PJSIP/1001', '1001'],
    ['PJSIP/1001-web', '1001'],
    ['Local/1001@elsewhere', null],
    ['SIP/1001', null],
    ['PJSIP/trunk', null],
    ['Local/x1001@queue-agent', null],
    ['', null],
  ];
  for (const [iface, expected] of rows) assert.equal(extensionOfMember(iface), expected, iface);
});

test('events - ids tell the time of birth, states their word', () => {
  assert.equal(bornAt('1763683200.42'), 1763683200000);
  assert.equal(bornAt('pbx1-1763683200.42'), 1763683200000);
  assert.equal(bornAt('offhook-1'), null);
  assert.deepEqual([0, 3, 4, 5, 6, 7, -1].map(channelState), [
    'down',
    'dialing',
    'dialing',
    'ringing',
    'up',
    'other',
    'other',
  ]);
});

test('events - a new channel is described as a whole', () => {
  assert.deepEqual(one('Newchannel', channelHeaders({ ...B, caller: '1003', connected: '1001' })), {
    at,
    type: 'channel.created',
    channel: {
      id: 'ast1:1763683200.43',
      call: 'ast1:1763683200.42',
      name: 'PJSIP/1003-0000001b',
      kind: 'endpoint',
      endpoint: '1003',
      pair: null,
      state: 'ringing',
      caller: { number: '1003', name: '' },
      connected: { number: '1001', name: '' },
      dialled: '',
      created_at: at,
    },
  });
});

test('events - a dial has two ends, or one where the engine places the call', () => {
  const dest = channelHeaders(B, 'Dest');
  assert.deepEqual(one('DialBegin', { ...channelHeaders(A), ...dest, DialString: 'PJSIP/1003' }), {
    at,
    type: 'dial.begun',
    from: 'ast1:1763683200.42',
    to: 'ast1:1763683200.43',
    dialled: '1003',
  });
  assert.deepEqual(one('DialEnd', { ...dest, DialStatus: 'BUSY' }), {
    at,
    type: 'dial.ended',
    from: null,
    to: 'ast1:1763683200.43',
    status: 'BUSY',
  });
});

test('events - the end of a channel has its cause', () => {
  assert.deepEqual(one('Hangup', { ...channelHeaders(A), Cause: 17, 'Cause-txt': 'User busy' }), {
    at,
    type: 'channel.hungup',
    id: 'ast1:1763683200.42',
    cause: 17,
    cause_text: 'User busy',
  });
});

test('events - a channel that changes its name is described anew; a party that did not change is no news', () => {
  const { events } = read(
    frame('Newchannel', channelHeaders(A)),
    frame('NewCallerid', channelHeaders({ ...A, caller: '1001' })),
    frame('NewConnectedLine', channelHeaders({ ...A, caller: '1001' })),
    frame('Rename', { Channel: A.name, Newname: 'PJSIP/1001-mobile-0000001f', Uniqueid: A.uniqueid }),
    frame('Rename', { Channel: 'x', Newname: 'y', Uniqueid: '1.9' }),
  );
  assert.deepEqual(
    events.map((e) => e.type),
    ['channel.created', 'channel.party', 'channel.renamed'],
  );
  const last = events.at(-1);
  assert.ok(last?.type === 'channel.renamed');
  assert.equal(last.channel.endpoint, '1001-mobile');
  assert.deepEqual(last.channel.caller, { number: '1001', name: '' });
});

test('events - channels that meet get one call, the one in the bridge already as well', () => {
  const C = { name: 'PJSIP/1005-0000002b', uniqueid: '1763683300.50', state: 6 };
  const bridge = { BridgeUniqueid: 'b-1', BridgeType: 'basic', BridgeTechnology: 'simple_bridge' };
  const { events } = read(
    frame('Newchannel', channelHeaders(A)),
    frame('Newchannel', channelHeaders(C)),
    frame('BridgeEnter', { ...bridge, ...channelHeaders(C) }),
    frame('BridgeEnter', { ...bridge, ...channelHeaders(A) }),
    frame('Newstate', channelHeaders({ ...C, linkedid: A.uniqueid })),
  );
  assert.deepEqual(
    events.filter((e) => e.type === 'channel.linked').map((e) => [e.id, e.call]),
    [['ast1:1763683300.50', 'ast1:1763683200.42']],
  );
});

test("events - in a conference everybody keeps a call of one's own; a holding bridge says so", () => {
  const C = { name: 'PJSIP/1005-0000002b', uniqueid: '1763683300.50', state: 6 };
  const bridge = { BridgeUniqueid: 'b-1', BridgeType: 'base', BridgeTechnology: 'softmix' };
  const { events } = read(
    frame('Newchannel', channelHeaders(A)),
    frame('Newchannel', channelHeaders(C)),
    frame('BridgeEnter', { ...bridge, ...channelHeaders(C) }),
    frame('BridgeEnter', { ...bridge, ...channelHeaders(A) }),
    frame('BridgeEnter', { ...bridge, BridgeTechnology: 'holding_bridge', ...channelHeaders(A) }),
  );
  assert.deepEqual(
    events.filter((e) => e.type === 'channel.linked'),
    [],
  );
  assert.deepEqual(
    events.filter((e) => e.type === 'bridge.entered').map((e) => e.holding),
    [false, false, true],
  );
});

test('events - hold, pickup, parking and transfers name their channels', () => {
  const a = 'ast1:1763683200.42';
  const b = 'ast1:1763683200.43';
  const rows: [string, FakeHeaders, Partial<EngineEvent> & object][] = [
    ['Hold', channelHeaders(A), { type: 'channel.held', id: a, held: true } as object],
    ['Unhold', channelHeaders(A), { type: 'channel.held', id: a, held: false } as object],
    // A hold of ours: music for the other side, in its own context, where the exten is who holds it.
    [
      'MusicOnHoldStart',
      { ...channelHeaders(B), Context: 'held-by', Exten: A.uniqueid },
      { type: 'channel.held', id: a, held: true, by: 'operation' } as object,
    ],
    [
      'MusicOnHoldStop',
      { ...channelHeaders(B), Context: 'held-by', Exten: A.uniqueid },
      { type: 'channel.held', id: a, held: false, by: 'operation' } as object,
    ],
    ['MixMonitorStart', channelHeaders(A), { type: 'channel.recording', id: a, on: true } as object],
    ['MixMonitorStop', channelHeaders(A), { type: 'channel.recording', id: a, on: false } as object],
    [
      'MixMonitorMute',
      { ...channelHeaders(A), Direction: 'both', State: '1' },
      { type: 'channel.recording_paused', id: a, on: true } as object,
    ],
    [
      'MixMonitorMute',
      { ...channelHeaders(A), Direction: 'both', State: '0' },
      { type: 'channel.recording_paused', id: a, on: false } as object,
    ],
    [
      'DTMFEnd',
      { ...channelHeaders(A), Digit: '7', Direction: 'Received' },
      { type: 'channel.digit', id: a, direction: 'in' } as object,
    ],
    [
      'DTMFEnd',
      { ...channelHeaders(B), Digit: '7', Direction: 'Sent' },
      { type: 'channel.digit', id: b, direction: 'out' } as object,
    ],
    [
      'ChanSpyStart',
      { ...channelHeaders(A, 'Spyer'), ...channelHeaders(B, 'Spyee') },
      { type: 'channel.listening', id: a, to: b } as object,
    ],
    [
      'Pickup',
      { ...channelHeaders(A), ...channelHeaders(B, 'Target') },
      { type: 'channel.picked_up', by: a, target: b } as object,
    ],
    [
      'ParkedCall',
      { ...channelHeaders(A, 'Parkee'), Parkinglot: 'default', ParkingSpace: '701' },
      { type: 'channel.parked', id: a, lot: 'default', slot: '701' } as object,
    ],
    [
      'UnParkedCall',
      { ...channelHeaders(A, 'Parkee'), ParkingSpace: '701' },
      { type: 'channel.unparked', id: a, slot: '701', reason: 'retrieved' } as object,
    ],
    [
      'ParkedCallTimeOut',
      { ...channelHeaders(A, 'Parkee'), ParkingSpace: '701' },
      { type: 'channel.unparked', id: a, slot: '701', reason: 'timeout' } as object,
    ],
    [
      'ParkedCallGiveUp',
      { ...channelHeaders(A, 'Parkee'), ParkingSpace: '701' },
      { type: 'channel.unparked', id: a, slot: '701', reason: 'gave_up' } as object,
    ],
    [
      'BlindTransfer',
      {
        Result: 'Success',
        ...channelHeaders(A, 'Transferer'),
        ...channelHeaders(B, 'Transferee'),
        Extension: '600',
      },
      { type: 'transfer.blind', by: a, transferee: b, to: '600', succeeded: true } as object,
    ],
    [
      'BlindTransfer',
      { Result: 'Not Permitted', ...channelHeaders(A, 'Transferer'), Extension: '600' },
      { type: 'transfer.blind', by: a, transferee: null, to: '600', succeeded: false } as object,
    ],
    [
      'AttendedTransfer',
      {
        Result: 'Success',
        ...channelHeaders(A, 'OrigTransferer'),
        ...channelHeaders({ ...B, connected: '1004' }, 'SecondTransferer'),
      },
      {
        type: 'transfer.attended',
        first: a,
        first_call: a,
        second: b,
        second_call: a,
        to: '1004',
        succeeded: true,
      } as object,
    ],
  ];
  for (const [name, headers, expected] of rows)
    assert.deepEqual(one(name, headers), { at, ...expected }, name);
});

test('events - a live member event and a row of the list are one type', () => {
  const member = {
    name: '1001',
    interface: 'Local/1001@queue-agent',
    paused: true,
    reason: 'lunch',
    last_pause: 1795222100,
    status: 2,
    in_call: true,
    penalty: 3,
    login: 1795222000,
  };
  for (const [name, why] of [
    ['QueueMemberAdded', 'added'],
    ['QueueMemberPause', 'paused'],
    ['QueueMemberStatus', 'status'],
    ['QueueMemberPenalty', 'other'],
    ['QueueMemberRinginuse', 'other'],
  ])
    assert.deepEqual(
      one(name!, memberEvent('support', member)),
      {
        at,
        type: 'queue.member',
        why,
        member: {
          queue: 'support',
          interface: 'Local/1001@queue-agent',
          extension: '1001',
          name: '1001',
          membership: 'dynamic',
          paused: true,
          paused_reason: 'lunch',
          paused_at: 1795222100000,
          login_at: 1795222000000,
          last_call_at: null,
          in_call: true,
          penalty: 3,
          state: 'INUSE',
        },
      },
      name,
    );
  assert.deepEqual(one('QueueMemberRemoved', memberEvent('support', member)), {
    at,
    type: 'queue.member_removed',
    queue: 'support',
    interface: 'Local/1001@queue-agent',
  });
});

test('events - an offer goes from created to released; times are seconds', () => {
  const who = {
    ...channelHeaders(A),
    ...channelHeaders(B, 'Dest'),
    Queue: 'support',
    Interface: 'Local/1001@queue-agent',
    MemberName: '1001',
  };
  const ids = {
    queue: 'support',
    interface: 'Local/1001@queue-agent',
    caller: 'ast1:1763683200.42',
    agent: 'ast1:1763683200.43',
  };
  const rows: [string, FakeHeaders, object][] = [
    ['AgentCalled', {}, { type: 'offer.created' }],
    [
      'AgentConnect',
      { HoldTime: 12, RingTime: 4 },
      { type: 'offer.accepted', hold_seconds: 12, ring_seconds: 4 },
    ],
    ['AgentRingNoAnswer', { RingTime: 10000 }, { type: 'offer.timeout', ring_seconds: 10 }],
    ['AgentDump', {}, { type: 'offer.timeout', ring_seconds: 0 }],
    [
      'AgentComplete',
      { HoldTime: 12, TalkTime: 30, Reason: 'agent' },
      { type: 'agent.released', reason: 'agent', talk_seconds: 30 },
    ],
    [
      'AgentComplete',
      { TalkTime: 1, Reason: 'transfer' },
      { type: 'agent.released', reason: 'transfer', talk_seconds: 1 },
    ],
    [
      'AgentComplete',
      { TalkTime: 1, Reason: 'caller' },
      { type: 'agent.released', reason: 'caller', talk_seconds: 1 },
    ],
  ];
  for (const [name, headers, expected] of rows)
    assert.deepEqual(one(name, { ...who, ...headers }), { at, ...ids, ...expected }, name);
});

test('events - a caller joins, leaves and gives up', () => {
  const who = { ...channelHeaders(A), Queue: 'support', Position: 2 };
  const channel = 'ast1:1763683200.42';
  assert.deepEqual(one('QueueCallerJoin', { ...who, Count: 2 }), {
    at,
    type: 'queue.caller_joined',
    caller: { queue: 'support', channel, position: 2, joined_at: at, priority: null },
  });
  assert.deepEqual(one('QueueCallerLeave', { ...who, Count: 1 }), {
    at,
    type: 'queue.caller_left',
    queue: 'support',
    channel,
  });
  assert.deepEqual(one('QueueCallerAbandon', { ...who, OriginalPosition: 2, HoldTime: 14 }), {
    at,
    type: 'queue.caller_abandoned',
    queue: 'support',
    channel,
    hold_seconds: 14,
    position: 2,
  });
});

test('events - only the state of a device is a fact, not that of a queue', () => {
  const { events, counters } = read(
    frame('DeviceStateChange', { Device: 'PJSIP/1001-web', State: 'RINGINUSE' }),
    frame('DeviceStateChange', { Device: 'Queue:support_avail', State: 'INUSE' }),
    frame('DeviceStateChange', { Device: 'Local/1001@queue-agent', State: 'INUSE' }),
  );
  assert.deepEqual(events, [{ at, type: 'device.state', endpoint: '1001-web', state: 'RINGINUSE' }]);
  assert.equal(counters.malformed, 0);
});

test('events - a known event that cannot be read is counted and kept, and the next one is read', () => {
  const { events, counters, malformed } = read(
    frame('Newchannel', { Channel: 'PJSIP/1001-00000001' }),
    frame('DeviceStateChange', { Device: 'PJSIP/1001', State: 'SLEEPING' }),
    frame('DeviceStateChange', { State: 'INUSE' }),
    frame('QueueMemberStatus', {
      ...memberEvent('q', { name: 'x', interface: 'y' }),
      Membership: 'sometimes',
    }),
    frame('Whatever', { A: 1 }),
    frame('DeviceStateChange', { Device: 'PJSIP/1001', State: 'INUSE' }),
  );
  assert.equal(events.length, 1);
  assert.equal(counters.malformed, 4);
  assert.equal(counters.unknown, 1);
  assert.equal(counters.frames, 6);
  assert.match(malformed[0]!, /^Uniqueid is missing\r\nEvent: Newchannel/);
});

test('events - at most twenty spoilt frames are kept', () => {
  const { malformed, counters } = read(...Array.from({ length: 50 }, (_, i) => frame('Hangup', { Nr: i })));
  assert.equal(counters.malformed, 50);
  assert.equal(malformed.length, 20);
  assert.match(malformed.at(-1)!, /Nr: 49/);
});

test('events - what nobody vouches for is no fact: no Privilege, or an id that came twice', () => {
  const { events, counters } = read(
    frame('QueueMemberPause', memberEvent('support', { name: '1001', interface: 'Local/1001@queue-agent' }), {
      privilege: false,
    }),
    frame('Hangup', { ...channelHeaders({ ...A, caller: '1\r\nUniqueid: 1763683200.99' }), Cause: 16 }),
    // The rest of a frame that a value tore in two.
    'Language: en\r\nUniqueid: 1763683200.42\r\n\r\n',
  );
  assert.deepEqual(events, []);
  assert.equal(counters.malformed, 3);
});

test('events - music elsewhere is no hold, whatever its caller dialled', () => {
  for (const [Context, Exten] of [
    ['internal', A.uniqueid],
    ['held-by', 's'],
    ['held-by', '1003'],
    ['held-by', ''],
  ] as const) {
    const { events } = read(frame('MusicOnHoldStart', { ...channelHeaders(B), Context, Exten }));
    assert.deepEqual(events, [], `${Context} ${Exten}`);
  }
});

test('events - a stored membership or device state keeps no frame in memory', () => {
  v8.setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const used = (): number => (gc(), v8.getHeapStatistics().used_heap_size);
  const WIDE = 'x'.repeat(10_000);
  const before = used();
  const stored = Array.from({ length: 1_000 }, (_, i) => {
    const name = `Agent of support ${i}`;
    const row = memberEvent('support-by-phone', { name, interface: `Local/${1000 + i}@queue-agent` });
    const { events } = read(
      frame('QueueMemberStatus', { ...row, Paused: 1, PausedReason: `meeting in room ${i}`, Wide: WIDE }),
      frame('DeviceStateChange', {
        Device: `PJSIP/${1000 + i}-mobile-phone`,
        State: 'NOT_INUSE',
        Wide: WIDE,
      }),
    );
    return events;
  });
  const kB = (used() - before) / stored.length / 1000;
  assert.equal(stored.flat().length, 2_000);
  assert.ok(kB < 5, `${kB} kB for two frames of 10 kB each`);
});
