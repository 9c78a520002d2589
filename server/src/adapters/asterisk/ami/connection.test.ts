import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { pass, startFakeAmi, turns } from '../../../../test/support/fake-ami.ts';
import type { FakeAmi, FakeAmiOptions } from '../../../../test/support/fake-ami.ts';
import { until } from '../../../../test/support/until.ts';
import { ServiceError, effectOf } from '../../../core/errors.ts';
import { silent } from '../../../core/log.ts';
import { createVirtualClock } from '../../memory/virtual-clock.ts';
import type { VirtualClock } from '../../memory/virtual-clock.ts';
import { AmiClosed, AmiConnection, MAX_PENDING } from './connection.ts';
import type { AmiOptions, CloseKind } from './connection.ts';
import { ListVoid } from './pending.ts';
import { header } from './frame.ts';

interface Rig {
  fake: FakeAmi;
  clock: VirtualClock;
  states: string[];
  events: string[];
  dial: (more?: Partial<AmiOptions>) => Promise<AmiConnection>;
}
const rig = async (t: TestContext, options: FakeAmiOptions = {}): Promise<Rig> => {
  const fake = await startFakeAmi(options);
  const clock = createVirtualClock();
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await fake.close();
    assert.equal(clock.sleepers, 0, 'a timer was left behind');
  });
  const states: string[] = [];
  const events: string[] = [];
  return {
    fake,
    clock,
    states,
    events,
    dial: (more = {}) =>
      AmiConnection.open({
        host: fake.host,
        port: fake.port,
        user: 'e',
        secret: 'e',
        events: 'system,call,agent',
        awaitBoot: true,
        clock,
        log: silent,
        signal: stop.signal,
        state: (s) => states.push(s),
        event: (name) => events.push(name),
        ...more,
      }),
  };
};
const code = (expected: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === expected;
const kind = (expected: CloseKind) => (error: unknown) =>
  error instanceof AmiClosed && error.reason.kind === expected;

test('connection - a fence stops commands right before they are sent, and lets what only reads pass', async (t) => {
  const { fake, dial } = await rig(t);
  let fenced = false;
  const fence = (): void => {
    if (fenced) throw new ServiceError('node_not_active', 'fenced');
  };
  const ami = await dial({ fence });
  await ami.action('QueuePause', { Interface: 'PJSIP/1003' });
  fenced = true;
  const stopped: unknown = await ami
    .action('QueuePause', { Interface: 'PJSIP/1004' })
    .catch((error: unknown) => error);
  assert.ok(code('node_not_active')(stopped));
  assert.equal(effectOf(stopped), false, 'nothing was sent');
  await ami.action('Ping');
  assert.equal(
    fake
      .received()
      .toString()
      .match(/Action: QueuePause/g)?.length,
    1,
  );
  assert.equal(ami.pending(), 0);
  ami.close();
});

test('connection - greets, signs in, waits for the boot, and is up', async (t) => {
  const { fake, dial, states } = await rig(t, { booted: false });
  const dialling = dial();
  await until('the login is answered', () => states.includes('booting'));
  assert.deepEqual(states, ['login', 'booting']);
  fake.boot();
  const ami = await dialling;
  assert.deepEqual(states, ['login', 'booting', 'up']);
  assert.equal((await ami.action('Ping')).ok, true);
});

test('connection - nothing is said before the greeting', async (t) => {
  const { fake, dial, clock } = await rig(t, { banner: '' });
  const dialling = dial();
  const failed = assert.rejects(dialling, kind('no_manager'));
  await until('the connection is there', () => fake.connections === 1);
  await pass(clock, 1_500);
  assert.equal(fake.received().length, 0);
  await pass(clock, 500);
  await failed;
});

test('connection - garbage or HTTP on the port is no manager, and nothing was sent to it', async (t) => {
  for (const banner of [
    'HTTP/1.1 400 Bad Request',
    'SSH-2.0-OpenSSH_9.2',
    '\0\0\0',
    'x'.repeat(5000),
    'Asterisk Call Manager/',
  ]) {
    const { fake, dial } = await rig(t, { banner });
    await assert.rejects(dial(), kind('no_manager'), banner.slice(0, 30));
    assert.equal(fake.received().length, 0);
  }
});

test('connection - a wrong secret is refused with a reason of its own', async (t) => {
  const { dial } = await rig(t);
  await assert.rejects(dial({ secret: 'wrong' }), kind('refused'));
});

test('connection - a login refused because the engine shuts down is no wrong secret', async (t) => {
  const { dial } = await rig(t, {
    onAction(action, session) {
      if (action.name !== 'Login') return false;
      session.answer(action, 'Error', { Message: 'Asterisk is shutting down' });
      return true;
    },
  });
  await assert.rejects(dial(), kind('no_manager'));
});

test('connection - a secret that the wire cannot carry is refused and never sent', async (t) => {
  const { fake, dial } = await rig(t);
  await assert.rejects(dial({ secret: 'x\r\nAction: Originate' }), kind('refused'));
  assert.equal(fake.received().length, 0);
});

test('connection - a closed port is unreachable', async (t) => {
  const { fake, dial } = await rig(t);
  await fake.refuse();
  await assert.rejects(dial(), kind('unreachable'));
});

test('connection - an abort ends the dialling at any point', async (t) => {
  for (const options of [{ banner: '' }, { booted: false }] satisfies FakeAmiOptions[]) {
    const { fake, dial } = await rig(t, options);
    const stop = new AbortController();
    const dialling = assert.rejects(dial({ signal: stop.signal }), kind('aborted'));
    await until('the connection is there', () => fake.connections === 1);
    await turns();
    stop.abort();
    await dialling;
    await until('the session is gone', () => fake.sessions.length === 0);
  }
});

test('connection - answers find their action in any order; strangers are counted', async (t) => {
  const late: (() => void)[] = [];
  const { fake, dial } = await rig(t, {
    onAction(action, session) {
      if (action.name !== 'Ask') return false;
      late.unshift(() => session.answer(action, 'Success', { Message: action.fields['What'] ?? '' }));
      return true;
    },
  });
  const ami = await dial();
  const asked = ['a', 'b', 'c'].map((What) => ami.action('Ask', { What }));
  await until('all three came', () => late.length === 3);
  fake.raw(
    'Response: Success\r\nActionID: nobody-1\r\nMessage: x\r\n\r\nResponse: Success\r\nMessage: no id\r\n\r\n',
  );
  for (const answer of late) answer();
  assert.deepEqual(
    (await Promise.all(asked)).map((a) => a.message),
    ['a', 'b', 'c'],
  );
  assert.equal(ami.strays(), 2);
  assert.equal(ami.pending(), 0);
});

test('connection - an action without an answer ends in time, and its late answer disturbs nobody', async (t) => {
  let late = (): void => {};
  const { dial, clock } = await rig(t, {
    onAction(action, session) {
      if (action.name !== 'QueuePause') return false;
      late = () => session.answer(action, 'Success', { Message: 'too late' });
      return true;
    },
  });
  const ami = await dial();
  const asked = assert.rejects(
    ami.action('QueuePause', { Queue: 'q' }, { ms: 3_000 }),
    code('engine_timeout'),
  );
  await pass(clock, 2_500);
  assert.equal(ami.pending(), 1);
  await pass(clock, 500);
  await asked;
  assert.equal(ami.pending(), 0);
  late();
  await until('the late answer was counted', () => ami.strays() === 1);
  assert.equal((await ami.action('Ping')).ok, true);
});

test('connection - an aborted action is given up at once', async (t) => {
  const { dial } = await rig(t, { onAction: (action) => action.name === 'Slow' });
  const ami = await dial();
  const stop = new AbortController();
  const asked = assert.rejects(ami.action('Slow', {}, { signal: stop.signal }), /never mind/);
  await turns();
  stop.abort(new Error('never mind'));
  await asked;
  assert.equal(ami.pending(), 0);
});

test('connection - the pending actions are bounded, and an id is used once at a time', async (t) => {
  const { dial } = await rig(t, { onAction: (action) => action.name === 'Slow' });
  const ami = await dial();
  const asked = Array.from({ length: MAX_PENDING }, () => ami.action('Slow'));
  await assert.rejects(ami.action('Slow'), code('overloaded'));
  ami.close();
  for (const one of asked) await assert.rejects(one, code('engine_unavailable'));
  const again = await dial();
  const first = again.action('Slow', {}, { action_id: 'mine-1' });
  await assert.rejects(again.action('Slow', {}, { action_id: 'mine-1' }), code('invalid_request'));
  await assert.rejects(again.action('Slow', {}, { action_id: 'not valid!' }), code('invalid_request'));
  again.close();
  await assert.rejects(first, code('engine_unavailable'));
});

test('connection - a refused value sends no byte', async (t) => {
  const { fake, dial } = await rig(t);
  const ami = await dial();
  await turns();
  const before = fake.received().length;
  for (const Reason of ['x\r\n\r\nAction: Command', 'x\ny', 'x\ry', 'x\0', 'x\u2028y', 'x'.repeat(1100)])
    await assert.rejects(ami.action('QueuePause', { Reason }), code('invalid_request'));
  await turns();
  assert.equal(fake.received().length, before);
  assert.equal(ami.pending(), 0);
});

test('connection - a list counts only when it is whole', async (t) => {
  let ending = 'EventList: Complete\r\nListItems: 2';
  const { dial, clock } = await rig(t, {
    onAction(action, session) {
      if (action.name !== 'List') return false;
      const id = `ActionID: ${action.id}\r\n`;
      session.write(`Response: Success\r\n${id}EventList: start\r\nMessage: follows\r\n\r\n`);
      session.write(
        `Event: Row\r\n${id}A: 1\r\n\r\nEvent: Other\r\nPrivilege: call,all\r\nA: 9\r\n\r\nEvent: Row\r\n${id}A: 2\r\n\r\n`,
      );
      if (ending !== '') session.write(`Event: ListComplete\r\n${id}${ending}\r\n\r\n`);
      return true;
    },
  });
  const ami = await dial();
  const rows: string[] = [];
  const list = (): Promise<number> =>
    ami.list('List', {}, (name, frame) => rows.push(`${name} ${frame.get(header('A'))}`));
  assert.equal(await list(), 2);
  assert.deepEqual(rows, ['Row 1', 'Row 2'], 'an event of somebody else is not a row');
  for (const bad of [
    'EventList: Complete\r\nListItems: 3',
    'EventList: cancelled\r\nListItems: 2',
    'EventList: Complete',
  ]) {
    ending = bad;
    await assert.rejects(list(), (e) => e instanceof ListVoid, bad);
  }
  ending = '';
  const never = assert.rejects(
    ami.list('List', {}, () => {}),
    code('engine_timeout'),
  );
  await pass(clock, 7_000);
  assert.equal(ami.pending() >= 1, true);
  await pass(clock, 8_000);
  await never;
});

test('connection - "No Contacts found" is an empty list, another error is not', async (t) => {
  const { fake, dial } = await rig(t);
  const ami = await dial();
  let rows = 0;
  assert.equal(await ami.list('PJSIPShowContacts', {}, () => rows++), 0);
  fake.state.contacts.push({ endpoint: '1001', uri: 'sip:x' });
  assert.equal(await ami.list('PJSIPShowContacts', {}, () => rows++), 1);
  assert.equal(rows, 1);
  await assert.rejects(
    ami.list('NoSuchThing', {}, () => {}),
    (e) => e instanceof ListVoid && /unknown command/.test(e.message),
  );
});

test('connection - a row that cannot be read voids its list', async (t) => {
  const { fake, dial } = await rig(t);
  fake.state.contacts.push({ endpoint: '1001', uri: 'sip:x' });
  const ami = await dial();
  const broken = ami.list('PJSIPShowContacts', {}, () => {
    throw new Error('bad row');
  });
  await assert.rejects(broken, (e) => e instanceof ListVoid);
  assert.equal((await ami.action('Ping')).ok, true);
});

test('connection - a quiet but healthy engine stays connected for a long time', async (t) => {
  const { fake, dial, clock } = await rig(t);
  const ami = await dial();
  await pass(clock, 120_000);
  assert.equal(ami.state(), 'up');
  const pings = fake.actions.filter((a) => a.name === 'Ping').length;
  assert.ok(pings >= 23 && pings <= 24, `${pings} heartbeats in 120 s`);
});

test('connection - a silent engine is given up within 10 s, not before', async (t) => {
  const { fake, dial, clock } = await rig(t);
  const ami = await dial();
  await pass(clock, 20_000);
  fake.freeze();
  await pass(clock, 5_000);
  assert.equal(ami.state(), 'up');
  await pass(clock, 5_000);
  assert.equal(ami.state(), 'closed');
  assert.equal((await ami.closed).kind, 'silent');
});

test('connection - events keep a connection alive although the heartbeat is not answered', async (t) => {
  const { fake, dial, clock } = await rig(t, { onAction: (action) => action.name === 'Ping' });
  const ami = await dial();
  for (let i = 0; i < 8; i++) {
    fake.event('Newstate', { Channel: 'x' });
    await pass(clock, 4_000);
  }
  assert.equal(ami.state(), 'up');
});

test('connection - behind a long action silence is normal', async (t) => {
  let finish = (): void => {};
  const { dial, clock } = await rig(t, {
    onAction(action, session) {
      if (action.name === 'Reload') finish = () => session.answer(action, 'Success');
      return action.name === 'Reload';
    },
  });
  const ami = await dial();
  const reload = ami.action('Reload', { Module: 'pbx_config' }, { ms: 120_000 });
  await pass(clock, 60_000);
  assert.equal(ami.state(), 'up');
  finish();
  assert.equal((await reload).ok, true);
});

test('connection - every way to end says why and fails what is pending', async (t) => {
  const ways: [string, CloseKind, (fake: FakeAmi) => void][] = [
    ['cut', 'ended', (fake) => fake.cut()],
    [
      'cut in the middle of a frame',
      'ended',
      (fake) => {
        fake.raw('Event: Newchannel\r\nChannel: PJS');
        for (const s of fake.sessions) s.socket.destroySoon();
      },
    ],
    ['reset', 'ended', (fake) => fake.sessions.forEach((s) => s.socket.resetAndDestroy())],
    ['goodbye', 'goodbye', (fake) => fake.raw('Response: Goodbye\r\nMessage: Thanks\r\n\r\n')],
  ];
  for (const [name, expected, end] of ways) {
    const { fake, dial, events } = await rig(t, { onAction: (action) => action.name === 'Slow' });
    const ami = await dial();
    const pending = assert.rejects(ami.action('Slow'), code('engine_unavailable'), name);
    await turns();
    end(fake);
    assert.equal((await ami.closed).kind, expected, name);
    await pending;
    await assert.rejects(ami.action('Ping'), code('engine_unavailable'), name);
    assert.deepEqual(events, ['FullyBooted'], 'half a frame is no event');
  }
});

test('connection - only wanted events reach the reader, the rest is counted', async (t) => {
  const ignored: string[] = [];
  const { fake, dial, events } = await rig(t);
  await dial({ wants: (name) => name === 'Newstate', ignored: (name) => ignored.push(name) });
  fake.event('VarSet', { Variable: 'x' });
  fake.event('Newstate', { Channel: 'x' });
  await until('the wanted one came', () => events.includes('Newstate'));
  assert.deepEqual(events, ['Newstate']);
  assert.deepEqual(ignored, ['FullyBooted', 'VarSet']);
});

test('connection - a peer that takes nothing is not written to without bound', async (t) => {
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write('Asterisk Call Manager/11.0.0\r\n');
    socket.once('data', (chunk: Buffer) => {
      const id = /ActionID: (\S+)/.exec(chunk.toString())?.[1];
      socket.write(`Response: Success\r\nActionID: ${id}\r\nMessage: ok\r\n\r\n`);
      socket.pause();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const s of sockets) s.destroy();
    server.close();
  });
  const { dial } = await rig(t);
  const ami = await dial({ port: (server.address() as net.AddressInfo).port, awaitBoot: false });
  const text = Array.from({ length: 100 }, (_, i) => `v${i}=${'x'.repeat(900)}`);
  const refused: unknown[] = [];
  const sent = Array.from({ length: MAX_PENDING }, () =>
    ami.action('Originate', { Variable: text }).catch((error: unknown) => refused.push(error)),
  );
  await until('a send was refused', () => refused.length > 0);
  assert.ok(code('overloaded')(refused[0]));
  ami.close();
  await Promise.all(sent);
});
