import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { channelHeaders, memberEvent, pass, startFakeAmi, turns } from '../../../test/support/fake-ami.ts';
import type { FakeAmi, FakeAmiOptions, FakeHeaders } from '../../../test/support/fake-ami.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import type { EngineEvent, EngineEventOf, EngineEventType } from '../../ports/engine-events.ts';
import { createVirtualClock } from '../memory/virtual-clock.ts';
import type { VirtualClock } from '../memory/virtual-clock.ts';
import { createAsteriskEngine } from './engine.ts';
import type { AsteriskEngine, AsteriskEngineOptions } from './engine.ts';
import type { ManagerTarget } from './link.ts';

interface Rig {
  fake: FakeAmi;
  clock: VirtualClock;
  engine: AsteriskEngine;
  seen: EngineEvent[];
  /** Sizes of the batches as they were handed over. */
  batches: number[];
  target: { now: ManagerTarget | null };
  of<T extends EngineEventType>(type: T): EngineEventOf<T>[];
  up(): Promise<void>;
  /** Waits until so many snapshots were seen. */
  snapshots(n: number): Promise<EngineEventOf<'engine.snapshot'>>;
}
interface RigOptions extends FakeAmiOptions {
  readonly engine?: Partial<AsteriskEngineOptions>;
  /** Nobody takes events until `consume` is called. */
  readonly idle?: boolean;
}
const rig = async (t: TestContext, options: RigOptions = {}): Promise<Rig & { consume(): void }> => {
  const clock = createVirtualClock(1_795_222_200_000);
  const fake = await startFakeAmi({ now: () => clock.now(), ...options });
  const target: { now: ManagerTarget | null } = { now: fake.target };
  const engine = createAsteriskEngine({
    node: nodeId('ast1'),
    connect: () => Promise.resolve(target.now),
    clock,
    log: silent,
    random: () => 0.5,
    ...options.engine,
  });
  const seen: EngineEvent[] = [];
  const batches: number[] = [];
  const stop = new AbortController();
  const consume = (): void => {
    void (async () => {
      for await (const batch of engine.events(stop.signal)) {
        batches.push(batch.length);
        seen.push(...batch);
      }
    })();
  };
  if (options.idle !== true) consume();
  t.after(async () => {
    stop.abort();
    await engine.close();
    await fake.close();
    await turns();
    assert.equal(clock.sleepers, 0, 'a timer was left behind');
  });
  const of = <T extends EngineEventType>(type: T): EngineEventOf<T>[] =>
    seen.filter((e): e is EngineEventOf<T> => e.type === type);
  return {
    fake,
    clock,
    engine,
    seen,
    batches,
    target,
    of,
    consume,
    up: async () => {
      await until('the link is up', () => engine.status().link === 'up', { seen: () => engine.status() });
      await until('the snapshot came', () => of('engine.snapshot').length > 0);
    },
    snapshots: async (n) =>
      await until(`snapshot ${n} came`, () => of('engine.snapshot')[n - 1], {
        seen: () => seen.map((e) => e.type),
      }),
  };
};
const code = (expected: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === expected;
const ID = '1795222100.7';
const channel = { name: 'PJSIP/1001-web-00000001', uniqueid: ID, state: 6, exten: '1003', caller: '1001' };
const member = { name: '1001', interface: 'Local/1001@queue-agent', state_interface: 'hint:1001@hints' };
const sayMember = (fake: FakeAmi, more: object = {}): void =>
  fake.event('QueueMemberStatus', memberEvent('support', { ...member, ...more }), 'agent,all');
const hangup = (uniqueid: string): FakeHeaders => ({
  ...channelHeaders({ ...channel, uniqueid }),
  Cause: 16,
  'Cause-txt': 'Normal Clearing',
});

test('engine - comes up with one link event and one whole snapshot', async (t) => {
  const r = await rig(t, {
    state: {
      channels: [
        { ...channel, bridge: 'b1' },
        { name: 'Local/1001@queue-agent-00000001;1', uniqueid: '1795222100.9', linkedid: ID, state: 5 },
        { name: 'PJSIP/1003-00000002', uniqueid: '1795222100.8', linkedid: ID, bridge: 'hold-1' },
      ],
      queues: {
        support: {
          members: [{ ...member, paused: true, reason: 'lunch', last_pause: 1795222000 }],
          callers: [{ uniqueid: ID, channel: channel.name, position: 1, wait: 20 }],
        },
        sales: { strategy: 'linear', members: [] },
      },
      devices: { 'PJSIP/1001-web': 'INUSE', 'Queue:support_avail': 'INUSE' },
    },
  });
  await r.up();
  assert.deepEqual(r.seen[0], {
    at: r.clock.now(),
    type: 'engine.link',
    node: 'ast1',
    up: true,
    reason: '',
    boot_id: '2026-11-21T02:09:01',
  });
  const { why, snapshot } = r.of('engine.snapshot')[0]!;
  assert.equal(why, 'connect');
  assert.equal(snapshot.restarted, null);
  assert.equal(snapshot.boot_id, '2026-11-21T02:09:01');
  assert.deepEqual(
    snapshot.channels.map((c) => [c.id, c.call, c.kind, c.endpoint, c.state, c.created_at]),
    [
      [`ast1:${ID}`, `ast1:${ID}`, 'endpoint', '1001-web', 'up', 1795222100000],
      ['ast1:1795222100.8', `ast1:${ID}`, 'endpoint', '1003', 'up', 1795222100000],
      ['ast1:1795222100.9', `ast1:${ID}`, 'local', null, 'ringing', 1795222100000],
    ],
  );
  assert.deepEqual(snapshot.bridged, [
    { bridge: 'ast1:b1', channel: `ast1:${ID}`, holding: false },
    { bridge: 'ast1:hold-1', channel: 'ast1:1795222100.8', holding: true },
  ]);
  assert.deepEqual(
    snapshot.queues.map((q) => [q.name, q.strategy, q.members.length, q.callers.length]),
    [
      ['support', 'ringall', 1, 1],
      ['sales', 'linear', 0, 0],
    ],
  );
  assert.equal(snapshot.queues[0]?.members[0]?.paused_reason, 'lunch');
  assert.equal(snapshot.queues[0]?.callers[0]?.joined_at, r.clock.now() - 20_000);
  assert.deepEqual(snapshot.devices, [{ endpoint: '1001-web', state: 'INUSE' }]);
  const status = r.engine.status();
  assert.equal(status.version, '22.10.1');
  assert.equal(status.reason, '');
  assert.equal(status.counters.pending_actions, 0);
});

test('engine - uses two sessions: one hears events and only pings, the other acts and hears none', async (t) => {
  const r = await rig(t, { state: { queues: { support: { members: [{ ...member }] } } } });
  await r.up();
  await r.engine.pauseMember('support', member.interface, true, 'lunch');
  const [e, a] = [r.fake.sessions.find((s) => s.listening)!, r.fake.sessions.find((s) => !s.listening)!];
  const actionsOf = (bytes: Buffer): string[] =>
    [...bytes.toString().matchAll(/^Action: (.+)\r$/gm)].map((m) => m[1]!);
  assert.deepEqual(new Set(actionsOf(e.received())), new Set(['Login', 'Ping']));
  assert.ok(actionsOf(a.received()).includes('QueuePause'));
  await r.engine.pauseEverywhere(['support', 'sales'], member.interface, false, '');
  const [all] = a.received().toString().split('\r\n\r\n').slice(-2);
  assert.match(all!, /^Action: QueuePause\r\n/);
  assert.doesNotMatch(all!, /^Queue:/m);
  assert.match(e.received().toString(), /Events: system,call,agent,user,dtmf,security\r\n/);
  assert.match(a.received().toString(), /Events: off\r\n/);
});

test('engine - nothing is asked and nothing believed before the engine has booted', async (t) => {
  const r = await rig(t, { booted: false });
  await until('it waits for the boot', () => r.engine.status().link === 'booting');
  sayMember(r.fake);
  await turns();
  assert.equal(r.seen.length, 0);
  assert.ok(!r.fake.actions.some((a) => a.name === 'QueueStatus'));
  r.fake.boot();
  await r.up();
});

test('engine - facts are handed over in batches, in their order', async (t) => {
  const r = await rig(t);
  await r.up();
  const text = Array.from(
    { length: 500 },
    (_, i) =>
      `Event: DeviceStateChange\r\nPrivilege: call,all\r\nTimestamp: 1795222133.0\r\nDevice: PJSIP/${i}\r\nState: BUSY\r\n\r\n`,
  ).join('');
  r.fake.raw(text);
  await until('all came', () => r.of('device.state').length === 500);
  assert.deepEqual(
    r.of('device.state').map((e) => e.endpoint),
    Array.from({ length: 500 }, (_, i) => String(i)),
  );
  assert.ok(r.batches.length <= 12, `${r.batches.length} batches`);
});

test('engine - live events are held back while the first snapshot is read, and what it shows already is not told twice', async (t) => {
  let readRest = (): void => {};
  const born = { ...channel, uniqueid: '1795222199.1', state: 0 };
  const brief = { ...channel, uniqueid: '1795222199.2' };
  const r = await rig(t, {
    state: {
      channels: [{ ...channel }, { ...born, state: 6 }],
      queues: { support: { members: [{ ...member, paused: true }], callers: [] } },
    },
    onAction(action, session) {
      if (action.name !== 'QueueStatus') return false;
      readRest = () => {
        readRest = () => {};
        session.answer(action, 'Error', { Message: 'No Queues found' });
      };
      return true;
    },
  });
  await until('the lists are being read', () => r.fake.actions.some((a) => a.name === 'QueueStatus'));
  // Already in the list, a call that comes and goes meanwhile, and one that ends after its row was read.
  r.fake.event('Newchannel', channelHeaders(born));
  r.fake.event('Newchannel', channelHeaders(brief));
  r.fake.event('Hangup', hangup(brief.uniqueid));
  r.fake.event('Hangup', hangup(ID));
  await turns();
  assert.equal(r.seen.length, 0, 'nothing is told before the snapshot');
  await assert.rejects(
    r.engine.pauseMember('support', member.interface, true, 'x'),
    code('engine_unavailable'),
    'nor is anything done',
  );
  readRest();
  await r.up();
  await until('the rest came', () => r.of('channel.hungup').length === 2);
  assert.deepEqual(
    r.seen.map((e) =>
      e.type === 'channel.created'
        ? `${e.type} ${e.channel.id}`
        : e.type === 'channel.hungup'
          ? `${e.type} ${e.id}`
          : e.type,
    ),
    [
      'engine.link',
      'engine.snapshot',
      `channel.created ast1:${brief.uniqueid}`,
      `channel.hungup ast1:${brief.uniqueid}`,
      `channel.hungup ast1:${ID}`,
    ],
  );
});

test('engine - a state that is older than the lists does not come after them', async (t) => {
  let readRest = (): void => {};
  const r = await rig(t, {
    state: { channels: [{ ...channel, state: 6 }], devices: { 'PJSIP/1001-web': 'INUSE' } },
    onAction(action, session) {
      if (action.name !== 'CoreStatus') return false;
      readRest = () =>
        session.answer(action, 'Success', { CoreStartupDate: '2026-11-21', CoreStartupTime: '02:09:01' });
      return true;
    },
  });
  await until('the lists are being read', () => r.fake.actions.some((a) => a.name === 'CoreStatus'));
  const before = `Privilege: call,all\r\nTimestamp: ${(r.clock.now() - 5_000) / 1000}\r\n`;
  r.fake.raw(`Event: DeviceStateChange\r\n${before}Device: PJSIP/1001-web\r\nState: RINGING\r\n\r\n`);
  r.fake.raw(
    `Event: Newstate\r\n${before}${Object.entries(channelHeaders({ ...channel, state: 5 }))
      .map(([k, v]) => `${k}: ${v as string}\r\n`)
      .join('')}\r\n`,
  );
  r.fake.event('DeviceStateChange', { Device: 'PJSIP/1003', State: 'BUSY' });
  await turns();
  readRest();
  await r.up();
  await until('the newer one came', () => r.of('device.state').length === 1);
  assert.equal(r.of('device.state')[0]?.endpoint, '1003');
  assert.equal(r.of('channel.state').length, 0);
});

test('engine - the verbs act, and a refusal carries the words of the engine', async (t) => {
  const r = await rig(t, {
    state: {
      queues: {
        support: { members: [{ ...member }] },
        sales: { members: [{ ...member, membership: 'static' }] },
      },
    },
  });
  await r.up();
  const { interface: iface } = member;
  await r.engine.pauseMember('support', iface, true, 'lunch');
  await until('the fact came', () =>
    r.of('queue.member').some((e) => e.why === 'paused' && e.member.paused_reason === 'lunch'),
  );
  await r.engine.pauseMember('support', iface, false, '');
  await r.engine.removeMember('support', iface);
  await r.engine.addMember(
    {
      queue: 'support',
      interface: iface,
      name: '1001',
      state_interface: 'hint:1001@hints',
      penalty: 2,
      paused: true,
      reason: 'login',
    },
    { action_id: 'req-1' },
  );
  assert.deepEqual(r.fake.actions.find((a) => a.name === 'QueueAdd')?.fields, {
    Action: 'QueueAdd',
    ActionID: 'req-1',
    Queue: 'support',
    Interface: iface,
    MemberName: '1001',
    StateInterface: 'hint:1001@hints',
    Penalty: '2',
    Paused: 'true',
    Reason: 'login',
  });
  const refusals: [Promise<void>, RegExp][] = [
    [r.engine.pauseMember('nowhere', iface, true, 'x'), /^Interface not found$/],
    [r.engine.removeMember('sales', iface), /^Member not dynamic$/],
    [r.engine.removeMember('nowhere', iface), /No such queue/],
  ];
  for (const [verb, words] of refusals)
    await assert.rejects(verb, (e) => code('engine_refused')(e) && words.test((e as Error).message));
});

test('engine - a value that could harm is refused before a byte is sent', async (t) => {
  const r = await rig(t, { state: { queues: { support: { members: [{ ...member }] } } } });
  await r.up();
  await turns();
  const before = r.fake.received().length;
  const { interface: iface } = member;
  const bad = [
    'x\r\n\r\nAction: Command\r\nCommand: core stop now',
    'x\ny',
    'x\ry',
    'x\0y',
    'x\u2028y',
    'x\u0085y',
    'a,b',
    'a;b',
    'a|b',
    'x'.repeat(80),
    'ü'.repeat(40),
  ];
  for (const reason of bad)
    await assert.rejects(
      r.engine.pauseMember('support', iface, true, reason),
      code('invalid_request'),
      JSON.stringify(reason),
    );
  for (const queue of ['', 'q\0', 'q\n', 'q|r', 'q'.repeat(1100)]) {
    await assert.rejects(
      r.engine.pauseMember(queue, iface, true, 'x'),
      code('invalid_request'),
      JSON.stringify(queue),
    );
    await assert.rejects(r.engine.removeMember(queue, iface), code('invalid_request'), JSON.stringify(queue));
  }
  for (const name of ['Smith, John', 'a;b', 'a|b', 'a\nb'])
    await assert.rejects(
      r.engine.addMember({
        queue: 'support',
        interface: iface,
        name,
        state_interface: '',
        penalty: 0,
        paused: false,
        reason: '',
      }),
      code('invalid_request'),
      JSON.stringify(name),
    );
  await assert.rejects(r.engine.pauseMember('support', '', true, 'x'), code('invalid_request'));
  await turns();
  assert.equal(r.fake.received().length, before);
});

test('engine - a cut is told at once, commands are unavailable, and the next snapshot follows', async (t) => {
  const r = await rig(t, { state: { queues: { support: { members: [{ ...member }] } } } });
  await r.up();
  r.fake.cut();
  const down = await until('the link is told down', () => r.of('engine.link').find((e) => !e.up));
  assert.equal(down.boot_id, '2026-11-21T02:09:01');
  assert.notEqual(down.reason, '');
  await assert.rejects(r.engine.roundTrip(1_000), code('engine_unavailable'));
  await assert.rejects(r.engine.settled(1_000), code('engine_unavailable'));
  await assert.rejects(
    r.engine.pauseMember('support', member.interface, true, 'x'),
    code('engine_unavailable'),
  );
  await pass(r.clock, 1_000);
  const again = await r.snapshots(2);
  assert.equal(again.why, 'connect');
  assert.equal(again.snapshot.restarted, false);
  assert.deepEqual(
    r.of('engine.link').map((e) => e.up),
    [true, false, true],
  );
  await r.engine.pauseMember('support', member.interface, true, 'x');
});

test('engine - cut in the middle of a frame, half a frame is no fact', async (t) => {
  const r = await rig(t);
  await r.up();
  r.fake.raw('Event: DeviceStateChange\r\nPrivilege: call,all\r\nDevice: PJSIP/1001\r\nState: BU');
  for (const s of r.fake.sessions) s.socket.destroySoon();
  await until('the link is told down', () => r.of('engine.link').some((e) => !e.up));
  await pass(r.clock, 1_000);
  await r.snapshots(2);
  assert.equal(r.of('device.state').length, 0);
});

test('engine - a half-open connection is told down within 10 s and comes back', async (t) => {
  const r = await rig(t);
  await r.up();
  await pass(r.clock, 3_000);
  r.fake.freeze();
  const began = r.clock.now();
  await pass(r.clock, 10_000);
  const down = r.of('engine.link').find((e) => !e.up);
  assert.ok(down !== undefined, 'not told');
  assert.ok(down.at - began <= 10_000);
  // A stopped process takes connections and says nothing: each attempt ends after the greeting's 2 s.
  await pass(r.clock, 20_000);
  assert.ok(r.fake.connections >= 4, 'it kept trying');
  assert.equal(r.of('engine.link').length, 2, 'told once');
  r.fake.thaw();
  await pass(r.clock, 15_000);
  await r.snapshots(2);
});

test('engine - a restart is recognised by the time of the start', async (t) => {
  const r = await rig(t, { state: { channels: [{ ...channel }] } });
  await r.up();
  await r.fake.refuse();
  r.fake.state.started = '2026-11-21T03:00:00';
  r.fake.state.channels.length = 0;
  await pass(r.clock, 3_000);
  await r.fake.listen();
  await pass(r.clock, 11_000);
  const { snapshot } = await r.snapshots(2);
  assert.equal(snapshot.restarted, true);
  assert.equal(snapshot.boot_id, '2026-11-21T03:00:00');
  assert.deepEqual(snapshot.channels, []);
});

test('engine - a shutdown is told before the connection ends', async (t) => {
  const r = await rig(t);
  await r.up();
  r.fake.event('Shutdown', { Shutdown: 'Cleanly', Restart: 'True' }, 'system,all');
  const down = await until('the link is told down', () => r.of('engine.link').find((e) => !e.up));
  assert.match(down.reason, /restarting/);
});

test('engine - after a refused login it waits 30 s at least', async (t) => {
  const r = await rig(t, { accounts: { e: 'changed', a: 'a' } });
  await until('the refusal is known', () => r.engine.status().link === 'refused');
  assert.match(r.engine.status().reason, /Authentication failed/);
  assert.equal(r.fake.connections, 1);
  await pass(r.clock, 29_500);
  assert.equal(r.fake.connections, 1);
  await pass(r.clock, 16_000);
  assert.equal(r.fake.connections, 2);
  assert.equal(r.of('engine.link').length, 0);
});

test('engine - attempts are spread and grow to 10 s', async (t) => {
  const r = await rig(t, { banner: 'HTTP/1.1 400 Bad Request', engine: { random: () => 1 } });
  await until('the first attempt failed', () => r.engine.status().link === 'down');
  const at: number[] = [];
  let seen = r.fake.connections;
  for (let i = 0; i < 120; i++) {
    await pass(r.clock, 500);
    if (r.fake.connections > seen) at.push(r.clock.now());
    seen = r.fake.connections;
  }
  assert.ok(seen >= 10 && seen <= 14, `${seen} attempts in a minute`);
  assert.ok(at.at(-1)! - at.at(-2)! >= 9_500, 'the last ones are 10 s apart');
  assert.match(r.engine.status().reason, /greeted with "HTTP/);
});

test('engine - without an engine it says so and takes it the moment it can be had', async (t) => {
  const r = await rig(t);
  const target = r.target.now;
  await r.up();
  r.target.now = null;
  r.fake.cut();
  await until('it says so', async () => {
    await pass(r.clock, 500);
    return r.engine.status().reason === 'there is no engine yet';
  });
  r.target.now = target;
  await pass(r.clock, 11_000);
  await r.snapshots(2);
});

test('engine - facts go on while the actions connection is away, commands do not, and a resync follows', async (t) => {
  let away = false;
  const r = await rig(t, {
    state: { queues: { support: { members: [{ ...member }] } } },
    onAction: (action) => away && action.name === 'Login' && action.fields['Username'] === 'a',
  });
  await r.up();
  away = true;
  r.fake.sessions.find((s) => !s.listening)!.socket.destroy();
  await until('commands are down', () => r.engine.status().link === 'down');
  assert.match(r.engine.status().reason, /actions connection/);
  await assert.rejects(
    r.engine.pauseMember('support', member.interface, true, 'x'),
    code('engine_unavailable'),
  );
  sayMember(r.fake, { status: 6 });
  await until('a fact came', () => r.of('queue.member').length === 1);
  assert.equal(r.engine.status().link, 'down');
  away = false;
  await pass(r.clock, 6_000);
  await until('it is up again', () => r.engine.status().link === 'up');
  assert.equal((await r.snapshots(2)).why, 'resync');
  assert.deepEqual(
    r.of('engine.link').map((e) => e.up),
    [true],
  );
  await r.engine.pauseMember('support', member.interface, true, 'x');
});

test('engine - a list on a connection of its own is unavailable where that connection cannot be opened', async (t) => {
  let away = false;
  const r = await rig(t, {
    onAction(action, session) {
      if (!away || action.name !== 'Login') return false;
      session.socket.destroy();
      return true;
    },
  });
  await r.up();
  away = true;
  await assert.rejects(
    r.engine.storedCustomers(() => {}),
    code('engine_unavailable'),
  );
  assert.equal(r.engine.status().link, 'up');
});

test('engine - the state is read again now and then; drift is counted and mended', async (t) => {
  const r = await rig(t, {
    state: { queues: { support: { members: [{ ...member }] } }, devices: { 'PJSIP/1001-web': 'NOT_INUSE' } },
  });
  await r.up();
  await pass(r.clock, 67_000);
  const quiet = await r.snapshots(2);
  assert.equal(quiet.why, 'resync');
  assert.equal(r.engine.status().counters.drift, 0);
  // The engine changes without an event, as at a reload of queues.
  r.fake.state.queues['support']!.members[0]!.paused = true;
  r.fake.state.queues['new'] = { members: [] };
  r.fake.state.devices['PJSIP/1001-web'] = 'INUSE';
  await pass(r.clock, 67_000);
  const mended = await r.snapshots(3);
  assert.equal(r.engine.status().counters.drift, 3);
  assert.equal(mended.snapshot.queues.find((q) => q.name === 'support')?.members[0]?.paused, true);
  assert.deepEqual(mended.snapshot.devices, [{ endpoint: '1001-web', state: 'INUSE' }]);
  r.engine.resync();
  await r.snapshots(4);
  assert.equal(r.engine.status().counters.drift, 3, 'what was mended is no drift any more');
});

test('engine - what happens while a resync is read is told at once and is no drift', async (t) => {
  let readRest: (() => void) | null = null;
  let stop = false;
  const r = await rig(t, {
    state: { queues: { support: { members: [{ ...member }] } }, channels: [{ ...channel }] },
    onAction(action, session) {
      if (action.name !== 'DeviceStateList' || !stop) return false;
      readRest = () => session.answer(action, 'Error', { Message: 'No Devices found' });
      return true;
    },
  });
  await r.up();
  stop = true;
  r.engine.resync();
  await until('the lists are being read', () => readRest !== null);
  // Their rows were read with the old state.
  await r.clock.advance(1);
  sayMember(r.fake, { paused: true, reason: 'lunch' });
  r.fake.event('Hangup', hangup(ID));
  r.fake.event('Newchannel', channelHeaders({ ...channel, uniqueid: '1795222300.1' }));
  await until('the facts came at once', () => r.of('channel.created').length === 1);
  assert.equal(r.of('engine.snapshot').length, 1);
  readRest!();
  const { snapshot } = await r.snapshots(2);
  assert.equal(r.engine.status().counters.drift, 0);
  assert.equal(snapshot.queues[0]?.members[0]?.paused_reason, 'lunch');
  assert.deepEqual(
    snapshot.channels.map((c) => c.id),
    ['ast1:1795222300.1'],
    'the dead one does not come back',
  );
});

test('engine - a reload is followed by one fresh snapshot', async (t) => {
  const r = await rig(t, { state: { queues: { support: { members: [] } } } });
  await r.up();
  r.fake.state.queues = {};
  for (const Module of ['res_pjsip', 'app_queue', 'pbx_config']) {
    r.fake.event('Reload', { Module, Status: 0 }, 'system,all');
    await turns();
  }
  await pass(r.clock, 1_000);
  const { snapshot } = await r.snapshots(2);
  assert.deepEqual(snapshot.queues, []);
  await pass(r.clock, 10_000);
  assert.equal(r.of('engine.snapshot').length, 2);
});

test('engine - a reload and a suspicion each have their own snapshots, whichever comes first', async (t) => {
  const r = await rig(t);
  await r.up();
  const spoilt = (): void => r.fake.raw('garbage\r\n\r\n');
  const reload = (): void => r.fake.event('Reload', { Module: 'app_queue', Status: 0 }, 'system,all');
  spoilt();
  await r.snapshots(2);
  reload();
  await pass(r.clock, 1_000);
  assert.equal(r.of('engine.snapshot').length, 3, 'that of the reload does not wait for late rows');
  await pass(r.clock, 10_000);
  assert.equal(r.of('engine.snapshot').length, 4);
  await pass(r.clock, 25_000);
  reload();
  spoilt();
  await r.snapshots(5);
  await pass(r.clock, 1_000);
  assert.equal(r.of('engine.snapshot').length, 6);
  await pass(r.clock, 10_000);
  assert.equal(r.of('engine.snapshot').length, 7, 'late rows are looked at, too');
});

test('engine - forged and spoilt frames are counted, change nothing that lasts, and have the state read again', async (t) => {
  const r = await rig(t, {
    state: { queues: { support: { members: [{ ...member }] } }, channels: [{ ...channel }] },
  });
  await r.up();
  // Without a privilege it is not believed; with one it is, until the engine is asked.
  r.fake.raw(
    'Event: QueueMemberPause\r\nQueue: support\r\nMemberName: 1001\r\nInterface: Local/1001@queue-agent\r\nMembership: dynamic\r\nPaused: 1\r\n\r\n',
  );
  r.fake.event('Hangup', {
    ...hangup(ID),
    Cause:
      '16\r\n\r\nEvent: QueueMemberPause\r\nPrivilege: agent,all\r\nTimestamp: 1795222133.0\r\nQueue: support\r\nMemberName: 1001\r\nInterface: Local/1001@queue-agent\r\nMembership: dynamic\r\nPaused: 1\r\nPausedReason: forged\r\n\r\nrest',
  });
  const { snapshot } = await r.snapshots(2);
  assert.equal(snapshot.queues[0]?.members[0]?.paused, false);
  assert.equal(snapshot.channels.length, 0, 'that channel did end');
  assert.ok(r.engine.status().counters.drift > 0);
  assert.equal(r.engine.status().counters.malformed, 2);
  assert.equal(r.engine.malformed().length, 2);
  // A flood of them does not make a flood of lists: one now, one when late rows are over.
  for (let i = 0; i < 50; i++) r.fake.raw('garbage\r\n\r\n');
  await pass(r.clock, 20_000);
  assert.equal(r.of('engine.snapshot').length, 3);
  assert.equal(r.engine.status().counters.malformed, 52);
});

test('engine - oversize frames are dropped and counted, the link stays', async (t) => {
  const r = await rig(t);
  await r.up();
  r.fake.raw(`Event: Newchannel\r\n${'X: 1234567890\r\n'.repeat(70_000)}\r\n`);
  r.fake.raw(`Event: Newchannel\r\n${'X: 1\r\n'.repeat(10_000)}\r\n`);
  r.fake.raw('Event: Newchannel\r\n__proto__: x\r\nconstructor: y\r\nno colon\r\n\r\n');
  r.fake.event('DeviceStateChange', { Device: 'PJSIP/1001', State: 'BUSY' });
  await until('the good one came', () => r.of('device.state').length === 1);
  const { counters, link } = r.engine.status();
  assert.equal(link, 'up');
  assert.equal(counters.oversize, 2);
  assert.equal(counters.malformed, 1);
});

test('engine - a birth that was told already is not told again', async (t) => {
  const r = await rig(t);
  await r.up();
  for (let i = 0; i < 2; i++) r.fake.event('Newchannel', channelHeaders(channel));
  r.fake.event('DeviceStateChange', { Device: 'PJSIP/1001', State: 'BUSY' });
  await until('the last one came', () => r.of('device.state').length === 1);
  assert.equal(r.of('channel.created').length, 1);
});

test('engine - a row that is late does not bring a dead channel back, but an engine that insists is believed', async (t) => {
  const r = await rig(t, { state: { channels: [{ ...channel }] } });
  await r.up();
  r.fake.event('Hangup', hangup(ID));
  await until('it ended', () => r.of('channel.hungup').length === 1);
  await r.clock.advance(1_000);
  r.engine.resync();
  assert.deepEqual((await r.snapshots(2)).snapshot.channels, []);
  r.fake.cut();
  await pass(r.clock, 500);
  assert.deepEqual((await r.snapshots(3)).snapshot.channels, []);
  r.fake.event('Newchannel', channelHeaders(channel));
  await pass(r.clock, 6_000);
  assert.equal(r.of('channel.created').length, 0, 'nor does a late birth');
  r.engine.resync();
  assert.equal((await r.snapshots(4)).snapshot.channels.length, 1);
});

test('engine - a list that is not whole voids the snapshot', async (t) => {
  let broken = true;
  const r = await rig(t, {
    onAction(action, session) {
      if (action.name !== 'QueueStatus' || !broken) return false;
      session.answer(action, 'Success', { EventList: 'start' });
      session.write(
        `Event: QueueStatusComplete\r\nActionID: ${action.id}\r\nEventList: Complete\r\nListItems: 7\r\n\r\n`,
      );
      return true;
    },
  });
  await until('it failed once', () => /QueueStatus/.test(r.engine.status().reason));
  assert.equal(r.seen.length, 0);
  broken = false;
  await pass(r.clock, 11_000);
  await r.snapshots(1);
  broken = true;
  r.engine.resync();
  await turns();
  await pass(r.clock, 2_000);
  assert.equal(r.of('engine.snapshot').length, 1);
  assert.equal(r.engine.status().link, 'up', 'a resync that fails takes no link down');
  broken = false;
  await pass(r.clock, 7_000);
  await r.snapshots(2);
});

test('engine - a consumer that is too slow gets a gap and a fresh snapshot, never a silent loss', async (t) => {
  const r = await rig(t, { engine: { buffer: 1_000 }, idle: true });
  const stop = new AbortController();
  const it = r.engine.events(stop.signal)[Symbol.asyncIterator]();
  assert.equal((await it.next()).value?.at(-1)?.type, 'engine.snapshot');
  await until('the link is up', () => r.engine.status().link === 'up');
  const one =
    'Event: DeviceStateChange\r\nPrivilege: call,all\r\nTimestamp: 1795222133.0\r\nDevice: PJSIP/1001\r\nState: BUSY\r\n\r\n';
  r.fake.raw(one.repeat(1_500));
  await until('events were dropped', () => r.engine.diagnostics().dropped > 0);
  await until('a fresh snapshot was read', () => r.engine.diagnostics().resyncs === 2);
  const batch = ((await it.next()).value ?? []) as readonly EngineEvent[];
  const types = batch.map((e) => e.type);
  assert.ok(types.includes('engine.snapshot'), types.slice(0, 5).join(' '));
  assert.ok(
    types.indexOf('engine.snapshot') <= types.indexOf('device.state') || !types.includes('device.state'),
  );
  stop.abort();
  assert.equal((await it.next()).done, true);
});

test('engine - a snapshot during which too much happened is not told, and is read again', async (t) => {
  const one = (i: number): string =>
    `Event: DeviceStateChange\r\nPrivilege: call,all\r\nTimestamp: 1795222133.0\r\nDevice: PJSIP/${i}\r\nState: BUSY\r\n\r\n`;
  const many = Array.from({ length: 600 }, (_, i) => one(i)).join('');
  let flood = true;
  const r = await rig(t, {
    engine: { buffer: 1_000 },
    onAction(action) {
      // In two parts, so that the consumer keeps up although the reading cannot.
      if (flood && ['QueueStatus', 'DeviceStateList'].includes(action.name)) r.fake.raw(many);
      return false;
    },
  });
  await until('the first snapshot was given up', () => /too many events/.test(r.engine.status().reason));
  assert.equal(r.seen.length, 0);
  flood = false;
  await pass(r.clock, 1_000);
  await r.up();
  flood = true;
  r.engine.resync();
  await until('so many came', () => r.of('device.state').length === 1_200);
  await turns();
  assert.equal(r.of('engine.snapshot').length, 1, 'a resync is given up as well, facts go on');
  flood = false;
  await pass(r.clock, 7_000);
  assert.equal((await r.snapshots(2)).why, 'resync');
});

test('engine - a flood is taken without loss and without growing', async (t) => {
  const r = await rig(t);
  await r.up();
  const before = process.memoryUsage().rss;
  const chunk = Array.from(
    { length: 1_000 },
    (_, i) =>
      `Event: DeviceStateChange\r\nPrivilege: call,all\r\nTimestamp: 1795222133.0\r\nSystemName: x\r\nDevice: PJSIP/${i}\r\nState: BUSY\r\n\r\n`,
  ).join('');
  let taken = 0;
  for (let i = 0; i < 100; i++) {
    r.fake.raw(chunk);
    await until('the thousand came', () => r.of('device.state').length === 1_000, { every: 1 });
    taken += r.of('device.state').length;
    r.seen.length = 0;
  }
  assert.equal(taken, 100_000);
  assert.equal(r.engine.diagnostics().dropped, 0);
  assert.ok(process.memoryUsage().rss - before < 100 * 1024 * 1024);
});

test('engine - closing ends the events, fails what is pending, and leaves nothing behind', async (t) => {
  const r = await rig(t, { onAction: (action) => action.name === 'QueuePause' });
  await r.up();
  const pending = assert.rejects(r.engine.pauseMember('support', 'x', true, 'y'), code('engine_unavailable'));
  await turns();
  await r.engine.close();
  await pending;
  await until('both sessions are gone', () => r.fake.sessions.length === 0);
  assert.equal(r.engine.status().link, 'down');
});

test('engine - a store that cannot be written is 503, for what is set and for what is taken away; a deleted key is not', async (t) => {
  const store: Record<string, string> = { '/offhook/1001/dnd': '1' };
  let full = true;
  const r = await rig(t, {
    state: { store },
    onAction({ name, fields }, session) {
      if (name !== 'DBPut' && name !== 'DBDel' && name !== 'Setvar') return false;
      if (name === 'DBDel' && !full) delete store[`/${fields['Family']}/${fields['Key']}`];
      const refused = name === 'DBDel' || (name === 'DBPut' && full);
      session.answer({ name, fields, id: fields['ActionID'] }, refused ? 'Error' : 'Success');
      return true;
    },
  });
  await r.up();
  await assert.rejects(r.engine.keepFeatures('1001', { dnd: true }, 1), code('store_unavailable'));
  await assert.rejects(r.engine.keepFeatures('1001', { forward: '1002' }, 1), code('store_unavailable'));
  await assert.rejects(r.engine.keepFeatures('1001', { dnd: false }, 1), code('store_unavailable'));
  full = false;
  // Another client deleted the key meanwhile; the engine refuses to delete a missing one.
  await r.engine.keepFeatures('1001', { dnd: false }, 1);
});

test('engine - what people set is kept key by key with the time last, read back, and told', async (t) => {
  const store: Record<string, string> = { '/offhook/1001/busy': '1002', '/offhook/1002/dnd': '1' };
  const r = await rig(t, {
    state: { store },
    onAction({ name, fields }, session) {
      if (name !== 'DBPut' && name !== 'DBDel' && name !== 'Setvar') return false;
      const key = `/${fields['Family']}/${fields['Key']}`;
      if (name === 'DBPut') store[key] = fields['Val'] ?? '';
      if (name === 'DBDel') delete store[key];
      session.answer({ name, fields, id: fields['ActionID'] }, 'Success');
      return true;
    },
  });
  await r.up();
  const snapshot = r.of('engine.snapshot')[0]!.snapshot;
  assert.deepEqual(
    [...(snapshot.features ?? [])].map(([who, f]) => [who, f.dnd, f.forward_busy, f.ring_seconds]),
    [
      ['1001', false, '1002', 20],
      ['1002', true, '', 20],
    ],
  );
  await r.engine.keepFeatures(
    '1001',
    { dnd: true, forward: '', forward_busy: '', forward_no_answer: '+4930', ring_seconds: 5, devices: 'sip' },
    1_795_222_133_000,
  );
  const acted = r.fake.actions.filter((a) => ['DBPut', 'DBDel', 'Setvar'].includes(a.name));
  assert.deepEqual(
    acted.map(({ name, fields: f }) => [name, f['Key'] ?? f['Variable'], f['Val'] ?? f['Value'] ?? '']),
    [
      ['DBPut', 'dnd', '1'],
      ['DBDel', 'busy', ''],
      ['DBPut', 'noanswer', '+4930'],
      ['DBPut', 'seconds', '5'],
      ['DBPut', 'devices', 'sip'],
      ['Setvar', 'DEVICE_STATE(Custom:dnd-1001)', 'BUSY'],
      ['DBPut', 'at', '1795222133000'],
    ],
  );
  await until('it was told', () => r.of('extension.features').length === 1);
  assert.deepEqual(r.of('extension.features')[0]?.features, {
    dnd: true,
    forward: '',
    forward_busy: '',
    forward_no_answer: '+4930',
    ring_seconds: 5,
    devices: 'sip',
    changed_at: 1_795_222_133_000,
  });
  const before = r.fake.actions.length;
  for (const number of [
    '1008\r\nAction: Ping',
    '1008\n',
    '1008\0',
    '１００８',
    '1008&1009',
    '9'.repeat(10_000),
  ]) {
    await assert.rejects(
      r.engine.keepFeatures('1001', { forward: number }, 1),
      code('invalid_request'),
      number,
    );
  }
  for (const extension of ['../x', '1001/dnd', '*', '']) {
    await assert.rejects(r.engine.keepFeatures(extension, { dnd: true }, 1), code('invalid_request'));
  }
  assert.equal(r.fake.actions.length, before, 'nothing was sent');
});

test('engine - whose features changed is told by an event, what they are by the store alone', async (t) => {
  const store: Record<string, string> = {};
  const r = await rig(t, { state: { store } });
  await r.up();
  const put = (values: Record<string, string>): void => {
    for (const [key, value] of Object.entries(values)) store[`/offhook/1001/${key}`] = value;
  };
  const say = (headers: Record<string, string>): void =>
    r.fake.event('UserEvent', { UserEvent: 'OffhookFeatures', ...headers }, 'user,all');
  put({ forward: '1008', at: '5' });
  say({ Extension: '1001', forward: '0900123', Val: '0900123' });
  await until('it was read', () => r.of('extension.features').length === 1);
  assert.deepEqual(
    [r.of('extension.features')[0]?.extension, r.of('extension.features')[0]?.features.forward],
    ['1001', '1008'],
  );
  const asked = (): number =>
    r.fake.actions.filter((a) => a.name === 'DBGetTree' && a.fields['Key'] !== undefined).length;
  const before = asked();
  for (const Extension of ['1001/x', '../1001', '', '１００１', '9'.repeat(30)]) say({ Extension });
  r.fake.event('UserEvent', { UserEvent: 'Other', Extension: '1001' }, 'user,all');
  r.fake.raw('Event: UserEvent\r\nUserEvent: OffhookFeatures\r\nExtension: 1001\r\n\r\n');
  // Values no dialplan would follow are none; a row of another shape is nobody's.
  put({ dnd: '1', forward: 'Local/1@x', busy: '12,13', noanswer: '', seconds: 'x', devices: 'fax', at: '6' });
  store['/offhook/1001'] = 'x';
  store['/offhook/x/dnd'] = '1';
  say({ Extension: '1001' });
  await until('it was read again', () => r.of('extension.features').length === 2);
  assert.deepEqual(r.of('extension.features')[1]?.features, {
    dnd: true,
    forward: '',
    forward_busy: '',
    forward_no_answer: '',
    ring_seconds: 20,
    devices: 'all',
    changed_at: 6,
  });
  assert.equal(asked() - before, 1, 'nothing else was asked for');
});

test('engine - a flood of such events asks for each extension once, and for everything where there are too many', async (t) => {
  const r = await rig(t, { state: { store: {} } });
  await r.up();
  const one = 'Event: UserEvent\r\nPrivilege: user,all\r\nUserEvent: OffhookFeatures\r\nExtension: ';
  const snapshots = r.of('engine.snapshot').length;
  r.fake.raw(Array.from({ length: 5_000 }, (_, i) => `${one}${1000 + i}\r\n\r\n`).join(''));
  await until('a fresh snapshot', () => r.of('engine.snapshot').length > snapshots);
  const asked = r.fake.actions.filter((a) => a.name === 'DBGetTree').length;
  assert.ok(asked < 2_000, `${asked} questions`);
});
