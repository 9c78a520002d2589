/** The rendered files on a real engine: what it holds, what it logs, who may ask it. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { until } from '../../../../test/support/until.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { NAMES, PASSWORD, company } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { reasonFixture } from '../../../../test/support/directory-fixture.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(company({ feature_codes: FEATURE_CODES }));
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });

test('conf/engine - boots without a warning, and shows every endpoint, queue and mailbox', async () => {
  assert.deepEqual(await engine.warnings(), []);
  const endpoints = await engine.cli('pjsip show endpoints');
  assert.match(endpoints, /Objects found: 30/);
  assert.deepEqual(await engine.members('support'), ['1006 Unavailable']);
  assert.match(await engine.cli('queue show sales'), /^sales has 0 calls .* 'rrmemory' strategy/);
  assert.equal((await engine.cli('voicemail show users')).match(/^default +10\d\d /gm)?.length, 9);
  assert.match(
    await engine.cli('pjsip show transports'),
    /transport-ws.*transport-tcp|transport-tcp[^]*transport-ws/,
  );
});

test('conf/engine - only full queues of SIP itself make it refuse SIP, not those of contacts and device states', async () => {
  assert.match(await engine.cli('pjsip show settings'), /^ taskprocessor_overload_trigger +: pjsip_only$/m);
});

test('conf/engine - every name is read back as it was written', async () => {
  for (const [i, name] of NAMES.entries()) {
    const extension = String(1001 + i);
    const shown = await engine.cli(`pjsip show endpoint ${extension}-web`);
    const callerid = /^ callerid +: (.*)$/m.exec(shown)?.[1];
    assert.equal(callerid, `"${name}" <${extension}>`);
    assert.match(shown, new RegExp(`^ OFFHOOK_EXTENSION +: ${extension}$`, 'm'));
  }
});

test('conf/engine - a member’s state follows all its devices, over reloads too', async () => {
  await using agent = await phone('1003');
  await engine.dial(agent, '*81500');
  const state = async (wanted: string): Promise<void> => {
    await until(`1003 ${wanted}`, async () => (await engine.members('support')).includes(`1003 ${wanted}`), {
      seen: () => ({ wanted }),
    });
  };
  const follows = async (): Promise<void> => {
    await state('Not in use');
    const call = await agent.invite('601');
    await call.answered();
    await state('In use');
    await call.hangup();
    await state('Not in use');
  };
  await follows();
  const other = { feature_codes: FEATURE_CODES, pause_reasons: [reasonFixture('other', 'Other')] };
  assert.deepEqual(await engine.write(company(other)), ['extensions.conf']);
  for (const reload of ['dialplan reload', 'module reload app_queue', 'module reload res_pjsip']) {
    await engine.cli(reload);
    await follows();
  }
  await agent.unregister();
  await state('Unavailable');
  await agent.register();
  await state('Not in use');
  await engine.dial(agent, '*80500');
});

test('conf/engine - of the two AMI users one only hears and one only acts', async () => {
  const login = async (user: { user: string; secret: string }) => {
    const socket = net.connect(engine.instance.ami_port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes) => (text += String(bytes)));
    const send = (lines: string[]): boolean => socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    send(['Action: Login', `Username: ${user.user}`, `Secret: ${user.secret}`]);
    await until('the login', () => text.includes('Authentication accepted'), { seen: () => ({ text }) });
    return { socket, send, text: () => text };
  };
  const events = await login(engine.instance.ami_events);
  const actions = await login(engine.instance.ami_actions);
  await until('FullyBooted', () => events.text().includes('Event: FullyBooted'));
  const pause = ['Action: QueuePause', 'Interface: Local/1006@queue-agent', 'Paused: true', 'Reason: lunch'];
  events.send([...pause, 'ActionID: e1']);
  events.send(['Action: Ping', 'ActionID: e2']);
  await until('both answers', () => /ActionID: e2/.test(events.text()), {
    seen: () => ({ text: events.text() }),
  });
  assert.match(events.text(), /Response: Error\r\nActionID: e1\r\nMessage: Permission denied/);
  assert.ok((await engine.members('support')).includes('1006 Unavailable'));
  actions.send([...pause, 'ActionID: a1']);
  actions.send(['Action: Command', 'Command: core show version', 'ActionID: a2']);
  actions.send(['Action: QueueStatus', 'ActionID: a3']);
  actions.send(['Action: ShowDialPlan', 'Context: hints', 'ActionID: a4']);
  actions.send(['Action: PJSIPShowEndpoints', 'ActionID: a5']);
  actions.send(['Action: Reload', 'Module: pbx_config', 'ActionID: a6']);
  await until('the answer to the last', () => /ActionID: a6/.test(actions.text()), {
    seen: () => ({ text: actions.text() }),
  });
  assert.match(actions.text(), /Response: Success\r\nActionID: a1/);
  assert.match(actions.text(), /Response: Error\r\nActionID: a2\r\nMessage: Permission denied/);
  for (const id of ['a3', 'a4', 'a5', 'a6']) {
    assert.match(actions.text(), new RegExp(`Response: Success\\r\\nActionID: ${id}\\r\\n`), id);
  }
  await until('the pause as an event', () =>
    /Event: QueueMemberPause\r\n[^]*PausedReason: lunch/.test(events.text()),
  );
  assert.doesNotMatch(actions.text(), /Event: (QueueMemberPause|FullyBooted|DeviceStateChange)/);
  actions.send(['Action: QueuePause', 'Interface: Local/1006@queue-agent', 'Paused: false', 'ActionID: a7']);
  await until('the end of the pause', () => /ActionID: a7/.test(actions.text()));
  events.socket.destroy();
  actions.socket.destroy();
});

test('conf/engine - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});
